"""What `myograd identify` shows and writes: the parameters with their intervals, the result in words."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from rich.table import Table as View

from myograd.estimate.identification.fit import Progress
from myograd.estimate.identification.uncertainty import Verdict
from myograd.files.atomic import write_text
from myograd.tools.identification import Identification


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


def write_table(result: Identification, path: Path) -> None:
    """All parameters, one per line, in SI units."""
    write_text(path, result.parameters_csv())


def view(result: Identification) -> View:
    """The parameters, for a terminal."""
    table = View("parameter", "before", "found", "95 % interval", "", title="identified", title_justify="left")
    for it in result.estimates():
        table.add_row(
            it.parameter, f"{it.before:.4g}", f"{it.found:.4g} {it.unit}", f"{it.low:.4g} to {it.high:.4g}", it.verdict
        )
    return table


def sentences(result: Identification, seconds: float) -> list[str]:
    """The result in words, beginning with what makes it doubtful; `seconds`: how long it took."""
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
    return [*result.messages, *lines]
