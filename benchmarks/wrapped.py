"""Lengths and moment arms of paths over surfaces, by OpenSim and by Myograd.

The two do not compute the same: OpenSim's paths over ellipsoids and tori are plane sections, and several surfaces on one
stretch are not at rest (docs/wrapping.md). What is compared is the time to get all of them; how far they are apart is said.
"""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
from ours import BATCH, first_call, repeated, runner, streamed
from peers_opensim import OpenSim
from table import Compared, Grid, compared_grid
from timing import timed

import myograd as mg

FASTER = {
    ("Rajagopal2016", "muscle lengths"): (20.0, None),
    ("Rajagopal2016", "moment arms"): (1000.0, None),
    ("MoBL_ARMS", "muscle lengths"): (50.0, None),
    ("MoBL_ARMS", "moment arms"): (300.0, None),
}
"""How many times as fast as OpenSim a batch and a stream should be."""
COMPILE = {"MoBL_ARMS": 20.0}
"""Seconds that compiling may take."""


def compare_wrapped(path: Path, q: np.ndarray, u: np.ndarray, seconds: float, few: int) -> list[Compared]:
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
        rows.append(Compared(path.stem, quantity, opensim, stream_time, batch_time, compile_seconds, difference))
    return rows


def wrapped_grid(rows: list[Compared]) -> Grid:
    """Differences are medians of where OpenSim's path wraps."""
    return compared_grid("Paths over surfaces", rows, FASTER, COMPILE, ("differs by, mm", lambda x: f"{x * 1000:.1g}"))
