"""A fit on a movement that it was not fitted to: what it leaves unexplained, as accelerations and as torques."""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np

from ..inverse.mechanics import Mechanics, mechanics
from ..recording import Recording
from . import forces
from .fit import Fit
from .fitted import varied_model
from .identifiability import null_space
from .residual import data_of, residual
from .setup import low_pass_on, rows_of


@dataclass(frozen=True, eq=False)
class Validation:
    """Errors on a movement, in the null space of the deep muscles."""

    acceleration: float
    """root mean square of what is left of the accelerations [rad/s^2]"""
    normalised: float
    """the same over the deviation of the accelerations themselves, along the same directions"""
    torque: float
    """root mean square [N m]"""
    normalised_torque: float
    """the same over the inverse-dynamics torque, along the same directions"""
    residual: np.ndarray
    """[R, k] rad/s^2"""
    time: np.ndarray
    """[R] s"""


def validate(fit: Fit, recording: Recording, known: Mechanics | None = None, z: np.ndarray | None = None) -> Validation:
    """Errors of a fit (or of another vector z) on a recording."""
    problem, p = fit.problem, fit.problem.parameters
    z = fit.z if z is None else z
    model = varied_model(problem, z)
    it = known if known and not p.also else mechanics(model, recording, p.bodies, problem.accept)
    deep = [model.muscle_names.index(name) for name in problem.identifiability.deep]
    (N,) = null_space([it], deep)
    rows = rows_of(recording, 1)
    data = data_of(model, recording, it, N, problem.identifiability.identifiable, rows)
    least = min(s.step / s.substeps for s in problem.schemes)
    scheme = problem.schemes[0]._replace(step=recording.step, substeps=int(np.ceil(recording.step / least - 1e-9)))
    one = replace(
        problem,
        driven=forces.only(model, p.muscles),
        data=(data,),
        schemes=(scheme,),
        recordings=(recording,),
        mechanics=(it,),
        free=None,
    )
    unknowns = p.unknowns(jnp.asarray(z))
    r = np.asarray(residual(*one.at(0, unknowns, one.guess(z)[0]), unknowns)[0])
    inertial = np.asarray(unknowns.inertial)
    torque_all, by_torque, mass, by_mass, _ = (x[rows] for x in it.inertial)
    needed = np.einsum("tnk,tn->tk", N[rows], torque_all + by_torque @ inertial)
    left = (mass + by_mass @ inertial) @ N[rows]
    L = np.linalg.cholesky(np.swapaxes(left, 1, 2) @ np.asarray(data.metric) @ left)
    torque = np.einsum("tij,tj->ti", L, r)  # N^T e
    moving = recording.udot[rows][:, model.constraints.free]
    moving = np.einsum("tnk,tn->tk", left, moving - moving.mean(axis=0))  # N^T Mr (x'' - its mean)
    moving = np.linalg.solve(L, moving[:, :, None])[:, :, 0]
    time, low_pass = recording.time[rows], low_pass_on(recording, rows)
    if low_pass is not None:
        r, torque, needed, moving = (low_pass(x) for x in (r, torque, needed, moving))
        time = low_pass.kept(time)
    size, wrong, whole, deviation = (float(np.sqrt(np.mean(np.sum(x**2, axis=1)))) for x in (r, torque, needed, moving))
    return Validation(size, size / deviation, wrong, wrong / whole, r, time)
