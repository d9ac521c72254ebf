"""Where a line crosses a force-velocity curve: the fibre velocity of a damped muscle, without an open-ended iteration.

A damped fibre of activation a at length l moves with the velocity v at which (Millard et al. 2013, Eq. 8)

    a f_L(l) f_V(v) + beta v = f_T / cos(phi) - f_PE(l).

With the curve as x(s), y(s) the left side is a quintic in s on every corner, `A y(s) + beta x(s)`, that rises. Corners are cut
into cells small enough for a fixed number of Newton steps (Halley's) to reach rounding from a linear first guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from .bezier import BezierCurve, quintic, quintic_curvature, quintic_slope

CELLS = 8  # per corner
Vector = Float[Array, " muscles"]


class Cells(NamedTuple):
    """Curves of several muscles, or one for all of them. NumPy: constants of the compiled program."""

    x: np.ndarray  # [cells + 1, muscles or 1] at the ends of the cells
    y: np.ndarray
    curve: np.ndarray  # [muscles or 1] first cell of each muscle's curve
    quintics: np.ndarray  # [all cells, 12] x, then y, as ascending powers of 0 <= s <= 1
    slopes: np.ndarray  # [2, muscles or 1] beyond the ends


def cells(curves: Sequence[BezierCurve]) -> Cells:
    """One curve per muscle."""
    distinct = list({id(curve): curve for curve in curves}.values())
    place = {id(curve): i for i, curve in enumerate(distinct)}
    which = np.array([place[id(curve)] for curve in curves] if len(distinct) > 1 else [0], int)
    quintics = np.array(
        [[_part(curve.x, i), _part(curve.y, i)] for curve in distinct for i in range(CELLS * len(curve.x))]
    )
    count = CELLS * len(distinct[0].x)
    starts = quintics[:, :, 0].reshape(len(distinct), count, 2)
    ends = quintics.sum(axis=2).reshape(len(distinct), count, 2)[:, -1:]
    nodes = np.concatenate([starts, ends], axis=1)[which]
    slopes = np.array([curve.slopes for curve in distinct])[which]
    return Cells(
        nodes[:, :, 0].T, nodes[:, :, 1].T, (which * count).astype(np.int32), quintics.reshape(-1, 12), slopes.T
    )


def _part(corners: np.ndarray, cell: int) -> list[float]:
    """A cell's polynomial in its own parameter."""
    p, start = corners[cell // CELLS], (cell % CELLS) / CELLS
    return [sum(p[n] * comb(n, m) * start ** (n - m) for n in range(m, 6)) / CELLS**m for m in range(6)]


def crossing(curve: Cells, gain: Vector, damping: Vector, force: Vector) -> tuple[Vector, Vector]:
    """x and y of the curve where `gain y + damping x = force`, with gain >= 0 and damping > 0.

    Differentiable to third order: the last two steps are Newton's, taken with the arguments' derivatives, from a point that is
    the solution already.
    """
    at_nodes = gain * curve.y + damping * curve.x
    count = curve.x.shape[0] - 1
    cell = curve.curve + jnp.clip(jnp.sum((at_nodes <= force).astype(jnp.int32), axis=0) - 1, 0, count - 1)
    c = jnp.moveaxis(jnp.asarray(curve.quintics).at[cell].get(mode="promise_in_bounds"), -1, 0)
    x, y = c[:6], c[6:]
    p = gain * y + damping * x
    fixed = lax.stop_gradient(p)
    goal = lax.stop_gradient(force)
    s = jnp.clip((goal - fixed[0]) / (fixed[1] + fixed[2] + fixed[3] + fixed[4] + fixed[5]), 0.0, 1.0)
    for _ in range(3):
        excess, slope = quintic(fixed, s) - goal, quintic_slope(fixed, s)
        s = jnp.clip(s - 2 * excess * slope / (2 * slope**2 - excess * quintic_curvature(fixed, s)), 0.0, 1.0)
    for _ in range(2):
        s = s - (quintic(p, s) - force) / quintic_slope(p, s)
    found_x, found_y = quintic(x, s), quintic(y, s)
    for end, beyond in ((0, force < at_nodes[0]), (-1, force > at_nodes[-1])):
        along = (force - at_nodes[end]) / (gain * curve.slopes[end] + damping)
        found_x = jnp.where(beyond, curve.x[end] + along, found_x)
        found_y = jnp.where(beyond, curve.y[end] + curve.slopes[end] * along, found_y)
    return found_x, found_y
