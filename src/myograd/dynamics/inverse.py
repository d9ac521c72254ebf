"""Inverse dynamics: generalised forces of a motion, `M udot + b`, by Newton and Euler over all links at once."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..geometry.spatial import dot, force_cross
from ..model.model import Model
from .inertia import apply_inertia, link_inertia
from .kinematics import Motion, Pose


def newton_euler(
    model: Model, at: Pose, moving: Motion, acceleration: Float[Array, "6 n"], gravity: Float[Array, "3"]
) -> Float[Array, " c"]:
    """Generalised forces that accelerate the links as given, against gravity."""
    inertia = link_inertia(model, at)
    lifted = acceleration - jnp.concatenate([jnp.zeros(3), gravity])[:, None]
    V = moving.velocity
    wrench = apply_inertia(inertia, lifted) + force_cross(V, apply_inertia(inertia, V))
    return generalized_force(model, at, wrench)


def generalized_force(model: Model, at: Pose, wrench: Float[Array, "6 n"]) -> Float[Array, " c"]:
    """`J^T F` (Eq. 16 of Sherman, Seth, Delp) of wrenches on links: moment about the ground origin above force [N m, N]."""
    return dot(at.screws, wrench @ model.tree.speed_links.T)
