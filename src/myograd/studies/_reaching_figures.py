"""Figures and tables of the reaching study: how optimisers converge, where the hand moves, and what excites the muscles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Array
from plotly.subplots import make_subplots

import myograd as mg
from myograd.files.atomic import write_text
from myograd.files.page import label, write_page
from myograd.studies.reaching import Record, Task


def write_csv(path: Path, header: list[str], rows: Any) -> None:
    lines = [",".join(header), *(",".join(x if isinstance(x, str) else f"{x:.9g}" for x in row) for row in rows)]
    write_text(path, "\n".join(lines) + "\n")


def write_convergence(out: Path, task: Task, records: list[Record]) -> None:
    figure, rows = go.Figure(), []
    for record in records:
        best = np.minimum.accumulate(record.cost)
        count = np.arange(1, len(best) + 1)
        rows += [(record.optimiser, *row) for row in zip(count, record.seconds, record.error, record.cost, strict=True)]
        figure.add_scatter(x=count, y=1e3 * np.sqrt(best), name=record.optimiser)
    figure.update_xaxes(title="simulations", type="log")
    figure.update_yaxes(title="square root of the best cost [mm]", type="log")
    header = ["optimiser", "simulation", "time [s]", "error [m]", "cost [m^2]"]
    write_csv(out / f"{task.name}_convergence.csv", header, rows)
    title = f"reaching study, {task.name}: how the optimisers converge"
    write_page(out / f"{task.name}_convergence.html", title, "The best of all simulations so far.", [figure])


def write_path(out: Path, task: Task, moved: mg.Trajectory, places: Array, unmoved: Array, target: Array) -> None:
    rows = np.column_stack([moved.time, places])
    write_csv(out / f"{task.name}_hand.csv", ["time [s]", "x [m]", "y [m]", "z [m]"], rows)
    figure = make_subplots(1, 2, subplot_titles=("from the side", "from above"))
    for column, (across, up) in enumerate(((0, 1), (0, 2)), 1):
        for name, path, mode, color in (
            ("before", unmoved, "lines", "#999"),
            ("found", places, "lines+markers", "#1f77b4"),
            ("target", target[None], "markers", "#d62728"),
        ):
            x, y = np.asarray(path)[:, across], np.asarray(path)[:, up]
            marker = {"size": 4 if len(path) > 1 else 9, "color": color}
            shown = {"name": name, "mode": mode, "marker": marker, "legendgroup": name, "showlegend": column == 1}
            figure.add_scatter(x=x, y=y, line={"color": color}, **shown, row=1, col=column)
    figure.update_xaxes(title="forward [m]")
    figure.update_yaxes(title="up [m]", scaleanchor="x", row=1, col=1)
    figure.update_yaxes(title="to the right [m]", scaleanchor="x2", autorange="reversed", row=1, col=2)
    figure.update_layout(height=520)
    title = f"reaching study, {task.name}: where the hand moves"
    write_page(
        out / f"{task.name}_hand.html", title, "Before and after the search, and where it should arrive.", [figure]
    )


def write_excitations(out: Path, model: mg.Model, moved: mg.Trajectory) -> None:
    names = list(model.control_names)
    write_csv(out / "excitations.csv", ["time [s]", *names], np.column_stack([moved.time, moved.controls]))
    figure = go.Figure()
    for i, name in enumerate(names):
        figure.add_scatter(x=np.asarray(moved.time), y=np.asarray(moved.controls[:, i]), name=label(name))
    figure.update_xaxes(title="time [s]")
    figure.update_yaxes(title="excitation [1]")
    title = f"reaching study: excitations of {model.name}"
    write_page(out / "excitations.html", title, "What was found for the reach, over time.", [figure])
