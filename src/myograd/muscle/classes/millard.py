"""Millard2012EquilibriumMuscle: Millard, Uchida, Seth, Delp (2013), "Flexing computational muscle".

    f_T(l_T) = (a f_L(l) f_V(v) + f_PE(l) + beta v) cos(phi),   l_T = L - l cos(phi),   l sin(phi) = constant

normalised by the maximum isometric force. Three variants: `damped` (beta > 0; any activation), `classic` (beta = 0; the
force-velocity curve is inverted, so activation and f_L are kept from zero), `rigid` (the tendon keeps its slack length).
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ...model.description.muscle_properties import MILLARD_CURVES
from ...model.model import MuscleValues
from ..activation import activation_rate
from ..curves.bezier import BezierCurve, value_at
from ..curves.crossing import crossing
from ..curves.millard import broken_rules, curve_of, fitted
from ..state import TINY, Fiber, Group, MuscleState, Vector, at_least, fiber_width, muscle_state, pennate
from .roots import bracketed_root, with_derivatives


class Shape(eqx.Module):
    """What of a group of muscles of one variant is computed before their state is known."""

    minimum_activation: Vector
    shortest: Vector  # fibre length with active force, normalised
    steepest: Vector  # sine of the maximum pennation
    active: BezierCurve
    passive: BezierCurve
    tendon: BezierCurve
    velocity: BezierCurve
    inverse_velocity: BezierCurve | None  # classic only
    variant: str = eqx.field(static=True)


def shape(p: MuscleValues, group: Group) -> Shape:
    numbers = {curve: curve_numbers(p, group, curve) for curve in MILLARD_CURVES}
    active, velocity = numbers["ActiveForceLengthCurve"], numbers["ForceVelocityCurve"]
    classic = group.variant == "classic"
    return Shape(
        minimum_activation=p.numbers["minimum_activation"],
        shortest=active["min_norm_active_fiber_length"],
        steepest=jnp.sin(p.numbers["maximum_pennation_angle"]),
        active=curve_of("ActiveForceLengthCurve", active),
        passive=curve_of("FiberForceLengthCurve", numbers["FiberForceLengthCurve"]),
        tendon=curve_of("TendonForceLengthCurve", numbers["TendonForceLengthCurve"]),
        velocity=curve_of("ForceVelocityCurve", velocity),
        inverse_velocity=curve_of("ForceVelocityCurve", _invertible(velocity)).inverse() if classic else None,
        variant=group.variant,
    )


def curve_numbers(p: MuscleValues, group: Group, curve: str, xp: Any = jnp) -> dict[str, Any]:
    """All shape parameters of a curve, those that files leave to the class among them, as the variant needs them."""
    numbers = {name: p.numbers[f"{curve}/{name}"] for name in MILLARD_CURVES[curve] if f"{curve}/{name}" in p.numbers}
    if curve == "TendonForceLengthCurve":
        numbers["strain_at_one_norm_force"] = p.tendon_strain_at_one_norm_force
    for name, value in fitted(curve, numbers).items():
        stated = np.array([f"{curve}/{name}" in names for names in group.stated])
        numbers[name] = xp.where(stated, numbers.get(name, 0.0), value)
    if curve == "ActiveForceLengthCurve":
        # Damped and rigid muscles may lose all active force; the classic equation divides by it.
        least = numbers["minimum_value"]
        numbers["minimum_value"] = xp.maximum(least, 0.1) if group.variant == "classic" else xp.zeros_like(least)
    if curve == "ForceVelocityCurve":  # likewise: level at the maximum velocities, or never level
        for side in ("concentric", "eccentric"):
            end, near = numbers[f"{side}_slope_at_vmax"], numbers[f"{side}_slope_near_vmax"]
            level = xp.maximum(end, 0.5 * near) if group.variant == "classic" else xp.zeros_like(end)
            numbers[f"{side}_slope_at_vmax"] = level
    return numbers


def _invertible(numbers: dict[str, Any]) -> dict[str, Any]:
    """OpenSim inverts a curve of its own, whose end slopes are half of those near the ends."""
    return numbers | {
        f"{side}_slope_at_vmax": 0.5 * numbers[f"{side}_slope_near_vmax"] for side in ("concentric", "eccentric")
    }


def problems(p: MuscleValues, group: Group) -> list[tuple[np.ndarray, str]]:
    """What is wrong with curves: which muscles of the group, and why. NumPy."""
    return [
        (bad, f"{curve}: {text}")
        for curve in MILLARD_CURVES
        for bad, text in broken_rules(curve, curve_numbers(p, group, curve, np))
    ]


def _fiber(p: MuscleValues, of: Shape, length: Vector) -> Fiber:
    return pennate(fiber_width(p), length, of.steepest)


def shortest_fiber(p: MuscleValues, of: Shape) -> Vector:
    """The fibre is clamped here: no shorter one is active, or fits at the maximum pennation."""
    width = fiber_width(p)
    return jnp.maximum(jnp.maximum(of.shortest * p.optimal_fiber_length, width / of.steepest), TINY)


def tendon_multiplier(p: MuscleValues, of: Shape, tendon_length: Vector) -> Vector:
    """f_T."""
    return value_at(of.tendon, tendon_length / p.tendon_slack_length)


def activation_derivative(p: MuscleValues, of: Shape, activation: Vector, excitation: Vector) -> Vector:
    """da/dt [1/s]."""
    return activation_rate(excitation, activation, p.activation_time_constant, p.deactivation_time_constant)


def dynamics(
    p: MuscleValues, of: Shape, length: Vector, speed: Vector, activation: Vector, fiber_length: Vector
) -> MuscleState:
    """State of muscles with the path's length and speed; `fiber_length` is not used where the tendon is rigid."""
    shortest = shortest_fiber(p, of)
    if of.variant == "rigid":
        fiber_length = _rigid_fiber(p, of, length)
    fiber = _fiber(p, of, at_least(fiber_length, shortest))
    tendon_length = length - fiber.along_tendon
    norm_length = fiber.length / p.optimal_fiber_length
    fal, fpl = value_at(of.active, norm_length), value_at(of.passive, norm_length)
    fastest = p.max_contraction_velocity * p.optimal_fiber_length
    ft = jnp.zeros_like(fal)
    if of.variant == "rigid":
        slack = tendon_length < p.tendon_slack_length - TINY
        v = jnp.where(slack, 0.0, speed * fiber.cos / fastest)
        fv = value_at(of.velocity, v)
    else:
        ft = tendon_multiplier(p, of, tendon_length)
        if of.inverse_velocity is None:
            v, fv = crossing(of.velocity, activation * fal, p.fiber_damping, ft / fiber.cos - fpl)
        else:
            fv = (ft / fiber.cos - fpl) / (activation * fal)
            v = value_at(of.inverse_velocity, fv)
    damping = jnp.zeros_like(v) if of.variant == "classic" else p.fiber_damping * v
    active, passive = activation * fal * fv, fpl + damping
    total = active + passive
    if of.variant == "rigid":  # a fibre pulls; what would push is taken from its damping
        passive = jnp.where(total < 0, -active, passive)
        total = at_least(total, 0.0)
        ft = total * fiber.cos
    at_shortest = (fiber.length <= shortest) & (v <= 0)
    ft = jnp.where(at_shortest, 0.0, ft) if of.variant == "rigid" else ft
    v, fv = jnp.where(at_shortest, 0.0, v), jnp.where(at_shortest, 1.0, fv)
    active, passive, total = (
        jnp.where(at_shortest, 0.0, p.max_isometric_force * force) for force in (active, passive, total)
    )
    return muscle_state(
        p,
        tendon_force=p.max_isometric_force * ft,
        fiber=fiber,
        tendon_length=tendon_length,
        fiber_velocity=v * fastest,
        norm_fiber_velocity=v,
        activation=activation,
        curves=(fal, fpl, fv),
        active=active,
        passive=passive,
        total=total,
    )


def _rigid_fiber(p: MuscleValues, of: Shape, length: Vector) -> Vector:
    """What the path leaves to the fibre, if that is more than the steepest one takes."""
    width = fiber_width(p)
    along = length - p.tendon_slack_length
    steepest = width / of.steepest
    fits = along > steepest * jnp.sqrt(1 - of.steepest**2)
    along = jnp.where(fits & (along > 0), along, 1.0)
    return jnp.where(fits, jnp.sqrt(width**2 + along**2), steepest)


def force_balance(
    p: MuscleValues, of: Shape, length: Vector, activation: Vector, fiber_length: Vector, fiber_velocity: Vector
) -> Vector:
    """Fibre force along the tendon less tendon force, normalised: zero when the two agree (the implicit form)."""
    if of.variant == "rigid":
        return jnp.zeros_like(length)
    pull = fiber_force(p, of, activation, fiber_length, fiber_velocity)
    return pull - tendon_multiplier(p, of, length - _fiber(p, of, fiber_length).along_tendon)


def fiber_force(p: MuscleValues, of: Shape, activation: Vector, fiber_length: Vector, fiber_velocity: Vector) -> Vector:
    """Fibre force along the tendon, normalised, whatever the tendon does (Eq. 15 of paper 000, and damping)."""
    fiber = _fiber(p, of, fiber_length)
    norm_length = fiber_length / p.optimal_fiber_length
    norm_velocity = fiber_velocity / (p.max_contraction_velocity * p.optimal_fiber_length)
    active = activation * value_at(of.active, norm_length) * value_at(of.velocity, norm_velocity)
    passive = value_at(of.passive, norm_length)
    if of.variant != "classic":
        passive = passive + p.fiber_damping * norm_velocity
    return (active + passive) * fiber.cos


def equilibrium(p: MuscleValues, of: Shape, length: Vector, speed: Vector, activation: Vector) -> Vector:
    """Fibre length at rest: OpenSim's convention for this class, whatever the speed of the path.

    Between the shortest fibre and the one that leaves the tendon slack there is a root, unless even the shortest fibre outpulls
    the tendon: then it is that one.
    """
    if of.variant == "rigid":
        return at_least(_rigid_fiber(p, of, length), shortest_fiber(p, of))
    width = fiber_width(p)
    low = shortest_fiber(p, of)

    def fiber_for(tendon: Vector) -> Vector:
        return jnp.maximum(jnp.hypot(width, jnp.maximum(length - tendon, 0.0)), low)

    def forces(given: tuple[Shape, MuscleValues, Vector, Vector], fiber_length: Vector) -> tuple[Vector, Vector]:
        of, p, length, activation = given
        fiber = _fiber(p, of, fiber_length)
        norm_length = fiber_length / p.optimal_fiber_length
        pull = (activation * value_at(of.active, norm_length) + value_at(of.passive, norm_length)) * fiber.cos
        return pull, tendon_multiplier(p, of, length - fiber.along_tendon)

    def residual(given: tuple[Shape, MuscleValues, Vector, Vector], fiber_length: Vector) -> Vector:
        pull, tendon = forces(given, fiber_length)
        return pull - tendon

    def straightened(given: tuple[Shape, MuscleValues, Vector, Vector], fiber_length: Vector) -> Vector:
        """The same root: a slack tendon's force grows with the cube of its strain, on which Newton's method would crawl."""
        pull, tendon = forces(given, fiber_length)
        return jnp.sqrt(pull) - jnp.sqrt(tendon)

    given = (of, p, length, activation)
    slack = fiber_for(p.tendon_slack_length)
    start = fiber_for(_likely_tendon(p, length, activation, slack))
    root = bracketed_root(straightened, given, low, slack, start)
    return jnp.where(root <= low, low, with_derivatives(residual, given, root))


def _likely_tendon(p: MuscleValues, length: Vector, activation: Vector, fiber: Vector) -> Vector:
    """Tendon length from which Newton's method has little left to do: rough formulas for Millard's own curves, and the fibre
    first as long as a slack tendon leaves it."""
    strain = jnp.zeros_like(length)
    for _ in range(3):
        stretch = (fiber - strain * p.tendon_slack_length) / p.optimal_fiber_length - 1
        force = activation * jnp.exp(-(stretch**2) / 0.16) + jnp.where(stretch > 0, stretch / 0.7, 0.0) ** 2
        root = jnp.sqrt(jnp.minimum(force, 1.5))
        likely = p.tendon_strain_at_one_norm_force * root * (0.3 + 0.7 * jnp.sqrt(root))
        strain = jnp.where(strain > 0, 0.5 * (strain + likely), likely)
    return (1 + strain) * p.tendon_slack_length
