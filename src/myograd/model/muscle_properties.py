"""The numbers of a muscle that only its class has: names, OpenSim's defaults, and limits.

A description keeps them as the elements of the file (`Muscle.properties`), so that they are saved as they were read; here they
are looked up by name. `LEAVES` are those that a compiled model has as arrays.
"""

from __future__ import annotations

import math

from ..errors import ModelError
from .description import Muscle, Node

MILLARD = "Millard2012EquilibriumMuscle"
THELEN = "Thelen2003Muscle"
DE_GROOTE_FREGLY = "DeGrooteFregly2016Muscle"
SCHUTTE = "Schutte1993Muscle_Deprecated"
RIGID = "RigidTendonMuscle"

CurveNumbers = tuple[tuple[str, float], ...]
"""Names and values of a curve's shape parameters; without those that are left to the class."""

STEEPEST = math.acos(0.1)
_FIRST_ORDER = {"activation_time_constant": 0.010, "deactivation_time_constant": 0.040, "minimum_activation": 0.01}

NUMBERS: dict[str, dict[str, float]] = {
    MILLARD: _FIRST_ORDER
    | {
        "fiber_damping": 0.1,
        "maximum_pennation_angle": STEEPEST,
        "default_activation": 0.05,
        "default_fiber_length": 0.1,
    },
    THELEN: {
        "activation_time_constant": 0.015,
        "deactivation_time_constant": 0.050,
        "minimum_activation": 0.01,
        "FmaxTendonStrain": 0.04,
        "FmaxMuscleStrain": 0.6,
        "KshapeActive": 0.45,
        "KshapePassive": 5.0,
        "Af": 0.25,
        "Flen": 1.4,
        "fv_linear_extrap_threshold": 0.95,
        "maximum_pennation_angle": STEEPEST,
        "default_activation": 0.05,
        "default_fiber_length": 0.1,
    },
    DE_GROOTE_FREGLY: {
        "activation_time_constant": 0.015,
        "deactivation_time_constant": 0.060,
        "activation_dynamics_smoothing": 0.1,
        "active_force_width_scale": 1.0,
        "fiber_damping": 0.0,
        "passive_fiber_strain_at_one_norm_force": 0.6,
        "tendon_strain_at_one_norm_force": 0.049,
        "default_activation": 0.5,
        "default_normalized_tendon_force": 0.5,
    },
    SCHUTTE: {"time_scale": 0.1, "activation1": 7.667, "activation2": 1.459854, "damping": 0.1},
    RIGID: {},
}
"""Numbers of the classes whose contraction is computed, with their defaults."""

MILLARD_CURVES: dict[str, dict[str, float | None]] = {  # None: left to the class unless stated
    "ActiveForceLengthCurve": {
        "min_norm_active_fiber_length": 0.47 - 0.0259,
        "transition_norm_fiber_length": 0.73,
        "max_norm_active_fiber_length": 1.8123,
        "shallow_ascending_slope": 0.8616,
        "minimum_value": 0.1,
    },
    "ForceVelocityCurve": {
        "concentric_slope_at_vmax": 0.0,
        "concentric_slope_near_vmax": 0.25,
        "isometric_slope": 5.0,
        "eccentric_slope_at_vmax": 0.0,
        "eccentric_slope_near_vmax": 0.15,
        "max_eccentric_velocity_force_multiplier": 1.4,
        "concentric_curviness": 0.6,
        "eccentric_curviness": 0.9,
    },
    "FiberForceLengthCurve": {
        "strain_at_zero_force": 0.0,
        "strain_at_one_norm_force": 0.7,
        "stiffness_at_low_force": None,
        "stiffness_at_one_norm_force": None,
        "curviness": None,
    },
    "TendonForceLengthCurve": {
        "strain_at_one_norm_force": 0.049,
        "stiffness_at_one_norm_force": None,
        "norm_force_at_toe_end": None,
        "curviness": None,
    },
}

SPLINE_CURVES = {
    SCHUTTE: ("tendon_force_length_curve", "active_force_length_curve", "passive_force_length_curve"),
    RIGID: ("active_force_length_curve", "passive_force_length_curve", "force_velocity_curve"),
}
"""Curves that a file gives as functions (`Muscle.curves`)."""

FLAGS = ("ignore_tendon_compliance", "ignore_activation_dynamics", "ignore_passive_fiber_force")

_SAME = ("activation_time_constant", "deactivation_time_constant")
LEAVES: dict[str, dict[str, str]] = {
    MILLARD: {name: name for name in (*_SAME, "fiber_damping")}
    | {"tendon_strain_at_one_norm_force": "TendonForceLengthCurve/strain_at_one_norm_force"},
    THELEN: {name: name for name in _SAME} | {"tendon_strain_at_one_norm_force": "FmaxTendonStrain"},
    DE_GROOTE_FREGLY: {name: name for name in (*_SAME, "fiber_damping", "tendon_strain_at_one_norm_force")},
    SCHUTTE: {"fiber_damping": "damping"},
    RIGID: {},
}
"""By class: the arrays of `MuscleValues` that it uses besides those of every muscle, and what a file calls them."""

_POSITIVE = {
    "activation_time_constant",
    "deactivation_time_constant",
    "activation_dynamics_smoothing",
    "FmaxTendonStrain",
    "FmaxMuscleStrain",
    "KshapeActive",
    "KshapePassive",
    "Af",
    "passive_fiber_strain_at_one_norm_force",
    "tendon_strain_at_one_norm_force",
    "time_scale",
    "activation1",
    "activation2",
    "damping",
}


def number(muscle: Muscle, name: str) -> float:
    """One of the class's `NUMBERS`, or `Curve/parameter` of a Millard curve."""
    if "/" in name:
        curve, parameter = name.split("/")
        return dict(curve_numbers(muscle, curve))[parameter]
    return _stated(muscle, muscle.properties, name, NUMBERS[muscle.kind][name])


def flag(muscle: Muscle, name: str) -> bool:
    """One of `FLAGS`; false where the file does not say."""
    node = next((node for node in muscle.properties if node.tag == name), None)
    text = node.text.strip().lower() if node else "false"
    if text not in ("true", "false", "1", "0"):
        raise ModelError(f"{muscle.kind} {muscle.name!r}: {name} is {text!r}, not true or false")
    return text in ("true", "1")


def curve_numbers(muscle: Muscle, curve: str) -> CurveNumbers:
    """Shape parameters of one of `MILLARD_CURVES`."""
    node = next((node for node in muscle.properties if node.tag == curve), None)
    children = node.children if node else []
    stated = {child.tag for child in children if child.text.strip()}
    return tuple(
        (name, _stated(muscle, children, name, 0.0 if default is None else default))
        for name, default in MILLARD_CURVES[curve].items()
        if default is not None or name in stated
    )


def set_number(muscle: Muscle, name: str, value: float) -> None:
    """Write a number (as `number` names it) into the muscle's elements."""
    children = muscle.properties
    if "/" in name:
        curve, name = name.split("/")
        holder = next((node for node in children if node.tag == curve), None)
        if holder is None:
            holder = Node(curve, {"name": f"{muscle.name}_{curve}"})
            children.append(holder)
        children = holder.children
    node = next((node for node in children if node.tag == name), None)
    if node is None:
        node = Node(name)
        children.append(node)
    node.text = repr(float(value))


def problem(muscle: Muscle) -> str:
    """Why this muscle's contraction cannot be computed; empty if it can."""
    if muscle.kind not in NUMBERS:
        return f"the contraction of a {muscle.kind} is not computed; that of {', '.join(NUMBERS)} is"
    for name in ("max_isometric_force", "pennation_angle"):
        if not 0 <= getattr(muscle, name) < math.inf:
            return f"its {name} is {getattr(muscle, name):g}; it must not be negative"
    if not 0 < muscle.optimal_fiber_length < math.inf:
        return f"its optimal_fiber_length is {muscle.optimal_fiber_length:g} m; it must be above 0"
    if not muscle.pennation_angle < math.pi / 2:
        return f"its pennation_angle_at_optimal is {muscle.pennation_angle:g} rad; it must be below a right angle"
    rigid = muscle.kind == RIGID or flag(muscle, "ignore_tendon_compliance")
    if not (muscle.tendon_slack_length > 0 or (rigid and muscle.tendon_slack_length == 0)):
        return f"its tendon_slack_length is {muscle.tendon_slack_length:g} m; an elastic tendon needs more than 0"
    if muscle.kind != SCHUTTE and not muscle.max_contraction_velocity > 0:
        return f"its max_contraction_velocity is {muscle.max_contraction_velocity:g}; it must be above 0"
    if muscle.kind == SCHUTTE and (rigid or flag(muscle, "ignore_activation_dynamics")):
        return "OpenSim has no rigid tendon and no immediate activation for this class"
    for name in NUMBERS[muscle.kind]:
        value = number(muscle, name)
        if name in _POSITIVE and not value > 0:
            return f"its {name} is {value:g}; it must be above 0"
    return _class_problem(muscle)


def _class_problem(muscle: Muscle) -> str:
    numbers = {name: number(muscle, name) for name in NUMBERS[muscle.kind]}
    if not 0 <= numbers.get("minimum_activation", 0.0) < 1:
        return f"its minimum_activation is {numbers['minimum_activation']:g}; it must be from 0 to below 1"
    if not 0 < numbers.get("maximum_pennation_angle", 1.0) < math.pi / 2:
        return (
            f"its maximum_pennation_angle is {numbers['maximum_pennation_angle']:g} rad; it must be below a right angle"
        )
    if muscle.pennation_angle > numbers.get("maximum_pennation_angle", math.inf):
        return f"its pennation_angle_at_optimal, {muscle.pennation_angle:g} rad, is above its maximum_pennation_angle"
    if numbers.get("fiber_damping", 0.0) < 0:
        return f"its fiber_damping is {numbers['fiber_damping']:g}; it must not be negative"
    if numbers.get("active_force_width_scale", 1.0) < 1:
        return f"its active_force_width_scale is {numbers['active_force_width_scale']:g}; it must be at least 1"
    if muscle.kind == THELEN:
        if not numbers["Flen"] > 1:
            return f"its Flen is {numbers['Flen']:g}; it must be above 1"
        if not 1 / numbers["Flen"] < numbers["fv_linear_extrap_threshold"] < 1:
            return "its fv_linear_extrap_threshold must be between 1 / Flen and 1"
        if numbers["minimum_activation"] < 0.01:
            return f"its minimum_activation is {numbers['minimum_activation']:g}; this class needs at least 0.01"
    return ""


def _stated(muscle: Muscle, nodes: list[Node], name: str, default: float) -> float:
    node = next((node for node in nodes if node.tag == name and node.text.strip()), None)
    if node is None:
        return default
    try:
        value = float(node.text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ModelError(f"{muscle.kind} {muscle.name!r}: {name} is {node.text.strip()!r}, not a finite number")
    return value
