"""Every path in ground, as a fixed number of points: path points, and points along the arcs over surfaces.

The number does not depend on the pose, so that it can be drawn and differentiated. Points that are not on the path at a
pose (conditional ones that are off, arcs of surfaces that are not touched) repeat the path's last point.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..dynamics.kinematics import link_frames, placement
from ..geometry.frames import Pose
from ..geometry.wrap.surfaces import SURFACES
from ..model.model import Model
from .contacts import contacts, ends
from .posed import in_ground, kinds_of, local, posed_path_geometry
from .segments import moving_offsets, switched_on, touching
from .wrapping import direction


def polyline(model: Model, at: Pose, q: Float[Array, " c"], arc_points: int) -> Float[Array, "m n 3"]:
    """[m]; `arc_points` on each arc, its ends among them."""
    paths, wraps = model.paths, model.wraps
    every = np.arange(len(paths.point_path))
    positions = link_frames(at) @ placement(paths.point_link, model.path.location, len(model.tree.inboard))
    if len(paths.moving):
        positions = positions + moving_offsets(model, at, q) @ touching(paths.moving, every)
    needs = np.zeros((len(every), len(paths.conditional)))
    needs[paths.conditional, np.arange(len(paths.conditional))] = 1
    place = jnp.where(switched_on(model, q, needs), every, jnp.inf)  # along all paths, one after the other
    if len(wraps.surface):
        arcs, arc_place = _arcs(model, at, q, arc_points)
        positions, place = jnp.concatenate([positions, arcs], axis=1), jnp.concatenate([place, arc_place])
    owner = np.concatenate([paths.point_path, np.repeat(wraps.path, arc_points)])
    rows = [np.flatnonzero(owner == m) for m in range(len(model.muscle_names))]
    width = max((len(row) for row in rows), default=0)
    nothing = len(owner)
    table = np.array([np.pad(row, (0, width - len(row)), constant_values=nothing) for row in rows], int)
    keys = jnp.append(place, jnp.inf)[table.reshape(len(rows), width)]
    along = jnp.take_along_axis(jnp.asarray(table), jnp.argsort(keys, axis=1), axis=1)
    last = jnp.sum(jnp.isfinite(keys), axis=1) - 1
    index = jnp.take_along_axis(along, jnp.minimum(np.arange(width)[None, :], last[:, None]), axis=1)
    positions = jnp.concatenate([positions, jnp.full((3, 1), jnp.nan)], axis=1)  # of paths that could not be read
    return jnp.moveaxis(positions[:, index], 0, -1)


def _arcs(
    model: Model, at: Pose, q: Float[Array, " c"], arc_points: int
) -> tuple[Float[Array, "3 n"], Float[Array, " n"]]:
    """Points of all arcs in ground, path wrap by path wrap, and their places along all paths; infinite off the path."""
    wraps = model.wraps
    it = posed_path_geometry(model, at, q)
    touched = contacts(wraps, it)
    every, order = np.arange(len(wraps.surface)), touched.order
    came, _ = ends(wraps, it, touched)
    landing = direction(local(it, every, came), touched.P)
    fractions = jnp.linspace(0.0, 1.0, arc_points)
    parts = [
        SURFACES[kind].along(touched.P[:, part], landing[:, part], touched.arc[part], it.sizes[:, part], fractions)
        for kind, part in kinds_of(wraps)
    ]
    local_points = jnp.moveaxis(jnp.concatenate(parts, axis=-1), 0, -1).reshape(3, -1)  # [3, path wraps * arc_points]
    start = jnp.asarray(wraps.points[wraps.pairs[:, 0]])[order.pair]
    within = (order.place[:, None] + fractions * 0.5) / (2 + len(every))
    place = jnp.where(order.engaged[:, None], start[:, None] + within, jnp.inf)
    return in_ground(it, np.repeat(every, arc_points), local_points), place.ravel()
