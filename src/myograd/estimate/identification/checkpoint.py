"""Files in which a fit keeps where it is, so that it can go on after an interruption."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import MyogradError
from ...files.atomic import write_bytes
from .problem import Problem

if TYPE_CHECKING:
    from .fit import Prior


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
    file = io.BytesIO()
    np.savez(
        file,
        digest=problem.digest,
        z=z,
        damping=damping,
        count=count,
        hop=hop,
        center=prior.center,
        spread=np.asarray(prior.spread),
        losses=np.array([loss for loss, _ in history]),
        physical=np.array([values for _, values in history]),
    )
    write_bytes(path, [file.getvalue()])


def load(path: str | os.PathLike[str] | None, problem: Problem) -> dict[str, Any]:
    if path is None or not Path(path).exists():
        return {}
    try:
        with np.load(path, allow_pickle=False) as file:
            saved = dict(file)
    except (OSError, ValueError) as error:
        raise MyogradError(f"{path}: not a checkpoint of a fit: {error}") from error
    if str(saved.get("digest")) != problem.digest:
        raise MyogradError(f"{path} is the checkpoint of another fit; remove it, or name another file")
    return saved
