"""What every tool gives back: its numbers as tables, and in words what is doubtful about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from ..errors import MyogradError, quoted
from ..files.tables.formats import write_table
from ..files.tables.table import Table


@dataclass(frozen=True, eq=False, kw_only=True)
class Result(ABC):
    """The result of a tool (`mg.tools`)."""

    messages: tuple[str, ...] = ()
    """what a user should know before trusting it, most important first; empty if nothing"""

    @abstractmethod
    def tables(self) -> dict[str, Table]:
        """Everything over time, by name, with the columns that OpenSim's tools give."""

    def save(self, folder: str | PathLike[str], prefix: str = "") -> list[Path]:
        """Write every table as `PREFIXname.sto` into a folder, which is made if it is not there; the files that were written."""
        where = Path(folder)
        if where.exists() and not where.is_dir():
            raise MyogradError(f"{quoted(where)} is a file; results are saved into a folder")
        where.mkdir(parents=True, exist_ok=True)
        written = []
        for name, table in self.tables().items():
            written.append(where / f"{prefix}{name}.sto")
            write_table(table, written[-1])
        return written
