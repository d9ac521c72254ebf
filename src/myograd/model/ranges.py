"""Which values a model's numbers can have: ranges by property, and what must hold between two of them.

One set of rules for both ways in: a description as it is compiled, and the arrays of a compiled model in which numbers were
changed. Of force curves, `muscle.curves` has the rules.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ModelError
from .description import muscle_properties as properties
from .description.forces import NOT_NEGATIVE as FORCES_NOT_NEGATIVE
from .description.forces import POSITIVE as FORCES_POSITIVE

if TYPE_CHECKING:
    from .model import Model

LARGEST = float(np.finfo(float).max)


class Range(NamedTuple):
    """Both limits are allowed."""

    low: float
    high: float
    rule: str
    """what holds of a number within: 'it ...'"""


def _above(x: float) -> float:
    return math.nextafter(x, math.inf)


def _below(x: float) -> float:
    return math.nextafter(x, -math.inf)


FINITE = Range(-LARGEST, LARGEST, "must be a finite number")
NOT_NEGATIVE = Range(0.0, LARGEST, "must not be negative")
ABOVE_0 = Range(_above(0.0), LARGEST, "must be above 0")

# Muscles -----------------------------------------------------------------------------------------------------

MUSCLES: dict[str, Range] = {
    "max_isometric_force": NOT_NEGATIVE,
    "pennation_angle": Range(0.0, _below(math.pi / 2), "must be from 0 to below a right angle, in radians (pi/2)"),
    "maximum_pennation_angle": Range(
        _above(0.0), _below(math.pi / 2), "must be above 0 and below a right angle, in radians (pi/2)"
    ),
    "minimum_activation": Range(0.0, _below(1.0), "must be from 0 to below 1"),
    "active_force_width_scale": Range(1.0, LARGEST, "must be at least 1"),
    "Flen": Range(_above(1.0), LARGEST, "must be above 1"),
    **dict.fromkeys(
        (
            "optimal_fiber_length",
            "max_contraction_velocity",
            "activation_time_constant",
            "deactivation_time_constant",
            "tendon_strain_at_one_norm_force",
            "activation_dynamics_smoothing",
            "passive_fiber_strain_at_one_norm_force",
            "FmaxMuscleStrain",
            "KshapeActive",
            "KshapePassive",
            "Af",
            "time_scale",
            "activation1",
            "activation2",
        ),
        ABOVE_0,
    ),
}
"""By the name of the number in a compiled model; those that depend on the class or variant are in `muscle_range`."""
UNITS = {
    "max_isometric_force": " N",
    "optimal_fiber_length": " m",
    "tendon_slack_length": " m",
    "pennation_angle": " rad",
    "maximum_pennation_angle": " rad",
}
_LEAST = properties.LEAST_DAMPING
_AGAIN = "To have that, change the ModelDescription and compile it again"
DAMPED = Range(_LEAST, LARGEST, f"must be at least {_LEAST:g}: with less, Millard's classic equation holds. {_AGAIN}")
CLASSIC = Range(
    0.0,
    _below(_LEAST),
    f"must not be negative, and below {_LEAST:g}: from there on, Millard's damped equation holds. {_AGAIN}",
)


@functools.lru_cache(maxsize=4096)
def muscle_range(name: str, kind: str, variant: str) -> Range | None:
    """Of one number of a muscle of this class and variant; None if such a muscle has none."""
    if name in properties.EVERY:
        if kind == properties.SCHUTTE and name == "max_contraction_velocity":
            return None
    elif name not in properties.COMMON[kind] and name not in properties.own_numbers(kind):
        return None
    if name == "tendon_slack_length":  # OpenSim ignores a Thelen muscle's ignore_tendon_compliance
        return ABOVE_0 if kind == properties.THELEN or variant != "rigid" else NOT_NEGATIVE
    if name == "fiber_damping":
        if kind == properties.SCHUTTE:
            return ABOVE_0
        return {"damped": DAMPED, "classic": CLASSIC}.get(variant, NOT_NEGATIVE)
    if name == "minimum_activation" and kind == properties.THELEN:
        return Range(0.01, _below(1.0), "must be from 0.01 to below 1 in this class")
    return MUSCLES.get(name, FINITE)


@functools.lru_cache(maxsize=64)
def _limits(
    names: tuple[str, ...], kinds: tuple[str, ...], variants: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """[names, m] what is used, and its lowest and highest values. Of muscles whose kind is "" nothing is."""
    found = [
        [muscle_range(name, kind, variant) if kind else None for kind, variant in zip(kinds, variants, strict=True)]
        for name in names
    ]
    shape = len(names), len(kinds)
    low = np.array([[0.0 if it is None else it.low for it in row] for row in found]).reshape(shape)
    high = np.array([[0.0 if it is None else it.high for it in row] for row in found]).reshape(shape)
    return np.array([[it is not None for it in row] for row in found], bool).reshape(shape), low, high


def muscle_problems(
    kinds: Sequence[str], variants: Sequence[str], numbers: Mapping[str, np.ndarray]
) -> list[tuple[int, str]]:
    """Muscles with numbers that no muscle has, by place, and what is wrong with the first of them.

    `kinds`: classes, "" for muscles that are not to be looked at. `numbers`: [m] each, by the names in a compiled model.
    """
    used, low, high = _limits(tuple(numbers), tuple(kinds), tuple(variants))
    values = np.array(list(numbers.values()), float).reshape(used.shape)
    bad = used & ~((values >= low) & (values <= high))
    found: dict[int, str] = {}
    for m in np.flatnonzero(bad.any(axis=0)).tolist():
        row = int(np.argmax(bad[:, m]))
        name = list(numbers)[row]
        limits = muscle_range(name, kinds[m], variants[m])
        assert limits is not None
        found[m] = f"its {_called(name, kinds[m])} is {_told(values[row, m], limits, UNITS.get(name, ''))}"
    for m, text in _relations(kinds, numbers):
        found.setdefault(m, text)
    return sorted(found.items())


def _relations(kinds: Sequence[str], n: Mapping[str, np.ndarray]) -> list[tuple[int, str]]:
    """What does not hold between two numbers of a muscle."""
    found: list[tuple[int, str]] = []
    if "maximum_pennation_angle" in n:
        own = np.array([bool(kind) and "maximum_pennation_angle" in properties.NUMBERS[kind] for kind in kinds], bool)
        angle, steepest = n["pennation_angle"], n["maximum_pennation_angle"]
        found += [
            (m, f"its pennation_angle, {angle[m]:g} rad, is above its maximum_pennation_angle, {steepest[m]:g} rad")
            for m in np.flatnonzero(own & (angle > steepest)).tolist()
        ]
    if "Flen" in n:
        thelen = np.array([kind == properties.THELEN for kind in kinds], bool)
        least, threshold = 1 / np.where(n["Flen"] > 1, n["Flen"], 2.0), n["fv_linear_extrap_threshold"]
        found += [
            (
                m,
                f"its fv_linear_extrap_threshold is {threshold[m]:g}; it must be above 1 / Flen, {least[m]:g}, and below 1",
            )
            for m in np.flatnonzero(thelen & ~((threshold > least) & (threshold < 1))).tolist()
        ]
    return found


def _called(name: str, kind: str) -> str:
    """As in a compiled model, and as files call it where that is not the same."""
    own = properties.COMMON[kind].get(name, name)
    return name if own == name else f"{name} ({own})"


def _told(value: Any, limits: Range, unit: str = "") -> str:
    rule = limits.rule if math.isfinite(value) else FINITE.rule
    return f"{value:g}{unit}; it {rule}"


# Everything else ---------------------------------------------------------------------------------------------

ARRAYS: dict[str, Range] = {
    ".bodies.mass": NOT_NEGATIVE,
    ".surfaces.sizes": ABOVE_0,
    ".contact_surfaces.size": ABOVE_0,
    ".joints.radii": ABOVE_0,
    ".constraint_parameters.distance": ABOVE_0,
}
"""By array of a model."""
PASSIVE = ("stiffness", "damping", "viscosity")
"""Numbers of forces that would feed energy in if they were negative."""
_SIZES = {
    item.name for kind in FORCES_NOT_NEGATIVE for item in dataclasses.fields(kind) if item.type in ("float", float)
}
_MUSCLE = re.compile(r"\.muscles\.(?:numbers\['(?P<own>.+)'\]|(?P<common>\w+))")
_TERM = re.compile(r"\.terms\[(?P<term>\d+)\]\.(?P<field>\w+)")


def array_range(model: Model, leaf: str, index: tuple[int, ...]) -> Range:
    """Of the number at this place of an array of the model."""
    if leaf in ARRAYS:
        return ARRAYS[leaf]
    if match := _MUSCLE.fullmatch(leaf):
        classes, m = model.muscle_classes, index[-1]
        if classes.problem[m]:
            return FINITE
        return muscle_range(match["own"] or match["common"], classes.kind[m], classes.variant[m]) or FINITE
    if match := _TERM.fullmatch(leaf):
        kind, field = getattr(model.terms[int(match["term"])], "describes", object), match["field"]
        if field in FORCES_POSITIVE.get(kind, ()):
            return ABOVE_0
        if field in PASSIVE or (kind in FORCES_NOT_NEGATIVE and field in _SIZES):
            return NOT_NEGATIVE
    return FINITE


def check_value(model: Model, name: str, leaf: str, index: tuple[int, ...], value: Any) -> None:
    """Raise if a plain number, or one of several, is none that this parameter can have."""
    limits = array_range(model, leaf, index)
    values = np.atleast_1d(np.asarray(value, float))
    bad = ~((values >= limits.low) & (values <= limits.high))
    if bad.any():
        raise ModelError(f"parameter {name!r} of {model.name!r} is {_told(values[bad][0], limits)}")


def check_inertia(model: Model, bodies: Sequence[int]) -> None:
    """Raise if no body can have the inertia that these have, in the model or in any of a stack of them."""
    for k in bodies:
        xx, yy, zz, xy, xz, yz = np.moveaxis(np.asarray(model.bodies.inertia)[..., k], -1, 0)
        tensor = np.moveaxis(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), (0, 1), (-2, -1))
        for moments in np.linalg.eigvalsh(tensor).reshape(-1, 3):
            if moments[0] < -1e-12 * abs(moments[-1]):
                told = ", ".join(f"{moment:g}" for moment in moments)
                raise ModelError(
                    f"the inertia of {model.body_names[k]!r} would have the principal moments {told} kg m^2; none can be "
                    "negative"
                )
