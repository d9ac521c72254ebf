"""Muscles of every class: derivatives in both modes, the whole range of inputs, what is refused, and what is saved."""

from __future__ import annotations

from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import myograd as mg
from computed import HASTE
from muscle_bench import MUSCLES, bench
from myograd.errors import ActivationWarning, ModelError
from myograd.files.osim.read import read_osim
from myograd.model.description import Muscle
from myograd.model.description.muscle_properties import DE_GROOTE_FREGLY, RIGID, SCHUTTE, THELEN
from myograd.muscle.classes import schutte, thelen
from myograd.muscle.contraction import activation_rates, fiber_equilibrium, force_balance, muscle_states
from myograd.muscle.groups import grouped, part_of

NAMES = [muscle.name for muscle in MUSCLES]
SCHUTTES = np.array([muscle.kind == SCHUTTE for muscle in MUSCLES])
Given = dict[str, Any]


@cache
def model() -> mg.Model:
    with jax.ensure_compile_time_eval():  # whoever asks first may be inside a trace
        return mg.compile_model(bench())


def given(rows: int = 6) -> Given:
    """Plausible states, away from the corners of piecewise formulas."""
    random = np.random.default_rng(21)
    shape = (rows, len(NAMES))
    values = {
        "length": random.uniform(0.29, 0.35, shape),
        "speed": random.normal(scale=0.2, size=shape),
        "activation": random.uniform(0.2, 0.9, shape),
        "fiber_length": random.uniform(0.085, 0.13, shape),
    }
    # De Groote and Fregly's velocities are powers of ten of the imbalance, and say nothing unless tendons are near their rest.
    near = np.sqrt(values["fiber_length"] ** 2 - (0.1 * np.sin(0.2)) ** 2) + 0.2 * random.uniform(1.0, 1.04, shape)
    smooth = np.array([muscle.kind == DE_GROOTE_FREGLY for muscle in MUSCLES])
    return values | {"length": np.where(smooth, near, values["length"])}


def of_parameters(row: Given, muscles: Any) -> mg.Model:
    return eqx.tree_at(lambda m: m.muscles, model(), muscles)


def dynamics(row: Given, muscles: Any) -> jax.Array:
    """[m] a smooth mixture of everything that a muscle's state holds."""
    state = muscle_states(
        of_parameters(row, muscles), row["length"], row["speed"], row["activation"], row["fiber_length"]
    )
    fields = {name: f / (800.0 if "force" in name else 1.0) for name, f in state._asdict().items()}
    # arcsinh, for velocities of any size
    return sum((jnp.sin(0.3 + i + jnp.arcsinh(f)) for i, f in enumerate(fields.values())), jnp.zeros(len(NAMES)))


def equilibrium(row: Given, muscles: Any) -> jax.Array:
    return jnp.sin(10 * fiber_equilibrium(of_parameters(row, muscles), row["length"], row["speed"], row["activation"]))


def derivatives(function, row: Given, muscles: Any, along: Any):
    """Value, slope and curvature along a direction, per muscle, forward; and the slope by reverse mode."""

    def slope(x):
        return jax.jvp(lambda x: function(*x), (x,), (along,))[1]

    x = (row, muscles)
    first, second = jax.jvp(slope, (x,), (along,))
    gradient = jax.grad(lambda x: jnp.sum(function(*x)))(x)
    backward = sum(jnp.sum(g * d) for g, d in zip(jax.tree.leaves(gradient), jax.tree.leaves(along), strict=True))
    return function(*x), first, second, backward


def direction(rows: Given, muscles: Any) -> Any:
    """Every input changes by some per mille or so of itself."""
    random = np.random.default_rng(22)
    return jax.tree.map(  # but for the infinite knots of splines
        lambda x: np.where(np.isfinite(x), x, 0.0) * random.uniform(0.5, 1.0, x.shape[-1]) * random.choice([-1, 1]),
        ({key: value[0] for key, value in rows.items()}, muscles),
    )


@pytest.mark.parametrize(("function", "step", "tolerance"), [(dynamics, 1e-7, 2e-5), (equilibrium, 1e-5, 2e-5)])
def test_derivatives(function, step: float, tolerance: float, measured):
    """In both modes, of first and second order, with respect to the state and every parameter at once, against difference
    quotients: every muscle in every state. Schutte's equilibria, which end at 0.01 N, have no quotients."""
    rows, muscles = given(), model().muscles
    along = direction(rows, muscles)

    def all_rows(rows, muscles):
        return jax.vmap(lambda row: derivatives(function, row, muscles, along))(rows)

    program = jax.jit(all_rows, compiler_options=HASTE)

    def moved(by: float):
        return jax.tree.map(np.asarray, program(*jax.tree.map(lambda x, d: x + by * d, (rows, muscles), along)))

    (_, slope, curvature, backward), back, ahead = moved(0.0), moved(-step), moved(step)
    assert np.isfinite(slope).all() and np.isfinite(curvature).all()
    np.testing.assert_allclose(backward, slope.sum(axis=1), rtol=1e-9, atol=1e-9)
    kept = ~SCHUTTES if function is equilibrium else slice(None)
    for i, exact in enumerate((slope, curvature)):
        quotient = (ahead[i] - back[i]) / (2 * step)
        scale = 1 + np.abs(exact)
        gap = (np.abs(quotient - exact) / scale)[:, kept].max(axis=0)
        worst = np.array(NAMES)[kept][gap.argmax()]
        measured("derivatives", gap.max())
        assert gap.max() < tolerance, f"order {i + 1}: {gap.max():.1e} of {worst}"


def test_derivative_of_schuttes_equilibrium_is_that_of_the_balance():
    """l(x) with r(l, x) = 0: dl/dx = -(dr/dx) / (dr/dl), here with x the path's length."""

    def slopes(length, activation):
        still, one = jnp.zeros_like(length), jnp.ones_like(length)
        found, along_path = jax.jvp(lambda x: fiber_equilibrium(model(), x, still, activation), (length,), (one,))
        by_length = jax.jvp(lambda x: force_balance(model(), x, activation, found, still), (length,), (one,))[1]
        by_fiber = jax.jvp(lambda x: force_balance(model(), length, activation, x, still), (found,), (one,))[1]
        return along_path, -by_length / by_fiber

    row = given()
    along_path, implied = jax.jit(slopes, compiler_options=HASTE)(row["length"][0], row["activation"][0])
    np.testing.assert_allclose(along_path[SCHUTTES], implied[SCHUTTES], rtol=1e-10)
    assert np.all(np.abs(along_path[SCHUTTES]) > 0.1)


# The whole range ---------------------------------------------------------------------------------------------


@cache
def everywhere() -> dict[str, np.ndarray]:
    """From no activation to full, paths from next to nothing to a metre, any speed; at equilibrium, and its gradient."""
    length, speed, activation = (
        x.ravel()
        for x in np.meshgrid(np.linspace(0.001, 1.0, 40), [-3.0, 0.0, 3.0], [0.0, 0.01, 0.5, 1.0], indexing="ij")
    )
    m = model()

    def compute(length, speed, activation):
        each = jnp.ones(len(NAMES))

        def found(length, speed, activation):
            return fiber_equilibrium(m, length * each, speed * each, activation * each)

        fiber = found(length, speed, activation)
        state = muscle_states(m, length * each, speed * each, activation * each, fiber)
        slopes = jax.jacfwd(found, (0, 1, 2))(length, speed, activation)
        left = force_balance(m, length * each, activation * each, fiber, jnp.zeros_like(fiber))
        return {"fiber": fiber, "slopes": jnp.stack(slopes), "left": left, **state._asdict()}

    values = jax.jit(jax.vmap(compute), compiler_options=HASTE)(length, speed, activation)
    return {"path": length, "activation": activation, **jax.tree.map(np.asarray, values)}


def test_nothing_is_ever_nan():
    for key, value in everywhere().items():
        assert np.isfinite(value).all(), f"{key}: {sorted({NAMES[i] for i in np.argwhere(~np.isfinite(value))[:, -1]})}"
    assert (everywhere()["fiber"] >= 0).all()


def test_millard_fibers_balance_unless_clamped():
    at = everywhere()
    for name in ("damped", "shaped", "parallel", "classic"):
        i = NAMES.index(name)
        shortest = at["fiber"][:, i].min()
        free = at["fiber"][:, i] > shortest
        np.testing.assert_allclose(at["left"][free, i] / 800, 0.0, atol=1e-10)
        # Where clamped, even the shortest fibre outpulls the tendon.
        assert (at["left"][~free, i] >= -1e-12).all()
        assert free.any() and (~free).any()


def test_tendons_only_pull():
    """But De Groote and Fregly's, which may push a little, and rigid ones of RigidTendonMuscle, whose splines go on as lines
    beyond their ends, below zero too: as in OpenSim."""
    for muscle in MUSCLES:
        if muscle.kind not in (DE_GROOTE_FREGLY, RIGID):
            assert everywhere()["tendon_force"][:, NAMES.index(muscle.name)].min() > -1e-12, muscle.name


# What is refused ---------------------------------------------------------------------------------------------


def state_of(m: mg.Model) -> tuple:
    n = len(m.muscle_names)
    return np.array([0.3]), np.array([0.0]), np.full(n, 0.5), np.full(n, 0.1)


def test_activation_outside_its_range_counts_as_the_end_of_it_and_warns():
    q, u, activation, fiber = state_of(model())
    strong = activation.copy()
    strong[1], strong[3] = 1.7, -0.2
    with pytest.warns(ActivationWarning, match=r"activation of 'shaped' is 1.7; it is taken as 1 \(2 muscle"):
        clamped = mg.muscle_dynamics(model(), q, u, strong, fiber)
    strong[1], strong[3] = 1.0, 0.0
    np.testing.assert_array_equal(clamped.tendon_force, mg.muscle_dynamics(model(), q, u, strong, fiber).tendon_force)


def test_wrong_arguments():
    q, u, activation, fiber = state_of(model())
    with pytest.raises(ModelError, match=r"muscle_dynamics: activation has shape \(3,\).* needs \(14,\).*damped"):
        mg.muscle_dynamics(model(), q, u, np.ones(3), fiber)
    fiber[2] = np.nan
    with pytest.raises(ModelError, match="fiber_length is not finite for classic"):
        mg.muscle_dynamics(model(), q, u, activation, fiber)


def changed(index: int = 0, **attributes: Any) -> mg.Model:
    """The bench with one muscle changed."""
    description = bench()
    muscle = description.muscles[index]
    values = {name: getattr(muscle, name) for name in Muscle.__dataclass_fields__} | attributes
    description.muscles = [*description.muscles]
    description.muscles[index] = Muscle(**values)
    return mg.compile_model(description)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"tendon_slack_length": 0.0}, "'damped': its tendon_slack_length is 0 m; it must be above 0"),
        ({"optimal_fiber_length": 0.0}, "optimal_fiber_length is 0 m; it must be above 0"),
        ({"max_isometric_force": -1.0}, "max_isometric_force is -1"),
        ({"pennation_angle": 1.6}, "below a right angle"),
        ({"max_contraction_velocity": 0.0}, "max_contraction_velocity is 0"),
        (
            {"kind": "Delp1990Muscle_Deprecated"},
            "contraction of a Delp1990Muscle_Deprecated is not computed; that of Mill",
        ),
        (
            {"numbers": {"activation_time_constant": 0.0}},
            "activation_time_constant is 0; it must be above 0",
        ),
        ({"numbers": {"maximum_pennation_angle": 2.0}}, "maximum_pennation_angle is 2 rad"),
    ],
)
def test_muscles_that_cannot_be_computed(attributes: dict, message: str):
    bad = changed(0, **attributes)
    q, u, activation, fiber = state_of(bad)
    with pytest.raises(ModelError, match=message):
        mg.muscle_dynamics(bad, q, u, activation, fiber)
    assert np.isfinite(mg.muscle_lengths(bad, q)).all()  # the path is as good as ever


def test_a_curve_that_cannot_be_names_its_muscle():
    curve = {"ActiveForceLengthCurve/minimum_value": 0.05, "ActiveForceLengthCurve/shallow_ascending_slope": 9.0}
    bad = changed(0, numbers=curve)
    with pytest.raises(
        ModelError, match="'damped': ActiveForceLengthCurve: shallow_ascending_slope is negative or too steep"
    ):
        mg.muscle_equilibrium(bad, *state_of(bad)[:3])


def test_no_strength_gives_no_force():
    row = {key: jnp.asarray(value[0]) for key, value in given().items()}
    weak = eqx.tree_at(lambda m: m.muscles.max_isometric_force, model(), jnp.zeros(len(NAMES)))

    def compute(m: mg.Model):
        found = fiber_equilibrium(m, row["length"], row["speed"], row["activation"])
        return found, muscle_states(m, row["length"], row["speed"], row["activation"], found).tendon_force

    program = jax.jit(compute, compiler_options=HASTE)
    found, force = program(weak)
    np.testing.assert_array_equal(force, 0.0)
    same = np.array([muscle.kind != SCHUTTE for muscle in MUSCLES])  # whose tolerance is in newtons
    np.testing.assert_allclose(found[same], program(model())[0][same], rtol=1e-6)


# What is saved, and how muscles are put together -------------------------------------------------------------


def test_identified_parameters_are_saved(tmp_path):
    m = model()
    changes = {
        "activation_time_constant": 1.1,
        "deactivation_time_constant": 0.9,
        "fiber_damping": 1.2,
        "tendon_strain_at_one_norm_force": 1.05,
    }
    for name, factor in changes.items():
        # The shapes of these tendons state a stiffness beside the strain; one cannot change without the other.
        value = getattr(m.muscles, name)
        fixed = np.array([n in ("shaped", "classic", "rigid") for n in NAMES]) & (name.startswith("tendon"))
        m = eqx.tree_at(lambda m, name=name: getattr(m.muscles, name), m, jnp.where(fixed, value, factor * value))
    mg.save_model(m, tmp_path / "fitted.osim")
    again = mg.compile_model(read_osim(tmp_path / "fitted.osim"))
    for name in changes:
        np.testing.assert_allclose(getattr(again.muscles, name), getattr(m.muscles, name), rtol=1e-14)
    row = {key: jnp.asarray(value[0]) for key, value in given().items()}
    ours, theirs = (
        muscle_states(x, row["length"], row["speed"], row["activation"], row["fiber_length"]) for x in (m, again)
    )
    np.testing.assert_allclose(ours.tendon_force, theirs.tendon_force, rtol=1e-9)


def test_a_parameter_that_the_class_does_not_have_cannot_be_saved(tmp_path):
    m = eqx.tree_at(lambda m: m.muscles.activation_time_constant, model(), jnp.full(len(NAMES), 0.02))
    with pytest.raises(ModelError, match="a Schutte1993Muscle_Deprecated has no activation_time_constant"):
        mg.save_model(m, tmp_path / "fitted.osim")


def test_order_of_muscles_does_not_matter():
    """Classes are computed in groups; each muscle gets its own numbers back."""
    order = np.random.default_rng(5).permutation(len(NAMES))
    description = bench()
    description.muscles = [description.muscles[i] for i in order]
    mixed = mg.compile_model(description)
    assert len(grouped(mixed.muscle_classes).groups) == 8
    row = {key: jnp.asarray(value[0]) for key, value in given().items()}
    keys = ("length", "speed", "activation", "fiber_length")
    plain = muscle_states(model(), *(row[key] for key in keys))
    shuffled = muscle_states(mixed, *(row[key][order] for key in keys))
    for name, value in plain._asdict().items():
        np.testing.assert_allclose(getattr(shuffled, name), value[order], rtol=1e-12, atol=1e-12, err_msg=name)


# Corners -----------------------------------------------------------------------------------------------------


def one_sided(function, x: float, inwards: float, h: float = 1e-5) -> np.ndarray:
    """Slope at x from values on one side of it (second order)."""
    near, far = (np.asarray(function(x + k * inwards * h)) for k in (1, 2))
    return (4 * near - far - 3 * np.asarray(function(x))) / (2 * inwards * h)


def least_activation() -> np.ndarray:
    found = np.zeros(len(NAMES))
    for group in grouped(model().muscle_classes).groups:
        shape = group.of.shape(part_of(model().muscles, group), group)
        found[group.muscles] = getattr(shape, "minimum_activation", 0.0)
    return found


@pytest.mark.parametrize("end", ["zero", "minimum", "one"])
def test_slopes_at_the_ends_of_activation_are_those_within(end: str):
    """Full activation, none and the class's minimum are usual states: their slopes are whole, not split with the outside."""
    row = {key: jnp.asarray(value[0]) for key, value in given().items()}
    least = least_activation()
    at = {"zero": np.zeros(len(NAMES)), "minimum": least, "one": np.ones(len(NAMES))}[end]
    inwards = -1.0 if end == "one" else 1.0

    def everything(activation):
        state = muscle_states(model(), row["length"], row["speed"], activation, row["fiber_length"])
        found = fiber_equilibrium(model(), row["length"], row["speed"], activation)
        balance = force_balance(model(), row["length"], activation, row["fiber_length"], row["speed"]) / 800.0
        rate = activation_rates(model(), activation, jnp.full(len(NAMES), 0.5))
        return jnp.stack([state.fiber_velocity, state.fiber_force / 800.0, found, balance, rate])

    program = jax.jit(
        lambda a: (everything(a), jax.jvp(everything, (a,), (jnp.ones_like(a),))[1]), compiler_options=HASTE
    )
    slope = np.asarray(program(at)[1])
    quotient = one_sided(lambda step: program(at + step)[0], 0.0, inwards, 1e-5)
    kept = np.ones(slope.shape, bool)
    kept[2, SCHUTTES] = False  # its equilibria end at 0.01 N, and have no quotients
    smooth = np.array([muscle.kind == DE_GROOTE_FREGLY for muscle in MUSCLES])
    if end != "one":  # the velocity without activation is a hyperbolic sine of next to nothing over nothing, held
        kept[:2, smooth] = False
    if end == "zero":
        kept[:, (least > 0) & (least < 3e-5)] = False
    np.testing.assert_allclose(slope[kept], quotient[kept], rtol=2e-3, atol=1e-4)
    assert np.abs(slope[3]).max() > 0.1
    if end == "zero":
        assert np.all(slope[:4, least > 1e-3] == 0)  # below the minimum nothing changes


@pytest.mark.parametrize("activation", [0.0, 0.5, 1.0])
def test_slopes_at_rest_are_those_of_shortening(activation: float):
    """Force per velocity of the fibre (the implicit form) and per speed of the path (rigid tendons), both zero."""
    row = {key: jnp.asarray(value[0]) for key, value in given().items()}
    a = jnp.full(len(NAMES), activation)

    def everything(v):
        v = jnp.full(len(NAMES), v)
        balance = force_balance(model(), row["length"], a, row["fiber_length"], v) / 800.0
        return jnp.stack(
            [balance, muscle_states(model(), row["length"], v, a, row["fiber_length"]).fiber_force / 800.0]
        )

    program = jax.jit(lambda v: (everything(v), jax.jacfwd(everything)(v)), compiler_options=HASTE)
    slope = np.asarray(program(0.0)[1])
    np.testing.assert_allclose(slope, one_sided(lambda v: program(v)[0], 0.0, -1.0), rtol=1e-5, atol=1e-7)
    moves = (np.abs(slope) > 1e-3).any(axis=0)  # by one of the two, every muscle that is active
    assert moves.all() or activation == 0.0


def test_isometric_fibers_have_the_slope_of_one_side():
    """At rest, where shortening and lengthening meet: force per velocity in the implicit form, velocity per force in the
    explicit one."""
    thelens = [m for m, muscle in enumerate(MUSCLES) if muscle.kind == THELEN]
    for group in grouped(model().muscle_classes).groups:
        p = part_of(model().muscles, group)
        shape = group.of.shape(p, group)
        a = jnp.full(len(group.muscles), 0.5)
        if group.of is thelen:
            assert list(group.muscles) == thelens
            functions = [
                lambda v, s=shape, a=a: thelen.force_velocity(s, a, v + jnp.zeros_like(a)),
                lambda f, s=shape, a=a: thelen.velocity(s, a, jnp.ones_like(a), f + a),
            ]
        elif group.of is schutte:
            functions = [
                lambda v, p=p, a=a: schutte.force_at(p, a, v + jnp.zeros_like(a)),
                lambda f, p=p, a=a: schutte.velocity(p, a, f + a),
            ]
        else:
            continue
        for function in functions:
            exact = np.asarray(jax.jacfwd(function)(0.0))
            np.testing.assert_allclose(exact, one_sided(function, 0.0, -1.0), rtol=1e-6)
