"""Many poses at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer

from ..errors import ModelError
from .guard import plain_errors

LAPACK = {
    "cholesky",
    "triangular_solve",
    "lu",
    "qr",
    "householder_product",
    "svd",
    "eigh",
    "eig",
    "geqrf",
    "schur",
    "hessenberg",
}


def batched(function: Callable[..., Any], chunk: int = 32) -> Callable[..., Any]:
    """`function`, mapped over the first axis of all its arguments.

        lengths = mg.batched(lambda q: mg.muscle_lengths(model, q))
        lengths(poses)  # [n, muscles] for poses [n, coordinates]

    Gives what `jax.vmap` gives, faster on CPU for many rows: they go in chunks small enough for the processor's cache,
    through one compiled loop per core. Inside `jit` or `grad` it is `jax.vmap`.
    """
    if chunk < 1:
        raise ModelError(f"batched: a chunk has at least 1 row, not {chunk}")
    compiled = jax.jit(lambda args: lax.map(lambda row: function(*row), args, batch_size=chunk))
    threads: dict[Any, int] = {}
    pool = ThreadPoolExecutor(_cores())

    @plain_errors()
    def call(*args: Any) -> Any:
        if any(isinstance(x, Tracer) for x in jax.tree.leaves(args)):
            return jax.vmap(function)(*args)
        arrays = [np.asarray(x) for x in args]
        counts = {x.shape[0] if x.ndim else 0 for x in arrays}
        if len(counts) != 1 or 0 in counts:
            raise ModelError(
                "batched: arguments must have the same first dimension, of at least one row; "
                f"shapes are {[x.shape for x in arrays]}"
            )
        (count,) = counts
        for i, x in enumerate(arrays):
            if not np.isfinite(x).all():
                rows = np.flatnonzero(~np.isfinite(x).reshape(count, -1).all(axis=1))
                raise ModelError(f"batched: argument {i + 1} is not finite in row(s) {', '.join(map(str, rows[:5]))}")
        key = tuple((x.shape[1:], x.dtype) for x in arrays)
        if key not in threads:
            threads[key] = 1 if _uses_lapack(jax.make_jaxpr(function)(*(x[0] for x in arrays)).jaxpr) else _cores()
        parts = max(1, min(threads[key], count // chunk))
        if parts == 1:
            return jax.block_until_ready(compiled(arrays))
        share = -(-count // parts)
        # All threads get equally many rows, so that one compilation serves all: some rows may be computed twice.
        starts = [min(i * share, count - share) for i in range(parts)]
        done = list(pool.map(lambda i: jax.block_until_ready(compiled([x[i : i + share] for x in arrays])), starts))
        return jax.block_until_ready(_joined(done, tuple(i * share - start for i, start in enumerate(starts))))

    return call


@partial(jax.jit, static_argnums=1)
def _joined(parts: list[Any], skipped: tuple[int, ...]) -> Any:
    """The parts one after the other, each without the given number of its first rows."""
    return jax.tree.map(lambda *leaves: jnp.concatenate([x[k:] for x, k in zip(leaves, skipped, strict=True)]), *parts)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _uses_lapack(jaxpr: Any) -> bool:
    """LAPACK calls of XLA on CPU (jaxlib's `ParallelBatchMap`, seen in jax 0.10.2) run in a thread of a pool, and wait there
    for tasks that they give to the same pool: two at once can wait for each other forever, however BLAS is configured. So
    functions that use them stay on one thread."""
    for equation in jaxpr.eqns:
        if equation.primitive.name in LAPACK:
            return True
        for value in equation.params.values():
            for inner in value if isinstance(value, tuple | list) else (value,):
                inner = getattr(inner, "jaxpr", inner)
                if hasattr(inner, "eqns") and _uses_lapack(inner):
                    return True
    return False
