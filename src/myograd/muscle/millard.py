"""Millard2012EquilibriumMuscle: Millard, Uchida, Seth, Delp (2013), "Flexing computational muscle".

    f_T(l_T) = (a f_L(l) f_V(v) + f_PE(l) + beta v) cos(phi),   l_T = L - l cos(phi),   l sin(phi) = constant

normalised by the maximum isometric force. Three variants: `damped` (beta > 0; any activation), `classic` (beta = 0; the
force-velocity curve is inverted, so activation and f_L are kept from zero), `rigid` (the tendon keeps its slack length).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from ..model.model import MuscleValues
from ..model.muscle_kinds import MuscleKinds
from ..model.muscle_properties import CurveNumbers
from .activation import activation_rate
from .crossing import Cells, cells, crossing
from .curves import active_force_length, force_velocity, passive_force_length, tendon_force_length
from .equilibrium import bracketed_root, with_derivatives
from .state import TINY, Fiber, MuscleState, Vector, at_least, fiber_width, muscle_state, pennate
from .table import CurveTable, look_up, tabulate

LEAST_DAMPING = 0.001  # below it, OpenSim takes the classic equation


class MillardShape(NamedTuple):
    """What is not identified of a group of muscles of one variant. NumPy."""

    variant: str
    minimum_activation: np.ndarray
    shortest: np.ndarray  # fibre length with active force, normalised
    steepest: np.ndarray  # sine of the maximum pennation
    tendon_strain: np.ndarray  # for which the tendon's curve is tabulated
    active: CurveTable
    passive: CurveTable
    tendon: CurveTable
    velocity: CurveTable
    velocity_cells: Cells
    inverse_velocity: CurveTable | None  # classic only


def variant(kinds: MuscleKinds, muscle: int) -> str:
    if kinds.rigid_tendon[muscle]:
        return "rigid"
    return "damped" if dict(kinds.numbers[muscle])["fiber_damping"] >= LEAST_DAMPING else "classic"


def shape(kinds: MuscleKinds, muscles: Sequence[int]) -> MillardShape:
    """Of muscles of the same variant."""
    kind = variant(kinds, muscles[0])
    numbers = [dict(kinds.numbers[m]) for m in muscles]
    shapes = [dict(kinds.shapes[m]) for m in muscles]
    active = [_adjusted_active(one["ActiveForceLengthCurve"], kind) for one in shapes]
    velocity = [_adjusted_velocity(one["ForceVelocityCurve"], kind) for one in shapes]
    curves = [force_velocity(one) for one in velocity]
    inverse = [force_velocity(_invertible(one)) for one in velocity]
    inverse_of = {id(curve): curve.inverse() for curve in inverse}  # one object for all muscles with the same curve
    return MillardShape(
        kind,
        np.array([n["minimum_activation"] for n in numbers]),
        np.array([dict(one)["min_norm_active_fiber_length"] for one in active], float),
        np.sin([n["maximum_pennation_angle"] for n in numbers]),
        np.array([dict(one["TendonForceLengthCurve"])["strain_at_one_norm_force"] for one in shapes], float),
        tabulate([active_force_length(one) for one in active]),
        tabulate([passive_force_length(one["FiberForceLengthCurve"]) for one in shapes]),
        tabulate([tendon_force_length(one["TendonForceLengthCurve"]) for one in shapes]),
        tabulate(curves),
        cells(curves),
        tabulate([inverse_of[id(curve)] for curve in inverse]) if kind == "classic" else None,
    )


def _adjusted_active(numbers: CurveNumbers, kind: str) -> CurveNumbers:
    """Damped and rigid muscles may lose all active force; the classic equation divides by it."""
    p = dict(numbers)
    return tuple((p | {"minimum_value": max(p["minimum_value"], 0.1) if kind == "classic" else 0.0}).items())


def _adjusted_velocity(numbers: CurveNumbers, kind: str) -> CurveNumbers:
    """As above: level at the maximum velocities, or never level."""
    if kind != "classic":
        return tuple((dict(numbers) | {"concentric_slope_at_vmax": 0.0, "eccentric_slope_at_vmax": 0.0}).items())
    p = dict(numbers)
    for side in ("concentric", "eccentric"):
        p[f"{side}_slope_at_vmax"] = max(p[f"{side}_slope_at_vmax"], 0.5 * p[f"{side}_slope_near_vmax"])
    return tuple(p.items())


def _invertible(numbers: CurveNumbers) -> CurveNumbers:
    """OpenSim inverts a curve of its own, whose end slopes are half of those near the ends."""
    p = dict(numbers)
    ends = {f"{side}_slope_at_vmax": 0.5 * p[f"{side}_slope_near_vmax"] for side in ("concentric", "eccentric")}
    return tuple((p | ends).items())


def _fiber(p: MuscleValues, of: MillardShape, length: Vector) -> Fiber:
    return pennate(fiber_width(p), length, of.steepest)


def shortest_fiber(p: MuscleValues, of: MillardShape) -> Vector:
    """The fibre is clamped here: no shorter one is active, or fits at the maximum pennation."""
    width = fiber_width(p)
    return jnp.maximum(jnp.maximum(of.shortest * p.optimal_fiber_length, width / of.steepest), TINY)


def tendon_multiplier(p: MuscleValues, of: MillardShape, tendon_length: Vector) -> Vector:
    """f_T. The tabulated curve, stretched along the strain if the strain at one unit of force has been changed."""
    strain = tendon_length / p.tendon_slack_length - 1
    return look_up(of.tendon, 1 + strain * (of.tendon_strain / p.tendon_strain_at_one_norm_force))


def activation_derivative(p: MuscleValues, of: MillardShape, activation: Vector, excitation: Vector) -> Vector:
    """da/dt [1/s]."""
    return activation_rate(excitation, activation, p.activation_time_constant, p.deactivation_time_constant)


def dynamics(
    p: MuscleValues, of: MillardShape, length: Vector, speed: Vector, activation: Vector, fiber_length: Vector
) -> MuscleState:
    """State of muscles with the path's length and speed; `fiber_length` is not used where the tendon is rigid."""
    shortest = shortest_fiber(p, of)
    if of.variant == "rigid":
        fiber_length = _rigid_fiber(p, of, length)
    fiber = _fiber(p, of, at_least(fiber_length, shortest))
    tendon_length = length - fiber.along_tendon
    norm_length = fiber.length / p.optimal_fiber_length
    fal, fpl = look_up(of.active, norm_length), look_up(of.passive, norm_length)
    fastest = p.max_contraction_velocity * p.optimal_fiber_length
    ft = jnp.zeros_like(fal)
    if of.variant == "rigid":
        slack = tendon_length < p.tendon_slack_length - TINY
        v = jnp.where(slack, 0.0, speed * fiber.cos / fastest)
        fv = look_up(of.velocity, v)
    else:
        ft = tendon_multiplier(p, of, tendon_length)
        if of.inverse_velocity is None:
            v, fv = crossing(of.velocity_cells, activation * fal, p.fiber_damping, ft / fiber.cos - fpl)
        else:
            fv = (ft / fiber.cos - fpl) / (activation * fal)
            v = look_up(of.inverse_velocity, fv)
    damping = jnp.zeros_like(v) if of.variant == "classic" else p.fiber_damping * v
    active, passive = activation * fal * fv, fpl + damping
    total = active + passive
    if of.variant == "rigid":  # a fibre pulls; what would push is taken from its damping
        passive = jnp.where(total < 0, -active, passive)
        total = at_least(total, 0.0)
        ft = total * fiber.cos
    clamped = (fiber.length <= shortest) & (v <= 0)
    ft = jnp.where(clamped, 0.0, ft) if of.variant == "rigid" else ft
    v, fv = jnp.where(clamped, 0.0, v), jnp.where(clamped, 1.0, fv)
    active, passive, total = (
        jnp.where(clamped, 0.0, p.max_isometric_force * force) for force in (active, passive, total)
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


def _rigid_fiber(p: MuscleValues, of: MillardShape, length: Vector) -> Vector:
    """What the path leaves to the fibre, if that is more than the steepest one takes."""
    width = fiber_width(p)
    along = length - p.tendon_slack_length
    steepest = width / of.steepest
    fits = along > steepest * np.sqrt(1 - of.steepest**2)
    along = jnp.where(fits & (along > 0), along, 1.0)
    return jnp.where(fits, jnp.sqrt(width**2 + along**2), steepest)


def force_balance(
    p: MuscleValues, of: MillardShape, length: Vector, activation: Vector, fiber_length: Vector, fiber_velocity: Vector
) -> Vector:
    """Fibre force along the tendon less tendon force, normalised: zero when the two agree (the implicit form)."""
    if of.variant == "rigid":
        return jnp.zeros_like(length)
    pull = fiber_force(p, of, activation, fiber_length, fiber_velocity)
    return pull - tendon_multiplier(p, of, length - _fiber(p, of, fiber_length).along_tendon)


def fiber_force(
    p: MuscleValues, of: MillardShape, activation: Vector, fiber_length: Vector, fiber_velocity: Vector
) -> Vector:
    """Fibre force along the tendon, normalised, whatever the tendon does (Eq. 15 of paper 000, and damping)."""
    fiber = _fiber(p, of, fiber_length)
    norm_length = fiber_length / p.optimal_fiber_length
    norm_velocity = fiber_velocity / (p.max_contraction_velocity * p.optimal_fiber_length)
    active = activation * look_up(of.active, norm_length) * look_up(of.velocity, norm_velocity)
    passive = look_up(of.passive, norm_length)
    if of.variant != "classic":
        passive = passive + p.fiber_damping * norm_velocity
    return (active + passive) * fiber.cos


def equilibrium(p: MuscleValues, of: MillardShape, length: Vector, speed: Vector, activation: Vector) -> Vector:
    """Fibre length at rest: OpenSim's convention for this class, whatever the speed of the path.

    Between the shortest fibre and the one that leaves the tendon slack there is a root, unless even the shortest fibre outpulls
    the tendon: then it is that one. Newton's method starts as OpenSim's does, from a tendon strain of 1 %.
    """
    if of.variant == "rigid":
        return at_least(_rigid_fiber(p, of, length), shortest_fiber(p, of))
    width = fiber_width(p)
    low = shortest_fiber(p, of)

    def fiber_for(tendon: Vector) -> Vector:
        return jnp.maximum(jnp.hypot(width, jnp.maximum(length - tendon, 0.0)), low)

    def residual(given: tuple[MuscleValues, Vector, Vector], fiber_length: Vector) -> Vector:
        p, length, activation = given
        return force_balance(p, of, length, activation, fiber_length, jnp.zeros_like(length))

    given = (p, length, activation)
    slack, start = fiber_for(p.tendon_slack_length), fiber_for(1.01 * p.tendon_slack_length)
    root = bracketed_root(residual, given, low, slack, start)
    return jnp.where(root <= low, low, with_derivatives(residual, given, root))
