"""Nonlinear least squares by Levenberg-Marquardt with exact Jacobians.

Steps minimise `|r + J s|^2 / noise^2 + |A s + b|^2 + damping |s|^2` in relative parameters, where A and b are a prior's rows,
brought to triangular form first (QR), because the normal equations would square the condition number. The noise is what
the residual has at the moment, so that the prior guides the first steps and fades. It ends where what could still be explained of
the residual is small against what cannot (Bates and Watts's relative offset: the step left is this part of the confidence
interval).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np

RESOLVED = 1e-12  # singular values below this part of the largest belong to combinations without effect
OFFSET = 1e-3  # relative offset at which a fit has converged
MOST_DAMPED, LEAST_DAMPED = 1e16, 1e-12
WORTHWHILE = 1e-3  # of the gain that the linear model promises: a step with less is not taken
EARLY = 4  # iterations, after which a fit that leads nowhere can be told
PART = 0.1  # of a step, at which the residual's curvature along it is looked at


class Outcome(StrEnum):
    """Why an optimiser has ended; as text, in words."""

    CONVERGED = "converged"
    NOT_ENOUGH_ITERATIONS = "the iterations were not enough"
    NO_BETTER_STEP = "no step makes the residual smaller"
    STALLED = "the last iterations gained too little"
    UNPROMISING = "the first iterations led to nothing as good as what is known"
    ALTERNATION = "parameters and errors of the measurement, found in turn, have not come to rest"


@runtime_checkable
class Objective(Protocol):
    """What is minimised. `state` is whatever an evaluation leaves for the next one nearby, such as where to start looking for
    the solution of an inner equation."""

    @property
    def scales(self) -> np.ndarray:
        """[n] what counts as a change of one."""
        ...

    def linearized(self, x: np.ndarray, state: Any) -> tuple[np.ndarray, np.ndarray, Any]:
        """[rows] residual, [rows, n] its Jacobian, and the state. Raises where the residual is not finite."""
        ...

    def residual(self, x: np.ndarray, near: np.ndarray, state: Any) -> tuple[np.ndarray, Any]:
        """[rows] residual, and the state; `state` is that of `near`."""
        ...

    def prior_rows(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """b [n] and A [n, n] with `penalty(x + scales s) = |A s + b|^2` to second order, up to a constant."""
        ...

    def penalty(self, x: np.ndarray) -> float:
        """-2 log of the prior's density, up to a constant; infinite where x is not allowed."""
        ...


@dataclass(frozen=True)
class Options:
    """How long, and how. Losses are root mean squares of the residual."""

    iterations: int = 200
    huber: float | None = None
    """rows with residuals beyond so many times the median size weigh less (Huber's loss); None: all weigh the same"""
    stall: float = 0.0
    """give up where three iterations together gain less than this, in -2 log of the posterior"""
    unpromising: float = np.inf
    """give up where the loss is above this after `EARLY` iterations"""


@dataclass(frozen=True, eq=False)
class Iterate:
    """Where the optimiser is."""

    x: np.ndarray
    state: Any
    damping: float = 1e-3
    growth: float = 2.0
    count: int = 0
    loss: float = np.inf
    """root mean square of the weighted residual"""
    offset: float = np.inf
    """relative offset: what is left to do, as a part of the confidence interval; of the last linearisation"""
    weights: np.ndarray | float = 1.0
    """of the rows, from Huber's loss"""


@dataclass(frozen=True, eq=False)
class Linear:
    """The residual about an iterate, with the prior's rows below it, in triangular form: `[J / noise; A] = Q R, R = U s Vt`."""

    r: np.ndarray
    """weighted"""
    J: np.ndarray
    """weighted, per relative change"""
    noise: float
    Q: np.ndarray
    R: np.ndarray
    U: np.ndarray
    s: np.ndarray
    Vt: np.ndarray
    explained: np.ndarray
    """Q^T [r / noise; b]"""
    cost: float
    """|[r / noise; b]|^2"""

    @property
    def along(self) -> np.ndarray:
        return self.U.T @ self.explained

    @property
    def offset(self) -> float:
        """Bates and Watts, A relative offset orthogonality convergence criterion, Technometrics 23, 1981."""
        along = self.along[self.s > RESOLVED * self.s[0]]
        left = max(self.cost - float(along @ along), 1e-300)
        return float(np.sqrt((along @ along) / max(len(along), 1) / (left / max(len(self.r) - len(along), 1))))

    def promised(self, step: np.ndarray) -> float:
        """What a step gains if the linear model holds: of squares over noise, and so of the merit, to first order."""
        return float(self.explained @ self.explained - np.sum((self.explained + self.R @ step) ** 2))


def levenberg_marquardt(
    objective: Objective,
    start: Iterate,
    options: Options,
    report: Callable[[Iterate], None] = lambda _: None,
    keep: Callable[[Iterate], None] = lambda _: None,
) -> tuple[Iterate, Outcome]:
    """From `start` to a minimum. `report` hears of every linearisation, `keep` of every step that is taken."""
    at, gained = start, []
    while at.count < options.iterations:
        at, linear = _linearize(objective, at, options.huber)
        report(at)
        if at.offset < OFFSET or at.loss == 0:
            return at, Outcome.CONVERGED
        before = merit(linear.r, objective.penalty(at.x))
        after, value = _step(objective, at, linear, before)
        if after is None:
            return at, Outcome.NO_BETTER_STEP
        at = after
        keep(at)
        gained = [*gained[-2:], before - value]
        if len(gained) == 3 and sum(gained) < options.stall:
            return at, Outcome.STALLED
        if at.count == EARLY and at.loss > options.unpromising:
            return at, Outcome.UNPROMISING
    return at, Outcome.NOT_ENOUGH_ITERATIONS


def arrived(outcome: Outcome, offset: float) -> bool:
    """Whether an end is a minimum: the offset may be a little too large where rounding lets no step be better."""
    return outcome is Outcome.CONVERGED or (outcome is Outcome.NO_BETTER_STEP and offset < 10 * OFFSET)


def _linearize(objective: Objective, at: Iterate, huber: float | None) -> tuple[Iterate, Linear]:
    r, J, state = objective.linearized(at.x, at.state)
    weights = at.weights if huber is None else huber_weights(r, huber)
    r, J = weights * r, np.reshape(weights, (-1, 1)) * (J * objective.scales)
    noise = _size(r) or 1.0  # where nothing is left, there is nothing to weigh
    b, A = objective.prior_rows(at.x)
    rows = np.concatenate([r / noise, b])
    Q, R = np.linalg.qr(np.concatenate([J / noise, A]))
    linear = Linear(r, J, noise, Q, R, *np.linalg.svd(R), Q.T @ rows, float(rows @ rows))
    return replace(at, state=state, weights=weights, loss=_size(r), offset=linear.offset), linear


def _step(objective: Objective, at: Iterate, linear: Linear, before: float) -> tuple[Iterate | None, float]:
    """The next iterate and its merit, with as much damping as it takes to be better than `before`; None if none is."""
    damping, growth = at.damping, at.growth
    while damping < MOST_DAMPED:
        inverse = linear.Vt.T * (linear.s / (linear.s**2 + damping))
        step = -inverse @ linear.along
        step = step + _acceleration(objective, at, linear, inverse, step)
        x = at.x + objective.scales * step
        penalty, value = objective.penalty(x), np.inf
        if np.isfinite(penalty):
            r, state = objective.residual(x, at.x, at.state)
            r = at.weights * r
            value = merit(r, penalty) if np.isfinite(r).all() else np.inf
            gain = (before - value) / max(linear.promised(step), 1e-300)
            if gain > WORTHWHILE:
                damping = max(damping * max(1 / 10, 1 - (2 * min(gain, 1.0) - 1) ** 3), LEAST_DAMPED)
                return replace(
                    at, x=x, state=state, damping=damping, growth=2.0, count=at.count + 1, loss=_size(r)
                ), value
        damping, growth = damping * growth, growth * 2
    return None, before


def _acceleration(
    objective: Objective, at: Iterate, linear: Linear, inverse: np.ndarray, step: np.ndarray
) -> np.ndarray:
    """What the residual's curvature along a step adds to it (geodesic acceleration: Transtrum, Sethna, 2012), from one more
    residual at a part of the step; nothing where that is large against the step."""
    r, _ = objective.residual(at.x + PART * (objective.scales * step), at.x, at.state)
    curvature = 2 / PART * ((at.weights * r - linear.r) / PART - linear.J @ step)
    added = -0.5 * (inverse @ linear.U.T) @ (linear.Q[: len(r)].T @ (curvature / linear.noise))
    return added if np.isfinite(added).all() and np.linalg.norm(added) < 0.5 * np.linalg.norm(step) else 0 * step


def merit(r: np.ndarray, penalty: float) -> float:
    """-2 log of the posterior whose noise is what fits the residual best: n log(mean square) + prior."""
    return float(len(r) * np.log(np.maximum(np.mean(r**2), np.finfo(float).tiny)) + penalty)


def _size(r: np.ndarray) -> float:
    return float(np.sqrt(np.mean(r**2)))


def huber_weights(r: np.ndarray, width: float) -> np.ndarray:
    """Square roots of the weights that make squares Huber's loss."""
    size = np.abs(r)
    edge = width * 1.4826 * np.median(size)
    return np.sqrt(np.where(size > edge, edge / np.maximum(size, 1e-300), 1.0))
