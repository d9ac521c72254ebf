"""Curves as short Legendre series over t from -1 to 1: nodes, weights and tables for lengths by Ritz' method."""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array
from numpy.polynomial import legendre

TERMS = 11  # of the series


class Rule(NamedTuple):
    """Gauss-Lobatto nodes of -1 to 1 and, at them, the Legendre polynomials."""

    weights: np.ndarray  # [nodes]
    basis: np.ndarray  # [nodes, terms]
    slopes: np.ndarray
    bends: np.ndarray  # second derivatives
    derivative: np.ndarray  # [nodes, nodes] of what is given by its values at the nodes
    shares: np.ndarray  # [nodes, 2] of the ends in what is linear in t


def _rule(terms: int, count: int) -> Rule:
    top = legendre.Legendre.basis(count - 1)
    nodes = np.concatenate([[-1.0], np.sort(top.deriv().roots().real), [1.0]])

    def basis(terms: int, order: int) -> np.ndarray:
        return np.stack([legendre.Legendre.basis(i).deriv(order)(nodes) for i in range(terms)], axis=1)

    return Rule(
        weights=2 / (count * (count - 1) * top(nodes) ** 2),
        basis=basis(terms, 0),
        slopes=basis(terms, 1),
        bends=basis(terms, 2),
        derivative=basis(count, 1) @ np.linalg.inv(basis(count, 0)),
        shares=np.stack([(1 - nodes) / 2, (1 + nodes) / 2], axis=1),
    )


FINE, COARSE = _rule(TERMS, 13), _rule(5, 7)


@jax.custom_jvp
def sine_cosine(x: Array) -> tuple[Array, Array]:
    """For |x| <= 2 pi: the series at x / 8, then doubled. Unlike those of the library, they run in vector instructions."""
    h = x / 8
    q = h * h
    sine, less = h, q / 2  # sin and 1 - cos
    sine_term, less_term = sine, less
    for i in range(3, 14, 2):
        sine_term, less_term = -sine_term * q / (i * (i - 1)), -less_term * q / (i * (i + 1))
        sine, less = sine + sine_term, less + less_term
    for _ in range(3):
        sine, less = 2 * sine * (1 - less), 2 * less * (2 - less)
    return sine, 1 - less


@sine_cosine.defjvp
def _sine_cosine_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    sine, cosine = sine_cosine(*primals)
    return (sine, cosine), (cosine * tangents[0], -sine * tangents[0])
