"""Figures of the identification study, as the paper's 4 and 5."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from myograd.estimate.identification.choices import FiberSource
from myograd.files.page import label, write_page
from myograd.studies.identification import Run

COLORS = {"M1": "#c0392b", "M2": "#27ae60"}  # the paper's red and green


def figures(out: Path, runs: list[Run], names: dict[str, list[str]]) -> None:
    """One page per source of recordings: errors over iterations and at the end, and per parameter."""
    for source in dict.fromkeys(run.data for run in runs):
        chosen = [run for run in runs if run.data == source and run.spread == 0.1]
        if not chosen:
            continue
        what = f"{len(chosen)} fits from starts 10 % away from the truth; lines are medians, bands quartiles."
        shown = [_errors(chosen), _parameters(chosen, names, source)]
        write_page(out / f"figures-{source}.html", f"identification study: {source}", what, [x for x in shown if x])


def _band(figure: go.Figure, curves: list[np.ndarray], color: str, name: str, row: int, col: int) -> None:
    """Median and quartiles over the runs; runs that have ended stay where they are."""
    longest = max(len(curve) for curve in curves)
    whole = np.array([np.concatenate([curve, np.full(longest - len(curve), curve[-1])]) for curve in curves])
    low, middle, high = np.percentile(np.maximum(whole, 1e-9), [25, 50, 75], axis=0)
    x = np.arange(longest)
    both = np.concatenate([x, x[::-1]])
    figure.add_trace(
        go.Scatter(
            x=both,
            y=np.concatenate([low, high[::-1]]),
            fill="toself",
            mode="lines",
            line_width=0,
            fillcolor=color,
            opacity=0.2,
            showlegend=False,
        ),
        row=row,
        col=col,
    )
    figure.add_trace(go.Scatter(x=x, y=middle, line_color=color, name=name, showlegend=bool(name)), row=row, col=col)


def _errors(runs: list[Run]) -> go.Figure:
    """Figure 4: mean relative error over iterations, boxes of the final ones."""
    figure = make_subplots(
        1, 3, subplot_titles=("error over iterations, %", "Cr2 at the end, %", "Cr2_m at the end, %")
    )
    for method, color in COLORS.items():
        group = [run for run in runs if run.method == method and run.fibers is FiberSource.RECORDED]
        if not group:
            continue
        _band(figure, [np.array([np.mean(row) for row in run.errors]) for run in group], color, method, row=1, col=1)
        for col, values in ((2, [run.scores.cr2 for run in group]), (3, [run.scores.cr2_muscle for run in group])):
            figure.add_trace(go.Box(y=values, name=method, marker_color=color, showlegend=False), row=1, col=col)
    figure.update_yaxes(type="log")
    figure.update_xaxes(title="iteration", row=1, col=1)
    figure.update_layout(title="relative errors of parameters, as Figure 4 of the paper", height=420)
    return figure


def _parameters(runs: list[Run], names: dict[str, list[str]], source: str) -> go.Figure | None:
    """Figure 5: every parameter's error over iterations."""
    lists = {method: names.get(f"{source} {method} {FiberSource.RECORDED}") for method in COLORS}
    shown = lists["M1"]
    if not shown:
        return None
    columns = 6  # so that the names fit side by side
    rows = -(-len(shown) // columns)
    figure = make_subplots(
        rows,
        columns,
        subplot_titles=[label(name) for name in shown],
        vertical_spacing=0.3 / rows,
        horizontal_spacing=0.03,
    )
    for method, color in COLORS.items():
        group = [run for run in runs if run.method == method and run.fibers is FiberSource.RECORDED]
        if not group or not lists[method]:
            continue
        for k, name in enumerate(shown):
            i = lists[method].index(name)  # pyright: ignore[reportOptionalMemberAccess]
            curves = [np.array([row[i] for row in run.errors]) for run in group]
            _band(figure, curves, color, method if k == 0 else "", row=k // columns + 1, col=k % columns + 1)
    figure.update_yaxes(type="log", nticks=4, tickfont_size=9)
    figure.update_annotations(font_size=10)
    figure.update_layout(title="errors of all parameters over iterations, %, as Figure 5", height=100 + 170 * rows)
    return figure
