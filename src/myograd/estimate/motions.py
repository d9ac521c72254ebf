"""Speeds and accelerations of a motion that is known at samples.

OpenSim's tools differentiate motions by Woltring's splines of degree 5 without smoothing (`GCVSplineSet(5, ...)`): natural
splines, whose third and fourth derivatives vanish at both ends.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy import interpolate

from ..dynamics import constraints
from ..dynamics.kinematics import speed_to_rate
from ..errors import MyogradError
from ..model.model import Model

FEWEST = 6  # samples that a spline of degree 5 needs


def natural_spline(time: np.ndarray, values: np.ndarray, what: str = "the motion") -> interpolate.BSpline:
    """The natural quintic spline through samples [n, ...] at times [n]."""
    if len(time) < FEWEST:
        raise MyogradError(f"{what} has {len(time)} samples; at least {FEWEST} are needed to differentiate it")
    flat = np.zeros(values.shape[1:])
    ends = [(3, flat), (4, flat)]
    return interpolate.make_interp_spline(time, values, k=5, bc_type=(ends, ends))


def differentiated(
    model: Model, time: np.ndarray, q: np.ndarray, at: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates, speeds and accelerations [len(at), c] of a motion q [n, c] at its times, or at others within; coordinates that
    constraints set follow from the free ones."""
    at = time if at is None else at
    curve = natural_spline(time, q)
    values, rates, curving = (jnp.asarray(curve(at, order)) for order in (0, 1, 2))
    speeds, accelerations = _speeds(model, values, rates, curving)
    values, speeds, accelerations = obeying(model, jnp.asarray(at), values, speeds, accelerations)
    return np.asarray(values), np.asarray(speeds), np.asarray(accelerations)


@jax.jit
def _speeds(
    model: Model, q: Float[Array, "n c"], qdot: Float[Array, "n c"], qddot: Float[Array, "n c"]
) -> tuple[Float[Array, "n c"], Float[Array, "n c"]]:
    """u and udot of rates of coordinates: `qdot = N(q) u`."""
    if len(model.tree.balls) == 0:
        return qdot, qddot

    def speeds(q: Float[Array, " c"], qdot: Float[Array, " c"]) -> Float[Array, " c"]:
        return jnp.linalg.solve(speed_to_rate(model, q), qdot)

    return jax.vmap(lambda q, qdot, qddot: jax.jvp(speeds, (q, qdot), (qdot, qddot)))(q, qdot, qddot)


@jax.jit
def obeying(
    model: Model, time: Float[Array, " n"], q: Float[Array, "n c"], u: Float[Array, "n c"], udot: Float[Array, "n c"]
) -> tuple[Float[Array, "n c"], Float[Array, "n c"], Float[Array, "n c"]]:
    """A motion in which the coordinates that constraints set follow from the free ones, or from the time."""

    def of(time: Array, q: Array, u: Array, udot: Array) -> tuple[Array, Array, Array]:
        q = constraints.explicit_coordinates(model, q, time)
        u = constraints.explicit_speeds(model, q, u, time)
        return q, u, constraints.explicit_accelerations(model, q, u, udot, time)

    return jax.vmap(of)(time, q, u, udot)
