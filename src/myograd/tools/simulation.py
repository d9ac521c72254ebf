"""A simulation as a whole, as OpenSim's forward tool: from a model, its controls and loads to states, controls and forces over
time. Whatever can be checked is checked before anything is compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from ..dynamics.entry import accepted, need_constraints
from ..errors import MyogradError
from ..files.external_loads import ExternalLoads, read_external_loads
from ..files.tables.table import Table
from ..model.model import Model
from ..simulation.controls import check_span, controller
from ..simulation.initial import initial_state, state_columns, state_from_table
from ..simulation.integrators import Method
from ..simulation.run import SimulationStopped
from ..simulation.run import simulate as run
from ..simulation.trajectory import Trajectory, control_table, state_table
from ..system.external import ExternalForces, external_forces
from ..system.force_report import reported_forces, reported_names
from ..system.forces import need_forces
from ..system.muscle_analysis import quantities_over_time
from ..system.state import State
from .analysis import Analysis
from .result import Result
from .sources import Source, about, is_path, table_of


@dataclass(frozen=True, eq=False, kw_only=True)
class Simulation(Result):
    """A motion, and all that happens along it."""

    model: Model
    trajectory: Trajectory
    """until it stopped, if it did"""
    stopped: str = ""
    """why it ended early; "" if it did not"""
    accept: tuple[str, ...] = ()
    """unsupported parts of the file that were left out"""

    def states(self) -> Table:
        """Under OpenSim's names (`state_table`)."""
        return state_table(self.model, self.trajectory)

    def controls(self) -> Table:
        """As they were applied."""
        return control_table(self.model, self.trajectory)

    def forces(self) -> Table:
        """Tendon forces of muscles [N]; actuators, ligaments, path springs [N], coordinate springs and limits [N m, N]."""
        values = reported_forces(self.model, self.trajectory.state, self.trajectory.controls)
        return Table(np.asarray(self.trajectory.time), np.asarray(values), reported_names(self.model))

    def analysis(self) -> Analysis:
        """Lengths, velocities, forces, powers and moment arms of the muscles along the motion."""
        quantities, arms = quantities_over_time(
            self.model, self.trajectory.state, self.trajectory.controls, self.accept
        )
        return Analysis(
            model=self.model,
            time=np.asarray(self.trajectory.time),
            quantities={name: np.asarray(values) for name, values in quantities.items()},
            moment_arms=np.asarray(arms),
        )

    def tables(self) -> dict[str, Table]:
        """`states`, `controls`, `ForceReporter_forces`, and `MuscleAnalysis_...` for each quantity of an `Analysis`."""
        found = {"states": self.states()}
        if self.model.control_names:
            found["controls"] = self.controls()
        if reported_names(self.model):
            found["ForceReporter_forces"] = self.forces()
        if self.model.muscle_names:
            found |= {f"MuscleAnalysis_{name}": table for name, table in self.analysis().tables().items()}
        return found


def simulate(
    model: Model,
    controls: Any = None,
    *,
    initial: State | Source | None = None,
    external_loads: ExternalLoads | ExternalForces | str | PathLike[str] | None = None,
    duration: float | None = None,
    interval: float = 0.01,
    integrator: str = "adams",
    accuracy: float = 1e-6,
    step: float | None = None,
    alpha: float = -0.05,
    progress: Callable[[float], None] | None = None,
    accept: tuple[str, ...] = (),
) -> Simulation:
    """Move a model under its controls.

    `controls`: a table or its file, or whatever else `myograd.simulate` takes. `initial`: a state, or a table of states or its
    file, whose first row is the start; None: default pose, at rest, muscles in equilibrium, when the controls start.
    `external_loads`: measured forces, or OpenSim's `.xml` file of them. `duration` [s]: None: as long as the controls last, or 1.
    `interval` [s]: between the rows of the result. All else: see `myograd.simulate`.

    A simulation that cannot go on keeps what it has, and says why (`stopped`); it raises SimulationStopped if it has nothing.
    """
    for name, value in (("interval", interval), ("duration", duration)):
        if value is not None and not 0 < value < float("inf"):
            raise MyogradError(f"{name} must be a positive number of seconds, not {value:g}")
    Method(integrator, accuracy, step, alpha)  # raises if it is none
    accept = accepted(model, "simulate", accept)
    need_constraints(model, "simulate", accept)
    need_forces(model, "simulate", accept)
    with about(controls):
        table = table_of(controls, "controls") if isinstance(controls, Table) or is_path(controls) else None
        signal = controller(model, controls if table is None else table)
    known = getattr(signal, "time", None)  # of controls over time
    with about(external_loads):
        loads = _loads(model, external_loads)
    start = _Start(model, initial, accept, 0.0 if known is None else float(known[0]))
    times = _times(start.time, duration, interval, known)
    for what, span in (("controls", known), ("external forces", None if loads is None else loads.span)):
        if span is not None:
            check_span(what, span, times[0], times[-1])
    options: dict[str, Any] = {"integrator": integrator, "accuracy": accuracy, "step": step, "alpha": alpha}
    try:
        trajectory = run(
            model, start.state(), signal, at=times, wrenches=loads, progress=progress, accept=accept, **options
        )
    except SimulationStopped as stop:
        if stop.trajectory is None or not len(stop.trajectory):
            raise
        why = str(stop)
        return Simulation(
            model=model,
            trajectory=stop.trajectory,
            stopped=why,
            accept=accept,
            messages=(f"the simulation stopped early: {why}",),
        )
    return Simulation(model=model, trajectory=trajectory, accept=accept)


class _Start:
    """Where a simulation starts: when is known at once, the state needs compiled programs."""

    def __init__(self, model: Model, initial: State | Source | None, accept: tuple[str, ...], time: float):
        self.model, self.initial, self.accept, self.time = model, initial, accept, time
        if isinstance(initial, State):
            self.time = float(initial.time)
        elif initial is not None:
            with about(initial):
                table = table_of(initial, "the initial state")
                self.initial = replace(table, time=table.time[:1], data=table.data[:1])
                state_columns(model, self.initial, accept)  # raises for columns that are no states, and for gaps
            self.time = float(self.initial.time[0])

    def state(self) -> State:
        if isinstance(self.initial, State):
            return self.initial
        if isinstance(self.initial, Table):
            return state_from_table(self.model, self.initial, accept=self.accept)
        return initial_state(self.model, accept=self.accept, time=self.time)


def _loads(model: Model, given: Any) -> ExternalForces | None:
    if given is None or isinstance(given, ExternalForces):
        return given
    return external_forces(model, given if isinstance(given, ExternalLoads) else read_external_loads(given))


def _times(start: float, duration: float | None, interval: float, known: Any) -> np.ndarray:
    """Of the rows of the result; `known`: the times of the controls, if they are over time."""
    if duration is None and known is not None:
        end = float(known[-1])
        duration = end - start
        if duration <= 0:
            raise MyogradError(f"the controls end at {end:g} s, but the simulation would start only at {start:g} s")
    duration = 1.0 if duration is None else duration
    rows = int(np.ceil(duration / interval - 1e-9))
    return start + np.minimum(np.arange(rows + 1) * interval, duration)
