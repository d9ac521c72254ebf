"""Solving an identification by Levenberg-Marquardt (`least_squares`), about what is known before (`parameters.Prior`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import jax.numpy as jnp
import numpy as np

from ...errors import MyogradError
from ..least_squares import Iterate, Options, Outcome, arrived, levenberg_marquardt, merit
from ..parameters import Prior, default_prior
from .checkpoint import Checkpoint, load, save
from .choices import POLES, FiberSource
from .forces import Fibers, carried
from .parameters import Parameters
from .problem import Problem


@dataclass
class Progress:
    """What a caller may show while a fit runs."""

    iteration: int
    iterations: int
    """at most"""
    loss: float
    """root mean square of the residual [rad/s^2]"""
    offset: float
    """relative offset: what is left to do, as a part of the confidence interval"""


@dataclass(eq=False)
class Fit:
    """Where an optimiser has arrived."""

    problem: Problem
    z: np.ndarray
    loss: float
    """root mean square of the residual's norm per sample [rad/s^2]"""
    offset: float
    outcome: Outcome
    """why it ended; as text, in words"""
    converged: bool
    """whether that is a minimum"""
    iterations: int
    history: list[tuple[float, np.ndarray]] = field(default_factory=list)
    """loss and physical parameters after every iteration"""
    fibers: list[Fibers] = field(default_factory=list)
    weights: np.ndarray | None = None
    """of the rows, from a robust loss"""
    prior: Prior | None = None
    merit: float = np.nan
    """what Levenberg-Marquardt has minimised (`least_squares.merit`)"""

    @property
    def physical(self) -> np.ndarray:
        """Identified numbers in the order of `problem.parameters.names`."""
        return np.asarray(self.problem.parameters.physical(jnp.asarray(self.z)))

    @property
    def numbers(self) -> dict[str, float]:
        """Identified numbers by name."""
        return dict(zip(self.problem.parameters.names, self.physical.tolist(), strict=True))


def ordered_poles(p: Parameters, z: np.ndarray) -> np.ndarray:
    """c1 and c2 of the EMG's filter change nothing when they change places: c1 is the smaller one."""
    if all(name in p.places for name in POLES):
        z, at = z.copy(), [p.places[name] for name in POLES]
        z[at] = np.sort(z[at])
    return z


def fit(
    problem: Problem,
    start: np.ndarray | None = None,
    options: Options | None = None,
    prior: Prior | None = None,
    report: Callable[[Progress], None] = lambda _: None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Fit:
    """Identify. `start`: a vector (`parameters.vector`); by default the model's own values. `prior`: by default about the start.
    `options`: losses in them are those of `Fit`.

    `checkpoint`: a file that is written after every iteration, and from which the same fit goes on if it exists.
    """
    p, options = problem.parameters, options or Options()
    z = np.array(p.start() if start is None else start, float)
    saved = load(checkpoint, problem) or Checkpoint(z, prior or default_prior(p, z))
    objective = _Objective(problem, saved.prior, p.scales())
    history = list(saved.history)
    per_row = np.sqrt(problem.identifiability.equations)  # of a loss

    def told(at: Iterate) -> None:
        if not history:
            history.append((at.loss * per_row, np.asarray(p.physical(jnp.asarray(at.x)))))
        report(Progress(at.count, options.iterations, at.loss * per_row, at.offset))

    def kept(at: Iterate) -> None:
        history.append((at.loss * per_row, np.asarray(p.physical(jnp.asarray(at.x)))))
        save(checkpoint, problem, Checkpoint(at.x, saved.prior, at.damping, at.count, history))

    first = Iterate(saved.z, problem.guess(saved.z), saved.damping, count=saved.count)
    end, outcome = levenberg_marquardt(
        objective, first, replace(options, unpromising=options.unpromising / per_row), told, kept
    )
    z = ordered_poles(p, end.x)
    r, fibers = problem.residual(z, end.state)
    return Fit(
        problem,
        z,
        loss_of(problem, r),
        end.offset,
        outcome,
        arrived(outcome, end.offset),
        end.count,
        history,
        fibers,
        None if options.huber is None else np.broadcast_to(end.weights, r.shape),
        saved.prior,
        merit(end.weights * r, saved.prior.penalty(p, z)),
    )


@dataclass(frozen=True, eq=False)
class _Objective:
    """A problem as `least_squares` sees it; the state are the fibres."""

    problem: Problem
    prior: Prior
    scales: np.ndarray

    def linearized(self, x: np.ndarray, state: Sequence[Fibers]) -> tuple[np.ndarray, np.ndarray, Sequence[Fibers]]:
        r, J, fibers = self.problem.linearized(x, state)
        if not np.isfinite(r).all():
            raise MyogradError(_not_finite(self.problem, fibers))
        return r, J, fibers

    def residual(self, x: np.ndarray, near: np.ndarray, state: Sequence[Fibers]) -> tuple[np.ndarray, Sequence[Fibers]]:
        before, after = (self.problem.parameters.unknowns(jnp.asarray(z)).muscle for z in (near, x))
        guess = [
            carried(fibers, before, after) if scheme.fibers is FiberSource.SOLVED else fibers
            for scheme, fibers in zip(self.problem.schemes, state, strict=True)
        ]
        return self.problem.residual(x, guess)

    def prior_rows(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.prior.rows(self.problem.parameters, x)

    def penalty(self, x: np.ndarray) -> float:
        return self.prior.penalty(self.problem.parameters, x)


def loss_of(problem: Problem, r: np.ndarray) -> float:
    """Root mean square of the norm per sample."""
    return float(np.sqrt(np.mean(r**2) * problem.identifiability.equations))


def _not_finite(problem: Problem, found: Sequence[Fibers]) -> str:
    """Why a residual is not a number: which muscles' fibres were not found."""
    for recording, fibers in zip(problem.recordings, found, strict=True):
        bad = ~np.isfinite(np.asarray(fibers.length)).all(axis=0)
        if bad.any():
            names = [problem.identifiability.identifiable[i] for i in np.flatnonzero(bad)]
            return (
                f"recording {recording.name!r}: no fibre lengths balance the tendons of {', '.join(names)} with the parameters "
                "that the fit starts from; are their tendon slack lengths near those of the subject?"
            )
    return "the residual is not a number at the parameters that the fit starts from"
