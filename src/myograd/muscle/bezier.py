"""Curves made of quintic Bézier corners, as Millard et al. (2013) shape them. NumPy, at compile time only.

A corner joins two points with given slopes. Its six control points lie on the two tangents: with C where the tangents meet,
`P1 = P2 = P0 + c (C - P0)` and `P3 = P4 = P5 + c (C - P5)`. Both ends have zero curvature, so corners join C2, and a curve
continues along straight lines beyond its ends. x and y are polynomials of one parameter, 0 <= s <= 1; y(x) needs s(x).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError

# Row j: the coefficient of s^j in each of the six Bernstein polynomials of degree five.
BERNSTEIN = np.array(
    [
        [1, 0, 0, 0, 0, 0],
        [-5, 5, 0, 0, 0, 0],
        [10, -20, 10, 0, 0, 0],
        [-10, 30, -30, 10, 0, 0],
        [5, -20, 30, -20, 5, 0],
        [-1, 5, -10, 10, -5, 1],
    ],
    float,
)


@dataclass(frozen=True)
class BezierCurve:
    """Corners from left to right: polynomials x(s) and y(s), with ascending powers, [corners, 6]; slopes beyond the ends."""

    x: np.ndarray
    y: np.ndarray
    slopes: tuple[float, float]

    @property
    def knots(self) -> np.ndarray:
        """[corners + 1] x where corners meet."""
        return np.append(self.x[:, 0], self.x[-1].sum())

    def __call__(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Value, slope and curvature, to rounding."""
        x = np.asarray(x, float)
        knots = self.knots
        corner = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(self.x) - 1)
        px, py = self.x[corner].T, self.y[corner].T
        s = np.where(x <= knots[corner], 0.0, _solve(px, np.clip(x, knots[0], knots[-1])))
        value, dx, dy = quintic(py, s), quintic_slope(px, s), quintic_slope(py, s)
        slope = dy / dx
        curvature = (quintic_curvature(py, s) - slope * quintic_curvature(px, s)) / dx**2
        for end, beyond, at in ((0, x < knots[0], knots[0]), (1, x > knots[-1], knots[-1])):
            value = np.where(beyond, value + self.slopes[end] * (x - at), value)
            slope = np.where(beyond, self.slopes[end], slope)
            curvature = np.where(beyond, 0.0, curvature)
        return value, slope, curvature

    def inverse(self) -> BezierCurve:
        """x as a function of y, for a curve that rises everywhere."""
        return BezierCurve(self.y, self.x, (1 / self.slopes[0], 1 / self.slopes[1]))


def bezier_curve(points: Sequence[tuple[float, float, float]], curviness: Sequence[float], owner: str) -> BezierCurve:
    """Corners between points (x, y, slope); `curviness` of each corner, from 0 (nearly straight) to 1 (sharp)."""
    corners = [
        _corner(left, right, 0.1 + 0.8 * c, owner)
        for left, right, c in zip(points[:-1], points[1:], curviness, strict=True)
    ]
    x, y = (np.array([BERNSTEIN @ corner[axis] for corner in corners]) for axis in (0, 1))
    return BezierCurve(x, y, (points[0][2], points[-1][2]))


def _corner(left: tuple[float, float, float], right: tuple[float, float, float], c: float, owner: str) -> np.ndarray:
    """[2, 6] control points."""
    (x0, y0, slope0), (x1, y1, slope1) = left, right
    level = abs(slope0 - slope1) <= np.sqrt(np.finfo(float).eps)
    meet_x = (x0 + x1) / 2 if level else (y1 - y0 - x1 * slope1 + x0 * slope0) / (slope0 - slope1)
    start, end, meet = np.array([x0, y0]), np.array([x1, y1]), np.array([meet_x, y1 + (meet_x - x1) * slope1])
    if not max(np.sum((meet - start) ** 2), np.sum((meet - end) ** 2)) < np.sum((end - start) ** 2):
        raise ModelError(
            f"{owner}: the lines at ({x0:g}, {y0:g}) with slope {slope0:g} and at ({x1:g}, {y1:g}) with slope {slope1:g} do not "
            "meet between these points, so that no corner joins them"
        )
    near, far = start + c * (meet - start), end + c * (meet - end)
    return np.array([start, near, near, far, far, end]).T


def quintic(p: Any, s: Any) -> Any:
    """Of coefficients p [6, ...] of ascending powers; NumPy's or JAX's arrays."""
    return ((((p[5] * s + p[4]) * s + p[3]) * s + p[2]) * s + p[1]) * s + p[0]


def quintic_slope(p: Any, s: Any) -> Any:
    return (((5 * p[5] * s + 4 * p[4]) * s + 3 * p[3]) * s + 2 * p[2]) * s + p[1]


def quintic_curvature(p: Any, s: Any) -> Any:
    return ((20 * p[5] * s + 12 * p[4]) * s + 6 * p[3]) * s + 2 * p[2]


def _solve(p: np.ndarray, x: np.ndarray) -> np.ndarray:
    """s with p(s) = x: Newton within a shrinking bracket, p rising from s = 0 to 1."""
    low, high = np.zeros_like(x), np.ones_like(x)
    s = np.full_like(x, 0.5)
    for _ in range(60):
        excess = quintic(p, s) - x
        high, low = np.where(excess > 0, s, high), np.where(excess > 0, low, s)
        newton = s - excess / quintic_slope(p, s)
        after = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
        if np.all(np.abs(after - s) < 1e-15):
            return after
        s = after
    return s
