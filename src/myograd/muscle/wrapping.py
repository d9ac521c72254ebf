"""Which muscles touch a wrapping surface at a pose.

Paths over surfaces are not computed yet, only straight ones. So that no wrong number is given out, muscles that touch a
surface get NaN. A path is straight as a whole exactly if no surface engages any of its straight stretches.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ..dynamics.kinematics import Pose, link_frames, placement
from ..geometry.spatial import rotate
from ..geometry.wrap_common import Wrap
from ..geometry.wrap_cylinder import wrap_cylinder
from ..geometry.wrap_ellipsoid import wrap_ellipsoid
from ..geometry.wrap_sphere import wrap_sphere
from ..geometry.wrap_torus import wrap_torus
from ..model.model import Model
from .path import moving_offsets, switched_on, touching

# Each: two points [3] in the surface's frame, its sizes [3], its quadrant's axis and sign.
SURFACES: dict[str, Callable[[Array, Array, Array, Array, Array], Wrap]] = {
    "WrapCylinder": lambda p, s, size, axis, sign: wrap_cylinder(p, s, size[0], size[1], axis, sign),
    "WrapSphere": lambda p, s, size, axis, sign: wrap_sphere(p, s, size[0], axis, sign),
    "WrapEllipsoid": lambda p, s, size, axis, sign: wrap_ellipsoid(p, s, size, axis, sign),
    "WrapTorus": lambda p, s, size, axis, sign: wrap_torus(p, s, size[0], size[1], axis, sign),
}


def wrapped(model: Model, at: Pose, q: Float[Array, " c"]) -> Bool[Array, " m"]:
    """Whether each muscle touches any of its surfaces."""
    paths, surfaces = model.paths, model.surfaces
    muscles = len(model.muscle_names)
    if len(paths.tries) == 0:
        return jnp.zeros(muscles, bool)
    surface, near, far = paths.tries.T
    on = switched_on(model, q, paths.tries_switch)
    ends = [in_surface_frame(model, at, q, points, surface) for points in (near, far)]
    engaged = jnp.zeros(len(surface), bool)
    for kind, wrap in SURFACES.items():
        which = np.flatnonzero([paths.surface_kind[k] == kind for k in surface])
        if len(which) == 0:
            continue
        index = surface[which]
        quadrant = (jnp.asarray(paths.surface_quadrant[index, 0]), jnp.asarray(paths.surface_quadrant[index, 1]))
        found = jax.vmap(lambda *case, wrap=wrap: wrap(*case).engaged)(
            ends[0][:, which].T, ends[1][:, which].T, surfaces.sizes[:, index].T, *quadrant
        )
        engaged = engaged.at[which].set(found)
    hits = jnp.where(engaged & on, 1.0, 0.0) @ np.eye(muscles)[paths.point_muscle[near]]
    return hits > 0


def in_surface_frame(
    model: Model, at: Pose, q: Float[Array, " c"], points: np.ndarray, surface: np.ndarray
) -> Float[Array, "3 k"]:
    """Path points expressed in the frames of surfaces, one of each per column."""
    paths, surfaces = model.paths, model.surfaces
    links = len(model.tree.inboard)
    position = link_frames(at) @ placement(paths.point_link[points], model.path.location[:, points], links)
    if len(paths.moving):
        position = position + moving_offsets(model, at, q) @ touching(paths.moving, points)
    link = paths.surface_link[surface]
    in_link = rotate(jnp.swapaxes(at.rotation[:, :, link], 0, 1), position - at.origin[:, link])
    back = jnp.swapaxes(surfaces.rotation[:, :, surface], 0, 1)
    return rotate(back, in_link - surfaces.translation[:, surface])
