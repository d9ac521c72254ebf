"""Lines of text to rows of numbers: what .sto, .mot and .trc have in common.

Cells are separated by tabs; where a line has none, by spaces. A blank cell is NaN.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from myograd.errors import FileFormatError, MyogradError, warn
from myograd.files.tables.table import TableWarning

# How C libraries print what is not a number: nan, -nan(ind), 1.#QNAN, -1.#IND00.
_NOT_A_NUMBER = re.compile(r"[+-]?(nan(\(\w*\))?|1\.#(ind|qnan|snan)0*)", re.IGNORECASE)


class Line(NamedTuple):
    number: int  # from 1
    text: str


def read_lines(path: str | os.PathLike[str]) -> list[Line]:
    """The lines of a text file that are not blank, without their line ends (LF, CRLF or CR)."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise FileFormatError(f"cannot be read: {error.strerror or error}", path) from error
    if b"\0" in content:
        raise FileFormatError("is not a text file (or is UTF-16); expected UTF-8 text", path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    found = [Line(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not found:
        raise FileFormatError("the file is empty", path)
    return found


def split_labels(line: str) -> list[str]:
    """The cells of a line of labels, blank ones included, except blank ones at its end."""
    line = line.rstrip(" \t")
    if "\t" in line:
        return [cell.strip(" ") for cell in line.split("\t")]
    return [cell for cell in line.split(" ") if cell]


class Rows(NamedTuple):
    numbers: NDArray[np.float64]  # [rows, columns]
    unlabelled: int  # line of the first cell to the right of the last column, 0 if there is none


def read_rows(lines: Sequence[Line], columns: Sequence[str], path: object, components: int = 1) -> Rows:
    """Rows of numbers. With `components` k > 1, each cell but the first holds k numbers separated by commas."""
    numbers = np.empty((len(lines), 1 + (len(columns) - 1) * components))
    unlabelled = 0
    for row, (line_number, line) in enumerate(lines):
        cells = line.split("\t")
        if len(cells) < len(columns) and all(cell.strip() for cell in line.rstrip(" \t").split("\t")):
            cells = line.split()  # separated by spaces
        if len(cells) < len(columns):
            raise FileFormatError(
                f"row {row + 1} has {len(cells)} cells, expected {len(columns)}: no cell for column "
                f"{columns[len(cells)]!r}",
                path,
                line_number,
            )
        if len(cells) > len(columns):
            if not unlabelled and any(cell.strip(" ") for cell in cells[len(columns) :]):
                unlabelled = line_number
            cells = cells[: len(columns)]
        try:
            if components > 1 or "_" in line or not line.isascii():  # float() takes 1_000 and digits of any script
                raise ValueError
            numbers[row] = [float(cell) for cell in cells]
        except ValueError:
            numbers[row] = _careful_row(cells, columns, components, row, line_number, path)
    return Rows(numbers, unlabelled)


def _careful_row(
    cells: list[str], columns: Sequence[str], components: int, row: int, line_number: int, path: object
) -> list[float]:
    numbers: list[float] = []
    for place, (cell, column) in enumerate(zip(cells, columns, strict=True)):
        cell = cell.strip(" ")
        parts = cell.split(",") if place and components > 1 else [cell]
        if place and not cell:
            numbers += [np.nan] * components
        elif place and len(parts) != components:
            raise FileFormatError(
                f"column {column!r}, row {row + 1}: expected {components} numbers separated by commas, "
                f"found {cell[:80]!r}",
                path,
                line_number,
            )
        else:
            for part in parts:
                value = _number(part.strip(" "))
                if value is None:
                    message = f"column {column!r}, row {row + 1}: expected a number, found {part[:40]!r}"
                    raise FileFormatError(message, path, line_number)
                numbers.append(value)
    return numbers


def _number(text: str) -> float | None:
    """The number that a cell shows, NaN for a blank one, None for anything else."""
    if not text:
        return np.nan
    if "_" in text or not text.isascii():
        return None
    try:
        return float(text)
    except ValueError:
        return np.nan if _NOT_A_NUMBER.fullmatch(text) else None


def rows_of_new_time(
    time: NDArray[np.float64], lines: Sequence[Line], path: object, notes: list[str]
) -> NDArray[np.bool_]:
    """Which rows to keep: [rows]. Time must not run back; a row that repeats the time before it is left out.

    OpenSim writes such rows itself, where two steps of its integrator print the same time, and then refuses to read
    them. Interpolation and differentiation need strictly increasing time.
    """
    unknown = ~np.isfinite(time)
    if unknown.any():
        row = int(np.argmax(unknown))
        raise FileFormatError(f"row {row + 1} has no time: expected a finite number", path, lines[row].number)
    backwards = time[1:] < time[:-1]
    if backwards.any():
        row = int(np.argmax(backwards)) + 1
        raise FileFormatError(
            f"time must increase: row {row + 1} has {time[row]} s after {time[row - 1]} s", path, lines[row].number
        )
    new = np.append(True, time[1:] > time[:-1])[: len(time)]
    if not new.all():
        notes.append(
            f"rows that repeat the time of the row before are left out: {np.count_nonzero(~new)}, "
            f"the first at line {lines[int(np.argmin(new))].number}"
        )
    return new


def warn_of(path: object, notes: Sequence[str]) -> None:
    """One warning for all that is odd about a file."""
    if notes:
        warn(f"{path}: {'; '.join(notes)}", TableWarning)


def check_names(names: Sequence[str], path: object) -> None:
    """Refuse to write names that would not read back as they are."""
    for name in names:
        if not name or name != name.strip(" ") or any(c in name for c in "\t\n\r\0"):
            raise MyogradError(
                f"{path}: cannot be written: the column name {name!r} is blank, starts or ends with a space, "
                "or has a tab or line end in it"
            )


def format_row(numbers: list[float]) -> str:
    """Numbers as the shortest text that reads back to the same bits, separated by tabs."""
    return "\t".join(map(repr, numbers))
