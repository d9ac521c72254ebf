"""Everything about the muscles along a motion: lengths, velocities, forces, powers, moment arms; what OpenSim's MuscleAnalysis
computes, under its names."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..model.model import Model
from ..path.api import moment_arms
from .forces import forces_at
from .state import State

QUANTITIES = {
    "Length": "m",
    "FiberLength": "m",
    "NormalizedFiberLength": "optimal fibre lengths",
    "TendonLength": "m",
    "PennationAngle": "rad",
    "FiberVelocity": "m/s",
    "NormFiberVelocity": "maximum contraction velocities",
    "PennationAngularVelocity": "rad/s",
    "TendonForce": "N",
    "FiberForce": "N",
    "ActiveFiberForce": "N",
    "PassiveFiberForce": "N",
    "ActiveFiberForceAlongTendon": "N",
    "PassiveFiberForceAlongTendon": "N",
    "FiberActivePower": "W",
    "FiberPassivePower": "W",
    "TendonPower": "W",
    "MuscleActuatorPower": "W",
}
"""OpenSim's names, and units. Powers are positive where a part gives energy to the skeleton."""


def muscle_quantities(model: Model, state: State, controls: Float[Array, " k"]) -> dict[str, Float[Array, " m"]]:
    """Every quantity of every muscle at one state."""
    it = forces_at(model, state, controls)
    m, speed = it.muscles, it.speed
    cos = jnp.cos(m.pennation)
    tendon_velocity = speed - m.fiber_velocity / cos  # a fibre of constant width: d(l cos)/dt = ldot / cos
    return {
        "Length": it.length,
        "FiberLength": m.fiber_length,
        "NormalizedFiberLength": m.norm_fiber_length,
        "TendonLength": m.tendon_length,
        "PennationAngle": m.pennation,
        "FiberVelocity": m.fiber_velocity,
        "NormFiberVelocity": m.norm_fiber_velocity,
        "PennationAngularVelocity": -m.fiber_velocity / m.fiber_length * jnp.tan(m.pennation),
        "TendonForce": m.tendon_force,
        "FiberForce": m.fiber_force,
        "ActiveFiberForce": m.active_fiber_force,
        "PassiveFiberForce": m.passive_fiber_force,
        "ActiveFiberForceAlongTendon": m.active_fiber_force_along_tendon,
        "PassiveFiberForceAlongTendon": m.passive_fiber_force_along_tendon,
        "FiberActivePower": -m.active_fiber_force * m.fiber_velocity,
        "FiberPassivePower": -m.passive_fiber_force * m.fiber_velocity,
        "TendonPower": -m.tendon_force * tendon_velocity,
        "MuscleActuatorPower": -m.tendon_force * speed,
    }


@partial(jax.jit, static_argnames="accept")
def quantities_over_time(
    model: Model, states: State, controls: Float[Array, "n k"], accept: tuple[str, ...] = ()
) -> tuple[dict[str, Float[Array, "n m"]], Float[Array, "n m c"]]:
    """Every quantity, and all moment arms, of states with time as their first axis."""

    def at(state: State, controls: Float[Array, " k"]) -> tuple[dict[str, Array], Array]:
        return muscle_quantities(model, state, controls), moment_arms(model, state.q, accept=accept)

    return jax.lax.map(lambda row: at(*row), (states, controls), batch_size=32)
