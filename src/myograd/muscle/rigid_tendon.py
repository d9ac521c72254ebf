"""RigidTendonMuscle: no states. The fibre takes what the tendon's slack length leaves of the path; activation is the control.

    tendon force = F_max (a f_L(l) f_V(v) + f_PE(l)) cos(phi)

Curves are splines of the file. As in OpenSim, v is the path's speed, not that along the fibre.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp

from ..geometry.piecewise import PiecewisePolynomials
from ..model.model import MuscleValues
from ..model.muscle_kinds import MuscleKinds
from .splines import spline_value, splines
from .state import TINY, Fiber, MuscleState, Vector, at_least, fiber_width, held, muscle_state

NARROW = 2.0**-26  # [m] muscles less wide than this count as parallel
MOST_PASSIVE = 10.0


class Shape(NamedTuple):
    """NumPy, one curve per muscle."""

    active: PiecewisePolynomials
    passive: PiecewisePolynomials
    velocity: PiecewisePolynomials


def variant(kinds: MuscleKinds, muscle: int) -> str:
    return "rigid"


def shape(kinds: MuscleKinds, muscles: Sequence[int]) -> Shape:
    given = [dict(kinds.splines[m]) for m in muscles]
    return Shape(
        splines(given, "active_force_length_curve"),
        splines(given, "passive_force_length_curve"),
        splines(given, "force_velocity_curve"),
    )


def _fiber(p: MuscleValues, length: Vector) -> Fiber:
    width = fiber_width(p)
    along = at_least(length - p.tendon_slack_length, 0.0)
    pennate = width > NARROW
    fiber_length = jnp.where(pennate, jnp.hypot(along, jnp.where(pennate, width, 1.0)), along)
    some = jnp.maximum(fiber_length, TINY)
    return Fiber(fiber_length, jnp.where(pennate, width / some, 0.0), jnp.where(pennate, along / some, 1.0))


def activation_derivative(p: MuscleValues, of: Shape, activation: Vector, excitation: Vector) -> Vector:
    """There is no such state."""
    return jnp.zeros_like(activation)


def dynamics(
    p: MuscleValues, of: Shape, length: Vector, speed: Vector, activation: Vector, fiber_length: Vector
) -> MuscleState:
    """State of muscles with the path's length and speed; `fiber_length` is not used."""
    fiber = _fiber(p, length)
    norm_length = fiber.length / p.optimal_fiber_length
    v = speed / (p.max_contraction_velocity * p.optimal_fiber_length)
    fal, fv = spline_value(of.active, norm_length), spline_value(of.velocity, v)
    fpl = held(spline_value(of.passive, norm_length), 0.0, MOST_PASSIVE)
    active, passive = p.max_isometric_force * activation * fal * fv, p.max_isometric_force * fpl
    rest = p.tendon_slack_length
    state = muscle_state(
        p,
        tendon_force=(active + passive) * fiber.cos,
        fiber=fiber,
        tendon_length=rest,
        fiber_velocity=speed,
        norm_fiber_velocity=v,
        activation=activation,
        curves=(fal, fpl, fv),
        active=active,
        passive=passive,
        total=active + passive,
    )
    return state._replace(tendon_strain=jnp.zeros_like(rest))


def force_balance(
    p: MuscleValues, of: Shape, length: Vector, activation: Vector, fiber_length: Vector, fiber_velocity: Vector
) -> Vector:
    """There is nothing to balance."""
    return jnp.zeros_like(length)


def equilibrium(p: MuscleValues, of: Shape, length: Vector, speed: Vector, activation: Vector) -> Vector:
    """The fibre length that the path leaves."""
    return _fiber(p, length).length
