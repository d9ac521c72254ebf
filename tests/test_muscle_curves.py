"""Force curves: those of live OpenSim objects to 1e-8, smooth, and differentiable in both modes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from myograd.errors import ModelError
from myograd.model.description import Muscle, Node, Path
from myograd.model.muscle_properties import MILLARD, MILLARD_CURVES, CurveNumbers, curve_numbers
from myograd.muscle import degroote_fregly, thelen
from myograd.muscle.bezier import BezierCurve
from myograd.muscle.crossing import cells, crossing
from myograd.muscle.curves import active_force_length, force_velocity, passive_force_length, tendon_force_length
from myograd.muscle.table import look_up, tabulate

MAKERS = {
    "ActiveForceLengthCurve": active_force_length,
    "ForceVelocityCurve": force_velocity,
    "FiberForceLengthCurve": passive_force_length,
    "TendonForceLengthCurve": tendon_force_length,
}
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


def numbers(curve: str, stated: dict[str, float]) -> CurveNumbers:
    children = [Node(name, text=repr(value)) for name, value in stated.items()]
    return curve_numbers(Muscle(MILLARD, "m", Path(), properties=[Node(curve, children=children)]), curve)


def value(curve: BezierCurve, x):
    return look_up(tabulate([curve]), x)


CASES = [(name, shape) for name in MAKERS for shape in ({}, OTHERS[name])]
SHARPEST = [
    ("ForceVelocityCurve", {"concentric_curviness": c, "eccentric_curviness": c}) for c in (0.0, 1.0)
]  # at 0, corners are nearly straight, and bend sharply at their ends


@pytest.mark.parametrize(("name", "shape"), [*CASES, *SHARPEST])
def test_tables_are_opensims_curves(opensim, name: str, shape: dict[str, float]):
    theirs = getattr(opensim, name)()
    for key, number in shape.items():
        getattr(theirs, f"set_{key}")(number)
    theirs.ensureCurveUpToDate()
    curve = MAKERS[name](numbers(name, shape))
    x = np.linspace(*RANGES[name], 1001)
    expected = np.array([theirs.calcValue(float(v)) for v in x])
    scale = np.maximum(1.0, np.abs(expected))
    ours, slope = jax.jvp(lambda x: value(curve, x), (jnp.asarray(x),), (jnp.ones_like(x),))
    np.testing.assert_allclose(ours / scale, expected / scale, rtol=0, atol=1e-10)
    expected = np.array([theirs.calcDerivative(float(v), 1) for v in x])
    np.testing.assert_allclose(slope, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_curves_and_two_derivatives_are_continuous(name: str, shape: dict[str, float]):
    curve = MAKERS[name](numbers(name, shape))
    table = tabulate([curve])

    def at(x):
        value = lambda x: look_up(table, x)  # noqa: E731
        one = jnp.ones_like(x)
        slope = lambda x: jax.jvp(value, (x,), (one,))[1]  # noqa: E731
        return jnp.stack([value(x), slope(x), jax.jvp(slope, (x,), (one,))[1]])

    steps = np.unique(np.concatenate([table.rows[:, 0], curve.knots]))
    below, above = (jax.jit(at)(jnp.asarray(np.nextafter(steps, end))) for end in (-np.inf, np.inf))
    assert np.isfinite(below).all()
    scale = np.maximum(1.0, np.abs(above).max(axis=1, keepdims=True))
    np.testing.assert_allclose(below / scale, above / scale, rtol=0, atol=1e-9)
    # Against the curve itself, between the rows.
    x = np.linspace(*RANGES[name], 997)
    for ours, exact, tolerance in zip(jax.jit(at)(jnp.asarray(x)), curve(x), (1e-12, 1e-8, 1e-5), strict=True):
        np.testing.assert_allclose(ours, exact, rtol=tolerance, atol=tolerance)


def test_a_curve_that_bends_too_sharply_for_a_table_is_refused(monkeypatch: pytest.MonkeyPatch):
    sharp = force_velocity(numbers(*SHARPEST[0]))
    assert len(tabulate([sharp]).rows) > 2048
    monkeypatch.setattr("myograd.muscle.table.MOST_STEPS", 512)
    with pytest.raises(ModelError, match=r"bends too sharply between -0\.9 and 0; a larger curviness"):
        tabulate([sharp])


def test_muscles_may_have_curves_of_their_own():
    plain, other = (
        passive_force_length(numbers("FiberForceLengthCurve", s)) for s in ({}, OTHERS["FiberForceLengthCurve"])
    )
    x = jnp.array([0.8, 1.3, 1.3, 1.9])
    together = look_up(tabulate([plain, plain, other, other]), x)
    np.testing.assert_allclose(together[:2], value(plain, x[:2]), rtol=1e-15)
    np.testing.assert_allclose(together[2:], value(other, x[2:]), rtol=1e-15)


def test_where_a_line_crosses_the_force_velocity_curve():
    random = np.random.default_rng(1)
    count = 4000
    curve = force_velocity(numbers("ForceVelocityCurve", {}))
    v = random.uniform(-1.4, 1.4, count)
    gain = np.where(random.uniform(size=count) < 0.1, 0.0, random.uniform(0, 1.2, count) ** 3)
    damping = random.choice([0.001, 0.1, 1.0], count)
    force = gain * curve(v)[0] + damping * v
    found, fv = jax.jit(lambda *given: crossing(cells([curve]), *given))(gain, damping, force)
    np.testing.assert_allclose(found, v, rtol=0, atol=2e-11)
    np.testing.assert_allclose(gain * fv + damping * found, force, rtol=0, atol=1e-14)


def test_derivatives_of_the_crossing():
    curve = force_velocity(numbers("ForceVelocityCurve", {}))
    given = jnp.array([0.7, 0.02, 0.4, 0.9]), jnp.array([0.1, 0.1, 0.05, 0.1]), jnp.array([0.3, -0.4, 0.44, 1.6])
    table = cells([curve])
    check_grads(lambda *given: crossing(table, *given), given, order=2, modes=("fwd", "rev"), eps=1e-5)


def test_unusable_shapes_are_refused():
    for name, wrong, message in (
        ("ActiveForceLengthCurve", {"transition_norm_fiber_length": 1.2}, "min < transition < 1 < max"),
        ("ForceVelocityCurve", {"isometric_slope": 0.5}, "isometric_slope must be above 1"),
        ("FiberForceLengthCurve", {"curviness": 0.5}, "state all of stiffness_at_low_force, .*, or none"),
        ("TendonForceLengthCurve", {"strain_at_one_norm_force": -0.1}, "strain_at_one_norm_force must be above 0"),
    ):
        with pytest.raises(ModelError, match=f"{name}: .*{message}"):
            MAKERS[name](numbers(name, wrong))


# Closed formulas ---------------------------------------------------------------------------------------------


THELEN = thelen.ThelenShape(*np.array([0.01, 0.995, 0.45, 0.6, 5.0, 0.25, 1.4, 0.95])[:, None])


def test_thelens_force_velocity_relation_is_its_own_inverse():
    v = jnp.linspace(-0.9, 1.5, 301)
    for a, fal in ((jnp.array(1.0), jnp.array(1.0)), (jnp.array(0.2), jnp.array(0.7))):
        fv = thelen.force_velocity(THELEN, a, v)
        shortening = np.asarray(fv) > 0  # zero from the fastest shortening on
        assert shortening.any()
        back = thelen.velocity(THELEN, a, fal, a * fal * fv)
        np.testing.assert_allclose(back[shortening], v[shortening], rtol=0, atol=1e-12)
        assert (v[~shortening] <= -(0.25 + 0.75 * a)).all()


def test_de_groote_and_freglys_inverses():
    x = jnp.linspace(-1.2, 1.2, 101)
    np.testing.assert_allclose(degroote_fregly.velocity(degroote_fregly.force_velocity(x)), x, rtol=0, atol=1e-13)


def test_default_numbers_are_all_used():
    """A shape parameter that no curve reads would be one that a file sets in vain."""
    for name, maker in MAKERS.items():
        shape = {key: default for key, default in MILLARD_CURVES[name].items() if default is not None}
        plain = maker(numbers(name, {}))
        for key, number in shape.items():
            changed = maker(numbers(name, {key: number * 1.01 + 1e-3}))
            assert not np.allclose(plain.x, changed.x) or not np.allclose(plain.y, changed.y), key
