"""Inverse dynamics: generalised forces of a motion, `M udot + b`, by Newton and Euler over all links at once."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..geometry.frames import Motion, Pose
from ..geometry.spatial import dot, force_cross
from ..model.model import Model
from .inertia import apply_inertia


def newton_euler(
    model: Model, at: Pose, moving: Motion, inertia: Float[Array, "10 n"], acceleration: Float[Array, "6 n"]
) -> Float[Array, " c"]:
    """Generalised forces that accelerate the links as given, against gravity."""
    lifted = acceleration - jnp.concatenate([jnp.zeros(3), model.gravity])[:, None]
    V = moving.velocity
    wrench = apply_inertia(inertia, lifted) + force_cross(V, apply_inertia(inertia, V))
    return generalized_force(model, at, wrench)


def mass_times(model: Model, at: Pose, inertia: Float[Array, "10 n"], udot: Float[Array, " c"]) -> Float[Array, " c"]:
    """`M udot`, without M."""
    return generalized_force(model, at, apply_inertia(inertia, (at.screws * udot) @ model.tree.speed_links))


def generalized_force(model: Model, at: Pose, wrench: Float[Array, "6 n"]) -> Float[Array, " c"]:
    """`J^T F` (Eq. 16 of Sherman, Seth, Delp) of wrenches on links: moment about the ground origin above force [N m, N]."""
    return dot(at.screws, wrench @ model.tree.speed_links.T)
