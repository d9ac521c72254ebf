"""Where everything is and how it moves: poses, screws, velocities and bias accelerations of all links at once.

Each joint axis is a screw S in ground coordinates at the ground origin. With ydot the rates of the axes,
    V_link = sum of S ydot over the axes that move the link                        (one product with a 0/1 matrix)
    Sdot   = V_carrier x S,  V_carrier the velocity of the frame that carries the axis
    A_link = S_u udot + sum of (Sdot ydot + S Ddot u),   ydot = D(q) u,  S_u = S D
(Featherstone, Rigid Body Dynamics Algorithms, 2008, chapters 2 and 5, with world-frame coordinates.)
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..geometry.frames import Motion, Pose
from ..geometry.piecewise import evaluate
from ..geometry.spatial import cross, cross_matrix, materialized, motion_cross, rotate
from ..model.model import Model


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
    """The rotation or translation along each transform axis of each joint, and the slopes of the splines among them."""
    joints, tree = model.joints, model.tree
    y = joints.slopes @ q + joints.offsets
    slope = jnp.zeros(0)
    if len(tree.spline_transform_axis):
        value, slope, _ = evaluate(joints.splines, q[tree.spline_coordinate])
        y = y + value @ one_hot(tree.spline_transform_axis, len(y))
    y = y.reshape(6, -1)
    if len(tree.ellipsoids):
        y = y.at[3:, tree.ellipsoids[:, 0]].set(joints.radii * _ellipsoid_normal(model, q))
    return y, slope


def _ellipsoid_normal(model: Model, q: Float[Array, " c"]) -> Float[Array, "3 e"]:
    """Third axis of the moving frame in the parent frame: outward normal where an ellipsoid joint's bodies touch."""
    coordinates = model.tree.balls[model.tree.ellipsoids[:, 1]]
    x, y = q[coordinates[:, 0]], q[coordinates[:, 1]]
    return jnp.stack([jnp.sin(y), -jnp.sin(x) * jnp.cos(y), jnp.cos(x) * jnp.cos(y)])


def _turns(model: Model, y: Float[Array, "6 n"]) -> tuple[Float[Array, "n 3 3"], Float[Array, "n 3 3"]]:
    """Rotation of each joint from its child to its parent body; and its first turn, into the parent body, of joints that turn
    about further axes (Rodrigues).

    Most joints turn about their first axis only. What comes after it is then constant, and made part of that turn.
    """
    joints, tree = model.joints, model.tree
    links = len(tree.inboard)
    number = tree.transform_axes // links
    chained = np.unique(tree.transform_axes[(number == 1) | (number == 2)] % links)  # turn about further axes
    into_child = jnp.moveaxis(joints.child_rotation, 2, 0).mT
    constant = joints.offsets.reshape(6, links)
    after = _turn(joints.axes[1], constant[1]) @ _turn(joints.axes[2], constant[2]) @ into_child
    after = jnp.where(np.isin(np.arange(links), chained)[:, None, None], np.eye(3), after)
    first = _turn(joints.axes[0], y[0], jnp.moveaxis(joints.parent_rotation, 2, 0), after)
    if len(chained) == 0:
        return first, first
    second = _turn(joints.axes[1][:, chained], y[1, chained])
    third = _turn(joints.axes[2][:, chained], y[2, chained], after=into_child[chained])
    first, second, third = materialized((first, second, third))
    source = np.arange(links)
    source[chained] = links + np.arange(len(chained))
    return jnp.concatenate([first, first[chained] @ second @ third])[source], first


def _turn(
    axis: Float[Array, "3 n"],
    angle: Float[Array, " n"],
    before: Float[Array, "n 3 3"] | None = None,
    after: Float[Array, "n 3 3"] | None = None,
) -> Float[Array, "n 3 3"]:
    """`before R(angle) after` for rotations about axes: a combination of three matrices that do not depend on the angle."""
    K = jnp.moveaxis(cross_matrix(axis), 2, 0)
    parts = [jnp.broadcast_to(jnp.eye(3), K.shape), K, K @ K]
    if before is not None:
        parts = [before @ part for part in parts]
    if after is not None:
        parts = [part @ after for part in parts]
    return parts[0] + jnp.sin(angle)[:, None, None] * parts[1] + (1 - jnp.cos(angle))[:, None, None] * parts[2]


def pose(model: Model, q: Float[Array, " c"]) -> Pose:
    """Poses of all links and the screws of all axes and coordinates.

    Rotations are composed as matrix products `[n, 3, 3]`, which XLA does not fuse: a chain of written-out products would
    become one loop that works out the inner ones again for every element of the outer ones.
    """
    joints, tree = model.joints, model.tree
    y, slope = _amounts(model, q)
    R, first = _turns(model, y)
    slide = rotate(joints.parent_rotation, sum(joints.axes[3 + k] * y[3 + k] for k in range(3)))  # pyright: ignore[reportArgumentType]
    p = (joints.parent_translation + slide).T - jnp.einsum("nij,jn->ni", R, joints.child_translation)
    if tree.reversed.any():  # as seen from the body nearer to ground
        turned = tree.reversed[:, None]
        R = jnp.where(turned[:, :, None], R.mT, R)
        p = jnp.where(turned, -jnp.einsum("nij,nj->ni", R, p), p)
    R, p = _compose(model, R, p)
    R, p = materialized((jnp.moveaxis(R, 0, 2), p.T))
    S = materialized(_axis_screws(model, R, p, first))
    return Pose(R, p, S, materialized(_combine(model, q, S, slope)))


def _compose(
    model: Model, R: Float[Array, "n 3 3"], p: Float[Array, "n 3"]
) -> tuple[Float[Array, "n 3 3"], Float[Array, "n 3"]]:
    """Poses in ground from poses in the inboard link, level by level."""
    tree = model.tree
    local = jnp.concatenate([R, p[:, :, None]], axis=2)
    shift = np.array([0.0, 0.0, 0.0, 1.0])  # adds the inboard origin to the last column only
    done = [jnp.eye(3, 4)[None]]
    previous = 0
    for start, stop in tree.levels:
        base = done[-1][tree.inboard[start:stop] - previous]
        done.append(base[:, :, :3] @ local[start:stop] + base[:, :, 3:] * shift)
        previous = start
    poses = jnp.concatenate(done)
    return poses[:, :, :3], poses[:, :, 3]


def _axis_screws(
    model: Model, R: Float[Array, "3 3 n"], p: Float[Array, "3 n"], first: Float[Array, "n 3 3"]
) -> Float[Array, "6 a"]:
    """Screws of all axes. First rotation axes and translations are fixed in the joint's parent body; third rotation axes,
    and the points that rotations turn about, in its child body; second rotation axes lie between.
    """
    joints, tree = model.joints, model.tree
    links = len(tree.inboard)
    number, link = tree.transform_axes // links, tree.transform_axes % links
    parent, child = tree.joint_parent[link], np.where(tree.reversed[link], tree.inboard[link], link)
    ball = tree.ball[link]  # all three rotations are about axes of the parent frame
    on_child, between = (number == 2) & ~ball, (number == 1) & ~ball
    axes = joints.axes[number, :, link].T
    in_parent, in_child = (
        rotate(joints.parent_rotation[:, :, link], axes),
        rotate(joints.child_rotation[:, :, link], axes),
    )
    fixed = jnp.where(between, 0.0, jnp.where(on_child, in_child, in_parent))
    turning = np.flatnonzero(number < 3)
    # One product with the links' frames places all fixed directions and all centres of rotation.
    directions = placement(np.where(on_child, child, parent), fixed, links).at[3 * links :].set(0.0)
    centers = placement(child[turning], joints.child_translation[:, link[turning]], links)
    placed = _frames(R, p) @ jnp.concatenate([directions, centers], axis=1)
    axis, center = placed[:, : len(number)], placed[:, len(number) :]
    if between.any():
        middle = np.flatnonzero(between)
        local = jnp.einsum("kij,jk->ik", first[link[middle]], axes[:, middle])
        axis = axis + rotate(R[:, :, parent[middle]], local) @ one_hot(middle, len(number))
    axis = materialized(jnp.where(tree.reversed[link], -axis, axis))
    about = cross(center, axis[:, turning]) @ one_hot(turning, len(number))
    turns = number < 3
    return jnp.concatenate([jnp.where(turns, axis, 0.0), jnp.where(turns, about, axis)])


def _combine(
    model: Model, q: Float[Array, " c"], S: Float[Array, "6 a"], slope: Float[Array, " s"]
) -> Float[Array, "6 c"]:
    """`S D(q)`: screws of the coordinates from those of the axes."""
    tree = model.tree
    combined = S @ model.joints.slopes[tree.transform_axes]
    if len(tree.spline_axis):
        picks = one_hot(tree.spline_coordinate, len(model.coordinate_names))
        combined = combined + (S[:, tree.spline_axis] * slope) @ picks
    for e in range(len(tree.ellipsoids)):
        axes, coordinates = _ellipsoid_axes(model, e)
        combined = combined.at[:, coordinates].add(S[:, axes] @ _ellipsoid_rates(model, q, e))
    return combined


def _ellipsoid_axes(model: Model, e: int) -> tuple[np.ndarray, np.ndarray]:
    """Translation axes and rotation coordinates of an ellipsoid joint."""
    tree = model.tree
    link, ball = tree.ellipsoids[e]
    translations = np.array([3, 4, 5]) * len(tree.inboard) + link
    return np.searchsorted(tree.transform_axes, translations), tree.balls[ball]


def _ellipsoid_rates(model: Model, q: Float[Array, " c"], e: int) -> Float[Array, "3 3"]:
    """Rates of the contact point per angular velocity: `d(r n)/dt = r (w x n)`."""
    normal = _ellipsoid_normal(model, q)[:, e : e + 1]
    return -model.joints.radii[:, e, None] * cross_matrix(normal)[:, :, 0]


def one_hot(index: np.ndarray, size: int) -> np.ndarray:
    return np.eye(size)[index]


def motion(model: Model, q: Float[Array, " c"], u: Float[Array, " c"], at: Pose) -> Motion:
    """Velocities of all links and their accelerations when `udot = 0`."""
    joints, tree = model.joints, model.tree
    rates = joints.slopes[tree.transform_axes] @ u
    curving = jnp.zeros(len(tree.transform_axes))  # Ddot u
    if len(tree.spline_axis):
        argument = tree.spline_coordinate
        _, slope, curvature = evaluate(joints.splines, q[argument])
        to_axis = one_hot(tree.spline_axis, len(tree.transform_axes))
        rates = rates + (slope * u[argument]) @ to_axis
        curving = curving + (curvature * u[argument] ** 2) @ to_axis
    for e in range(len(tree.ellipsoids)):
        axes, coordinates = _ellipsoid_axes(model, e)
        qdot = coordinate_rates(model, q, u)
        touch, touch_rate = jax.jvp(lambda x, e=e, c=coordinates: _ellipsoid_rates(model, x, e) @ u[c], (q,), (qdot,))
        rates = rates.at[axes].add(touch)
        curving = curving.at[axes].add(touch_rate)
    S = at.axis_screws
    moved = materialized(S * rates)
    velocity = moved @ tree.link_moved
    carrier = moved @ tree.carried
    if len(tree.simbody_axes):
        slope = evaluate(joints.splines, q[tree.spline_coordinate])[1]
        D = joints.slopes[tree.transform_axes].at[tree.spline_axis, tree.spline_coordinate].add(slope)
        carrier = carrier.at[:, tree.simbody_axes].add(S @ ((tree.simbody_carried * D) @ u).T)
    bias = (motion_cross(carrier, S) * rates + S * curving) @ tree.link_moved
    return materialized(Motion(velocity, bias))


def accelerations(model: Model, at: Pose, moving: Motion, udot: Float[Array, " c"]) -> Float[Array, "6 n"]:
    """Spatial accelerations of all links at the ground origin."""
    return moving.bias_acceleration + (at.screws * udot) @ model.tree.speed_links


def link_frames(at: Pose) -> Float[Array, "3 columns"]:
    """Rotation columns and origins side by side, `[R e1 | R e2 | R e3 | p]` with n columns each.

    Anything fixed to links is linear in this, so many points are placed by one matrix product (`placement`).
    """
    return _frames(at.rotation, at.origin)


def _frames(R: Float[Array, "3 3 n"], p: Float[Array, "3 n"]) -> Float[Array, "3 columns"]:
    return jnp.concatenate([R[:, 0], R[:, 1], R[:, 2], p], axis=1)


def placement(link: np.ndarray, location: Float[Array, "3 p"], links: int) -> Float[Array, "columns p"]:
    """Matrix W with `link_frames @ W` = ground positions of points fixed to links."""
    on = one_hot(link, links).T
    return jnp.concatenate([on * location[0], on * location[1], on * location[2], jnp.asarray(on)])
