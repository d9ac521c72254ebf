"""Errors and warnings about the input of muscle functions, raised in Python where the input is plain numbers.

Parameters that no muscle has are errors. Activations, excitations and fibre lengths that are clamped to a limit are
warnings: the limits themselves are part of the computation, and hold silently in compiled code.
"""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np
from jax.core import Tracer

from ..errors import ActivationWarning, FiberLengthWarning, ModelError
from ..model.compile.muscles import COMMON as COMMON_NAMES
from ..model.compile.muscles import EVERY
from ..model.description.muscle_properties import COMMON, DE_GROOTE_FREGLY, SCHUTTE, THELEN
from ..model.model import Model
from ..model.structure import Muscles
from .classes import millard
from .groups import grouped, part_of

ROUNDING = 1e-9  # relative: a limit computed twice may differ by this
BELOW_ZERO = -np.finfo(float).tiny
F = TypeVar("F", bound=Callable[..., Any])


def _plain(*values: Any) -> bool:
    return not any(isinstance(value, Tracer) for value in values)


@functools.lru_cache(maxsize=64)
def elastic(classes: Muscles) -> np.ndarray:
    """[m] bool: muscles whose fibre length matters. OpenSim ignores a Thelen muscle's ignore_tendon_compliance."""
    each = zip(classes.kind, classes.rigid_tendon, classes.problem, strict=True)
    return np.array([not problem and (kind == THELEN or not rigid) for kind, rigid, problem in each], bool)


@functools.lru_cache(maxsize=64)
def _limits(classes: Muscles) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """By parameter: which muscles use it, and what their values must be above."""
    muscles = range(len(classes.kind))

    def used(name: str, m: int) -> bool:
        kind = classes.kind[m]
        if classes.problem[m] or (kind == SCHUTTE and name == "max_contraction_velocity"):
            return False
        return name in EVERY or name in COMMON[kind]

    def may_be_zero(name: str, m: int) -> bool:
        if name == "tendon_slack_length":
            return not elastic(classes)[m]
        if name == "fiber_damping":  # else it is divided by
            return classes.kind[m] == DE_GROOTE_FREGLY or classes.variant[m] in ("rigid", "classic")
        return name in ("max_isometric_force", "pennation_angle")

    return {
        name: (
            np.array([used(name, m) for m in muscles], bool),
            np.array([BELOW_ZERO if used(name, m) and may_be_zero(name, m) else 0.0 for m in muscles]),
        )
        for name in (*EVERY, *COMMON_NAMES)
    }


def in_range(function: F) -> F:
    """Decorate a function of muscles: wrong parameters, activations and excitations are reported."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        model = given["model"]
        if isinstance(model, Model):
            _check_parameters(model, function.__name__)
        result = function(*args, **kwargs)  # checks shapes
        if "state" in given:
            given["activation"] = given["state"].activation
            if _plain(given["controls"]):
                given["excitation"] = np.asarray(given["controls"])[np.array(model.muscle_classes.control, int)]
        for what in ("activation", "excitation"):
            if what in given and _plain(given[what]):
                _warn_of_activation(model, function.__name__, what, np.asarray(given[what], float))
        return result

    return call  # pyright: ignore[reportReturnType]


def _check_parameters(model: Model, function: str) -> None:
    """Raise if a parameter that was changed in the model (`model.muscles`) is one that no muscle has."""
    for name, (used, low) in _limits(model.muscle_classes).items():
        values = getattr(model.muscles, name)
        if not _plain(values):
            continue
        values = np.asarray(values)
        high = math.pi / 2 if name == "pennation_angle" else math.inf
        bad = used & ~((values > low) & (values < high))
        if bad.any():
            m = int(np.argmax(bad))
            rule = "must not be negative" if low[m] < 0 else "must be above 0"
            rule = rule if math.isfinite(values[m]) else "must be a finite number"
            below = ", and below a right angle" if name == "pennation_angle" else ""
            raise ModelError(
                f"{function} of {model.name!r}: muscle {model.muscle_names[m]!r}: its {name} is {values[m]:g}; it "
                f"{rule}{below}"
            )
    _check_numbers(model, function)


def _check_numbers(model: Model, function: str) -> None:
    """Raise if a number that only some classes have is not finite, or makes a force curve impossible."""
    if not _plain(*jax.tree.leaves(model.muscles)):
        return
    values = jax.tree.map(np.asarray, model.muscles)
    for name, numbers in values.numbers.items():
        if not np.isfinite(numbers).all():
            m = int(np.argmin(np.isfinite(numbers)))
            raise ModelError(f"{function}: muscle {model.muscle_names[m]!r}: its {name} is {numbers[m]:g}")
    for group in grouped(model.muscle_classes).groups:
        if group.of is not millard:
            continue
        with jax.ensure_compile_time_eval():  # the model is plain, even where q is not
            problems = millard.problems(part_of(values, group), group)
        for bad, why in problems:
            name = model.muscle_names[group.muscles[int(np.argmax(bad))]]
            raise ModelError(f"{function} of {model.name!r}: muscle {name!r}: {why}")


def _warn_of_activation(model: Model, function: str, what: str, values: np.ndarray) -> None:
    outside = np.flatnonzero((values < 0) | (values > 1))
    if len(outside):
        first = outside[0]
        warnings.warn(
            f"{function}: {what} of {model.muscle_names[first]!r} is {values[first]:g}; it is taken as "
            f"{np.clip(values[first], 0, 1):g} ({len(outside)} muscle(s) outside 0 to 1)",
            ActivationWarning,
            stacklevel=3,
        )


def warn_of_fibers(model: Model, function: str, given: Any, used: Any, tendon_length: Any) -> None:
    """Of fibre lengths [m] that are shorter than their class allows, or longer than their path: as given, as used, and the
    lengths of tendon that they leave. To be called by a function that is decorated with `in_range`."""
    if not _plain(given, used, tendon_length):
        return
    given, used, tendon = (np.asarray(x, float) for x in (given, used, tendon_length))
    matters = elastic(model.muscle_classes).copy()
    matters[list(model.paths.no_path)] = False
    short = np.flatnonzero(matters & (used - given > ROUNDING * used))
    if len(short):
        first = short[0]
        warnings.warn(
            f"{function}: fiber_length of {model.muscle_names[first]!r} is {given[first]:g} m; it is taken as "
            f"{used[first]:.4g} m, the shortest that the muscle allows ({len(short)} muscle(s) below theirs)",
            FiberLengthWarning,
            stacklevel=4,
        )
    long = np.flatnonzero(matters & (tendon < 0))
    if len(long):
        first = long[0]
        warnings.warn(
            f"{function}: fiber_length of {model.muscle_names[first]!r} is {given[first]:g} m, longer than its whole path: the "
            f"tendon's length would be {tendon[first]:.4g} m ({len(long)} muscle(s); lengths are in metres, not normalised)",
            FiberLengthWarning,
            stacklevel=4,
        )
