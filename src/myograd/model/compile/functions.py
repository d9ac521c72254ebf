"""OpenSim's scalar functions as piecewise polynomials. Worked out with NumPy, once, when a model is made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._arrays import as_array
from ...errors import ModelError
from ...geometry.piecewise import PiecewisePolynomials
from .. import description as d


@dataclass
class Pieces:
    """`sum_j coefficients[j, k] (x - origins[k])^j` on piece k; piece k lies between knots k-1 and k."""

    knots: np.ndarray  # [pieces - 1]
    origins: np.ndarray  # [pieces]
    coefficients: np.ndarray  # [degree + 1, pieces]
    sine: tuple[float, float, float] | None = None  # amplitude, angular frequency, phase, added to the polynomial

    @property
    def is_linear(self) -> bool:
        """By its class: a sine is not, whatever its amplitude."""
        return len(self.knots) == 0 and len(self.coefficients) <= 2 and self.sine is None

    @property
    def line(self) -> tuple[float, float]:
        """Offset and slope, where `is_linear`."""
        c = self.coefficients[:, 0]
        return float(c[0]), float(c[1]) if len(c) > 1 else 0.0


def polynomial(*ascending: float) -> Pieces:
    return Pieces(np.empty(0), np.zeros(1), np.array(ascending, float)[:, None])


def pieces(function: d.Function, owner: str) -> Pieces:
    """A function of one variable in piecewise form; `owner` names it in errors."""
    if isinstance(function, d.SimmSpline | d.PiecewiseLinearFunction | d.GCVSpline) and (
        len(function.x) < 2 or len(function.x) != len(function.y) or not _in_order(function)
    ):
        raise ModelError(
            f"{owner}: a {type(function).__name__} needs at least two points with increasing x, and as many y"
        )
    match function:
        case d.Constant(value):
            return polynomial(value)
        case d.LinearFunction(c):
            if len(c) != 2:
                raise ModelError(f"{owner}: a LinearFunction of one variable has 2 coefficients, this one has {len(c)}")
            return polynomial(c[1], c[0])
        case d.PolynomialFunction(c) if c:
            return polynomial(*c[::-1])
        case d.MultivariatePolynomialFunction(c, dimension=1):
            return polynomial(*c)
        case d.MultiplierFunction(inner, scale):
            base = pieces(inner, owner)
            sine = None if base.sine is None else (scale * base.sine[0], *base.sine[1:])
            return Pieces(base.knots, base.origins, base.coefficients * scale, sine)
        case d.SimmSpline(x, y):
            return simm_spline(np.array(x), np.array(y))
        case d.PiecewiseLinearFunction(x, y):
            return piecewise_linear(np.array(x), np.array(y))
        case d.GCVSpline():
            return gcv_spline(function, owner)
        case d.Sine(amplitude, omega, phase, offset):
            level = polynomial(offset)
            return Pieces(level.knots, level.origins, level.coefficients, (amplitude, omega, phase))
        case d.StepFunction(start, end, low, high) if start != end:
            return smooth_step(start, end, low, high)
    raise ModelError(
        f"{owner}: a {type(function).__name__} is not a smooth function of one variable; "
        "Constant, LinearFunction, PolynomialFunction, SimmSpline, PiecewiseLinearFunction, GCVSpline, Sine, StepFunction "
        "and multiples of them are"
    )


def _in_order(function: d.SimmSpline | d.PiecewiseLinearFunction | d.GCVSpline) -> bool:
    """x increases; a SimmSpline may have the same point twice in a row (many published models do)."""
    step, rise = np.diff(function.x), np.diff(function.y)
    return bool(np.all((step > 0) | (isinstance(function, d.SimmSpline) & (step == 0) & (rise == 0))))


def _with_linear_ends(x: np.ndarray, y: np.ndarray, slope: np.ndarray, inner: np.ndarray) -> Pieces:
    """Pieces between the points x, continued beyond both ends along the end slopes.

    The last knot is moved up by one ulp so that x[-1] itself still belongs to the last inner piece, as in OpenSim.
    """
    knots = np.append(x[:-1], np.nextafter(x[-1], np.inf))
    ends = np.zeros((len(inner), 2))
    ends[:2] = [[y[0], y[-1]], [slope[0], slope[-1]]]
    coefficients = np.column_stack([ends[:, 0], inner, ends[:, 1]])
    return Pieces(knots, np.concatenate([x[:1], x]), coefficients)


def piecewise_linear(x: np.ndarray, y: np.ndarray) -> Pieces:
    slope = np.diff(y) / np.diff(x)
    return _with_linear_ends(x, y, slope, np.array([y[:-1], slope]))


def simm_spline(x: np.ndarray, y: np.ndarray) -> Pieces:
    """SIMM's cubic spline: third derivatives at the two ends come from divided differences of the first and last four
    points (Forsythe, Malcolm, Moler 1977, SPLINE); linear beyond the ends. A point that is there twice counts as two that
    are 1e-7 apart, as in SIMM."""
    n = len(x)
    h = np.maximum(np.diff(x), 1e-7)
    secant = np.diff(y) / h
    if n == 2:
        return piecewise_linear(x, y)
    # Unknowns sigma_i = y''(x_i) / 6:  h[i-1] sigma[i-1] + 2 (h[i-1] + h[i]) sigma[i] + h[i] sigma[i+1] = jump of secants
    A = np.zeros((n, n))
    rhs = np.zeros(n)
    for i in range(1, n - 1):
        A[i, i - 1 : i + 2] = h[i - 1], 2 * (h[i - 1] + h[i]), h[i]
        rhs[i] = secant[i] - secant[i - 1]
    A[0, :2] = -h[0], h[0]
    A[-1, -2:] = h[-1], -h[-1]
    if n > 3:
        second = np.diff(secant) / np.maximum(x[2:] - x[:-2], 1e-7)  # second divided differences
        third = np.diff(second) / np.maximum(x[3:] - x[:-3], 1e-7)
        rhs[0] = h[0] ** 2 * third[0]
        rhs[-1] = -(h[-1] ** 2) * third[-1]
    sigma = np.linalg.solve(A, rhs)
    slope = secant - h * (sigma[1:] + 2 * sigma[:-1])
    last_slope = secant[-1] + h[-1] * (sigma[-2] + 2 * sigma[-1])
    inner = np.array([y[:-1], slope, 3 * sigma[:-1], np.diff(sigma) / h])
    return _with_linear_ends(x, y, np.append(slope, last_slope), inner)


def gcv_spline(spline: d.GCVSpline, owner: str) -> Pieces:
    """Woltring's natural spline of degree 2m - 1 through the points; of degree m - 1 beyond the ends."""
    m = spline.half_order
    x, y = np.array(spline.x), np.array(spline.y)
    if spline.error_variance != 0:
        raise ModelError(
            f"{owner}: a GCVSpline with error_variance {spline.error_variance:g} smooths its points in a way that is not "
            "computed here; with error_variance 0 it passes through them"
        )
    if len(x) < 2 * m:
        raise ModelError(f"{owner}: a GCVSpline of half order {m} needs at least {2 * m} points, this one has {len(x)}")
    if m == 1:  # straight lines, level beyond the ends
        slope = np.diff(y) / np.diff(x)
        return _with_linear_ends(x, y, np.zeros(2), np.array([y[:-1], slope]))
    from scipy.interpolate import PPoly, make_interp_spline  # half a second, which most models need not wait

    natural = [(order, 0.0) for order in range(m, 2 * m - 1)]
    spline_ppoly = PPoly.from_spline(make_interp_spline(x, y, k=2 * m - 1, bc_type=(natural, natural)))
    inside = (spline_ppoly.x[:-1] >= x[0]) & (spline_ppoly.x[:-1] < x[-1]) & (np.diff(spline_ppoly.x) > 0)
    inner = spline_ppoly.c[::-1, inside]  # ascending powers about the left knot of each piece
    at_end = spline_ppoly.derivative
    ends = np.zeros((2 * m, 2))
    factorial = 1.0
    for order in range(m):
        factorial *= max(order, 1)
        derivative = spline_ppoly if order == 0 else at_end(order)
        ends[order] = derivative(x[0]) / factorial, derivative(x[-1]) / factorial
    knots = np.append(x[:-1], np.nextafter(x[-1], np.inf))
    return Pieces(knots, np.concatenate([x[:1], x]), np.column_stack([ends[:, 0], inner, ends[:, 1]]))


def smooth_step(start: float, end: float, low: float, high: float) -> Pieces:
    """`low + (high - low) (10 s^3 - 15 s^4 + 6 s^5)`, s from 0 at start to 1 at end."""
    if start > end:
        start, end, low, high = end, start, high, low
    width = end - start
    rise = (high - low) * np.array([0, 0, 0, 10 / width**3, -15 / width**4, 6 / width**5])
    middle = rise + np.array([low, 0, 0, 0, 0, 0])
    flat = np.zeros((6, 2))
    flat[0] = low, high
    return Pieces(
        np.array([start, end]), np.array([start, start, end]), np.column_stack([flat[:, 0], middle, flat[:, 1]])
    )


def table(functions: list[Pieces]) -> PiecewisePolynomials:
    """Several functions padded to one table."""
    n = len(functions)
    degree = max((len(f.coefficients) for f in functions), default=1)
    count = max((len(f.origins) for f in functions), default=1)
    knots = np.full((count - 1, n), np.inf)
    origins = np.zeros((count, n))
    coefficients = np.zeros((degree, count, n))
    for i, f in enumerate(functions):
        knots[: len(f.knots), i] = f.knots
        origins[: len(f.origins), i] = f.origins
        coefficients[: len(f.coefficients), : len(f.origins), i] = f.coefficients
    sines = None
    if any(f.sine is not None for f in functions):
        sines = as_array(np.array([f.sine or (0.0, 0.0, 0.0) for f in functions]).T)
    return PiecewisePolynomials(as_array(knots), as_array(origins), as_array(coefficients), sines)
