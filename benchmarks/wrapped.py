"""Lengths and moment arms of paths over surfaces, by OpenSim and by Myograd.

The two do not compute the same: OpenSim's paths over ellipsoids and tori are plane sections, and several surfaces on one
stretch are not at rest (docs/wrapping.md). What is compared is the time to get all of them; how far they are apart is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np
from ours import BATCH, first_call, repeated, runner, streamed
from peers_opensim import OpenSim
from table import Grid, judged, number, time_of
from timing import Timing, timed

import myograd as mg

FASTER = {
    ("Rajagopal2016", "muscle lengths"): 20.0,
    ("Rajagopal2016", "moment arms"): 1000.0,
    ("MoBL_ARMS", "muscle lengths"): 50.0,
    ("MoBL_ARMS", "moment arms"): 300.0,
}
"""How many times as fast as OpenSim a batch should be."""
COMPILE = {"MoBL_ARMS": 20.0}
"""Seconds that compiling may take."""


@dataclass(frozen=True)
class WrappedRow:
    model: str
    quantity: str
    opensim: Timing
    stream: Timing
    batch: Timing
    compile_seconds: float
    difference: float  # [m] median of where OpenSim's path wraps


def compare_wrapped(path: Path, q: np.ndarray, u: np.ndarray, seconds: float, few: int) -> list[WrappedRow]:
    model = mg.load_model(path)
    peer = OpenSim(path, model.coordinate_names, q, u, few, wrapping=True)
    free = model.constraints.free
    functions = {
        "muscle lengths": lambda q, u: mg.muscle_lengths(model, q),
        "moment arms": lambda q, u: mg.moment_arms(model, q)[:, free],
    }
    many = repeated(q), repeated(u)
    rows = []
    for quantity, function in functions.items():
        opensim, _ = peer.time(quantity, seconds)
        batch, stream = mg.batched(function), streamed(function)
        first = first_call(batch, *many)
        batch_time = timed(runner(batch, *many), BATCH, seconds)
        stream_time = timed(runner(stream, *many), BATCH, seconds, least=3)
        theirs = peer.values(quantity, model.body_names)
        ours = np.asarray(jax.tree.leaves(batch(*many))[0])[: len(theirs)]
        gap = np.abs(ours - theirs)
        compile_seconds = first - batch_time.median * BATCH / 1e6
        difference = float(np.median(gap[gap > 1e-9])) if (gap > 1e-9).any() else 0.0
        rows.append(WrappedRow(path.stem, quantity, opensim, stream_time, batch_time, compile_seconds, difference))
    return rows


def wrapped_grid(rows: list[WrappedRow]) -> Grid:
    def faster(row: WrappedRow) -> str:
        ratio = row.opensim.median / row.batch.median
        target = FASTER.get((row.model, row.quantity))
        return f"{number(ratio)}×" if target is None else judged(f"{number(ratio)}×", "≥", target, ratio >= target)

    def compiling(row: WrappedRow) -> str:
        target, text = COMPILE.get(row.model), f"{row.compile_seconds:.1f}"
        return text if target is None else judged(text, "≤", target, row.compile_seconds <= target)

    cells = [
        [
            row.model,
            row.quantity,
            time_of(row.opensim),
            time_of(row.stream),
            time_of(row.batch),
            f"{number(row.opensim.median / row.stream.median)}×",
            faster(row),
            compiling(row),
            f"{row.difference * 1000:.1g}",
        ]
        for row in rows
    ]
    header = [
        "model",
        "quantity",
        "OpenSim",
        "stream",
        "batch",
        "stream faster",
        "batch faster",
        "compile, s",
        "differs by, mm",
    ]
    return Grid("Paths over surfaces", header, cells)
