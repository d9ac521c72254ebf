"""Many scalar functions at once, each a piecewise polynomial in a shared table.

Lines, polynomials, natural and SIMM splines are all of this form, so one gather and one Horner loop evaluate every
spline of a model, with first and second derivatives for the price of a few more multiplications.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .values import Values


class PiecewisePolynomials(Values):
    """`n` functions; function i is, on piece k, `sum_j coefficients[j, k, i] (x - origin[k, i])^j`.

    Piece 0 lies left of the first knot and piece k between knots k-1 and k; unused knots are infinite.
    """

    knots: Float[Array, "knots n"]
    origins: Float[Array, "pieces n"]
    coefficients: Float[Array, "powers pieces n"]
    sines: Float[Array, "3 n"] | None
    """amplitude, angular frequency and phase of a sine added to each function; None where no function has one"""


def evaluate(
    table: PiecewisePolynomials, x: Float[Array, " n"]
) -> tuple[Float[Array, " n"], Float[Array, " n"], Float[Array, " n"]]:
    """Value, slope and curvature of function i at x[i]."""
    piece = jnp.sum(x >= table.knots, axis=0)
    which = np.arange(table.origins.shape[1])
    s = x - table.origins[piece, which]
    c = table.coefficients[:, piece, which]
    value, slope, half_curvature = c[-1], jnp.zeros_like(s), jnp.zeros_like(s)
    for ck in c[-2::-1]:  # Horner, with its two derivatives
        half_curvature = half_curvature * s + slope
        slope = slope * s + value
        value = value * s + ck
    curvature = 2 * half_curvature
    if table.sines is not None:
        amplitude, omega, phase = table.sines
        sine, cosine = amplitude * jnp.sin(omega * x + phase), amplitude * jnp.cos(omega * x + phase)
        value, slope, curvature = value + sine, slope + omega * cosine, curvature - omega**2 * sine
    return value, slope, curvature


def integral(table: PiecewisePolynomials, start: Float[Array, " n"], end: Float[Array, " n"]) -> Float[Array, " n"]:
    """Of function i from start[i] to end[i], which is not before it."""
    edge = jnp.full((1, table.origins.shape[1]), jnp.inf)
    low = jnp.clip(jnp.concatenate([-edge, table.knots]), start, end) - table.origins
    high = jnp.clip(jnp.concatenate([table.knots, edge]), start, end) - table.origins
    powers = (c / (j + 1) * (high ** (j + 1) - low ** (j + 1)) for j, c in enumerate(table.coefficients))
    total = jnp.sum(sum(powers), axis=0)
    if table.sines is not None:
        amplitude, omega, phase = table.sines
        still = omega == 0
        turn = jnp.where(still, 1.0, omega)
        wave = (jnp.cos(omega * start + phase) - jnp.cos(omega * end + phase)) / turn
        total = total + amplitude * jnp.where(still, jnp.sin(phase) * (end - start), wave)
    return total
