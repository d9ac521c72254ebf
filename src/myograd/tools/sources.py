"""What tools are given: tables or the files that hold them. Errors about a file's content name the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any

from ..errors import FileFormatError, MyogradError, quoted
from ..files.tables.formats import read_table
from ..files.tables.table import Table, need_numbers

Source = Table | str | PathLike[str]


def is_path(source: Any) -> bool:
    return isinstance(source, str | PathLike)


def table_of(source: Source, what: str) -> Table:
    """The table, read if it is a path; it has rows, and one number in each cell. `what` names it in errors."""
    table = source if isinstance(source, Table) else read_table(source)
    need_numbers(table, what)
    return table


@contextmanager
def about(source: Any) -> Iterator[None]:
    """Name the file in errors about what it holds."""
    try:
        yield
    except FileFormatError:  # which does so already
        raise
    except MyogradError as error:
        if is_path(source):
            raise MyogradError(f"{quoted(source)}: {error}") from None
        raise
