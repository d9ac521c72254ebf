"""Accelerations driven by muscles with fibre states, under all forces of a model, and equilibria of all muscles: by OpenSim and
by Myograd.

    python benchmarks/muscles.py [MODEL ...]       prints; `benchmarks/run.py` makes it part of the page

Activations are 0.5, fibres in equilibrium. OpenSim gets its states as it keeps them (q, u, z) and is asked for
`realizeAcceleration`, which gives accelerations, fibre velocities and activation rates; so does `state_derivative`. Over
surfaces the two do not compute the same (docs/wrapping.md): how far accelerations are apart at the median pose is said.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import numpy as np
import opensim
from ours import BATCH, first_call, repeated, runner, streamed
from peers_opensim import Side
from table import Compared, Grid, compared_grid
from timing import timed

import myograd as mg

ACTIVATION = 0.5
ACCELERATIONS, EQUILIBRIUM = "muscle-driven accelerations", "equilibrium of all muscles"
FASTER = {
    ("Rajagopal2016", ACCELERATIONS): (10.0, 3.0),
    ("MoBL_ARMS", ACCELERATIONS): (20.0, 10.0),
    **{(name, EQUILIBRIUM): (20.0, None) for name in ("Arm26", "Gait10dof18musc", "Rajagopal2016", "MoBL_ARMS")},
}
"""How many times as fast as OpenSim a batch and a stream should be."""


class Driven:
    """OpenSim with all forces, in a state with fibres in equilibrium at each pose."""

    def __init__(self, path: Path, names: tuple[str, ...], q: np.ndarray, u: np.ndarray):
        self.at = Side(opensim.Model(str(path)), names, q, u)
        model, state = self.at.model, self.at.state
        muscles = model.getMuscles()
        self.muscles = [muscles.get(i) for i in range(muscles.getSize())]
        controls = model.updDefaultControls()
        actuators = model.getActuators()
        driven = {muscle.getName() for muscle in self.muscles}
        for i in range(controls.size()):
            controls.set(i, ACTIVATION if actuators.get(i).getName() in driven else 0.0)
        self.z = []
        self.fiber_length = []
        for k in range(len(self.at.poses)):
            self.equilibrate(k)
            self.z.append(opensim.Vector(state.getZ()))
            self.fiber_length.append([muscle.getFiberLength(state) for muscle in self.muscles])

    def _pose(self, k: int) -> None:
        self.at.state.setQ(self.at.poses[k][0])
        self.at.state.setU(self.at.poses[k][1])

    def equilibrate(self, k: int) -> None:
        model, state = self.at.model, self.at.state
        self._pose(k)
        for muscle in self.muscles:
            muscle.setActivation(state, ACTIVATION)
        model.realizeVelocity(state)
        for muscle in self.muscles:
            try:
                muscle.computeEquilibrium(state)
            except RuntimeError:  # none was found; its state stays as it was
                continue

    def accelerate(self, k: int) -> None:
        self.at.state.setZ(self.z[k])
        self._pose(k)
        self.at.model.realizeAcceleration(self.at.state)

    def udot(self, k: int) -> np.ndarray:
        self.accelerate(k)
        return self.at.state.getUDot().to_numpy()[self.at.speed_index]


def compare_muscles(path: Path, q: np.ndarray, u: np.ndarray, seconds: float) -> list[Compared]:
    model = mg.load_model(path)
    peer = Driven(path, model.coordinate_names, q, u)
    poses, names = range(len(q)), set(model.muscle_names)
    controls = np.array([ACTIVATION if name in names else 0.0 for name in model.control_names])
    activation = np.full(len(names), ACTIVATION)
    order = [[muscle.getName() for muscle in peer.muscles].index(name) for name in model.muscle_names]
    fibers = np.array(peer.fiber_length)[:, order]

    def derivative(q: jax.Array, u: jax.Array, fiber_length: jax.Array) -> mg.State:
        return mg.state_derivative(model, mg.State(q, u, activation, fiber_length), controls)

    def equilibrium(q: jax.Array, u: jax.Array, fiber_length: jax.Array) -> jax.Array:
        return mg.muscle_equilibrium(model, q, u, activation)

    theirs = {ACCELERATIONS: np.array([peer.udot(k) for k in poses]), EQUILIBRIUM: fibers}
    asked = {ACCELERATIONS: peer.accelerate, EQUILIBRIUM: peer.equilibrate}
    many = repeated(q), repeated(u), repeated(fibers)
    rows = []
    for quantity, function in ((ACCELERATIONS, derivative), (EQUILIBRIUM, equilibrium)):
        opensim_time = timed(lambda ask=asked[quantity]: [ask(k) for k in poses], len(q), seconds, least=3)
        batch, stream = mg.batched(function), streamed(function)
        first = first_call(batch, *many)
        batch_time = timed(runner(batch, *many), BATCH, seconds)
        stream_time = timed(runner(stream, *many), BATCH, seconds, least=3)
        found = batch(*many)
        ours = np.asarray(found.u if quantity == ACCELERATIONS else found)[: len(q)]
        scale = np.maximum(1.0 if quantity == ACCELERATIONS else 0.0, np.abs(theirs[quantity]).max(axis=1))
        difference = float(np.median(np.abs(ours - theirs[quantity]).max(axis=1) / scale))
        compiling = first - batch_time.median * BATCH / 1e6
        rows.append(Compared(path.stem, quantity, opensim_time, stream_time, batch_time, compiling, difference))
    return rows


def muscle_grid(rows: list[Compared]) -> Grid:
    """Differences are medians over poses of the largest relative one."""
    return compared_grid("Muscles and all other forces", rows, FASTER, {}, ("differs by", lambda x: f"{x:.0e}"))


if __name__ == "__main__":
    from run import PACK, PACK_MODELS, console, poses_of

    for name in sys.argv[1:] or PACK_MODELS:
        file = PACK / "models" / f"{name}.osim"
        muscle_grid(compare_muscles(file, *poses_of(mg.load_model(file), file), 1.0)).print(console)
