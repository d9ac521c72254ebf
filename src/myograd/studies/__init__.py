"""Experiments of the papers, repeated. Each is a module with `run(out, quick)`, which writes `summary.json`, tables and figures
into the folder `out`; `quick` is for a first look."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from ..errors import MyogradError, nearest

STUDIES = {
    "reaching": "myograd.studies.reaching",
}


def run_study(name: str, out: Path, quick: bool = False) -> None:
    """Run a study by its name. `out` is made if it is not there."""
    if name not in STUDIES:
        raise MyogradError(f"there is no study {name!r}{nearest(name, STUDIES)}")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MyogradError(f"{out}: cannot be made a folder: {error.strerror or error}") from error
    import_module(STUDIES[name]).run(out, quick)
