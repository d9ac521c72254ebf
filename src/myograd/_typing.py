"""What public functions take where they say array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import jax
import numpy as np

ArrayLike: TypeAlias = jax.Array | np.ndarray | float | Sequence[float] | Sequence[Sequence[float]]
"""Numbers in any of the usual forms; NumPy's own ArrayLike would let texts through."""
