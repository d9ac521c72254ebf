"""Coordinates over time from a table: which column is which coordinate, in which unit, and what has no column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import MyogradError, nearest
from ..model.model import Model
from .tables.table import Table, need_numbers, need_radians


@dataclass(frozen=True, eq=False)
class TableCoordinates:
    """What a table says of a model's coordinates."""

    values: np.ndarray
    """[n, c] rad, m; the model's defaults where there is no column"""
    given: np.ndarray
    """[c] bool: whether there is a column"""

    def need(self, model: Model, table: Table, what: str) -> None:
        """Raise unless there is a column for every coordinate that no constraint sets."""
        for i in model.constraints.free:
            if not self.given[i]:
                name = model.coordinate_names[i]
                others = [column for column in table.names if column not in model.coordinate_names]
                raise MyogradError(f"{what} has no column for coordinate {name!r}{nearest(name, others)}")


def coordinate_column(table: Table, coordinate: str) -> str | None:
    """The column of a coordinate: its name, or the end of OpenSim's path to it (`/jointset/elbow/elbow_flexion/value`)."""
    for column in table.names:
        if column == coordinate or column.endswith(f"/{coordinate}/value"):
            return column
    return None


def table_coordinates(model: Model, table: Table, what: str) -> TableCoordinates:
    """The coordinates in a table, in radians whatever the table has. `what` names the table in errors."""
    need_numbers(table, what)
    columns = [coordinate_column(table, name) for name in model.coordinate_names]
    given = np.array([column is not None for column in columns], bool)
    rotational = [c for c, turns in zip(columns, model.names.rotational, strict=True) if turns and c is not None]
    radians = table.to_radians(rotational)
    values = np.tile(np.asarray(model.coordinates.default, float), (len(table), 1))
    for i, column in enumerate(columns):
        if column is not None:
            values[:, i] = radians[column]
            if model.names.rotational[i]:
                need_radians(
                    f"{what}: {model.coordinate_names[i]}", float(np.nanmax(np.abs(values[:, i]), initial=0.0))
                )
    return TableCoordinates(values, given)
