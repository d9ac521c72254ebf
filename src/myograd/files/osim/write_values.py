"""Numbers, flags, lists and functions as the `Node`s that OpenSim 4.6 reads."""

from __future__ import annotations

import math
from collections.abc import Iterable

from myograd.errors import ModelError
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

# Properties --------------------------------------------------------------------------------------------------


def leaf(tag: str, text: str) -> Node:
    return Node(tag, text=text)


def number(value: float) -> str:
    """The shortest text that reads as the same float64."""
    if math.isnan(value):
        raise ModelError("a number is NaN")
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    return repr(float(value)).removesuffix(".0")


def scalar(tag: str, value: float) -> Node:
    try:
        return leaf(tag, number(value))
    except ModelError as error:
        raise ModelError(f"{tag}: {error}") from None


def vector(tag: str, values: Iterable[float]) -> Node:
    try:
        return leaf(tag, " ".join(map(number, values)))
    except ModelError as error:
        raise ModelError(f"{tag}: {error}") from None


def flag(tag: str, value: bool) -> Node:
    return leaf(tag, "true" if value else "false")


def listing(tag: str, nodes: list[Node]) -> list[Node]:
    """An element that holds `nodes`, or nothing if there are none."""
    return [Node(tag, children=nodes)] if nodes else []


# Functions ---------------------------------------------------------------------------------------------------


def function(it: Function, name: str = "") -> Node:
    match it:
        case Constant(value):
            properties = [scalar("value", value)]
        case LinearFunction(coefficients) | PolynomialFunction(coefficients):
            properties = [vector("coefficients", coefficients)]
        case SimmSpline(x, y) | PiecewiseLinearFunction(x, y) | PiecewiseConstantFunction(x, y):
            properties = [vector("x", x), vector("y", y)]
        case GCVSpline():
            properties = [
                leaf("half_order", str(it.half_order)),
                scalar("error_variance", it.error_variance),
                vector("x", it.x),
                vector("y", it.y),
                *([vector("weights", it.weights)] if it.weights else []),
            ]
        case Sine():
            properties = [scalar(tag, getattr(it, tag)) for tag in ("amplitude", "omega", "phase", "offset")]
        case StepFunction():
            properties = [
                scalar("transition_start_time", it.start_time),
                scalar("transition_end_time", it.end_time),
                scalar("start_value", it.start_value),
                scalar("end_value", it.end_value),
            ]
        case MultiplierFunction():
            properties = [Node("function", children=[function(it.function)]), scalar("scale", it.scale)]
        case MultivariatePolynomialFunction():
            properties = [
                vector("coefficients", it.coefficients),
                leaf("dimension", str(it.dimension)),
                leaf("order", str(it.order)),
            ]
    return Node(type(it).__name__, {"name": name} if name else {}, children=properties)
