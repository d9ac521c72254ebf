"""What the surfaces without closed form share: small linear systems, implicit derivatives, points along a geodesic.

Such a surface gives a residual R(z; p, s, sizes) whose root z says where its geodesic runs. The root is found elsewhere
(`geometry.search`). Its derivatives are those of the equation, dz = -(dR/dz)^-1 dR, which are themselves differentiable, so
all orders exist.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from .common import Scalars, Vectors

_STEPS = 4  # of the integration between two fractions


@jax.custom_jvp
def inverse(A: Float[Array, "k k n"]) -> Float[Array, "k k n"]:
    """A^-1 for each lane: in closed form for k = 2, else by elimination without exchange of rows, for matrices that are
    definite. The latter is a loop, because it compiles to one small program."""
    if A.shape[0] == 2:
        (a, b), (c, d) = A
        return jnp.stack([jnp.stack([d, -b]), jnp.stack([-c, a])]) / (a * d - b * c)

    def exchanged(j: Array, A: Array) -> Array:
        row, column = (lax.dynamic_index_in_dim(A, j, axis, keepdims=False) for axis in (0, 1))
        pivot = lax.dynamic_index_in_dim(row, j, keepdims=False)
        own = (np.arange(A.shape[0]) == j)[:, None]
        row = jnp.where(own, 1.0, row) / pivot
        rest = jnp.where(own[None], 0.0, A) - column[:, None] * row
        return jnp.where(own[:, None], row, rest)

    return lax.fori_loop(0, A.shape[0], exchanged, A)


@inverse.defjvp
def _inverse_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    X = inverse(*primals)
    return X, -jnp.einsum("ijn,jkn,kln->iln", X, tangents[0], X)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def at_root(residual: Callable[..., Array], z: Float[Array, "k n"], args: tuple[Any, ...]) -> Float[Array, "k n"]:
    """z, which is known to be a root of residual(z, *args) [k, n], with the derivatives that this gives it: -(dR/dz)^-1 dR.

    What z was computed from does not matter; the residual closes over no arrays.
    """
    return z


@at_root.defjvp
def _at_root_jvp(
    residual: Callable[..., Array], primals: tuple[Array, Any], tangents: tuple[Array, Any]
) -> tuple[Array, Array]:
    args = primals[1]
    z = at_root(residual, *primals)

    def column(unit: Array) -> Array:
        return jax.jvp(lambda z: residual(z, *args), (z,), (jnp.broadcast_to(unit[:, None], z.shape),))[1]

    slopes = jax.vmap(column, out_axes=1)(jnp.eye(z.shape[0]))
    change = jax.jvp(lambda *args: residual(z, *args), args, tangents[1])[1]
    return z, -jnp.einsum("ijn,jn->in", inverse(slopes), change)


def trace(
    acceleration: Callable[[Vectors, Vectors], Vectors],
    P: Vectors,
    direction: Vectors,
    length: Scalars,
    fractions: Float[Array, " f"],
) -> Float[Array, "f 3 n"]:
    """Points at ascending fractions of the curve x'' = acceleration(x, x') from P, by the classical Runge-Kutta method."""

    def advance(state: tuple[Array, Array], fraction: Array) -> tuple[tuple[Array, Array], None]:
        h = fraction * length / _STEPS
        x, v = state
        k1 = acceleration(x, v)
        v2 = v + h / 2 * k1
        k2 = acceleration(x + h / 2 * v, v2)
        v3 = v + h / 2 * k2
        k3 = acceleration(x + h / 2 * v2, v3)
        v4 = v + h * k3
        k4 = acceleration(x + h * v3, v4)
        return (x + h / 6 * (v + 2 * v2 + 2 * v3 + v4), v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)), None

    def interval(state: tuple[Array, Array], fraction: Array) -> tuple[tuple[Array, Array], Array]:
        state, _ = lax.scan(advance, state, jnp.broadcast_to(fraction, (_STEPS,)))
        return state, state[0]

    steps = jnp.diff(jnp.asarray(fractions, float), prepend=0.0)
    return lax.scan(interval, (P, direction), steps)[1]
