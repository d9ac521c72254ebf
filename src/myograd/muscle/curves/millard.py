"""The force curves of Millard et al. (2013), from the shape parameters that OpenSim's curve objects have.

Normalised: forces by the maximum isometric force, fibre length by its optimum, velocity by its maximum, tendon length by its
slack length. Each parameter has the name of its element in an `.osim` file. A parameter is a number, or an array of one per
muscle; what must hold of them is in `RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..._arrays import array_module
from .bezier import BezierCurve, Point, bezier_curve, meeting_point

Numbers = Mapping[str, Any]
Shape = tuple[list[Point], list[Any]]
"""Points of the curve, and the curviness of each corner between two."""


def active_force_length(p: Numbers) -> Shape:
    """Rises steeply, then less so to 1 at optimal length, and falls; `minimum_value` beyond both ends."""
    first, turn, last = (
        p["min_norm_active_fiber_length"],
        p["transition_norm_fiber_length"],
        p["max_norm_active_fiber_length"],
    )
    slope, floor = p["shallow_ascending_slope"], p["minimum_value"]
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
    return points, [1.0] * 5


def force_velocity(p: Numbers) -> Shape:
    """From 0 at the fastest shortening (-1) through 1 at rest to its maximum at the fastest lengthening (1)."""
    top = p["max_eccentric_velocity_force_multiplier"]
    fast, near_fast = p["concentric_slope_at_vmax"], p["concentric_slope_near_vmax"]
    stretched, near_stretched = p["eccentric_slope_at_vmax"], p["eccentric_slope_near_vmax"]
    points = [
        (-1.0, 0.0, fast),
        (-0.9, 0.05 * (near_fast + fast), near_fast),
        (0.0, 1.0, p["isometric_slope"]),
        (0.9, top - 0.05 * (near_stretched + stretched), near_stretched),
        (1.0, top, stretched),
    ]
    shortening, lengthening = p["concentric_curviness"], p["eccentric_curviness"]
    return points, [shortening, shortening, lengthening, lengthening]


def passive_force_length(p: Numbers) -> Shape:
    """The fibre's own spring: 0 below `strain_at_zero_force`, 1 at `strain_at_one_norm_force`."""
    start, end = 1 + p["strain_at_zero_force"], 1 + p["strain_at_one_norm_force"]
    low, high, curviness = (p[name] for name in ("stiffness_at_low_force", "stiffness_at_one_norm_force", "curviness"))
    toe = array_module(high, end).minimum(0.1 / high, 0.1 * (end - start))
    return [(start, 0.0, 0.0), (start + toe, low * toe / 2, low), (end, 1.0, high)], [curviness] * 2


def tendon_force_length(p: Numbers) -> Shape:
    """A toe from slack length on, then a straight line through 1 at `strain_at_one_norm_force`."""
    strain = p["strain_at_one_norm_force"]
    stiffness, toe_force, curviness = (
        p[name] for name in ("stiffness_at_one_norm_force", "norm_force_at_toe_end", "curviness")
    )
    toe = 1 + strain - (1 - toe_force) / stiffness
    foot = 1 + (toe - 1) / 10
    half = 1 + strain - (1 - toe_force / 2) / stiffness
    slope = toe_force / 2 / (half - foot)
    points = [(1.0, 0.0, 0.0), ((foot + half) / 2, slope * (half - foot) / 2, slope), (toe, toe_force, stiffness)]
    return points, [curviness] * 2


CURVES: dict[str, Callable[[Numbers], Shape]] = {
    "ActiveForceLengthCurve": active_force_length,
    "ForceVelocityCurve": force_velocity,
    "FiberForceLengthCurve": passive_force_length,
    "TendonForceLengthCurve": tendon_force_length,
}


def fitted(curve: str, p: Numbers) -> dict[str, Any]:
    """Millard's fit of those shape parameters that a file may leave to the class, from the others."""
    if curve == "FiberForceLengthCurve":
        width = p["strain_at_one_norm_force"] - p["strain_at_zero_force"]
        return {"stiffness_at_low_force": 0.2, "stiffness_at_one_norm_force": 2 / width, "curviness": 0.75}
    if curve == "TendonForceLengthCurve":
        stiffness = 1.375 / p["strain_at_one_norm_force"]
        return {"stiffness_at_one_norm_force": stiffness, "norm_force_at_toe_end": 2 / 3, "curviness": 0.5}
    return {}


def curve_of(curve: str, p: Numbers) -> BezierCurve:
    """From all of its shape parameters."""
    return bezier_curve(*CURVES[curve](p))


# What must hold ----------------------------------------------------------------------------------------------


def _active_rules(p: Numbers) -> list[tuple[Any, str]]:
    first, turn, last = (
        p[f"{name}_fiber_length"] for name in ("min_norm_active", "transition_norm", "max_norm_active")
    )
    slope, floor = p["shallow_ascending_slope"], p["minimum_value"]
    ordered = (first >= 0) & (first < turn) & (turn < 1) & (last > 1)
    return [
        (ordered, "0 <= min < transition < 1 < max of the norm_fiber_lengths must hold"),
        (floor >= 0, "minimum_value must not be negative"),
        (
            (slope >= 0) & (slope < (1 - floor) / (1 - np.where(turn < 1, turn, 0.0))),
            "shallow_ascending_slope is negative or too steep to reach 1",
        ),
    ]


def _velocity_rules(p: Numbers) -> list[tuple[Any, str]]:
    top, rest = p["max_eccentric_velocity_force_multiplier"], p["isometric_slope"]
    fast, near_fast = p["concentric_slope_at_vmax"], p["concentric_slope_near_vmax"]
    stretched, near_stretched = p["eccentric_slope_at_vmax"], p["eccentric_slope_near_vmax"]
    concentric = (fast >= 0) & (fast < 1) & (near_fast > 0) & (near_fast < 1)
    eccentric = (stretched >= 0) & (stretched < top - 1) & (stretched <= near_stretched) & (near_stretched < top - 1)
    return [
        (top > 1, "max_eccentric_velocity_force_multiplier must be above 1"),
        (concentric, "concentric slopes must be from 0 (near vmax: above 0) to below 1"),
        (
            rest > np.maximum(1.0, top - 1),
            "isometric_slope must be above 1 and above the rise of the eccentric side",
        ),
        (
            eccentric & (near_stretched > 0),
            "0 <= eccentric_slope_at_vmax <= eccentric_slope_near_vmax < max_eccentric_velocity_force_multiplier - 1 must hold",
        ),
    ]


def _passive_rules(p: Numbers) -> list[tuple[Any, str]]:
    width = p["strain_at_one_norm_force"] - p["strain_at_zero_force"]
    low, high, curviness = (p[name] for name in ("stiffness_at_low_force", "stiffness_at_one_norm_force", "curviness"))
    mean = 1 / np.where(width > 0, width, 1.0)
    return [
        (width > 0, "strain_at_one_norm_force must be above strain_at_zero_force"),
        ((curviness >= 0) & (curviness <= 1), "curviness must be from 0 to 1"),
        (high > mean, "stiffness_at_one_norm_force is too small to reach a force of 1"),
        ((low > 0) & (low < mean), "stiffness_at_low_force must be above 0 and below the mean stiffness"),
    ]


def _tendon_rules(p: Numbers) -> list[tuple[Any, str]]:
    strain = p["strain_at_one_norm_force"]
    stiffness, toe_force, curviness = (
        p[name] for name in ("stiffness_at_one_norm_force", "norm_force_at_toe_end", "curviness")
    )
    return [
        (strain > 0, "strain_at_one_norm_force must be above 0"),
        ((curviness >= 0) & (curviness <= 1), "curviness must be from 0 to 1"),
        ((toe_force > 0) & (toe_force < 1), "norm_force_at_toe_end must be between 0 and 1"),
        (
            stiffness > 1 / np.where(strain > 0, strain, 1.0),
            "stiffness_at_one_norm_force is too small to reach a force of 1",
        ),
    ]


RULES: dict[str, Callable[[Numbers], list[tuple[Any, str]]]] = {
    "ActiveForceLengthCurve": _active_rules,
    "ForceVelocityCurve": _velocity_rules,
    "FiberForceLengthCurve": _passive_rules,
    "TendonForceLengthCurve": _tendon_rules,
}
"""Of each curve: conditions, each true or false for every muscle, and what to say where one is false. NumPy."""


def broken_rules(curve: str, p: Numbers) -> list[tuple[np.ndarray, str]]:
    """Conditions that do not hold for some muscle, with which."""
    found = [(~np.atleast_1d(true), text) for true, text in RULES[curve](p) if not np.all(true)]
    return found or _apart(CURVES[curve](p)[0])


def _apart(points: Sequence[Point]) -> list[tuple[np.ndarray, str]]:
    """Corners whose two tangents do not meet between their points, so that no curve joins them."""
    found = []
    for left, right in pairwise(points):
        (x0, y0, slope0), (x1, y1, slope1) = left, right
        meet_x, meet_y = (np.asarray(x) for x in meeting_point(left, right))
        start, end = ((meet_x - x) ** 2 + (meet_y - y) ** 2 for x, y in ((x0, y0), (x1, y1)))
        apart = np.atleast_1d(~(np.maximum(start, end) < (x1 - x0) ** 2 + (y1 - y0) ** 2))
        if apart.any():
            worst = int(np.argmax(apart))
            numbers = [float(np.broadcast_to(x, apart.shape)[worst]) for x in (x0, y0, slope0, x1, y1, slope1)]
            text = (
                "the lines at ({:g}, {:g}) with slope {:g} and at ({:g}, {:g}) with slope {:g} do not meet between these points, "
                "so that no corner joins them"
            ).format(*numbers)
            found.append((apart, text))
    return found
