"""Work only on the lanes that need it.

A batch of segments has few that touch a given surface, and finding a geodesic is a thousand times dearer than seeing
that there is none. `sparsely` gathers the lanes that need work into blocks of fixed size, so that one compiled program
serves any number of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Bool

_BLOCK = 128  # lanes worked on at a time: enough for vector instructions, few enough for the fast cache


def sparsely(f: Callable[..., Any], where: Bool[Array, " n"], *lanes: Array) -> Any:
    """f(*lanes) where `where`, zeros elsewhere.

    `f` maps arrays with the lanes last to a pytree of such arrays, each lane for itself, and closes over no arrays that
    are mapped. Under `vmap` the batch becomes more lanes, so that blocks fill across it. Not differentiable: for use in
    the primal part of a `custom_jvp`.
    """

    @custom_vmap
    def run(where: Array, *lanes: Array) -> Any:
        return _in_blocks(f, where, lanes)

    @run.def_vmap
    def _(size: int, batched: list[bool], *args: Array) -> tuple[Any, Any]:
        def merged(x: Array, is_batched: bool) -> Array:
            x = (
                jnp.moveaxis(x, 0, -2)
                if is_batched
                else jnp.broadcast_to(x[..., None, :], (*x.shape[:-1], size, x.shape[-1]))
            )
            return x.reshape(*x.shape[:-2], -1)

        def parted(x: Array) -> Array:
            return jnp.moveaxis(x.reshape(*x.shape[:-1], size, -1), -2, 0)

        out = run(*(merged(x, b) for x, b in zip(args, batched, strict=True)))
        return jax.tree.map(parted, out), jax.tree.map(lambda _: True, out)

    return run(where, *lanes)


def _in_blocks(f: Callable[..., Any], where: Array, lanes: tuple[Array, ...]) -> Any:
    n = where.shape[-1]
    block = min(_BLOCK, n)
    place = jnp.cumsum(where, dtype=jnp.int32) - 1  # of each lane among those that need work
    count = place[-1] + 1
    padded = -(-n // block) * block
    # The lanes that need work, in order; then any, whose results are not used.
    order = (
        jnp.zeros(padded, jnp.int32)
        .at[jnp.where(where, place, padded)]
        .set(jnp.arange(n, dtype=jnp.int32), mode="drop")
    )
    shapes = jax.eval_shape(f, *(jax.ShapeDtypeStruct((*x.shape[:-1], block), x.dtype) for x in lanes))
    empty = jax.tree.map(lambda x: jnp.zeros((*x.shape[:-1], padded), x.dtype), shapes)

    def step(carry: tuple[Array, Any]) -> tuple[Array, Any]:
        start, results = carry
        index = lax.dynamic_slice_in_dim(order, start, block)
        found = f(*(jnp.take(x, index, axis=-1) for x in lanes))
        put = lambda all_, some: lax.dynamic_update_slice_in_dim(all_, some, start, axis=-1)  # noqa: E731
        return start + block, jax.tree.map(put, results, found)

    _, results = lax.while_loop(lambda carry: carry[0] < count, step, (jnp.int32(0), empty))
    back = jnp.maximum(place, 0)
    return jax.tree.map(lambda x: jnp.where(where, jnp.take(x, back, axis=-1), jnp.zeros((), x.dtype)), results)
