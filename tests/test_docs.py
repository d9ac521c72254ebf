"""Every block of Python in README and the pages runs as it stands there, in order, in an empty folder; and the front pages link
only to what exists. A block that cannot run is marked by a comment before it that says why: `<!-- not run: ... -->`."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import myograd as mg

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(
    r"(?P<excuse><!-- not run: [^>]+ -->\n\n?)?^```(?:python|py)\n(?P<code>.*?)^```", re.DOTALL | re.MULTILINE
)
SLOW = {"docs/identification.md", "docs/simulation.md"}  # searches for minima, compiles gradients through time


def blocks(page: Path) -> list[str]:
    return [found["code"] for found in BLOCK.finditer(page.read_text()) if not found["excuse"]]


PAGES = [
    pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW), id=name)
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for name in [page.relative_to(ROOT).as_posix()]
    if blocks(page)
]


def subject(folder: Path) -> None:
    """A model of the user's own."""
    mg.save_model(mg.load_model("planar_leg"), folder / "subject.osim")


def plate(folder: Path) -> None:
    """A foot that is pushed up by its weight."""
    columns = tuple(f"plate_{kind}{axis}" for kind in "vp" for axis in "xyz")
    table = mg.Table(np.array([0.0, 1.0]), np.tile([0.0, 228.0, 0.0, 0.1, 0.0, 0.1], (2, 1)), columns)
    mg.write_table(table, folder / "grf.mot")
    force = mg.ExternalForce("plate", "foot", force_identifier="plate_v", point_identifier="plate_p")
    mg.write_external_loads(mg.ExternalLoads([force], table, "loads", "grf.mot"), folder / "grf.xml")


def reaching(folder: Path) -> None:
    """Two recordings of an arm, as a laboratory would have them."""
    from myograd.estimate.identification.shipped import shipped_recording

    arm = mg.load_model("arm")
    for name, move in (("reach1", "move1"), ("reach2", "move2")):
        it = shipped_recording(move, arm, fibers=False)
        mg.write_table(mg.Table(it.time, it.q, arm.coordinate_names), folder / f"{name}.mot")
        mg.write_table(mg.Table(it.time, it.emg, it.channels), folder / f"{name}_emg.sto")


FILES: dict[str, Callable[[Path], None]] = {
    "docs/files.md": subject,
    "docs/forces.md": plate,
    "docs/identification.md": reaching,
}


def feet_are_pushed_up(names: dict[str, Any]) -> None:
    assert np.isfinite(names["rate"].u).all()
    assert names["wrenches"][3, 4] == 228.0


def models_are_saved(names: dict[str, Any]) -> None:
    assert Path("heavier.osim").exists()


def muscles_pull(names: dict[str, Any]) -> None:
    assert np.isfinite(names["state"].tendon_force).all()
    assert names["activation"].shape == names["raw"].shape


def people_are_stacked(names: dict[str, Any]) -> None:
    assert np.isfinite(names["slopes"]).all()
    assert names["accelerations"].shape == (4, 3)
    assert mg.values_of(names["one"], ["shank.mass"]) == {"shank.mass": 3.6}


def wheels_turn(names: dict[str, Any]) -> None:
    n = np.array([1.0, 0.0, -3.0])
    np.testing.assert_allclose(names["added"], 0.05 * np.outer(n, n), atol=1e-12)
    np.testing.assert_allclose(names["pull"], -2.0 * (n @ np.asarray(names["q"])) * n, atol=1e-9)


RESULTS: dict[str, Callable[[dict[str, Any]], None]] = {
    "docs/forces.md": feet_are_pushed_up,
    "docs/muscles.md": muscles_pull,
    "docs/parameters.md": people_are_stacked,
    "docs/quickstart.md": models_are_saved,
    "docs/terms.md": wheels_turn,
}


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    if page in FILES:
        FILES[page](tmp_path)
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        for block in blocks(ROOT / page):
            exec(compile(block, page, "exec"), names)
    if page in RESULTS:
        RESULTS[page](names)


@pytest.mark.parametrize("page", PAGES)
def test_pages_use_public_names_only(page: str):
    inside = [line for block in blocks(ROOT / page) for line in block.splitlines() if re.search(r"\bmyograd\.\w", line)]
    assert [line for line in inside if not line.startswith("from myograd.models import")] == []


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_the_front_pages(page: str):
    # `make docs` checks the links within docs/.
    targets = re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text())
    missing = [target for target in targets if "://" not in target and not (ROOT / target).exists()]
    assert missing == []
