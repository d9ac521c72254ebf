"""Paper 000: identification of bones and muscles without deep-muscle EMG, repeated; on our own recordings and on OpenSim's.

    myograd study identification [--quick] --out DIR

M1 has no EMG of the five deep muscles, M2 has all. Every run starts from numbers drawn about the truth (Eq. 24), on two movements
together, and is scored by Eqs. 22-23. Writes summary.json (the paper's numbers beside ours), runs.csv, and figures as the paper's
4 and 5. Parts can be chosen: own, opensim, wide (starts with 30 % errors), noise (coverage of intervals), adam.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import signal

import myograd
from myograd import models
from myograd.estimate.identification import inertia
from myograd.estimate.identification.adam import fit_adam
from myograd.estimate.identification.fit import Fit, Prior, default_spread, fit
from myograd.estimate.identification.noise import EmgNoise, refine
from myograd.estimate.identification.parameters import COMMON, MUSCLE, Parameters
from myograd.estimate.identification.problem import Problem, identification, tendon_stage
from myograd.estimate.identification.recording import Recording, smooth_motion
from myograd.estimate.identification.scores import Scores, scores
from myograd.estimate.identification.search import search, spread_starts
from myograd.estimate.identification.shipped import FOLDER, shipped_deep, shipped_recording, shipped_truth
from myograd.estimate.identification.uncertainty import relative_errors, uncertainty
from myograd.estimate.identification.validate import validate
from myograd.estimate.inverse.mechanics import Mechanics, mechanics
from myograd.files.atomic import write_text
from myograd.model.model import Model
from myograd.studies.people import BODIES, somebody

NOISE = EmgNoise(0.05, 10.0)
TOLD = {"right": NOISE, "half": EmgNoise(0.025, 10.0), "double": EmgNoise(0.1, 10.0), "slower": EmgNoise(0.05, 6.0)}
OPENSIM = Path(
    os.environ.get("MYOGRAD_IDENTIFICATION", Path(__file__).resolve().parents[4] / "shared" / "identification")
)
PAPER = {
    "epochs": 12000,
    "seconds_per_epoch": 0.77,
    "hours_per_run": 2.5,
    "base_parameters": 17,
    "cr": "only as curves and boxes in its Figure 4; its text has no numbers",
}
PARTS = ("own", "opensim", "wide", "noise", "adam")


@dataclass(eq=False)
class Case:
    """One source of recordings: a model, its movements, and the truth."""

    name: str
    model: Model
    deep: tuple[str, ...]
    recordings: dict[str, Recording]
    known: dict[str, Mechanics]
    truth: Callable[[Parameters], np.ndarray]
    start: dict[str, float]

    def problem(
        self, method: str, fibers: str, movements: Sequence[str] = ("move1", "move2"), every: int = 1
    ) -> Problem:
        return identification(
            self.model,
            [self.recordings[name] for name in movements],
            self.deep if method == "M1" else (),
            BODIES,
            fibers=fibers,
            start=self.start,
            every=every,
            known=[self.known[name] for name in movements],
        )


@dataclass
class Run:
    """One fit of the study."""

    data: str
    method: str
    fibers: str
    start: int
    spread: float
    loss: float
    converged: bool
    iterations: int
    seconds: float
    scores: Scores
    unseen: float
    """normalised acceleration error on the unseen movement [%]"""
    tendon: float
    """mean error of tendon slack lengths [%]"""
    history: list[float] = field(default_factory=list)
    errors: list[list[float]] = field(default_factory=list)


def own_case() -> Case:
    model = myograd.load_model(models.model_path("arm"))
    names = ("move1", "move2", "move3")
    recordings = {name: shipped_recording(name, model) for name in names}
    person = json.loads((FOLDER / "arm_person.json").read_text())
    return Case(
        "own",
        model,
        shipped_deep(),
        recordings,
        {name: mechanics(model, recordings[name], BODIES) for name in names},
        shipped_truth,
        person["common"],
    )


def opensim_case() -> Case | None:
    """Recordings made with OpenSim on another arm; with OpenSim's own geometry. None where they are not at hand."""
    folder = OPENSIM / "subjectA"
    if not (folder / "truth.json").exists():
        return None
    model = myograd.load_model(folder / "arm16.osim")
    told = json.loads((folder / "truth.json").read_text())
    recordings = {
        name: opensim_recording(model, folder / f"{file}.npz", name)
        for name, file in (("move1", "move1"), ("move2", "move2"), ("move3", "move3_test"))
    }
    start = {"activation_time": 0.010, "deactivation_time": 0.040, "delay": 22.6 * 0.002, "c1": -0.80, "c2": -0.60}
    return Case(
        "opensim",
        somebody(model, BODIES, 21),  # what is known before must not be the truth, which the file states
        tuple(told["deep"]),
        recordings,
        {name: mechanics(model, it, BODIES) for name, it in recordings.items()},  # does not depend on what is asked for
        lambda p: _of_model(model, p, start),
        start,
    )


def _of_model(model: Model, p: Parameters, common: dict[str, float]) -> np.ndarray:
    """A model's own numbers, in the order of `p.names`."""
    own = inertia.stated_bodies(model, p.bodies).ravel() if p.bodies else np.zeros(0)
    muscles = [
        float(getattr(model.muscles, MUSCLE[f])[model.muscle_names.index(p.muscles[m])])
        for f, m in np.argwhere(p.free_muscle)
    ]
    return np.array([*own, *muscles, *(common[name] for name, free in zip(COMMON, p.free_common, strict=True) if free)])


def opensim_recording(model: Model, path: Path, name: str) -> Recording:
    """From a file of the independent set (its README says what it holds)."""
    with np.load(path, allow_pickle=False) as file:
        it = dict(file)
    columns = [model.coordinate_names.index(str(c)) for c in it["coord16"]]
    order = [[str(m) for m in it["muscles"]].index(m) for m in model.muscle_names]
    count, c = len(it["time"]), len(model.coordinate_names)
    motion = np.zeros((3, count, c))
    motion[0] = np.asarray(model.default_pose())
    for k, key in enumerate(("q", "qd", "qdd")):
        motion[k][:, columns] = it[key]
    pull = np.zeros((count, len(order), c))
    pull[:, :, columns] = it["path_genforce_unit"][:, order]
    return Recording(
        name,
        it["time"],
        motion[0],
        motion[1],
        motion[2],
        it["emg"][:, order],
        model.muscle_names,
        it["fiber_length"][:, order],
        it["fiber_velocity"][:, order],
        it["muscle_length"][:, order],
        pull,
    )


# Runs --------------------------------------------------------------------------------------------------------


def runs_of(
    case: Case, method: str, fibers: str, spread: float, starts: int, say: Callable[[str], None], seed: int = 24
) -> list[Run]:
    problem = case.problem(method, fibers)
    p = problem.parameters
    true = case.truth(p)
    well = relative_errors(problem, p.vector(true)) <= 0.05
    done = []
    for k, begin in enumerate(spread_starts(p, spread, starts, seed, true)):
        begun = time.perf_counter()
        prior = Prior(begin, default_spread(p, max(0.2, spread)))
        found = search(problem, begin, prior=prior)
        seconds = time.perf_counter() - begun
        done.append(_scored(case, problem, found, true, well, k, spread, seconds, fibers, method))
        one = done[-1]
        say(
            f"{case.name} {method} {fibers} start {k}: {one.seconds:.0f} s, loss {one.loss:.2g} rad/s², well determined "
            f"{one.scores.well:.2g} % (of {one.scores.well_count}), Cr2_m {one.scores.cr2_muscle:.3g} %, "
            f"base {one.scores.base:.3g} %, unseen {one.unseen:.2g} %, {found.why}"
        )
    return done


def _scored(
    case: Case,
    problem: Problem,
    found: Fit,
    true: np.ndarray,
    well: np.ndarray,
    k: int,
    spread: float,
    seconds: float,
    fibers: str,
    method: str,
) -> Run:
    p = problem.parameters
    physical = found.physical
    score = scores(p, problem.base, physical, true, well)
    unseen = validate(found, case.recordings["move3"], case.known["move3"])
    tendon = float("nan")
    if fibers == "recorded":  # the paper's second stage: tendon slack lengths by Eq. 16, the rest as found
        second = tendon_stage(problem, physical)
        right = case.truth(second.parameters)
        tendon = float(100 * np.mean(np.abs(fit(second).physical / right - 1)))
    return Run(
        case.name,
        method,
        fibers,
        k,
        spread,
        found.loss,
        found.converged,
        found.iterations,
        seconds,
        score,
        100 * unseen.normalised,
        tendon,
        [loss for loss, _ in found.history],
        [(100 * np.abs(x / np.where(true == 0, np.inf, true) - 1)).tolist() for _, x in found.history],
    )


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
        problem = identification(case.model, recordings, case.deep, BODIES, fibers="solved", start=case.start)
        p = problem.parameters
        true = case.truth(p)
        (begin,) = spread_starts(p, 0.1, 1, 2000 + k, true)
        plain = fit(problem, begin, prior=Prior(begin, 0.1))
        for told, noise in TOLD.items():
            if told != "right" and k % 4:
                continue
            one = refine(plain, noise)
            sure = uncertainty(one)
            low, high = sure.interval(one)
            inside = (low <= true) & (true <= high)
            wrong = np.abs(one.physical - true) / np.abs(true)
            found[told].append((inside, wrong, sure.learned > 0.5, one.converged))
            say(
                f"noise {k}, told {told}: {100 * inside.mean():.0f} % of intervals hold the truth, "
                f"median error {100 * np.median(wrong):.1f} %, {one.why}"
            )
    return {told: _covered(trial) for told, trial in found.items()}


def _covered(trials: list[tuple[np.ndarray, np.ndarray, np.ndarray, bool]]) -> dict[str, Any]:
    """Of all trials: intervals that contain the truth, and errors; also of the parameters that the recordings determine well."""
    inside, wrong, well = (np.array(x) for x in list(zip(*trials, strict=True))[:3])
    return {
        "trials": len(trials),
        "converged": sum(trial[3] for trial in trials),
        "coverage_percent": float(100 * np.mean(inside)),
        "coverage_percent_by_trial": (100 * np.mean(inside, axis=1)).tolist(),
        "coverage_percent_learned": float(100 * np.mean(inside[well])),
        "median_error_percent": float(100 * np.median(wrong)),
        "median_error_percent_learned": float(100 * np.median(wrong[well])),
        "learned_share": float(np.mean(well)),
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
        for method, fibers in (("M1", "recorded"), ("M2", "recorded"), ("M1", "solved"), ("M2", "solved")):
            if quick and method == "M2" and (fibers == "solved" or source == "opensim"):
                continue
            runs += runs_of(case, method, fibers, 0.1, starts, say)
            names[f"{source} {method} {fibers}"] = list(case.problem(method, fibers).parameters.names)
            _write(out, summary, runs)
    own = cases.get("own")
    if own and "wide" in parts:
        runs += runs_of(own, "M1", "recorded", 0.3, 3 if quick else 10, say)
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
    problem = case.problem("M1", "recorded")
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
            if group[0].fibers != "recorded"
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
