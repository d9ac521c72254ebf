"""`myograd convert`: any document that can be read, as one of OpenSim 4.6."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from myograd.app.console import Model, check_new_model, find, print_written
from myograd.files.osim.read import read_osim
from myograd.files.osim.write import write_osim


def convert(
    model: Model,
    target: Annotated[Path, typer.Argument(metavar="OUT.osim", help="The file to write.")],
    force: Annotated[bool, typer.Option("--force", help="Replace OUT.osim if it exists.")] = False,
) -> None:
    """Write a model, of any version that can be read, as an OpenSim 4.6 document."""
    check_new_model(target, force)
    write_osim(read_osim(find(model)), target)
    print_written(target)
