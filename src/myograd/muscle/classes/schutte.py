"""Schutte1993Muscle_Deprecated: Schutte, Rodgers, Zajac, Glaser (1993), as OpenSim 4.6 computes it.

    f_T(strain) = (a f_L(l) f_V(v) + f_PE(l) + damping v) cos(phi)

Curves are splines of the file. The force-velocity relation is a hyperbola on each side of rest, so that the velocity is the root
of a quadratic. Time is scaled: velocities are per `time_scale`.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from ...geometry.piecewise import PiecewisePolynomials
from ...geometry.spatial import materialized
from ...model.model import MuscleValues
from ..curves.splines import spline_value
from ..state import TINY, Fiber, Group, MuscleState, Vector, at_least, fiber_width, muscle_state
from .roots import with_derivatives

HYPERBOLA, LENGTHENING_SLOPE, LENGTHENING_FORCE = 0.15, 0.13, 1.4
CLOSE_ENOUGH = 0.01  # [N] OpenSim's equilibrium of this class
UPRIGHT = 2e-13  # cosine below which a fibre counts as perpendicular to the tendon


class Shape(eqx.Module):
    """What is known of muscles before their state. One entry per muscle."""

    time_scale: Vector
    activation1: Vector
    activation2: Vector
    active: PiecewisePolynomials
    passive: PiecewisePolynomials
    tendon: PiecewisePolynomials
    has_passive: tuple[bool, ...] = eqx.field(
        static=True
    )  # False: no passive curve in the file, an exponential instead


def shape(p: MuscleValues, group: Group) -> Shape:
    return Shape(
        time_scale=p.numbers["time_scale"],
        activation1=p.numbers["activation1"],
        activation2=p.numbers["activation2"],
        active=p.curves["active_force_length_curve"],
        passive=p.curves["passive_force_length_curve"],
        tendon=p.curves["tendon_force_length_curve"],
        has_passive=tuple("passive_force_length_curve" in names for names in group.stated),
    )


def active_multiplier(of: Shape, norm_length: Vector) -> Vector:
    """f_L; a spline may dip below zero."""
    return spline_value(of.active, norm_length)


def passive_multiplier(of: Shape, norm_length: Vector) -> Vector:
    """f_PE; where the file has no curve, the exponential that is 1 at a length of 1.5."""
    return jnp.where(
        np.array(of.has_passive), spline_value(of.passive, norm_length), jnp.exp(8 * (norm_length - 1) - 4)
    )


def tendon_multiplier(of: Shape, strain: Vector) -> Vector:
    """f_T; zero when slack."""
    return jnp.where(strain < 0, 0.0, spline_value(of.tendon, strain))


def _fiber(p: MuscleValues, length: Vector) -> Fiber:
    """Perpendicular to the tendon where shorter than the muscle is wide; along it where there is no length at all."""
    some = jnp.maximum(length, TINY)
    sin = jnp.where(length < 2.3e-16, 0.0, jnp.minimum(fiber_width(p) / some, 1.0))
    upright = sin >= 1
    cos = jnp.where(upright, 6.1e-17, jnp.sqrt(jnp.where(upright, 1.0, 1 - sin**2)))
    return Fiber(length, sin, cos)


def velocity(p: MuscleValues, a_fal: Vector, force: Vector) -> Vector:
    """Fibre velocity in optimal lengths per time_scale, at which the fibre bears `force` besides its spring."""
    damping = p.fiber_damping
    c = HYPERBOLA * (force - a_fal) / damping
    b = -(force + HYPERBOLA * a_fal + HYPERBOLA * damping) / damping
    shortening = (-b - jnp.sqrt(b**2 - 4 * jnp.where(c > 0, 0.0, c))) / 2
    k = LENGTHENING_SLOPE * HYPERBOLA / (HYPERBOLA + 1)
    c = -k / damping * (force - a_fal)
    b = -(force / damping - LENGTHENING_FORCE * a_fal / damping - k)
    lengthening = (-b + jnp.sqrt(b**2 - 4 * jnp.where(c > 0, 0.0, c))) / 2
    return jnp.where(force <= a_fal, shortening, lengthening)


def force_at(p: MuscleValues, a_fal: Vector, v: Vector) -> Vector:
    """The inverse of `velocity`."""
    damping = p.fiber_damping
    slow = jnp.where(v <= 0, v, 0.0)
    shortening = (slow * HYPERBOLA * (a_fal + damping) + HYPERBOLA * a_fal - slow**2 * damping) / (HYPERBOLA - slow)
    k, fast = LENGTHENING_SLOPE * HYPERBOLA / (HYPERBOLA + 1), jnp.where(v > 0, v, 0.0)
    lengthening = (damping * fast**2 + fast * (LENGTHENING_FORCE * a_fal + k * damping) + k * a_fal) / (fast + k)
    return jnp.where(v <= 0, shortening, lengthening)


def activation_derivative(p: MuscleValues, of: Shape, activation: Vector, excitation: Vector) -> Vector:
    """da/dt [1/s]."""
    rising = excitation >= activation
    gain = jnp.where(rising, of.activation1 * excitation, 0.0) + of.activation2
    return (excitation - activation) * gain / of.time_scale


def dynamics(
    p: MuscleValues, of: Shape, length: Vector, speed: Vector, activation: Vector, fiber_length: Vector
) -> MuscleState:
    """State of muscles with the path's length; its speed only matters to fibres perpendicular to the tendon."""
    fiber = _fiber(p, at_least(fiber_length, fiber_width(p)))  # perpendicular to the tendon, it is the shortest
    norm_length = fiber.length / p.optimal_fiber_length
    tendon_length = length - fiber.along_tendon
    fal, fpl = active_multiplier(of, norm_length), passive_multiplier(of, norm_length)
    ft = tendon_multiplier(of, tendon_length / p.tendon_slack_length - 1)
    upright = fiber.cos <= UPRIGHT
    pull = ft / jnp.where(upright, 1.0, fiber.cos)
    a_fal = activation * at_least(fal, 0.0)
    v = velocity(p, a_fal, at_least(pull - fpl, 0.0)) * p.optimal_fiber_length / of.time_scale
    v = jnp.where(upright, jnp.where(ft > UPRIGHT, speed * _stiff_cosine(p, length), 0.0), v)
    strength = p.max_isometric_force
    active = ft / fiber.cos - fpl
    fastest = p.optimal_fiber_length * p.max_contraction_velocity  # not used by this class, and zero in some files
    return muscle_state(
        p,
        tendon_force=strength * ft,
        fiber=fiber,
        tendon_length=tendon_length,
        fiber_velocity=v,
        norm_fiber_velocity=jnp.where(fastest > 0, v / jnp.where(fastest > 0, fastest, 1.0), jnp.nan),
        activation=activation,
        curves=(fal, fpl, (pull - fpl) / jnp.maximum(a_fal, TINY)),
        active=strength * active,
        passive=strength * fpl,
        total=strength * ft / fiber.cos,
    )


def _stiff_cosine(p: MuscleValues, length: Vector) -> Vector:
    """Of the pennation that the fibre would have on a tendon of slack length; in OpenSim's mixture of units."""
    along = length / p.optimal_fiber_length - p.tendon_slack_length
    fiber = jnp.sqrt(along**2 + fiber_width(p) ** 2) / p.optimal_fiber_length
    sin = jnp.sin(p.pennation_angle) / jnp.maximum(fiber, TINY)
    return jnp.sqrt(jnp.maximum(1 - sin**2, 0.0))


# Equilibrium -------------------------------------------------------------------------------------------------

Given = tuple[Shape, MuscleValues, Vector, Vector]  # parameters, path length, activation


def force_balance(
    p: MuscleValues, of: Shape, length: Vector, activation: Vector, fiber_length: Vector, fiber_velocity: Vector
) -> Vector:
    """Fibre force along the tendon less tendon force, normalised."""
    fiber = _fiber(p, fiber_length)
    norm_length = fiber_length / p.optimal_fiber_length
    a_fal = activation * at_least(active_multiplier(of, norm_length), 0.0)
    pull = force_at(p, a_fal, fiber_velocity * of.time_scale / p.optimal_fiber_length)
    pull = pull + passive_multiplier(of, norm_length)
    strain = (length - fiber.along_tendon) / p.tendon_slack_length - 1
    return pull * fiber.cos - tendon_multiplier(of, strain)


def _balance_at_rest(given: Given, fiber_length: Vector) -> Vector:
    """As above, but as OpenSim's equilibrium has it: a spring does not push."""
    of, p, length, activation = given
    fiber = _fiber(p, fiber_length)
    norm_length = fiber_length / p.optimal_fiber_length
    pull = activation * at_least(active_multiplier(of, norm_length), 0.0)
    pull = pull + at_least(passive_multiplier(of, norm_length), 0.0)
    return pull * fiber.cos - tendon_multiplier(of, (length - fiber.along_tendon) / p.tendon_slack_length - 1)


def equilibrium(p: MuscleValues, of: Shape, length: Vector, speed: Vector, activation: Vector) -> Vector:
    """Fibre length at rest, as OpenSim finds it: its iteration, which ends when the forces differ by less than 0.01 N.

    That is up to a thousandth of the strength of a small muscle, so the exact root would be another fibre length; it is not
    what a comparison with OpenSim expects. The fibre is as long as the muscle is wide where the tendon is slack.
    """
    given = (of, p, length, activation)
    found = _opensim_iteration(lax.stop_gradient(given))
    slack = length < p.tendon_slack_length
    balance = with_derivatives(_balance_at_rest, given, found)
    return jnp.where(slack, fiber_width(p), balance)


def _opensim_iteration(given: Given) -> Vector:
    """Steps by the fibre's and tendon's stiffness while the imbalance keeps its sign, by the rule of false position where it
    changes; at most 100."""
    of, p, length, activation = given
    strength, optimal, rest = p.max_isometric_force, p.optimal_fiber_length, p.tendon_slack_length
    width = fiber_width(p)

    def not_slack(fiber_length: Vector) -> tuple[Vector, Vector, Vector]:
        """Fibre length, cosine, tendon length; the fibre shortened to what a tendon at rest leaves to it."""
        cos = _fiber(p, fiber_length).cos
        tendon = length - fiber_length * cos
        left = length - rest
        straight = jnp.hypot(left, width)
        slack = tendon < rest
        return (
            jnp.where(slack, straight, fiber_length),
            jnp.where(slack, left / jnp.maximum(straight, TINY), cos),
            jnp.where(slack, rest, tendon),
        )

    def forces(fiber_length: Vector, cos: Vector, tendon: Vector) -> tuple[Vector, Vector, Vector, Vector]:
        """Imbalance [N], multipliers of active, passive and tendon force."""
        norm_length = fiber_length / optimal
        fal, fpl = active_multiplier(of, norm_length), passive_multiplier(of, norm_length)
        ft = tendon_multiplier(of, tendon / rest - 1)
        pull = activation * jnp.maximum(fal, 0.0) + jnp.maximum(fpl, 0.0)
        return (ft - pull * cos) * strength, fal, fpl, ft

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        fiber_length, cos, tendon, before, error_before, count, done = state
        error, fal, fpl, ft = materialized(forces(fiber_length, cos, tendon))  # what is decided, is decided once
        done = done | (jnp.abs(error) <= CLOSE_ENOUGH)
        error_before = jnp.where(count == 0, error, error_before)
        pull = activation * jnp.maximum(fal, 0.0) + jnp.maximum(fpl, 0.0)
        tendon_stiffness = strength / rest * jnp.maximum(ft, pull * 1200.0 / 32.0)
        fiber_stiffness = strength / optimal * (fal + fpl)
        change = jnp.abs(error / (fiber_stiffness / cos + tendon_stiffness))
        change = jnp.where(change / optimal > 0.5, 0.5 * optimal, change)
        stiff = fiber_length + jnp.where(error > 0, change, -change)
        part = jnp.abs(error) / jnp.maximum(jnp.abs(error) + jnp.abs(error_before), TINY)
        between = fiber_length + part * (before - fiber_length)
        same_sign = (error >= 0) == (error_before >= 0)
        after, cos_after, tendon_after = not_slack(jnp.where(same_sign, stiff, between))
        return (
            jnp.where(done, fiber_length, after),
            jnp.where(done, cos, cos_after),
            jnp.where(done, tendon, tendon_after),
            fiber_length,
            error,
            count + 1,
            done,
        )

    start, cos, tendon = not_slack(optimal)
    start = jnp.maximum(start, width)
    # Nothing to be found where the tendon is slack.
    state = (start, cos, tendon, start, jnp.zeros_like(start), jnp.array(0), length < rest)
    return lax.while_loop(lambda state: (state[5] < 100) & ~jnp.all(state[6]), step, state)[0]
