"""Paths and surfaces in ground at a pose: all that wrapping depends on; and arcs over the surfaces of path wraps.

A path wrap is one surface on one muscle's path, see `model.structure.PathWraps`. Path wraps are sorted by class of surface.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ..dynamics.kinematics import link_frames, placement
from ..geometry.frames import Pose
from ..geometry.spatial import materialized, matmul, rotate, transposed
from ..geometry.wrap.common import Arc
from ..geometry.wrap.surfaces import SURFACES
from ..model.model import Model
from ..model.structure import PathWraps
from .segments import moving_offsets, switched_on, touching


class PosedPathGeometry(eqx.Module):
    """`p` path points, `k` path wraps, `t` pairs of points; in ground."""

    points: Float[Array, "3 p"]
    rotation: Float[Array, "3 3 k"]
    """of each path wrap's surface"""
    translation: Float[Array, "3 k"]
    sizes: Float[Array, "3 k"]
    on: Bool[Array, " t"]
    """pairs that are neighbours at this pose"""


def posed_path_geometry(model: Model, at: Pose, q: Float[Array, " c"]) -> PosedPathGeometry:
    wraps, paths, surfaces = model.wraps, model.paths, model.surfaces
    places = placement(paths.point_link[wraps.points], model.path.location[:, wraps.points], len(model.tree.inboard))
    points = link_frames(at) @ places
    if len(paths.moving):
        points = points + moving_offsets(model, at, q) @ touching(paths.moving, wraps.points)
    link = wraps.surface_link[wraps.surface]
    R = at.rotation[:, :, link]
    rotation = matmul(R, surfaces.rotation[:, :, wraps.surface])
    translation = rotate(R, surfaces.translation[:, wraps.surface]) + at.origin[:, link]
    points, rotation, translation = materialized((points, rotation, translation))
    return PosedPathGeometry(
        points, rotation, translation, surfaces.sizes[:, wraps.surface], switched_on(model, q, wraps.pair_switch)
    )


def local(it: PosedPathGeometry, which: np.ndarray, x: Float[Array, "3 n"]) -> Float[Array, "3 n"]:
    """Points of ground in the frames of the path wraps' surfaces."""
    return rotate(transposed(it.rotation[:, :, which]), x - it.translation[:, which])


def in_ground(it: PosedPathGeometry, which: np.ndarray, x: Float[Array, "3 n"]) -> Float[Array, "3 n"]:
    """Points in the frames of the path wraps' surfaces, in ground."""
    return rotate(it.rotation[:, :, which], x) + it.translation[:, which]


def kinds_of(wraps: PathWraps) -> list[tuple[str, slice]]:
    """The classes of the path wraps, and where each class is."""
    kinds = wraps.kind
    return [(kind, slice(kinds.index(kind), len(kinds) - kinds[::-1].index(kind))) for kind in dict.fromkeys(kinds)]


def arcs(
    wraps: PathWraps,
    sizes: Float[Array, "3 k"],
    p: Float[Array, "3 k"],
    s: Float[Array, "3 k"],
    root: Float[Array, "r k"],
    where: Bool[Array, " k"],
) -> Arc:
    """Arcs of the segments p -> s over the path wraps' surfaces, in their frames, where `where` holds."""
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
