"""OpenSim's results for the same file, at the same poses or from the same start, for `--against opensim`; Myograd itself does
not depend on it."""

from __future__ import annotations

import importlib
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from myograd.errors import MyogradError, quoted


def opensim() -> Any:
    """The `opensim` package, silent and without its log file."""
    try:
        module = importlib.import_module("opensim")
    except ImportError as error:
        raise MyogradError(
            f"the comparison needs OpenSim's Python package, which cannot be imported ({error}): pip install opensim"
        ) from None
    module.Logger.setLevelString("Off")
    module.Logger.removeFileSink()
    return module


class OpenSimModel:
    """A model as OpenSim reads it."""

    def __init__(self, path: Path):
        package = opensim()
        try:
            self.model = package.Model(str(path))
            self.state = self.model.initSystem()
        except RuntimeError as error:
            raise MyogradError(f"OpenSim cannot load {quoted(path)}: {error}") from None

    def lengths_and_arms(
        self, names: tuple[str, ...], q: np.ndarray, coordinate: str, muscles: tuple[str, ...]
    ) -> tuple[np.ndarray, np.ndarray]:
        """[poses, muscles] lengths [m] and moment arms about `coordinate` at poses q [poses, coordinates], whose columns are
        `names`; NaN where a pose is."""
        coordinates, everything = self.model.getCoordinateSet(), self.model.getMuscles()
        about, paths = coordinates.get(coordinate), [everything.get(name) for name in muscles]
        lengths, arms = np.full((2, len(q), len(muscles)), np.nan)
        for i, values in enumerate(q):
            if np.isnan(values).any():
                continue
            for name, value in zip(names, values, strict=True):
                if not coordinates.get(name).getLocked(self.state):  # those stay at their default, in both
                    coordinates.get(name).setValue(self.state, float(value), False)
            self.model.realizePosition(self.state)
            lengths[i] = [path.getLength(self.state) for path in paths]
            arms[i] = [path.computeMomentArm(self.state, about) for path in paths]
        return lengths, arms


class OpenSimRun(NamedTuple):
    """States at the times asked for, in the order of OpenSim's sets, and the seconds that it took."""

    q: np.ndarray
    u: np.ndarray
    activation: np.ndarray
    fiber_length: np.ndarray
    seconds: float


def simulated(
    path: Path,
    start: Any,
    control_time: np.ndarray,
    controls: np.ndarray,
    times: np.ndarray,
    accuracy: float,
    method: str = "RungeKuttaMerson",
) -> OpenSimRun:
    """A simulation by OpenSim's Manager. `start`: q, u, activation, fiber_length; `controls` [n, actuators] at `control_time`,
    joined by lines; `times`: increasing, the first one's states are the start's."""
    package = opensim()
    model = package.Model(str(path))
    controller = package.PrescribedController()
    actuators = model.getActuators()
    for i in range(actuators.getSize()):
        actuator = actuators.get(i)
        controller.addActuator(actuator)
        signal = package.PiecewiseLinearFunction()
        for t, value in zip(control_time, controls[:, i], strict=True):
            signal.addPoint(float(t), float(value))
        controller.prescribeControlForActuator(actuator.getName(), signal)
    model.addController(controller)
    state = model.initSystem()
    for coordinate, value, rate in zip(_all(model.getCoordinateSet()), start.q, start.u, strict=True):
        if not coordinate.getLocked(state):
            coordinate.setValue(state, float(value), False)
            coordinate.setSpeedValue(state, float(rate))
    names = {str(model.getStateVariableNames().get(i)) for i in range(model.getNumStateVariables())}
    model.realizeVelocity(state)
    for muscle, activation in zip(_all(model.getMuscles()), start.activation, strict=True):
        muscle.setActivation(state, float(activation))
    paths = [f"/forceset/{muscle.getName()}/fiber_length" for muscle in _all(model.getMuscles())]
    for name, length in zip(paths, start.fiber_length, strict=True):
        if name in names:
            model.setStateVariableValue(state, name, float(length))

    manager = package.Manager(model)
    manager.setIntegratorMethod(getattr(package.Manager, f"IntegratorMethod_{method}"))
    manager.setIntegratorAccuracy(accuracy)
    manager.setWriteToStorage(False)
    manager.setPerformAnalyses(False)
    begin = time.perf_counter()
    manager.initialize(state)
    rows = [_row(model, state, paths, names)]
    for t in times[1:]:
        rows.append(_row(model, manager.integrate(float(t)), paths, names))
    seconds = time.perf_counter() - begin
    return OpenSimRun(*(np.array(column) for column in zip(*rows, strict=True)), seconds)  # pyright: ignore[reportCallIssue]


def _row(model: Any, state: Any, paths: list[str], names: set[str]) -> tuple[list[float], ...]:
    return (
        [c.getValue(state) for c in _all(model.getCoordinateSet())],
        [c.getSpeedValue(state) for c in _all(model.getCoordinateSet())],
        [muscle.getActivation(state) for muscle in _all(model.getMuscles())],
        [model.getStateVariableValue(state, name) if name in names else np.nan for name in paths],
    )


def _all(collection: Any) -> list[Any]:
    return [collection.get(i) for i in range(collection.getSize())]
