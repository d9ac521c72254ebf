"""Identification as a whole: check the recordings, fit, judge the fit on what was fitted and on what was not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np

from ..errors import MyogradError
from ..estimate.identification.diagnostics import check, doubts
from ..estimate.identification.fit import Fit, Progress, Robust, fit
from ..estimate.identification.noise import EmgNoise, need_noise, refine
from ..estimate.identification.parameters import MUSCLE
from ..estimate.identification.problem import Problem, fitted_model, identification, low_pass_on, rows_of
from ..estimate.identification.recording import Recording, check_recording
from ..estimate.identification.search import search
from ..estimate.identification.uncertainty import Uncertainty, uncertainty
from ..estimate.identification.validate import Validation, validate
from ..model.model import Model

UNITS = {
    "max_isometric_force": "N",
    "optimal_fiber_length": "m",
    "max_contraction_velocity": "1/s",
    "pennation_angle": "rad",
    "tendon_slack_length": "m",
    "emg_gain": "",
    "mass": "kg",
    **dict.fromkeys(("com_x", "com_y", "com_z"), "m"),
    **dict.fromkeys(("Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz"), "kg m²"),
    **dict.fromkeys(("activation_time", "deactivation_time", "delay"), "s"),
    **dict.fromkeys(("c1", "c2"), ""),
}
WELL = 0.5  # of the prior's variance removed by the recordings: below it, a value is the template's rather than theirs


class Verdict(StrEnum):
    """How far the recordings determine a parameter."""

    WELL_DETERMINED = "well determined"
    POORLY_DETERMINED = "poorly determined"
    AT_LIMIT = "at its limit"


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


@dataclass(eq=False)
class Result:
    """What an identification has found, and how well."""

    problem: Problem
    fit: Fit
    uncertainty: Uncertainty
    fitted: list[Validation]
    """on the recordings it was fitted to"""
    unseen: list[Validation]
    """on the others"""
    warnings: list[str]
    """why the result may be doubted"""
    noise: EmgNoise | None = None
    """of the EMG, if its errors were eliminated"""

    @property
    def names(self) -> tuple[str, ...]:
        return self.problem.parameters.names

    def estimates(self) -> list[Estimate]:
        """Every parameter, in the order of `names`."""
        p, found = self.problem.parameters, self.fit.physical
        low, high = self.uncertainty.interval(self.fit)
        limits, start = set(p.at_limits(self.fit.z)), p.physical_start()
        listed = []
        for i, name in enumerate(self.names):
            well = Verdict.WELL_DETERMINED if self.uncertainty.learned[i] > WELL else Verdict.POORLY_DETERMINED
            verdict = Verdict.AT_LIMIT if name in limits else well
            unit = UNITS[owner_and_quantity(name)[1]]
            before, now, least, most = (float(x[i]) for x in (start, found, low, high))
            listed.append(Estimate(name, unit, before, now, least, most, verdict))
        return listed

    def model(self) -> Model:
        """The personal model. Delay, poles and gains of the EMG have no place in a model; `estimates` has them."""
        return fitted_model(self.problem.model, self.problem.parameters, self.fit.physical)


def owner_and_quantity(name: str) -> tuple[str, str]:
    """The muscle or body that a parameter belongs to ("" if to all), and what it is of it."""
    owner, _, quantity = name.rpartition(" ")
    return owner, quantity


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
    checkpoint: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
    report: Callable[[Progress], None] = lambda _: None,
) -> Result:
    """Identify bones and muscles from `recordings`, without EMG of the `deep` muscles.

    `bodies`: whose inertia is identified. `unseen`: recordings to judge the fit by. `noise`: errors of the EMG; None: it has
    none. `gains`: identify a gain of each EMG channel, too. `robust`: outliers weigh less. `every`: use every n-th sample.
    `checkpoint`: a file from which an interrupted fit continues. `say` is called with what is being done, `report` after each
    iteration.
    """
    if robust and noise:
        raise MyogradError(
            "robust treats samples that do not fit as outliers, noise treats them as noise: choose one of the two"
        )
    say("computing the mechanics of the recordings ...")
    problem = identification(model, recordings, deep, bodies, of_muscle=MUSCLE if gains else None, every=every)
    check(problem)
    if noise:
        need_noise(problem, noise)
    for it in unseen:  # before the fit, not after it
        check_recording(model, it)
        low_pass_on(it, rows_of(it, every))
    say(problem.seen.text())
    if noise:
        found = fit(problem, report=report, checkpoint=checkpoint)
        say("correcting the EMG ...")
        found = refine(found, noise, report)
    else:
        found = search(problem, robust=Robust() if robust else None, report=report, checkpoint=checkpoint)
    say("judging the fit ...")
    fitted = [validate(found, it, known) for it, known in zip(recordings, problem.mechanics, strict=True)]
    others = [validate(found, it) for it in unseen]
    left = float(np.sqrt(np.mean([it.normalised_torque**2 for it in fitted])))
    return Result(problem, found, uncertainty(found), fitted, others, doubts(found, left), noise)
