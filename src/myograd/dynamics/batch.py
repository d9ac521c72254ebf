"""Many poses at once, on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ..errors import ModelError
from .guard import plain_errors


def batched(function: Callable[..., Any], chunk: int = 64) -> Callable[..., Any]:
    """`function`, mapped over the first axis of all its arguments.

        lengths = mg.batched(lambda q: mg.muscle_lengths(model, q))
        lengths(poses)  # [n, muscles] for poses [n, coordinates]

    Gives what `jax.vmap` gives, two to three times faster on CPU for long recordings: rows go in chunks small enough
    for the processor's cache, through one compiled loop per core. For use at the top level; inside `jit` use `jax.vmap`.
    """
    compiled = jax.jit(lambda args: lax.map(lambda row: function(*row), args, batch_size=chunk))

    @plain_errors()
    def call(*args: Any) -> Any:
        arrays = [jnp.asarray(x) for x in args]
        counts = {x.shape[0] if x.ndim else -1 for x in arrays}
        if len(counts) != 1 or -1 in counts or 0 in counts:
            raise ModelError(
                f"batched: arguments need one and the same first axis; shapes are {[x.shape for x in arrays]}"
            )
        (count,) = counts
        cores = max(
            1,
            min(
                len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
                count // chunk,
            ),
        )
        share = -(-count // cores)
        # All cores get equally many rows, so that one compilation serves all: the last rows may be worked out twice.
        starts = [min(i * share, count - share) for i in range(cores)]
        with ThreadPoolExecutor(cores) as pool:
            parts = list(
                pool.map(lambda i: jax.block_until_ready(compiled([x[i : i + share] for x in arrays])), starts)
            )
        new_from = [i * share - start for i, start in enumerate(starts)]
        return jax.tree.map(
            lambda *leaves: jnp.concatenate([x[k:] for x, k in zip(leaves, new_from, strict=True)]), *parts
        )

    return call
