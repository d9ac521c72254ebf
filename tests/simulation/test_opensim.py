"""A second of muscle-driven motion against OpenSim's Manager, accuracy 1e-7 there.

Where paths wrap, OpenSim's muscles pull with moment arms that are not the gradients of their own lengths (docs/paths.md), so
motions part by more than any integrator's error. Models with surfaces are therefore compared without them, on both sides; how
far they are apart with them is in docs/simulation.md.
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


@pytest.mark.parametrize("name", CASES)
def test_states_are_opensims(name, opensim, measured, tmp_path):
    path = model_file(name, tmp_path)
    model = mg.load_model(path)
    start = mg.initial_state(model, activation=0.1)
    time = np.linspace(0, 1, 11)
    waves = 0.15 + 0.1 * np.sin(2 * np.pi * time[:, None] + np.arange(len(model.control_names)))
    muscle = np.isin(np.arange(len(model.control_names)), np.array(model.muscle_classes.control, int))
    controls = np.where(muscle, waves, 0.0)
    ours = mg.simulate(model, start, mg.ControlSignal(time, controls), at=time, accuracy=1e-9).state
    theirs = simulated(path, start, time, controls, time, 1e-7)
    assert np.abs(theirs.q - theirs.q[0]).max() > 0.05  # it moved
    for what in ("q", "u", "activation", "fiber_length"):
        there = np.isfinite(getattr(theirs, what))
        measured(what, np.abs(np.asarray(getattr(ours, what)) - getattr(theirs, what))[there].max())
        assert np.abs(np.asarray(getattr(ours, what)) - getattr(theirs, what))[there].max() < WITHIN, what
