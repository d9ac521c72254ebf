"""What public functions and classes take where they say array, and how it becomes one of JAX's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)  # or a state made before any model was loaded would lose half of its digits

ArrayLike: TypeAlias = jax.Array | np.ndarray | float | Sequence[float] | Sequence[Sequence[float]]
"""Numbers in any of the usual forms; NumPy's own ArrayLike would let texts through."""


def as_array(value: ArrayLike) -> jax.Array:
    """The same numbers as an array of JAX's, in double precision; TypeError for what is not numbers.

    By `device_put`: `jnp.asarray` compiles a program for every shape that it meets.
    """
    if isinstance(value, jax.Array):
        return value if value.dtype == np.float64 else value.astype(float)
    if any(isinstance(part, jax.Array) for part in jax.tree.leaves(value)):
        return jnp.asarray(value, float)
    numbers = np.asarray(value)
    if numbers.dtype.kind not in "fiub":
        raise TypeError(f"expected numbers, not {value!r}"[:200])
    return jax.device_put(np.array(numbers, float))  # a copy, for the caller may go on to change theirs


def array_module(*values: ArrayLike) -> Any:
    """`jax.numpy` if any of them is one of JAX's arrays, else `numpy`, which compiles nothing."""
    return jnp if any(isinstance(value, jax.Array) for value in values) else np
