"""Paper 000: identification of bones and muscles without deep-muscle EMG, repeated; on our own recordings and on OpenSim's.

    myograd study identification [--quick] --out DIR

M1 has no EMG of the five deep muscles, M2 has all. Every run starts from numbers drawn about the truth (Eq. 24), on two movements
together, and is scored by Eqs. 22-23. Writes summary.json (the paper's numbers beside ours), runs.csv, and figures as the paper's
4 and 5. Parts can be chosen: own, opensim, wide (starts with 30 % errors), noise (coverage of intervals), adam.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import signal

from myograd.estimate.identification.adam import fit_adam
from myograd.estimate.identification.choices import Choices, FiberSource
from myograd.estimate.identification.fit import Fit, fit
from myograd.estimate.identification.fitted import tendon_stage
from myograd.estimate.identification.noise import EmgNoise, refine
from myograd.estimate.identification.problem import Problem
from myograd.estimate.identification.scores import Scores, scores
from myograd.estimate.identification.search import search, spread_starts
from myograd.estimate.identification.setup import identification
from myograd.estimate.identification.uncertainty import LEARNED, WELL, relative_errors, uncertainty
from myograd.estimate.identification.validate import validate
from myograd.estimate.parameters import Prior, default_prior
from myograd.estimate.recording import Recording, smooth_motion
from myograd.files.atomic import write_text
from myograd.studies._identification_cases import OPENSIM, Case, opensim_case, own_case
from myograd.studies.people import BODIES

NOISE = EmgNoise(0.05, 10.0)
TOLD = {"right": NOISE, "half": EmgNoise(0.025, 10.0), "double": EmgNoise(0.1, 10.0), "slower": EmgNoise(0.05, 6.0)}
PAPER = {
    "epochs": 12000,
    "seconds_per_epoch": 0.77,
    "hours_per_run": 2.5,
    "base_parameters": 17,
    "cr": "only as curves and boxes in its Figure 4; its text has no numbers",
}
PARTS = ("own", "opensim", "wide", "noise", "adam")


@dataclass
class Run:
    """One fit of the study."""

    data: str
    method: str
    fibers: FiberSource
    start: int
    spread: float
    seconds: float
    loss: float
    converged: bool
    iterations: int
    scores: Scores
    unseen: float
    """normalised acceleration error on the unseen movement [%]"""
    tendon: float
    """mean error of tendon slack lengths [%]"""
    history: list[float] = field(default_factory=list)
    errors: list[list[float]] = field(default_factory=list)


# Runs --------------------------------------------------------------------------------------------------------


def runs_of(
    case: Case, method: str, fibers: FiberSource, spread: float, starts: int, say: Callable[[str], None], seed: int = 24
) -> list[Run]:
    problem = case.problem(method, fibers)
    p = problem.parameters
    true = case.truth(p)
    well = relative_errors(problem, p.vector(true)) <= WELL
    done = []
    for k, begin in enumerate(spread_starts(p, spread, starts, seed, true)):
        begun = time.perf_counter()
        found = search(problem, begin, prior=default_prior(p, begin, max(0.2, spread)))
        seconds = time.perf_counter() - begun
        one = Run(case.name, method, fibers, k, spread, seconds, *_scored(case, found, true, well))
        done.append(one)
        say(
            f"{case.name} {method} {fibers} start {k}: {one.seconds:.0f} s, loss {one.loss:.2g} rad/s², well determined "
            f"{one.scores.well:.2g} % (of {one.scores.well_count}), Cr2_m {one.scores.cr2_muscle:.3g} %, "
            f"base {one.scores.base:.3g} %, unseen {one.unseen:.2g} %, {found.outcome}"
        )
    return done


def _scored(case: Case, found: Fit, true: np.ndarray, well: np.ndarray) -> tuple[Any, ...]:
    """Of a run: all from `loss` on."""
    problem, physical = found.problem, found.physical
    return (
        found.loss,
        found.converged,
        found.iterations,
        scores(problem.parameters, problem.base, physical, true, well),
        100 * validate(found, case.recordings["move3"], case.known["move3"]).normalised,
        _tendon_error(case, problem, physical),
        [loss for loss, _ in found.history],
        [(100 * np.abs(x / np.where(true == 0, np.inf, true) - 1)).tolist() for _, x in found.history],
    )


def _tendon_error(case: Case, problem: Problem, physical: np.ndarray) -> float:
    """[%] after the paper's second stage, where fibres are recorded: tendon slack lengths by Eq. 16, the rest as found."""
    if problem.schemes[0].fibers is not FiberSource.RECORDED:
        return float("nan")
    second = tendon_stage(problem, physical)
    return float(100 * np.mean(np.abs(fit(second).physical / case.truth(second.parameters) - 1)))


# Noise -------------------------------------------------------------------------------------------------------


def noisy(case: Case, name: str, random: np.random.Generator, rate: float = 100.0, low_pass: float = 6.0) -> Recording:
    """A recording as a laboratory has it: angles at `rate` Hz with 0.2 degrees of noise, to be low-passed; EMG with 5 % noise on
    its envelope, which is as smooth as a low-pass at 10 Hz makes it."""
    it, model = case.recordings[name], case.model
    at = it.time[:: round(1 / (rate * it.step))]
    angles = it.q[:: round(1 / (rate * it.step))] + np.deg2rad(0.2) * random.standard_normal((len(at), it.q.shape[1]))
    q, u, udot = smooth_motion(model, at, angles, it.time, rate, low_pass)
    wobble = signal.sosfiltfilt(
        signal.butter(2, NOISE.cutoff, fs=1 / it.step, output="sos"), random.standard_normal(it.emg.shape), axis=0
    )
    emg = np.clip(it.emg * (1 + NOISE.relative * wobble / wobble.std(axis=0)), 0.0, 1.0)
    return Recording(name, it.time, q, u, udot, emg, it.channels, low_pass=low_pass)


def coverage(case: Case, trials: int, say: Callable[[str], None]) -> dict[str, Any]:
    """How often 95 % intervals hold the truth, over noise and over starts (priors about 10 % wrong); with the EMG's noise told
    rightly, and, in a quarter of the trials, wrongly as well."""
    found: dict[str, list[tuple[np.ndarray, np.ndarray, np.ndarray, bool]]] = {told: [] for told in TOLD}
    for k in range(trials):
        random = np.random.default_rng(1000 + k)
        recordings = [noisy(case, name, random) for name in ("move1", "move2")]
        problem = identification(
            case.model, recordings, case.deep, BODIES, choices=Choices(fibers=FiberSource.SOLVED, start=case.start)
        )
        p = problem.parameters
        true = case.truth(p)
        (begin,) = spread_starts(p, 0.1, 1, 2000 + k, true)
        plain = fit(problem, begin, prior=Prior(begin, np.full(len(begin), 0.1)))
        for told, noise in TOLD.items():
            if told != "right" and k % 4:
                continue
            one = refine(plain, noise)
            sure = uncertainty(one)
            low, high = sure.interval(one)
            inside = (low <= true) & (true <= high)
            wrong = np.abs(one.physical - true) / np.abs(true)
            found[told].append((inside, wrong, sure.learned > LEARNED, one.converged))
            say(
                f"noise {k}, told {told}: {100 * inside.mean():.0f} % of intervals hold the truth, "
                f"median error {100 * np.median(wrong):.1f} %, {one.outcome}"
            )
    return {told: _covered(trial) for told, trial in found.items()}


def _covered(trials: list[tuple[np.ndarray, np.ndarray, np.ndarray, bool]]) -> dict[str, Any]:
    """Of all trials: intervals that hold the truth, and errors; also of the numbers that the recordings determine."""
    inside, wrong, learned = (np.array(x) for x in list(zip(*trials, strict=True))[:3])
    return {
        "trials": len(trials),
        "converged": sum(trial[3] for trial in trials),
        "coverage_percent": float(100 * np.mean(inside)),
        "coverage_percent_by_trial": (100 * np.mean(inside, axis=1)).tolist(),
        "coverage_percent_learned": float(100 * np.mean(inside[learned])),
        "median_error_percent": float(100 * np.median(wrong)),
        "median_error_percent_learned": float(100 * np.median(wrong[learned])),
        "learned_share": float(np.mean(learned)),
    }


# The study ---------------------------------------------------------------------------------------------------


def run(out: Path, quick: bool = False, parts: Sequence[str] = PARTS, say: Callable[[str], None] = print) -> None:
    """Run the parts, write what they measured into the folder `out`."""
    begun = time.perf_counter()
    starts = 2 if quick else 5
    summary: dict[str, Any] = {"paper": PAPER, "quick": quick}
    runs: list[Run] = []
    names: dict[str, list[str]] = {}
    cases: dict[str, Case | None] = {}
    if {"own", "wide", "noise", "adam"} & set(parts):
        cases["own"] = own_case()
    if "opensim" in parts:
        cases["opensim"] = opensim_case()
        if cases["opensim"] is None:
            say(f"OpenSim's recordings are not at {OPENSIM}; left out")
    for source, case in cases.items():
        if case is None or source not in parts:
            continue
        for fibers, method in product((FiberSource.RECORDED, FiberSource.SOLVED), ("M1", "M2")):
            if quick and method == "M2" and (fibers is FiberSource.SOLVED or source == "opensim"):
                continue
            runs += runs_of(case, method, fibers, 0.1, starts, say)
            names[f"{source} {method} {fibers}"] = list(case.problem(method, fibers).parameters.names)
            _write(out, summary, runs)
    own = cases.get("own")
    if own and "wide" in parts:
        runs += runs_of(own, "M1", FiberSource.RECORDED, 0.3, 3 if quick else 10, say)
        _write(out, summary, runs)
    if own and "noise" in parts:
        summary["noise"] = coverage(own, 3 if quick else 20, say)
        _write(out, summary, runs)
    if own and "adam" in parts:
        summary["adam"] = adam(own, 20 if quick else 200, say)
    summary["seconds"] = time.perf_counter() - begun
    summary["memory_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    _write(out, summary, runs)
    from myograd.studies._identification_figures import figures

    figures(out, runs, names)


def adam(case: Case, epochs: int, say: Callable[[str], None]) -> dict[str, float]:
    """The paper's optimiser for some epochs, from the first start of the study."""
    problem = case.problem("M1", FiberSource.RECORDED)
    (begin,) = spread_starts(problem.parameters, 0.1, 1, 24, case.truth(problem.parameters))
    fit_adam(problem, begin, 1)  # compiles
    begun = time.perf_counter()
    found = fit_adam(problem, begin, epochs, every=epochs)
    each = (time.perf_counter() - begun) / epochs
    say(f"Adam: {each:.3f} s per epoch (the paper: 0.77 s), residual down to {found.loss:.3g} rad/s² after {epochs}")
    return {"seconds_per_epoch": each, "epochs": epochs, "loss": found.loss}


def _write(out: Path, summary: dict[str, Any], runs: list[Run]) -> None:
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(f"{run.data} {run.method} {run.fibers} {100 * run.spread:.0f} %", []).append(run)
    best = {key: min(run.loss for run in group) for key, group in groups.items()}
    summary["groups"] = {
        key: {
            "runs": len(group),
            "converged": sum(run.converged for run in group),
            "same_minimum": sum(run.loss < 3 * best[key] for run in group),
            "well_median_percent": float(np.median([run.scores.well for run in group])),
            "well_worst_percent": float(np.max([run.scores.well_worst for run in group])),
            "well_count": group[0].scores.well_count,
            "cr1_percent": float(np.median([run.scores.cr1 for run in group])),
            "cr2_percent": float(np.median([run.scores.cr2 for run in group])),
            "cr2_muscle_percent": float(np.median([run.scores.cr2_muscle for run in group])),
            "cr2_base_percent": float(np.median([run.scores.base for run in group])),
            "tendon_percent": None
            if group[0].fibers is not FiberSource.RECORDED
            else float(np.median([run.tendon for run in group])),
            "unseen_percent": float(np.median([run.unseen for run in group])),
            "seconds": float(np.median([run.seconds for run in group])),
        }
        for key, group in groups.items()
    }
    write_text(out / "summary.json", json.dumps(summary, indent=1, allow_nan=False) + "\n")
    rows = [
        "data,method,fibers,start,spread,loss,converged,iterations,seconds,cr1,cr2,cr2_muscle,base,well,well_worst,unseen,tendon"
    ]
    for run in runs:
        s = run.scores
        rows.append(
            f"{run.data},{run.method},{run.fibers},{run.start},{run.spread},{run.loss:.6g},{run.converged},{run.iterations},"
            f"{run.seconds:.1f},{s.cr1:.6g},{s.cr2:.6g},{s.cr2_muscle:.6g},{s.base:.6g},{s.well:.6g},{s.well_worst:.6g},{run.unseen:.6g},"
            f"{run.tendon:.6g}"
        )
    write_text(out / "runs.csv", "\n".join(rows) + "\n")
