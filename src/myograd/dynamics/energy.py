"""Mass, momentum and energy of a whole model, and the bias of its equation of motion."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..errors import ModelError
from ..force.term import Energy, Instant
from ..model.model import Model
from .entry import entry
from .guard import raise_where
from .terms import added, inertial_terms, instant

Vector = Float[Array, " c"]


@entry
def mass_matrix(model: Model, q: Vector) -> Float[Array, "c c"]:
    """M(q) [kg m^2, kg m, kg], constraints not considered."""
    now = instant(model, q, jnp.zeros_like(q))
    return added(term.inertia(model, now) for term in inertial_terms(model, now))


@entry
def center_of_mass(model: Model, q: Vector) -> Float[Array, "3"]:
    """Of the whole model, in ground [m]."""
    now = instant(model, q, jnp.zeros_like(q))
    moment = added(term.first_moment(model, now) for term in inertial_terms(model, now))
    mass = raise_where(
        moment[0] == 0,
        moment[0],
        moment[:1, None],
        lambda _: ModelError("the model has no mass, so no centre of mass"),
    )
    return moment[1:] / mass


@entry
def momentum(model: Model, q: Vector, u: Vector) -> Float[Array, "6"]:
    """Angular momentum about the ground origin [kg m^2/s], then linear momentum [kg m/s]."""
    now = instant(model, q, u)
    return added(term.momentum(model, now) for term in inertial_terms(model, now))


@entry
def kinetic_energy(model: Model, q: Vector, u: Vector) -> Float[Array, ""]:
    """Of all bodies and terms of the model [J]."""
    return jnp.asarray(inertial_energy(model, instant(model, q, u)).kinetic)


@entry
def potential_energy(model: Model, q: Vector) -> Float[Array, ""]:
    """Of gravity, zero at the ground origin [J]."""
    return jnp.asarray(inertial_energy(model, instant(model, q, jnp.zeros_like(q))).gravitational)


def inertial_energy(model: Model, now: Instant) -> Energy:
    """Of everything that has mass."""
    parts = [term.energy(model, now) for term in inertial_terms(model, now)]
    return Energy(*(sum(part) for part in zip(*parts, strict=True)))


@entry
def bias_forces(model: Model, q: Vector, u: Vector) -> Vector:
    """b in `M udot + b = tau`: Coriolis and centrifugal terms less gravity [N m, N]."""
    now = instant(model, q, u)
    return added(term.bias(model, now) for term in inertial_terms(model, now))


@entry
def gravity_forces(model: Model, q: Vector) -> Vector:
    """Generalised forces of gravity [N m, N]."""
    return -bias_forces(model, q, jnp.zeros_like(q))
