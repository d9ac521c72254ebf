"""OpenSim's functions as piecewise polynomials: values, slopes and curvatures are those of a live OpenSim, also beyond
the ends.

The functions go through a model file, as prescribed motions, so that the order of coefficients is tested along.
"""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from myograd.errors import ModelError
from myograd.files.osim.write import write_osim
from myograd.geometry.piecewise import evaluate
from myograd.model.compile import functions
from myograd.model.description import (
    Body,
    Constant,
    Coordinate,
    Function,
    GCVSpline,
    Joint,
    LinearFunction,
    ModelDescription,
    MultiplierFunction,
    MultivariatePolynomialFunction,
    PiecewiseConstantFunction,
    PiecewiseLinearFunction,
    PolynomialFunction,
    SimmSpline,
    Sine,
    StepFunction,
)

X = (-2.0, -1.1, -0.7, 0.1, 0.4, 0.55, 1.3, 1.9, 2.4)
Y = (0.3, -0.2, 0.5, 0.45, -0.1, 0.0, 0.8, 0.75, -0.4)

FUNCTIONS: dict[str, Function] = {
    "constant": Constant(0.7),
    "linear": LinearFunction((0.4, -0.2)),
    "cubic": PolynomialFunction((0.3, -0.1, 0.7, 0.2)),
    "polynomial of degree 6": PolynomialFunction((0.02, -0.1, 0.3, -0.1, 0.05, 0.7, 0.2)),
    "polynomial in one of many variables": MultivariatePolynomialFunction((0.3, -0.1, 0.7, 0.2), 1, 3),
    "SIMM, 2 points": SimmSpline(X[:2], Y[:2]),
    "SIMM, 3 points": SimmSpline(X[:3], Y[:3]),
    "SIMM, 4 points": SimmSpline(X[:4], Y[:4]),
    "SIMM, 9 points": SimmSpline(X, Y),
    "piecewise linear": PiecewiseLinearFunction(X, Y),
    "piecewise linear, 2 points": PiecewiseLinearFunction(X[3:5], Y[3:5]),
    "GCV, degree 1": GCVSpline(1, 0.0, X, Y),
    "GCV, degree 3": GCVSpline(2, 0.0, X, Y),
    "GCV, degree 3, 4 points": GCVSpline(2, 0.0, X[:4], Y[:4]),
    "GCV, degree 5": GCVSpline(3, 0.0, X, Y),
    "GCV, degree 5, 6 points": GCVSpline(3, 0.0, X[:6], Y[:6]),
    "GCV, degree 7": GCVSpline(4, 0.0, X, Y),
    "sine": Sine(0.4, 1.7, 0.2, 0.1),
    "step up": StepFunction(-0.8, 0.9, 0.01, 0.7),
    "step down": StepFunction(-0.5, 1.5, 0.6, -0.3),
    "multiple of a spline": MultiplierFunction(SimmSpline(X, Y), -1.3),
    "multiple of a multiple of a sine": MultiplierFunction(MultiplierFunction(Sine(0.4, 1.7, 0.2, 0.1), 2.0), -0.3),
}
# Between the points, beyond both ends, and at the points themselves.
PLACES = np.concatenate([np.linspace(-3.3, 3.4, 50), X])
KINKED = {"piecewise linear", "piecewise linear, 2 points", "GCV, degree 1"}  # slopes jump at the points
# OpenSim answers with the first derivative when asked for the second.
NO_CURVATURE = "polynomial in one of many variables"


def slider_with(prescribed: list[Function]) -> ModelDescription:
    """Blocks on rails, each with one function as its (idle) prescribed motion."""
    names = [f"block_{k}" for k in range(len(prescribed))]
    return ModelDescription(
        bodies=[Body(name, 1.0, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0)) for name in names],
        joints=[
            Joint(
                "SliderJoint", f"rail_{k}", "/ground", f"/bodyset/{name}", [Coordinate(f"x_{k}", prescribed_function=f)]
            )
            for k, (name, f) in enumerate(zip(names, prescribed, strict=True))
        ],
    )


def ours(chosen: list[Function], places: np.ndarray) -> np.ndarray:
    """[3, places, functions]: values, slopes, curvatures."""
    table = functions.table([functions.pieces(f, "a test") for f in chosen])
    run = jax.jit(jax.vmap(lambda x: evaluate(table, jnp.full(len(chosen), x))))
    return np.array(run(places))


@pytest.fixture(scope="module")
def theirs(opensim, tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    path: Path = tmp_path_factory.mktemp("functions") / "rails.osim"
    write_osim(slider_with(list(FUNCTIONS.values())), path)
    model = opensim.Model(str(path))
    found = [model.getCoordinateSet().get(k).get_prescribed_function() for k in range(len(FUNCTIONS))]
    once, twice = opensim.StdVectorInt([0]), opensim.StdVectorInt([0, 0])

    def all_three(function, x: float) -> list[float]:
        at = opensim.Vector(1, x)
        return [function.calcValue(at), function.calcDerivative(once, at), function.calcDerivative(twice, at)]

    return np.array([[all_three(f, float(x)) for f in found] for x in PLACES]).transpose(2, 0, 1)


@pytest.fixture(scope="module")
def found() -> np.ndarray:
    return ours(list(FUNCTIONS.values()), PLACES)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_opensims(theirs: np.ndarray, found: np.ndarray, name: str):
    i = list(FUNCTIONS).index(name)
    between = ~np.isin(PLACES, X)
    for order, what in enumerate(("value", "slope", "curvature")):
        if order == 2 and name == NO_CURVATURE:
            continue
        where = between if order and name in KINKED else np.full(len(PLACES), True)
        mine, other = found[order, where, i], theirs[order, where, i]
        np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-11, err_msg=what)


def test_polynomial_in_one_of_many_variables(found: np.ndarray):
    """Coefficients from the constant up; OpenSim's second derivative is no help."""
    expected = np.polynomial.Polynomial((0.3, -0.1, 0.7, 0.2))
    column = list(FUNCTIONS).index(NO_CURVATURE)
    for order in range(3):
        mine = found[order, :, column]
        np.testing.assert_allclose(mine, (expected.deriv(order) if order else expected)(PLACES), rtol=1e-12, atol=1e-13)


def test_slopes_and_curvatures_are_derivatives(found: np.ndarray):
    """The three numbers of the table belong together: automatic differentiation of the value gives the others."""
    chosen = list(FUNCTIONS.values())
    table = functions.table([functions.pieces(f, "a test") for f in chosen])

    def value(x: jax.Array) -> jax.Array:
        return evaluate(table, jnp.full(len(chosen), x))[0]

    slope = jax.jit(jax.vmap(jax.jacfwd(value)))(PLACES)
    curvature = jax.jit(jax.vmap(jax.jacrev(jax.jacfwd(value))))(PLACES)
    np.testing.assert_allclose(slope, found[1], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(curvature, found[2], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            PiecewiseConstantFunction((0.0, 1.0), (0.2, 0.3)),
            "knee: a PiecewiseConstantFunction is not a smooth function",
        ),
        (LinearFunction((1.0, 2.0, 3.0)), "knee: a LinearFunction of one variable has 2 coefficients, this one has 3"),
        (GCVSpline(3, 0.0, X[:5], Y[:5]), "knee: a GCVSpline of half order 3 needs at least 6 points, this one has 5"),
        (GCVSpline(3, 0.1, X, Y), "knee: a GCVSpline with error_variance 0.1 smooths its points"),
        (
            MultivariatePolynomialFunction((1.0,) * 6, 2, 2),
            "knee: a MultivariatePolynomialFunction is not a smooth .* one variable",
        ),
    ],
)
def test_what_is_not_a_smooth_function_of_one_variable_is_refused(function: Function, message: str):
    with pytest.raises(ModelError, match=message):
        functions.pieces(function, "knee")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Sine(0.4, 1.7, 0.2, 0.1), Sine(0.0, 0.0, 0.0, 0.1)),
        (MultiplierFunction(Sine(0.4, 1.7, 0.2, 0.1), 2.0), MultiplierFunction(Sine(0.4, 1.7, 0.2, 0.1), 0.0)),
        (PolynomialFunction((0.3, 0.1, 0.2)), PolynomialFunction((0.0, 0.0, 0.0))),
        (StepFunction(0.1, 0.9, 0.3, 0.7), StepFunction(0.1, 0.9, 0.3, 0.3)),
    ],
)
def test_no_number_decides_the_form(one: Function, other: Function):
    """A sine without amplitude is one that may have some later: two people's functions stack."""
    first, second = (functions.pieces(function, "x") for function in (one, other))
    assert first.is_linear == second.is_linear
    tables = [functions.table([functions.pieces(Constant(1.0), "x"), made]) for made in (first, second)]
    assert jax.tree.structure(tables[0]) == jax.tree.structure(tables[1])
    assert jax.tree.map(jnp.shape, tables[0]) == jax.tree.map(jnp.shape, tables[1])
    for function, table in zip((one, other), tables, strict=True):
        alone = functions.table([functions.pieces(function, "x")])
        np.testing.assert_array_equal(evaluate(table, jnp.full(2, 0.4))[0][1], evaluate(alone, jnp.full(1, 0.4))[0][0])
