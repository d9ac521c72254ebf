"""`dynamics.solve`: the order of elimination keeps zeros, and the solution is the solution."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from myograd.dynamics.solve import factorized, solved, stages

# Parents of the joints of a figure with a trunk (0, 1, 2), two legs on its root and two arms on its end.
FIGURE = [-1, 0, 1, 0, 3, 4, 0, 6, 7, 2, 9, 2, 11]


def tied_in_a_tree(parents: list[int]) -> np.ndarray:
    """[n, n] True where one joint is the other, or lies between it and the root: where a mass matrix is not zero."""
    above = np.eye(len(parents), dtype=bool)
    for i, parent in enumerate(parents):
        if parent >= 0:
            above[i] |= above[parent]
    return above | above.T


def definite(tied: np.ndarray) -> np.ndarray:
    random = np.random.default_rng(3).normal(size=tied.shape)
    A = np.where(tied, random + random.T, 0.0)
    return A + np.diag(1 + np.abs(A).sum(axis=1))


@pytest.mark.parametrize(
    "tied",
    [tied_in_a_tree(FIGURE), tied_in_a_tree([-1, 0, 1, 2]), np.eye(4, dtype=bool)],
    ids=["figure", "chain", "diagonal"],
)
def test_solution(tied):
    found = stages(tied)
    order = np.concatenate(found)
    assert sorted(order) == list(range(len(tied)))
    A, b = definite(tied)[np.ix_(order, order)], np.arange(1.0, len(tied) + 1)
    for staged in (0, len(found) // 2, len(found)):  # and the rest by the inverse
        sizes = [len(stage) for stage in found[:staged]]
        factor = jax.jit(lambda A, sizes=sizes: factorized(A, sizes))(A)
        np.testing.assert_allclose(A @ solved(factor, jnp.asarray(b)), b, rtol=1e-12)
        assert np.prod(factor.pivots) == pytest.approx(np.linalg.det(A), rel=1e-12)


def test_limbs_go_together_and_zeros_stay():
    tied = tied_in_a_tree(FIGURE)
    found = stages(tied)
    sizes = [len(stage) for stage in found]
    assert sizes == [4, 4, 3, 1, 1]  # third: the ends of trunk and legs
    order = np.concatenate(found)
    factor = factorized(jnp.asarray(definite(tied)[np.ix_(order, order)]), sizes[:3])
    done = 0
    for stage, row in zip(found, factor.rows, strict=False):
        left = order[done + len(stage) :]
        assert not np.asarray(row)[~tied[np.ix_(stage, left)]].any()
        done += len(stage)


def test_a_cycle_is_filled_in():
    """Four unknowns in a ring: eliminating two that are opposite ties the other two."""
    tied = (
        np.eye(4, dtype=bool) | np.roll(np.eye(4, dtype=bool), 1, axis=0) | np.roll(np.eye(4, dtype=bool), -1, axis=0)
    )
    found = stages(tied)
    assert [len(stage) for stage in found] == [2, 1, 1]
