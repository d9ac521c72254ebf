"""What `myograd info --parameters` lists: every number of a model that has a name, its value and its unit."""

from __future__ import annotations

from math import isfinite
from pathlib import Path

from rich.table import Table

import myograd
from myograd.model.parameters import unnamed_arrays


def parameters_data(path: Path) -> dict[str, dict[str, float | str | None]]:
    """`{name: {value, unit}}` in SI units; None for what is not limited."""
    model = myograd.load_model(path)
    places = myograd.parameter_places(model)
    values = myograd.values_of(model, list(places))
    return {
        name: {"value": values[name] if isfinite(values[name]) else None, "unit": place.unit}
        for name, place in places.items()
    }


def by_place(path: Path) -> str:
    """Arrays with numbers that have no name of their own."""
    arrays = unnamed_arrays(myograd.load_model(path))
    listed = ", ".join(f"{name}[{','.join(map(str, shape))}]" for name, shape in arrays.items())
    return f"All other numbers go by their place in an array, as joints.offsets[3]. Arrays and their shapes: {listed}"


def parameters_view(listed: dict[str, dict[str, float | str | None]]) -> Table:
    shown = Table("parameter", "value", "unit", box=None, header_style="bold")
    for name, entry in listed.items():
        value = entry["value"]
        shown.add_row(name, "unlimited" if value is None else f"{value:.6g}", str(entry["unit"]))
    return shown
