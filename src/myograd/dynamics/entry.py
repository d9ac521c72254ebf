"""The door to every public function of a model and its state: checks arguments, compiles, reports errors plainly."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import jax
import numpy as np
from jax.core import Tracer

from .._arrays import as_array
from ..errors import AngleWarning, ModelError, UnsupportedError, nearest, warn
from ..files.tables.table import FARTHEST_TURN
from ..model.description import Severity
from ..model.model import Model
from .guard import checked, is_quiet

F = TypeVar("F", bound=Callable[..., Any])

# What the arguments of public functions must be, by their names: one number for each of the model's names, or a count.
SHAPES: dict[str, tuple[str | int, ...]] = {
    **dict.fromkeys(("q", "qdot", "u", "udot", "tau"), ("coordinate_names",)),
    **dict.fromkeys(("activation", "excitation", "fiber_length", "fiber_velocity"), ("muscle_names",)),
    "controls": ("control_names",),
    "wrenches": ("body_names", 6),
    "location": (3,),
    "time": (),
}


def entry(function: F) -> F:
    """Decorate `f(model, q, ...)`: arguments named in SHAPES must be finite and of that shape; f is compiled.

    Inside another `jit`, `vmap` or `grad` only shapes can be checked. Strings, tuples and integers are static. Called directly, f
    compiles once per model structure.
    """
    signature = inspect.signature(function)
    called = function.__name__.lstrip("_")
    static = tuple(name for name, p in signature.parameters.items() if isinstance(p.default, str | tuple | int))
    compiled = jax.jit(checked(function), static_argnames=static)  # for plain numbers
    traced = jax.jit(function, static_argnames=static)  # as a part of other programs

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        model = need_model(called, bound.arguments.get("model"))
        if np.ndim(model.fingerprint):
            raise ModelError(f"{called}: this is a stack of models; map over it by jax.vmap, or take one of them")
        accept = bound.arguments.get("accept", ())
        if "accept" in bound.arguments:
            bound.arguments["accept"] = accept = accepted(model, called, accept)

        def checked(name: str, value: Any) -> Any:
            return _checked(model, called, name, value, accept)

        if "state" in bound.arguments:
            state = need_state(called, bound.arguments["state"])
            values = {item.name: checked(item.name, getattr(state, item.name)) for item in fields(state)}
            bound.arguments["state"] = replace(state, **values)
        for name in SHAPES.keys() & bound.arguments.keys():
            if bound.arguments[name] is not None or signature.parameters[name].default is inspect.Parameter.empty:
                bound.arguments[name] = checked(name, bound.arguments[name])
        if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((bound.args, bound.kwargs))):
            # A program that checks its failures itself must see those of its parts, which cannot leave a program of their own.
            return (function if is_quiet() else traced)(*bound.args, **bound.kwargs)
        result, failed = jax.block_until_ready(compiled(*bound.args, **bound.kwargs))
        if failed:
            function(*bound.args, **bound.kwargs)  # step by step: raises what is wrong
            raise AssertionError(f"{called}: a check failed in compiled code, but not step by step")
        return result

    return call  # pyright: ignore[reportReturnType]


def need_model(function: str, model: Any) -> Model:
    """The model, or an error if it is something else."""
    if not isinstance(model, Model):
        raise TypeError(f"{function} takes a Model first (see load_model), not a {type(model).__name__}")
    return model


def need_state(function: str, state: Any) -> Any:
    """The state, or an error if it is something else. States are made of what SHAPES names."""
    if not (is_dataclass(state) and all(item.name in SHAPES for item in fields(state))):
        raise TypeError(f"{function} takes a State (see equilibrium_state), not a {type(state).__name__}")
    return state


def _checked(model: Model, function: str, name: str, value: Any, accept: tuple[str, ...]) -> Any:
    names = [getattr(model, size) if isinstance(size, str) else range(size) for size in SHAPES[name]]
    shape = tuple(len(each) for each in names)
    if not isinstance(value, Tracer):
        try:
            if np.iscomplexobj(value):
                raise TypeError
            value = np.asarray(value, float)
        except (TypeError, ValueError):
            raise ModelError(f"{function}: {name} must be numbers, not {value!r}"[:200]) from None
    if value.shape != shape:
        each = many = ""
        if names and not isinstance(names[0], range):
            each = f": one row for each of {', '.join(names[0][:4])}{', ...' if len(names[0]) > 4 else ''}"
            many = "; for many poses at once use jax.vmap or batched" if value.shape[1:] == shape else ""
        raise ModelError(f"{function}: {name} has shape {value.shape}, but {model.name!r} needs {shape}{each}{many}")
    if isinstance(value, np.ndarray) and not np.isfinite(value).all():
        rows = ~np.isfinite(value).all(axis=tuple(range(1, value.ndim))) if value.ndim else np.zeros(0, bool)
        bad = [str(names[0][i]) for i in np.flatnonzero(rows) if names[0][i] not in accept]
        if bad or not value.ndim:  # what is accepted as not computed may be NaN
            raise ModelError(f"{function}: {name} is not finite{' for ' if bad else ''}{', '.join(bad[:8])}")
    if name == "q" and isinstance(value, np.ndarray):
        _warn_of_degrees(model, function, value)
    return as_array(value)


def _warn_of_degrees(model: Model, function: str, q: np.ndarray) -> None:
    """Angles are in radians; someone who gives degrees turns the joints round and round."""
    far = np.flatnonzero((np.abs(q) > FARTHEST_TURN) & np.array(model.names.rotational, bool))
    if len(far):
        name, angle = model.coordinate_names[far[0]], float(q[far[0]])
        warn(
            f"{function}: {name} is {angle:.4g} rad, {np.rad2deg(angle):.0f} degrees. Angles are in radians: {angle:.4g} degrees "
            f"are {angle:.4g} * mg.deg",
            AngleWarning,
        )


def accepted(model: Model, function: str, accept: Any) -> tuple[str, ...]:
    """Names of unsupported parts of the file that the caller leaves out; each must be one."""
    if isinstance(accept, str):
        raise ModelError(f"{function}: accept is a tuple of names, ({accept!r},), not one string")
    known = unsupported_names(model)
    wrong = [name for name in accept if name not in known]
    if wrong:
        several = "none of which is" if len(wrong) > 1 else "which is not"
        raise ModelError(
            f"{function}: accept names {', '.join(map(repr, wrong))}, {several} an unsupported part of {model.name!r}"
            f"{nearest(wrong[0], known)}"
        )
    return tuple(accept)


def unsupported_names(model: Model) -> list[str]:
    """What `accept` may name."""
    known = [name for _, _, name in model.names.unsupported] + [model.muscle_names[m] for m in model.paths.no_path]
    return known + [
        muscle for muscle, problem in zip(model.muscle_names, model.muscle_classes.problem, strict=True) if problem
    ]


def need_constraints(model: Model, function: str, accept: tuple[str, ...]) -> None:
    """Raise unless every unsupported constraint is accepted by name."""
    need(model, function, accept, Severity.MOTION, "unsupported part")


def need(model: Model, function: str, accept: tuple[str, ...], severity: Severity, what: str) -> None:
    """Raise unless every unsupported part of the file with this severity is accepted by name; `what` is one of them."""
    missing = [i for i, (how, _, name) in enumerate(model.names.unsupported) if how == severity and name not in accept]
    if missing:
        first = model.document.description.unsupported[missing[0]]
        counted = f"{len(missing)} {what}s, the first being" if len(missing) > 1 else f"one {what},"
        raise UnsupportedError(
            f"{function} of {model.name!r} depends on {counted} {first.kind} {first.name!r} (line {first.line}): {first.reason}",
            list(dict.fromkeys(model.names.unsupported[i][2] for i in missing)),
        )
