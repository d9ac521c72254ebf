"""Where a simulation starts: a state made from numbers, or from a row of a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from .._arrays import as_array
from ..dynamics.assembly import assemble, project_speeds
from ..dynamics.kinematics import pose
from ..errors import ModelError, nearest
from ..files.tables.table import Table, need_numbers, need_radians
from ..model.description.muscle_properties import DE_GROOTE_FREGLY, NUMBERS
from ..model.model import Model
from ..muscle.classes.degroote_fregly import fiber_of_tension
from ..path.length import lengths_and_gradient
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
    `.../fiber_length`, or `.../normalized_tendon_force` of DeGrooteFregly2016Muscle), or as coordinates alone. Coordinates that
    have no column are at their defaults, speeds without one are zero, fibres in equilibrium. Constraints are satisfied by moving
    as little as they need.
    """
    need_numbers(table, "states")
    row = 0
    if time is not None:
        row = int(np.argmin(np.abs(table.time - time)))
        if abs(table.time[row] - time) > 1e-6:
            raise ModelError(f"the table has no row at {time:g} s; nearest is {table.time[row]:g} s")
    values = state_columns(model, replace(table, time=table.time[[row]], data=table.data[[row]]), accept)
    q, u, activation = (values[kind][0] for kind in ("value", "speed", "activation"))
    # OpenSim's Manager writes activations below 0, too, where muscles are not excited.
    state = initial_state(model, q, u, np.maximum(activation, 0.0), accept=accept, time=float(table.time[row]))
    known = known_fibers(model, np.asarray(state.q)[None], values, table.time[[row]], accept)[0]
    fibers = np.where(np.isnan(known), state.fiber_length, known)
    return replace(state, activation=jnp.asarray(activation), fiber_length=jnp.asarray(fibers))


def state_columns(model: Model, table: Table, accept: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    """`value` and `speed` [n, c], `activation`, `fiber_length` and `normalized_tendon_force` [n, m] of a table of states, in
    radians and metres. What has no column is at its default, at rest, or, of fibres and tendons, NaN. Raises at the first
    gap, but for muscles that `accept` names."""
    need_numbers(table, "states")
    n = len(table)
    values = {
        "value": np.tile(np.asarray(model.default_pose()), (n, 1)),
        "speed": np.zeros((n, len(model.coordinate_names))),
        "activation": np.tile(np.asarray(default_activation(model)), (n, 1)),
        "fiber_length": np.full((n, len(model.muscle_names)), np.nan),
        "normalized_tendon_force": np.full((n, len(model.muscle_names)), np.nan),
    }
    tendons = [name for name, has in zip(model.muscle_names, _tendon_states(model), strict=True) if has]
    for name, column in zip(table.names, table.data.T, strict=True):
        owner, kind = state_of_column(name)
        known = model.coordinate_names if kind in ("value", "speed") else model.muscle_names
        having = tendons if kind == "normalized_tendon_force" else known
        if kind not in values or owner not in having:
            raise ModelError(f"column {name!r} is not a state of {model.name!r}{nearest(owner, having)}")
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


def known_fibers(
    model: Model, q: np.ndarray, values: dict[str, np.ndarray], time: np.ndarray, accept: tuple[str, ...] = ()
) -> np.ndarray:
    """Fibre lengths [n, m] as the columns of a table say (`state_columns`) at poses q [n, c]: directly, or by the force in the
    tendon. NaN for muscles that have neither."""
    fibers, tension = values["fiber_length"], values["normalized_tendon_force"]
    by_tendon = np.isnan(fibers) & np.isfinite(tension)
    if not by_tendon.any():
        return fibers
    found = np.where(by_tendon, _fibers_of_tensions(model, jnp.asarray(q), jnp.asarray(tension)), fibers)
    wrong = np.argwhere(by_tendon & np.isnan(found) & ~np.isin(model.muscle_names, accept))
    if len(wrong):
        row, i = wrong[0]
        raise ModelError(
            f"{model.muscle_names[i]} at {time[row]:g} s: no fibre fits its path while its tendon bears "
            f"{tension[row, i]:g} of its maximum isometric force (normalized_tendon_force)"
        )
    return found


@jax.jit
def _fibers_of_tensions(model: Model, q: Float[Array, "n c"], tension: Float[Array, "n m"]) -> Float[Array, "n m"]:
    def at(row: tuple[Array, Array]) -> Float[Array, " m"]:
        q, tension = row
        length, _ = lengths_and_gradient(model, pose(model, q), q)
        return fiber_of_tension(model.muscles, length[: len(tension)], tension)

    return jax.lax.map(at, (q, tension), batch_size=32)


def _tendon_states(model: Model) -> list[bool]:
    """Whether OpenSim keeps the tendon's force as a state, for each muscle."""
    classes = model.muscle_classes
    return [
        kind == DE_GROOTE_FREGLY and not rigid for kind, rigid in zip(classes.kind, classes.rigid_tendon, strict=True)
    ]


def state_of_column(name: str) -> tuple[str, str]:
    """What a column of a table of states is about: a coordinate or muscle, and `value`, `speed`, `activation`, ..."""
    owner, _, kind = name.rpartition("/") if name.count("/") > 1 else (name, "", "value")
    return owner.rsplit("/", 1)[-1], kind


def default_activation(model: Model) -> Array:
    """[m] the file's; 0.05 for classes that have no such number."""
    stated = model.muscles.numbers.get("default_activation", as_array(np.zeros(len(model.muscle_names))))
    has = np.array(["default_activation" in NUMBERS.get(kind, ()) for kind in model.muscle_classes.kind], bool)
    return stated if has.all() else jnp.where(has, stated, 0.05)
