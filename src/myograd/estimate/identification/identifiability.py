"""What a recording can tell: the null space of the deep muscles, muscles that act in it, base inertial parameters.

Deep muscles may pull with any force, so they can supply the columns of `C^T J_d^T` and nothing else. In the null space N of
`J_d C`, the directions that are perpendicular to all of these, the other muscles have to supply the inverse-dynamics torque
(paper 000, III-D). A muscle whose arms have no part along N does not show in the residual, and cannot be identified; the arms of
dependent coordinates count too (they are in C), which the paper's footnote 1 leaves out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float
from scipy import linalg

from ...errors import MyogradError, nearest
from ...model.model import Model
from ..inverse.mechanics import Mechanics
from ..inverse.regressors import PHI

CUT = 1e-8  # singular values of arms below this part of the largest are zero
LEAST = 1e-6  # part of a muscle's arms along N, above which it can be identified
SAME = 1e-9  # of the largest singular value: regressor columns closer to dependence are dependent


def null_space(mechanics: Sequence[Mechanics], deep: Sequence[int]) -> list[np.ndarray]:
    """[T, n, k] of each recording: orthonormal directions of generalised force that deep muscles cannot supply.

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


def moved_null_space(arms: Float[Array, "n deep"], near: Float[Array, "n k"]) -> Float[Array, "n k"]:
    """The null space of other arms, as many directions, nearest to those of `near`; they need not be orthonormal. Differentiable
    by the arms, where their rank stays n - k."""
    return _beyond(arms, lax.stop_gradient(near))


@jax.custom_jvp
def _beyond(arms: Float[Array, "n deep"], near: Float[Array, "n k"]) -> Float[Array, "n k"]:
    """What of `near` is perpendicular to the arms. The singular value decomposition itself is not differentiated."""
    U, _ = _span(arms, near)
    return near - U @ (U.T @ near)


@_beyond.defjvp
def _beyond_jvp(primals: Any, tangents: Any) -> tuple[Array, Array]:
    """Golub and Pereyra, The differentiation of pseudo-inverses and nonlinear least squares problems, SIAM J. Numer. Anal. 10,
    1973: with P the projection onto the columns of A, `dP = (I - P) dA A^+ + ((I - P) dA A^+)^T`."""
    (arms, near), (change, _) = primals, tangents
    U, inverse = _span(arms, near)
    half = (change - U @ (U.T @ change)) @ inverse
    return near - U @ (U.T @ near), -(half + half.T) @ near


def _span(arms: Float[Array, "n deep"], near: Float[Array, "n k"]) -> tuple[Array, Array]:
    """Orthonormal directions that the arms span [n, n - k], and the arms' pseudoinverse [deep, n]."""
    rank = near.shape[0] - near.shape[1]
    U, s, Vt = jnp.linalg.svd(arms, full_matrices=False)
    U, s, Vt = U[:, :rank], s[:rank], Vt[:rank]
    inverse = jnp.where(s > CUT * s[:1], 1 / jnp.where(s > 0, s, 1.0), 0.0)
    return U, (Vt.T * inverse) @ U.T


def leverage(mechanics: Sequence[Mechanics], null_spaces: Sequence[np.ndarray]) -> np.ndarray:
    """[m] how much of each muscle's arms (root mean square) lies in the null space, from 0 to 1."""
    inside = sum(
        np.sum(np.einsum("tmn,tnk->tmk", it.arms, N) ** 2, axis=(0, 2))
        for it, N in zip(mechanics, null_spaces, strict=True)
    )
    whole = sum(np.sum(it.arms**2, axis=(0, 2)) for it in mechanics)
    return np.sqrt(inside / np.where(whole > 0, whole, 1.0))


@dataclass(frozen=True)
class Identifiability:
    """Which muscles show in the residual, before any fit."""

    identifiable: tuple[str, ...]
    """superficial muscles that do"""
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


def identifiability(
    model: Model, mechanics: Sequence[Mechanics], deep: Sequence[str]
) -> tuple[Identifiability, list[np.ndarray]]:
    """What can be told with these muscles deep and EMG of all others; and the null spaces."""
    null_spaces = null_space(mechanics, [model.muscle_names.index(name) for name in deep])
    k, n = null_spaces[0].shape[2], null_spaces[0].shape[1]
    if k == 0:
        raise MyogradError(
            f"the {len(deep)} deep muscles ({', '.join(deep)}) together can supply every torque of the {n} directions of motion: "
            "any parameters would fit. Record the EMG of some of them"
        )
    part = dict(zip(model.muscle_names, leverage(mechanics, null_spaces), strict=True))
    superficial = [name for name in model.muscle_names if name not in deep]
    identifiable = tuple(name for name in superficial if part[name] > LEAST)
    hidden = tuple(name for name in superficial if part[name] <= LEAST)
    if not identifiable:
        raise MyogradError(_nothing(model, mechanics, deep, hidden))
    return Identifiability(identifiable, hidden, tuple(deep), k, n), null_spaces


def _nothing(model: Model, mechanics: Sequence[Mechanics], deep: Sequence[str], hidden: Sequence[str]) -> str:
    """Why no muscle can be identified, and what would change it. Where no deep muscle acts on a direction of motion, its
    equation has no unknown forces; so the direction is named on which the fewest act."""
    acting = sum(np.sum(it.arms**2, axis=0) for it in mechanics)  # [m, n]
    acting = acting > LEAST**2 * np.max(acting, initial=0.0)
    which = [model.muscle_names.index(name) for name in deep]
    free = [model.coordinate_names[i] for i in model.constraints.free]
    directions = free if len(free) == acting.shape[1] else [f"direction {j}" for j in range(1, acting.shape[1] + 1)]
    missing = {
        name: [model.muscle_names[m] for m in which if acting[m, j]]
        for j, name in enumerate(directions)
        if acting[:, j].any()
    }
    if not missing:
        return "no muscle acts on any direction of motion of this model, so none can be identified"
    nearest_to = min(missing, key=lambda name: len(missing[name]))
    return (
        f"none of the {len(hidden)} muscles with EMG ({', '.join(hidden)}) can be identified: the {len(deep)} muscles without "
        f"EMG act on {', '.join(missing)} in so many ways that they could make up for whatever the others do. Record more EMG: "
        f"of all muscles that act on one joint. At {nearest_to} the EMG of {', '.join(missing[nearest_to])} is missing"
    )


# Inertia -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Combinations of inertial parameters that the motion determines: `values = combine @ inertial parameters`."""

    names: tuple[str, ...]
    combine: np.ndarray
    """[base, 10 b]"""
    singular: np.ndarray
    """singular values of the regressor, relative to the largest"""


def base_parameters(
    mechanics: Sequence[Mechanics], null_spaces: Sequence[np.ndarray], bodies: Sequence[str]
) -> BaseParameters:
    """By QR with pivoting of the regressor in the null space: independent columns stay, each with what it takes over from the
    others (Gautier, 1991)."""
    if not bodies:
        return BaseParameters((), np.zeros((0, 0)), np.zeros(0))
    rows = []
    for it, N in zip(mechanics, null_spaces, strict=True):
        Y = it.inertial.torque_regressor
        rows.append(np.einsum("tnk,tnp->tkp", N, Y).reshape(-1, Y.shape[2]))
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
    labels = [f"{body}.{name}" for body in bodies for name in PHI]
    names = tuple(
        labels[i] + ("*" if np.count_nonzero(combine[j]) > 1 else "")
        for j, i in zip(sequence, kept[sequence], strict=True)
    )
    return BaseParameters(names, combine[sequence], singular / singular[0])
