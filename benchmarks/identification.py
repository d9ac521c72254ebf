"""Times of an identification (paper 000): an epoch of Adam, an iteration of Levenberg-Marquardt, a whole run; by size.

python benchmarks/identification.py        prints the table by itself (`make bench` has it too)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import jax
import numpy as np
from table import Grid, judged, number

import myograd as mg
from myograd.estimate.identification.adam import fit_adam
from myograd.estimate.identification.choices import Choices
from myograd.estimate.identification.problem import Problem
from myograd.estimate.identification.search import search, spread_starts
from myograd.estimate.identification.setup import identification
from myograd.estimate.identification.shipped import shipped_bodies, shipped_deep, shipped_recording, shipped_truth
from myograd.estimate.inverse.mechanics import mechanics
from myograd.estimate.recording import Recording
from myograd.models import model_path

PAPER_EPOCH, PAPER_RUN = 0.77, 2.5 * 3600  # s
RUN_TARGET = 180.0  # s, compilation included


@dataclass(frozen=True)
class Timed:
    """Of one size of problem; seconds."""

    fibers: str
    samples: int
    parameters: int
    compile: float  # of the Jacobian, first call
    iteration: float  # residual and Jacobian
    residual: float
    epoch: float  # of Adam
    run: float  # from recordings to parameters, all compilation included; 0 if not measured


def _longer(recording: Recording, times: int) -> Recording:
    """The recording several times over, as one: for its size only."""
    arrays = {
        name: np.concatenate([value] * times)
        for name, value in vars(recording).items()
        if isinstance(value, np.ndarray)
    }
    return replace(recording, **(arrays | {"time": recording.step * np.arange(times * len(recording))}))


def _measure(problem: Problem, start: np.ndarray, fibers: str, run: float) -> Timed:
    guess = problem.guess(start)
    begun = time.perf_counter()
    _, _, guess = problem.linearized(start, guess)
    first = time.perf_counter() - begun
    problem.residual(start, guess)

    def often(call: Callable[[], object], count: int) -> float:
        taken = []
        for _ in range(count):
            begun = time.perf_counter()
            call()
            taken.append(time.perf_counter() - begun)
        return float(np.median(taken))

    iteration = often(lambda: problem.linearized(start, guess), 5)
    residual = often(lambda: problem.residual(start, guess), 5)
    fit_adam(problem, start, 1)
    begun = time.perf_counter()
    fit_adam(problem, start, 21)
    whole = time.perf_counter() - begun
    begun = time.perf_counter()
    fit_adam(problem, start, 1)
    epoch = max(whole - (time.perf_counter() - begun), 0.0) / 20  # both compile once more
    samples = sum(len(data.rows) for data in problem.data)
    return Timed(fibers, samples, len(start), first - iteration, iteration, residual, epoch, run)


def measure_identification(quick: bool = False) -> list[Timed]:
    """The shipped arm, M1: recorded and solved fibres at 1000, 4000 and 16000 samples; fewer parameters at 4000."""
    rows = []
    for fibers in ("recorded",) if quick else ("recorded", "solved"):
        jax.clear_caches()
        begun = time.perf_counter()
        model = mg.load_model(model_path("arm"))
        recordings = [shipped_recording(name, model) for name in ("move1", "move2")]
        known = [mechanics(model, it, shipped_bodies()) for it in recordings]
        problem = identification(
            model, recordings, shipped_deep(), shipped_bodies(), choices=Choices(fibers=fibers), known=known
        )
        p = problem.parameters
        (start,) = spread_starts(p, 0.1, 1, 24, shipped_truth(p))
        search(problem, start)
        run = time.perf_counter() - begun
        rows.append(_measure(problem, start, fibers, run))
        if quick:
            break
        for size in ("1000", "16000", "muscles"):
            several = {
                "1000": [it.part(slice(0, 600)) for it in recordings],
                "16000": [_longer(it, 4) for it in recordings],
            }
            given = several.get(size, recordings)
            bodies = () if size == "muscles" else shipped_bodies()
            other = identification(model, given, shipped_deep(), bodies, choices=Choices(fibers=fibers))
            rows.append(_measure(other, other.parameters.start(), fibers, 0.0))
    return rows


def identification_grid(rows: list[Timed]) -> Grid:
    cells = [
        [
            f"{row.fibers} fibres",
            str(row.samples),
            str(row.parameters),
            number(row.epoch),
            number(PAPER_EPOCH),
            number(row.iteration),
            number(row.residual),
            number(row.compile),
            judged(f"{row.run:.0f}", "≤", RUN_TARGET, row.run <= RUN_TARGET) if row.run else "",
        ]
        for row in rows
    ]
    header = [
        "identification",
        "samples",
        "parameters",
        "Adam epoch, s",
        "paper's",
        "Jacobian, s",
        "residual, s",
        "compile, s",
        "run, s",
    ]
    return Grid("Identification of the shipped arm (paper 000: 2.5 h per run)", header, cells)


if __name__ == "__main__":
    from rich.console import Console

    identification_grid(measure_identification()).print(Console(width=150))
