"""Small vectors as tuples of numbers, which the compiler keeps in registers."""

from __future__ import annotations

import math

from numba import njit

Vector = tuple[float, float, float]

compiled = njit(
    error_model="numpy", fastmath={"contract", "reassoc", "nsz"}, no_cpython_wrapper=True, no_cfunc_wrapper=True
)
# Division by zero gives infinity, as everywhere else; Python itself calls none of these.


@compiled
def dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@compiled
def cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@compiled
def minus(a: Vector, b: Vector) -> Vector:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@compiled
def moved(a: Vector, t: float, b: Vector) -> Vector:
    """a + t b"""
    return a[0] + t * b[0], a[1] + t * b[1], a[2] + t * b[2]


@compiled
def scaled(t: float, a: Vector) -> Vector:
    return t * a[0], t * a[1], t * a[2]


@compiled
def norm(a: Vector) -> float:
    return math.sqrt(dot(a, a))


@compiled
def root(x: float) -> float:
    return math.sqrt(x) if x > 0 else 0.0


@compiled
def component(v: Vector, axis: int) -> float:
    return v[0] if axis == 0 else (v[1] if axis == 1 else v[2])


@compiled
def on_side(height: float, sign: int) -> bool:
    """Whether a point at `height` along a quadrant's axis is on its active side; the dividing plane counts as positive."""
    return (height >= 0) == (sign > 0)


@compiled
def passing_point(p: Vector, s: Vector) -> tuple[float, bool]:
    """Parameter t of the point of the line p + t (s - p) nearest the origin, and whether it is inside the segment."""
    along = minus(s, p)
    square = dot(along, along)
    if square == 0:
        return 0.0, False
    t = -dot(p, along) / square
    return t, 0 < t < 1


@compiled
def turned(sine: float, cosine: float) -> float:
    """The angle from 0 to 2 pi, continuous about 0: an arc that is empty but for rounding is no full turn."""
    angle = math.atan2(sine, cosine)
    return angle + 2 * math.pi if angle < -1e-12 else angle


@compiled
def unit(axis: int, size: float) -> Vector:
    """A vector of this size along an axis."""
    return (size if axis == 0 else 0.0), (size if axis == 1 else 0.0), (size if axis == 2 else 0.0)


@compiled
def most_across(v: Vector) -> Vector:
    """The coordinate axis most across v."""
    x, y, z = abs(v[0]), abs(v[1]), abs(v[2])
    return unit(0 if x <= y and x <= z else (1 if y <= z else 2), 1.0)
