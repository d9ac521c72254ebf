"""Fibre lengths, parameters and muscles that cannot be: each gets a warning or an error that names the muscle."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import myograd as mg
from muscle_bench import MUSCLES, bench
from myograd.model.export import description_of
from myograd.model.ranges import muscle_problems
from myograd.models import model_path
from myograd.muscle import bad_input
from myograd.muscle.bad_input import elastic

NAMES = [muscle.name for muscle in MUSCLES]
Q, U = np.array([0.3]), np.array([0.0])
HALF = np.full(len(NAMES), 0.5)


@pytest.fixture(scope="module")
def model() -> mg.Model:
    return mg.compile_model(bench())


@contextmanager
def no_warning() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# Fibres ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("short", [-0.1, 0.0, 0.001])
def test_a_fiber_that_is_too_short_counts_as_the_shortest_and_warns(model: mg.Model, short: float):
    with pytest.warns(mg.FiberLengthWarning, match=r"muscle_dynamics: fiber_length of 'damped' .*the shortest") as told:
        state = mg.muscle_dynamics(model, Q, U, HALF, np.full(len(NAMES), short))
    matters = elastic(model.muscle_classes)
    assert len(told) == 1
    assert f"({int(np.sum(matters & (state.fiber_length > short)))} muscle(s)" in str(told[0].message)
    assert np.all(np.isfinite(state.tendon_force))
    # Every elastic muscle has a shortest fibre, which is not below zero, and given that it is the same muscle.
    assert np.all(np.asarray(state.fiber_length)[matters] >= 0)
    with no_warning():
        again = mg.muscle_dynamics(model, Q, U, HALF, state.fiber_length)
    for name, value in state._asdict().items():
        np.testing.assert_array_equal(value, getattr(again, name), err_msg=name)


def test_only_the_muscle_that_is_too_short_is_named(model: mg.Model):
    fiber = np.asarray(mg.muscle_equilibrium(model, Q, U, HALF)).copy()
    with no_warning():
        mg.muscle_dynamics(model, Q, U, HALF, fiber)
    for i in np.flatnonzero(elastic(model.muscle_classes)):
        below = fiber.copy()
        below[i] = -0.01
        with pytest.warns(mg.FiberLengthWarning, match=rf"'{NAMES[i]}' is -0\.01 m.*\(1 muscle"):
            mg.muscle_dynamics(model, Q, U, HALF, below)


def test_a_fiber_longer_than_its_path_warns(model: mg.Model):
    with pytest.warns(
        mg.FiberLengthWarning, match=r"'damped' is 1 m, longer than its whole path.* not normalised"
    ) as told:
        mg.muscle_dynamics(model, Q, U, HALF, np.ones(len(NAMES)))
    assert len(told) == 1


def test_beyond_the_curves_fibers_go_on_along_their_end_slopes(model: mg.Model):
    """No warning: as in OpenSim, a fibre longer than its curves has no active force, and a passive one that goes on straight."""
    i = NAMES.index("damped")
    q = np.array([1.0])
    states = []
    with no_warning():
        for norm_length in (1.9, 2.1, 2.3):
            fiber = np.full(len(NAMES), 0.1 * norm_length)
            states.append(mg.muscle_dynamics(model, q, U, HALF, fiber))
    fal, fpl = np.array([[state.fal[i], state.fpl[i]] for state in states]).T
    np.testing.assert_allclose(fal, 0.0, atol=1e-15)
    np.testing.assert_allclose(fpl, 1 + 2 / 0.7 * (np.array([1.9, 2.1, 2.3]) - 1.7), rtol=1e-12)


def test_states_warn_too_and_compiled_code_does_not():
    model = mg.load_model(model_path("planar_leg"))
    m = len(model.muscle_names)
    q = np.zeros(len(model.coordinate_names))
    state = mg.State(q, q, np.full(m, 0.5), np.zeros(m))
    controls = np.zeros(len(model.control_names))
    for function in (mg.state_derivative, mg.applied_forces):
        with pytest.warns(
            mg.FiberLengthWarning, match=rf"{function.__name__}: fiber_length of '{model.muscle_names[0]}'"
        ):
            function(model, state, controls)
    with no_warning():
        jax.jit(mg.state_derivative)(model, state, controls)
        resting = mg.equilibrium_state(model, q, q, np.full(m, 0.5))
        mg.state_derivative(model, resting, controls)


def test_rigid_tendons_do_not_ask_for_a_fiber_length(model: mg.Model):
    fiber = np.asarray(mg.muscle_equilibrium(model, Q, U, HALF)).copy()
    fiber[~elastic(model.muscle_classes)] = 0.0
    with no_warning():
        mg.muscle_dynamics(model, Q, U, HALF, fiber)


def test_a_state_is_asked_for():
    model = mg.load_model(model_path("planar_leg"))
    with pytest.raises(TypeError, match=r"state_derivative takes a State \(see equilibrium_state\), not a tuple"):
        mg.state_derivative(model, (1, 2), np.zeros(3))  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="muscle_dynamics takes a Model first"):
        mg.muscle_dynamics("arm", Q, U, HALF, HALF)  # pyright: ignore[reportArgumentType]


# Parameters --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("max_isometric_force", -1.0, "is -1 N; it must not be negative"),
        ("max_isometric_force", np.nan, "is nan N; it must be a finite number"),
        ("optimal_fiber_length", 0.0, "is 0 m; it must be above 0"),
        ("tendon_slack_length", 0.0, "is 0 m; it must be above 0"),
        ("max_contraction_velocity", 0.0, "is 0; it must be above 0"),
        ("activation_time_constant", 0.0, "is 0; it must be above 0"),
        (
            "tendon_strain_at_one_norm_force",
            0.0,
            r"\(TendonForceLengthCurve/strain_at_one_norm_force\) is 0; it must be above 0",
        ),
        ("fiber_damping", 0.0, r"is 0; it must be at least 0\.001: with less, Millard's classic equation holds"),
        ("pennation_angle", 1.6, "is 1.6 rad; it must be from 0 to below a right angle"),
    ],
)
def test_parameters_that_no_muscle_has(model: mg.Model, name: str, value: float, message: str):
    """Set in the model itself: a file that says so is refused as it is compiled."""
    second = getattr(model.muscles, name).at[1].set(value)
    bad = eqx.tree_at(lambda m: getattr(m.muscles, name), model, second)
    with pytest.raises(
        mg.ModelError, match=f"muscle_equilibrium of 'muscle_bench': muscle 'shaped': its {name} {message}"
    ):
        mg.muscle_equilibrium(bad, Q, U, HALF)
    with pytest.raises(mg.ModelError, match=message):
        mg.activation_derivative(bad, HALF, HALF)


def with_number(model: mg.Model, muscle: str, name: str, value: float) -> mg.Model:
    """Changed in the arrays, past every check."""
    i = NAMES.index(muscle)
    if name in model.muscles.numbers:
        return eqx.tree_at(lambda m: m.muscles.numbers[name], model, model.muscles.numbers[name].at[i].set(value))
    return eqx.tree_at(lambda m: getattr(m.muscles, name), model, getattr(model.muscles, name).at[i].set(value))


@pytest.mark.parametrize(
    ("muscle", "name", "value", "message"),
    [
        ("shaped", "minimum_activation", 1.5, "is 1.5; it must be from 0 to below 1"),
        ("thelen", "minimum_activation", 0.005, r"is 0.005; it must be from 0\.01 to below 1 in this class"),
        ("shaped", "maximum_pennation_angle", -1.0, "is -1 rad; it must be above 0 and below a right angle"),
        ("shaped", "maximum_pennation_angle", np.nan, "is nan rad; it must be a finite number"),
        ("shaped", "default_activation", np.inf, "is inf; it must be a finite number"),
        ("thelen", "KshapeActive", -0.4, "is -0.4; it must be above 0"),
        ("thelen", "Flen", 0.5, "is 0.5; it must be above 1"),
        ("thelen", "FmaxMuscleStrain", -0.1, "is -0.1; it must be above 0"),
        ("thelen", "fv_linear_extrap_threshold", 0.5, "is 0.5; it must be above 1 / Flen, 0.714286, and below 1"),
        ("smooth", "active_force_width_scale", 0.9, "is 0.9; it must be at least 1"),
        ("smooth", "fiber_damping", -0.1, "is -0.1; it must not be negative"),
        ("schutte", "time_scale", 0.0, "is 0; it must be above 0"),
        ("schutte", "activation1", -1.0, "is -1; it must be above 0"),
        ("classic", "fiber_damping", -0.1, "is -0.1; it must not be negative"),
    ],
)
def test_the_same_numbers_are_refused_in_descriptions_and_in_models(
    model: mg.Model, muscle: str, name: str, value: float, message: str
):
    expected = rf"muscle_equilibrium.*{muscle!r}.*: its {name} {message}"
    with pytest.raises(mg.ModelError, match=expected):
        mg.muscle_equilibrium(with_number(model, muscle, name, value), Q, U, HALF)
    description = copy.deepcopy(bench())
    description.muscles[NAMES.index(muscle)].numbers[name] = value
    with pytest.raises(mg.ModelError, match=expected):
        mg.muscle_equilibrium(mg.compile_model(description), Q, U, HALF)


def test_a_fiber_steeper_than_its_steepest_is_refused(model: mg.Model):
    with pytest.raises(
        mg.ModelError, match=r"'thelen': its pennation_angle, 1\.5 rad, is above its maximum_pennation_angle"
    ):
        mg.muscle_equilibrium(with_number(model, "thelen", "pennation_angle", 1.5), Q, U, HALF)


@pytest.mark.parametrize(("muscle", "value", "other"), [("classic", 0.3, "damped"), ("damped", 1e-4, "classic")])
def test_damping_does_not_change_the_equation_of_a_compiled_model(
    model: mg.Model, muscle: str, value: float, other: str
):
    """The variant is structure: a number on the other side of OpenSim's limit is refused, in use and in saving."""
    changed = with_number(model, muscle, "fiber_damping", value)
    message = f"{muscle!r}.*its fiber_damping is {value:g}.*Millard's {other} equation holds.*compile it again"
    with pytest.raises(mg.ModelError, match=message):
        mg.muscle_equilibrium(changed, Q, U, HALF)
    with pytest.raises(mg.ModelError, match=f"cannot be saved.*{other} equation"):
        description_of(changed)
    description = copy.deepcopy(bench())
    description.muscles[NAMES.index(muscle)].numbers["fiber_damping"] = value
    assert mg.compile_model(description).muscle_classes.variant[NAMES.index(muscle)] == other


def test_numbers_are_looked_at_once(model: mg.Model, monkeypatch: pytest.MonkeyPatch):
    """The check is on the way of every direct call."""
    looked = []
    monkeypatch.setattr(bad_input, "muscle_problems", lambda *args: looked.append(1) or muscle_problems(*args))
    changed = with_number(model, "thelen", "Flen", 1.5)
    for _ in range(3):
        mg.activation_derivative(changed, HALF, HALF)
    assert len(looked) == 1
    mine = eqx.tree_at(lambda m: m.muscles.max_isometric_force, changed, np.full(len(NAMES), 100.0))
    mg.activation_derivative(mine, HALF, HALF)
    mine.muscles.max_isometric_force[2] = -1.0  # NumPy's arrays may change
    with pytest.raises(mg.ModelError, match="'classic': its max_isometric_force is -1 N"):
        mg.activation_derivative(mine, HALF, HALF)


def test_parameters_that_a_class_does_not_have_do_not_matter(model: mg.Model):
    """They are zero: Schutte muscles have no time constants, rigid ones no tendon strain."""
    assert np.any(np.asarray(model.muscles.activation_time_constant) == 0)
    assert model.muscles.fiber_damping[NAMES.index("classic")] == 0.0
    rigid = NAMES.index("stringless")
    slack = eqx.tree_at(
        lambda m: m.muscles.tendon_slack_length, model, model.muscles.tendon_slack_length.at[rigid].set(0.0)
    )
    np.testing.assert_allclose(mg.muscle_equilibrium(slack, Q, U, HALF)[rigid], np.hypot(0.3, 0.1 * np.sin(0.2)))


def test_a_model_without_muscles():
    description = mg.read_osim(model_path("double_pendulum"))
    description.muscles.clear()
    model = mg.compile_model(description)
    none = np.zeros(0)
    with no_warning():
        assert mg.muscle_equilibrium(model, np.zeros(2), np.zeros(2), none).shape == (0,)
        state = mg.equilibrium_state(model, np.zeros(2), np.zeros(2), none)
        assert np.isfinite(mg.state_derivative(model, state, none).u).all()


# Muscles that are not computed -------------------------------------------------------------------------------


def broken() -> mg.Model:
    description = mg.read_osim(model_path("planar_leg"))
    description.muscles[0] = replace(description.muscles[0], tendon_slack_length=0.0)
    return mg.compile_model(description)


def test_doing_without_a_muscle():
    """Asked for by name: its forces are NaN, and in a state it stays as it is."""
    model = broken()
    name, m = model.muscle_names[0], len(model.muscle_names)
    q, activation = np.zeros(len(model.coordinate_names)), np.full(len(model.muscle_names), 0.3)
    with pytest.raises(
        mg.UnsupportedError, match=rf"'{name}': its tendon_slack_length is 0 m.*pass accept=\('{name}',\)"
    ):
        mg.muscle_equilibrium(model, q, q, activation)
    with pytest.raises(mg.UnsupportedError, match=f"activation_derivative.*'{name}'"):
        mg.activation_derivative(model, activation, activation)
    with pytest.raises(mg.UnsupportedError, match=f"state_derivative.*'{name}'"):
        mg.state_derivative(model, mg.State(q, q, activation, activation), activation)
    accept = (name,)
    fiber = mg.muscle_equilibrium(model, q, q, activation, accept=accept)
    np.testing.assert_array_equal(np.isnan(fiber), np.arange(m) == 0)
    force = mg.muscle_dynamics(model, q, q, activation, fiber, accept=accept).tendon_force
    np.testing.assert_array_equal(np.isnan(force), np.arange(m) == 0)
    state = mg.equilibrium_state(model, q, q, activation, accept=accept)
    with no_warning():
        rate = mg.state_derivative(model, state, activation, accept=accept)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((state, rate)))
    assert state.fiber_length[0] == rate.fiber_length[0] == rate.activation[0] == 0.0
    with pytest.raises(mg.ModelError, match=f"not finite for {model.muscle_names[1]}"):
        mg.muscle_dynamics(model, q, q, activation, jnp.asarray(fiber).at[1].set(jnp.nan), accept=accept)


@pytest.mark.parametrize("kind", [np.float32, int])
def test_other_numbers_become_float64(model: mg.Model, kind: type):
    q, activation = np.array([1], kind), np.ones(len(NAMES), kind)
    found = mg.muscle_equilibrium(model, q, 0 * q, activation)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, mg.muscle_equilibrium(model, np.ones(1), np.zeros(1), np.ones(len(NAMES))))
