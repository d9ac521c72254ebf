"""A fit on a movement that it has not seen: what it leaves unexplained, as accelerations and as torques."""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np

from ..inverse.mechanics import Mechanics, mechanics
from .fit import Fit
from .problem import low_pass_on, rows_of
from .rank import unreached
from .recording import Recording
from .residual import data_of, residual


@dataclass(frozen=True, eq=False)
class Validation:
    """Errors on a movement, along the directions that deep muscles do not reach."""

    acceleration: float
    """root mean square of what is left of the accelerations [rad/s^2]"""
    normalised: float
    """the same over the deviation of the accelerations themselves, along the same directions"""
    torque: float
    """root mean square [N m]"""
    normalised_torque: float
    """the same over the torque that the motion needs along these directions"""
    residual: np.ndarray
    """[R, k] rad/s^2"""
    time: np.ndarray
    """[R] s"""


def validate(fit: Fit, recording: Recording, known: Mechanics | None = None, z: np.ndarray | None = None) -> Validation:
    """Errors of a fit (or of another vector z) on a recording."""
    problem = fit.problem
    model, p = problem.model, problem.parameters
    it = known or mechanics(model, recording, p.bodies)
    deep = [model.muscle_names.index(name) for name in problem.seen.deep]
    (free,) = unreached([it], deep)
    rows = rows_of(recording, 1)
    data = data_of(model, recording, it, free, problem.seen.identifiable, rows)
    least = min(s.step / s.substeps for s in problem.schemes)
    scheme = problem.schemes[0]._replace(step=recording.step, substeps=int(np.ceil(recording.step / least - 1e-9)))
    z = fit.z if z is None else z
    one = replace(problem, data=(data,), schemes=(scheme,), recordings=(recording,), mechanics=(it,))
    unknowns = p.unknowns(jnp.asarray(z))
    data = one._from(one.guess(z))[0]
    r = np.asarray(residual(one.driven, scheme, data, unknowns)[0])
    moments = np.asarray(p.moments(jnp.asarray(z)))
    need = np.einsum("tnk,tn->tk", free[rows], it.need[rows] + it.need_per[rows] @ moments)
    left = (it.mass[rows] + it.mass_per[rows] @ moments) @ free[rows]
    L = np.linalg.cholesky(np.swapaxes(left, 1, 2) @ np.asarray(data.metric) @ left)
    torque = np.einsum("tij,tj->ti", L, r)  # N^T e
    moving = recording.udot[rows][:, model.constraints.free]
    moving = np.einsum("tnk,tn->tk", left, moving - moving.mean(axis=0))  # N^T Mr (x'' - its mean)
    moving = np.linalg.solve(L, moving[:, :, None])[:, :, 0]
    time, low_pass = recording.time[rows], low_pass_on(recording, rows)
    if low_pass is not None:
        r, torque, need, moving = (low_pass(x) for x in (r, torque, need, moving))
        time = low_pass.kept(time)
    size, wrong, needed, deviation = (float(np.sqrt(np.mean(np.sum(x**2, axis=1)))) for x in (r, torque, need, moving))
    return Validation(size, size / deviation, wrong, wrong / needed, r, time)
