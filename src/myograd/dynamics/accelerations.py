"""Forces from motion, and motion from forces: inverse and forward dynamics."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..errors import ModelError
from ..model.model import Model
from .entry import entry, need_constraints
from .forward import Equation, by_elimination, by_multipliers
from .inverse import generalized_force
from .terms import instant
from .wrenches import on_links

Vector = Float[Array, " c"]


@entry
def inverse_dynamics(
    model: Model, q: Vector, u: Vector, udot: Vector, wrenches: Float[Array, "bodies 6"] | None = None
) -> Vector:
    """Generalised forces `M udot + b` that this motion needs, beyond gravity and external forces [N m, N].

    `wrenches`: external moment [N m], then force at the body origin [N], on each body, in ground. Forces of constraints
    are part of the result.
    """
    now = instant(model, q, u)
    needed = Equation(model, now).needed(udot)
    if wrenches is not None:
        needed = needed - generalized_force(model, now.at, on_links(model, now.at, wrenches))
    return needed


@entry
def forward_dynamics(
    model: Model,
    q: Vector,
    u: Vector,
    tau: Vector | None = None,
    wrenches: Float[Array, "bodies 6"] | None = None,
    time: float | Float[Array, ""] = 0.0,
    method: str = "elimination",
    accept: tuple[str, ...] = (),
) -> Vector:
    """udot [rad/s^2, m/s^2] under gravity, constraints, generalised forces tau and external wrenches (as in `inverse_dynamics`).

    `method`: `elimination` of coupled, locked and prescribed coordinates, or `multipliers` for all constraints. Both give
    the same accelerations; elimination solves a smaller system. `time` matters for prescribed coordinates only.
    """
    need_constraints(model, "forward_dynamics", accept)
    equation, force = _equation(model, q, u, tau, wrenches, time)
    if method == "elimination":
        return by_elimination(equation, force)
    if method == "multipliers":
        return by_multipliers(equation, force)[0]
    raise ModelError(f"forward_dynamics: method is 'elimination' or 'multipliers', not {method!r}")


@entry
def constraint_multipliers(
    model: Model,
    q: Vector,
    u: Vector,
    tau: Vector | None = None,
    wrenches: Float[Array, "bodies 6"] | None = None,
    time: float | Float[Array, ""] = 0.0,
    accept: tuple[str, ...] = (),
) -> Float[Array, " rows"]:
    """lambda of every constraint row, [N] or [N m] as the row is a distance or an angle: `M udot + b + G^T lambda = tau`."""
    need_constraints(model, "constraint_multipliers", accept)
    equation, force = _equation(model, q, u, tau, wrenches, time)
    return by_multipliers(equation, force)[1]


def _equation(
    model: Model,
    q: Vector,
    u: Vector,
    tau: Vector | None,
    wrenches: Float[Array, "bodies 6"] | None,
    time: float | Float[Array, ""],
) -> tuple[Equation, Vector]:
    """The equation of motion, and the generalised forces that are applied."""
    now = instant(model, q, u, time)
    force = jnp.zeros_like(u) if tau is None else tau
    if wrenches is not None:
        force = force + generalized_force(model, now.at, on_links(model, now.at, wrenches))
    return Equation(model, now), force
