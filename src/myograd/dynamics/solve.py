"""Positive definite systems `A x = b` in which it is known beforehand where A has zeros: `A = L D L^T`, stage by stage.

Unknowns that A does not tie to each other are eliminated together, in one stage. In a mass matrix those are coordinates
none of which moves the other, such as the ends of the limbs: then the next ones inwards, and so on to the trunk, which
leaves all zeros zero (Featherstone, Rigid Body Dynamics Algorithms, 2008, section 6.5).

XLA's own factorisation on CPU is LAPACK's, which knows no zeros and must not run on two threads at once (see `batch`).
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from ..geometry.spatial import materialized


def stages(tied: np.ndarray) -> list[np.ndarray]:
    """Unknowns in an order of elimination that keeps most zeros. `tied`: [n, n] bool, False where A is zero."""
    tied, left, order = tied.copy(), list(range(len(tied))), []
    while left:
        stage: list[int] = []
        for i in sorted(left, key=lambda i: tied[i, left].sum()):  # those tied to the fewest others first
            if not tied[i, stage].any():
                stage.append(i)
        left = [i for i in left if i not in stage]
        for i in stage:  # eliminating i ties its neighbours to each other
            near = [j for j in left if tied[i, j]]
            tied[np.ix_(near, near)] = True
        order.append(np.array(stage))
    return order


class Factor(eqx.Module):
    """`L D L^T` of the stages, one entry for each, and the inverse of what they leave."""

    pivots: Float[Array, " n"]
    """of all unknowns, which are positive if A is positive definite"""
    inverse_pivots: list[Float[Array, " _"]]
    rows: list[Float[Array, "_ _"]]
    """rows of L^T, right of the stage itself"""
    core: Float[Array, "m m"]
    """what the stages leave of A"""
    inverse_core: Float[Array, "m m"]


def factorized(A: Float[Array, "n n"], sizes: list[int]) -> Factor:
    """A, its rows and columns in the order of `stages` of the given sizes; what is left of it is inverted as a whole."""
    pivots, inverse_pivots, rows = [], [], []
    for k in sizes:
        pivot, upper = jnp.stack([A[i, i] for i in range(k)]), A[:k, k:]
        inverse = materialized(1 / pivot)
        row = materialized(upper * inverse[:, None])
        A = materialized(A[k:, k:] - sum(upper[i, :, None] * row[i] for i in range(k)))
        pivots.append(pivot)
        inverse_pivots.append(inverse)
        rows.append(row)
    inverse_core, core_pivots = _inverse(A)
    return Factor(jnp.concatenate([*pivots, core_pivots]), inverse_pivots, rows, A, inverse_core)


def _inverse(A: Float[Array, "m m"]) -> tuple[Float[Array, "m m"], Float[Array, " m"]]:
    """The inverse of A and the pivots met, by sweeps: each exchanges one unknown for its right-hand side, up to signs
    (Goodnight, A Tutorial on the SWEEP Operator, 1979). A loop, because it compiles to one small program."""
    if len(A) == 0:
        return A, jnp.zeros(0)
    which = np.arange(len(A))

    def sweep(j: Array | int, state: tuple[Array, Array]) -> tuple[Array, Array]:
        A, pivots = state
        own = which == j
        row = lax.dynamic_index_in_dim(A, j, keepdims=False)
        pivot = lax.dynamic_index_in_dim(row, j, keepdims=False)
        across = row / pivot
        swept = jnp.where(own, across[:, None], jnp.where(own[:, None], across, A - row[:, None] * across))
        return jnp.where(own & own[:, None], -1 / pivot, swept), jnp.where(own, pivot, pivots)

    A, pivots = lax.fori_loop(0, len(A), sweep, (A, jnp.zeros(len(A))))
    return -A, pivots


def solved(factor: Factor, b: Float[Array, " n"]) -> Float[Array, " n"]:
    """x with `A x = b`."""
    done = []
    for inverse, row in zip(factor.inverse_pivots, factor.rows, strict=True):
        k = len(inverse)
        done.append(b[:k] * inverse)
        b = materialized(b[k:] - sum(row[i] * b[i] for i in range(k)))
    x = materialized(jnp.sum(factor.inverse_core * b, axis=1))
    wrong = materialized(
        jnp.sum(factor.core * x, axis=1) - b
    )  # near gimbal lock, an inverse loses what refinement gives back
    x = materialized(x - jnp.sum(factor.inverse_core * wrong, axis=1))
    for row, part in zip(reversed(factor.rows), reversed(done), strict=True):
        x = materialized(jnp.concatenate([part - jnp.sum(row * x, axis=1), x]))
    return x
