"""Curves as short Legendre series over t from -1 to 1: nodes, weights and tables for lengths by Ritz' method."""

from __future__ import annotations

import jax
import numpy as np
from jaxtyping import Array
from numpy.polynomial import legendre

TERMS = 11  # of the series
COUNT = 13  # nodes


def _lobatto(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes on [-1, 1], the ends among them, and weights."""
    inner = np.sort(legendre.Legendre.basis(count - 1).deriv().roots().real)
    t = np.concatenate([[-1.0], inner, [1.0]])
    return t, 2 / (count * (count - 1) * legendre.Legendre.basis(count - 1)(t) ** 2)


def _slopes(t: np.ndarray, terms: int) -> np.ndarray:
    return np.stack([legendre.Legendre.basis(i).deriv()(t) for i in range(terms)], axis=1)


NODES, WEIGHTS = _lobatto(COUNT)
BASIS, SLOPES = legendre.legvander(NODES, TERMS - 1), _slopes(NODES, TERMS)  # [nodes, terms]
DERIVATIVE = _slopes(NODES, COUNT) @ np.linalg.inv(legendre.legvander(NODES, COUNT - 1))  # of values at the nodes
ENDS = BASIS[[0, -1]]
SHARES = np.stack([(1 - NODES) / 2, (1 + NODES) / 2], axis=1)  # [nodes, 2] of the ends in what is linear in t


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
