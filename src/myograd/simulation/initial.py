"""Where a simulation starts: a state made from numbers, or from a row of a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .._arrays import as_array
from ..dynamics.assembly import assemble, project_speeds
from ..errors import ModelError, nearest
from ..files.tables.table import Table, need_numbers, need_radians
from ..model.description.muscle_properties import NUMBERS
from ..model.model import Model
from ..system.rates import equilibrium_state
from ..system.state import State


def initial_state(
    model: Model, q: Any = None, u: Any = None, activation: Any = None, accept: tuple[str, ...] = ()
) -> State:
    """Where a simulation may start: constraints satisfied, muscles in equilibrium.

    q, u: coordinates and speeds; None for the file's defaults, and for rest. activation: one number for all muscles, or one for
    each; None for the file's defaults.
    """
    q = assemble(model, model.default_pose() if q is None else q, accept=accept)
    u = project_speeds(model, q, as_array(np.zeros(q.shape)) if u is None else u, accept=accept)
    if activation is None:
        activation = default_activation(model)
    activation = jnp.broadcast_to(as_array(activation), (len(model.muscle_names),))
    return equilibrium_state(model, q, u, activation, accept=accept)


def state_from_table(model: Model, table: Table, time: float | None = None, accept: tuple[str, ...] = ()) -> State:
    """The state in the row of a table at `time`, or in the first row.

    Columns are named as OpenSim names states (`/jointset/elbow/flexion/value`, `.../speed`, `/forceset/BIC/activation`,
    `.../fiber_length`), or as coordinates alone. Coordinates that have no column are at their defaults, speeds without one are
    zero, fibres in equilibrium. Constraints are satisfied by moving as little as they need.
    """
    need_numbers(table, "states")
    row = 0
    if time is not None:
        row = int(np.argmin(np.abs(table.time - time)))
        if abs(table.time[row] - time) > 1e-6:
            raise ModelError(f"the table has no row at {time:g} s; nearest is {table.time[row]:g} s")
    values = state_columns(model, replace(table, time=table.time[[row]], data=table.data[[row]]), accept)
    state = initial_state(model, *(values[kind][0] for kind in ("value", "speed", "activation")), accept=accept)
    fibers = np.where(np.isnan(values["fiber_length"][0]), state.fiber_length, values["fiber_length"][0])
    return State(state.q, state.u, state.activation, jnp.asarray(fibers), jnp.asarray(float(table.time[row])))


def state_columns(model: Model, table: Table, accept: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    """`value` and `speed` [n, c], `activation` and `fiber_length` [n, m] of a table of states, in radians and metres. What has no
    column is at its default, at rest, or, of fibres, NaN. Raises at the first gap, but for muscles that `accept` names."""
    need_numbers(table, "states")
    n = len(table)
    values = {
        "value": np.tile(np.asarray(model.default_pose()), (n, 1)),
        "speed": np.zeros((n, len(model.coordinate_names))),
        "activation": np.tile(np.asarray(default_activation(model)), (n, 1)),
        "fiber_length": np.full((n, len(model.muscle_names)), np.nan),
    }
    for name, column in zip(table.names, table.data.T, strict=True):
        owner, kind = state_of_column(name)
        known = model.coordinate_names if kind in ("value", "speed") else model.muscle_names
        if kind not in values or owner not in known:
            raise ModelError(f"column {name!r} is not a state of {model.name!r}{nearest(owner, known)}")
        gaps = ~np.isfinite(column)
        if gaps.any() and owner not in accept:
            when = table.time[int(np.argmax(gaps))]
            raise ModelError(f"column {name!r} is not finite at {when:g} s; fill the gap, or cut")
        i = known.index(owner)
        rotational = kind in ("value", "speed") and model.names.rotational[i]
        if rotational and kind == "value" and not table.in_degrees:
            need_radians(f"column {name!r}", float(np.nanmax(np.abs(column), initial=0.0)))
        values[kind][:, i] = np.deg2rad(column) if table.in_degrees and rotational else column
    return values


def state_of_column(name: str) -> tuple[str, str]:
    """What a column of a table of states is about: a coordinate or muscle, and `value`, `speed`, `activation`, ..."""
    owner, _, kind = name.rpartition("/") if name.count("/") > 1 else (name, "", "value")
    return owner.rsplit("/", 1)[-1], kind


def default_activation(model: Model) -> Array:
    """[m] the file's; 0.05 for classes that have no such number."""
    stated = model.muscles.numbers.get("default_activation", as_array(np.zeros(len(model.muscle_names))))
    has = np.array(["default_activation" in NUMBERS.get(kind, ()) for kind in model.muscle_classes.kind], bool)
    return stated if has.all() else jnp.where(has, stated, 0.05)
