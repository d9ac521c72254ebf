"""Forces along a motion, as OpenSim's ForceReporter: what each muscle, actuator, spring, limit and ligament does, one number
for each. Forces between bodies (bushings, contacts, PointToPointSpring) are not one number, and not among them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..force.term import Law
from ..model.model import Model
from .forces import driven_instant, forces_at
from .state import State


def reported_names(model: Model) -> tuple[str, ...]:
    """Muscles, then the forces of each law that has one number for each, as OpenSim calls them."""
    others = (law.reported_as.format(name) for law in _scalar_laws(model) for name in law.names)
    return (*model.muscle_names, *others)


@jax.jit
def reported_forces(model: Model, states: State, controls: Float[Array, "n k"]) -> Float[Array, "n f"]:
    """Tendon forces and tensions [N], forces on coordinates [N m, N], of states with time as their first axis, in the order of
    `reported_names`."""

    def at(row: tuple[State, Array]) -> Float[Array, " f"]:
        state, controls = row
        now, _ = driven_instant(model, state, controls)
        amounts = [law.amounts(now) for law in _scalar_laws(model)]
        return jnp.concatenate([forces_at(model, state, controls).muscles.tendon_force, *amounts])  # pyright: ignore[reportArgumentType]

    return jax.lax.map(at, (states, controls), batch_size=32)


def _scalar_laws(model: Model) -> list[Law]:
    return [term for term in model.terms if isinstance(term, Law) and type(term).amounts is not Law.amounts]
