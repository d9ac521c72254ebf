"""A model whose muscles are all equally active and in equilibrium: what Myograd and a live OpenSim say of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np

import myograd as mg
from computed import HASTE
from live_opensim import coordinates, muscles


def driven(model: mg.Model, q: np.ndarray, u: np.ndarray, activation: float) -> Any:
    """Lengths [n, m], tensions [n, m] and accelerations [n, c] at states q, u [n, c]."""
    given = np.full(len(model.muscle_names), activation)

    def at(q: jax.Array, u: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        fibers = mg.muscle_equilibrium(model, q, u, given)
        state = mg.State(q, u, given, fibers)
        tension = mg.muscle_dynamics(model, q, u, given, fibers).tendon_force
        return mg.muscle_lengths(model, q), tension, mg.state_derivative(model, state, given).u

    return jax.jit(jax.vmap(at), compiler_options=HASTE)(q, u)


def driven_in_opensim(opensim, path: Path, q: np.ndarray, u: np.ndarray, activation: float) -> tuple[np.ndarray, ...]:
    """The same; and which paths touch no surface [n, m]."""
    model = opensim.Model(str(path))
    state = model.initSystem()
    rows = []
    for pose, speed in zip(q, u, strict=True):
        for coordinate, value, rate in zip(coordinates(model), pose, speed, strict=True):
            coordinate.setValue(state, float(value), False)
            coordinate.setSpeedValue(state, float(rate))
        model.realizeVelocity(state)
        controls = model.updDefaultControls()
        for i in range(controls.size()):
            controls.set(i, activation)
        model.setControls(state, controls)
        for muscle in muscles(model):
            muscle.setActivation(state, activation)
            muscle.computeEquilibrium(state)
        model.realizeAcceleration(state)
        current = [muscle.getGeometryPath().getCurrentPath(state) for muscle in muscles(model)]
        kinds = [[course.get(i).getConcreteClassName() for i in range(course.getSize())] for course in current]
        rows.append(
            (
                [muscle.getLength(state) for muscle in muscles(model)],
                [muscle.getActuation(state) for muscle in muscles(model)],
                [coordinate.getAccelerationValue(state) for coordinate in coordinates(model)],
                ["PathWrapPoint" not in kind for kind in kinds],
            )
        )
    return tuple(np.array(column) for column in zip(*rows, strict=True))
