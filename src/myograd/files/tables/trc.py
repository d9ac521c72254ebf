"""Marker trajectories in .trc files.

    PathFileType  4  (X/Y/Z)  walk.trc
    DataRate  CameraRate  NumFrames  NumMarkers  Units  OrigDataRate  OrigDataStartFrame  OrigNumFrames
    60.00     60.00       2          2           mm     60.00         1                   2
    Frame#  Time   R.ASIS            L.ASIS
                   X1   Y1   Z1      X2   Y2   Z2
    1       0.0    617  1055 170     639  1044 -88
    2       0.017  617  1053 168     641  1042 -90

all separated by tabs; three cells for each marker, so that two blank ones follow each name. Blank cells are markers not
seen: NaN. Frame numbers are not kept. Counts in the header are only checked, with a warning.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from myograd.errors import FileFormatError, MyogradError
from myograd.files.atomic import write_text
from myograd.files.tables import cells
from myograd.files.tables.cells import Line
from myograd.files.tables.table import UNITS_PER_METRE, Table, duplicates

_KEYS = (
    "DataRate",
    "CameraRate",
    "NumFrames",
    "NumMarkers",
    "Units",
    "OrigDataRate",
    "OrigDataStartFrame",
    "OrigNumFrames",
)


def read(path: str | os.PathLike[str]) -> Table:
    """Read a .trc file. `Table.data` is [n, markers, 3] in the units of the file, `Table.positions` in metres."""
    lines = cells.read_lines(path)
    if not lines[0].text.strip().lower().startswith("pathfiletype"):
        raise FileFormatError(f"expected 'PathFileType', found {lines[0].text[:40]!r}", path, lines[0].number)
    if len(lines) < 4:
        message = f"ends after {len(lines)} lines: expected header keys, header values and marker names"
        raise FileFormatError(message, path, lines[-1].number)
    notes: list[str] = []
    metadata = {"header": lines[0].text.strip(), **_read_header(lines[1], lines[2], path, notes)}
    header = {key.lower(): value for key, value in metadata.items()}
    units = header.get("units", "")
    if units and units.lower() not in UNITS_PER_METRE:
        raise FileFormatError(f"Units {units!r}: expected m, cm or mm", path, lines[2].number)

    markers = _marker_labels(lines[3], path)
    named = [i for i, name in enumerate(markers) if name]
    names = [markers[i] for i in named]
    if repeated := duplicates(names):
        message = f"each marker needs its own name; more than once: {', '.join(map(repr, repeated))}"
        raise FileFormatError(message, path, lines[3].number)
    rows = lines[4:]
    if rows and rows[0].text.lstrip(" \t")[0] in "XYZxyz":
        _check_axes(rows[0], path)
        rows = rows[1:]
    columns = ["Frame#", "Time", *(f"{name} {axis}" for name in markers for axis in "XYZ")]
    numbers, unlabelled = cells.read_rows(rows, columns, path)

    if unlabelled or len(named) < len(markers):
        notes.append(f"columns without a marker name are left out (line {unlabelled or lines[3].number})")
    for key, actual in (("NumFrames", len(rows)), ("NumMarkers", len(names))):
        value = header.get(key.lower())
        if value is not None and value != str(actual):
            notes.append(f"the header says {key} = {value}, but there are {actual}")
    new = cells.rows_of_new_time(numbers[:, 1], rows, path, notes)
    cells.warn_of(path, notes)
    data = numbers[new, 2:].reshape(np.count_nonzero(new), len(markers), 3)[:, named]
    return Table(numbers[new, 1], data, tuple(names), units=units, metadata=metadata)


def write(table: Table, path: str | os.PathLike[str]) -> None:
    """Write a .trc file that OpenSim 4 reads. The header has room only for the eight keys that OpenSim knows."""
    if table.data.shape[2:] != (3,):
        raise MyogradError(f"{path}: a .trc holds markers, data [n, markers, 3]; this table has {table.data.shape}")
    if table.units.lower() not in UNITS_PER_METRE:
        raise MyogradError(f"{path}: a .trc needs units m, cm or mm; the table has {table.units!r}")
    cells.check_names(table.names, path)
    first = table.metadata.get("header", "")
    if not re.fullmatch(r"PathFileType[^\n\r\0]*", first):
        first = f"PathFileType\t4\t(X/Y/Z)\t{' '.join(Path(path).name.split())}"
    values = _header_values(table, path)
    rows = np.column_stack((table.time, table.flat))

    def pieces() -> Iterator[str]:
        yield f"{first}\n" + "\t".join(_KEYS) + "\n" + "\t".join(values) + "\n"
        yield "Frame#\tTime\t" + "\t\t\t".join(table.names) + "\t\t\n"
        yield "\t\t" + "\t".join(f"{axis}{i + 1}" for i in range(len(table.names)) for axis in "XYZ") + "\n\n"
        for frame, row in enumerate(rows, start=1):
            yield f"{frame}\t{cells.format_row(row.tolist())}\n"

    write_text(path, pieces())


def _read_header(keys_line: Line, values_line: Line, path: object, notes: list[str]) -> dict[str, str]:
    keys = [key for key in cells.split_labels(keys_line.text) if key]
    values = cells.split_labels(values_line.text)
    words = values_line.text.split()
    ways = (keys, values), (keys, [value for value in values if value]), (keys_line.text.split(), words)
    for names, entries in ways:
        if len(names) == len(entries):
            return {name: entry for name, entry in zip(names, entries, strict=True) if entry}
    if 5 <= len(words) <= len(_KEYS):
        notes.append(f"{len(words)} header values for {len(keys)} keys; they are taken in the usual order of keys")
        return dict(zip(_KEYS, words, strict=False))
    raise FileFormatError(f"{len(words)} header values for the {len(keys)} keys above", path, values_line.number)


def _marker_labels(line: Line, path: object) -> list[str]:
    """The name over each three columns, "" where there is none."""
    labels = cells.split_labels(line.text)
    if not "\t".join(labels[:2]).lower().startswith(("frame#\ttime", "frame #\ttime", "frame\ttime")):
        raise FileFormatError(f"expected the labels Frame# and Time, found {labels[:2]}", path, line.number)
    labels = labels[2:]
    if any(labels[1::3]) or any(labels[2::3]):  # names without two blank cells between them
        return [name for name in labels if name]
    return labels[::3]


def _check_axes(line: Line, path: object) -> None:
    """X1 Y1 Z1 X2 ...: the numbers vary in real files, but the order of axes matters."""
    found = [label for label in cells.split_labels(line.text) if label]
    for label, axis in zip(found, "XYZ" * len(found), strict=False):
        if label[0].upper() != axis:
            message = f"expected the axes X, Y, Z of each marker in this order, found {label!r} for {axis}"
            raise FileFormatError(message, path, line.number)


def _header_values(table: Table, path: object) -> list[str]:
    header = {key.lower(): value for key, value in table.metadata.items()}
    n = len(table)
    rate = f"{(n - 1) / (float(table.time[-1]) - float(table.time[0])):.6g}" if n > 1 else "0"
    stated = header.get("datarate", "")
    if n < 2 or _agree(stated, float(rate)):  # a table cut or resampled keeps the header of its file
        rate = stated or rate
    values = {
        "DataRate": rate,
        "CameraRate": header.get("camerarate", rate),
        "NumFrames": str(n),
        "NumMarkers": str(len(table.names)),
        "Units": table.units,
        "OrigDataRate": header.get("origdatarate", rate),
        "OrigDataStartFrame": header.get("origdatastartframe", "1"),
        "OrigNumFrames": header.get("orignumframes", str(n)),
    }
    for key, value in values.items():
        if len(value.split()) != 1 or "\0" in value:
            raise MyogradError(f"{path}: cannot be written: the header entry {key!r}: {value!r} is not one word")
    return list(values.values())


def _agree(stated: str, rate: float) -> bool:
    try:
        return abs(float(stated) - rate) <= 0.01 * rate
    except ValueError:
        return False
