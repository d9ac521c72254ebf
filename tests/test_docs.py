"""The Python of the pages runs as it stands there, and the front pages link only to what exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import myograd as mg

ROOT = Path(__file__).resolve().parents[1]


def run(page: str, least: int) -> dict[str, Any]:
    """What the names of a page are after all its blocks of Python were run in order; there are at least so many."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), flags=re.DOTALL)
    assert len(blocks) >= least
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    return names


def test_quickstart_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    run("quickstart.md", 6)
    assert (tmp_path / "heavier.osim").exists()


def test_muscles_run():
    names = run("muscles.md", 2)
    assert np.isfinite(names["state"].tendon_force).all()
    assert names["activation"].shape == names["raw"].shape


def test_forces_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """With a foot that is pushed up by its weight."""
    monkeypatch.chdir(tmp_path)
    columns = tuple(f"plate_{kind}{axis}" for kind in "vp" for axis in "xyz")
    table = mg.Table(np.array([0.0, 1.0]), np.tile([0.0, 228.0, 0.0, 0.1, 0.0, 0.1], (2, 1)), columns)
    mg.write_table(table, "grf.mot")
    plate = mg.ExternalForce("plate", "foot", force_identifier="plate_v", point_identifier="plate_p")
    mg.write_external_loads(mg.ExternalLoads([plate], table, "loads", "grf.mot"), "grf.xml")
    names = run("forces.md", 2)
    assert np.isfinite(names["rate"].u).all()
    assert names["wrenches"][3, 4] == 228.0


def test_parameters_run():
    names = run("parameters.md", 5)
    assert np.isfinite(names["slopes"]).all()
    assert names["accelerations"].shape == (4, 3)
    assert mg.values_of(names["one"], ["shank.mass"]) == {"shank.mass": 3.6}


def test_terms_run():
    names = run("terms.md", 2)
    n = np.array([1.0, 0.0, -3.0])
    np.testing.assert_allclose(names["added"], 0.05 * np.outer(n, n), atol=1e-12)
    np.testing.assert_allclose(names["pull"], -2.0 * (n @ np.asarray(names["q"])) * n, atol=1e-9)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_the_front_pages(page: str):
    # `make docs` checks the links within docs/.
    targets = re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text())
    missing = [target for target in targets if "://" not in target and not (ROOT / target).exists()]
    assert missing == []
