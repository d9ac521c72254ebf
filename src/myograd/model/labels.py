"""Arrays with the model's names on their axes, as pandas' data frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError
from .model import Model

if TYPE_CHECKING:
    import pandas

AXES = ("bodies", "coordinates", "muscles", "controls", "markers")


def to_pandas(
    model: Model, values: ArrayLike, rows: str | Sequence[float] | np.ndarray, columns: str
) -> pandas.DataFrame:
    """A matrix with names: `mg.to_pandas(model, mg.moment_arms(model, q), "muscles", "coordinates")`.

    `rows` and `columns` are "bodies", "coordinates", "muscles", "controls" or "markers"; rows may be times [s] instead.
    """
    import pandas

    data = np.asarray(values)
    columns_ = pandas.Index(_names(model, columns))
    index = pandas.Index(_names(model, rows)) if isinstance(rows, str) else pandas.Index(np.asarray(rows), name="time")
    if data.shape != (len(index), len(columns_)):
        said = rows if isinstance(rows, str) else "times"
        raise ModelError(
            f"to_pandas: values have shape {data.shape}, but there are {len(index)} {said} and {len(columns_)} {columns}"
        )
    return pandas.DataFrame(data, index=index, columns=columns_)


def _names(model: Model, axis: str) -> tuple[str, ...]:
    if axis not in AXES:
        raise ModelError(f"to_pandas: an axis is one of {', '.join(AXES)}, not {axis!r}")
    return getattr(model.names, axis)
