"""`myograd identify`: from tables of motion and EMG to a personal model, a table of parameters with intervals, and a report."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots
from rich.table import Table as View

import myograd
from myograd.errors import MyogradError
from myograd.estimate.identification.choices import MUSCLE
from myograd.estimate.identification.diagnostics import check, diagnostics
from myograd.estimate.identification.fit import Fit, Progress, fit
from myograd.estimate.identification.fitted import fitted_model
from myograd.estimate.identification.noise import EmgNoise, need_noise, refine
from myograd.estimate.identification.problem import Problem
from myograd.estimate.identification.search import search
from myograd.estimate.identification.setup import identification, low_pass_on, rows_of
from myograd.estimate.identification.shipped import shipped_bodies, shipped_deep, shipped_recording
from myograd.estimate.identification.uncertainty import Uncertainty, Verdict, uncertainty
from myograd.estimate.identification.validate import Validation, validate
from myograd.estimate.least_squares import Options
from myograd.estimate.parameters import Bounds
from myograd.estimate.recording import Recording, check_recording, read_recording
from myograd.files.atomic import write_text
from myograd.files.tables.table import Table
from myograd.model.model import Model

HUBER = 3.0  # times the median size of the residual: samples beyond it weigh less


@dataclass(eq=False)
class Result:
    """What an identification has found, and how well."""

    problem: Problem
    fit: Fit
    sure: Uncertainty
    own: list[Validation]
    """on the recordings it was fitted to"""
    unseen: list[Validation]
    diagnostics: list[str]
    seconds: float
    noise: EmgNoise | None = None
    """of the EMG, if its errors were eliminated"""

    @property
    def names(self) -> tuple[str, ...]:
        return self.problem.parameters.names


def read_recordings(
    model: Model, motions: Sequence[Path], emgs: Sequence[Path], low_pass: float | None, mvc: float
) -> list[Recording]:
    """Pairs of files; one EMG file may also hold the motion, and then be given twice."""
    if len(motions) != len(emgs) or not motions:
        raise MyogradError(
            f"every --motion needs its --emg, in the same order; there are {len(motions)} of motion and {len(emgs)} of EMG"
        )
    if not 0 < mvc < float("inf"):
        raise MyogradError(f"--mvc is what the EMG is divided by: a positive number, not {mvc:g}")
    found = []
    for motion, emg in zip(motions, emgs, strict=True):
        signals = myograd.read_table(emg)
        scaled = Table(
            signals.time, signals.data / mvc, signals.names, signals.in_degrees, signals.units, signals.metadata
        )
        found.append(read_recording(model, myograd.read_table(motion), scaled, motion.stem, low_pass))
    return found


def read_bounds(texts: Sequence[str]) -> dict[str, Bounds]:
    """Names and limits, `NAME=LOW:HIGH`, or with a prior, `NAME=LOW:HIGH:CENTER:SPREAD`."""
    found: dict[str, Bounds] = {}
    for text in texts:
        name, _, given = text.rpartition("=")
        try:
            limits = [float(x) for x in given.split(":")]
        except ValueError:
            limits = []
        if not name or len(limits) not in (2, 4):
            raise MyogradError(
                f"--also {text}: give NAME=LOW:HIGH, or NAME=LOW:HIGH:CENTER:SPREAD with a prior, in SI units"
            )
        if name in found:
            raise MyogradError(f"--also names {name!r} twice")
        found[name] = Bounds(*limits)
    return found


def shipped_recordings(model: Model) -> tuple[list[Recording], list[Recording], tuple[str, ...], tuple[str, ...]]:
    """What comes with Myograd: two movements, an unseen one, the deep muscles, and the bodies whose inertia differs."""
    if model.name != "arm":
        raise MyogradError(f"the shipped recordings are of the shipped model 'arm', not of {model.name!r}")
    fitted = [shipped_recording(name, model, fibers=False) for name in ("move1", "move2")]
    return fitted, [shipped_recording("move3", model, fibers=False)], shipped_deep(), shipped_bodies()


def identify(
    model: Model,
    recordings: Sequence[Recording],
    deep: Sequence[str],
    bodies: Sequence[str],
    unseen: Sequence[Recording] = (),
    noise: EmgNoise | None = None,
    gains: bool = False,
    robust: bool = False,
    every: int = 1,
    checkpoint: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
    also: Mapping[str, Bounds] | None = None,
) -> Result:
    """Check, fit, judge. `also`: other numbers of the model to identify. `noise`: what errors the EMG has; None: none. `say`
    hears what is being done."""
    begun = time.perf_counter()
    if robust and noise:
        raise MyogradError(
            "--robust takes samples for outliers, --emg-noise for noise; give --emg-noise 0 with --robust"
        )
    say("working out the mechanics of the recordings ...")
    numbers = MUSCLE if gains else None
    problem = identification(model, recordings, deep, bodies, of_muscle=numbers, every=every, also=also or {})
    check(problem)
    if noise:
        need_noise(problem, noise)
    for it in unseen:  # before the fit, not after it
        check_recording(model, it)
        low_pass_on(it, rows_of(it, every))
    say(problem.identifiability.text())
    told = _Speaker(say)
    if noise:
        found = fit(problem, report=told, checkpoint=checkpoint)
        say("correcting the EMG ...")
        found = refine(found, noise, told)
    else:
        found = search(problem, options=Options(huber=HUBER if robust else None), report=told, checkpoint=checkpoint)
    say("judging the fit ...")
    sure = uncertainty(found)
    own = [validate(found, it, known) for it, known in zip(recordings, problem.mechanics, strict=True)]
    others = [validate(found, it) for it in unseen]
    left = float(np.sqrt(np.mean([it.normalised_torque**2 for it in own])))
    return Result(problem, found, sure, own, others, diagnostics(found, left), time.perf_counter() - begun, noise)


class _Speaker:
    """Says how a fit goes on: loss, what is left to do, and about how long it may take yet."""

    def __init__(self, say: Callable[[str], None]):
        self.say, self.begun, self.count = say, time.perf_counter(), 0

    def __call__(self, now: Progress) -> None:
        self.count += 1
        each = (time.perf_counter() - self.begun) / self.count
        self.say(
            f"iteration {now.iteration} of at most {now.iterations}: residual {now.loss:.3g} rad/s², {now.offset:.2g} of the "
            f"intervals from the end; {each:.1f} s each, at most {each * (now.iterations - now.iteration):.0f} s left"
        )


# What is shown and written -----------------------------------------------------------------------------------


def rows(result: Result) -> list[dict[str, object]]:
    """Of every parameter: before, found, interval, and whether the recording determines it."""
    p, found = result.problem.parameters, result.fit.physical
    low, high = result.sure.interval(result.fit)
    start, verdicts = p.physical_start(), result.sure.verdicts(result.fit)
    return [
        {
            "parameter": number.name,
            "unit": number.unit,
            "before": float(start[i]),
            "found": float(found[i]),
            "low": float(low[i]),
            "high": float(high[i]),
            "verdict": verdicts[i],
        }
        for i, number in enumerate(p.numbers)
    ]


def write_table(result: Result, path: Path) -> None:
    """All parameters, one per line, in SI units."""
    lines = io.StringIO()
    writer = csv.DictWriter(lines, list(rows(result)[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows(result))
    write_text(path, lines.getvalue())


def personal_model(result: Result) -> Model:
    """The model with what was found. Delay, poles and gains of the EMG have no place in a model; the table has them."""
    return fitted_model(result.problem.model, result.problem.parameters, result.fit.physical)


def view(result: Result) -> View:
    """The parameters, for a terminal."""
    table = View("parameter", "before", "found", "95 % interval", "", title="identified", title_justify="left")
    for row in rows(result):
        unit = row["unit"]
        table.add_row(
            str(row["parameter"]),
            f"{row['before']:.4g}",
            f"{row['found']:.4g} {unit}",
            f"{row['low']:.4g} to {row['high']:.4g}",
            str(row["verdict"]),
        )
    return table


def sentences(result: Result) -> list[str]:
    """The result in words."""
    well = result.sure.verdicts(result.fit).count(Verdict.WELL_DETERMINED)
    said = [
        f"{well} of {len(result.names)} numbers are well determined by the recordings; {result.fit.iterations} iterations, "
        f"{result.seconds:.0f} s; residual {result.fit.loss:.3g} rad/s².",
        f"Base inertial parameters: {len(result.problem.base.names)} combinations of {result.problem.parameters.of_bodies}.",
    ]
    if any(result.problem.low_passes):
        below = sorted({it.low_pass for it in result.problem.recordings if it.low_pass is not None})
        said.append(
            f"Motion and forces are compared below {' and '.join(f'{x:g}' for x in below)} Hz (--low-pass), in "
            f"{result.problem.rows} equations that are independent; what is left of accelerations is also the motion's noise."
        )
    if result.noise:
        said.append(
            f"The EMG is taken to have errors of {100 * result.noise.relative:g} % (--emg-noise), as slow as "
            f"{result.noise.cutoff:g} Hz (--emg-low-pass): intervals are as wide as these make them."
        )
    for what, several in (("fitted", result.own), ("unseen", result.unseen)):
        for k, it in enumerate(several, 1):
            said.append(
                f"On {what} movement {k}: {100 * it.normalised:.3g} % of the accelerations and "
                f"{100 * it.normalised_torque:.3g} % of the torques are left ({it.acceleration:.3g} rad/s², {it.torque:.3g} N m)."
            )
    return said + result.diagnostics


def write_report(result: Result, path: Path) -> None:
    """One HTML page that needs nothing else: what was found, how surely, and what is left."""
    pages = [_convergence(result), _intervals(result), _singular(result), _left(result)]
    figures = "\n".join(page.to_html(full_html=False, include_plotlyjs=k == 0) for k, page in enumerate(pages))
    words = "".join(
        f"<p>{line}</p>" for line in [*result.problem.identifiability.text().splitlines(), *sentences(result)]
    )
    open_ = result.sure.null_combinations(result.problem.parameters.numbers)
    if open_:
        words += (
            "<p>Combinations that these recordings do not determine:</p><ul>"
            + "".join(f"<li>{x}</li>" for x in open_)
            + "</ul>"
        )
    lines = "".join(
        f"<tr><td>{r['parameter']}</td><td>{r['before']:.4g}</td><td>{r['found']:.4g} {r['unit']}</td>"
        f"<td>{r['low']:.4g} to {r['high']:.4g}</td><td>{r['verdict']}</td></tr>"
        for r in rows(result)
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
    """As Figure 4: how far from the end every iteration was; and the residual."""
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
    error = 100 * 1.96 * result.sure.errors / np.where(kept, np.abs(start), 1.0)
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
    figure = go.Figure(go.Scatter(y=np.maximum(result.sure.singular, 1e-9), mode="markers"))
    figure.add_hline(y=1.0, line_dash="dot", annotation_text="below: not determined to within 100 %")
    figure.update_yaxes(type="log", title="singular value over noise")
    figure.update_xaxes(title="combination of parameters")
    return figure.update_layout(height=350, template="plotly_white", title="what the recordings can tell apart")


def _left(result: Result) -> go.Figure:
    figure = go.Figure()
    for what, several in (("fitted", result.own), ("unseen", result.unseen)):
        for k, it in enumerate(several, 1):
            figure.add_scatter(x=it.time, y=np.linalg.norm(it.residual, axis=1), name=f"{what} {k}", mode="lines")
    figure.update_yaxes(title="unexplained acceleration, rad/s²")
    figure.update_xaxes(title="time [s]")
    return figure.update_layout(height=350, template="plotly_white")
