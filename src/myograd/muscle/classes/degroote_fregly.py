"""DeGrooteFregly2016Muscle: De Groote, Kinney, Rao, Fregly (2016), with the constants of OpenSim 4.6.

    f_T(l_T) = (a f_L(l) f_V(v) + f_PE(l) + beta v) cos(phi)

All curves are smooth closed formulas that can be inverted. OpenSim's state is the normalised tendon force; here it is the fibre
length, as for every class, from which that force follows: `f_T((L - l cos(phi)) / l_slack)`.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ...model.model import MuscleValues
from ..activation import smoothed_activation_rate
from ..state import TINY, Fiber, Group, MuscleState, Vector, at_least, clamped, fiber_width, muscle_state, pennate
from .roots import bracketed_root, with_derivatives

# Three Gaussian-like bumps of the active curve: height, centre, width, growth of the width.
BUMPS = (
    (0.8150671134243542, 1.055033428970575, 0.162384573599574, 0.063303448465465),
    (0.433004984392647, 0.716775413397760, -0.029947116970696, 0.200356847296188),
    (0.1, 1.0, 0.353553390593274, 0.0),
)
VELOCITY = (-0.3211346127989808, -8.149, -0.374, 0.8825327733249912)
PASSIVE_SHAPE, SHORTEST = 4.0, 0.2  # the passive force is zero at the shortest normalised length
TENDON = 0.2  # the tendon's curve is TENDON (exp(k strain) - 1)
MOST_FORCE = 5.0  # equilibrium is looked for up to here
LEAST_ACTIVE = 1e-9  # what a f_L counts as at least where it divides
LARGEST_MULTIPLIER = 100.0  # f_V is clamped to it, so that the inverse stays finite
STEEPEST = np.sqrt(1 - 1e-6)  # sine of the pennation at which a given fibre is clamped


class Shape(eqx.Module):
    """What is known of muscles before their state. One number per muscle."""

    smoothing: Vector
    width: Vector
    passive_strain: Vector
    has_passive: tuple[bool, ...] = eqx.field(static=True)  # or is it left out?
    variant: str = eqx.field(static=True)


def shape(p: MuscleValues, group: Group) -> Shape:
    return Shape(
        p.numbers["activation_dynamics_smoothing"],
        p.numbers["active_force_width_scale"],
        p.numbers["passive_fiber_strain_at_one_norm_force"],
        group.passive_force,
        group.variant,
    )


def active_multiplier(of: Shape, norm_length: Vector) -> Vector:
    """f_L."""
    x = (norm_length - 1) / of.width + 1
    return sum((b1 * jnp.exp(-0.5 * (x - b2) ** 2 / (b3 + b4 * x) ** 2) for b1, b2, b3, b4 in BUMPS), jnp.zeros_like(x))


def passive_multiplier(of: Shape, norm_length: Vector) -> Vector:
    """f_PE."""
    offset = jnp.exp(PASSIVE_SHAPE * (SHORTEST - 1) / of.passive_strain)
    force = (jnp.exp(PASSIVE_SHAPE * (norm_length - 1) / of.passive_strain) - offset) / (np.exp(PASSIVE_SHAPE) - offset)
    return np.array(of.has_passive, float) * force


def force_velocity(norm_velocity: Vector) -> Vector:
    """f_V."""
    d1, d2, d3, d4 = VELOCITY
    return d1 * jnp.arcsinh(d2 * norm_velocity + d3) + d4


def velocity(multiplier: Vector) -> Vector:
    """The inverse of f_V."""
    d1, d2, d3, d4 = VELOCITY
    finite = clamped(multiplier, -LARGEST_MULTIPLIER, LARGEST_MULTIPLIER)
    return (jnp.sinh((finite - d4) / d1) - d3) / d2


def _tendon_stiffness(p: MuscleValues) -> Vector:
    return np.log((1 + TENDON) / TENDON) / p.tendon_strain_at_one_norm_force


def tendon_multiplier(p: MuscleValues, strain: Vector) -> Vector:
    """f_T; negative where the tendon is shorter than its slack length, but never below -0.2."""
    return TENDON * jnp.expm1(_tendon_stiffness(p) * strain)


def tendon_strain(p: MuscleValues, multiplier: Vector) -> Vector:
    """The inverse of f_T."""
    return jnp.log1p(multiplier / TENDON) / _tendon_stiffness(p)


def _fiber_along(p: MuscleValues, along: Vector) -> Fiber:
    """The fibre that takes `along` of the path."""
    length = jnp.maximum(jnp.sqrt(along**2 + fiber_width(p) ** 2), TINY)
    return Fiber(length, fiber_width(p) / length, along / length)


def _given_fiber(p: MuscleValues, length: Vector, fiber_length: Vector) -> Fiber:
    """A fibre of known length. It is folded back on the tendon where the path is shorter than the slack tendon: OpenSim's
    tendon does not push, so its fibre does."""
    fiber = pennate(fiber_width(p), fiber_length, STEEPEST)
    return fiber._replace(cos=jnp.where(length < p.tendon_slack_length, -fiber.cos, fiber.cos))


def fiber_of_tension(p: MuscleValues, length: Vector, multiplier: Vector) -> Vector:
    """Length [m] of the fibre that takes what a tendon under `multiplier`, OpenSim's state, leaves of the path. NaN where no
    fibre does: it would have to fold back although the path is long enough for the slack tendon, or the other way round."""
    along = length - p.tendon_slack_length * (1 + tendon_strain(p, multiplier))
    return jnp.where((along < 0) == (length < p.tendon_slack_length), _fiber_along(p, along).length, jnp.nan)


def shortest_fiber(p: MuscleValues) -> Vector:
    """As long as the muscle is wide: a path leaves no shorter one."""
    return jnp.maximum(fiber_width(p), TINY)


def activation_derivative(p: MuscleValues, of: Shape, activation: Vector, excitation: Vector) -> Vector:
    """da/dt [1/s]."""
    times = p.activation_time_constant, p.deactivation_time_constant
    return smoothed_activation_rate(excitation, activation, *times, of.smoothing)


def dynamics(
    p: MuscleValues, of: Shape, length: Vector, speed: Vector, activation: Vector, fiber_length: Vector
) -> MuscleState:
    """State of muscles with the path's length and speed; `fiber_length` is not used where the tendon is rigid.

    As in OpenSim, the velocity of a fibre on an elastic tendon is computed without damping.
    """
    fastest = p.max_contraction_velocity * p.optimal_fiber_length
    rigid = of.variant == "rigid"
    if rigid:
        fiber = _fiber_along(p, length - p.tendon_slack_length)
    else:
        fiber = _given_fiber(p, length, at_least(fiber_length, shortest_fiber(p)))
    norm_length = fiber.length / p.optimal_fiber_length
    fal, fpl = active_multiplier(of, norm_length), passive_multiplier(of, norm_length)
    tendon_length = p.tendon_slack_length if rigid else length - fiber.along_tendon
    ft = tendon_multiplier(p, tendon_length / p.tendon_slack_length - 1)
    if rigid:
        v = speed * fiber.cos / fastest
        fv = force_velocity(v)
    else:
        fv = (ft / fiber.cos - fpl) / at_least(activation * fal, LEAST_ACTIVE)
        v = velocity(fv)
    active, passive = activation * fal * fv, fpl + p.fiber_damping * v
    total = active + passive
    strength = p.max_isometric_force
    return muscle_state(
        p,
        tendon_force=strength * (total * fiber.cos if rigid else ft),
        fiber=fiber,
        tendon_length=tendon_length,
        fiber_velocity=v * fastest,
        norm_fiber_velocity=v,
        activation=activation,
        curves=(fal, fpl, fv),
        active=strength * active,
        passive=strength * passive,
        total=strength * total,
    )


def force_balance(
    p: MuscleValues, of: Shape, length: Vector, activation: Vector, fiber_length: Vector, fiber_velocity: Vector
) -> Vector:
    """Fibre force along the tendon less tendon force, normalised: the implicit form, damping included."""
    if of.variant == "rigid":
        return jnp.zeros_like(length)
    v = fiber_velocity / (p.max_contraction_velocity * p.optimal_fiber_length)
    return _balance(p, of, length, activation, _given_fiber(p, length, fiber_length), v)


def _balance(
    p: MuscleValues, of: Shape, length: Vector, activation: Vector, fiber: Fiber, norm_velocity: Vector
) -> Vector:
    norm_length = fiber.length / p.optimal_fiber_length
    active = activation * active_multiplier(of, norm_length) * force_velocity(norm_velocity)
    pull = active + passive_multiplier(of, norm_length) + p.fiber_damping * norm_velocity
    return pull * fiber.cos - tendon_multiplier(p, (length - fiber.along_tendon) / p.tendon_slack_length - 1)


def equilibrium(p: MuscleValues, of: Shape, length: Vector, speed: Vector, activation: Vector) -> Vector:
    """Fibre length at which tendon and fibre balance while the tendon keeps its length: the fibre takes all of the path's
    speed (OpenSim's convention for this class).

    Looked for between tendon forces of 0 and 5; where the balance does not change sign there OpenSim raises, and here it is
    the end at which it is closer to zero.
    """
    if of.variant == "rigid":
        return _fiber_along(p, length - p.tendon_slack_length).length

    def fiber_at(p: MuscleValues, length: Vector, force: Vector) -> Fiber:
        return _fiber_along(p, length - p.tendon_slack_length * (1 + tendon_strain(p, force)))

    def residual(given: tuple[Shape, MuscleValues, Vector, Vector, Vector], force: Vector) -> Vector:
        of, p, length, speed, activation = given
        fiber = fiber_at(p, length, force)
        v = speed * fiber.cos / (p.max_contraction_velocity * p.optimal_fiber_length)
        return -_balance(p, of, length, activation, fiber, v)

    given = (of, p, length, speed, activation)
    low, high = jnp.zeros_like(length), jnp.full_like(length, MOST_FORCE)
    root = bracketed_root(residual, given, low, high, 0.5 * high)
    inside = (root > low) & (root < high * (1 - 1e-9))
    force = jnp.where(
        inside, with_derivatives(residual, given, jnp.where(inside, root, 1.0)), jnp.clip(root, low, high)
    )
    return fiber_at(p, length, force).length
