"""People who are not the model's own: the parameters of somebody else, drawn at random."""

from __future__ import annotations

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from myograd.estimate.identification.inertia import body_map
from myograd.estimate.inverse.regressors import NAMES, stated, stated_bodies
from myograd.model.model import Model
from myograd.model.parameters import with_values

BODIES = ("humerus", "ulna", "radius")
"""Of the arms whose inertia is identified."""


def somebody(model: Model, bodies: tuple[str, ...], seed: int) -> Model:
    """The model with the parameters of somebody else: of muscles by up to 20 %, of the bodies by up to 12 % of their
    pseudo-inertia."""
    random = np.random.default_rng(seed)
    m = len(model.muscle_names)

    def about(x: Array, spread: float) -> Array:
        return jnp.asarray(np.round(np.asarray(x) * (1 + spread * random.uniform(-1, 1, m)), 6))

    old = model.muscles
    fiber = about(old.optimal_fiber_length, 0.08)
    longer = np.asarray(fiber - old.optimal_fiber_length) * np.cos(np.asarray(old.pennation_angle))
    shortest = jnp.minimum(0.006, 0.8 * old.tendon_slack_length)  # m
    muscles = replace(
        old,
        max_isometric_force=about(old.max_isometric_force, 0.2),
        optimal_fiber_length=fiber,
        # Fibres stay in the middle of their range: what they gain the tendon loses, and a little at random.
        tendon_slack_length=jnp.maximum(about(old.tendon_slack_length, 0.02) - 0.5 * longer, shortest),
        pennation_angle=about(old.pennation_angle, 0.1),
        max_contraction_velocity=about(old.max_contraction_velocity, 0.15),
    )
    bodily = {}
    for body, row in zip(bodies, stated_bodies(model, bodies), strict=True):
        free = np.concatenate([np.ones(4), np.zeros(6)]) + 0.12 * random.uniform(-1, 1, 10)
        numbers = np.asarray(stated(jnp.asarray(body_map(row) @ free))).tolist()
        bodily |= {f"{body}.{name}": value for name, value in zip(NAMES, numbers, strict=True)}
    return replace(with_values(model, bodily), muscles=muscles)
