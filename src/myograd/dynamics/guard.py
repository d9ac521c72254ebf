"""Failures of compiled code, and the errors that they become.

A check costs one comparison while nothing is wrong. What becomes of one that fails depends on who compiled the program:

- a public function that is called with plain numbers: the failure is a value beside the result, looked at afterwards, and the
  function runs once more, step by step, to say what is wrong (`checked`). Such programs call nothing outside, so that JAX keeps
  them on disk;
- a simulation or another program of ours that goes on (`quiet`): the result is NaN from there on, and whoever called it finds
  out why;
- a program of the user's (`jax.jit` around one of ours): the program itself calls Python, which raises.
"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import equinox.internal as eqxi
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jaxtyping import Array, Bool

from .. import errors

# JAX logs what a callback raises, traceback and all; ours are raised to the user anyway.
logging.getLogger("jax._src.callback").addFilter(
    lambda record: not (record.exc_info and isinstance(record.exc_info[1], errors.MyogradError))
)

_failures: ContextVar[list[Bool[Array, ""]] | None] = ContextVar("failures", default=None)
"""While a program is traced that checks its failures itself: what has been checked so far."""


@contextmanager
def plain_errors() -> Iterator[None]:
    """Raise again, as itself, an error of ours that XLA has wrapped in one of its own."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        named = re.finditer(r"^\W*(?:myograd\.errors\.)?(\w*Error): (.*)$", str(error), re.MULTILINE)
        ours = next((line for line in named if hasattr(errors, line[1])), None)
        if ours is None:
            raise
        raise getattr(errors, ours[1])(ours[2]) from None


@contextmanager
def quiet() -> Iterator[list[Bool[Array, ""]]]:
    """What is traced within gives NaN where a check fails; and the checks, which the same program may return."""
    found: list[Bool[Array, ""]] = []
    token = _failures.set(found)
    try:
        yield found
    finally:
        _failures.reset(token)


def is_quiet() -> bool:
    """Whether a program is being traced that checks its failures itself."""
    return _failures.get() is not None


def checked(function: Callable[..., Any]) -> Callable[..., tuple[Any, Bool[Array, ""]]]:
    """The function, which also says whether any of its checks has failed."""

    @functools.wraps(function)
    def both(*args: Any, **kwargs: Any) -> tuple[Any, Bool[Array, ""]]:
        with quiet() as failures:
            result = function(*args, **kwargs)
        return result, jnp.any(jnp.stack(failures)) if failures else jnp.array(False)

    return both


def raise_where(
    failed: Bool[Array, ""], value: Array, evidence: Array, explain: Callable[[np.ndarray], errors.MyogradError]
) -> Array:
    """`value`; or, once any element of a batch has failed, the error that `explain` makes of the matrix `evidence`; or NaN,
    see above.

    The evidence is looked at in Python, and only on failure, so `explain` can afford to find out names.
    """
    if not isinstance(failed, Tracer) and not isinstance(evidence, Tracer):
        if bool(failed):
            raise explain(np.asarray(evidence))
        return value
    failures = _failures.get()
    if failures is not None:
        failures.append(failed)
        return jnp.where(failed, jnp.nan, value)

    def look(failed: Array | np.ndarray, evidence: Array | np.ndarray) -> np.ndarray:
        matrices = np.asarray(evidence).reshape(-1, *evidence.shape[-2:])
        first = int(np.argmax(np.broadcast_to(failed, evidence.shape[:-2])))
        raise explain(matrices[first])

    def ask(failed: Array, evidence: Array) -> Array:
        result = jax.ShapeDtypeStruct((), np.int32)
        return jax.pure_callback(look, result, failed, evidence, vmap_method="broadcast_all")

    failed, evidence = lax.stop_gradient((failed, evidence))
    token = lax.cond(eqxi.unvmap_any(failed), ask, lambda failed, evidence: jnp.int32(0), failed, evidence)
    # The value must depend on the outcome, or the compiler would drop the check.
    return jnp.where(token == 0, value, jnp.nan)
