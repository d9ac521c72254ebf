"""Ten inertial parameters of a body as free numbers: valid by construction.

A body made of matter has a positive definite pseudo-inertia (Wensing, Kim, Slotine, 2018)

    P = [[second moment, m c], [m c^T, m]],     second moment = tr(I)/2 - I,

and every positive definite P is some body's (phi = m, m c, I: see `inverse.regressors`). The free numbers of a body are the
ten of the symmetric Z in `P = S Z S^T`, with S S^T the pseudo-inertia of the body that the fit starts from: linear in phi, free
of units, the identity at the start, and the body is valid where Z is positive definite. A prior that is infinite elsewhere
keeps it so (`divergence`).
"""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...errors import ModelError
from ...model.parameters import UNITS
from ..inverse.regressors import NAMES, PAIRS, inertial_parameters, stated, symmetric
from ..parameters import Number

_ABOVE = np.triu_indices(4, 1)
THINNEST = 0.05  # radius of gyration about the thinnest axis, relative to the thickest, of a body that is made valid


def pseudo_inertia(phi: Float[Array, "10"]) -> Float[Array, "4 4"]:
    inertia = symmetric(phi[4:])
    second = jnp.trace(inertia) / 2 * jnp.eye(3) - inertia
    return jnp.concatenate([jnp.concatenate([second, phi[1:4, None]], axis=1), jnp.append(phi[1:4], phi[0])[None]])


def free_matrix(z: np.ndarray) -> np.ndarray:
    """Z of ten free numbers: the diagonal, then what is above it times the square root of 2."""
    Z = np.diag(z[:4])
    Z[_ABOVE] = Z.T[_ABOVE] = z[4:] / np.sqrt(2)
    return Z


def body_map(start: np.ndarray) -> np.ndarray:
    """[10, 10] phi per free numbers, for a body that starts from `start` (`NAMES`)."""
    S = np.linalg.cholesky(np.asarray(pseudo_inertia(inertial_parameters(jnp.asarray(start)))))
    columns = []
    for unit in np.eye(10):
        P = S @ free_matrix(unit) @ S.T
        inertia = np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]
        columns.append([P[3, 3], *P[:3, 3], *(inertia[a, b] for a, b in PAIRS)])
    return np.array(columns).T


def _numbers(Z: np.ndarray) -> np.ndarray:
    """The inverse of `free_matrix`."""
    return np.concatenate([np.diag(Z), np.sqrt(2) * Z[_ABOVE]])


def divergence(z: np.ndarray) -> float:
    """How far a body is from where it started: tr Z - log det Z - 4, twice. Like |Z - 1|^2 nearby; infinite for bodies that
    cannot exist (entropic divergence: Lee, Wensing, Park, 2020)."""
    values = np.linalg.eigvalsh(free_matrix(z))
    return float(2 * np.sum(values - np.log(values) - 1)) if values[0] > 0 else np.inf


def divergence_rows(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """b and A with `divergence(z + s) = |A s + b|^2` to second order in s, up to a constant."""
    values, axes = np.linalg.eigh(free_matrix(z))
    root = axes @ np.diag(values**-0.5) @ axes.T
    A = np.array([_numbers(root @ free_matrix(unit) @ root) for unit in np.eye(10)]).T
    return _numbers(free_matrix(z) - np.eye(4)), A


def second_moment(stated: np.ndarray) -> np.ndarray:
    """[3, 3] about the mass centre, per mass [m^2]."""
    inertia = np.asarray(symmetric(jnp.asarray(stated[4:])))
    return (np.trace(inertia) / 2 * np.eye(3) - inertia) / stated[0]


def valid(stated: np.ndarray) -> np.ndarray:
    """`NAMES` of the nearest body that can exist: the same if it can."""
    values, axes = np.linalg.eigh(second_moment(stated))
    if not stated[0] > 0 or not values[-1] > 0:
        raise ModelError(
            f"a body to be identified needs mass and inertia to start from; it has {stated[0]:g} kg and {stated[4:7]} kg m^2"
        )
    least = THINNEST**2 * values[-1]
    if values[0] >= least:
        return np.asarray(stated, float)
    spread = axes @ np.diag(np.maximum(values, least)) @ axes.T
    inertia = stated[0] * (np.trace(spread) * np.eye(3) - spread)
    return np.concatenate([stated[:4], [inertia[a, b] for a, b in PAIRS]])


@dataclass(frozen=True, eq=False)
class Body:
    """The ten numbers of one body; a `parameters.Block`. The prior is about the model's own body (`divergence`)."""

    name: str
    start: np.ndarray
    """[10] `NAMES`"""
    map: np.ndarray
    """[10, 10] phi per entries of the vector"""

    @classmethod
    def like(cls, name: str, stated: np.ndarray) -> Body:
        """Starting from `NAMES` of a body, or of the nearest one that can exist."""
        start = valid(stated)
        return cls(name, start, body_map(start))

    @property
    def numbers(self) -> tuple[Number, ...]:
        units = [UNITS["mass"], *[UNITS["mass_center"]] * 3, *[UNITS["inertia"]] * 6]
        return tuple(Number(f"{self.name}.{f}", self.name, f, unit) for f, unit in zip(NAMES, units, strict=True))

    def vector(self, physical: np.ndarray) -> np.ndarray:
        return np.linalg.solve(self.map, np.asarray(inertial_parameters(jnp.asarray(valid(physical)))))

    def physical(self, z: Float[Array, "10"]) -> Float[Array, "10"]:
        return stated(jnp.asarray(self.map) @ z)

    def scales(self) -> np.ndarray:
        return np.ones(10)  # of the whole pseudo-inertia

    def prior(self, z: np.ndarray, spread: float) -> tuple[np.ndarray, np.ndarray]:
        return z, np.full(10, spread)

    def prior_rows(self, z: np.ndarray, center: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        b, A = divergence_rows(z)
        return b / spread[0], A / spread[0]

    def penalty(self, z: np.ndarray, center: np.ndarray, spread: np.ndarray) -> float:
        return divergence(z) / spread[0] ** 2

    def near_limits(self, z: np.ndarray) -> np.ndarray:
        return np.zeros(10, bool)
