"""Errors and warnings about the input of muscle functions, raised in Python where the input is plain numbers.

Parameters that no muscle has are errors. Activations, excitations and fibre lengths that are clamped to a limit are
warnings: the limits themselves are part of the computation, and hold silently in compiled code.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import jax
import numpy as np
from jax.core import Tracer

from ..dynamics.entry import need_model, need_state
from ..errors import ActivationWarning, FiberLengthWarning, ModelError, warn
from ..model.compile.muscles import numbers_of
from ..model.description.muscle_properties import THELEN
from ..model.model import Model, MuscleValues
from ..model.ranges import muscle_problems
from ..model.structure import Muscles
from .classes import millard
from .groups import grouped, part_of

ROUNDING = 1e-9  # relative: a limit computed twice may differ by this
F = TypeVar("F", bound=Callable[..., Any])


def _plain(*values: Any) -> bool:
    return not any(isinstance(value, Tracer) for value in values)


@functools.lru_cache(maxsize=64)
def elastic(classes: Muscles) -> np.ndarray:
    """[m] bool: muscles whose fibre length matters. OpenSim ignores a Thelen muscle's ignore_tendon_compliance."""
    each = zip(classes.kind, classes.rigid_tendon, classes.problem, strict=True)
    return np.array([not problem and (kind == THELEN or not rigid) for kind, rigid, problem in each], bool)


def in_range(function: F) -> F:
    """Decorate a function of muscles: wrong parameters, activations and excitations are reported."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        model = need_model(function.__name__, given.get("model"))
        if "state" in given:
            need_state(function.__name__, given["state"])
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


_sound: WeakValueDictionary[tuple[int, Muscles], MuscleValues] = WeakValueDictionary()
"""Numbers that were found right. JAX arrays do not change, so that those of one model are looked at once, not at every call."""


def _check_parameters(model: Model, function: str) -> None:
    """Raise if a number that was changed in the model (`model.muscles`) is one that no muscle has."""
    key = id(model.muscles), model.muscle_classes
    if _sound.get(key) is model.muscles:
        return
    leaves = jax.tree.leaves(model.muscles)
    if not _plain(*leaves):
        return
    problem = _problem(model)
    if problem:
        muscle, text = problem
        raise ModelError(f"{function} of {model.name!r}: muscle {model.muscle_names[muscle]!r}: {text}")
    if all(isinstance(leaf, jax.Array) for leaf in leaves):
        _sound[key] = model.muscles


def _problem(model: Model) -> tuple[int, str] | None:
    """The first muscle with wrong numbers, and what is wrong."""
    classes = model.muscle_classes
    kinds = ["" if problem else kind for kind, problem in zip(classes.kind, classes.problem, strict=True)]
    for found in muscle_problems(kinds, classes.variant, numbers_of(model.muscles)):
        return found
    values = jax.tree.map(np.asarray, model.muscles)
    for group in grouped(classes).groups:
        if group.of is not millard:
            continue
        with jax.ensure_compile_time_eval():  # the model is plain, even where q is not
            problems = millard.problems(part_of(values, group), group)
        for bad, why in problems:
            return int(group.muscles[int(np.argmax(bad))]), why
    return None


def _warn_of_activation(model: Model, function: str, what: str, values: np.ndarray) -> None:
    outside = np.flatnonzero((values < 0) | (values > 1))
    if len(outside):
        first = outside[0]
        warn(
            f"{function}: {what} of {model.muscle_names[first]!r} is {values[first]:g}; it is taken as "
            f"{np.clip(values[first], 0, 1):g} ({len(outside)} muscle(s) outside 0 to 1)",
            ActivationWarning,
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
        warn(
            f"{function}: fiber_length of {model.muscle_names[first]!r} is {given[first]:g} m; it is taken as "
            f"{used[first]:.4g} m, the shortest that the muscle allows ({len(short)} muscle(s) below theirs)",
            FiberLengthWarning,
        )
    long = np.flatnonzero(matters & (tendon < 0))
    if len(long):
        first = long[0]
        warn(
            f"{function}: fiber_length of {model.muscle_names[first]!r} is {given[first]:g} m, longer than its whole path: the "
            f"tendon's length would be {tendon[first]:.4g} m ({len(long)} muscle(s); lengths are in metres, not normalised)",
            FiberLengthWarning,
        )
