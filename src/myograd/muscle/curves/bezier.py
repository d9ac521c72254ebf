"""Curves made of quintic Bézier corners, as Millard et al. (2013) shape them; one curve per muscle.

A corner joins two points with given slopes. Its six control points lie on the two tangents: with C where the tangents meet,
`P1 = P2 = P0 + c (C - P0)` and `P3 = P4 = P5 + c (C - P5)`. Both ends have zero curvature, so corners join C2, and a curve
continues along straight lines beyond its ends. x and y are polynomials of one parameter, 0 <= s <= 1; y(x) needs s(x).

From `s = (x - x0) / (x5 - x0)`, six of Halley's steps reach rounding for every corner that there can be: the normalised
polynomial has two numbers only, c from 0.1 to 0.9 and where C lies between the ends (`tests/muscle/test_curves.py` tries them
all).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float

from ..._arrays import array_module

Vector = Float[Array, " #m"]
Point = tuple[Any, Any, Any]
"""x, y and slope: numbers, or arrays of one per muscle."""
Quintic = tuple[Vector, ...]
"""Six coefficients of ascending powers, apart: rows of one array would be cut out of it anew wherever they are used."""
LEVEL = np.sqrt(np.finfo(float).eps)  # difference of slopes below which two tangents count as one line
STEPS = 6
NONE = 0.0


class BezierCurve(NamedTuple):
    """Corners from left to right: polynomials x(s) and y(s), with ascending powers; slopes beyond the ends."""

    x: Float[Array, "corners 6 #m"]
    y: Float[Array, "corners 6 #m"]
    slopes: Float[Array, "2 #m"]

    @property
    def knots(self) -> Float[Array, "knots #m"]:
        """x where corners meet."""
        return jnp.concatenate([self.x[:, 0], jnp.sum(self.x[-1:], axis=1)])

    @property
    def knot_values(self) -> Float[Array, "knots #m"]:
        """y there."""
        return jnp.concatenate([self.y[:, 0], jnp.sum(self.y[-1:], axis=1)])

    def inverse(self) -> BezierCurve:
        """x as a function of y, for a curve that rises everywhere."""
        return BezierCurve(self.y, self.x, 1 / self.slopes)


def bezier_curve(points: Sequence[Point], curviness: Sequence[Any]) -> BezierCurve:
    """Corners between points; `curviness` of each corner, from 0 (nearly straight) to 1 (sharp)."""
    numbers = [*(number for point in points for number in point), *curviness]
    size = jnp.broadcast_shapes(*(jnp.shape(number) for number in numbers), (1,))
    # All corners at once: a curve is made anew in every program that uses it.
    together = jnp.stack([jnp.broadcast_to(number, size) for number in numbers])
    x, y, slope = jnp.moveaxis(together[: 3 * len(points)].reshape(len(points), 3, *size), 1, 0)
    c = 0.1 + 0.8 * together[3 * len(points) :]
    ends = (x[:-1], y[:-1], slope[:-1]), (x[1:], y[1:], slope[1:])
    meet = meeting_point(*ends)
    px, py = (_polynomial(ends[0][k], meet[k], ends[1][k], c) for k in (0, 1))
    return BezierCurve(px, py, slope[np.array([0, -1])])


def meeting_point(left: Point, right: Point) -> tuple[Any, Any]:
    """C: where the tangents of two points meet; the middle where they are one line."""
    (x0, y0, slope0), (x1, y1, slope1) = left, right
    level, where = abs(slope0 - slope1) <= LEVEL, array_module(*left, *right).where
    x = where(level, (x0 + x1) / 2, (y1 - y0 - x1 * slope1 + x0 * slope0) / where(level, 1.0, slope0 - slope1))
    return x, y1 + (x - x1) * slope1


def _polynomial(start: Array, meet: Array, end: Array, c: Array) -> Float[Array, "corners 6 #m"]:
    """Coefficients of ascending powers: Bernstein's polynomials of the control points `start, near, near, far, far, end`."""
    near, far = c * (meet - start), end - start + c * (meet - end)  # from the start
    return jnp.stack(
        [start, 5 * near, -10 * near, 10 * far, 10 * near - 15 * far, end - start + 5 * (far - near)], axis=1
    )


def quintic(p: Any, s: Any) -> Any:
    """Of coefficients p [6, ...] of ascending powers."""
    return ((((p[5] * s + p[4]) * s + p[3]) * s + p[2]) * s + p[1]) * s + p[0]


def quintic_slope(p: Any, s: Any) -> Any:
    return (((5 * p[5] * s + 4 * p[4]) * s + 3 * p[3]) * s + 2 * p[2]) * s + p[1]


def quintic_curvature(p: Any, s: Any) -> Any:
    return ((20 * p[5] * s + 12 * p[4]) * s + 6 * p[3]) * s + 2 * p[2]


@jax.custom_jvp
def parameter(p: Quintic, value: Vector) -> Vector:
    """s with `p(s) = value`, for a corner's polynomial, which rises from s = 0 to 1; derivatives of any order are exact."""
    rise = p[1] + p[2] + p[3] + p[4] + p[5]
    s = (value - p[0]) / rise
    for _ in range(STEPS):
        excess, slope = quintic(p, s) - value, quintic_slope(p, s)
        s = s - 2 * excess * slope / (2 * slope**2 - excess * quintic_curvature(p, s))
    return s


def _parameter_jvp(primals: tuple[Quintic, Vector], tangents: tuple[Any, Any]) -> tuple[Vector, Vector]:
    p, value = primals
    s = parameter(p, value)
    by_p, by_value = (
        [NONE if isinstance(x, SymbolicZero) else x for x in part] for part in (tangents[0], tangents[1:])
    )
    change = by_value[0] - (quintic(by_p, s) if any(x is not NONE for x in by_p) else 0.0)
    return s, change / quintic_slope(p, s) + jnp.zeros_like(s)


parameter.defjvp(_parameter_jvp, symbolic_zeros=True)


def corner_of(curve: Float[Array, "corners 6 #m"], knots: Float[Array, "knots #m"], at: Vector) -> Quintic:
    """The polynomials of the corners in which `at` lies between the knots."""
    first, *others = (jnp.unstack(corner) for corner in jnp.unstack(curve))
    found = list(first)
    for corner, knot in zip(others, jnp.unstack(knots)[1:-1], strict=True):
        beyond = at >= knot
        found = [jnp.where(beyond, after, before) for before, after in zip(found, corner, strict=True)]
    return tuple(found)


def value_at(curve: BezierCurve, x: Vector) -> Vector:
    """y at x, one of each per muscle."""
    knots = curve.knots
    within = jnp.where(x < knots[0], knots[0], jnp.where(x > knots[-1], knots[-1], x))
    s = parameter(corner_of(curve.x, knots, within), within)
    y = quintic(corner_of(curve.y, knots, within), s)
    below, above = jnp.where(x < knots[0], x - knots[0], 0.0), jnp.where(x > knots[-1], x - knots[-1], 0.0)
    return y + curve.slopes[0] * below + curve.slopes[1] * above
