"""Which of many minima: starts drawn about given numbers, and a search that hops from one minimum to a better one.

Muscles can make up for each other, and each may be taken for one on the other side of its optimal length, so a fit seldom ends
in the best minimum at once. From the best one known, all numbers of muscles and activation are kicked at random; and beside it
the lengths of one muscle, each in its turn, because the last false minimum often has one muscle wrong and all others right. A
few iterations tell whether that leads anywhere better (basin hopping, Wales and Doye 1997, downhill only).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from threadpoolctl import threadpool_limits

from ...errors import MyogradError
from ..least_squares import Options
from ..parameters import Prior, default_prior
from .checkpoint import Checkpoint, load, save
from .fit import Fit, Progress, fit, loss_of
from .parameters import Parameters
from .problem import Problem

FULL, SCREEN = 30, 8  # iterations of a fit, and of a first look
HOPS, PATIENCE = 400, 120  # at most, and without anything better
AT_ONCE = 2  # one of either kind: a fit keeps one processor busy
SAME = 5.0  # in -2 log of the posterior: closer than this is the same minimum
EXPLAINED = 5e-5  # of the residual at the start: less is noise-free data at its minimum
ROUGH = 0.75  # of the rough residual: where all rows computed well have less, it is mostly the roughness
UNPROMISING = 5.0  # times the best loss, early in a first look
KICK = (0.02, 0.15)  # of all numbers, relative
OTHER = 0.15  # of the optimal fibre length: change of one muscle's lengths


def spread_starts(
    p: Parameters, spread: float, count: int, seed: int, center: np.ndarray | None = None
) -> list[np.ndarray]:
    """Vectors of physical numbers drawn from N(center, spread |center|), as Eq. 24; bodies are made valid."""
    center = p.physical_start() if center is None else center
    random = np.random.default_rng(seed)
    drawn = center * (1 + spread * random.standard_normal((count, len(center))))
    return [p.vector(row) for row in drawn]


# One thread for BLAS: hops run side by side, and idle threads of BLAS would keep them waiting.
@threadpool_limits.wrap(limits=1, user_api="blas")
def search(
    problem: Problem,
    start: np.ndarray | None = None,
    options: Options | None = None,
    prior: Prior | None = None,
    report: Callable[[Progress], None] = lambda _: None,
    checkpoint: str | os.PathLike[str] | None = None,
    rows: int = 400,
) -> Fit:
    """`fit`, after a search for the best minimum with about so many of the rows. All fits have the same prior, about `start`.

    `checkpoint`, as of `fit`: written at every hop, too, and gone on from. Meanwhile the whole process's BLAS has one thread.
    """
    p, options = problem.parameters, options or Options()
    z = p.start() if start is None else np.asarray(start, float)
    prior = prior or default_prior(p, z)
    saved = load(checkpoint, problem)
    if saved is not None and saved.hop is None:  # the search was done
        return fit(problem, z, options, report=report, checkpoint=checkpoint)
    best = _hops(problem, saved or Checkpoint(z, prior, hop=0), problem.rough(rows), options, report, checkpoint)
    if checkpoint is not None:
        Path(checkpoint).unlink(missing_ok=True)  # it was of the search
    return fit(problem, best.z, options, prior, report, checkpoint)


def _hops(
    problem: Problem,
    saved: Checkpoint,
    rough: Problem,
    options: Options,
    report: Callable[[Progress], None],
    checkpoint: str | os.PathLike[str] | None,
) -> Fit:
    """The best fit of the rough problem that hops from `saved` on lead to."""
    p, prior, first = problem.parameters, saved.prior, saved.hop or 0
    full = Options(FULL, options.huber, stall=SAME)
    best = fit(rough, saved.z, full, prior, report)
    begun = saved.history[0][0] if saved.history else best.history[0][0]
    done = _explained(problem, best, begun)
    random, lengths, in_vain = np.random.default_rng(first), _lengths(p), 0

    def tried(there: np.ndarray) -> tuple[float, np.ndarray]:
        look = Options(SCREEN, options.huber, stall=SAME, unpromising=UNPROMISING * best.loss)
        try:
            one = fit(rough, there, look, prior)
        except MyogradError:
            return np.inf, there  # fibres that cannot balance there
        return one.merit, one.z

    with ThreadPoolExecutor(AT_ONCE) as threads:
        for hop in range(first, HOPS, AT_ONCE):
            save(checkpoint, problem, Checkpoint(best.z, prior, history=[(begun, best.physical)], hop=hop))
            if done or in_vain >= PATIENCE:
                break
            report(Progress(hop, HOPS, best.loss, best.offset))
            away = [_kicked(p, best.z, random)]
            if lengths:
                away.append(_other_muscle(p, best.z, lengths[hop // AT_ONCE % len(lengths)], random))
            in_vain += len(away)
            value, other = min(threads.map(tried, away), key=lambda one: one[0])
            if value < best.merit - SAME:
                best = fit(rough, other, full, prior, report)
                done, in_vain = _explained(problem, best, begun), 0
    return best


def _kicked(p: Parameters, z: np.ndarray, random: np.random.Generator) -> np.ndarray:
    size = np.exp(random.uniform(*np.log(KICK)))
    kick = size * p.scales() * random.standard_normal(len(z))
    kick[: p.of_bodies] = 0.0  # forces are linear in them: they follow by themselves
    return z + kick


def _lengths(p: Parameters) -> list[tuple[str, list[int]]]:
    """Each muscle that has free lengths, of optimal fibre or slack tendon, and where these are in a vector."""
    kinds = ("optimal_fiber_length", "tendon_slack_length")
    found = [
        (muscle, [p.places[f"{muscle}.{kind}"] for kind in kinds if f"{muscle}.{kind}" in p.places])
        for muscle in p.muscles
    ]
    return [(muscle, places) for muscle, places in found if places]


def _other_muscle(
    p: Parameters, z: np.ndarray, lengths: tuple[str, list[int]], random: np.random.Generator
) -> np.ndarray:
    """One muscle with other lengths, so that it may come to the other side of its optimal length."""
    muscle, places = lengths
    optimal = p.stated_muscle["optimal_fiber_length"][p.muscles.index(muscle)]
    physical = np.asarray(p.physical(jnp.asarray(z))).copy()
    physical[places] += OTHER * optimal * random.standard_normal(len(places))
    return np.concatenate([z[: p.of_bodies], p.vector(physical)[p.of_bodies :]])


def _explained(problem: Problem, best: Fit, begun: float) -> bool:
    """Whether a rough fit leaves nothing to explain that began with a residual of `begun`."""
    well_computed = problem.residual(best.z, problem.guess(best.z))[0]
    return best.loss < EXPLAINED * begun or loss_of(problem, well_computed) < ROUGH * best.loss
