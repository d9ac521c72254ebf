"""How long a call takes, and how far apart two answers are."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Timing:
    """Microseconds per evaluation, over `repeats` measurements."""

    best: float
    median: float
    repeats: int


def timed(call: Callable[[], Any], evaluations: int, seconds: float, least: int = 5) -> Timing:
    """Time `call`, which does `evaluations` evaluations, again and again for `seconds`, `least` times at the least."""
    call()  # the first one pays for caches and lazy initialisation
    samples: list[float] = []
    stop = time.perf_counter() + seconds
    while len(samples) < least or time.perf_counter() < stop:
        start = time.perf_counter()
        call()
        samples.append((time.perf_counter() - start) / evaluations * 1e6)
    return Timing(min(samples), float(np.median(samples)), len(samples))


class Disagreement(Exception):
    """Two programs gave different answers, so their times cannot be compared."""


def agree(what: str, ours: np.ndarray, theirs: np.ndarray, bar: float) -> float:
    """The largest difference, relative to the largest number of each pose where that exceeds 1; raises above `bar`."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.shape != theirs.shape:
        raise Disagreement(f"{what}: the answers have shapes {ours.shape} and {theirs.shape}")
    axes = tuple(range(1, theirs.ndim))
    scale = np.maximum(1.0, np.abs(theirs).max(axis=axes, keepdims=True))
    difference = float(np.max(np.abs(ours - theirs) / scale))
    if not difference <= bar:
        raise Disagreement(f"{what}: the answers differ by {difference:.1e}, more than {bar:.0e}: not the same work")
    return difference
