"""The constraints of a model: their equations, the motions they allow, and poses and speeds that satisfy them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..errors import ModelError
from ..model.model import Model
from . import constraints as equations
from .entry import entry, need_constraints
from .guard import raise_where
from .kinematics import motion, pose

Vector = Float[Array, " c"]


@entry
def constraint_jacobian(model: Model, q: Vector, accept: tuple[str, ...] = ()) -> Float[Array, "rows c"]:
    """G, one row per constraint equation (names: `model.constraints.row_names`)."""
    need_constraints(model, "constraint_jacobian", accept)
    return equations.jacobian_rows(model, pose(model, q), q)


@entry
def constraint_bias(
    model: Model, q: Vector, u: Vector, time: float | Float[Array, ""] = 0.0, accept: tuple[str, ...] = ()
) -> Float[Array, " rows"]:
    """bias with `G udot + bias = 0`, in the second derivative of each row's unit."""
    need_constraints(model, "constraint_bias", accept)
    at = pose(model, q)
    return equations.bias_rows(model, at, motion(model, q, u, at), q, u, time)


@entry
def constraint_errors(
    model: Model, q: Vector, time: float | Float[Array, ""] = 0.0, accept: tuple[str, ...] = ()
) -> Float[Array, " rows"]:
    """How far each constraint is from being satisfied [m, rad]; rows as in `constraint_jacobian`."""
    need_constraints(model, "constraint_errors", accept)
    return equations.constraint_errors(model, pose(model, q), q, time)


@entry
def coupling_matrix(model: Model, q: Vector, accept: tuple[str, ...] = ()) -> Float[Array, "c c"]:
    """C(q): column i holds all speeds when coordinate i's speed is 1 and other independent ones are zero (Eq. 13 of
    Sherman, Seth, Delp). Columns of dependent, locked and prescribed coordinates are NaN: they cannot be chosen.

    Where constraints tie independent coordinates (closed loops), the others move as little as they can, in the sense of
    least squares over the independent ones.
    """
    need_constraints(model, "coupling_matrix", accept)
    return coupling(model, q)


def coupling(model: Model, q: Vector) -> Float[Array, "c c"]:
    fixed, c = model.constraints, len(model.coordinate_names)
    C = equations.rates_per_free(model, q)
    if len(fixed.implicit_rows):
        G = equations.jacobian_rows(model, pose(model, q), q)[fixed.implicit_rows] @ C
        allowed = jnp.eye(len(fixed.free)) - jnp.linalg.pinv(G, rtol=1e-10) @ G  # projector on what G leaves free
        own = jnp.diagonal(allowed)
        # A coordinate that the constraints do not let move has no unit-rate motion: its column is undefined.
        given = np.isin(fixed.free, fixed.not_independent)  # by constraints that could not be eliminated
        movable = (own > 1e-9) & ~given
        C = C @ (allowed / jnp.where(movable, own, 1.0)) * jnp.where(movable, 1.0, jnp.nan)
    return jnp.full((c, c), jnp.nan).at[:, fixed.free].set(C)


_ASSEMBLY_STEPS = 30


@entry
def assemble(model: Model, q: Vector, time: float | Float[Array, ""] = 0.0, accept: tuple[str, ...] = ()) -> Vector:
    """A pose [rad, m] near q that satisfies the constraints.

    Coupled, locked and prescribed coordinates are set; closed loops are closed by Gauss-Newton steps of least change in
    the free coordinates. Raises if the loops cannot be closed from q.
    """
    need_constraints(model, "assemble", accept)
    fixed = model.constraints
    q = equations.explicit_coordinates(model, q, time)
    if len(fixed.implicit_rows) == 0:
        return q

    def error(x: Vector) -> Float[Array, " implicit"]:
        full = equations.explicit_coordinates(model, q.at[fixed.free].set(x), time)
        return equations.constraint_errors(model, pose(model, full), full, time)[fixed.implicit_rows]

    def step(_: Any, x: Vector) -> Vector:
        change = jnp.linalg.pinv(jax.jacfwd(error)(x), rtol=1e-9) @ error(x)
        size = jnp.max(jnp.abs(change), initial=0.0)
        return x - change * jnp.minimum(1.0, 0.5 / jnp.where(size > 0, size, 1.0))

    x = jax.lax.fori_loop(0, _ASSEMBLY_STEPS, step, q[fixed.free])
    left = error(x)
    names = [model.constraints.row_names[i] for i in fixed.implicit_rows]
    x = _unless_open(q, x, left, names)
    found = equations.explicit_coordinates(model, q.at[fixed.free].set(x), time)
    return _unless_flipped(model, found)


def _unless_open(
    start: Vector, x: Float[Array, " free"], left: Float[Array, " rows"], names: list[str]
) -> Float[Array, " free"]:
    def explain(errors: np.ndarray) -> ModelError:
        worst = int(np.argmax(np.abs(errors[0])))
        return ModelError(
            f"the model cannot be assembled from this pose: {names[worst]} is still off by {abs(errors[0][worst]):.2g} "
            f"after {_ASSEMBLY_STEPS} steps; start from a pose nearer to one that satisfies the constraints"
        )

    # Steps that lead to NaN have failed, too; a start that is NaN is the caller's to see.
    failed = ~(jnp.max(jnp.abs(left)) <= 1e-9) & jnp.all(jnp.isfinite(start))
    return raise_where(failed, x, left[None], explain)


def _unless_flipped(model: Model, q: Vector) -> Vector:
    """Raise if a weld is satisfied the wrong way round: its three equations also hold after half a turn."""
    fixed = model.constraints
    if len(fixed.welds) == 0:
        return q
    along = equations.weld_alignment(model, pose(model, q))
    names = [name.rsplit(" (", 1)[0] for name in fixed.row_names if name.endswith("(weld, x)")]

    def explain(values: np.ndarray) -> ModelError:
        return ModelError(
            f"the model cannot be assembled from this pose: {names[int(np.argmin(values[0]))]} closes the wrong way round, "
            "half a turn off; start from a pose nearer to the right one"
        )

    return raise_where(jnp.min(along) < 0, q, along[None], explain)


@entry
def project_speeds(
    model: Model, q: Vector, u: Vector, time: float | Float[Array, ""] = 0.0, accept: tuple[str, ...] = ()
) -> Vector:
    """Speeds [rad/s, m/s] near u that satisfy the velocity constraints: coupled ones set, loops closed by least change."""
    need_constraints(model, "project_speeds", accept)
    fixed = model.constraints
    u = equations.explicit_speeds(model, q, u, time)
    if len(fixed.implicit_rows) == 0:
        return u
    at = pose(model, q)
    C = equations.rates_per_free(model, q)
    G = equations.jacobian_rows(model, at, q)[fixed.implicit_rows] @ C
    left = equations.speed_errors(model, at, q, u, time)[fixed.implicit_rows]
    given = jnp.all(jnp.isfinite(q)) & jnp.all(jnp.isfinite(u))
    u = u - C @ (jnp.linalg.pinv(G, rtol=1e-10) @ left)
    rest = equations.speed_errors(model, at, q, u, time)[fixed.implicit_rows]
    names = [fixed.row_names[i] for i in fixed.implicit_rows]

    def explain(errors: np.ndarray) -> ModelError:
        worst = int(np.argmax(np.abs(errors[0])))
        return ModelError(
            f"no speeds satisfy the constraints at this pose: {names[worst]} is off by {errors[0][worst]:.2g}"
        )

    failed = ~(jnp.max(jnp.abs(rest)) <= 1e-9 * (1 + jnp.max(jnp.abs(u)))) & given
    return raise_where(failed, u, rest[None], explain)
