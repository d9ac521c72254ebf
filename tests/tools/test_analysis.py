"""Muscles along a motion against OpenSim's own MuscleAnalysis, live."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import myograd as mg
from myograd.tools import analysis

TIME = np.linspace(0.0, 1.0, 21)


def swing(model: mg.Model) -> mg.Table:
    """Every free coordinate moves in its own rhythm through a part of its range, in degrees."""
    free = [model.coordinate_names[i] for i in model.constraints.free]
    low, high = np.clip(np.asarray(model.coordinates.range)[:, model.constraints.free], -0.6, 0.6)
    rhythm = np.arange(1, len(free) + 1)
    angles = (low + high) / 2 + (high - low) / 4 * np.sin(np.outer(TIME, 2 + rhythm / 2))
    assert all(model.names.rotational[i] for i in model.constraints.free)
    return mg.Table(TIME, np.rad2deg(angles), tuple(free), in_degrees=True)


def opensims(opensim, model: Path, motion: Path, folder: Path) -> dict[str, mg.Table]:
    """What OpenSim's AnalyzeTool writes."""
    tool = opensim.AnalyzeTool()
    tool.setName("it")
    tool.setModelFilename(str(model))
    tool.setCoordinatesFileName(str(motion))
    tool.setStartTime(0.0)
    tool.setFinalTime(1.0)
    tool.setSolveForEquilibrium(True)
    tool.setLowpassCutoffFrequency(-1)
    tool.setResultsDir(str(folder))
    analysis = opensim.MuscleAnalysis()
    analysis.setComputeMoments(True)
    tool.getAnalysisSet().cloneAndAppend(analysis)
    tool.printToXML(str(folder / "setup.xml"))
    assert opensim.AnalyzeTool(str(folder / "setup.xml")).run()
    start = "it_MuscleAnalysis_"
    return {path.stem.removeprefix(start): mg.read_table(path) for path in folder.glob(f"{start}*.sto")}


@pytest.fixture(scope="module")
def leg() -> mg.Model:
    return mg.load_model("planar_leg")


@pytest.fixture(scope="module")
def states(leg: mg.Model) -> mg.Table:
    """Of a short simulation."""
    motion = mg.simulate(leg, mg.initial_state(leg), np.full(len(leg.control_names), 0.3), at=[0.01, 0.02, 0.03])
    return mg.state_table(leg, motion)


def test_everything_is_opensims(leg: mg.Model, opensim, tmp_path: Path, measured: Callable[..., None]):
    """A Millard leg without surfaces; OpenSim writes eight digits after the point."""
    mg.write_table(swing(leg), tmp_path / "swing.mot")
    theirs = opensims(opensim, mg.models.model_path("planar_leg"), tmp_path / "swing.mot", tmp_path)
    ours = mg.tools.analyze(leg, tmp_path / "swing.mot").tables()
    assert set(theirs) == set(ours)
    worst = 0.0
    for name, table in theirs.items():
        # OpenSim's moment arm of rectus_femoris lacks the work of its moving point (docs/moment-arms.md); its power does not.
        muscles = [m for m in leg.muscle_names if not (m == "rectus_femoris" and name.startswith("Moment"))]
        expected, found = table.columns(muscles), ours[name].columns(muscles)
        whole = theirs["MuscleActuatorPower"] if name.endswith("Power") else table  # fibres are at rest, to rounding
        size = max(float(np.abs(whole.data).max()), 1.0)
        worst = max(worst, float(np.abs(found - expected).max()) / size)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * size, err_msg=name)
    measured("MuscleAnalysis", worst)


def test_states_are_analysed_as_they_are(leg: mg.Model):
    """The rates of a simulation are the velocities of the analysis."""
    controls = np.full(len(leg.control_names), 0.3)
    motion = mg.simulate(leg, mg.initial_state(leg), controls, at=[0.01, 0.02, 0.03])
    found = mg.tools.analyze(leg, states=mg.state_table(leg, motion))
    rates = mg.state_derivative(leg, motion.at(1), controls)
    np.testing.assert_allclose(found.quantities["FiberVelocity"][1], rates.fiber_length, rtol=1e-9, atol=1e-12)
    power = found.quantities["MuscleActuatorPower"][1]
    moments = np.nansum(found.moment_arms[1] * np.asarray(motion.state.u[1]), axis=1)
    np.testing.assert_allclose(power, found.quantities["TendonForce"][1] * moments, rtol=1e-9, atol=1e-9)


def test_results_are_saved_under_opensims_names(leg: mg.Model, tmp_path: Path):
    found = mg.tools.analyze(leg, swing(leg), activation=0.2)
    written = found.save(tmp_path / "new", "leg_MuscleAnalysis_")
    assert tmp_path / "new" / "leg_MuscleAnalysis_MomentArm_knee_flexion.sto" in written
    again = mg.read_table(tmp_path / "new" / "leg_MuscleAnalysis_TendonForce.sto")
    np.testing.assert_array_equal(again.data, found.quantities["TendonForce"])
    with pytest.raises(mg.MyogradError, match="is a file; results are saved into a folder"):
        found.save(written[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either a motion .* or states"),
        (
            {"states": mg.Table(TIME, np.zeros((21, 1)), ("knee_flexion",)), "activation": 0.1},
            "bring their own activations",
        ),
        (
            {"motion": mg.Table(TIME[:4], np.zeros((4, 3)), ("hip_flexion", "knee_flexion", "ankle_dorsiflexion"))},
            "at least 6",
        ),
    ],
)
def test_what_cannot_be_analysed_is_told(leg: mg.Model, arguments: dict, message: str):
    with pytest.raises(mg.MyogradError, match=message):
        mg.tools.analyze(leg, **arguments)


def test_states_given_as_a_motion_are_told(leg: mg.Model):
    table = swing(leg)
    names = (*table.names, "/forceset/soleus/activation")
    states = mg.Table(table.time, np.column_stack([table.data, 0.1 + 0 * table.time]), names, in_degrees=True)
    with pytest.warns(mg.MotionWarning, match="give it as states"):
        mg.tools.analyze(leg, states, activation=0.2)


def test_another_motion_compiles_nothing(leg: mg.Model):
    mg.tools.analyze(leg, swing(leg), activation=0.2)
    program: Any = analysis._equilibrium
    traced = program._cache_size()
    mg.tools.analyze(leg, swing(leg), activation=0.3)
    assert program._cache_size() == traced > 0


@pytest.mark.parametrize("kind", ["value", "speed", "activation", "fiber_length"])
def test_a_gap_in_the_states_is_told(leg: mg.Model, states: mg.Table, kind: str):
    column = next(i for i, name in enumerate(states.names) if name.endswith(f"/{kind}"))
    data = states.data.copy()
    data[1, column] = np.nan
    with pytest.raises(mg.ModelError, match=rf"column '{states.names[column]}' is not finite at 0\.02 s; fill the gap"):
        mg.tools.analyze(leg, states=replace(states, data=data))


def test_speeds_that_are_missing_are_told(leg: mg.Model, states: mg.Table):
    keep = [i for i, name in enumerate(states.names) if not name.endswith("knee_flexion/speed")]
    table = mg.Table(states.time, states.data[:, keep], tuple(states.names[i] for i in keep))
    with pytest.warns(mg.MotionWarning, match="the states have no speed of knee_flexion: at rest there"):
        mg.tools.analyze(leg, states=table)


def test_coupled_coordinates_move_along():
    """Speeds of states obey the constraints, although only free coordinates have a column."""
    model = mg.load_model("coupled_mechanism")
    q = mg.pose(model)
    free = [model.coordinate_names[i] for i in model.constraints.free]
    names = tuple(f"/jointset/it/{name}/{kind}" for kind in ("value", "speed") for name in free)
    row = np.concatenate([np.asarray(q)[model.constraints.free], np.ones(len(free))])
    found = mg.tools.analyze(model, states=mg.Table(np.zeros(1), row[None], names))
    u = mg.project_speeds(model, q, np.ones(len(q)))
    lengthening = -found.quantities["MuscleActuatorPower"][0] / found.quantities["TendonForce"][0]
    np.testing.assert_allclose(lengthening, mg.muscle_speeds(model, q, u), rtol=1e-9)
    alone = np.isin(np.arange(len(q)), model.constraints.free).astype(float)
    assert not np.allclose(lengthening, mg.muscle_speeds(model, q, alone), rtol=1e-3)  # or the model would not tell


def test_a_model_without_muscles_is_told():
    description = mg.read_osim(mg.models.model_path("double_pendulum"))
    description.muscles.clear()
    with pytest.raises(mg.MyogradError, match="has no muscles"):
        mg.tools.analyze(mg.compile_model(description), mg.Table(TIME, np.zeros((21, 1)), ("shoulder",)))
