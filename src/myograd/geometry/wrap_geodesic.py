"""What the surfaces without closed form share: small linear systems, implicit derivatives, points along a geodesic.

Such a surface gives a residual R(z; p, s, sizes) whose root z says where its geodesic runs. The root is found from a
guess that depends on the same points only, so the result has no history. Derivatives never go through the iteration:
dz = -(dR/dz)^-1 dR, which is itself differentiable, so all orders exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from .spatial import settled
from .wrap_common import Scalars, Vectors, unless_zero

_STEPS = 4  # of the integration between two fractions


def eliminate(A: Float[Array, "k k n"], B: Float[Array, "k m n"]) -> Float[Array, "k m n"]:
    """A^-1 B for each lane, by elimination without exchange of rows; a zero pivot gives zeros, not infinities."""
    rows = settled(jnp.concatenate(settled([A, B]), axis=1))
    for i in range(A.shape[0]):
        scale = settled(1 / unless_zero(rows[i, 0]))
        pivot, first = scale * rows[i, 1:], rows[:, :1]
        rows = settled(jnp.where(np.arange(A.shape[0])[:, None, None] == i, pivot, rows[:, 1:] - first * pivot))
    return rows


@jax.custom_jvp
def inverse(A: Float[Array, "k k n"]) -> Float[Array, "k k n"]:
    """A^-1 for each lane."""
    return eliminate(A, jnp.broadcast_to(np.eye(A.shape[0])[:, :, None], A.shape))


@inverse.defjvp
def _inverse_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    X = inverse(*primals)
    return X, -jnp.einsum("ijn,jkn,kln->iln", X, tangents[0], X)


def root_change(
    residual: Callable[..., tuple[Array, Array]],
    z: Float[Array, "k n"],
    args: tuple[Any, ...],
    changes: tuple[Any, ...],
) -> tuple[Float[Array, "k n"], Float[Array, " n"]]:
    """Change of the root z of the first result of residual(z, *args) when args change, -(dR/dz)^-1 dR; and that of the
    second result, which is stationary in z.
    """

    def column(unit: Array) -> Array:
        return jax.jvp(lambda z: residual(z, *args)[0], (z,), (jnp.broadcast_to(unit[:, None], z.shape),))[1]

    slopes = jax.vmap(column, out_axes=1)(jnp.eye(z.shape[0]))
    change, stationary = jax.jvp(lambda *args: residual(z, *args), args, changes)[1]
    return -jnp.einsum("ijn,jn->in", inverse(slopes), change), stationary


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
