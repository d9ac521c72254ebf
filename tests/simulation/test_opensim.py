"""A second of muscle-driven motion against OpenSim's Manager, accuracy 1e-7 there.

Where paths wrap, OpenSim's muscles pull with moment arms that are not the gradients of their own lengths (docs/paths.md), so
motions part by more than any integrator's error. Models with surfaces are therefore compared without them, on both sides; how
far they are apart with them is in docs/simulation.md. The same holds of moving path points beyond the range of their coordinate,
so the leg starts where its knee stays within.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import myograd as mg
from myograd import models
from myograd.app.peer import simulated
from oracle_pack import NO_PACK, PACK

WITHIN = 1e-4  # rad, m, rad/s, m/s, activation, m
TRAVEL = 0.05  # rad, m: how far a motion goes at least
STARTS = {"leg": {"hip_flexion": 0.6, "knee_flexion": 1.2}}
FOLLOWED = {"leg": "knee_flexion"}  # by moving path points
WAVES = {"Tug_of_War_Millard": (0.3, 0.25, np.pi)}  # its two muscles pull in turn; together they hardly move the block
CASES = [
    pytest.param("Gait10dof18musc", id="Gait10dof18musc"),
    pytest.param("Tug_of_War_Millard", id="Tug_of_War_Millard", marks=pytest.mark.slow),
    pytest.param("Arm26", id="Arm26", marks=pytest.mark.slow),
    pytest.param("arm", id="arm"),
    pytest.param("leg", id="leg", marks=pytest.mark.slow),
]


def model_file(name: str, folder: Path) -> Path:
    """A model of the pack or one of ours; a copy without wrapping if its paths wrap."""
    if name in models.names():
        path = models.model_path(name)
    elif (PACK / "models" / f"{name}.osim").exists():
        path = PACK / "models" / f"{name}.osim"
    else:
        pytest.skip(NO_PACK)
    description = mg.read_osim(path)
    if not any(muscle.path.wraps for muscle in description.muscles):
        return path
    for muscle in description.muscles:
        muscle.path.wraps.clear()
    mg.write_osim(description, folder / path.name)
    return folder / path.name


def excitations(model: mg.Model, time: np.ndarray, name: str) -> np.ndarray:
    """A wave for each muscle, one after the other; nothing for other actuators."""
    mean, height, behind = WAVES.get(name, (0.15, 0.1, 1.0))
    which = np.arange(len(model.control_names))
    waves = mean + height * np.sin(2 * np.pi * time[:, None] + behind * which)
    return np.where(np.isin(which, np.array(model.muscle_classes.control, int)), waves, 0.0)


def within_range(model: mg.Model, name: str, values: np.ndarray) -> bool:
    coordinate = next(c for joint in model.document.description.joints for c in joint.coordinates if c.name == name)
    return bool(((values > coordinate.range[0]) & (values < coordinate.range[1])).all())


@pytest.mark.parametrize("name", CASES)
def test_states_are_opensims(name, opensim, measured, tmp_path):
    path = model_file(name, tmp_path)
    model = mg.load_model(path)
    q = np.array(model.default_pose())
    for coordinate, value in STARTS.get(name, {}).items():
        q[model.coordinate_names.index(coordinate)] = value
    start = mg.initial_state(model, q, activation=0.1)
    time = np.linspace(0, 1, 11)
    controls = excitations(model, time, name)
    ours = mg.simulate(model, start, mg.ControlSignal(time, controls), at=time, accuracy=1e-9).state
    theirs = simulated(path, start, time, controls, time, 1e-7)
    assert np.ptp(theirs.q, axis=0).max() > TRAVEL
    if name in FOLLOWED:
        assert within_range(model, FOLLOWED[name], theirs.q[:, model.coordinate_names.index(FOLLOWED[name])])
    for what in ("q", "u", "activation", "fiber_length"):
        there = np.isfinite(getattr(theirs, what))
        measured(what, np.abs(np.asarray(getattr(ours, what)) - getattr(theirs, what))[there].max())
        assert np.abs(np.asarray(getattr(ours, what)) - getattr(theirs, what))[there].max() < WITHIN, what
