"""Files in which a fit keeps where it is, so that it can go on after an interruption."""

from __future__ import annotations

import hashlib
import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MyogradError
from .parameters import COMMON
from .problem import Problem

if TYPE_CHECKING:
    from .fit import Prior


def _digest(problem: Problem) -> str:
    """Of what makes two fits the same one."""
    p = problem.parameters
    digest = hashlib.sha256("|".join([*p.names, *COMMON]).encode())
    for numbers in (p.low, p.high, p.maps, p.stated_bodies, p.stated_muscle, p.stated_common):
        digest.update(numbers.tobytes())
    for data, scheme in zip(problem.data, problem.schemes, strict=True):
        digest.update(repr(scheme).encode())
        for numbers in data:
            digest.update(np.asarray(numbers).tobytes())
    return digest.hexdigest()


def save(
    path: str | os.PathLike[str] | None,
    problem: Problem,
    z: np.ndarray,
    damping: float,
    count: int,
    prior: Prior,
    history: list[tuple[float, np.ndarray]],
    hop: int = -1,
) -> None:
    """`hop`: of a search that is not done yet; -1 after it."""
    if path is None:
        return
    target = Path(path)
    temporary = target.with_name(f".{uuid.uuid4().hex}.npz")
    try:
        np.savez(
            temporary,
            digest=_digest(problem),
            z=z,
            damping=damping,
            count=count,
            hop=hop,
            center=prior.center,
            spread=np.asarray(prior.spread),
            losses=np.array([loss for loss, _ in history]),
            physical=np.array([values for _, values in history]),
        )
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def load(path: str | os.PathLike[str] | None, problem: Problem) -> dict[str, Any]:
    if path is None or not Path(path).exists():
        return {}
    try:
        with np.load(path, allow_pickle=False) as file:
            saved = dict(file)
    except (OSError, ValueError) as error:
        raise MyogradError(f"{path}: not a checkpoint of a fit: {error}") from error
    if str(saved.get("digest")) != _digest(problem):
        raise MyogradError(f"{path} is the checkpoint of another fit; remove it, or name another file")
    return saved
