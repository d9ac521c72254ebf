"""What `myograd identify` shows and writes: the parameters with their intervals, the result in words, a report."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots
from rich.table import Table as View

from myograd.estimate.identification.fit import Progress
from myograd.estimate.identification.uncertainty import Verdict
from myograd.files.atomic import write_text
from myograd.tools.identification import Identification as Result


class Reporter:
    """Reports how a fit proceeds: residual, distance from convergence, and how much longer it may take."""

    def __init__(self, say: Callable[[str], None]):
        self.say, self.begun, self.count = say, time.perf_counter(), 0

    def __call__(self, now: Progress) -> None:
        self.count += 1
        each = (time.perf_counter() - self.begun) / self.count
        self.say(
            f"iteration {now.iteration} of at most {now.iterations}: residual {now.loss:.3g} rad/s², {now.offset:.2g} confidence "
            f"intervals from convergence; {each:.1f} s each, at most {each * (now.iterations - now.iteration):.0f} s left"
        )


def write_table(result: Result, path: Path) -> None:
    """All parameters, one per line, in SI units."""
    write_text(path, result.parameters_csv())


def view(result: Result) -> View:
    """The parameters, for a terminal."""
    table = View("parameter", "before", "found", "95 % interval", "", title="identified", title_justify="left")
    for it in result.estimates():
        table.add_row(
            it.parameter, f"{it.before:.4g}", f"{it.found:.4g} {it.unit}", f"{it.low:.4g} to {it.high:.4g}", it.verdict
        )
    return table


def sentences(result: Result, seconds: float) -> list[str]:
    """The result in words; `seconds`: how long it took."""
    well = sum(it.verdict is Verdict.WELL_DETERMINED for it in result.estimates())
    lines = [
        f"The recordings determine {well} of {len(result.names)} parameters well; {result.fit.iterations} iterations, "
        f"{seconds:.0f} s; residual {result.fit.loss:.3g} rad/s².",
        f"Base inertial parameters: {len(result.problem.base.names)} combinations of {result.problem.parameters.of_bodies}.",
    ]
    if any(result.problem.low_passes):
        below = sorted({it.low_pass for it in result.problem.recordings if it.low_pass is not None})
        lines.append(
            f"Motion and forces are compared below {' and '.join(f'{x:g}' for x in below)} Hz (--low-pass), in "
            f"{result.problem.rows} independent equations; the remaining accelerations contain the noise of the motion."
        )
    if result.noise:
        lines.append(
            f"The EMG is assumed to have errors of {100 * result.noise.relative:g} % (--emg-noise) below "
            f"{result.noise.cutoff:g} Hz (--emg-low-pass); the intervals account for them."
        )
    for what, several in (("fitted", result.fitted), ("unseen", result.unseen)):
        for k, it in enumerate(several, 1):
            lines.append(
                f"On {what} movement {k}: {100 * it.normalised:.3g} % of the accelerations and "
                f"{100 * it.normalised_torque:.3g} % of the torques remain unexplained ("
                f"{it.acceleration:.3g} rad/s², {it.torque:.3g} N m)."
            )
    return [*lines, *result.messages]


def write_report(result: Result, seconds: float, path: Path) -> None:
    """One HTML page that needs nothing else: what was found, how certain it is, and what remains unexplained."""
    pages = [_convergence(result), _intervals(result), _singular(result), _unexplained(result)]
    figures = "\n".join(page.to_html(full_html=False, include_plotlyjs=k == 0) for k, page in enumerate(pages))
    words = "".join(
        f"<p>{line}</p>" for line in [*result.problem.identifiability.text().splitlines(), *sentences(result, seconds)]
    )
    open_ = result.uncertainty.null_combinations(result.problem.parameters.numbers)
    if open_:
        words += (
            "<p>Combinations that these recordings do not determine:</p><ul>"
            + "".join(f"<li>{x}</li>" for x in open_)
            + "</ul>"
        )
    lines = "".join(
        f"<tr><td>{it.parameter}</td><td>{it.before:.4g}</td><td>{it.found:.4g} {it.unit}</td>"
        f"<td>{it.low:.4g} to {it.high:.4g}</td><td>{it.verdict}</td></tr>"
        for it in result.estimates()
    )
    write_text(
        path,
        "<!doctype html><html><head><meta charset='utf-8'><title>identification</title><style>body{font-family:sans-serif;"
        "max-width:1100px;margin:2em auto}td,th{padding:2px 10px;text-align:left}</style></head><body>"
        f"<h1>Identification of {result.problem.model.name}</h1>{words}{figures}"
        f"<table><tr><th>parameter</th><th>before</th><th>found</th><th>95 % interval</th><th></th></tr>"
        f"{lines}</table></body></html>\n",
    )


def _convergence(result: Result) -> go.Figure:
    """As Figure 4: the distance of every iteration from the end; and the residual."""
    end = result.fit.history[-1][1]
    size = np.where(np.abs(end) > 0, np.abs(end), np.inf)
    away = [100 * np.mean(np.abs(x - end) / size) for _, x in result.fit.history[:-1]]
    figure = make_subplots(1, 2, subplot_titles=("mean distance from the end, %", "residual, rad/s²"))
    figure.add_scatter(y=away, row=1, col=1, showlegend=False)
    figure.add_scatter(y=[loss for loss, _ in result.fit.history], row=1, col=2, showlegend=False)
    figure.update_yaxes(type="log")
    figure.update_xaxes(title="iteration")
    return figure.update_layout(height=350, template="plotly_white")


def _intervals(result: Result) -> go.Figure:
    """As Figure 5, at the end: every number relative to what the model had, with its interval."""
    p = result.problem.parameters
    start = p.physical_start()
    kept = np.abs(start) > 1e-12
    relative = 100 * (result.fit.physical / np.where(kept, start, 1.0) - 1)
    error = 100 * 1.96 * result.uncertainty.errors / np.where(kept, np.abs(start), 1.0)
    groups: dict[str, list[int]] = {}
    for i in np.flatnonzero(kept):
        groups.setdefault(p.numbers[i].owner or "other numbers", []).append(int(i))
    figure = go.Figure()
    for group, members in groups.items():
        figure.add_scatter(
            x=[result.names[i] for i in members],
            y=relative[members],
            error_y={"array": np.minimum(error[members], 400)},
            mode="markers",
            name=group,
        )
    figure.update_yaxes(title="change from the model, %, with 95 % interval", range=[-120, 120])
    return figure.update_layout(height=550, template="plotly_white")


def _singular(result: Result) -> go.Figure:
    figure = go.Figure(go.Scatter(y=np.maximum(result.uncertainty.singular, 1e-9), mode="markers"))
    figure.add_hline(y=1.0, line_dash="dot", annotation_text="below: not determined to within 100 %")
    figure.update_yaxes(type="log", title="singular value over noise")
    figure.update_xaxes(title="combination of parameters")
    return figure.update_layout(height=350, template="plotly_white", title="what the recordings can distinguish")


def _unexplained(result: Result) -> go.Figure:
    figure = go.Figure()
    for what, several in (("fitted", result.fitted), ("unseen", result.unseen)):
        for k, it in enumerate(several, 1):
            figure.add_scatter(x=it.time, y=np.linalg.norm(it.residual, axis=1), name=f"{what} {k}", mode="lines")
    figure.update_yaxes(title="unexplained acceleration, rad/s²")
    figure.update_xaxes(title="time [s]")
    return figure.update_layout(height=350, template="plotly_white")
