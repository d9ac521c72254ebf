"""A second of muscle-driven motion by OpenSim's Manager and by Myograd, at equal accuracy.

    python benchmarks/simulations.py [MODEL ...]       prints; `benchmarks/run.py` makes it part of the page

Both programs get the same start and the same controls. Each is run at accuracies 1e-3, 1e-4, ... until its coordinates at the
end are within 1e-4 (rad, m) of what it gives at 1e-8 (OpenSim: by its default integrator); the time of that run counts.
OpenSim may use its default integrator (RungeKuttaMerson) or CPodes; the faster of the two is compared with. Myograd's time
is that of the compiled rollout, alone and as one of 64 that differ in their controls.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from table import Grid, aimed, number
from timing import timed

import myograd as mg
from myograd import models
from myograd.app.peer import simulated
from myograd.simulation.integrators import Method
from myograd.simulation.rollout import rollout
from myograd.system.reduced import Simulated

SHARED = Path(__file__).resolve().parents[2] / "shared"
RECORDED = SHARED / "identification" / "subjectA"
DURATION, WITHIN, BATCH = 1.0, 1e-4, 64
ACCURACIES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
FINE = 1e-8
NAMES = ("Arm26", "Gait10dof18musc", "arm16", "arm")
ALONE = {"Arm26": 3.0, "Gait10dof18musc": 3.0, "arm16": 20.0}
TOGETHER = 20.0
"""How many times as fast as OpenSim a single run, and one of a batch, should be."""


@dataclass(frozen=True)
class Case:
    """A model, where it starts, and its controls over time [n, k]."""

    name: str
    path: Path
    model: mg.Model
    start: mg.State
    time: np.ndarray
    controls: np.ndarray


@dataclass(frozen=True)
class SimulationRow:
    """Seconds of computing for one simulated second, and the accuracies that were needed."""

    model: str
    merson: float
    merson_accuracy: float
    cpodes: float
    cpodes_accuracy: float
    alone: float
    together: float
    accuracy: float
    steps: int
    apart: float
    """greatest difference of coordinates between the programs"""

    @property
    def opensim(self) -> float:
        return float(np.nanmin([self.merson, self.cpodes]))


def cases() -> list[Case]:
    """Those whose files are at hand."""
    return [case(name) for name in NAMES if model_file(name).exists()]


def model_file(name: str) -> Path:
    if name in models.names():
        return models.model_path(name)
    return RECORDED / "arm16.osim" if name == "arm16" else SHARED / "opensim" / "models" / f"{name}.osim"


def case(name: str) -> Case:
    if name == "arm16":
        return _recorded()
    path = model_file(name)
    model = mg.load_model(path)
    k = len(model.control_names)
    time = np.linspace(0, DURATION, 11)
    waves = 0.15 + 0.1 * np.sin(2 * np.pi * time[:, None] + np.arange(k))
    muscle = np.isin(np.arange(k), np.array(model.muscle_classes.control, int))
    return Case(name, path, model, mg.initial_state(model, activation=0.1), time, np.where(muscle, waves, 0.0))


def _recorded() -> Case:
    """The arm of `../shared/identification`, from its first recorded state, under its recorded excitations."""
    path = model_file("arm16")
    model = mg.load_model(path)
    with np.load(RECORDED / "move1.npz", allow_pickle=False) as data:
        columns = [model.coordinate_names.index(str(name)) for name in data["coord16"]]
        q = np.array(model.default_pose())
        q[columns], u = data["q"][0], np.zeros_like(q)
        u[columns] = data["qd"][0]
        start = mg.State(q, u, data["activation"][0], data["fiber_length"][0], jnp.zeros(()))
        return Case("arm16", path, model, start, data["time"], data["excitation"])


def _opensim(case: Case, method: str, accuracy: float) -> tuple[float, np.ndarray]:
    """Seconds, and coordinates at the end."""
    times = np.array([0.0, DURATION])
    done = simulated(case.path, case.start, case.time, case.controls, times, accuracy, method)
    return done.seconds, done.q[-1]


def _theirs(case: Case, method: str, fine: np.ndarray) -> tuple[float, float]:
    """Seconds and accuracy of the first accuracy that suffices; NaN if none does."""
    for accuracy in ACCURACIES:
        seconds, end = _opensim(case, method, accuracy)
        if np.abs(end - fine).max() <= WITHIN:
            return min(seconds, _opensim(case, method, accuracy)[0]), accuracy
    return float("nan"), float("nan")


@eqx.filter_jit
def _run(case: tuple[mg.Model, mg.State], time: jax.Array, controls: jax.Array, method: Method):
    model, start = case
    system = Simulated(model, mg.ControlSignal(time, controls), None, None, start)
    done = rollout(system, system.reduced(start), jnp.array([0.0, DURATION]), method)
    return system.state(DURATION, done.end).q, done.steps + done.rejected


def compare_simulation(case: Case, seconds: float) -> SimulationRow:
    parts, time, controls = (case.model, case.start), jnp.asarray(case.time), jnp.asarray(case.controls)

    def ours(accuracy: float) -> tuple[jax.Array, jax.Array]:
        return jax.block_until_ready(_run(parts, time, controls, Method(accuracy=jnp.asarray(accuracy))))

    fine = ours(FINE)[0]
    accuracy = next(a for a in ACCURACIES if jnp.abs(ours(a)[0] - fine).max() <= WITHIN)
    method = Method(accuracy=jnp.asarray(accuracy))
    alone = timed(lambda: ours(accuracy), 1, seconds, least=3)
    # As many runs with other controls: up to a tenth more or less excitation.
    scale = np.random.default_rng(3).uniform(0.9, 1.1, (BATCH, 1, case.controls.shape[1]))
    many = np.clip(case.controls * scale, 0, 1)
    batch = mg.batched(lambda controls: _run(parts, time, controls, method))
    together = timed(lambda: batch(many), BATCH, seconds, least=2)
    their_end = _opensim(case, "RungeKuttaMerson", FINE)[1]  # CPodes gives up at that accuracy
    merson, merson_accuracy = _theirs(case, "RungeKuttaMerson", their_end)
    cpodes, cpodes_accuracy = _theirs(case, "CPodes", their_end)
    apart = float(np.abs(np.asarray(fine) - their_end).max())
    return SimulationRow(
        case.name,
        merson,
        merson_accuracy,
        cpodes,
        cpodes_accuracy,
        alone.median / 1e6,
        together.median / 1e6,
        accuracy,
        int(ours(accuracy)[1]),
        apart,
    )


def simulation_grid(rows: list[SimulationRow]) -> Grid:
    names = [
        "model",
        "OpenSim, Merson",
        "OpenSim, CPodes",
        "Myograd alone",
        "one of 64",
        "alone faster",
        "one of 64 faster",
        "steps",
        "apart",
    ]

    def cells(row: SimulationRow) -> list[str]:
        return [
            row.model,
            f"{row.merson:.3g} s ({row.merson_accuracy:.0e})",
            f"{row.cpodes:.3g} s ({row.cpodes_accuracy:.0e})",
            f"{row.alone:.3g} s ({row.accuracy:.0e})",
            f"{row.together:.3g} s",
            aimed(row.opensim / row.alone, "×", "≥", ALONE.get(row.model)),
            aimed(row.opensim / row.together, "×", "≥", TOGETHER),
            number(row.steps),
            f"{row.apart:.1g}",
        ]

    return Grid("A second of simulation", names, [cells(row) for row in rows])


if __name__ == "__main__":
    from rich.console import Console

    simulation_grid([compare_simulation(case(name), 2.0) for name in sys.argv[1:] or NAMES]).print(Console(width=180))
