"""Bézier curves y(x) as tables of quintics, so that none is solved for its parameter while a model runs.

Every corner is cut into equal steps of x; on each, y is the quintic with the curve's own value, slope and curvature at both
ends. The table is C2 like the curve, and within 1e-12 of it: steps are halved until it is, which takes tens to hundreds, and ten
thousand for corners with next to no curviness. One look-up costs a comparison per corner, one row of the table and five
multiplications, however many steps there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..errors import ModelError
from .bezier import BezierCurve, quintic

CLOSE = 1e-12
MOST_STEPS = 2**15
ENOUGH = 1e-9  # error after so many steps: more is refused


class CurveTable(NamedTuple):
    """Curves of several muscles; muscles with the same curve share its rows. NumPy: constants of the compiled program.

    Region 0 is the line left of the curve, 1 to c its corners, c + 1 the line right of it.
    """

    knots: np.ndarray  # [c + 1, muscles or 1]
    curve: np.ndarray  # [muscles or 1] which of the curves, times the number of regions
    per_width: np.ndarray  # [curves * regions] rows per unit of x
    offset: np.ndarray  # [curves * regions] the row of x is the whole part of `offset + per_width x`
    rows: np.ndarray  # [rows, 7] x of the left end, and the coefficients of ascending powers from there


def tabulate(curves: Sequence[BezierCurve]) -> CurveTable:
    """One curve per muscle; equal ones (the same object) share rows, and all must have equally many corners."""
    distinct = list({id(curve): curve for curve in curves}.values())
    place = {id(curve): i for i, curve in enumerate(distinct)}
    which = np.array([place[id(curve)] for curve in curves], int)
    regions = [_regions(curve) for curve in distinct]
    widths, offsets, rows = [], [], []
    count = 0
    for x, width, table in (region for curve in regions for region in curve):
        widths.append(width)
        offsets.append(count - width * x)
        rows.append(table)
        count += len(table)
    knots = np.array([curve.knots for curve in distinct]).T
    if len(distinct) > 1:
        knots = knots[:, which]
    else:
        which = which[:1]
    return CurveTable(
        knots, (which * (len(knots) + 1)).astype(np.int32), np.array(widths), np.array(offsets), np.concatenate(rows)
    )


def look_up(table: CurveTable, x: Float[Array, " muscles"]) -> Float[Array, " muscles"]:
    """y at x, one of each per muscle."""
    region = table.curve + jnp.sum((x >= table.knots).astype(jnp.int32), axis=0)
    per_width, offset = (jnp.asarray(of_region)[region] for of_region in (table.per_width, table.offset))
    # Rounding may give the row before or after, across a knot too: rows meet C2, so that it does not matter.
    row = jnp.floor(offset + per_width * x).astype(jnp.int32)
    c = jnp.moveaxis(jnp.asarray(table.rows).at[row].get(mode="clip"), -1, 0)
    s = x - c[0]
    return quintic(c[1:], s)


def _regions(curve: BezierCurve) -> list[tuple[float, float, np.ndarray]]:
    """Start, steps per unit of x, and rows of every region."""
    knots = curve.knots
    ends = curve(knots[[0, -1]])[0]
    left, right = (
        np.array([[x, y, slope, 0, 0, 0, 0]]) for x, y, slope in zip(knots[[0, -1]], ends, curve.slopes, strict=True)
    )
    corners = []
    for a, b in pairwise(knots):
        steps = 8
        rows = _hermite(curve, a, b, steps)
        while _error(curve, rows, (b - a) / steps) > CLOSE and steps < MOST_STEPS:
            steps *= 2
            rows = _hermite(curve, a, b, steps)
        if _error(curve, rows, (b - a) / steps) > ENOUGH:
            raise ModelError(
                f"the curve bends too sharply between {a:g} and {b:g}; a larger curviness would be rounder"
            )
        corners.append((a, steps / (b - a), rows))
    return [(knots[0], 0.0, left), *corners, (knots[-1], 0.0, right)]


def _hermite(curve: BezierCurve, a: float, b: float, steps: int) -> np.ndarray:
    """[steps, 7] rows between a and b."""
    x = np.linspace(a, b, steps + 1)
    h = (b - a) / steps
    y, slope, curvature = curve(x)
    # At a knot the slope and curvature are those of both corners that meet there.
    c0, c1, c2 = y[:-1], slope[:-1], curvature[:-1] / 2
    value = (y[1:] - c0 - c1 * h - c2 * h**2) / h**3
    first = (slope[1:] - c1 - 2 * c2 * h) / h**2
    second = (curvature[1:] - 2 * c2) / h
    c3 = 10 * value - 4 * first + second / 2
    c4 = (-15 * value + 7 * first - second) / h
    c5 = (6 * value - 3 * first + second / 2) / h**2
    return np.column_stack([x[:-1], c0, c1, c2, c3, c4, c5])


def _error(curve: BezierCurve, rows: np.ndarray, h: float) -> float:
    """Largest distance from the curve, looked for between the ends of each row."""
    worst = 0.0
    for part in (0.2, 0.4, 0.6, 0.8):
        value = sum(rows[:, 1 + j] * (part * h) ** j for j in range(6))
        worst = max(worst, float(np.max(np.abs(value - curve(rows[:, 0] + part * h)[0]))))
    return worst
