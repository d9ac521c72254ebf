"""Experiments of the papers, repeated. Each is a module with `PARTS` and `run(out, quick, parts)`, which writes `summary.json`,
tables and figures into the folder `out`; `quick` is for a first look."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from ..errors import MyogradError, nearest, quoted

STUDIES = {
    "identification": "myograd.studies.identification",
    "reaching": "myograd.studies.reaching",
}


def run_study(name: str, out: Path, quick: bool = False, parts: tuple[str, ...] = ()) -> None:
    """Run a study by its name, or only some `parts` of it. `out` is made if it is not there."""
    if name not in STUDIES:
        raise MyogradError(f"there is no study {name!r}{nearest(name, STUDIES)}")
    module = import_module(STUDIES[name])
    for part in parts:
        if part not in module.PARTS:
            raise MyogradError(f"the study {name} has no part {part!r}; its parts are {', '.join(module.PARTS)}")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MyogradError(f"the folder {quoted(out)} cannot be made: {error.strerror or error}") from error
    module.run(out, quick, parts or module.PARTS)
