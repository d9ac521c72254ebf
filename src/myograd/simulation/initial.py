"""Where a simulation starts: a state made from numbers, or from a row of a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from .._arrays import as_array
from ..dynamics.assembly import assemble, project_speeds
from ..errors import ModelError, nearest
from ..files.tables.table import Table, need_numbers, need_radians
from ..model.description.muscle_properties import NUMBERS
from ..model.model import Model
from ..system.rates import equilibrium_state
from ..system.state import State


def initial_state(
    model: Model,
    q: Any = None,
    u: Any = None,
    activation: Any = None,
    accept: tuple[str, ...] = (),
    time: float | Float[Array, ""] = 0.0,
) -> State:
    """Where a simulation may start: constraints satisfied, muscles in equilibrium.

    q, u: coordinates and speeds; None for the file's defaults, and for rest. activation: one number for all muscles, or one for
    each; None for the file's defaults. time [s]: of the start, which prescribed coordinates depend on.
    """
    q = assemble(model, model.default_pose() if q is None else q, time, accept=accept)
    u = project_speeds(model, q, as_array(np.zeros(q.shape)) if u is None else u, time, accept=accept)
    if activation is None:
        activation = default_activation(model)
    activation = jnp.broadcast_to(as_array(activation), (len(model.muscle_names),))
    if not isinstance(activation, Tracer):
        outside = np.flatnonzero((np.asarray(activation) < 0) | (np.asarray(activation) > 1))
        if outside.size:
            raise ModelError(f"initial_state: {model.muscle_names[outside[0]]}: activation is not between 0 and 1")
    return replace(equilibrium_state(model, q, u, activation, accept=accept), time=jnp.asarray(time, float))


def state_from_table(model: Model, table: Table, time: float | None = None, accept: tuple[str, ...] = ()) -> State:
    """The state in the row of a table at `time`, or in the first row.

    Columns are named as OpenSim names states (`/jointset/elbow/flexion/value`, `.../speed`, `/forceset/BIC/activation`,
    `.../fiber_length`), or as coordinates alone. Coordinates that have no column are at their defaults, speeds without one are
    zero, fibres in equilibrium. Constraints are satisfied by moving as little as they need.
    """
    values = state_columns(model, table)
    row = 0
    if time is not None:
        row = int(np.argmin(np.abs(table.time - time)))
        if abs(table.time[row] - time) > 1e-6:
            raise ModelError(f"the table has no row at {time:g} s; nearest is {table.time[row]:g} s")
    q, u, activation, fibers = (values[kind][row] for kind in ("value", "speed", "activation", "fiber_length"))
    # OpenSim's Manager writes activations below 0, too, where muscles are not excited.
    state = initial_state(model, q, u, np.maximum(activation, 0.0), accept=accept, time=float(table.time[row]))
    fibers = np.where(np.isnan(fibers), state.fiber_length, fibers)
    return replace(state, activation=jnp.asarray(activation), fiber_length=jnp.asarray(fibers))


def state_columns(model: Model, table: Table) -> dict[str, np.ndarray]:
    """`value` and `speed` [n, c], `activation` and `fiber_length` [n, m] of a table of states, in radians and metres. What has no
    column is at its default, at rest, or, of fibres, NaN."""
    need_numbers(table, "states")
    n = len(table)
    values = {
        "value": np.tile(np.asarray(model.default_pose()), (n, 1)),
        "speed": np.zeros((n, len(model.coordinate_names))),
        "activation": np.tile(np.asarray(default_activation(model)), (n, 1)),
        "fiber_length": np.full((n, len(model.muscle_names)), np.nan),
    }
    for name, column in zip(table.names, table.data.T, strict=True):
        owner, _, kind = name.rpartition("/") if name.count("/") > 1 else (name, "", "value")
        owner = owner.rsplit("/", 1)[-1]
        known = model.coordinate_names if kind in ("value", "speed") else model.muscle_names
        if kind not in values or owner not in known:
            raise ModelError(f"column {name!r} is not a state of {model.name!r}{nearest(owner, known)}")
        i = known.index(owner)
        rotational = kind in ("value", "speed") and model.names.rotational[i]
        if rotational and kind == "value" and not table.in_degrees:
            need_radians(f"column {name!r}", float(np.nanmax(np.abs(column), initial=0.0)))
        values[kind][:, i] = np.deg2rad(column) if table.in_degrees and rotational else column
    return values


def default_activation(model: Model) -> Array:
    """[m] the file's; 0.05 for classes that have no such number."""
    stated = model.muscles.numbers.get("default_activation", as_array(np.zeros(len(model.muscle_names))))
    has = np.array(["default_activation" in NUMBERS.get(kind, ()) for kind in model.muscle_classes.kind], bool)
    return stated if has.all() else jnp.where(has, stated, 0.05)
