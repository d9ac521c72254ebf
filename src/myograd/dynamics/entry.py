"""The door to every public function of a model and its state: checks arguments, compiles, reports errors plainly."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..errors import ModelError
from ..model.model import Model
from .guard import LastError

F = TypeVar("F", bound=Callable[..., Any])


def entry(**sizes: str) -> Callable[[F], F]:
    """Decorate `f(model, ...)`: each named argument must be a finite array shaped like the model's names.

    `entry(q="coordinate_names")` says that q has one number per coordinate. String arguments are static. Inside
    another `jit`, `vmap` or `grad` only shapes can be checked. Called directly, f is compiled once per model structure.
    """

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        static = tuple(name for name, p in signature.parameters.items() if isinstance(p.default, str | tuple))
        compiled = jax.jit(function, static_argnames=static)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            model = bound.arguments.get("model")
            if not isinstance(model, Model):
                raise TypeError(
                    f"{function.__name__} takes a Model first (see load_model), not a {type(model).__name__}"
                )
            traced = False
            for name, size in sizes.items():
                if bound.arguments.get(name) is not None:
                    value = _checked(model, function.__name__, name, bound.arguments[name], getattr(model, size))
                    traced |= isinstance(value, Tracer)
                    bound.arguments[name] = value
            LastError.error = None
            try:
                result = compiled(*bound.args, **bound.kwargs)
                return result if traced else jax.block_until_ready(result)
            except jax.errors.JaxRuntimeError:
                if LastError.error is not None:
                    raise LastError.error from None
                raise

        return call  # type: ignore[return-value]

    return decorate


def _checked(model: Model, function: str, name: str, value: Any, names: tuple[str, ...]) -> Any:
    if not isinstance(value, Tracer):
        try:
            value = np.asarray(value, float)
        except (TypeError, ValueError):
            raise ModelError(f"{function}: {name} must be numbers, not {value!r}"[:200]) from None
    if value.shape[:1] != (len(names),):
        many = "; for many poses at once use jax.vmap" if value.ndim == 2 and value.shape[1] == len(names) else ""
        raise ModelError(
            f"{function}: {name} has shape {value.shape}, but {model.names.model!r} needs ({len(names)},): one number for "
            f"each of {', '.join(names[:4])}{', ...' if len(names) > 4 else ''}{many}"
        )
    if isinstance(value, np.ndarray):
        bad = np.flatnonzero(~np.isfinite(value.reshape(len(names), -1)).all(axis=1))
        if len(bad):
            raise ModelError(f"{function}: {name} is not finite for {', '.join(names[i] for i in bad[:8])}")
    return jnp.asarray(value, float)
