"""Simulation as a tool: forces as OpenSim reports them, tables, and what is refused before anything is compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import myograd as mg
from force_bench import bench, skeleton
from myograd.app.simulation_plot import panels
from myograd.model.description import (
    CoordinateActuator,
    CoordinateLimitForce,
    Ligament,
    LinearFunction,
    PathActuator,
    PathSpring,
    SpringGeneralizedForce,
)

CONTROLS = mg.Table(np.array([0.0, 0.05]), np.array([[0.0, 0.3], [0.2, 0.6]]), ("vasti", "soleus"))


@functools.cache
def leg() -> mg.Model:
    return mg.load_model("planar_leg")


@functools.cache
def done() -> mg.tools.Simulation:
    """A bent knee, two muscles excited."""
    start = mg.initial_state(leg(), mg.pose(leg(), knee_flexion=0.5))
    with pytest.warns(mg.ControlWarning):
        return mg.tools.simulate(leg(), CONTROLS, initial=start, duration=0.05)


def reported(opensim, path: Path, states: mg.Table, controls: mg.Table, folder: Path) -> mg.Table:
    """OpenSim's ForceReporter at given states and controls."""
    model = opensim.Model(str(path))
    state = model.initSystem()
    reporter = opensim.ForceReporter(model)
    for row, time in enumerate(states.time.tolist()):
        state.setTime(time)
        for name, value in zip(states.names, states.data[row].tolist(), strict=True):
            model.setStateVariableValue(state, name, value)
        given = opensim.Vector(model.getNumControls(), 0.0)
        for i, value in enumerate(controls.data[row].tolist()):
            given[i] = value
        model.realizeVelocity(state)
        model.setControls(state, given)
        model.realizeDynamics(state)
        if row:
            reporter.step(state, row)
        else:
            reporter.begin(state)
    reporter.printResults("it", str(folder), -1.0, ".sto")
    return mg.read_table(folder / "it_ForceReporter_forces.sto")


def test_muscle_forces_are_those_of_opensims_force_reporter(opensim, tmp_path: Path, measured: Callable[..., None]):
    result = done()
    ours = result.forces()
    path = mg.models.model_path("planar_leg")
    theirs = reported(opensim, path, result.states(), result.controls(), tmp_path)
    assert set(ours.names) == set(theirs.names) == set(leg().muscle_names)
    gap = np.abs(ours.data - theirs.columns(ours.names)).max() / np.abs(ours.data).max()
    measured("ForceReporter", gap)
    assert gap < 1e-7  # OpenSim writes eight digits after the point


SCALAR = [CoordinateActuator, CoordinateLimitForce, SpringGeneralizedForce, PathActuator, PathSpring, Ligament]


@pytest.mark.filterwarnings("ignore:.*PotentialEnergy")
def test_other_forces_are_those_of_opensims_force_reporter(opensim, tmp_path: Path):
    """Every class of force that is one number, on one skeleton. OpenSim gives limits a column of their energy, too."""
    description = skeleton()
    cases = [bench(case).forces for case in ("CoordinateActuator", "CoordinateLimitForce", "SpringGeneralizedForce")]
    cases += [bench(case).forces for case in ("PathActuator", "PathSpring", "Ligament")]
    description.forces = [force for forces in cases for force in forces]
    assert {type(force) for force in description.forces} == set(SCALAR)
    mg.write_osim(description, tmp_path / "bench.osim")
    model = mg.load_model(tmp_path / "bench.osim")
    n, random = 6, np.random.default_rng(3)
    q = random.uniform(-0.6, 0.6, (n, len(model.coordinate_names)))
    q[:, 3:6] *= 0.3
    nothing = jnp.zeros((n, 0))
    time = jnp.arange(float(n))
    state = jax.vmap(mg.State)(jnp.asarray(q), jnp.asarray(random.normal(size=q.shape)), nothing, nothing, time)
    controls = jnp.asarray(random.uniform(-1, 1, (n, len(model.control_names))))
    result = mg.tools.Simulation(model=model, trajectory=mg.Trajectory(time, state, controls, 0, 0))
    theirs = reported(opensim, tmp_path / "bench.osim", result.states(), result.controls(), tmp_path)
    ours = result.forces()
    assert set(ours.names) == set(theirs.names) - {"PotentialEnergy"}
    assert (np.abs(ours.data).max(axis=0) > 0).sum() >= len(ours.names) - 1  # one spring is slack
    for name in ours.names:
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-7, atol=1e-7, err_msg=name)


def test_everything_is_saved(tmp_path: Path):
    result = done()
    names = {path.name for path in result.save(tmp_path, "leg_")}
    tables = result.tables()
    assert names == {f"leg_{name}.sto" for name in tables}
    assert {"states", "controls", "ForceReporter_forces", "MuscleAnalysis_TendonForce"} <= set(tables)
    assert "MuscleAnalysis_MomentArm_knee_flexion" in tables
    np.testing.assert_allclose(
        tables["MuscleAnalysis_TendonForce"]["vasti"], tables["ForceReporter_forces"]["vasti"], rtol=1e-12
    )
    assert not result.stopped and result.messages == ()
    np.testing.assert_array_equal(
        tables["controls"]["/forceset/soleus"], np.interp(result.trajectory.time, [0, 0.05], [0.3, 0.6])
    )


def test_activations_are_shown_as_they_act_and_kept_as_they_are():
    """Without excitation the integrated state sinks below the least activation; OpenSim's getActivation does not."""
    start = mg.initial_state(leg(), activation=0.02)
    result = mg.tools.simulate(leg(), initial=start, duration=0.2)
    least = np.asarray(leg().muscles.numbers["minimum_activation"])
    assert (least > 0).all()
    names = [f"/forceset/{name}/activation" for name in leg().muscle_names]
    np.testing.assert_array_equal(result.states().columns(names)[-1], least)
    (shown,) = (panel for panel in panels(leg(), result.trajectory) if panel.title.startswith("activation"))
    np.testing.assert_array_equal(shown.values[-1], least)
    half, end = result.trajectory.at(10), result.trajectory.at(-1)
    assert (np.asarray(half.activation) < least).all() and (np.asarray(end.activation) < 0).all()
    rest = mg.tools.simulate(leg(), initial=half, duration=0.1).trajectory
    np.testing.assert_allclose(rest.at(-1).activation, end.activation, atol=1e-6)
    mg.tools.simulate(leg(), initial=end, duration=0.01)  # goes on from below 0, too


def test_a_start_is_assembled_at_its_time():
    """A coordinate that a function of time sets: 0.2 + 0.5 t."""
    description = mg.read_osim(mg.models.model_path("double_pendulum"))
    description.muscles.clear()
    elbow = description.joints[1].coordinates[0]
    elbow.prescribed, elbow.prescribed_function = True, LinearFunction((0.5, 0.2))
    model = mg.compile_model(description)
    nothing = mg.ControlSignal(jnp.array([2.0, 2.01]), jnp.zeros((2, len(model.control_names))))
    rows = mg.Table(np.array([2.0]), np.zeros((1, 1)), ("shoulder_angle",), in_degrees=False)
    for start in (None, rows):
        first = mg.tools.simulate(model, nothing, initial=start).trajectory.at(0)
        assert float(first.time) == 2.0
        np.testing.assert_allclose([first.q[1], first.u[1]], [1.2, 0.5], rtol=1e-12)
    state = mg.initial_state(model, time=2.0)
    np.testing.assert_allclose([state.q[1], state.u[1], state.time], [1.2, 0.5, 2.0], rtol=1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"interval": 0.0}, "interval must be a positive number of seconds, not 0"),
        ({"duration": -1.0}, "duration must be a positive number of seconds, not -1"),
        ({"integrator": "adam"}, "did you mean 'adams'"),
        ({"accept": ("mat", "foot")}, "accept names 'mat', 'foot', none of which is an unsupported part"),
        ({"controls": mg.Table(np.zeros(0), np.zeros((0, 1)), ("vasti",))}, "controls: the table has no rows"),
        (
            {"controls": mg.Table(np.arange(2.0), np.zeros((2, 1, 3)), ("vasti",))},
            "each cell of the table holds 3 numbers",
        ),
        ({"controls": mg.Table(np.arange(2.0), np.zeros((2, 2)), ("vast", "sol"))}, r"2 columns \(vast, sol\)"),
        ({"controls": CONTROLS, "duration": 0.1}, "controls are given from 0 to 0.05 s, but .* from 0 to 0.1 s"),
        (
            {"initial": mg.Table(np.zeros(0), np.zeros((0, 1)), ("knee_flexion",))},
            "initial state: the table has no rows",
        ),
        ({"initial": mg.Table(np.zeros(1), np.zeros((1, 1)), ("kne_flexion",))}, "did you mean 'knee_flexion'"),
        ({"initial": mg.Table(np.ones(1), np.zeros((1, 1)), ("knee_flexion",)), "controls": CONTROLS}, "end at 0.05 s"),
    ],
)
@pytest.mark.filterwarnings("ignore::myograd.ControlWarning")
def test_what_is_wrong_is_told_before_anything_is_compiled(
    given: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
):
    def compiled(*_: object, **__: object) -> None:
        raise AssertionError("the check came too late")

    monkeypatch.setattr(mg.tools.simulation, "initial_state", compiled)
    monkeypatch.setattr(mg.tools.simulation, "state_from_table", compiled)
    monkeypatch.setattr(mg.tools.simulation, "run", compiled)
    with pytest.raises(mg.MyogradError, match=message):
        mg.tools.simulate(leg(), **given)


@pytest.mark.parametrize(
    ("argument", "name", "message"),
    [
        ("controls", "walk.trc", "expected a table with one number in each cell"),
        ("controls", "leg.osim", "leg.osim: .osim is not a table format, but that of an OpenSim model; expected .sto"),
        ("initial", "leg.osim", "leg.osim: .osim is not a table format, but that of an OpenSim model; expected .sto"),
        ("external_loads", "walk.trc", r"walk.trc: is a table of markers \(.trc\); expected .*<ExternalLoads>"),
    ],
)
def test_files_of_another_kind_are_named(argument: str, name: str, message: str, tmp_path: Path):
    markers = mg.Table(np.arange(2.0), np.zeros((2, 1, 3)), ("heel",), units="m")
    mg.write_table(markers, tmp_path / "walk.trc")
    (tmp_path / "leg.osim").write_text(mg.models.model_path("planar_leg").read_text())
    given: dict[str, Any] = {argument: tmp_path / name}
    with pytest.raises(mg.MyogradError, match=message):
        mg.tools.simulate(leg(), **given)


def test_what_is_accepted_stays_accepted(tmp_path: Path):
    """A constraint and a force that are not computed are left out of poses, analyses and everything that is saved."""
    text = mg.models.model_path("double_pendulum").read_text()
    start = text.index("<objects>", text.index("<ForceSet")) + len("<objects>")
    text = text[:start] + '<ExpressionBasedPointToPointForce name="mat"/>' + text[start:]
    odd = '<ConstraintSet name="constraintset"><objects><RollingOnSurfaceConstraint name="roll"/></objects></ConstraintSet>'
    (tmp_path / "odd.osim").write_text(text.replace("</Model>", f"{odd}</Model>"))
    model, accept = mg.load_model(tmp_path / "odd.osim"), ("mat", "roll")
    name = model.coordinate_names[0]
    motion = mg.Table(np.linspace(0, 1, 6), np.zeros((6, len(model.coordinate_names))), model.coordinate_names)
    for refused in (
        lambda: mg.pose(model, {name: 0.1}),
        lambda: mg.read_motion(model, motion),
        lambda: mg.tools.analyze(model, motion, accept=("mat",)),
    ):
        with pytest.raises(mg.UnsupportedError, match="RollingOnSurfaceConstraint 'roll'"):
            refused()
    assert float(mg.pose(model, {name: 0.1}, accept=accept)[0]) == 0.1
    assert len(mg.read_motion(model, motion, accept=accept)) == 6
    along = mg.tools.analyze(model, motion, accept=accept)
    assert np.isfinite(along.quantities["TendonForce"]).all()
    moved = mg.tools.simulate(model, duration=0.02, accept=accept)
    assert moved.accept == accept
    assert "MuscleAnalysis_TendonForce" in moved.tables()
    again = mg.tools.analyze(model, states=moved.states(), accept=accept)
    np.testing.assert_allclose(again.quantities["TendonForce"], moved.forces().columns(model.muscle_names), rtol=1e-12)
