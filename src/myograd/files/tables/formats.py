"""Read and write tables in the format that the suffix of the file says: .sto, .mot or .trc."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType

from myograd.errors import FileFormatError
from myograd.files.kinds import KINDS
from myograd.files.tables import sto, trc
from myograd.files.tables.table import Table

_FORMATS = {".sto": sto, ".mot": sto, ".trc": trc}


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read a .sto, .mot or .trc file. Raises FileFormatError with file, line and what was expected there."""
    return _format(path).read(path)


def write_table(table: Table, path: str | os.PathLike[str]) -> None:
    """Write a .sto, .mot or .trc file. Reading it gives the same bits."""
    _format(path).write(table, path)


def _format(path: str | os.PathLike[str]) -> ModuleType:
    suffix = Path(path).suffix.lower()
    if suffix not in _FORMATS:
        kind = f", but that of {KINDS[suffix]}" if suffix in KINDS else ""
        raise FileFormatError(
            f"{suffix or 'no suffix'} is not a table format{kind}; expected {', '.join(_FORMATS)}", path
        )
    return _FORMATS[suffix]
