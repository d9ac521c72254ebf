"""A table of columns over time: what a .sto, .mot or .trc file says, in numpy arrays.

A table holds the numbers of its file unchanged, with the two facts needed to understand them: `in_degrees` and
`units`. Radians and metres are asked for by name: `to_radians`, `positions`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from myograd.errors import MyogradError, nearest

if TYPE_CHECKING:
    import pandas

UNITS_PER_METRE = {
    **dict.fromkeys(("m", "meter", "meters", "metre", "metres"), 1.0),
    **dict.fromkeys(("cm", "centimeter", "centimeters", "centimetre", "centimetres"), 100.0),
    **dict.fromkeys(("mm", "millimeter", "millimeters", "millimetre", "millimetres"), 1000.0),
}

FARTHEST_TURN = 4 * math.pi  # rad: more is a table in degrees


class TableWarning(UserWarning):
    """A file was read although it disagrees with itself; the message says how it was understood."""


@dataclass(frozen=True, eq=False)
class Table:
    """Columns over time.

    time: [n] s, strictly increasing. data: [n, columns], or [n, columns, k] where each cell is a vector (markers of a
    .trc have k = 3). names: one for each column; OpenSim's own files repeat some, and asking for one of those raises.
    in_degrees: whether angles are degrees (.sto, .mot). units: of length, as the file spells it ("mm"), "" if it does
    not say. metadata: the file's header, in its order; free text is under "header".
    """

    time: NDArray[np.float64]
    data: NDArray[np.float64]
    names: tuple[str, ...]
    in_degrees: bool = False
    units: str = ""
    metadata: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        time = np.asarray(self.time, dtype=np.float64)
        data = np.asarray(self.data, dtype=np.float64)
        names = tuple(map(str, self.names))
        if time.ndim != 1 or data.ndim not in (2, 3) or data.shape[:2] != (len(time), len(names)):
            raise MyogradError(
                f"time {time.shape}, data {data.shape} and {len(names)} names do not make a table: expected time [n], "
                "data [n, columns] or [n, columns, k], and one name for each column"
            )
        if not np.isfinite(time).all():
            raise MyogradError(f"time is not finite at row {int(np.argmin(np.isfinite(time)))}")
        if (time[1:] <= time[:-1]).any():
            row = int(np.argmax(time[1:] <= time[:-1])) + 1
            raise MyogradError(f"time must increase: row {row} has {time[row]} s after {time[row - 1]} s")
        for name, value in (("time", time), ("data", data), ("names", names)):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.time)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """The column `name`: [n], or [n, k] for vectors."""
        return self.data[:, self._indices([name])[0]]

    def columns(self, names: Iterable[str]) -> NDArray[np.float64]:
        """The columns `names`, in that order: [n, len(names)], or [n, len(names), k] for vectors."""
        return self.data[:, self._indices(names)]

    @property
    def flat(self) -> NDArray[np.float64]:
        """The data with the components of vectors side by side: [n, columns * k]."""
        return self.data.reshape(len(self), math.prod(self.data.shape[1:]))

    @property
    def positions(self) -> NDArray[np.float64]:
        """Marker positions in metres: [n, markers, 3]."""
        if self.data.shape[2:] != (3,):
            raise MyogradError(f"a table with data {self.data.shape} holds no positions: expected [n, markers, 3]")
        if self.units.lower() not in UNITS_PER_METRE:
            stated = f"its units are {self.units!r}" if self.units else "the table does not say its units"
            raise MyogradError(f"positions in metres are unknown: {stated}; expected m, cm or mm")
        return self.data / UNITS_PER_METRE[self.units.lower()]

    def to_radians(self, rotational: Iterable[str]) -> Table:
        """This table with the columns `rotational` in radians. All other columns (translations, forces) stay."""
        return self._with_angles(rotational, in_degrees=False)

    def to_degrees(self, rotational: Iterable[str]) -> Table:
        """This table with the columns `rotational` in degrees. All other columns (translations, forces) stay."""
        return self._with_angles(rotational, in_degrees=True)

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame indexed by time. Vectors give two levels of columns: (name, x), (name, y), (name, z)."""
        import pandas

        columns: pandas.Index = pandas.Index(self.names)
        if self.data.ndim == 3:
            columns = pandas.MultiIndex.from_product([self.names, _component_names(self.data.shape[2])])
        frame = pandas.DataFrame(self.flat, index=pandas.Index(self.time, name="time"), columns=columns)
        frame.attrs = {"in_degrees": self.in_degrees, "units": self.units, "metadata": dict(self.metadata)}
        return frame

    @classmethod
    def from_pandas(cls, frame: pandas.DataFrame) -> Table:
        """A table from a DataFrame with an index or a column named "time"; the inverse of `to_pandas`."""
        if frame.index.name != "time":
            if "time" not in frame.columns:
                raise MyogradError("the DataFrame has no time: expected an index or a column named 'time'")
            frame = frame.set_index("time")
        names = list(dict.fromkeys(frame.columns.get_level_values(0)))
        values = frame.to_numpy(dtype=np.float64)
        if frame.columns.nlevels == 2:
            components = len(frame.columns) // max(len(names), 1)
            if list(frame.columns.get_level_values(0)) != [name for name in names for _ in range(components)]:
                raise MyogradError("the vector columns of the DataFrame must all have the same length and be adjacent")
            values = values.reshape(len(values), len(names), components)
        else:
            names = list(frame.columns)
        return cls(
            time=frame.index.to_numpy(dtype=np.float64),
            data=values,
            names=tuple(map(str, names)),
            in_degrees=bool(frame.attrs.get("in_degrees", False)),
            units=str(frame.attrs.get("units", "")),
            metadata=dict(frame.attrs.get("metadata", {})),
        )

    def _indices(self, names: Iterable[str]) -> list[int]:
        places: dict[str, list[int]] = {}
        for i, name in enumerate(self.names):
            places.setdefault(name, []).append(i)
        names = [names] if isinstance(names, str) else list(names)
        for name in names:
            if name not in places:
                raise MyogradError(f"the table has no column {name!r}{nearest(str(name), self.names)}")
            if len(places[name]) > 1:
                raise MyogradError(f"columns {places[name]} are all named {name!r}; take one of them from `data`")
        return [places[name][0] for name in names]

    def _with_angles(self, rotational: Iterable[str], in_degrees: bool) -> Table:
        angles = self._indices(rotational)
        if in_degrees == self.in_degrees:
            return self
        data = self.data.copy()
        data[:, angles] = np.rad2deg(data[:, angles]) if in_degrees else np.deg2rad(data[:, angles])
        return replace(self, data=data, in_degrees=in_degrees)


def duplicates(names: Sequence[str]) -> list[str]:
    """The names that occur more than once."""
    return [name for name, count in Counter(names).items() if count > 1]


def _component_names(k: int) -> list[str]:
    return ["x", "y", "z"] if k == 3 else [str(i + 1) for i in range(k)]


def need_numbers(table: Table, what: str) -> None:
    """Raise unless the table has rows, and one number in each cell."""
    if not len(table):
        raise MyogradError(f"{what}: the table has no rows")
    if table.data.ndim != 2:
        raise MyogradError(
            f"{what}: each cell of the table holds {table.data.shape[2]} numbers, as in a table of markers (.trc); expected a "
            "table with one number in each cell (.sto, .mot)"
        )


def need_radians(what: str, angle: float) -> None:
    """Raise if an angle [rad] is so large that its table must have been in degrees."""
    if abs(angle) > FARTHEST_TURN:
        raise MyogradError(
            f"{what} is {angle:.4g} rad, {math.degrees(angle):.0f} degrees; is the table in degrees, and its header without "
            "inDegrees=yes?"
        )
