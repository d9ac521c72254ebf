"""What a live OpenSim says of a model file: its warnings, and the numbers that two files of one model must share."""

from __future__ import annotations

from contextlib import contextmanager
from os import PathLike
from typing import Any

import numpy as np


@contextmanager
def warnings_of(opensim):
    """Collect what OpenSim logs as warnings or errors: `with warnings_of(opensim) as said: ...; said()`."""
    sink, level = opensim.StringLogSink(), opensim.Logger.getLevel()
    opensim.Logger.addSink(sink)
    opensim.Logger.setLevelString("Warn")
    try:
        yield sink.getString
    finally:
        opensim.Logger.setLevel(level)
        opensim.Logger.removeSink(sink)


def coordinates(model) -> list:
    return [model.getCoordinateSet().get(i) for i in range(model.getNumCoordinates())]


def muscles(model) -> list:
    return [model.getMuscles().get(i) for i in range(model.getMuscles().getSize())]


def _rigid(transform) -> np.ndarray:
    """[4, 3]: the rows of the rotation, then the origin."""
    rotation, origin = transform.R(), transform.p()
    return np.array([[rotation.get(i, j) for j in range(3)] for i in range(3)] + [[origin.get(i) for i in range(3)]])


def _matrix(matrix) -> np.ndarray:
    return np.array([[matrix.get(i, j) for j in range(matrix.ncol())] for i in range(matrix.nrow())])


def numbers(opensim, path: str | PathLike[str], poses: int, arms: int = 8) -> dict[str, np.ndarray]:
    """Masses, and at each of a few random poses (the same for every file of a model): the coordinates that meet the
    constraints, body transforms, markers, mass matrix, muscle lengths, some of the moment arms (they are slow), and the
    accelerations under all forces with every muscle half active and in equilibrium.
    """
    model = opensim.Model(str(path))
    state = model.initSystem()
    matter = model.getMatterSubsystem()
    bodies = [model.getBodySet().get(i) for i in range(model.getBodySet().getSize())]
    markers = [model.getMarkerSet().get(i) for i in range(model.getMarkerSet().getSize())]
    out: dict[str, Any] = {"mass": [b.getMass() for b in bodies]}
    random = np.random.default_rng(7)
    for pose in range(poses):
        for c in coordinates(model):
            low, high = max(c.getRangeMin(), -1.25), min(c.getRangeMax(), 1.25)
            value = low + (high - low) * random.uniform(0.1, 0.9)
            if not (c.getLocked(state) or c.isPrescribed(state) or c.isDependent(state)):
                c.setValue(state, value, False)
                c.setSpeedValue(state, random.normal())
        model.assemble(state)
        model.realizeVelocity(state)
        mass_matrix = opensim.Matrix()
        matter.calcM(state, mass_matrix)
        out[f"q {pose}"] = [c.getValue(state) for c in coordinates(model)]
        out[f"poses {pose}"] = [_rigid(b.getTransformInGround(state)) for b in bodies]
        out[f"markers {pose}"] = [m.getLocationInGround(state).to_numpy() for m in markers]
        out[f"mass matrix {pose}"] = _matrix(mass_matrix)
        out[f"lengths {pose}"] = [m.getLength(state) for m in muscles(model)]
        chosen = [(m, c) for m in muscles(model) for c in coordinates(model) if not c.isDependent(state)]
        out[f"moment arms {pose}"] = [m.computeMomentArm(state, c) for m, c in chosen[:: len(chosen) // arms + 1]]
        for muscle in muscles(model):
            muscle.setActivation(state, 0.5)
            try:
                muscle.computeEquilibrium(state)
            except RuntimeError:  # a fibre that cannot be in equilibrium here stays where it was
                continue
        model.realizeAcceleration(state)
        out[f"accelerations {pose}"] = state.getUDot().to_numpy()
    return {key: np.array(value, dtype=float) for key, value in out.items()}
