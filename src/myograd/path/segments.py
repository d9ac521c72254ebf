"""Lengths of muscle paths and how speeds change them.

A path is a chain of straight segments between points fixed to links. With e the unit vector along a segment and w = (p x e, e)
its line of action, the segment lengthens at rate `w . S_j` per unit speed j that moves only its far end, and at minus that
if only its near end moves. Points that move in their frame add `e . v`; conditional points switch segments on and off.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ..dynamics.kinematics import link_frames, placement
from ..geometry.frames import Pose
from ..geometry.piecewise import evaluate
from ..geometry.spatial import cross, dot, norm, rotate
from ..model.model import Model


class Segments(eqx.Module):
    """The straight segments of all paths at one pose."""

    start: Float[Array, "3 s"]
    """near ends in ground [m]"""
    along: Float[Array, "3 s"]
    """from near to far end [m]"""
    length: Float[Array, " s"]
    """[m]"""
    weight: Float[Array, " s"]
    """1 on the path, 0 off it"""


def segments_at(model: Model, at: Pose, q: Float[Array, " c"]) -> Segments:
    """Every segment that is not of constant length."""
    paths = model.paths
    near, far = paths.segments.T
    # Only links with such segments take part in the product that places them: many bodies have limbs without muscles.
    used, link = np.unique(paths.point_link[paths.segments], return_inverse=True)
    link_near, link_far = link.reshape(-1, 2).T
    location = model.path.location
    frames = link_frames(at)[:, (np.arange(4)[:, None] * len(model.tree.inboard) + used).ravel()]
    place_near = placement(link_near, location[:, near], len(used))
    place_far = placement(link_far, location[:, far], len(used))
    start, along = frames @ place_near, frames @ (place_far - place_near)
    if len(paths.moving):
        offset = moving_offsets(model, at, q)
        on_near, on_far = touching(paths.moving, near), touching(paths.moving, far)
        start, along = start + offset @ on_near, along + offset @ (on_far - on_near)
    return Segments(start, along, norm(along), _weights(model, q))


def touching(points: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """[v, s] 1 where the segment ends at the point."""
    return (points[:, None] == ends[None, :]).astype(float)


def moving_offsets(model: Model, at: Pose, q: Float[Array, " c"]) -> Float[Array, "3 v"]:
    """Displacement of each moving point from the origin of its frame, in ground."""
    paths = model.paths
    value, _, _ = evaluate(model.path.moving_splines, _clamped(model, q, paths.moving_coordinate.T.ravel()))
    local = value.reshape(-1, 3).T
    return rotate(at.rotation[:, :, paths.point_link[paths.moving]], rotate(model.path.moving_rotation, local))


def _clamped(model: Model, q: Float[Array, " c"], arguments: np.ndarray) -> Float[Array, " arguments"]:
    """Coordinates kept within their ranges: beyond them, moving points stay where they are (as in OpenSim)."""
    low, high = model.coordinates.range[:, arguments]
    x = q[arguments]
    return jnp.where(x < low, low, jnp.where(x > high, high, x))  # `jnp.clip` halves the derivative at the ends


def _weights(model: Model, q: Float[Array, " c"]) -> Float[Array, " s"]:
    """1 for segments whose conditional points are as they need them."""
    paths = model.paths
    weight = jnp.ones(len(paths.segments))
    if len(paths.switched) == 0:
        return weight
    return weight.at[paths.switched].set(jnp.where(switched_on(model, q, paths.switch), 1.0, 0.0))


def switched_on(model: Model, q: Float[Array, " c"], switch: np.ndarray) -> Bool[Array, " k"]:
    """Whether the conditional points are as each row of `switch` needs them: on where 1, off where -1."""
    low, high = model.path.conditional_range
    x = q[model.paths.conditional_coordinate]
    margin = 1e-5  # OpenSim's: a range written with few digits still holds its own ends
    on = jnp.where((x >= low - margin) & (x <= high + margin), 1.0, 0.0)
    amiss = (switch > 0).astype(float) @ (1 - on) + (switch < 0).astype(float) @ on
    return amiss == 0


def path_of_segment(model: Model) -> np.ndarray:
    """[s, m] 1 where the segment belongs to the muscle."""
    return np.eye(len(model.names.paths))[model.paths.point_path[model.paths.segments[:, 0]]]


def straight_lengths(model: Model, at: Pose, q: Float[Array, " c"]) -> Float[Array, " m"]:
    """Lengths of the paths if they touched no surface [m]."""
    between = segments_at(model, at, q)
    near, far = model.paths.rigid.T
    rigid = norm(model.path.location[:, far] - model.path.location[:, near])
    owner = np.eye(len(model.names.paths))[model.paths.point_path[near]]
    return (between.length * between.weight) @ path_of_segment(model) + rigid @ owner


def straight_gradient(model: Model, at: Pose, q: Float[Array, " c"]) -> tuple[Float[Array, "m c"], Float[Array, "3 v"]]:
    """Rate of each straight path's length per unit speed, by the generalised forces of unit tension (`-J^T T`, Eq. 17 of
    Sherman, Seth, Delp), with moving points fixed in their frames; and the rate per displacement of each moving point.
    """
    paths = model.paths
    between = segments_at(model, at, q)
    safe = jnp.where(between.length > 0, between.length, 1.0)
    e = between.along / safe * between.weight
    line_of_action = jnp.concatenate([cross(between.start, e), e])
    per_segment = (line_of_action.T @ at.screws) * paths.crossing
    near, far = paths.segments.T
    pull = e @ (touching(paths.moving, far) - touching(paths.moving, near)).T
    return jnp.asarray(path_of_segment(model).T) @ per_segment, pull


def moving_work(model: Model, at: Pose, q: Float[Array, " c"], pull: Float[Array, "3 v"]) -> Float[Array, "m c"]:
    """Lengthening per unit rate of the coordinates that displace moving points within their frames; `pull`: lengthening per
    displacement of each."""
    paths = model.paths
    arguments = paths.moving_coordinate.T.ravel()  # x, y, z of the first moving point, then of the second, ...
    x = _clamped(model, q, arguments)
    _, slope, _ = evaluate(model.path.moving_splines, x)
    slope = jnp.where(x == q[arguments], slope, 0.0)
    rotation = at.rotation[:, :, paths.point_link[paths.moving]]
    local = jnp.stack(  # the same along the axes of the point's own frame
        [dot(pull, rotate(rotation, model.path.moving_rotation[:, k])) for k in range(3)], axis=1
    )
    rates = local.ravel() * slope
    owner = np.repeat(paths.point_path[paths.moving], 3)
    to_muscle, to_coordinate = np.eye(len(model.names.paths))[owner], np.eye(len(model.coordinate_names))[arguments]
    return (jnp.asarray(to_muscle).T * rates) @ to_coordinate
