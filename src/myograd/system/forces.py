"""What all forces of a model together do: generalised forces at a state.

    tau = tau_coordinates - (dL/dq)^T T + J^T w
T are the tensions of muscles and other forces along paths, w the wrenches of springs, bushings and contact on bodies: each
term of the model (`force.term`) adds to one of the three, and each is brought to the coordinates once.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..dynamics.entry import need
from ..dynamics.inverse import generalized_force
from ..dynamics.kinematics import motion, pose
from ..dynamics.wrenches import on_links
from ..errors import ModelError
from ..force.term import Energy, Instant, Loads, Term
from ..model.description import Severity
from ..model.model import Model
from ..muscle.api import need_contraction
from ..muscle.contraction import muscle_states
from ..muscle.state import MuscleState
from ..path.length import lengths_and_gradient
from .state import State

Vector = Float[Array, " c"]


class Forces(eqx.Module):
    """Forces at one state, and what they were computed from."""

    now: Instant
    muscles: MuscleState
    activation: Float[Array, " m"]
    """as controls and states make it"""
    tau: Vector

    @property
    def length(self) -> Float[Array, " m"]:
        """Of the muscles' paths [m]."""
        return self.now.length[: len(self.activation)]  # pyright: ignore[reportOptionalSubscript]

    @property
    def speed(self) -> Float[Array, " m"]:
        """[m/s]"""
        return self.now.speed[: len(self.activation)]  # pyright: ignore[reportOptionalSubscript]


def need_forces(model: Model, function: str, accept: tuple[str, ...]) -> None:
    """Raise unless every force that is not computed is accepted by name."""
    need(model, function, accept, Severity.FORCE, "uncomputed force")
    need_contraction(model, function, accept)  # of a description that was changed since it was read


def forces_at(
    model: Model,
    state: State,
    controls: Float[Array, " k"],
    wrenches: Float[Array, "bodies 6"] | None = None,
    torques: Vector | None = None,
) -> Forces:
    """All forces but gravity and constraints. `wrenches`: see `state_derivative`; `torques`: more, on coordinates [N m, N]."""
    now, gradient = driven_instant(model, state, controls)
    classes, m = model.muscle_classes, len(model.muscle_names)
    assert now.length is not None and now.speed is not None
    excitation = controls[np.array(classes.control, int)]
    activation = jnp.where(np.array(classes.immediate_activation, bool), excitation, state.activation)
    muscles = muscle_states(model, now.length[:m], now.speed[:m], activation, state.fiber_length)
    acts = np.array(classes.applied, bool) & np.array([not problem for problem in classes.problem], bool)
    pulled = np.array([*acts, *[True] * (len(model.names.paths) - m)], bool)
    loads = total(model, now)
    tension = jnp.zeros(len(model.names.paths)) if loads.tensions is None else loads.tensions
    tension = tension.at[:m].add(jnp.where(acts, muscles.tendon_force, 0.0)) if m else tension
    tau = -(jnp.where(pulled, tension, 0.0) @ jnp.where(pulled[:, None], gradient, 0.0))
    if loads.coordinates is not None:
        tau = loads.coordinates + tau
    if loads.wrenches is not None:
        tau = tau + generalized_force(model, now.at, loads.wrenches)
    if wrenches is not None:
        tau = tau + generalized_force(model, now.at, on_links(model, now.at, wrenches))
    if torques is not None:
        tau = tau + torques
    return Forces(now, muscles, activation, tau)


def driven_instant(model: Model, state: State, controls: Float[Array, " k"]) -> tuple[Instant, Float[Array, "p c"]]:
    """The instant with controls and the lengths and speeds of paths; and the lengths' rates per unit speeds."""
    return _driven(model, state.q, state.u, state.time, controls)


def _driven(
    model: Model, q: Vector, u: Vector, time: Array | float, controls: Array
) -> tuple[Instant, Float[Array, "p c"]]:
    at = pose(model, q)
    length, gradient = lengths_and_gradient(model, at, q)
    return Instant(time, q, u, at, motion(model, q, u, at), controls, length, gradient @ u), gradient


def total(model: Model, now: Instant) -> Loads:
    """The sum of all terms' forces."""
    parts = [
        Loads(_by_known_tangent(term, model, now))
        if type(term).tangent is not Term.tangent
        else _force(term, model, now)
        for term in model.terms
    ]

    def added(column: list[Array | None]) -> Array | None:
        known = [x for x in column if x is not None]
        return sum(known[1:], known[0]) if known else None

    return Loads(
        added([part.coordinates for part in parts]),
        added([part.tensions for part in parts]),
        added([part.wrenches for part in parts]),
    )


def _force(term: Term, model: Model, now: Instant) -> Loads:
    """A term's force, if it is of the right form."""
    loads = term.force(model, now)
    if not isinstance(loads, Loads):
        raise ModelError(f"{type(term).__name__}.force gives a {type(loads).__name__}, not Loads")
    c, p = len(model.coordinate_names), len(model.names.paths)
    for what, value, size in (("coordinates", loads.coordinates, c), ("tensions", loads.tensions, p)):
        if value is not None and jnp.shape(value) != (size,):
            raise ModelError(
                f"{type(term).__name__}.force: {what} have shape {jnp.shape(value)}, but {(size,)} is needed"
            )
    return loads


def _by_known_tangent(term: Term, model: Model, now: Instant) -> Vector:
    """Generalised forces of a term, differentiated along q and u by the tangent that it knows, in all else as usual."""
    values, static = eqx.partition((term, model, now.time, now.controls), eqx.is_inexact_array)

    def parts(q: Vector, u: Vector, values: Any) -> tuple[Term, Model, Instant, Float[Array, "p c"]]:
        term, model, time, controls = eqx.combine(values, static)
        return term, model, *_driven(model, q, u, time, controls)

    def plain(q: Vector, u: Vector, values: Any) -> Vector:
        term, model, now, gradient = parts(q, u, values)
        loads, tau = _force(term, model, now), jnp.zeros_like(u)
        if loads.coordinates is not None:
            tau = tau + loads.coordinates
        if loads.tensions is not None:
            tau = tau - loads.tensions @ gradient
        if loads.wrenches is not None:
            tau = tau + generalized_force(model, now.at, loads.wrenches)
        return tau

    known = jax.custom_jvp(plain)

    @known.defjvp
    def _(at: Any, along: Any) -> tuple[Vector, Vector]:
        q, u, values = at
        value, change = jax.jvp(lambda values: plain(q, u, values), (values,), along[2:])
        term, model, now, _ = parts(q, u, values)
        by_q, by_u = term.tangent(model, now)
        return value, change + by_q @ along[0] + by_u @ along[1]

    return known(now.q, now.u, values)


def elastic_energy(model: Model, state: State) -> Float[Array, ""]:
    """Of springs, bushings, limits, ligaments and contacts [J]; muscles and their tendons are not among them."""
    now, _ = driven_instant(model, state, jnp.zeros(len(model.control_names)))
    parts: list[Energy] = [term.energy(model, now) for term in model.terms]
    return sum((part.elastic for part in parts), jnp.zeros(()))  # pyright: ignore[reportReturnType]
