"""Functions: from `<SimmSpline>`, `<LinearFunction>` and so on to the functions of a description."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import comb

from myograd.errors import nearest
from myograd.files.osim.classes import FUNCTIONS
from myograd.files.osim.fields import Fields, Source
from myograd.model.description import (
    Constant,
    Function,
    GCVSpline,
    LinearFunction,
    MultiplierFunction,
    MultivariatePolynomialFunction,
    Node,
    PiecewiseConstantFunction,
    PiecewiseLinearFunction,
    PolynomialFunction,
    SimmSpline,
    Sine,
    StepFunction,
)


def read_function(source: Source, node: Node) -> Function:
    fields = Fields(source, node)
    if node.tag not in _READERS:
        raise fields.error(f"this class of function is not supported{nearest(node.tag, FUNCTIONS)}")
    function = _READERS[node.tag](fields)
    fields.close()
    return function


def argument_count(function: Function) -> int | None:
    """How many variables a function has; None if it does not matter."""
    match function:
        case Constant():
            return None
        case LinearFunction(coefficients):
            return len(coefficients) - 1
        case MultivariatePolynomialFunction():
            return function.dimension
        case MultiplierFunction():
            return argument_count(function.function)
        case _:
            return 1


def check_arguments(fields: Fields, function: Function, coordinates: tuple[str, ...]) -> None:
    """Raise unless `function` takes as many variables as there are coordinates."""
    count = argument_count(function)
    if count is not None and count != len(coordinates):
        raise fields.error(
            f"its {type(function).__name__} is a function of {count} variable{'s' * (count != 1)}, but there "
            f"{'is 1 coordinate' if len(coordinates) == 1 else f'are {len(coordinates)} coordinates'}"
            f"{': ' * bool(coordinates)}{', '.join(coordinates)}"
        )


def _constant(fields: Fields) -> Function:
    return Constant(fields.number("value", 0.0))


def _linear(fields: Fields) -> Function:
    coefficients = fields.numbers("coefficients", (1.0, 0.0))
    if len(coefficients) < 2:
        raise fields.error("needs at least 2 coefficients, a slope and an intercept")
    return LinearFunction(coefficients)


def _polynomial(fields: Fields) -> Function:
    coefficients = fields.numbers("coefficients", (1.0,))
    if not coefficients:
        raise fields.error("needs at least 1 coefficient")
    return PolynomialFunction(coefficients)


def _knots(fields: Fields, at_least: int, doubled: bool = False) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Points with increasing x; the same point twice in a row is allowed where `doubled`."""
    x, y = fields.numbers("x", ()), fields.numbers("y", ())
    if len(x) != len(y):
        raise fields.error(f"has {len(x)} values of x, but {len(y)} of y")
    if len(x) < at_least:
        raise fields.error(f"needs at least {at_least} points, but has {len(x)}")
    for (before, y_before), (after, y_after) in pairwise(zip(x, y, strict=True)):
        if not (after > before or (doubled and (after, y_after) == (before, y_before))):
            raise fields.error(f"x must increase from point to point, but {after:g} follows {before:g}")
    return x, y


def _gcv_spline(fields: Fields) -> Function:
    half_order = fields.integer("half_order", 0)
    if not 1 <= half_order <= 4:
        raise fields.error(f"half_order is {half_order}; 1 to 4 are possible (degree 1, 3, 5 or 7)")
    variance = fields.number("error_variance", 0.0)
    if variance < 0:
        raise fields.error(f"error_variance is {variance:g}, but a variance is not negative")
    x, y = _knots(fields, 2 * half_order)
    weights = fields.numbers("weights", ())[: len(x)]
    fields.take("coefficients")  # follow from the rest; OpenSim computes them anew as well
    return GCVSpline(half_order, variance, x, y, weights + (1.0,) * (len(x) - len(weights)) if weights else ())


def _sine(fields: Fields) -> Function:
    return Sine(
        fields.number("amplitude", 1.0),
        fields.number("omega", 1.0),
        fields.number("phase", 0.0),
        fields.number("offset", 0.0),
    )


def _step(fields: Fields) -> Function:
    start, end = fields.number("transition_start_time", 0.99), fields.number("transition_end_time", 1.01)
    if not end > start:
        raise fields.error(f"transition_end_time ({end:g}) must be greater than transition_start_time ({start:g})")
    return StepFunction(start, end, fields.number("start_value", 0.0), fields.number("end_value", 1.0))


def _multiplier(fields: Fields) -> Function:
    inside = fields.take_list("function")
    if not inside:
        raise fields.error("has no <function> to multiply")
    return MultiplierFunction(read_function(fields.source, inside[0]), fields.number("scale", 1.0))


def _multivariate(fields: Fields) -> Function:
    coefficients = fields.numbers("coefficients", ())
    dimension, order = fields.integer("dimension", 0), fields.integer("order", 0)
    if dimension < 1 or order < 0:
        raise fields.error(f"dimension {dimension} and order {order} are not possible")
    # The first comparison keeps the binomial coefficient, which is larger than either, from becoming astronomical.
    if max(dimension, order) >= len(coefficients) or len(coefficients) != comb(dimension + order, order):
        raise fields.error(
            f"{len(coefficients)} coefficients do not fit dimension {dimension} and order {order}, which need as many "
            "as there are ways to choose `order` out of `dimension + order`"
        )
    return MultivariatePolynomialFunction(coefficients, dimension, order)


_READERS: dict[str, Callable[[Fields], Function]] = {
    "Constant": _constant,
    "LinearFunction": _linear,
    "PolynomialFunction": _polynomial,
    "SimmSpline": lambda fields: SimmSpline(*_knots(fields, 2, doubled=True)),
    "PiecewiseLinearFunction": lambda fields: PiecewiseLinearFunction(*_knots(fields, 2)),
    "PiecewiseConstantFunction": lambda fields: PiecewiseConstantFunction(*_knots(fields, 1)),
    "GCVSpline": _gcv_spline,
    "Sine": _sine,
    "StepFunction": _step,
    "MultiplierFunction": _multiplier,
    "MultivariatePolynomialFunction": _multivariate,
}
