"""The numbers of a muscle that only its class has: names, and OpenSim's defaults.

A description keeps those that its file states (`Muscle.numbers`, `Muscle.flags`); here they are looked up by name, with the
defaults of the others. `COMMON` are those that several classes have, each under a name of its own.
"""

from __future__ import annotations

import math

from .muscles import Muscle

MILLARD = "Millard2012EquilibriumMuscle"
THELEN = "Thelen2003Muscle"
DE_GROOTE_FREGLY = "DeGrooteFregly2016Muscle"
SCHUTTE = "Schutte1993Muscle_Deprecated"
RIGID = "RigidTendonMuscle"

STEEPEST = math.acos(0.1)
LEAST_DAMPING = 0.001  # below it, OpenSim takes Millard's classic equation
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
COMMON: dict[str, dict[str, str]] = {
    MILLARD: {name: name for name in (*_SAME, "fiber_damping")}
    | {"tendon_strain_at_one_norm_force": "TendonForceLengthCurve/strain_at_one_norm_force"},
    THELEN: {name: name for name in _SAME} | {"tendon_strain_at_one_norm_force": "FmaxTendonStrain"},
    DE_GROOTE_FREGLY: {name: name for name in (*_SAME, "fiber_damping", "tendon_strain_at_one_norm_force")},
    SCHUTTE: {"fiber_damping": "damping"},
    RIGID: {},
}
"""By class: the common names (fields of a compiled model's `MuscleValues`) of some of its numbers, and what a file calls them."""

EVERY = (
    "max_isometric_force",
    "optimal_fiber_length",
    "tendon_slack_length",
    "pennation_angle",
    "max_contraction_velocity",
)
"""Numbers that are fields of every muscle's description, and of `MuscleValues`."""


def number_names(kind: str) -> tuple[str, ...]:
    """All numbers of a class, those of its curves too (`Curve/parameter`)."""
    curves = MILLARD_CURVES if kind == MILLARD else {}
    return (*NUMBERS.get(kind, ()), *(f"{curve}/{name}" for curve, names in curves.items() for name in names))


def own_numbers(kind: str) -> list[str]:
    """Numbers of a class that have no common name."""
    common = COMMON.get(kind, {}).values()
    return [name for name in number_names(kind) if name not in common]


def default(kind: str, name: str) -> float | None:
    """What holds where a file does not state the number; None where the class works it out from others."""
    if "/" in name:
        curve, parameter = name.split("/")
        return MILLARD_CURVES[curve][parameter]
    return NUMBERS[kind][name]


def number(muscle: Muscle, name: str) -> float | None:
    """One of `number_names`, as stated or by default; None where it is left to the class."""
    return muscle.numbers.get(name, default(muscle.kind, name))


def flag(muscle: Muscle, name: str) -> bool:
    """One of `FLAGS`; false where the file does not say."""
    return muscle.flags.get(name, False)


def has_rigid_tendon(muscle: Muscle) -> bool:
    return muscle.kind == RIGID or flag(muscle, "ignore_tendon_compliance")


def variant(muscle: Muscle) -> str:
    """Which of its class's equations hold. Millard's: `damped`, `classic` (no damping to speak of) or `rigid`."""
    if has_rigid_tendon(muscle):
        return "rigid"
    if muscle.kind == MILLARD:
        return "damped" if number(muscle, "fiber_damping") >= LEAST_DAMPING else "classic"  # pyright: ignore[reportOptionalOperand]
    return "elastic"


def problem(muscle: Muscle) -> str:
    """Why this muscle's contraction cannot be computed, whatever its numbers (`model.ranges` has the rules for those); empty if
    it can."""
    if muscle.kind not in NUMBERS:
        return f"the contraction of a {muscle.kind} is not computed; that of {', '.join(NUMBERS)} is"
    if muscle.kind == SCHUTTE and (has_rigid_tendon(muscle) or flag(muscle, "ignore_activation_dynamics")):
        return "OpenSim has no rigid tendon and no immediate activation for this class"
    for curve, names in MILLARD_CURVES.items() if muscle.kind == MILLARD else ():
        optional = [name for name, value in names.items() if value is None]
        if 0 < sum(f"{curve}/{name}" in muscle.numbers for name in optional) < len(optional):
            return f"{curve}: state all of {', '.join(optional)}, or none"
    return ""
