"""Muscles along a motion, as OpenSim's MuscleAnalysis: from coordinates or states over time to tables of lengths, velocities,
forces, powers and moment arms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..dynamics.entry import accepted, need_constraints
from ..dynamics.poses import assembled, projected, read_motion
from ..errors import MotionWarning, MyogradError, warn
from ..estimate.motions import differentiated
from ..files.tables.table import Table
from ..model.model import Model
from ..simulation.initial import default_activation, known_fibers, state_columns, state_of_column
from ..system.forces import need_forces
from ..system.muscle_analysis import quantities_over_time
from ..system.rates import equilibrium_state
from ..system.state import State
from .result import Result
from .sources import Source, about, table_of


@dataclass(frozen=True, eq=False, kw_only=True)
class Analysis(Result):
    """What the muscles do along a motion."""

    model: Model
    time: np.ndarray
    """[n] s"""
    quantities: dict[str, np.ndarray]
    """`Length`, `FiberVelocity`, `TendonForce`, ... [n, m], by OpenSim's names (`system.muscle_analysis.QUANTITIES`)"""
    moment_arms: np.ndarray
    """[n, m, c] m; NaN for coordinates about which there is none"""

    def tables(self) -> dict[str, Table]:
        """One for each quantity, and `MomentArm_COORDINATE` and `Moment_COORDINATE` for each independent coordinate."""
        names = self.model.muscle_names
        found = {name: Table(self.time, values, names) for name, values in self.quantities.items()}
        for coordinate in self.model.independent_coordinates:
            arms = self.moment_arms[:, :, self.model.coordinate_names.index(coordinate)]
            found[f"MomentArm_{coordinate}"] = Table(self.time, arms, names)
            found[f"Moment_{coordinate}"] = Table(self.time, arms * self.quantities["TendonForce"], names)
        return found


def analyze(
    model: Model,
    motion: Source | None = None,
    *,
    states: Source | None = None,
    activation: float | None = None,
    accept: tuple[str, ...] = (),
) -> Analysis:
    """Lengths, velocities, forces, powers and moment arms of all muscles along a motion.

    `motion`: coordinates over time (`.mot`), whose speeds are those of splines through them, as OpenSim's; muscles are then in
    equilibrium at `activation`, or at the file's default. `states`: coordinates, speeds, activations and fibre lengths, as
    `simulate` and OpenSim write them; speeds obey the constraints, and a MotionWarning lists columns that are missing. One of the
    two is needed. `accept`: names of unsupported parts of the file to leave out.
    """
    if (motion is None) == (states is None):
        raise MyogradError("analyze takes either a motion (coordinates over time) or states, one of the two")
    if not model.muscle_names:
        raise MyogradError(f"{model.name!r} has no muscles to be analysed")
    accept = accepted(model, "analyze", accept)
    need_constraints(model, "analyze", accept)
    need_forces(model, "analyze", accept)
    if motion is not None:
        along = _balanced(model, motion, activation, accept)
    elif activation is not None:
        raise MyogradError("states bring their own activations: leave out activation")
    else:
        assert states is not None
        along = _recorded(model, states, accept)
    controls = np.zeros((len(along.q), len(model.control_names)))
    controls[:, list(model.muscle_classes.control)] = along.activation
    quantities, arms = quantities_over_time(model, along, jnp.asarray(controls), accept)
    return Analysis(
        model=model,
        time=np.asarray(along.time),
        quantities={name: np.asarray(values) for name, values in quantities.items()},
        moment_arms=np.asarray(arms),
    )


def _balanced(model: Model, motion: Source, activation: float | None, accept: tuple[str, ...]) -> State:
    """States along a motion, muscles in equilibrium."""
    table = table_of(motion, "the motion")
    if any(name.endswith(("/activation", "/fiber_length")) for name in table.names):
        warn("the motion holds states of muscles, which are not used: give it as states to use them", MotionWarning)
    found = read_motion(model, motion, accept)
    q, u, _ = (jnp.asarray(x) for x in differentiated(model, found.time, found.q))
    level = default_activation(model) if activation is None else jnp.full(len(model.muscle_names), float(activation))
    return _equilibrium(model, jnp.asarray(found.time), q, u, jnp.broadcast_to(level, (len(q), len(level))), accept)


def _recorded(model: Model, states: Source, accept: tuple[str, ...]) -> State:
    """States as a table has them, constraints satisfied; fibres that it lacks are in equilibrium."""
    with about(states):
        table = table_of(states, "the states")
        values = state_columns(model, table, accept)
        _warn_of_missing(model, table)
        q = assembled(model, values["value"], table.time, "the states", accept)
        u = projected(model, q, values["speed"], table.time, "the states", accept)
        fibers = known_fibers(model, q, values, table.time, accept)
    time, q, u, activation = (jnp.asarray(x) for x in (table.time, q, u, values["activation"]))
    if np.isnan(fibers).any():
        balanced = _equilibrium(model, time, q, u, activation, accept)
        fibers = np.where(np.isnan(fibers), balanced.fiber_length, fibers)
    return State(q, u, activation, jnp.asarray(fibers), time)


def _warn_of_missing(model: Model, table: Table) -> None:
    """Of free coordinates without a column; others follow by constraints."""
    given = {state_of_column(name) for name in table.names}
    free = [model.coordinate_names[i] for i in model.constraints.free]
    for kind, instead in (("value", "at the default"), ("speed", "at rest")):
        missing = [name for name in free if (name, kind) not in given]
        if missing:
            shown = ", ".join(missing[:8]) + (f" and {len(missing) - 8} more" if len(missing) > 8 else "")
            warn(f"the states have no {kind} of {shown}: {instead} there", MotionWarning)


@partial(jax.jit, static_argnames="accept")
def _equilibrium(
    model: Model,
    time: Float[Array, " n"],
    q: Float[Array, "n c"],
    u: Float[Array, "n c"],
    activation: Float[Array, "n m"],
    accept: tuple[str, ...],
) -> State:
    balanced = jax.lax.map(lambda row: equilibrium_state(model, *row, accept=accept), (q, u, activation), batch_size=32)
    return State(balanced.q, balanced.u, balanced.activation, balanced.fiber_length, time)
