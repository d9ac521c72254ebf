"""OpenSim's .sto and .mot tables.

    subject01_walk                    free text
    version=3                         key=value, or in old SIMM motions `key value`
    nRows=2
    inDegrees=yes
    endheader
    time    hip_flexion    pelvis_tx
    0.0     12.5           0.1
    0.01    12.6           0.2

Read from what OpenSim does (Storage, STOFileAdapter): counts in the header are only checked, with a warning;
`DataType=Vec3` (Quaternion, SpatialVec, ...) means cells like `1,2,3`. Where `inDegrees` is missing, a .mot without
`version` is in degrees, as SIMM's motions are; all else is in radians.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from myograd.errors import FileFormatError, MyogradError, nearest
from myograd.files.atomic import write_text
from myograd.files.tables import cells
from myograd.files.tables.cells import Line
from myograd.files.tables.table import UNITS_PER_METRE, Table, duplicates

_COMPONENTS = {"double": 1, **{f"Vec{k}": k for k in range(2, 13)}, "UnitVec3": 3, "Quaternion": 4, "SpatialVec": 6}
_SIMM_KEYS = {"name", "datarows", "nr", "datacolumns", "nc", "range"}
_ROW_COUNTS, _COLUMN_COUNTS = {"nrows", "nr", "datarows"}, {"ncolumns", "nc", "datacolumns"}
# What `write` says anew, from the table itself.
_WRITTEN = _ROW_COUNTS | _COLUMN_COUNTS | {"header", "version", "opensimversion", "indegrees", "datatype", "range"}


def read(path: str | os.PathLike[str]) -> Table:
    """Read a .sto or .mot file."""
    lines = cells.read_lines(path)
    end = next((i for i, line in enumerate(lines) if line.text.strip().lower() == "endheader"), None)
    if end is None:
        raise FileFormatError("no line 'endheader': expected a header that ends with it, then the column names", path)
    if end + 1 == len(lines):
        raise FileFormatError("nothing follows 'endheader': expected the column names", path, lines[end].number)
    header_lines = lines[:end]
    metadata = _read_header(header_lines)
    header = {key.lower(): value for key, value in metadata.items()}
    labels_line, rows = lines[end + 1], lines[end + 2 :]
    labels = [label for label in cells.split_labels(labels_line.text) if label]
    components = _components(header, path, header_lines)
    notes: list[str] = []

    timeless = labels[0].lower() != "time"
    if timeless and ("range" not in header or any(label.lower() == "time" for label in labels)):
        raise FileFormatError(f"expected the first column 'time', found {labels[0]!r}", path, labels_line.number)
    columns = ["time", *labels] if timeless else ["time", *labels[1:]]
    if repeated := duplicates(columns):
        notes.append(f"columns share a name and cannot be selected by it: {', '.join(map(repr, repeated))}")
    if timeless:
        time = _time_from_range(header["range"], len(rows), path)
        rows = [Line(line.number, f"{t!r}\t{line.text}") for line, t in zip(rows, time.tolist(), strict=True)]
    numbers, unlabelled = cells.read_rows(rows, columns, path, components)
    if unlabelled:
        message = f"a row has more cells than the {len(columns)} columns that have names"
        raise FileFormatError(message, path, unlabelled)

    for key, value in metadata.items():
        actual = len(rows) if key.lower() in _ROW_COUNTS else len(labels) if key.lower() in _COLUMN_COUNTS else None
        if actual is not None and value != str(actual):
            notes.append(f"the header says {key} = {value}, but there are {actual}")
    new = cells.rows_of_new_time(numbers[:, 0], rows, path, notes)
    cells.warn_of(path, notes)
    data = numbers[new, 1:]
    if components > 1:
        data = data.reshape(len(data), len(columns) - 1, components)
    units = header.get("units", "")
    return Table(
        time=numbers[new, 0],
        data=data,
        names=tuple(columns[1:]),
        in_degrees=_in_degrees(header, path, header_lines),
        units=units if units.lower() in UNITS_PER_METRE else "",
        metadata=metadata,
    )


def write(table: Table, path: str | os.PathLike[str]) -> None:
    """Write a .sto or .mot file that OpenSim 4 reads (as TimeSeriesTable, or as Storage)."""
    cells.check_names(table.names, path)
    if "time" in table.names:
        raise MyogradError(f"{path}: cannot be written: a column beside the time column is named 'time'")
    header = _header_lines(table, path)
    rows = np.column_stack((table.time, table.flat))

    def pieces() -> Iterator[str]:
        yield "".join(f"{line}\n" for line in header)
        yield "\t".join(("time", *table.names)) + "\n"
        for row in rows:
            if table.data.ndim == 2:
                yield cells.format_row(row.tolist()) + "\n"
            else:
                time, *values = map(repr, row.tolist())
                vectors = iter(values)
                yield "\t".join((time, *(",".join(islice(vectors, table.data.shape[2])) for _ in table.names))) + "\n"

    write_text(path, pieces())


def _read_header(lines: list[Line]) -> dict[str, str]:
    metadata: dict[str, str] = {}
    free: list[str] = []
    for _, text in lines:
        text = text.strip()
        match = re.fullmatch(r"([^=\s]+)\s*=\s*(.*)", text)
        if match and match[1].lower() != "header":
            metadata[match[1]] = match[2]
        elif (words := text.split(maxsplit=1)) and len(words) == 2 and words[0].lower() in _SIMM_KEYS:
            metadata[words[0]] = words[1]
        else:
            free.append(text)
    return {"header": "\n".join(free), **metadata} if free else metadata


def _header_line(lines: list[Line], key: str) -> int:
    """The number of the last line that sets `key`."""
    return next((n for n, text in reversed(lines) if text.strip().lower().startswith(key)), 0)


def _components(header: dict[str, str], path: object, lines: list[Line]) -> int:
    kind = header.get("datatype", "double")
    known = {name.lower(): k for name, k in _COMPONENTS.items()}
    if kind.lower() not in known:
        message = f"DataType={kind} is unknown{nearest(kind, _COMPONENTS)}"
        raise FileFormatError(message, path, _header_line(lines, "datatype"))
    return known[kind.lower()]


def _in_degrees(header: dict[str, str], path: object, lines: list[Line]) -> bool:
    stated = header.get("indegrees")
    if stated is not None:
        if stated.lower() not in ("yes", "y", "true", "no", "n", "false"):
            message = f"inDegrees={stated}: expected yes or no"
            raise FileFormatError(message, path, _header_line(lines, "indegrees"))
        return stated.lower() in ("yes", "y", "true")
    if "version" in header:
        return False
    text = header.get("header", "").lower()
    if "angles are in degrees" in text or "angles are in radians" in text:
        return "angles are in degrees" in text
    return Path(str(path)).suffix.lower() == ".mot"


def _time_from_range(stated: str, rows: int, path: object) -> np.ndarray:
    """SIMM motions may leave out the time column: rows are evenly spaced over `range start end`."""
    try:
        start, end = (float(word) for word in stated.split())
    except ValueError:
        raise FileFormatError(f"range {stated}: expected two numbers, as there is no time column", path) from None
    with np.errstate(all="ignore"):  # of an infinite range, the rows have no time: the check of time reports that
        return np.linspace(start, end, rows)


def _header_lines(table: Table, path: object) -> list[str]:
    kind = "double"
    if table.data.ndim == 3:
        kind = next((v for k, v in table.metadata.items() if k.lower() == "datatype"), "")
        if _COMPONENTS.get(kind) != table.data.shape[2]:
            kind = f"Vec{table.data.shape[2]}"
        if kind not in _COMPONENTS:
            raise MyogradError(f"{path}: vectors of {table.data.shape[2]} numbers cannot be written; at most 12 can")
    written = _WRITTEN | {"units"} if table.units else _WRITTEN
    kept = {key: value for key, value in table.metadata.items() if key.lower() not in written}
    free = [line for line in table.metadata.get("header", "").split("\n") if line.strip()]
    for key, value in kept.items():
        if not re.fullmatch(r"[^=\s\0]+", key) or re.search(r"[\n\r\0]", value):
            raise MyogradError(f"{path}: cannot be written: the header entry {key!r}: {value!r} is not one line")
    for line in free:
        if line.strip().lower() == "endheader" or re.search(r"[\r\0]", line):
            raise MyogradError(f"{path}: cannot be written: the header has the line {line!r}")
    # OpenSim takes a line of digits before `endheader` for a row of data.
    lines = [f"# {line}" if re.fullmatch(r"\d[\d.\t -]*", line) else line for line in free]
    lines += [f"{key}={value}" for key, value in kept.items()]
    lines += ["version=3", f"nRows={len(table)}", f"nColumns={len(table.names) + 1}"]
    lines += [f"inDegrees={'yes' if table.in_degrees else 'no'}"]
    lines += [f"Units={table.units}"] if table.units else []
    return [*lines, f"DataType={kind}", "endheader"]
