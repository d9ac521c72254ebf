"""Forces on coordinates: actuators, limits, springs.

    actuator    tau = control * optimal force
    limit       tau = -s(x_up) K_up (q - q_up) + s(x_low) K_low (q_low - q) - d (s(x_up) + s(x_low)) u
                x: how far beyond the limit, per transition; s(x) = 10 x^3 - 15 x^4 + 6 x^5 from 0 to 1
    spring      tau = -K (q - q_rest) - d u
(OpenSim's CoordinateActuator, CoordinateLimitForce and SpringGeneralizedForce.)
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..model.model import Model

Vector = Float[Array, " c"]


def coordinate_forces(model: Model, q: Vector, u: Vector, controls: Float[Array, " k"]) -> Vector:
    """Generalised forces of all of them [N m, N]."""
    parts, values = model.force_parts, model.forces
    turning = len(parts.actuated_coordinate)
    actuation = values.actuator_force[:turning] * controls[parts.actuator_control[:turning]]
    pairs = (
        (parts.actuated_coordinate, actuation),
        (parts.limited, limit_forces(model, q, u)),
        (parts.sprung, spring_forces(model, q, u)),
    )
    which = np.concatenate([coordinate for coordinate, _ in pairs])
    if len(which) == 0:
        return jnp.zeros_like(u)
    return jnp.concatenate([force for _, force in pairs]) @ np.eye(len(model.coordinate_names))[which]


def limit_forces(model: Model, q: Vector, u: Vector) -> Float[Array, " l"]:
    it, which = model.forces.limits, model.force_parts.limited
    side = jnp.array([[-1.0], [1.0]])  # lower, upper
    beyond = side * (q[which] - it.limit)
    share = _step(beyond / it.transition)
    return jnp.sum(-side * share * it.stiffness * beyond, axis=0) - it.damping * jnp.sum(share, axis=0) * u[which]


def spring_forces(model: Model, q: Vector, u: Vector) -> Float[Array, " g"]:
    it, which = model.forces.coordinate_springs, model.force_parts.sprung
    return -it.stiffness * (q[which] - it.rest_length) - it.viscosity * u[which]


def _step(x: Array) -> Array:
    """From 0 at 0 to 1 at 1, with two continuous derivatives."""
    x = jnp.clip(x, 0.0, 1.0)
    return x**3 * (10 + x * (6 * x - 15))
