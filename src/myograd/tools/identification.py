"""Identification as a whole: check the recordings, fit, judge the fit on what was fitted and on what was not."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from os import PathLike
from pathlib import Path

import numpy as np

from .._deprecated import old_attribute
from ..errors import MyogradError
from ..estimate.identification.choices import MUSCLE, Choices
from ..estimate.identification.diagnostics import check, diagnostics
from ..estimate.identification.fit import Fit, Progress, fit
from ..estimate.identification.fitted import fitted_model
from ..estimate.identification.noise import EmgNoise, need_noise, refine
from ..estimate.identification.problem import Problem
from ..estimate.identification.search import search
from ..estimate.identification.setup import identification, low_pass_on, rows_of
from ..estimate.identification.uncertainty import Uncertainty, Verdict, uncertainty
from ..estimate.identification.validate import Validation, validate
from ..estimate.least_squares import Options
from ..estimate.parameters import Bounds
from ..estimate.recording import Recording, check_recording
from ..files.atomic import write_text
from ..files.models import save_model
from ..files.tables.table import Table
from ..model.model import Model
from .result import Result

HUBER = 3.0  # times the median size of the residual: samples beyond it weigh less


@dataclass(frozen=True)
class Estimate:
    """One parameter, in SI units."""

    parameter: str
    unit: str
    before: float
    """in the model that the fit started from"""
    found: float
    low: float
    """of the 95 % interval"""
    high: float
    verdict: Verdict


@dataclass(frozen=True, eq=False, kw_only=True)
class Identification(Result):
    """What an identification has found, and how well. Its messages say why it may be doubted."""

    problem: Problem
    fit: Fit
    uncertainty: Uncertainty
    fitted: list[Validation]
    """on the recordings it was fitted to"""
    unseen: list[Validation]
    """on the others"""
    noise: EmgNoise | None = None
    """of the EMG, if its errors were eliminated"""

    diagnostics = old_attribute("Identification.diagnostics")

    @property
    def names(self) -> tuple[str, ...]:
        return self.problem.parameters.names

    def estimates(self) -> list[Estimate]:
        """Every parameter, in the order of `names`."""
        p = self.problem.parameters
        low, high = self.uncertainty.interval(self.fit)
        columns = (p.numbers, p.physical_start(), self.fit.physical, low, high, self.uncertainty.verdicts(self.fit))
        return [
            Estimate(number.name, number.unit, float(before), float(found), float(least), float(most), verdict)
            for number, before, found, least, most, verdict in zip(*columns, strict=True)
        ]

    def model(self) -> Model:
        """The personal model. Delay, poles and gains of the EMG have no place in a model; `estimates` has them."""
        return fitted_model(self.problem.model, self.problem.parameters, self.fit.physical)

    def parameters_csv(self) -> str:
        """All parameters, one per line, in SI units."""
        lines = io.StringIO()
        writer = csv.DictWriter(lines, [field.name for field in fields(Estimate)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(estimate) for estimate in self.estimates())
        return lines.getvalue()

    def tables(self) -> dict[str, Table]:
        """`unexplained_fitted_1`, `unexplained_unseen_1`, ...: what is left of the accelerations of each movement [rad/s^2],
        along the directions that deep muscles do not act in."""
        found: dict[str, Table] = {}
        for what, several in (("fitted", self.fitted), ("unseen", self.unseen)):
            for k, it in enumerate(several, 1):
                names = tuple(f"direction_{i}" for i in range(1, it.residual.shape[1] + 1))
                found[f"unexplained_{what}_{k}"] = Table(it.time, it.residual, names)
        return found

    def save(self, folder: str | PathLike[str], prefix: str = "") -> list[Path]:
        """Every table, `PREFIXparameters.csv`, and, if the fit has converged, the personal model, `PREFIXmodel.osim`."""
        written = super().save(folder, prefix)
        written.append(Path(folder) / f"{prefix}parameters.csv")
        write_text(written[-1], self.parameters_csv())
        if self.fit.converged:
            written.append(Path(folder) / f"{prefix}model.osim")
            save_model(self.model(), written[-1])
        return written


def identify(
    model: Model,
    recordings: Sequence[Recording],
    deep: Sequence[str],
    bodies: Sequence[str],
    *,
    unseen: Sequence[Recording] = (),
    noise: EmgNoise | None = None,
    gains: bool = False,
    robust: bool = False,
    every: int = 1,
    also: Mapping[str, Bounds | tuple[float, float]] | None = None,
    checkpoint: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
    report: Callable[[Progress], None] = lambda _: None,
) -> Identification:
    """Identify bones and muscles from `recordings`, without EMG of the `deep` muscles.

    `bodies`: whose inertia is identified. `unseen`: recordings to judge the fit by. `noise`: errors of the EMG; None: it has
    none. `gains`: identify a gain of each EMG channel, too. `robust`: outliers weigh less. `every`: use every n-th sample.
    `also`: other numbers of the model to identify, by name (see `parameter_places`), with their limits.
    `checkpoint`: a file from which an interrupted fit continues. `say` is called with what is being done, `report` after each
    iteration.
    """
    if robust and noise:
        raise MyogradError(
            "robust treats samples that do not fit as outliers, noise treats them as noise: choose one of the two"
        )
    say("computing the mechanics of the recordings ...")
    numbers = MUSCLE if gains else None
    problem = identification(
        model, recordings, deep, bodies, choices=Choices(of_muscle=numbers, every=every, also=also or {})
    )
    check(problem)
    if noise:
        need_noise(problem, noise)
    for it in unseen:  # before the fit, not after it
        check_recording(model, it)
        low_pass_on(it, rows_of(it, every))
    say(problem.identifiability.text())
    if noise:
        found = fit(problem, report=report, checkpoint=checkpoint)
        say("correcting the EMG ...")
        found = refine(found, noise, report)
    else:
        found = search(problem, options=Options(huber=HUBER if robust else None), report=report, checkpoint=checkpoint)
    say("judging the fit ...")
    fitted = [validate(found, it, known) for it, known in zip(recordings, problem.mechanics, strict=True)]
    others = [validate(found, it) for it in unseen]
    left = float(np.sqrt(np.mean([it.normalised_torque**2 for it in fitted])))
    return Identification(
        problem=problem,
        fit=found,
        uncertainty=uncertainty(found),
        fitted=fitted,
        unseen=others,
        noise=noise,
        messages=tuple(diagnostics(found, left)),
    )
