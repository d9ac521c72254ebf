"""What public functions and classes take where they say array, and how it becomes one of JAX's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)  # or a state made before any model was loaded would lose half of its digits

ArrayLike: TypeAlias = jax.Array | np.ndarray | float | Sequence[float] | Sequence[Sequence[float]]
"""Numbers in any of the usual forms; NumPy's own ArrayLike would let texts through."""


def as_array(value: ArrayLike) -> jax.Array:
    """The same numbers as an array of JAX's, in double precision unless it is one already."""
    return value if isinstance(value, jax.Array) else jnp.asarray(value, float)
