"""Where bodies, markers and points are, and how they move. q: coordinates, u: speeds, in the order of
`model.coordinate_names`."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..errors import ModelError, nearest
from ..geometry.frames import Pose, point_acceleration, point_velocity
from ..geometry.spatial import cross
from ..model.model import Model
from . import kinematics
from .entry import entry
from .kinematics import accelerations, link_frames, motion, placement, pose, speed_to_rate

Vector = Float[Array, " c"]


@entry
def body_poses(model: Model, q: Vector) -> tuple[Float[Array, "bodies 3 3"], Float[Array, "bodies 3"]]:
    """Rotation and origin [m] of every body in ground: `p_ground = R p_body + p`."""
    at, link = pose(model, q), model.tree.body_link
    return jnp.moveaxis(at.rotation[:, :, link], 2, 0), at.origin[:, link].T


@entry
def body_velocities(model: Model, q: Vector, u: Vector) -> Float[Array, "bodies 6"]:
    """Angular velocity [rad/s], then linear velocity of the body origin [m/s], in ground."""
    at, link = pose(model, q), model.tree.body_link
    V = motion(model, q, u, at).velocity[:, link]
    return jnp.concatenate([V[:3], point_velocity(V, at.origin[:, link])]).T


@entry
def body_accelerations(model: Model, q: Vector, u: Vector, udot: Vector) -> Float[Array, "bodies 6"]:
    """Angular acceleration [rad/s^2], then linear acceleration of the body origin [m/s^2], in ground."""
    at, link = pose(model, q), model.tree.body_link
    moving = motion(model, q, u, at)
    A = accelerations(model, at, moving, udot)[:, link]
    return jnp.concatenate([A[:3], point_acceleration(A, moving.velocity[:, link], at.origin[:, link])]).T


@entry
def body_jacobians(model: Model, q: Vector) -> Float[Array, "bodies 6 c"]:
    """J with `body_velocities = J u`: turning [rad/s], then moving [m/s], per unit speed of each coordinate."""
    at, link = pose(model, q), model.tree.body_link
    moved = model.tree.speed_links[:, link].T[:, None, :]  # [bodies, 1, c]
    w, v = at.screws[:3], at.screws[3:]
    at_origin = v + jnp.stack([cross(w, jnp.broadcast_to(p[:, None], w.shape)) for p in at.origin[:, link].T])
    return jnp.concatenate([jnp.broadcast_to(w, at_origin.shape), at_origin], axis=1) * moved


def points_in_ground(model: Model, at: Pose, link: np.ndarray, location: Float[Array, "3 p"]) -> Float[Array, "3 p"]:
    return link_frames(at) @ placement(link, location, len(model.tree.inboard))


@entry
def marker_positions(model: Model, q: Vector) -> Float[Array, "markers 3"]:
    """Markers in ground [m]."""
    return points_in_ground(model, pose(model, q), np.array(model.marker_link, int), model.marker_location).T


@entry
def marker_velocities(model: Model, q: Vector, u: Vector) -> Float[Array, "markers 3"]:
    """Velocities of the markers in ground [m/s]."""
    at, link = pose(model, q), np.array(model.marker_link, int)
    position = points_in_ground(model, at, link, model.marker_location)
    return point_velocity(motion(model, q, u, at).velocity[:, link], position).T


@entry
def marker_accelerations(model: Model, q: Vector, u: Vector, udot: Vector) -> Float[Array, "markers 3"]:
    """Accelerations of the markers in ground [m/s^2]."""
    at, link = pose(model, q), np.array(model.marker_link, int)
    moving = motion(model, q, u, at)
    A = accelerations(model, at, moving, udot)[:, link]
    position = points_in_ground(model, at, link, model.marker_location)
    return point_acceleration(A, moving.velocity[:, link], position).T


def body_link(model: Model, body: str) -> int:
    """Link of a body, `ground` included."""
    if body == "ground":
        return 0
    if body not in model.body_names:
        raise ModelError(f"there is no body {body!r}{nearest(body, model.body_names)}")
    return int(model.tree.body_link[model.body_names.index(body)])


@entry
def point_position(model: Model, q: Vector, location: Float[Array, "3"], body: str = "ground") -> Float[Array, "3"]:
    """Ground position [m] of a point fixed to a body."""
    link = np.array([body_link(model, body)])
    return points_in_ground(model, pose(model, q), link, jnp.asarray(location)[:, None])[:, 0]


@entry
def point_jacobian(model: Model, q: Vector, location: Float[Array, "3"], body: str = "ground") -> Float[Array, "3 c"]:
    """Velocity [m/s] in ground of a point fixed to a body, per unit speed of each coordinate."""
    at, link = pose(model, q), body_link(model, body)
    position = points_in_ground(model, at, np.array([link]), jnp.asarray(location)[:, None])
    return point_velocity(at.screws, jnp.broadcast_to(position, at.screws[:3].shape)) * model.tree.speed_links[:, link]


@entry
def coordinate_rates(model: Model, q: Vector, u: Vector) -> Vector:
    """`qdot = N(q) u` [rad/s, m/s]; N is the identity but for ball, free and ellipsoid joints."""
    return kinematics.coordinate_rates(model, q, u)


@entry
def speeds(model: Model, q: Vector, qdot: Vector) -> Vector:
    """u [rad/s, m/s] with `qdot = N(q) u`."""
    return jnp.linalg.solve(speed_to_rate(model, q), qdot)
