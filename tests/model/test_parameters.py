"""Numbers of a model by name: every one is found, changed and differentiated."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import myograd as mg
from computed import OWN, loaded
from force_bench import FORCES, bench
from muscle_bench import bench as muscle_bench
from myograd.model.parameters import (
    Selection,
    find,
    leaves_by_name,
    parameter_places,
    unnamed_arrays,
    values_of,
    with_values,
)
from myograd.models import model_path, names

EVERY = {**{name: model_path(name) for name in names()}, **OWN}


UNNAMED = {
    r"\.joints\.(parent|child)_(rotation|translation)": "orientations are matrices; ground hangs on no joint",
    r"\.joints\.(axes|slopes|offsets)": "transform axes of all joints, whether they move or not",
    r".*(splines|prescribed|curve|curves\['\w+'\])\.(knots|origins|coefficients|sines)": "pieces of functions",
    r"\.constraint_parameters\.(coupler_(slopes|offsets)|weld_rotation)": "lines of couplers; orientations",
    r"\.path\.(moving_rotation|location)": "frames of moving points, whose places are functions",
    r"\.(surfaces|contact_surfaces|terms\[\d+\])\.rotation": "orientations are matrices",
    r"\.surfaces\.sizes": "sizes that the surface's class does not have",
    r"\.muscles\.(\w+|numbers\['.+'\])": "numbers that the muscle's class does not have, or that are left to it",
    r"\.fingerprint": "of the document; not a parameter",
}
"""Arrays some of whose numbers have no owner, and why; docs/parameters.md says the same."""


@pytest.fixture
def leg() -> mg.Model:
    return loaded(model_path("planar_leg"))


@pytest.mark.parametrize("name", EVERY)
def test_places_exist_and_are_distinct(name: str):
    model = loaded(EVERY[name])
    places, arrays = parameter_places(model), leaves_by_name(model)
    assert len(set((place.leaf, place.index) for place in places.values())) == len(places)
    for place in places.values():
        assert np.shape(arrays[place.leaf][place.index]) == ()


def every_model() -> dict[str, mg.Model]:
    benches = {case: mg.compile_model(bench(case)) for case in FORCES}
    return (
        {name: loaded(path) for name, path in EVERY.items()} | benches | {"muscles": mg.compile_model(muscle_bench())}
    )


def test_every_number_has_a_name_or_a_reason_to_have_none():
    """And no reason is given for what has names throughout."""
    used = set()
    for what, model in every_model().items():
        named = Counter(place.leaf for place in parameter_places(model).values())
        for leaf, array in leaves_by_name(model).items():
            assert np.asarray(array).dtype == np.float64, leaf
            if named[leaf] < np.size(array):
                reasons = [pattern for pattern in UNNAMED if re.fullmatch(pattern, leaf)]
                assert len(reasons) == 1, (what, leaf)
                used.update(reasons)
        assert set(unnamed_arrays(model)) == {
            leaf.removeprefix(".")
            for leaf, array in leaves_by_name(model).items()
            if named[leaf] < np.size(array) and leaf != ".fingerprint"
        }
    assert used == set(UNNAMED)


def test_names_are_those_that_one_would_guess():
    leg = loaded(model_path("leg"))
    places = parameter_places(leg)
    for name in ("gravity.y", f"{leg.body_names[0]}.mass", f"{leg.body_names[1]}.inertia.xx"):
        assert name in places
    muscle = leg.muscle_names[0]
    for field in ("max_isometric_force", "ForceVelocityCurve.isometric_slope", "minimum_activation", "fiber_damping"):
        assert f"{muscle}.{field}" in places
    assert any(name.endswith(".radius") for name in places)
    assert places[f"{muscle}.max_isometric_force"].unit == "N"


def test_what_a_class_does_not_have_has_no_name():
    model = mg.compile_model(muscle_bench())
    places = parameter_places(model)
    assert "thelen.KshapeActive" in places and "damped.KshapeActive" not in places
    assert "damped.fiber_damping" in places and "thelen.fiber_damping" not in places
    assert "classic.TendonForceLengthCurve.curviness" in places  # it is stated there,
    assert "damped.TendonForceLengthCurve.curviness" not in places  # and here left to the class


@pytest.mark.parametrize("case", [case for case in FORCES if case != "switched off"])
def test_forces_have_names(case: str):
    model = mg.compile_model(bench(case))
    owners = {name.partition(".")[0] for name in parameter_places(model)}
    assert {force.name for force in bench(case).forces} <= owners


def test_values_are_changed_by_name():
    leg = loaded(model_path("leg"))
    body, muscle = leg.body_names[0], leg.muscle_names[2]
    changed = with_values(leg, {f"{body}.mass": 9.5, f"{muscle}.max_isometric_force": 4000, "gravity.y": -1.62})
    assert changed.bodies.mass[0] == 9.5
    assert changed.muscles.max_isometric_force[2] == 4000
    assert changed.gravity[1] == -1.62
    assert leg.bodies.mass[0] != 9.5
    assert jax.tree.structure(changed) == jax.tree.structure(leg)
    assert values_of(changed, [f"{body}.mass", "gravity.x"]) == {
        f"{body}.mass": 9.5,
        "gravity.x": float(leg.gravity[0]),
    }
    assert with_values(leg, {}) is leg


def test_numbers_without_an_owner_go_by_their_place():
    leg = loaded(model_path("leg"))
    assert find(leg, "joints.slopes[0,0]").leaf == ".joints.slopes"
    assert find(leg, "muscles.numbers['minimum_activation'][1]").index == (1,)
    changed = with_values(leg, {"joints.offsets[3]": 0.25})
    assert changed.joints.offsets[3] == 0.25


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("thigh.mas", "has no parameter 'thigh.mas'; did you mean 'thigh.mass'"),
        ("joints.slopes[900,0]", r"the array joints.slopes of 'leg' has shape"),
        ("joints.slops[0,0]", "has no parameter"),
    ],
)
def test_wrong_names_are_told(name: str, message: str):
    with pytest.raises(mg.ModelError, match=message):
        with_values(loaded(model_path("leg")), {name: 1.0})


def test_wrong_values_are_told():
    leg = loaded(model_path("leg"))
    with pytest.raises(mg.ModelError, match="not a finite number"):
        with_values(leg, {"thigh.mass": float("nan")})
    with pytest.raises(mg.ModelError, match="one number, not an array"):
        with_values(leg, {"thigh.mass": [1.0, 2.0]})
    with pytest.raises(mg.ModelError, match="chosen twice"):
        Selection(leg, ["thigh.mass", "thigh.mass"])


@pytest.mark.parametrize(
    ("of", "name", "value", "message"),
    [
        ("muscles", "block.mass", -1.0, "is -1; it must not be negative"),
        ("muscles", "block.mass", jnp.asarray(-1.0), "is -1; it must not be negative"),
        ("muscles", "block.mass", jnp.asarray(jnp.inf), "inf is not a finite number"),
        ("muscles", "block.inertia.xx", -0.1, "the inertia of 'block' would have the principal moments -0.1, 0.1, 0.1"),
        ("muscles", "block.inertia.xy", 0.2, "the inertia of 'block' would have the principal moments -0.1, 0.1, 0.3"),
        ("muscles", "damped.optimal_fiber_length", 0.0, "is 0; it must be above 0"),
        ("muscles", "damped.minimum_activation", 1.5, "is 1.5; it must be from 0 to below 1"),
        ("muscles", "damped.activation_time_constant", -0.01, "is -0.01; it must be above 0"),
        ("muscles", "classic.fiber_damping", 0.3, "is 0.3; .* Millard's damped equation"),
        ("muscles", "thelen.Flen", 0.5, "is 0.5; it must be above 1"),
        ("PathActuator over a surface", "trunk/roll.radius", 0.0, "is 0; it must be above 0"),
        ("PathSpring", "band.stiffness", -5.0, "is -5; it must not be negative"),
        ("SpringGeneralizedForce", "twist.stiffness", -5.0, "is -5; it must not be negative"),
        ("BushingForce", "bushing.damping.2", -5.0, "is -5; it must not be negative"),
        ("CoordinateLimitForce", "stop.transition", 0.0, "is 0; it must be above 0"),
        ("Ligament", "own.resting_length", 0.0, "is 0; it must be above 0"),
        ("HuntCrossleyForce", "terms[0].static_friction[1]", -0.1, "is -0.1; it must not be negative"),
        ("SmoothSphereHalfSpaceForce", "smooth.transition_velocity", 0.0, "is 0; it must be above 0"),
    ],
)
def test_numbers_that_can_never_be_are_refused(of: str, name: str, value: Any, message: str):
    model = mg.compile_model(muscle_bench() if of == "muscles" else bench(of))
    with pytest.raises(mg.ModelError, match=message):
        with_values(model, {name: value})


def test_numbers_that_may_be_negative_are_taken():
    model = mg.compile_model(bench("SpringGeneralizedForce"))
    values = {"twist.rest_length": -0.4, "trunk.mass_center.x": -0.1, "gravity.y": 9.0, "trunk.mass": 0.0}
    assert values_of(with_values(model, values), list(values)) == values
    model = mg.compile_model(bench("PointToPointSpring"))
    assert values_of(with_values(model, {"spring.location.1.1": -0.2}), ["spring.location.1.1"])
    # Several numbers of one tensor are taken together, and traced ones as they come.
    with_values(model, {"trunk.inertia.xx": 1.0, "trunk.inertia.yy": 1.0, "trunk.inertia.xy": 0.5})
    assert jax.jit(lambda mass: with_values(model, {"trunk.mass": mass}).bodies.mass)(-1.0)[0] == -1.0


def test_a_selection_is_a_vector_to_differentiate_by():
    leg = loaded(model_path("leg"))
    chosen = Selection(leg, ["thigh.mass", f"{leg.muscle_names[0]}.ForceVelocityCurve.isometric_slope", "gravity.y"])
    q = leg.default_pose()
    state = mg.initial_state(leg)

    def speed(values):
        return jnp.sum(
            mg.state_derivative(chosen.set(leg, values), state, jnp.full(len(leg.control_names), 0.4)).u ** 2
        )

    at = chosen.get(leg)
    slope = jax.jit(jax.grad(speed))(at)
    program = jax.jit(speed)
    for k, step in enumerate(1e-5 * jnp.abs(at)):
        quotient = (program(at.at[k].add(step)) - program(at.at[k].add(-step))) / (2 * step)
        np.testing.assert_allclose(slope[k], quotient, rtol=1e-5, atol=1e-9 * np.abs(slope).max())
    assert len(chosen) == 3
    assert np.array_equal(chosen.get(chosen.set(leg, at)), at)
    assert q.shape == (len(leg.coordinate_names),)


def test_public_models_have_names_for_all_bodies_and_muscles(pack_model: Path):
    model = loaded(pack_model)
    places = parameter_places(model)
    assert all(f"{body}.mass" in places for body in model.body_names)
    assert all(f"{muscle}.max_isometric_force" in places for muscle in model.muscle_names)


def test_a_stack_is_not_one_model(leg: mg.Model):
    stack = jax.tree.map(lambda *leaves: jnp.stack(leaves), leg, leg, leg)
    for call in (lambda: mg.values_of(stack, ["thigh.mass"]), lambda: mg.with_values(stack, {"thigh.mass": 9.5})):
        with pytest.raises(mg.ModelError, match=r"stack of models.*jax\.vmap"):
            call()
    heavier = jax.vmap(lambda model, mass: mg.with_values(model, {"thigh.mass": mass}))(
        stack, jnp.array([7.0, 8.0, 9.0])
    )
    thigh = leg.body_names.index("thigh")
    np.testing.assert_array_equal(heavier.bodies.mass[:, thigh], [7.0, 8.0, 9.0])


def test_a_selection_is_of_one_structure(leg: mg.Model):
    chosen = mg.Selection(leg, ["thigh.mass"])
    other = mg.load_model("double_pendulum")
    for call in (lambda: chosen.get(other), lambda: chosen.set(other, jnp.ones(1))):
        with pytest.raises(mg.ModelError, match="another structure than 'double_pendulum'"):
            call()
    assert chosen == mg.Selection(mg.with_values(leg, {"thigh.mass": 9.0}), ["thigh.mass"])
    assert chosen != mg.Selection(leg, ["shank.mass"])


def test_a_number_in_an_array_must_be_finite_too(leg: mg.Model):
    with pytest.raises(mg.ModelError, match="not a finite number"):
        mg.with_values(leg, {"thigh.mass": jnp.array(jnp.nan)})


def test_things_of_one_name_are_told_apart_by_place():
    description = mg.read_osim(model_path("planar_leg"))
    description.markers[0].name = description.markers[1].name = "twin"
    model = mg.compile_model(description)
    assert "twin.location.x" not in mg.parameter_places(model)
    with pytest.raises(
        mg.ModelError, match=r"'twin.location.x' names 2 numbers.*marker_location\[0,0\] or marker_location\[0,1\]"
    ):
        mg.values_of(model, ["twin.location.x"])
    assert mg.values_of(model, ["marker_location[0,1]"])


@pytest.mark.parametrize("values", [5.0, [5.0], [5.0, 4.0, 3.0]])
def test_a_selection_takes_as_many_values_as_it_has(leg: mg.Model, values: object):
    with pytest.raises(mg.ModelError, match=r"\(2,\) is needed: one for each of thigh.mass, shank.mass"):
        Selection(leg, ["thigh.mass", "shank.mass"]).set(leg, values)  # pyright: ignore[reportArgumentType]


def test_a_selection_takes_finite_values(leg: mg.Model):
    with pytest.raises(mg.ModelError, match=r"'shank.mass' is not finite"):
        Selection(leg, ["thigh.mass", "shank.mass"]).set(leg, jnp.array([1.0, jnp.inf]))


@pytest.mark.parametrize("value", ["7.5", "7.5 kg", None, 1 + 2j, True])
def test_what_is_no_number_is_refused(leg: mg.Model, value: object):
    with pytest.raises(mg.ModelError, match=r"'thigh.mass': .* is not a finite number"):
        with_values(leg, {"thigh.mass": value})


def test_a_vector_is_named_by_its_components(leg: mg.Model):
    with pytest.raises(mg.ModelError, match=r"several numbers: thigh.mass_center.x, thigh.mass_center.y"):
        with_values(leg, {"thigh.mass_center": [0.0, 0.0, 0.0]})
    with pytest.raises(mg.ModelError, match=r"takes a list of names, \['thigh.mass'\]"):
        values_of(leg, "thigh.mass")


def test_computing_with_a_stack_says_so(leg: mg.Model):
    stack = jax.tree.map(lambda *leaves: jnp.stack(leaves), leg, leg)
    with pytest.raises(mg.ModelError, match=r"mass_matrix: this is a stack of models; map over it by jax.vmap"):
        mg.mass_matrix(stack, leg.default_pose())
    assert "stack of 2 models like 'planar_leg'" in repr(stack)
