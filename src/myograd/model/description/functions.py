"""Scalar functions as a document states them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Constant:
    value: float


@dataclass
class LinearFunction:
    """`c[0] x[0] + ... + c[n-1] x[n-1] + c[n]`."""

    coefficients: tuple[float, ...]


@dataclass
class PolynomialFunction:
    """Coefficients from the highest power down to the constant."""

    coefficients: tuple[float, ...]


@dataclass
class SimmSpline:
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass
class PiecewiseLinearFunction:
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass
class PiecewiseConstantFunction:
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass
class GCVSpline:
    """Woltring's natural spline of degree `2 half_order - 1`, interpolating when `error_variance` is zero."""

    half_order: int
    error_variance: float
    x: tuple[float, ...]
    y: tuple[float, ...]
    weights: tuple[float, ...] = ()


@dataclass
class Sine:
    """`amplitude sin(omega x + phase) + offset`."""

    amplitude: float
    omega: float
    phase: float
    offset: float


@dataclass
class StepFunction:
    """Simbody's smooth quintic step from `start_value` at `start_time` to `end_value` at `end_time`."""

    start_time: float
    end_time: float
    start_value: float
    end_value: float


@dataclass
class MultiplierFunction:
    function: Function
    scale: float


@dataclass
class MultivariatePolynomialFunction:
    """Dense polynomial in `dimension` variables up to total degree `order`, in OpenSim's coefficient order."""

    coefficients: tuple[float, ...]
    dimension: int
    order: int


Function = (
    Constant
    | LinearFunction
    | PolynomialFunction
    | SimmSpline
    | PiecewiseLinearFunction
    | PiecewiseConstantFunction
    | GCVSpline
    | Sine
    | StepFunction
    | MultiplierFunction
    | MultivariatePolynomialFunction
)
