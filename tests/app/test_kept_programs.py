"""What one process has compiled, the next finds on disk: the second run of a command compiles nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from myograd.files.tables.formats import read_table

# A command, and then: how many programs it needed, and how many of them were on disk.
COUNTED = """
import json, sys
from jax import monitoring
seen = {"compile_requests_use_cache": 0, "cache_hits": 0}
def count(event, **_):
    name = event.rsplit("/", 1)[-1]
    if name in seen:
        seen[name] += 1
monitoring.register_event_listener(count)
from myograd.app.cli import app
app(sys.argv[2:], standalone_mode=False)
open(sys.argv[1], "w").write(json.dumps(seen))
"""


def programs(folder: Path, *words: object) -> tuple[int, int]:
    """Run a command in a process of its own that keeps its programs in `folder`: how many it needed, and found there."""
    counted = folder / "counted.json"
    environment = os.environ | {"XDG_CACHE_HOME": str(folder)}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    command = [sys.executable, "-c", COUNTED, str(counted), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert not done.returncode, done.stderr
    seen = json.loads(counted.read_text())
    return seen["compile_requests_use_cache"], seen["cache_hits"]


def second_run_compiles_nothing(folder: Path, most: int, *words: object) -> None:
    needed, _ = programs(folder, *words)
    kept = sorted((path.name, path.stat().st_size) for path in (folder / "myograd" / "compiled").glob("*-cache"))
    again, found = programs(folder, *words)
    assert 0 < needed == again == found
    assert needed <= most, "eager operations compile a program each: use NumPy outside compiled functions"
    after = sorted((path.name, path.stat().st_size) for path in (folder / "myograd" / "compiled").glob("*-cache"))
    assert kept == after


def test_a_second_simulation_compiles_nothing(tmp_path):
    out = tmp_path / "states.sto"
    second_run_compiles_nothing(tmp_path, 12, "simulate", "double_pendulum", "--duration", 0.1, "--out", out)
    assert np.isfinite(read_table(out).data).all()


def test_second_moment_arms_compile_nothing(tmp_path):
    second_run_compiles_nothing(tmp_path, 8, "moment-arms", "planar_leg", "--coordinate", "knee_flexion", "--points", 3)


@pytest.mark.slow
@pytest.mark.parametrize("words", [("simulate",), ("moment-arms",)], ids=lambda words: words[0])
def test_a_second_run_over_surfaces_compiles_nothing(words, public_model: Callable[[str], Path], tmp_path):
    """Arm26: muscles over surfaces, which XLA's programs ask functions of Numba for."""
    second_run_compiles_nothing(tmp_path, 12, *words, public_model("Arm26"))
