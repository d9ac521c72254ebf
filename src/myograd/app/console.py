"""What commands share: consoles, arguments, lines about errors, the file that a MODEL argument means, checks of output paths."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from math import degrees
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from myograd import models
from myograd.errors import MyogradError, UnsupportedError, nearest, quoted

if TYPE_CHECKING:
    import myograd

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


def need_peer() -> None:
    """Raise before any work is done if there is no OpenSim to compare with."""
    from myograd.app.peer import opensim

    opensim()


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
        raise MyogradError(f"{quoted(model)} is a folder, not an .osim file")
    if not path.is_file():
        raise MyogradError(f"there is no file {quoted(model)}; shipped models are: {', '.join(models.names())}")
    return path


@contextmanager
def heard_interrupts() -> Iterator[Callable[[], None]]:
    """Within, a function that raises KeyboardInterrupt if Ctrl-C was pressed: what Python raises while it collects garbage, as
    it often does while JAX compiles, goes nowhere."""
    pressed = threading.Event()

    def note(*_: object) -> None:
        pressed.set()
        raise KeyboardInterrupt

    def raised_again() -> None:
        if pressed.is_set():
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, note)
    try:
        yield raised_again
    finally:
        signal.signal(signal.SIGINT, before)


def check_output(path: Path | None, ending: str) -> None:
    """Raise before any work is done if a file with this ending could not be written there."""
    if path and path.suffix.lower() != ending:
        raise MyogradError(f"{quoted(path)}: the name of the file to write must end in {ending}")
    if path and path.is_dir():
        raise MyogradError(f"{quoted(path)} is a folder; give the name of a file to write")
    if path:
        _need_writable(path.resolve().parent, path)


def _need_writable(folder: Path, path: Path) -> None:
    if not folder.is_dir():
        raise MyogradError(f"there is no folder {quoted(folder)} to write {quoted(path.name)} into")
    if not os.access(folder, os.W_OK):
        raise MyogradError(f"{quoted(path.name)} cannot be written: the folder {quoted(folder)} is write-protected")


def check_folder(path: Path) -> None:
    """Raise before any work is done if files could not be written into this folder; it may not exist yet."""
    if path.exists() and not path.is_dir():
        raise MyogradError(f"{quoted(path)} is a file; results are written into a folder")
    if path.exists():
        _need_writable(path.resolve(), path)
    else:
        _need_writable(path.resolve().parent, path)


def check_new_model(path: Path, force: bool) -> None:
    """Raise if a model could not be written there, or would replace a file without --force."""
    check_output(path, ".osim")
    if path.exists() and not force:
        raise MyogradError(f"{quoted(path)} exists already; --force replaces it")


Accept = Annotated[str, typer.Option(help="Names of unsupported parts of the model to leave out, separated by commas.")]


def accepted_in(text: str, model: myograd.Model) -> tuple[str, ...]:
    """The names of --accept, if all are of unsupported parts of the model."""
    from myograd.dynamics.entry import unsupported_names

    names, known = tuple(names_in(text)), unsupported_names(model)
    wrong = [name for name in names if name not in known]
    if wrong:
        which = "is not an unsupported part" if len(wrong) == 1 else "are not unsupported parts"
        listed = ", ".join(map(repr, wrong))
        raise MyogradError(f"--accept: {listed} {which} of {model.name!r}{nearest(wrong[0], known)}")
    return names


def unsupported_line(error: UnsupportedError, has_accept: bool) -> str:
    """What is not supported, and the option, ready to be pasted, that leaves it out."""
    if not has_accept:
        return error.problem
    return f"{error.problem}. To leave {error.them} out, add: --accept {shlex.quote(','.join(error.names))}"


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
