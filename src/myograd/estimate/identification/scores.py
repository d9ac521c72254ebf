"""How far identified numbers are from known true ones: the paper's criteria (Eqs. 22-23), and per group."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from ..inverse.regressors import inertial_parameters
from .identifiability import BaseParameters
from .parameters import Parameters


@dataclass(frozen=True)
class Scores:
    """In percent."""

    cr1: float
    """|found - true| / |true| (Eq. 22)"""
    cr2: float
    """mean of relative errors (Eq. 23), numbers whose true value is zero left out"""
    cr2_muscle: float
    """the same of muscles and activation only"""
    base: float
    """the same of base inertial parameters"""
    well: float
    """median of the numbers that are well determined"""
    well_worst: float
    well_count: int


def scores(p: Parameters, base: BaseParameters, found: np.ndarray, true: np.ndarray, well: np.ndarray) -> Scores:
    """`well`: [parameters] bool, which numbers are well determined."""
    known = np.abs(true) > 0
    error = 100 * np.abs(found - true) / np.where(known, np.abs(true), np.inf)
    count = p.of_bodies
    of_base = np.zeros(0)
    if count:
        values = [base.combine @ inertial_parameters_of(p, x) for x in (found, true)]
        of_base = 100 * np.abs(values[0] - values[1]) / np.abs(values[1])
    good = error[well & known]
    return Scores(
        float(100 * np.linalg.norm(found - true) / np.linalg.norm(true)),
        float(error[known].mean()),
        float(error[count:][known[count:]].mean()) if known[count:].any() else 0.0,
        float(of_base.mean()) if count else 0.0,
        float(np.median(good)) if len(good) else float("nan"),
        float(good.max()) if len(good) else float("nan"),
        int((well & known).sum()),
    )


def inertial_parameters_of(p: Parameters, physical: np.ndarray) -> np.ndarray:
    """Inertial parameters (`regressors.PHI`) of all bodies, one after the other."""
    return np.asarray(jax.vmap(inertial_parameters)(jnp.asarray(physical[: p.of_bodies].reshape(-1, 10)))).ravel()
