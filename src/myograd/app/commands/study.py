"""`myograd study`: repeat an experiment of a paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from myograd.app.console import check_folder, err, names_in, print_written
from myograd.studies import STUDIES, run_study


def study(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of: {', '.join(STUDIES)}.")],
    target: Annotated[Path, typer.Option("--out", help="The folder to write into; created if it does not exist.")],
    quick: Annotated[bool, typer.Option("--quick", help="A smaller version, for a first look.")] = False,
    parts: Annotated[str, typer.Option(help="Only these parts of it, separated by commas.")] = "",
) -> None:
    """Repeat an experiment of a paper: numbers (summary.json), tables (.csv) and figures (.html)."""
    check_folder(target)
    with err.status(f"running the study {name} ..."):
        run_study(name, target, quick, tuple(names_in(parts)))
    print_written(target / "summary.json")
