"""Lengths of whole paths, straight segments and wrapping_lengths over surfaces together, and how speeds change them."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..dynamics.kinematics import speed_to_rate
from ..geometry.frames import Pose
from ..model.model import Model
from .contacts import Order, contacts
from .posed import posed_path_geometry
from .segments import moving_work, straight_gradient, straight_lengths
from .wrapping import added_length, wrapping_gradient, wrapping_lengths


def path_lengths(model: Model, at: Pose, q: Float[Array, " c"]) -> Float[Array, " m"]:
    """[m]; NaN where no path at rest was found."""
    straight = straight_lengths(model, at, q)
    if len(model.wraps.surface) == 0:
        return straight
    added, order = wrapping_lengths(model.wraps, posed_path_geometry(model, at, q))
    return (straight + added @ owner(model)) * known_of(model, order)


def length_gradient(model: Model, at: Pose, q: Float[Array, " c"]) -> Float[Array, "m c"]:
    """Rate of each path's length per unit speed [m, or 1 for translations]: the work of its lines. Moving points do their own
    work: their displacement in the frame counts as well as the frame's motion."""
    return lengths_and_gradient(model, at, q)[1]


def lengths_and_gradient(
    model: Model, at: Pose, q: Float[Array, " c"]
) -> tuple[Float[Array, " m"], Float[Array, "m c"]]:
    """`path_lengths` and `length_gradient`, with the surfaces that are touched looked for once."""
    length = straight_lengths(model, at, q)
    gradient, pull = straight_gradient(model, at, q)
    known = jnp.ones(len(model.names.paths))
    if len(model.wraps.surface):
        it = posed_path_geometry(model, at, q)
        touching = contacts(model.wraps, it)
        added, more_pull = wrapping_gradient(model, at, it, touching)
        gradient, pull, known = gradient + added, pull + more_pull, known_of(model, touching.order)
        length = (length + added_length(model.wraps, it, touching) @ owner(model)) * known
    if len(model.paths.moving):
        gradient = gradient + moving_work(model, at, q, pull) @ speed_to_rate(model, q)
    return length, gradient * jnp.where(model.paths.reach > 0, known[:, None], 1.0)


def owner(model: Model) -> np.ndarray:
    """[k, m] 1 where the path wrap is the muscle's."""
    return np.eye(len(model.names.paths))[model.wraps.path]


def known_of(model: Model, order: Order) -> Float[Array, " m"]:
    """1, or NaN for muscles with an arc that was not found. A factor: its derivatives are then not known either."""
    lost = jnp.where(order.engaged & ~order.converged, 1.0, 0.0) @ owner(model)
    return jnp.where(lost > 0, jnp.nan, 1.0)
