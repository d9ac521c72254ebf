"""Paths and surfaces in ground at a pose: all that wrapping depends on; and arcs over the surfaces of slots.

A slot is one surface on one muscle's path, see `model.structure.Wraps`. Slots are sorted by class of surface.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ..dynamics.kinematics import Pose, link_frames, placement
from ..geometry.spatial import matmul, rotate, settled, transposed
from ..geometry.wrap import SURFACES, Arc
from ..model.model import Model
from ..model.structure import Wraps
from .path import moving_offsets, switched_on, touching


class Scene(eqx.Module):
    """`p` path points, `k` slots, `t` pairs of points; in ground."""

    points: Float[Array, "3 p"]
    rotation: Float[Array, "3 3 k"]
    """of each slot's surface"""
    translation: Float[Array, "3 k"]
    sizes: Float[Array, "3 k"]
    on: Bool[Array, " t"]
    """pairs that are neighbours at this pose"""


def scene(model: Model, at: Pose, q: Float[Array, " c"]) -> Scene:
    wraps, paths, surfaces = model.wraps, model.paths, model.surfaces
    places = placement(paths.point_link[wraps.points], model.path.location[:, wraps.points], len(model.tree.inboard))
    points = link_frames(at) @ places
    if len(paths.moving):
        points = points + moving_offsets(model, at, q) @ touching(paths.moving, wraps.points)
    link = wraps.surface_link[wraps.surface]
    R = at.rotation[:, :, link]
    rotation = matmul(R, surfaces.rotation[:, :, wraps.surface])
    translation = rotate(R, surfaces.translation[:, wraps.surface]) + at.origin[:, link]
    points, rotation, translation = settled((points, rotation, translation))
    return Scene(
        points, rotation, translation, surfaces.sizes[:, wraps.surface], switched_on(model, q, wraps.pair_switch)
    )


def local(it: Scene, slots: np.ndarray, x: Float[Array, "3 n"]) -> Float[Array, "3 n"]:
    """Points of ground in the frames of the slots' surfaces."""
    return rotate(transposed(it.rotation[:, :, slots]), x - it.translation[:, slots])


def in_ground(it: Scene, slots: np.ndarray, x: Float[Array, "3 n"]) -> Float[Array, "3 n"]:
    """Points in the frames of the slots' surfaces, in ground."""
    return rotate(it.rotation[:, :, slots], x) + it.translation[:, slots]


def kinds_of(wraps: Wraps) -> list[tuple[str, slice]]:
    """The classes of the slots, and where each class is."""
    kinds = wraps.kind
    return [(kind, slice(kinds.index(kind), len(kinds) - kinds[::-1].index(kind))) for kind in dict.fromkeys(kinds)]


def arcs(
    wraps: Wraps,
    sizes: Float[Array, "3 k"],
    p: Float[Array, "3 k"],
    s: Float[Array, "3 k"],
    root: Float[Array, "r k"],
    where: Bool[Array, " k"],
) -> Arc:
    """Arcs of the segments p -> s over the slots' surfaces, in their frames, where `where` holds."""
    axis, sign = jnp.asarray(wraps.quadrant.T)
    parts = [
        SURFACES[kind].arc(p[:, k], s[:, k], sizes[:, k], axis[k], sign[k], root[:, k], where[k])
        for kind, k in kinds_of(wraps)
    ]
    return jax.tree.map(lambda *x: jnp.concatenate(x, axis=-1), *parts)


def replaced(old: Array, columns: np.ndarray, new: Array) -> Array:
    """`old` with some of its columns replaced: a gather, which XLA does faster than a scatter."""
    source = np.arange(old.shape[-1])
    source[columns] = old.shape[-1] + np.arange(len(columns))
    return jnp.concatenate([old, new], axis=-1)[..., source]
