"""Solving an identification by Levenberg-Marquardt with exact Jacobians.

Steps minimise `|r + J s|^2 / noise^2 + |x + s - x0|^2 / spread^2 + damping |s|^2` in relative parameters x,
brought to triangular form first (QR), because the normal equations would square a condition number of 1e7. The noise is what
the residual has at the moment, so that the prior guides the first steps and fades. It ends where what could still be explained of
the residual is small against what cannot (Bates and Watts's relative offset: the step left is this part of the confidence
interval).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np

from ...errors import MyogradError
from . import forces, inertia
from .checkpoint import load, save
from .parameters import Parameters
from .problem import Problem

RESOLVED = 1e-12  # singular values below this part of the largest belong to combinations without effect
OFFSET = 1e-3  # relative offset at which a fit has converged
MOST_DAMPED = 1e16
SOON = 4  # iterations, after which a fit that leads nowhere can be told
SPREAD = 0.2  # of a model's own numbers about the person's, relative


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


@dataclass(frozen=True)
class Prior:
    """What is known before: each number of the vector is about `center`, give or take `spread` (standard deviation, in
    `Parameters.scales`: relative for most); bodies are about the model's own (`inertia.divergence`). It decides where the
    recording does not, and weighs less the smaller the residual is: the noise of the recording is taken to be what fits it."""

    center: np.ndarray
    spread: np.ndarray | float = SPREAD

    def rows(self, p: Parameters, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """b and A with `self.penalty(z + s) = |A s + b|^2` to second order, up to a constant; s in units of `scales`."""
        spread, scale = np.broadcast_to(self.spread, z.shape), p.scales()
        b, A = (z - self.center) / (scale * spread), np.diag(1 / spread)
        for i in range(0, p.of_bodies, 10):
            own = slice(i, i + 10)
            b[own], A[own, own] = (x / spread[i] for x in inertia.divergence_rows(z[own]))
        return b, A

    def penalty(self, p: Parameters, z: np.ndarray) -> float:
        """-2 log of the prior's density, up to a constant; infinite where a body cannot exist."""
        spread, count = np.broadcast_to(self.spread, z.shape), p.of_bodies
        bodies = sum(inertia.divergence(z[i : i + 10]) / spread[i] ** 2 for i in range(0, count, 10))
        return bodies + float(np.sum(((z - self.center) / (p.scales() * spread))[count:] ** 2))


@dataclass(frozen=True)
class Robust:
    """Rows with residuals beyond `width` times the median size weigh less (Huber's loss); None: all weigh the same."""

    width: float = 3.0


@dataclass(eq=False)
class Fit:
    """Where an optimiser has arrived."""

    problem: Problem
    z: np.ndarray
    loss: float
    """root mean square of the residual's norm per sample [rad/s^2]"""
    offset: float
    converged: bool
    why: str
    """in words: why it ended"""
    iterations: int
    history: list[tuple[float, np.ndarray]] = field(default_factory=list)
    """loss and physical parameters after every iteration"""
    fibers: list[jax.Array] = field(default_factory=list)
    weights: np.ndarray | None = None
    """of the rows, from a robust loss"""
    prior: Prior | None = None
    merit: float = np.nan
    """what Levenberg-Marquardt has minimised (`merit`)"""

    @property
    def physical(self) -> np.ndarray:
        """Identified numbers in the order of `problem.parameters.names`."""
        return np.asarray(self.problem.parameters.physical(jnp.asarray(self.z)))


def default_spread(p: Parameters, spread: float = SPREAD) -> np.ndarray:
    """Of all numbers; pennation is known better, and as its cosine matters, a fit is easily led astray by it."""
    return np.array([spread / 2 if name.endswith("pennation_angle") else spread for name in p.names])


def ordered_poles(p: Parameters, z: np.ndarray) -> np.ndarray:
    """c1 and c2 change nothing when they change places: c1 is the smaller one."""
    if p.free_common[3] and p.free_common[4]:
        z = np.concatenate([z[:-2], np.sort(z[-2:])])
    return z


# Levenberg-Marquardt -----------------------------------------------------------------------------------------


def fit(
    problem: Problem,
    start: np.ndarray | None = None,
    iterations: int = 200,
    prior: Prior | None = None,
    robust: Robust | None = None,
    report: Callable[[Progress], None] = lambda _: None,
    checkpoint: str | os.PathLike[str] | None = None,
    stall: float = 0.0,
    hopeless: float = np.inf,
) -> Fit:
    """Identify. `start`: a vector (`parameters.vector`); by default the model's own values. `prior`: by default about the start.

    `checkpoint`: a file that is written after every iteration, and from which the same fit goes on if it exists. `stall`: give
    up where three iterations together gain less than this (in -2 log of the posterior). `hopeless`: give up where the loss is
    above this after `SOON` iterations.
    """
    p = problem.parameters
    z = np.array(p.start() if start is None else start, float)
    prior = prior or Prior(z.copy(), default_spread(p))
    scale = p.scales()
    damping, growth, count = 1e-3, 2.0, 0
    history: list[tuple[float, np.ndarray]] = []
    gained: list[float] = []
    saved = load(checkpoint, problem)
    if saved:
        z, damping, count = saved["z"], float(saved["damping"]), int(saved["count"])
        prior = Prior(saved["center"], saved["spread"])
        history = list(zip(saved["losses"].tolist(), saved["physical"], strict=True))
    guess = problem.guess(z)
    weights = np.ones(problem.rows)
    offset, why = np.inf, f"{iterations} iterations were not enough"
    while count < iterations:
        r, J, guess = problem.linearized(z, guess)
        if not np.isfinite(r).all():
            raise MyogradError(_lost(problem, guess))
        if robust:
            weights = _huber(r, robust.width)
        r, J = weights * r, weights[:, None] * (J * scale)
        noise = np.sqrt(np.mean(r**2))
        away, per = prior.rows(p, z)
        rows, slopes = np.concatenate([r / noise, away]), np.concatenate([J / noise, per])
        Q, R = np.linalg.qr(slopes)
        explained = Q.T @ rows
        U, s, Vt = np.linalg.svd(R)
        along = U.T @ explained
        offset = _offset(along[s > RESOLVED * s[0]], float(rows @ rows), len(r))
        if not history:
            history.append((loss_of(problem, r), np.asarray(p.physical(jnp.asarray(z)))))
        report(Progress(count, iterations, loss_of(problem, r), offset))
        if offset < OFFSET:
            why = "converged"
            break
        now, moved = merit(r, prior.penalty(p, z)), False
        while damping < MOST_DAMPED:
            inverse = Vt.T * (s / (s**2 + damping))
            step = -inverse @ along
            step = step + _bend(
                problem, z, guess, weights, scale * step, r, J @ step, noise, inverse @ U.T, Q[: len(r)], step
            )
            after = z + scale * step
            penalty, new = prior.penalty(p, after), np.inf
            if np.isfinite(penalty):
                new_r, fibers = problem.residual(after, _carried(problem, guess, z, after))
                new_r = weights * new_r
                new = merit(new_r, penalty) if np.isfinite(new_r).all() else np.inf
            # What the linear model promises: of squares over noise, and so of the merit, to first order.
            promised = float(explained @ explained - np.sum((explained + R @ step) ** 2))
            gain = (now - new) / max(promised, 1e-300)
            if gain > 1e-3:
                damping = max(damping * max(1 / 10, 1 - (2 * min(gain, 1.0) - 1) ** 3), 1e-12)
                growth, moved = 2.0, True
                break
            damping, growth = damping * growth, growth * 2
        if not moved:
            why = "no step makes the residual smaller"
            break
        z, guess, count = after, fibers, count + 1
        history.append((loss_of(problem, new_r), np.asarray(p.physical(jnp.asarray(z)))))
        save(checkpoint, problem, z, damping, count, prior, history)
        gained = [*gained[-2:], now - new]
        if len(gained) == 3 and sum(gained) < stall:
            why = "too slow"
            break
        if count == SOON and history[-1][0] > hopeless:
            why = "hopeless"
            break
    z = ordered_poles(p, z)
    r, guess = problem.residual(z, guess)
    reached = merit(weights * r, prior.penalty(p, z))
    done = why == "converged" or (why.startswith("no step") and offset < 10 * OFFSET)
    return Fit(
        problem,
        z,
        loss_of(problem, r),
        offset,
        done,
        why,
        count,
        history,
        guess,
        weights if robust else None,
        prior,
        reached,
    )


def _bend(
    problem: Problem,
    z: np.ndarray,
    guess: Sequence[jax.Array],
    weights: np.ndarray,
    change: np.ndarray,
    r: np.ndarray,
    slope: np.ndarray,
    noise: float,
    inverse: np.ndarray,
    Q: np.ndarray,
    step: np.ndarray,
) -> np.ndarray:
    """What the residual's curvature along a step adds to it (geodesic acceleration: Transtrum, Sethna, 2012), from one more
    residual at a part of the step; nothing where that is large against the step."""
    part = 0.1
    at = z + part * change
    there = weights * problem.residual(at, _carried(problem, guess, z, at))[0]
    curvature = 2 / part * ((there - r) / part - slope)
    added = -0.5 * inverse @ (Q.T @ (curvature / noise))
    return added if np.isfinite(added).all() and np.linalg.norm(added) < 0.5 * np.linalg.norm(step) else 0 * step


def _carried(problem: Problem, fibers: Sequence[jax.Array], z: np.ndarray, after: np.ndarray) -> list[jax.Array]:
    """From fibre lengths at z, where the search for those at another vector may start."""
    before, now = (problem.parameters.unknowns(jnp.asarray(at)).muscle for at in (z, after))
    return [
        forces.carried(fiber, data.length[:: scheme.stride], before, now) if scheme.fibers == "solved" else fiber
        for scheme, data, fiber in zip(problem.schemes, problem.data, fibers, strict=True)
    ]


def merit(r: np.ndarray, penalty: float) -> float:
    """-2 log of the posterior whose noise is what fits the residual best: n log(mean square) + prior."""
    return float(len(r) * np.log(np.mean(r**2)) + penalty)


def loss_of(problem: Problem, r: np.ndarray) -> float:
    """Root mean square of the norm per sample."""
    return float(np.sqrt(np.mean(r**2) * problem.seen.equations))


def _offset(along: np.ndarray, cost: float, rows: int) -> float:
    """Bates and Watts, A relative offset orthogonality convergence criterion, Technometrics 23, 1981."""
    left = max(cost - float(along @ along), 1e-300)
    return float(np.sqrt((along @ along) / max(len(along), 1) / (left / max(rows - len(along), 1))))


def _huber(r: np.ndarray, width: float) -> np.ndarray:
    """Square roots of the weights that make squares Huber's loss."""
    size = np.abs(r)
    edge = width * 1.4826 * np.median(size)
    return np.sqrt(np.where(size > edge, edge / np.maximum(size, 1e-300), 1.0))


def _lost(problem: Problem, guess: Sequence[jax.Array]) -> str:
    """Who is to blame for a residual that is not a number."""
    for recording, fiber in zip(problem.recordings, guess, strict=True):
        bad = ~np.isfinite(np.asarray(fiber)).all(axis=0)
        if bad.any():
            names = [problem.seen.identifiable[i] for i in np.flatnonzero(bad)]
            return (
                f"recording {recording.name!r}: no fibre lengths balance the tendons of {', '.join(names)} with the parameters "
                "that the fit starts from; are their tendon slack lengths near those of the subject?"
            )
    return "the residual is not a number at the parameters that the fit starts from"
