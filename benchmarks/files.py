"""Times of what waits for no JAX: `myograd check`, and a table of 60 s at 1 kHz with 100 columns.

    python benchmarks/files.py [MODEL.osim]

Prints seconds; the shortest of three runs each.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import myograd as mg

PACK_MODEL = Path(__file__).resolve().parents[2] / "shared" / "opensim" / "models" / "Rajagopal2016.osim"


def shortest(work: Callable[[], object], runs: int = 3) -> float:
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def main() -> None:
    model = sys.argv[1] if len(sys.argv) > 1 else str(PACK_MODEL) if PACK_MODEL.exists() else "leg"
    check = [str(Path(sys.executable).with_name("myograd")), "check", model]
    print(f"check {Path(model).stem}: {shortest(lambda: subprocess.run(check, check=True, capture_output=True)):.2f} s")
    rows = np.random.default_rng(0).normal(size=(60_000, 100))
    table = mg.Table(np.arange(60_000) / 1000, rows, tuple(f"column_{i}" for i in range(100)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.sto"
        print(f"write: {shortest(lambda: mg.write_table(table, path)):.2f} s")
        print(f"read: {shortest(lambda: mg.read_table(path)):.2f} s")


if __name__ == "__main__":
    main()
