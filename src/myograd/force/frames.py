"""Springs between two bodies: PointToPointSpring and BushingForce.

A wrench is (moment, force) at the ground origin. A force f at a point p of ground is the wrench (p x f, f); what one body
gets, the other gets with the opposite sign.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..dynamics.kinematics import Motion, Pose, point_velocity
from ..geometry.spatial import cross, matmul, norm, rotate, transposed
from ..model.model import Model

Wrench = Float[Array, "6 n"]


def placed(at: Pose, link: np.ndarray, location: Float[Array, "3 p"]) -> Float[Array, "3 p"]:
    """Points fixed to links, in ground [m]."""
    return rotate(at.rotation[:, :, link], location) + at.origin[:, link]


def wrench(point: Float[Array, "3 n"], force: Float[Array, "3 n"]) -> Wrench:
    return jnp.concatenate([cross(point, force), force])


def on_links(model: Model, links: np.ndarray, second: Wrench) -> Float[Array, "6 links"]:
    """Sum of wrenches on the second link of each pair `links` [n, 2], and of their opposites on the first."""
    count = len(model.tree.inboard)
    return second @ (np.eye(count)[links[:, 1]] - np.eye(count)[links[:, 0]])


def point_springs(model: Model, at: Pose) -> Float[Array, "6 links"]:
    """`f = K (|d| - L_rest)` along the line d between the two points."""
    it, links = model.forces.point_springs, model.force_parts.spring_link
    p1, p2 = (placed(at, links[:, k], it.location[k]) for k in (0, 1))
    length = norm(p2 - p1)
    pull = it.stiffness * (length - it.rest_length) / jnp.where(length > 0, length, 1.0)
    return on_links(model, links, wrench(p2, pull * (p1 - p2)))


def bushings(model: Model, at: Pose, moving: Motion) -> Float[Array, "6 links"]:
    """With y the x-y-z angles of frame 2 in frame 1 and its origin there, the generalised force -K y - D ydot on y.

    Angles turn at ydot = N(y) w, w the relative angular velocity in frame 2; so the moment in frame 2 is N^T f.
    """
    it, links = model.forces.bushings, model.force_parts.bushing_link
    R1, R2 = (matmul(at.rotation[:, :, links[:, k]], it.rotation[k]) for k in (0, 1))
    p1, p2 = (placed(at, links[:, k], it.location[k]) for k in (0, 1))
    V1, V2 = (moving.velocity[:, links[:, k]] for k in (0, 1))
    angles = _angles(matmul(transposed(R1), R2))
    N = _rates(angles)
    turning = rotate(N, rotate(transposed(R2), V2[:3] - V1[:3]))
    shift = rotate(transposed(R1), p2 - p1)
    sliding = rotate(transposed(R1), point_velocity(V2, p2) - point_velocity(V1, p2))
    f = -it.stiffness * jnp.concatenate([angles, shift]) - it.damping * jnp.concatenate([turning, sliding])
    moment, force = rotate(R2, rotate(transposed(N), f[:3])), rotate(R1, f[3:])
    return on_links(model, links, wrench(p2, force) + jnp.concatenate([moment, jnp.zeros_like(moment)]))


def _angles(R: Float[Array, "3 3 n"]) -> Float[Array, "3 n"]:
    """Body-fixed x-y-z angles; as `geometry.spatial.angles_xyz`, away from gimbal lock."""
    return jnp.stack(
        [
            jnp.arctan2(-R[1, 2], R[2, 2]),
            jnp.arctan2(R[0, 2], jnp.hypot(R[0, 0], R[0, 1])),
            jnp.arctan2(-R[0, 1], R[0, 0]),
        ]
    )


def _rates(angles: Float[Array, "3 n"]) -> Float[Array, "3 3 n"]:
    """N: rates of body-fixed x-y-z angles per angular velocity in the turned frame."""
    (_, sy, sz), (_, cy, cz) = jnp.sin(angles), jnp.cos(angles)
    zero, one = jnp.zeros_like(sy), jnp.ones_like(sy)
    rows = [[cz / cy, -sz / cy, zero], [sz, cz, zero], [-sy * cz / cy, sy * sz / cy, one]]
    return jnp.stack([jnp.stack(row) for row in rows])
