"""Files in which a fit keeps where it is, so that it can go on after an interruption."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import MyogradError
from ...files.atomic import write_bytes
from ..parameters import Prior
from .problem import Problem


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """Where a fit is."""

    z: np.ndarray
    prior: Prior
    damping: float = 1e-3
    count: int = 0
    """iterations"""
    history: Sequence[tuple[float, np.ndarray]] = ()
    hop: int | None = None
    """of a search that is not done yet; None after it"""


def save(path: str | os.PathLike[str] | None, problem: Problem, it: Checkpoint) -> None:
    """Into a file, if one is named."""
    if path is None:
        return
    file = io.BytesIO()
    np.savez(
        file,
        digest=problem.digest,
        z=it.z,
        damping=it.damping,
        count=it.count,
        hop=-1 if it.hop is None else it.hop,
        center=it.prior.center,
        spread=it.prior.spread,
        losses=np.array([loss for loss, _ in it.history]),
        physical=np.array([values for _, values in it.history]),
    )
    write_bytes(path, [file.getvalue()])


def load(path: str | os.PathLike[str] | None, problem: Problem) -> Checkpoint | None:
    """From a file, if there is one."""
    if path is None or not Path(path).exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            it = dict(file)
    except (OSError, ValueError) as error:
        raise MyogradError(f"{path}: not a checkpoint of a fit: {error}") from error
    if str(it.get("digest")) != problem.digest:
        raise MyogradError(f"{path} is the checkpoint of another fit; remove it, or name another file")
    return Checkpoint(
        it["z"],
        Prior(it["center"], it["spread"]),
        float(it["damping"]),
        int(it["count"]),
        list(zip(it["losses"].tolist(), it["physical"], strict=True)),
        None if it["hop"] < 0 else int(it["hop"]),
    )
