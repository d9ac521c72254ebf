"""What `myograd simulate --plot` draws: coordinates, activations and fibre lengths over time, each kind in a panel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from plotly.colors import qualitative
from plotly.subplots import make_subplots

import myograd
from myograd.files.page import label, write_page
from myograd.simulation.trajectory import Trajectory, acting_activations

COLORS = qualitative.Dark24
DASHES = ("solid", "dash", "dot")  # for more lines than there are colours
HEIGHT = 270  # px, of a panel


@dataclass(frozen=True)
class Panel:
    """Curves of one unit over time, in the order of their names; those with the same legend have the same names."""

    title: str
    names: tuple[str, ...]
    values: np.ndarray  # [times, names], NaN where there is no such number
    legend: str


def write_plot(model: myograd.Model, trajectory: Trajectory, path: Path) -> None:
    """All states over time but speeds. A muscle has the same colour in both of its panels."""
    shown, time = panels(model, trajectory), np.asarray(trajectory.time)
    figure = make_subplots(
        rows=max(len(shown), 1),
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.2 / max(len(shown), 1),
        subplot_titles=[panel.title for panel in shown],
    )
    listed: set[tuple[str, str]] = set()
    tops = [axis.domain[1] for axis in figure.select_yaxes()]
    for row, (panel, top) in enumerate(zip(shown, tops, strict=True), 1):
        if not any(legend == panel.legend for legend, _ in listed):
            height = sum(other.legend == panel.legend for other in shown) / len(shown)
            figure.update_layout({panel.legend: {"y": top, "yanchor": "top", "maxheight": 0.9 * height}})
        for i, name in enumerate(panel.names):
            if np.isnan(panel.values[:, i]).all():
                continue
            figure.add_scatter(
                x=time,
                y=panel.values[:, i],
                name=label(name),
                legend=panel.legend,
                legendgroup=f"{panel.legend} {name}",
                showlegend=(panel.legend, name) not in listed,
                mode="lines",
                line={"color": COLORS[i % len(COLORS)], "dash": DASHES[i // len(COLORS) % len(DASHES)]},
                row=row,
                col=1,
            )
            listed.add((panel.legend, name))
    figure.update_xaxes(title="time [s]", row=len(shown), col=1)
    figure.update_layout(height=90 + HEIGHT * len(shown), margin={"t": 40})
    what = (
        f"myograd simulate: {time[0]:g} to {time[-1]:g} s, {len(time)} times, {int(trajectory.steps)} steps "
        f"({int(trajectory.rejected)} rejected)."
    )
    write_page(path, f"{model.name}: simulated motion", what, [figure])


def panels(model: myograd.Model, trajectory: Trajectory) -> list[Panel]:
    """What there is to show of a model."""
    q, names = np.asarray(trajectory.state.q), model.coordinate_names
    turning = np.array(model.names.rotational, bool)
    free = np.isin(np.array(names), model.independent_coordinates)
    found = []
    for title, which, scale, legend in (
        ("angles [°]", np.flatnonzero(free & turning), 180 / np.pi, "legend"),
        ("translations [m]", np.flatnonzero(free & ~turning), 1.0, "legend2"),
    ):
        if which.size:
            found.append(Panel(title, tuple(names[i] for i in which), scale * q[:, which], legend))
    if model.muscle_names:
        length = np.asarray(trajectory.state.fiber_length / model.muscles.optimal_fiber_length)
        activation = np.asarray(acting_activations(model, trajectory))
        found.append(Panel("activation [1]", model.muscle_names, activation, "legend3"))
        found.append(Panel("fibre length [optimal lengths]", model.muscle_names, length, "legend3"))
    return found
