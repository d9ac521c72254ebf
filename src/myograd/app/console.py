"""What commands share: consoles, arguments, lines about errors, the file that a MODEL argument means, checks of output paths."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from math import degrees
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from myograd import models
from myograd.errors import MyogradError

# Names from files are shown as they are, whatever brackets they hold; tables keep their lines in a pipe.
out = Console(markup=False, emoji=False, highlight=False, width=None if sys.stdout.isatty() else 160)
err = Console(markup=False, emoji=False, highlight=False, stderr=True)

Model = Annotated[
    str, typer.Argument(metavar="MODEL", help="An .osim file, or the name of a model that ships with myograd.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, in SI units and radians.")]


class Peer(StrEnum):
    """Programs that results can be compared with."""

    OPENSIM = "opensim"


def error_line(kind: str, message: str, style: str = "red") -> None:
    """One line on stderr: `error: ...`, `warning: ...`."""
    err.print(Text(f"{kind}: {' '.join(message.split())}", style=style), soft_wrap=True)


def print_json(data: object) -> None:
    print(json.dumps(data, indent=2, allow_nan=False))


def print_written(path: Path) -> None:
    out.print(f"wrote {path.resolve()}", soft_wrap=True)


def find(model: str) -> Path:
    """The file that MODEL means."""
    path = models.find(model)
    if path.is_dir():
        raise MyogradError(f"{model} is a folder, not an .osim file")
    if not path.is_file():
        raise MyogradError(f"there is no file {model}; shipped models are: {', '.join(models.names())}")
    return path


def check_output(path: Path | None, ending: str) -> None:
    """Raise before any work is done if a file with this ending could not be written there."""
    if path and path.suffix.lower() != ending:
        raise MyogradError(f"the file to write must end in {ending}, and {path} does not")
    if path and not path.resolve().parent.is_dir():
        raise MyogradError(f"there is no folder {path.resolve().parent} to write {path.name} into")


def check_folder(path: Path) -> None:
    """Raise before any work is done if files could not be written into this folder; it may not exist yet."""
    if path.exists() and not path.is_dir():
        raise MyogradError(f"{path} is a file; results are written into a folder")
    if not path.resolve().parent.is_dir():
        raise MyogradError(f"there is no folder {path.resolve().parent} to make {path.name} in")


def check_new_model(path: Path, force: bool) -> None:
    """Raise if a model could not be written there, or would replace a file without --force."""
    check_output(path, ".osim")
    if path.exists() and not force:
        raise MyogradError(f"{path} exists already; --force replaces it")


def names_in(text: str) -> list[str]:
    """`a, b` as a list."""
    return [name.strip() for name in text.split(",") if name.strip()]


# Numbers as people read them ---------------------------------------------------------------------------------

UNITS = {"rotational": "rad", "translational": "m", "coupled": ""}


def amount(value: float, motion: str) -> str:
    """A coordinate's value, angles in degrees; coupled coordinates have no unit, as in OpenSim."""
    if motion == "rotational":
        return f"{degrees(value):.4g}°"
    return f"{value:.4g} {UNITS[motion]}".strip()


def counted(n: int, plural: str) -> str:
    """`1 body`, `2 bodies`; `1 locked coordinate`."""
    if n != 1:
        return f"{n} {plural}"
    return f"1 {plural[:-3]}y" if plural.endswith("ies") else f"1 {plural[:-1]}"
