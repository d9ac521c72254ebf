"""Whole commands in fresh processes, from the first line to the last: with nothing compiled yet (cold), and again (warm); and
OpenSim doing the same from Python.

    python benchmarks/commands.py

Cold is a machine on which Myograd was never used: neither XLA's programs nor Numba's are there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from table import Grid, judged

MODELS = Path(__file__).resolve().parents[2] / "shared" / "opensim" / "models"
WARM_RUNS = 3

SIMULATE = """
import sys
import opensim as osim
osim.Logger.setLevelString("Off")
model = osim.Model(sys.argv[1])
state = model.initSystem()
for muscle in model.getMuscles():
    muscle.setActivation(state, 0.05)
model.equilibrateMuscles(state)
manager = osim.Manager(model)
manager.setIntegratorAccuracy(1e-6)
manager.initialize(state)
manager.integrate(1.0)
osim.STOFileAdapter.write(manager.getStatesTable(), sys.argv[2])
"""
MOMENT_ARMS = """
import csv, sys
import opensim as osim
osim.Logger.setLevelString("Off")
model = osim.Model(sys.argv[1])
state = model.initSystem()
muscles = list(model.getMuscles())
with open(sys.argv[2], "w") as file:
    rows = csv.writer(file)
    for coordinate in model.getCoordinateSet():
        if coordinate.isConstrained(state):
            continue
        least, most = coordinate.getRangeMin(), coordinate.getRangeMax()
        rest = coordinate.getValue(state)
        for i in range(51):
            coordinate.setValue(state, least + (most - least) * i / 50)
            model.realizePosition(state)
            for muscle in muscles:
                path = muscle.getGeometryPath()
                rows.writerow([coordinate.getName(), i, path.computeMomentArm(state, coordinate), path.getLength(state)])
        coordinate.setValue(state, rest)
"""


@dataclass(frozen=True)
class Command:
    words: tuple[str, ...]
    model: str
    ending: str  # of the file that it writes
    opensim: str  # the same as a script, which takes the model and the file to write
    cold_bar: float  # [s]
    warm_bar: float


@dataclass(frozen=True)
class CommandRow:
    """Seconds of whole processes, start of Python included; `cpu`: of all cores together. Warm and OpenSim: the median."""

    command: str
    cold: float
    cold_cpu: float
    warm: float
    warm_cpu: float
    opensim: float
    cold_bar: float
    warm_bar: float


COMMANDS = (
    Command(("simulate",), "Arm26", ".sto", SIMULATE, 25, 6),
    Command(("simulate",), "Gait10dof18musc", ".sto", SIMULATE, 25, 6),
    Command(("moment-arms",), "Rajagopal2016", ".csv", MOMENT_ARMS, 20, 3),
)


def measured(command: list[str], kept: Path) -> tuple[float, float]:
    """Seconds, and seconds of computing, of a process that keeps what it compiles in this folder."""
    environment = os.environ | {"XDG_CACHE_HOME": str(kept), "NUMBA_CACHE_DIR": str(kept / "numba")}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    before, begun = os.times(), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    seconds, after = time.perf_counter() - begun, os.times()
    return seconds, after.children_user + after.children_system - before.children_user - before.children_system


def measure_command(one: Command) -> CommandRow:
    model = str(MODELS / f"{one.model}.osim")
    with tempfile.TemporaryDirectory() as folder:
        kept, out = Path(folder), str(Path(folder) / f"out{one.ending}")
        ours = [sys.executable, "-m", "myograd.app.cli", *one.words, model, "--out", out]
        cold = measured(ours, kept)
        warm = sorted(measured(ours, kept) for _ in range(WARM_RUNS))[WARM_RUNS // 2]
        theirs = [sys.executable, "-c", one.opensim, model, out]
        opensim = sorted(measured(theirs, kept) for _ in range(WARM_RUNS))[WARM_RUNS // 2]
    return CommandRow(f"{' '.join(one.words)} {one.model}", *cold, *warm, opensim[0], one.cold_bar, one.warm_bar)


def measure_commands(quick: bool) -> list[CommandRow]:
    """Nothing where the models are missing."""
    return [measure_command(one) for one in COMMANDS[: 1 if quick else None]] if MODELS.is_dir() else []


def command_grid(rows: list[CommandRow]) -> Grid:
    cells = [
        [
            f"`{row.command}`",
            f"{row.opensim:.1f}",
            judged(f"{row.cold:.1f}", "≤", row.cold_bar, row.cold <= row.cold_bar),
            f"{row.cold_cpu:.1f}",
            judged(f"{row.warm:.1f}", "≤", row.warm_bar, row.warm <= row.warm_bar),
            f"{row.warm_cpu:.1f}",
        ]
        for row in rows
    ]
    header = ["command", "OpenSim, s", "cold, s", "of cores", "warm, s", "of cores"]
    return Grid("Whole commands, from a fresh process to the written file", header, cells)


if __name__ == "__main__":
    rows = measure_commands("--quick" in sys.argv)
    command_grid(rows).print(Console(width=150))
    for row in rows:  # in words, for the evidence page
        print(f"{row.command}: cold {row.cold:.1f} s, warm {row.warm:.1f} s, OpenSim {row.opensim:.1f} s")
