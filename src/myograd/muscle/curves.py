"""The force curves of Millard et al. (2013), from the shape parameters that OpenSim's curve objects have.

Normalised: forces by the maximum isometric force, fibre length by its optimum, velocity by its maximum, tendon length by its
slack length. Each parameter has the name of its element in an `.osim` file.
"""

from __future__ import annotations

from functools import cache

from ..errors import ModelError
from ..model.muscle_properties import CurveNumbers
from .bezier import BezierCurve, bezier_curve


def _need(owner: str, true: bool, rule: str) -> None:
    if not true:
        raise ModelError(f"{owner}: {rule}")


@cache
def active_force_length(numbers: CurveNumbers) -> BezierCurve:
    """Rises steeply, then less so to 1 at optimal length, and falls; `minimum_value` beyond both ends."""
    owner, p = "ActiveForceLengthCurve", dict(numbers)
    first, turn, last = (
        p["min_norm_active_fiber_length"],
        p["transition_norm_fiber_length"],
        p["max_norm_active_fiber_length"],
    )
    slope, floor = p["shallow_ascending_slope"], p["minimum_value"]
    _need(owner, 0 <= first < turn < 1 < last, "0 <= min < transition < 1 < max of the norm_fiber_lengths must hold")
    _need(owner, floor >= 0, "minimum_value must not be negative")
    _need(owner, 0 <= slope < (1 - floor) / (1 - turn), "shallow_ascending_slope is negative or too steep to reach 1")
    plateau = 0.05  # half the width of the peak
    turn_force = 1 - slope * (1 - plateau - turn)
    middle = 1 + plateau + (last - 1 - plateau) / 2
    points = [
        (first, floor, 0.0),
        ((first + turn) / 2, turn_force / 2, 1.25 * turn_force / (turn - first)),
        ((turn + 1 - plateau) / 2, (1 + turn_force) / 2, slope),
        (1.0, 1.0, 0.0),
        (middle, 0.5, -1 / (last - 1 - 2 * plateau)),
        (last, floor, 0.0),
    ]
    return bezier_curve(points, [1.0] * 5, owner)


@cache
def force_velocity(numbers: CurveNumbers) -> BezierCurve:
    """From 0 at the fastest shortening (-1) through 1 at rest to its maximum at the fastest lengthening (1)."""
    owner, p = "ForceVelocityCurve", dict(numbers)
    top = p["max_eccentric_velocity_force_multiplier"]
    fast, near_fast = p["concentric_slope_at_vmax"], p["concentric_slope_near_vmax"]
    rest = p["isometric_slope"]
    stretched, near_stretched = p["eccentric_slope_at_vmax"], p["eccentric_slope_near_vmax"]
    _need(owner, top > 1, "max_eccentric_velocity_force_multiplier must be above 1")
    _need(
        owner, 0 <= fast < 1 and 0 < near_fast < 1, "concentric slopes must be from 0 (near vmax: above 0) to below 1"
    )
    _need(owner, rest > max(1.0, top - 1), "isometric_slope must be above 1 and above the rise of the eccentric side")
    _need(
        owner,
        0 <= stretched < top - 1 and stretched <= near_stretched < top - 1 and near_stretched > 0,
        "0 <= eccentric_slope_at_vmax <= eccentric_slope_near_vmax < max_eccentric_velocity_force_multiplier - 1 must hold",
    )
    points = [
        (-1.0, 0.0, fast),
        (-0.9, 0.05 * (near_fast + fast), near_fast),
        (0.0, 1.0, rest),
        (0.9, top - 0.05 * (near_stretched + stretched), near_stretched),
        (1.0, top, stretched),
    ]
    shortening, lengthening = p["concentric_curviness"], p["eccentric_curviness"]
    return bezier_curve(points, [shortening, shortening, lengthening, lengthening], owner)


@cache
def passive_force_length(numbers: CurveNumbers) -> BezierCurve:
    """The fibre's own spring: 0 below `strain_at_zero_force`, 1 at `strain_at_one_norm_force`."""
    owner, p = "FiberForceLengthCurve", dict(numbers)
    start, end = 1 + p["strain_at_zero_force"], 1 + p["strain_at_one_norm_force"]
    _need(owner, end > start, "strain_at_one_norm_force must be above strain_at_zero_force")
    low, high, curviness = _all_or_none(
        owner,
        p,
        ("stiffness_at_low_force", "stiffness_at_one_norm_force", "curviness"),
        (0.2, 2 / (end - start), 0.75),
    )
    _need(owner, high > 1 / (end - start), "stiffness_at_one_norm_force is too small to reach a force of 1")
    _need(owner, 0 < low < 1 / (end - start), "stiffness_at_low_force must be above 0 and below the mean stiffness")
    toe = min(0.1 / high, 0.1 * (end - start))
    points = [(start, 0.0, 0.0), (start + toe, low * toe / 2, low), (end, 1.0, high)]
    return bezier_curve(points, [curviness] * 2, owner)


@cache
def tendon_force_length(numbers: CurveNumbers) -> BezierCurve:
    """A toe from slack length on, then a straight line through 1 at `strain_at_one_norm_force`."""
    owner, p = "TendonForceLengthCurve", dict(numbers)
    strain = p["strain_at_one_norm_force"]
    _need(owner, strain > 0, "strain_at_one_norm_force must be above 0")
    stiffness, toe_force, curviness = _all_or_none(
        owner, p, ("stiffness_at_one_norm_force", "norm_force_at_toe_end", "curviness"), (1.375 / strain, 2 / 3, 0.5)
    )
    _need(owner, 0 < toe_force < 1, "norm_force_at_toe_end must be between 0 and 1")
    _need(owner, stiffness > 1 / strain, "stiffness_at_one_norm_force is too small to reach a force of 1")
    toe = 1 + strain - (1 - toe_force) / stiffness
    foot = 1 + (toe - 1) / 10
    half = 1 + strain - (1 - toe_force / 2) / stiffness
    slope = toe_force / 2 / (half - foot)
    points = [(1.0, 0.0, 0.0), ((foot + half) / 2, slope * (half - foot) / 2, slope), (toe, toe_force, stiffness)]
    return bezier_curve(points, [curviness] * 2, owner)


def _all_or_none(
    owner: str, numbers: dict[str, float], names: tuple[str, ...], fitted: tuple[float, ...]
) -> tuple[float, ...]:
    """Shape numbers that a file states together, or leaves to Millard's fit."""
    given = [numbers[name] for name in names if name in numbers]
    _need(owner, len(given) in (0, len(names)), f"state all of {', '.join(names)}, or none")
    values = tuple(given) if given else fitted
    _need(owner, 0 <= values[-1] <= 1, "curviness must be from 0 to 1")
    return values
