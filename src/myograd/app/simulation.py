"""What `myograd simulate` shows of a simulation: a table, a sentence, differences from OpenSim, a plot."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots
from rich.table import Table as View

import myograd
from myograd.app.peer import simulated
from myograd.files.atomic import write_text
from myograd.simulation.trajectory import Trajectory
from myograd.tools.simulation import Simulation


def view(done: Simulation) -> View:
    """Where every independent coordinate began and ended, and how far it went."""
    model, trajectory = done.model, done.trajectory
    shown = View("coordinate", "start", "end", "least", "most", "", box=None, header_style="bold")
    for name in model.independent_coordinates:
        i = model.coordinate_names.index(name)
        turns = model.names.rotational[i]
        values = np.asarray(trajectory.state.q)[:, i] * (180 / np.pi if turns else 1.0)
        numbers = (f"{x:.4g}" for x in (values[0], values[-1], values.min(), values.max()))
        shown.add_row(name, *numbers, "deg" if turns else "m")
    return shown


def sentence(done: Simulation) -> str:
    trajectory = done.trajectory
    time, state, controls = jax.tree.map(
        lambda x: jax.device_put(np.asarray(x)[[0, -1]]), (trajectory.time, trajectory.state, trajectory.controls)
    )
    ends = Trajectory(time, state, controls, trajectory.steps, trajectory.rejected)  # two rows, however long it is
    energy, (begin, end) = np.asarray(myograd.energies(done.model, ends)["total"]), np.asarray(time)
    return (
        f"{begin:g} to {end:g} s in {int(trajectory.steps)} steps "
        f"({int(trajectory.rejected)} rejected); kinetic, gravitational and elastic energy went from {energy[0]:.5g} to "
        f"{energy[-1]:.5g} J"
    )


def against_opensim(done: Simulation, path: Path, accuracy: float) -> str:
    """How far OpenSim's Manager ends up from what was computed, from the same start and under the same controls."""
    model, trajectory = done.model, done.trajectory
    time, start = np.asarray(trajectory.time), trajectory.at(0)
    theirs = simulated(path, start, time - time[0], np.asarray(trajectory.controls), time - time[0], accuracy)
    apart = []
    for what, unit in (("q", "rad, m"), ("u", "rad/s, m/s"), ("activation", ""), ("fiber_length", "m")):
        gap = np.abs(np.asarray(getattr(trajectory.state, what)) - getattr(theirs, what))
        if np.isfinite(gap).any():
            row, column = np.unravel_index(np.nanargmax(gap), gap.shape)
            names = model.coordinate_names if what in "qu" else model.muscle_names
            apart.append(f"{what} {gap[row, column]:.2g} {unit} ({names[column]}, {time[row]:g} s)".replace("  ", " "))
    return "largest differences from OpenSim's Manager: " + "; ".join(apart)


def write_plot(model: myograd.Model, trajectory: Trajectory, path: Path) -> None:
    """Coordinates, activations, fibre lengths over time, each in a panel of its own."""
    muscles = len(model.muscle_names) > 0
    titles = ["coordinates [deg, m]", *(["activation", "fibre length / optimal"] if muscles else [])]
    figure = make_subplots(rows=len(titles), cols=1, shared_xaxes=True, subplot_titles=titles, vertical_spacing=0.06)
    time, state = np.asarray(trajectory.time), trajectory.state

    def lines(row: int, names: tuple[str, ...], values: np.ndarray) -> None:
        for i, name in enumerate(names):
            figure.add_trace(go.Scatter(x=time, y=values[:, i], name=name, legend=f"legend{row}"), row=row, col=1)
        top = figure.layout[f"yaxis{row if row > 1 else ''}"].domain[1]
        figure.update_layout({f"legend{row}": dict(y=top, yanchor="top", maxheight=1 / len(titles) - 0.05)})

    which = [model.coordinate_names.index(name) for name in model.independent_coordinates]
    scale = np.where(np.array(model.names.rotational, bool)[which], 180 / np.pi, 1.0)
    lines(1, model.independent_coordinates, np.asarray(state.q)[:, which] * scale)
    if muscles:
        lines(2, model.muscle_names, np.asarray(state.activation))
        lines(3, model.muscle_names, np.asarray(state.fiber_length / model.muscles.optimal_fiber_length))
    figure.update_xaxes(title="time [s]", row=len(titles), col=1)
    figure.update_layout(title=model.name, height=330 * len(titles), template="plotly_white")
    write_text(path, figure.to_html(include_plotlyjs=True))
