"""Errors from inside compiled code: checks that cost one comparison while nothing is wrong."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import equinox.internal as eqxi
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool

from .. import errors

# JAX logs what a callback raises, traceback and all; ours are raised to the user anyway.
logging.getLogger("jax._src.callback").addFilter(
    lambda record: not (record.exc_info and isinstance(record.exc_info[1], errors.MyogradError))
)


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


def raise_where(
    failed: Bool[Array, ""], value: Array, evidence: Array, blame: Callable[[np.ndarray], errors.MyogradError]
) -> Array:
    """`value`; or, once any element of a batch has failed, the error that `blame` makes of the matrix `evidence`.

    The evidence is looked at in Python, and only on failure, so `blame` can afford to find out names.
    """

    def look(failed: np.ndarray, evidence: np.ndarray) -> np.ndarray:
        matrices = np.asarray(evidence).reshape(-1, *evidence.shape[-2:])
        first = int(np.argmax(np.broadcast_to(failed, evidence.shape[:-2])))
        raise blame(matrices[first])

    def ask(failed: Array, evidence: Array) -> Array:
        result = jax.ShapeDtypeStruct((), np.int32)
        return jax.pure_callback(look, result, failed, evidence, vmap_method="broadcast_all")

    failed, evidence = lax.stop_gradient((failed, evidence))
    token = lax.cond(eqxi.unvmap_any(failed), ask, lambda failed, evidence: jnp.int32(0), failed, evidence)
    # The value must depend on the outcome, or the compiler would drop the check.
    return jnp.where(token == 0, value, jnp.nan)
