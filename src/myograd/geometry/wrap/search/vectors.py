"""Small vectors as tuples of numbers, which the compiler keeps in registers; and arrays that live as long as a call."""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

Vector = tuple[float, float, float]

# Division by zero gives infinity, as everywhere else. Sums may be regrouped: rounding, where roots are found to rounding.
# Python itself calls none of these.
OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "fastmath": {"contract", "reassoc", "nsz"},
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
# Without Numba's memory (`_nrt`) nothing counts references to arrays, which took a seventh of the time. Such functions
# return no arrays, and make none but by `room`.
_BARE: dict[str, Any] = OPTIONS | {"_nrt": False}
compiled = njit(**_BARE)
_S = tuple((-1) ** n / math.factorial(2 * n + 1) for n in range(1, 7))
_C = tuple((-1) ** n / math.factorial(2 * n + 2) for n in range(1, 7))
_A = (
    -0.3333314528,
    0.1999355085,
    -0.1420889944,
    0.1065626393,
    -0.0752896400,
    0.0429096138,
    -0.0161657367,
    0.0028662257,
)


def _room(typing_context: Any, *shape: Any) -> Any:
    sizes = [size.literal_value for size in shape]
    array = types.Array(types.float64, len(sizes), "C")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        made = context.make_array(array)(context, builder)
        with builder.goto_entry_block():  # once, also in a loop
            block = builder.alloca(ir.ArrayType(ir.DoubleType(), math.prod(sizes)))
        strides = [8 * math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
        populate_array(
            made,
            data=builder.bitcast(block, ir.DoubleType().as_pointer()),
            shape=[context.get_constant(types.intp, size) for size in sizes],
            strides=[context.get_constant(types.intp, stride) for stride in strides],
            itemsize=context.get_constant(types.intp, 8),
            meminfo=None,
        )
        return made._getvalue()

    return array(types.StarArgTuple([types.literal(size) for size in sizes])), generate


room: Any = intrinsic(prefer_literal=True)(_room)
"""`room(m, n)`: an array of numbers on the stack, which lasts until the calling function returns. It holds anything at first."""


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
    return 0.0 if x <= 0 else math.sqrt(x)


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


# Functions without branches, of which the compiler works out several at once -------------------------------------


@compiled
def sine_cosine(x: float) -> tuple[float, float]:
    """For |x| <= 2 pi: the series at x / 8, then doubled."""
    h = x * 0.125
    q = h * h
    sine = h * (1 + q * (_S[0] + q * (_S[1] + q * (_S[2] + q * (_S[3] + q * (_S[4] + q * _S[5]))))))
    less = q * (0.5 + q * (_C[0] + q * (_C[1] + q * (_C[2] + q * (_C[3] + q * (_C[4] + q * _C[5]))))))  # 1 - cos
    for _ in range(3):
        sine, less = 2 * sine * (1 - less), 2 * less * (2 - less)
    return sine, 1 - less


@compiled
def about_turned(sine: float, cosine: float) -> float:
    """`turned`, to 2e-8 (Abramowitz and Stegun, Handbook of mathematical functions, 4.4.49)."""
    x, y = abs(cosine), abs(sine)
    slope = min(x, y) / max(x, y, 1e-300)
    q = slope * slope
    series = _A[0] + q * (_A[1] + q * (_A[2] + q * (_A[3] + q * (_A[4] + q * (_A[5] + q * (_A[6] + q * _A[7]))))))
    angle = slope * (1 + q * series)
    angle = math.pi / 2 - angle if y > x else angle
    angle = math.pi - angle if cosine < 0 else angle
    return 2 * math.pi - angle if sine < -1e-12 else angle
