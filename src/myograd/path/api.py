"""The public functions of muscle paths: lengths, speeds, moment arms."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..dynamics.assembly import coupling
from ..dynamics.entry import entry, need_constraints
from ..dynamics.kinematics import coordinate_rates, pose, speed_to_rate
from ..errors import ModelError, UnsupportedError
from ..model.model import Model
from .length import length_gradient, path_lengths
from .polyline import polyline

Vector = Float[Array, " c"]


def need_paths(model: Model, function: str, accept: tuple[str, ...]) -> None:
    """Raise unless every muscle whose path could not be read is accepted by name."""
    missing = [model.muscle_names[m] for m in model.paths.no_path]
    open_ = [name for name in missing if name not in accept]
    if open_:
        raise UnsupportedError(
            f"{function} of {model.name!r}: the path of {', '.join(open_)} is of an unsupported class; left out, it gives NaN",
            open_,
        )


def muscle_rows(model: Model, rows: Float[Array, "paths *rest"]) -> Float[Array, "m *rest"]:
    """The rows of muscles, without those of other paths; NaN for muscles whose path could not be read."""
    rows = rows[: len(model.muscle_names)]
    unknown = np.ones((len(model.muscle_names), *[1] * (rows.ndim - 1)))
    unknown[list(model.paths.no_path)] = np.nan
    return rows * unknown


@entry
def muscle_lengths(model: Model, q: Vector, accept: tuple[str, ...] = ()) -> Float[Array, " m"]:
    """Length of every muscle-tendon path [m]."""
    need_paths(model, "muscle_lengths", accept)
    return muscle_rows(model, path_lengths(model, pose(model, q), q))


@entry
def path_points(model: Model, q: Vector, arc_points: int = 9, accept: tuple[str, ...] = ()) -> Float[Array, "m n 3"]:
    """Every path in ground as a polyline [m]: its points, and `arc_points` on each arc over a surface, ends included.

    The number n is the same at every pose and for all muscles: points that are not on the path now, or that a muscle does not
    have, repeat its last one.
    """
    need_paths(model, "path_points", accept)
    if not isinstance(arc_points, int) or arc_points < 2:
        raise ModelError(f"path_points: an arc has at least 2 points, a whole number, not {arc_points}")
    return polyline(model, pose(model, q), q, arc_points)


@entry
def muscle_speeds(model: Model, q: Vector, u: Vector, accept: tuple[str, ...] = ()) -> Float[Array, " m"]:
    """Lengthening speed of every path [m/s]: the length differentiated along `qdot = N u`."""
    need_paths(model, "muscle_speeds", accept)
    return muscle_rows(model, _speeds(model, q, u))


def _speeds(model: Model, q: Vector, u: Vector) -> Float[Array, " m"]:
    return jax.jvp(lambda x: path_lengths(model, pose(model, x), x), (q,), (coordinate_rates(model, q, u),))[1]


@entry
def muscle_gradients(model: Model, q: Vector, accept: tuple[str, ...] = ()) -> Float[Array, "m c"]:
    """Lengthening speed of every path per unit speed, constraints not considered [m, or 1 for translations].

    The generalised forces of tensions s are `-muscle_gradients.T @ s`.
    """
    need_paths(model, "muscle_gradients", accept)
    return muscle_rows(model, length_gradient(model, pose(model, q), q))


@entry
def moment_arms(model: Model, q: Vector, method: str = "force", accept: tuple[str, ...] = ()) -> Float[Array, "m c"]:
    """Moment arm of every muscle about every coordinate: r = -dL/dtheta with the constraints kept (Sherman, Seth, Delp).

    Coordinates coupled to theta move along (`coupling_matrix`), other independent ones are held fixed. Positive when tension
    produces a positive generalised force. NaN for dependent, locked and prescribed coordinates, about which there is no
    moment arm. [m] for angles, dimensionless for translations.

    `method`: `force` (unit tension to generalised force, Eq. 18; the fast one), `length` (derivative of the path length,
    Eq. 15) or `velocity` (lengthening speed at unit rate, Eq. 11). They agree to rounding.
    """
    need_constraints(model, "moment_arms", accept)
    need_paths(model, "moment_arms", accept)
    C = coupling(model, q)
    free = model.constraints.free
    open_C = C[:, free]
    if method == "force":
        arms = -length_gradient(model, pose(model, q), q) @ open_C
    elif method == "length":
        by_coordinate = jax.jacfwd(lambda x: path_lengths(model, pose(model, x), x))(q)
        arms = -by_coordinate @ speed_to_rate(model, q) @ open_C
    elif method == "velocity":
        arms = -jax.vmap(lambda u: _speeds(model, q, u), in_axes=1, out_axes=1)(open_C)
    else:
        raise ModelError(f"moment_arms: method is 'force', 'length' or 'velocity', not {method!r}")
    return jnp.full((len(model.muscle_names), C.shape[0]), jnp.nan).at[:, free].set(muscle_rows(model, arms))
