"""The page that `myograd identify --report` writes: what was found, how certain it is, and what remains unexplained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from plotly.colors import qualitative
from plotly.subplots import make_subplots

from myograd.app.identification import sentences
from myograd.estimate.identification.undetermined import Undetermined, undetermined
from myograd.files.page import heading, label, paragraph, table, write_page
from myograd.tools.identification import Estimate, Identification

ROW = 17  # px that a parameter takes in the figure of all of them
WIDEST = 120.0  # %: where the axis of changes ends, unless a change itself is larger


@dataclass(frozen=True)
class Report:
    """All that the page shows."""

    model: str
    words: list[str]
    """the result in sentences"""
    estimates: list[Estimate]
    owners: list[str]
    """of each estimate: the body or muscle that it belongs to, "" if to none"""
    history: list[tuple[float, np.ndarray]]
    """residual [rad/s^2] and all parameters after each iteration"""
    singular: np.ndarray
    """of combinations of parameters, over the noise"""
    undetermined: list[Undetermined]
    unexplained: dict[str, tuple[np.ndarray, np.ndarray]]
    """by movement: time [s], size of what is left of the accelerations [rad/s^2]"""


def report_of(result: Identification, seconds: float) -> Report:
    """Of an identification that took so many seconds."""
    parameters = result.problem.parameters
    return Report(
        model=result.problem.model.name,
        words=[*result.problem.identifiability.text().splitlines(), *sentences(result, seconds)],
        estimates=result.estimates(),
        owners=[number.owner for number in parameters.numbers],
        history=result.fit.history,
        singular=result.uncertainty.singular,
        undetermined=undetermined(result.fit, result.uncertainty),
        unexplained={
            f"{what} movement {k}": (it.time, np.linalg.norm(it.residual, axis=1))
            for what, several in (("fitted", result.fitted), ("unseen", result.unseen))
            for k, it in enumerate(several, 1)
        },
    )


def write_report(report: Report, path: Path) -> None:
    """One HTML page that needs nothing else."""
    what = f"myograd identify: {len(report.estimates)} parameters of {report.model}, from motion and EMG."
    parts = [
        *map(paragraph, report.words),
        *_open(report),
        heading("What was found, relative to the model"),
        paragraph(
            "Change of each parameter from the model that the fit started from, with its 95 % interval, which may end beyond the "
            "axis. Parameters that were 0 before have no relative change; they are in the table below."
        ),
        _intervals(report),
        heading("What the recordings can distinguish"),
        paragraph("Combinations of parameters below the dotted line are not determined to within 100 %."),
        _singular(report),
        heading("How the fit went"),
        _convergence(report),
    ]
    if report.unexplained:
        parts += [heading("What remains unexplained"), _unexplained(report)]
    parts += [heading("All parameters"), _estimates(report)]
    write_page(path, f"{report.model}: identification", what, parts)


def _open(report: Report) -> list[str]:
    """The combinations that are not determined, as a table."""
    if not report.undetermined:
        return []
    return [
        heading("What these recordings do not determine"),
        paragraph(
            "Each line is a change of several parameters at once that these recordings hardly show: they would be explained "
            "as well with it, or with its opposite. Along it, what was found is about what the model had before."
        ),
        table(
            ("these could change together", "what would show it"),
            [(it.text(), it.needs) for it in report.undetermined],
        ),
    ]


def _estimates(report: Report) -> str:
    return table(
        ("parameter", "before", "found", "95 % interval", "unit", ""),
        [
            (it.parameter, f"{it.before:.4g}", f"{it.found:.4g}", f"{it.low:.4g} to {it.high:.4g}", it.unit, it.verdict)
            for it in report.estimates
        ],
    )


def _intervals(report: Report) -> go.Figure:
    """As the paper's Figure 5, at the end: every parameter on a line of its own, in the colour of its owner."""
    kept = [(it, owner) for it, owner in zip(report.estimates, report.owners, strict=True) if abs(it.before) > 1e-12]
    figure = go.Figure()
    widest = 1.0
    for count, group in enumerate(dict.fromkeys(owner for _, owner in kept)):
        rows = [i for i, (_, owner) in enumerate(kept) if owner == group]
        own = [kept[i][0] for i in rows]
        size = np.array([abs(it.before) for it in own])
        change = 100 * np.array([it.found - it.before for it in own]) / size
        half = 50 * np.array([it.high - it.low for it in own]) / size
        widest = max(widest, np.abs(change).max(), min(WIDEST, (np.abs(change) + half).max()))
        figure.add_scatter(
            x=change,
            y=rows,
            error_x={"array": half},
            text=[label(it.parameter) for it in own],
            hovertemplate="%{text}: %{x:.3g} %<extra></extra>",
            mode="markers",
            marker_color=qualitative.Dark24[count % len(qualitative.Dark24)],
            showlegend=False,
        )
    figure.update_xaxes(title="change from the model [%]", range=[-1.05 * widest, 1.05 * widest])
    figure.update_yaxes(
        tickvals=list(range(len(kept))),
        ticktext=[label(it.parameter) for it, _ in kept],
        range=[len(kept) - 0.5, -0.5],  # the first one on top
        automargin=True,
        tickfont_size=11,
    )
    return figure.update_layout(height=110 + ROW * len(kept), margin={"t": 30, "b": 60})


def _singular(report: Report) -> go.Figure:
    count = np.arange(1, len(report.singular) + 1)
    figure = go.Figure(go.Scatter(x=count, y=np.maximum(report.singular, 1e-9), mode="markers"))
    figure.add_hline(y=1.0, line_dash="dot")
    figure.update_yaxes(type="log", title="singular value over noise", exponentformat="power")
    figure.update_xaxes(title="combination of parameters, best determined first")
    return figure.update_layout(height=320, margin={"t": 30})


def _convergence(report: Report) -> go.Figure:
    """As the paper's Figure 4: the distance of every iteration from the end; and the residual."""
    end = report.history[-1][1]
    size = np.where(np.abs(end) > 0, np.abs(end), np.inf)
    away = [100 * np.mean(np.abs(x - end) / size) for _, x in report.history[:-1]]
    figure = make_subplots(1, 2, subplot_titles=("mean distance of parameters from the end", "residual"))
    if away:
        figure.add_scatter(y=away, mode="lines+markers", row=1, col=1, showlegend=False)
    figure.add_scatter(y=[loss for loss, _ in report.history], mode="lines+markers", row=1, col=2, showlegend=False)
    figure.update_yaxes(type="log", exponentformat="power")
    figure.update_yaxes(title="distance [%]", row=1, col=1)
    figure.update_yaxes(title="residual [rad/s²]", row=1, col=2)
    figure.update_xaxes(title="iteration", tick0=0, dtick=max(1, len(report.history) // 10))
    return figure.update_layout(height=320, margin={"t": 40})


def _unexplained(report: Report) -> go.Figure:
    figure = go.Figure()
    for name, (time, left) in report.unexplained.items():
        figure.add_scatter(x=time, y=left, name=label(name), mode="lines")
    figure.update_yaxes(title="unexplained acceleration [rad/s²]")
    figure.update_xaxes(title="time [s]")
    return figure.update_layout(height=320, margin={"t": 30})
