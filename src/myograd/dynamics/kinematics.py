"""Where everything is and how it moves: poses, screws, velocities and bias accelerations of all links at once.

Each joint axis is a screw S in ground coordinates at the ground origin. With ydot the rates of the axes,
    V_link = sum of S ydot over the axes that move the link                        (one product with a 0/1 matrix)
    Sdot   = V_carrier x S,  V_carrier the velocity of the frame that carries the axis
    A_link = S_u udot + sum of (Sdot ydot + S Ddot u),   ydot = D(q) u,  S_u = S D
(Featherstone, Rigid Body Dynamics Algorithms, 2008, chapters 2 and 5, with world-frame coordinates.)
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from ..geometry.piecewise import evaluate
from ..geometry.spatial import cross, cross_matrix, motion_cross, multiply, rotate, rotate_back, transpose
from ..model.model import Model


class Pose(eqx.Module):
    """Where links are, and the screws that move them."""

    rotation: Float[Array, "3 3 n"]
    """of each link in ground; ground is link 0"""
    origin: Float[Array, "3 n"]
    """of each link in ground [m]"""
    axis_screws: Float[Array, "6 a"]
    """motion of the outboard links per unit rate of each axis"""
    screws: Float[Array, "6 c"]
    """motion of the outboard links per unit speed of each coordinate"""


class Motion(eqx.Module):
    """How links move, for given speeds and no accelerations of the coordinates. Spatial vectors at the ground origin."""

    velocity: Float[Array, "6 n"]
    bias_acceleration: Float[Array, "6 n"]


def speed_to_rate(model: Model, q: Float[Array, " c"]) -> Float[Array, "c c"]:
    """N(q): `qdot = N u` (Eq. 3 of Sherman, Seth, Delp). Identity but for ball, free and ellipsoid joints."""
    N = jnp.eye(len(model.coordinate_names))
    balls = model.tree.balls
    if len(balls):
        N = N.at[balls[:, :, None], balls[:, None, :]].set(_ball_rates(q[balls[:, 0]], q[balls[:, 1]]))
    return N


def _ball_rates(x: Float[Array, " b"], y: Float[Array, " b"]) -> Float[Array, "b 3 3"]:
    """Rates of body-fixed x-y-z angles per angular velocity in the parent frame."""
    sx, cx, sy, cy = jnp.sin(x), jnp.cos(x), jnp.sin(y), jnp.cos(y)
    one, zero = jnp.ones_like(x), jnp.zeros_like(x)
    rows = [[one, sx * sy / cy, -cx * sy / cy], [zero, cx, sx], [zero, -sx / cy, cx / cy]]
    return jnp.moveaxis(jnp.stack([jnp.stack(row) for row in rows]), 2, 0)


def coordinate_rates(model: Model, q: Float[Array, " c"], u: Float[Array, " c"]) -> Float[Array, " c"]:
    """`qdot = N(q) u`."""
    if len(model.tree.balls) == 0:
        return u
    return speed_to_rate(model, q) @ u


def _amounts(model: Model, q: Float[Array, " c"]) -> tuple[Float[Array, "6 n"], Float[Array, "s"]]:
    """What each slot of each joint turns or slides, and the slopes of the splines among them."""
    joints, tree = model.joints, model.tree
    y = joints.slopes @ q + joints.offsets
    slope = jnp.zeros(0)
    if len(tree.spline_slot):
        value, slope, _ = evaluate(joints.splines, q[tree.spline_coordinate])
        y = y.at[tree.spline_slot].add(value)
    y = y.reshape(6, -1)
    if len(tree.ellipsoids):
        y = y.at[3:, tree.ellipsoids[:, 0]].set(joints.radii * _ellipsoid_normal(model, q))
    return y, slope


def _ellipsoid_normal(model: Model, q: Float[Array, " c"]) -> Float[Array, "3 e"]:
    """Third axis of the moving frame in the parent frame: outward normal where an ellipsoid joint's bodies touch."""
    coordinates = model.tree.balls[model.tree.ellipsoids[:, 1]]
    x, y = q[coordinates[:, 0]], q[coordinates[:, 1]]
    return jnp.stack([jnp.sin(y), -jnp.sin(x) * jnp.cos(y), jnp.cos(x) * jnp.cos(y)])


def _turn(axis: Float[Array, "3 n"], angle: Float[Array, " n"]) -> Float[Array, "3 3 n"]:
    """Rotation about a unit axis (Rodrigues)."""
    K = cross_matrix(axis)
    return jnp.eye(3)[:, :, None] + jnp.sin(angle) * K + (1 - jnp.cos(angle)) * multiply(K, K)


def pose(model: Model, q: Float[Array, " c"]) -> Pose:
    """Poses of all links and the screws of all axes and coordinates."""
    joints, tree = model.joints, model.tree
    y, slope = lax.optimization_barrier(_amounts(model, q))
    R1 = _turn(joints.axes[0], y[0])
    R12 = multiply(R1, _turn(joints.axes[1], y[1]))
    R123 = multiply(R12, _turn(joints.axes[2], y[2]))
    slide = sum(joints.axes[3 + k] * y[3 + k] for k in range(3))

    # Parent body -> child body, then the same seen from the body nearer to ground.
    R = multiply(multiply(joints.parent_rotation, R123), transpose(joints.child_rotation))
    p = joints.parent_translation + rotate(joints.parent_rotation, slide) - rotate(R, joints.child_translation)
    if tree.reversed.any():
        R = jnp.where(tree.reversed, transpose(R), R)
        p = jnp.where(tree.reversed, -rotate(R, p), p)
    R, p = lax.optimization_barrier(_compose(model, R, p))

    # World-frame axes. Rotations turn about the joint's moving origin, which the translations have displaced.
    R_frame = multiply(R[:, :, tree.joint_parent], joints.parent_rotation)
    center = p[:, tree.joint_parent] + rotate(R[:, :, tree.joint_parent], joints.parent_translation)
    center = center + rotate(R_frame, slide)
    second = jnp.where(tree.fixed_direction[1], joints.axes[1], rotate(R1, joints.axes[1]))
    third = jnp.where(tree.fixed_direction[2], joints.axes[2], rotate(R12, joints.axes[2]))
    turning = [rotate(R_frame, axis) for axis in (joints.axes[0], second, third)]
    sliding = [rotate(R_frame, joints.axes[3 + k]) for k in range(3)]
    angular = jnp.concatenate(turning + [jnp.zeros_like(axis) for axis in sliding], axis=1)
    linear = jnp.concatenate([cross(center, axis) for axis in turning] + sliding, axis=1)
    S = jnp.concatenate([angular, linear])[:, tree.slots]
    if tree.reversed.any():
        S = jnp.where(tree.reversed[tree.slots % len(tree.inboard)], -S, S)
    return lax.optimization_barrier(Pose(R, p, S, _combine(model, q, S, slope)))


def _compose(
    model: Model, R: Float[Array, "3 3 n"], p: Float[Array, "3 n"]
) -> tuple[Float[Array, "3 3 n"], Float[Array, "3 n"]]:
    """Poses in ground from poses in the inboard link, level by level."""
    tree = model.tree
    rotations, origins = jnp.eye(3)[:, :, None], jnp.zeros((3, 1))
    previous = 0
    done = [(rotations, origins)]
    for start, stop in tree.levels:
        inboard = tree.inboard[start:stop] - previous
        Rb, pb = done[-1][0][:, :, inboard], done[-1][1][:, inboard]
        done.append((multiply(Rb, R[:, :, start:stop]), pb + rotate(Rb, p[:, start:stop])))
        previous = start
    return jnp.concatenate([R for R, _ in done], axis=2), jnp.concatenate([p for _, p in done], axis=1)


def _combine(
    model: Model, q: Float[Array, " c"], S: Float[Array, "6 a"], slope: Float[Array, " s"]
) -> Float[Array, "6 c"]:
    """`S D(q)`: screws of the coordinates from those of the axes."""
    tree = model.tree
    combined = S @ model.joints.slopes[tree.slots]
    if len(tree.spline_axis):
        picks = _one_hot(tree.spline_coordinate, len(model.coordinate_names))
        combined = combined + (S[:, tree.spline_axis] * slope) @ picks
    for e in range(len(tree.ellipsoids)):
        axes, coordinates = _ellipsoid_axes(model, e)
        combined = combined.at[:, coordinates].add(S[:, axes] @ _ellipsoid_rates(model, q, e))
    return combined


def _ellipsoid_axes(model: Model, e: int) -> tuple[np.ndarray, np.ndarray]:
    """Translation axes and rotation coordinates of an ellipsoid joint."""
    tree = model.tree
    link, ball = tree.ellipsoids[e]
    slots = np.array([3, 4, 5]) * len(tree.inboard) + link
    return np.searchsorted(tree.slots, slots), tree.balls[ball]


def _ellipsoid_rates(model: Model, q: Float[Array, " c"], e: int) -> Float[Array, "3 3"]:
    """Rates of the contact point per angular velocity: `d(r n)/dt = r (w x n)`."""
    normal = _ellipsoid_normal(model, q)[:, e : e + 1]
    return -model.joints.radii[:, e, None] * cross_matrix(normal)[:, :, 0]


def _one_hot(index: np.ndarray, size: int) -> np.ndarray:
    return np.eye(size)[index]


def motion(model: Model, q: Float[Array, " c"], u: Float[Array, " c"], at: Pose) -> Motion:
    """Velocities of all links and their accelerations when `udot = 0`."""
    joints, tree = model.joints, model.tree
    rates = joints.slopes[tree.slots] @ u
    curving = jnp.zeros(len(tree.slots))  # Ddot u
    if len(tree.spline_axis):
        argument = tree.spline_coordinate
        _, slope, curvature = evaluate(joints.splines, q[argument])
        rates = rates.at[tree.spline_axis].add(slope * u[argument])
        curving = curving.at[tree.spline_axis].add(curvature * u[argument] ** 2)
    for e in range(len(tree.ellipsoids)):
        axes, coordinates = _ellipsoid_axes(model, e)
        qdot = coordinate_rates(model, q, u)
        touch, touch_rate = jax.jvp(lambda x, e=e, c=coordinates: _ellipsoid_rates(model, x, e) @ u[c], (q,), (qdot,))
        rates = rates.at[axes].add(touch)
        curving = curving.at[axes].add(touch_rate)
    S = at.axis_screws
    moved = S * rates
    velocity = moved @ tree.link_moved
    carrier = moved @ tree.carried
    if len(tree.simbody_axes):
        slope = evaluate(joints.splines, q[tree.spline_coordinate])[1]
        D = joints.slopes[tree.slots].at[tree.spline_axis, tree.spline_coordinate].add(slope)
        carrier = carrier.at[:, tree.simbody_axes].add(S @ ((tree.simbody_carried * D) @ u).T)
    bias = (motion_cross(carrier, S) * rates + S * curving) @ tree.link_moved
    return lax.optimization_barrier(Motion(velocity, bias))


def accelerations(model: Model, at: Pose, moving: Motion, udot: Float[Array, " c"]) -> Float[Array, "6 n"]:
    """Spatial accelerations of all links at the ground origin."""
    return moving.bias_acceleration + (at.screws * udot) @ model.tree.speed_links


def link_frames(at: Pose) -> Float[Array, "3 4n"]:
    """Rotation columns and origins side by side, `[R e1 | R e2 | R e3 | p]` with n columns each.

    Anything fixed to links is linear in this, so many points are placed by one matrix product (`placement`).
    """
    return jnp.concatenate([at.rotation[:, 0], at.rotation[:, 1], at.rotation[:, 2], at.origin], axis=1)


def placement(link: np.ndarray, location: Float[Array, "3 p"], links: int) -> Float[Array, "4n p"]:
    """Matrix W with `link_frames @ W` = ground positions of points fixed to links."""
    on = _one_hot(link, links).T
    return jnp.concatenate([on * location[0], on * location[1], on * location[2], jnp.asarray(on)])


def in_link(at: Pose, link: np.ndarray, position: Float[Array, "3 p"]) -> Float[Array, "3 p"]:
    """Ground points expressed in links."""
    return rotate_back(at.rotation[:, :, link], position - at.origin[:, link])


def point_velocity(V: Float[Array, "6 p"], position: Float[Array, "3 p"]) -> Float[Array, "3 p"]:
    """Velocity of points that move with spatial velocity V."""
    return V[3:] + cross(V[:3], position)


def point_acceleration(
    A: Float[Array, "6 p"], V: Float[Array, "6 p"], position: Float[Array, "3 p"]
) -> Float[Array, "3 p"]:
    """Acceleration of body-fixed points from spatial acceleration A and velocity V."""
    return A[3:] + cross(A[:3], position) + cross(V[:3], point_velocity(V, position))
