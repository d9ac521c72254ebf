"""Force curves: those of live OpenSim objects to 1e-8, smooth, and differentiable in both modes."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from jax.test_util import check_grads

from myograd.model.description.muscle_properties import MILLARD_CURVES
from myograd.muscle.classes import degroote_fregly, thelen
from myograd.muscle.curves.bezier import (
    BezierCurve,
    parameter,
    quintic,
    quintic_curvature,
    quintic_slope,
    value_at,
)
from myograd.muscle.curves.crossing import crossing
from myograd.muscle.curves.millard import broken_rules, curve_of, fitted

RANGES = {
    "ActiveForceLengthCurve": (0.1, 2.2),
    "ForceVelocityCurve": (-1.5, 1.5),
    "FiberForceLengthCurve": (0.5, 2.2),
    "TendonForceLengthCurve": (0.95, 1.2),
}
# One set of unusual shapes for each curve.
OTHERS: dict[str, dict[str, float]] = {
    "ActiveForceLengthCurve": {
        "min_norm_active_fiber_length": 0.35,
        "transition_norm_fiber_length": 0.8,
        "max_norm_active_fiber_length": 1.6,
        "shallow_ascending_slope": 0.5,
        "minimum_value": 0.05,
    },
    "ForceVelocityCurve": {
        "concentric_slope_at_vmax": 0.1,
        "concentric_slope_near_vmax": 0.3,
        "isometric_slope": 6.0,
        "eccentric_slope_at_vmax": 0.05,
        "eccentric_slope_near_vmax": 0.2,
        "max_eccentric_velocity_force_multiplier": 1.6,
        "concentric_curviness": 0.2,
        "eccentric_curviness": 0.5,
    },
    "FiberForceLengthCurve": {
        "strain_at_zero_force": -0.1,
        "strain_at_one_norm_force": 0.5,
        "stiffness_at_low_force": 0.3,
        "stiffness_at_one_norm_force": 4.0,
        "curviness": 0.4,
    },
    "TendonForceLengthCurve": {
        "strain_at_one_norm_force": 0.033,
        "stiffness_at_one_norm_force": 40.0,
        "norm_force_at_toe_end": 0.5,
        "curviness": 0.8,
    },
}


def numbers(curve: str, stated: dict[str, float]) -> dict[str, float]:
    """All shape parameters of a curve: stated, by default, or fitted."""
    known = {name: default for name, default in MILLARD_CURVES[curve].items() if default is not None} | stated
    return fitted(curve, known) | known


def made(curve: str, stated: dict[str, float]) -> BezierCurve:
    return curve_of(curve, numbers(curve, stated))


def exact(curve: BezierCurve, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Value, slope and curvature by bisection for the parameter, between the ends."""
    knots = np.asarray(curve.knots)[:, 0]
    corner = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(curve.x) - 1)
    px, py = (np.asarray(part)[corner, :, 0].T for part in (curve.x, curve.y))
    low, high = np.zeros_like(x), np.ones_like(x)
    for _ in range(80):
        s = (low + high) / 2
        below = quintic(px, s) < x
        low, high = np.where(below, s, low), np.where(below, high, s)
    dx, dy = quintic_slope(px, s), quintic_slope(py, s)
    slope = dy / dx
    return quintic(py, s), slope, (quintic_curvature(py, s) - slope * quintic_curvature(px, s)) / dx**2


CASES = [(name, shape) for name in RANGES for shape in ({}, OTHERS[name])]
SHARPEST = [
    ("ForceVelocityCurve", {"concentric_curviness": c, "eccentric_curviness": c}) for c in (0.0, 1.0)
]  # at 0, corners are nearly straight, and bend sharply at their ends


@pytest.mark.parametrize(("name", "shape"), [*CASES, *SHARPEST])
def test_curves_are_opensims(opensim, measured, name: str, shape: dict[str, float]):
    theirs = getattr(opensim, name)()
    for key, number in shape.items():
        getattr(theirs, f"set_{key}")(number)
    theirs.ensureCurveUpToDate()
    curve = made(name, shape)
    x = np.linspace(*RANGES[name], 1001)
    expected = np.array([theirs.calcValue(float(v)) for v in x])
    scale = np.maximum(1.0, np.abs(expected))
    ours, slope = jax.jvp(lambda x: value_at(curve, x), (jnp.asarray(x),), (jnp.ones_like(x),))
    np.testing.assert_allclose(ours / scale, expected / scale, rtol=0, atol=1e-10)
    measured("curves", np.abs((ours - expected) / scale).max())
    expected = np.array([theirs.calcDerivative(float(v), 1) for v in x])
    np.testing.assert_allclose(slope, expected, rtol=1e-7, atol=1e-7)


def with_slopes(curve: BezierCurve, x):
    """Value, slope and curvature."""
    one = jnp.ones_like(x)
    slope = lambda x: jax.jvp(lambda x: value_at(curve, x), (x,), (one,))[1]  # noqa: E731
    return jnp.stack([value_at(curve, x), slope(x), jax.jvp(slope, (x,), (one,))[1]])


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_curves_and_two_derivatives_are_continuous(name: str, shape: dict[str, float]):
    curve = made(name, shape)
    knots = np.asarray(curve.knots)[:, 0]
    at = jax.jit(lambda x: with_slopes(curve, x))
    below, above = (at(jnp.asarray(np.nextafter(knots, end))) for end in (-np.inf, np.inf))
    assert np.isfinite(below).all()
    scale = np.maximum(1.0, np.abs(above).max(axis=1, keepdims=True))
    np.testing.assert_allclose(below / scale, above / scale, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("name", "shape"), [*CASES, *SHARPEST])
def test_derivatives_are_those_of_the_curve(name: str, shape: dict[str, float]):
    curve = made(name, shape)
    knots = np.asarray(curve.knots)[:, 0]
    x = np.linspace(knots[0], knots[-1], 997)[1:-1]
    ours = jax.jit(lambda x: with_slopes(curve, x))(jnp.asarray(x))
    for one, other, tolerance in zip(ours, exact(curve, x), (1e-13, 1e-12, 1e-9), strict=True):
        size = np.abs(other).max()
        np.testing.assert_allclose(one / size, other / size, rtol=0, atol=tolerance)


def test_every_corner_is_solved_to_rounding():
    """A corner's polynomial, from 0 to 1, has two numbers: curviness, and where its tangents meet."""
    random = np.random.default_rng(0)
    curviness, meet, s = np.meshgrid(
        np.linspace(0.1, 0.9, 17), np.linspace(0.005, 0.995, 41), np.linspace(0, 1, 401) ** 2, indexing="ij"
    )
    c, m, s = curviness.ravel(), meet.ravel(), s.ravel() * random.uniform(0.999, 1, s.size)
    near, far = c * m, 1 - c * (1 - m)
    points = np.array([0 * c, near, near, far, far, 1 + 0 * c])
    p = tuple(
        np.array([[math.comb(5, j) * math.comb(j, i) * (-1) ** (j - i) for i in range(6)] for j in range(6)]) @ points
    )
    found = np.asarray(jax.jit(parameter)(p, quintic(p, s)))
    np.testing.assert_allclose(quintic(p, found), quintic(p, s), rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", RANGES)
def test_derivatives_by_the_shape(name: str):
    """Every shape parameter of every curve can be identified: both modes, to second order, along random directions."""
    low, high = RANGES[name]
    x = jnp.array([0.45 * low + 0.55 * high])  # within a corner
    known = {key: jnp.array([number]) for key, number in numbers(name, OTHERS[name]).items()}
    at, as_parts = ravel_pytree((known, x))

    def value(z):
        p, x = as_parts(z)
        return value_at(curve_of(name, p), x)[0]

    @jax.jit
    def derivatives(z, along):
        gradient, second = jax.jvp(jax.grad(value), (z,), (along,))
        return value(z), jax.jvp(value, (z,), (along,))[1], gradient, second

    random, h = np.random.default_rng(3), 1e-5
    for _ in range(len(at)):
        along = jnp.asarray(random.normal(size=at.shape))
        _, forward, gradient, second = derivatives(at, along)
        ends = [derivatives(at + sign * h * along, along) for sign in (1, -1)]
        np.testing.assert_allclose(gradient @ along, forward, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(forward, (ends[0][0] - ends[1][0]) / (2 * h), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(second, (ends[0][2] - ends[1][2]) / (2 * h), rtol=1e-4, atol=1e-4)


def test_muscles_may_have_curves_of_their_own():
    name = "FiberForceLengthCurve"
    plain, other = numbers(name, {}), numbers(name, OTHERS[name])
    both = {key: jnp.array([plain[key], plain[key], other[key], other[key]]) for key in plain}
    x = jnp.array([0.8, 1.3, 1.3, 1.9])
    together = value_at(curve_of(name, both), x)
    np.testing.assert_allclose(together[:2], value_at(made(name, {}), x[:2]), rtol=1e-15)
    np.testing.assert_allclose(together[2:], value_at(made(name, OTHERS[name]), x[2:]), rtol=1e-15)


def test_where_a_line_crosses_the_force_velocity_curve():
    random = np.random.default_rng(1)
    count = 4000
    curve = made("ForceVelocityCurve", {})
    v = random.uniform(-1.4, 1.4, count)
    gain = np.where(random.uniform(size=count) < 0.1, 0.0, random.uniform(0, 1.2, count) ** 3)
    damping = random.choice([0.001, 0.1, 1.0], count)
    force = gain * np.asarray(value_at(curve, jnp.asarray(v))) + damping * v
    found, fv = jax.jit(lambda *given: crossing(curve, *given))(gain, damping, force)
    np.testing.assert_allclose(found, v, rtol=0, atol=2e-11)
    np.testing.assert_allclose(gain * fv + damping * found, force, rtol=0, atol=1e-14)


def test_derivatives_of_the_crossing():
    curve = made("ForceVelocityCurve", {})
    given = jnp.array([0.7, 0.02, 0.4, 0.9]), jnp.array([0.1, 0.1, 0.05, 0.1]), jnp.array([0.3, -0.4, 0.44, 1.6])
    check_grads(
        lambda *given: crossing(curve, *map(jnp.asarray, given)), given, order=2, modes=("fwd", "rev"), eps=1e-5
    )


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("ActiveForceLengthCurve", {"transition_norm_fiber_length": 1.2}, "min < transition < 1 < max"),
        ("ForceVelocityCurve", {"isometric_slope": 0.5}, "isometric_slope must be above 1"),
        ("FiberForceLengthCurve", {"stiffness_at_low_force": 9.0}, "stiffness_at_low_force must be above 0 and below"),
        ("TendonForceLengthCurve", {"strain_at_one_norm_force": -0.1}, "strain_at_one_norm_force must be above 0"),
    ],
)
def test_unusable_shapes_are_told(name: str, wrong: dict[str, float], message: str):
    assert not broken_rules(name, numbers(name, {}))
    assert any(message in text for _, text in broken_rules(name, numbers(name, wrong)))


def test_tangents_that_do_not_meet_are_told():
    steep = numbers("ActiveForceLengthCurve", {"shallow_ascending_slope": 2.381})
    ((which, text),) = broken_rules("ActiveForceLengthCurve", steep)
    assert which.tolist() == [True]
    assert "do not meet between these points" in text


# Closed formulas ---------------------------------------------------------------------------------------------


THELEN = thelen.Shape(*jnp.array([0.01, 0.995, 0.45, 0.6, 5.0, 0.25, 1.4, 0.95])[:, None])


def test_thelens_force_velocity_relation_is_its_own_inverse():
    v = jnp.linspace(-0.9, 1.5, 301)
    for a, fal in ((jnp.full(301, 1.0), jnp.full(301, 1.0)), (jnp.full(301, 0.2), jnp.full(301, 0.7))):
        fv = thelen.force_velocity(THELEN, a, v)
        shortening = np.asarray(fv) > 0  # zero from the fastest shortening on
        assert shortening.any()
        back = thelen.velocity(THELEN, a, fal, a * fal * fv)
        np.testing.assert_allclose(back[shortening], v[shortening], rtol=0, atol=1e-12)
        assert (v[~shortening] <= -(0.25 + 0.75 * a[0])).all()


def test_de_groote_and_freglys_inverses():
    x = jnp.linspace(-1.2, 1.2, 101)
    np.testing.assert_allclose(degroote_fregly.velocity(degroote_fregly.force_velocity(x)), x, rtol=0, atol=1e-13)


def test_default_numbers_are_all_used():
    """A shape parameter that no curve reads would be one that a file sets in vain."""
    for name in RANGES:
        shape = {key: default for key, default in MILLARD_CURVES[name].items() if default is not None}
        plain = made(name, {})
        for key, number in shape.items():
            other = made(name, {key: number * 1.01 + 1e-3})
            assert not np.allclose(plain.x, other.x) or not np.allclose(plain.y, other.y), key
