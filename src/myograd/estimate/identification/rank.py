"""What a recording can tell: directions that no deep muscle reaches, muscles that act along them, base inertial parameters.

Deep muscles may pull with any force, so they can supply the columns of `C^T J_d^T` and nothing else. Along the directions N that
are perpendicular to all of these, the other muscles have to supply what the motion needs (paper 000, III-D). A muscle whose
arms have no part along N is not seen by the residual, and cannot be identified; the arms of dependent coordinates count too
(they are in C), which the paper's footnote 1 leaves out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ...errors import MyogradError, nearest
from ...model.model import Model
from ..inverse.mechanics import Mechanics
from .inertia import NAMES

CUT = 1e-8  # singular values of arms below this part of the largest are zero
SEEN = 1e-6  # part of a muscle's arms along N, above which it is seen
SAME = 1e-9  # of the largest singular value: regressor columns closer to dependence are dependent


def unreached(mechanics: Sequence[Mechanics], deep: Sequence[int]) -> list[np.ndarray]:
    """[T, n, k] of each recording: orthonormal directions of generalised force that deep muscles do not reach.

    Their number k is the same for all samples: where arms become dependent for a moment, the direction that this would add is
    left out.
    """
    found = []
    for it in mechanics:
        arms = np.swapaxes(it.arms[:, list(deep)], 1, 2)  # [T, n, deep]
        if len(deep) == 0:
            found.append(np.broadcast_to(np.eye(arms.shape[1]), (len(arms), arms.shape[1], arms.shape[1])))
            continue
        U, s, _ = np.linalg.svd(arms, full_matrices=True)
        found.append((U, s))
    if len(deep) == 0:
        return found
    rank = max(int((s > CUT * s.max()).sum(axis=1).max()) for _, s in found)
    return [_continuous(U[:, :, rank:]) for U, _ in found]


def _continuous(N: np.ndarray) -> np.ndarray:
    """The same directions, each sample's turned to be nearest to those of the sample before: a singular value decomposition
    takes any sign, and any rotation of several."""
    N = N.copy()
    for t in range(1, len(N)):
        U, _, Vt = np.linalg.svd(N[t].T @ N[t - 1])
        N[t] = N[t] @ (U @ Vt)
    return N


def leverage(mechanics: Sequence[Mechanics], free: Sequence[np.ndarray]) -> np.ndarray:
    """[m] how much of each muscle's arms (root mean square) lies along the unreached directions, from 0 to 1."""
    seen = sum(
        np.sum(np.einsum("tmn,tnk->tmk", it.arms, N) ** 2, axis=(0, 2)) for it, N in zip(mechanics, free, strict=True)
    )
    whole = sum(np.sum(it.arms**2, axis=(0, 2)) for it in mechanics)
    return np.sqrt(seen / np.where(whole > 0, whole, 1.0))


@dataclass(frozen=True)
class Seen:
    """Which muscles the residual sees, before any fit."""

    identifiable: tuple[str, ...]
    """superficial muscles that are seen"""
    hidden: tuple[str, ...]
    """superficial muscles that deep ones can always make up for"""
    deep: tuple[str, ...]
    equations: int
    """per sample"""
    coordinates: int
    """free directions of motion"""

    def text(self) -> str:
        """In words."""
        lines = [
            f"{self.coordinates} directions of motion; the {len(self.deep)} deep muscles can supply any force along "
            f"{self.coordinates - self.equations} of them, which leaves {self.equations} equation(s) per sample."
        ]
        lines.append(f"Identifiable: {', '.join(self.identifiable)}.")
        if self.hidden:
            lines.append(
                f"Not identifiable, because deep muscles can make up for whatever they do: {', '.join(self.hidden)}."
            )
        return "\n".join(lines)


def check_names(model: Model, deep: Sequence[str], channels: Sequence[str]) -> None:
    """Raise unless each muscle of the model is deep, or has EMG."""
    for name in deep:
        if name not in model.muscle_names:
            raise MyogradError(f"deep muscle {name!r} is not in the model{nearest(name, model.muscle_names)}")
    missing = [name for name in model.muscle_names if name not in deep and name not in channels]
    if missing:
        raise MyogradError(
            f"there is no EMG of {', '.join(missing)}, and {'it is' if len(missing) == 1 else 'they are'} not declared deep. "
            f"Record it, or declare it deep: --deep {','.join([*deep, *missing])}"
        )


def seen_muscles(model: Model, mechanics: Sequence[Mechanics], deep: Sequence[str]) -> tuple[Seen, list[np.ndarray]]:
    """What is seen with these muscles deep and EMG of all others; and the unreached directions."""
    free = unreached(mechanics, [model.muscle_names.index(name) for name in deep])
    k, n = free[0].shape[2], free[0].shape[1]
    if k == 0:
        raise MyogradError(
            f"the {len(deep)} deep muscles ({', '.join(deep)}) together can supply every torque of the {n} directions of motion: "
            "any parameters would fit. Record the EMG of some of them"
        )
    part = dict(zip(model.muscle_names, leverage(mechanics, free), strict=True))
    superficial = [name for name in model.muscle_names if name not in deep]
    identifiable = tuple(name for name in superficial if part[name] > SEEN)
    hidden = tuple(name for name in superficial if part[name] <= SEEN)
    return Seen(identifiable, hidden, tuple(deep), k, n), free


# Inertia -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Combinations of inertial parameters that the motion determines: `values = combine @ moments`."""

    names: tuple[str, ...]
    combine: np.ndarray
    """[base, 10 b]"""
    singular: np.ndarray
    """singular values of the regressor, relative to the largest"""


def base_parameters(
    mechanics: Sequence[Mechanics], free: Sequence[np.ndarray], bodies: Sequence[str]
) -> BaseParameters:
    """By QR with pivoting of the regressor along the unreached directions: independent columns stay, each with what it takes
    over from the others (Gautier, 1991)."""
    rows = [
        np.einsum("tnk,tnp->tkp", N, it.need_per).reshape(-1, it.need_per.shape[2])
        for it, N in zip(mechanics, free, strict=True)
    ]
    Y = np.concatenate(rows)
    size = np.linalg.norm(Y, axis=0)
    size = np.where(size > SAME * size.max(), size, np.inf)  # columns of no effect stay out
    factors = linalg.qr(Y / size, mode="r", pivoting=True)
    R, order = np.asarray(factors[0])[: Y.shape[1]], np.asarray(factors[-1])
    singular = np.linalg.svd(R, compute_uv=False)
    rank = int((singular > SAME * singular[0]).sum())
    kept, rest = order[:rank], order[rank:]
    combine = np.zeros((rank, Y.shape[1]))
    combine[np.arange(rank), kept] = 1.0
    taken = linalg.solve_triangular(R[:rank, :rank], R[:rank, rank:])
    with np.errstate(invalid="ignore"):
        taken = taken * np.where(np.isfinite(size[rest]), size[rest], 0.0) / size[kept][:, None]
    combine[:, rest] = np.where(np.abs(taken) > 1e-7 * np.abs(taken).max(initial=1e-300), taken, 0.0)
    sequence = np.argsort(kept)
    labels = [f"{body} {name}" for body in bodies for name in ("m", "mcx", "mcy", "mcz", *NAMES[4:])]
    names = tuple(
        labels[i] + ("*" if np.count_nonzero(combine[j]) > 1 else "")
        for j, i in zip(sequence, kept[sequence], strict=True)
    )
    return BaseParameters(names, combine[sequence], singular / singular[0])
