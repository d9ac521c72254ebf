"""The public functions of muscle paths: lengths, speeds, moment arms.

Muscles that touch a wrapping surface at the pose get NaN: paths over surfaces are not computed yet.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..dynamics.api import coupling
from ..dynamics.entry import entry, need_constraints
from ..dynamics.kinematics import Pose, coordinate_rates, pose, speed_to_rate
from ..errors import ModelError, UnreadError
from ..model.model import Model
from .path import length_gradient, path_lengths
from .wrapping import wrapped

Vector = Float[Array, " c"]


def _need_paths(model: Model, function: str, accept: tuple[str, ...]) -> None:
    """Raise unless every muscle whose path could not be read is accepted by name."""
    missing = [model.muscle_names[m] for m in model.paths.no_path]
    open_ = [name for name in missing if name not in accept]
    if open_:
        raise UnreadError(
            f"{function} of {model.names.model!r}: the path of {', '.join(open_[:5])} is of a class that is not read. To get "
            f"the other muscles, with NaN for these, pass accept=({open_[0]!r}, ...)"
        )


def _blank(
    model: Model, at: Pose, q: Vector, rows: Float[Array, "m *rest"], reach: np.ndarray | None = None
) -> Float[Array, "m *rest"]:
    """NaN for muscles that touch a wrapping surface, and for those whose path could not be read; but not about
    coordinates that do not reach them (`reach`, [m, c]), where a moment arm of zero is known."""
    unknown = np.zeros(len(model.muscle_names), bool)
    unknown[list(model.paths.no_path)] = True
    blank = (wrapped(model, at, q) | unknown).reshape(-1, *[1] * (rows.ndim - 1))
    if reach is not None:
        blank = blank & (reach > 0)
    # A factor, not a choice: derivatives of what is not known are not known either.
    return rows * jnp.where(blank, jnp.nan, 1.0)


def _reach_along_constraints(model: Model) -> np.ndarray:
    """[m, c] `Paths.reach`, with the coordinates that move along with each."""
    fixed, reach = model.constraints, model.paths.reach
    if len(fixed.implicit_rows):
        return np.ones_like(reach)  # a loop may tie anything to anything
    drives = np.eye(reach.shape[1])  # [k, c] coordinate k moves along with c
    for k, row in zip(fixed.explicit, fixed.explicit_coupler, strict=True):  # each after those it depends on
        if row >= 0:
            drives[k] = np.maximum(drives[k], (fixed.arguments[row] @ drives) > 0)
    return (reach @ drives > 0).astype(float)


@entry
def muscle_lengths(model: Model, q: Vector, accept: tuple[str, ...] = ()) -> Float[Array, " m"]:
    """Length of every muscle-tendon path [m]."""
    _need_paths(model, "muscle_lengths", accept)
    at = pose(model, q)
    return _blank(model, at, q, path_lengths(model, at, q))


@entry
def muscle_speeds(model: Model, q: Vector, u: Vector, accept: tuple[str, ...] = ()) -> Float[Array, " m"]:
    """Lengthening speed of every path [m/s]: the length differentiated along `qdot = N u`."""
    _need_paths(model, "muscle_speeds", accept)
    return _blank(model, pose(model, q), q, _speeds(model, q, u))


def _speeds(model: Model, q: Vector, u: Vector) -> Float[Array, " m"]:
    return jax.jvp(lambda x: path_lengths(model, pose(model, x), x), (q,), (coordinate_rates(model, q, u),))[1]


@entry
def muscle_gradients(model: Model, q: Vector, accept: tuple[str, ...] = ()) -> Float[Array, "m c"]:
    """Lengthening speed of every path per unit speed, constraints not considered [m, or 1 for translations].

    The generalised forces of tensions s are `-muscle_gradients.T @ s`.
    """
    _need_paths(model, "muscle_gradients", accept)
    at = pose(model, q)
    return _blank(model, at, q, length_gradient(model, at, q), model.paths.reach)


@entry
def moment_arms(model: Model, q: Vector, method: str = "force", accept: tuple[str, ...] = ()) -> Float[Array, "m c"]:
    """Moment arm of every muscle about every coordinate: r = -dL/dtheta with the constraints kept (Sherman, Seth, Delp).

    Coordinates coupled to theta move along (`coupling_matrix`), other independent ones are held. Positive when tension
    produces a positive generalised force. NaN for dependent, locked and prescribed coordinates, about which there is no
    moment arm. [m] for angles, dimensionless for translations.

    `method`: `force` (unit tension to generalised force, Eq. 18; the fast one), `length` (derivative of the path length,
    Eq. 15) or `velocity` (lengthening speed at unit rate, Eq. 11). They agree to rounding.
    """
    need_constraints(model, "moment_arms", accept)
    _need_paths(model, "moment_arms", accept)
    at = pose(model, q)
    C = coupling(model, q)
    free = model.constraints.free
    open_C = C[:, free]
    if method == "force":
        arms = -length_gradient(model, at, q) @ open_C
    elif method == "length":
        by_coordinate = jax.jacfwd(lambda x: path_lengths(model, pose(model, x), x))(q)
        arms = -by_coordinate @ speed_to_rate(model, q) @ open_C
    elif method == "velocity":
        arms = -jax.vmap(lambda u: _speeds(model, q, u), in_axes=1, out_axes=1)(open_C)
    else:
        raise ModelError(f"moment_arms: method is 'force', 'length' or 'velocity', not {method!r}")
    known = _blank(model, at, q, arms, _reach_along_constraints(model)[:, free])
    return jnp.full((len(model.muscle_names), C.shape[0]), jnp.nan).at[:, free].set(known)
