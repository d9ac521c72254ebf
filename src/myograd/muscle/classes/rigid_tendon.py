"""RigidTendonMuscle: no states. The fibre takes what the tendon's slack length leaves of the path; activation is the control.

    tendon force = F_max (a f_L(l) f_V(v) + f_PE(l)) cos(phi)

Curves are splines of the file. As in OpenSim, v is the path's speed, not that along the fibre.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp

from ...geometry.piecewise import PiecewisePolynomials
from ...model.model import MuscleValues
from ..curves.splines import spline_value
from ..state import TINY, Fiber, Group, MuscleState, Vector, at_least, clamped, fiber_width, muscle_state

NARROW = 2.0**-26  # [m] muscles less wide than this count as parallel
MOST_PASSIVE = 10.0


class Shape(eqx.Module):
    """One curve per muscle."""

    active: PiecewisePolynomials
    passive: PiecewisePolynomials
    velocity: PiecewisePolynomials


def shape(p: MuscleValues, group: Group) -> Shape:
    return Shape(
        *(p.curves[f"{name}_curve"] for name in ("active_force_length", "passive_force_length", "force_velocity"))
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
    fpl = clamped(spline_value(of.passive, norm_length), 0.0, MOST_PASSIVE)
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
