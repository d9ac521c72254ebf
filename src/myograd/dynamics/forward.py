"""Forward dynamics: accelerations from forces, with constraints held by multipliers or eliminated.

    M udot + b + G^T lambda = tau,   G udot + bias = 0                                                (multipliers)
    C^T M C udot_free = C^T (tau - b - M k),   udot = C udot_free + k                                 (elimination)
with C the rates of all coordinates per rate of the free ones, and k the accelerations of the others while the free
ones have none.
Both solve positive definite systems by Cholesky factors; a pivot that vanishes means that M, or the set of
constraints, is singular at this pose, and raises an error that names who is to blame.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from ..errors import ModelError
from ..geometry.spatial import settled
from ..model.model import Model
from .constraints import bias_rows, elimination, explicit_accelerations, jacobian_rows
from .guard import raise_where
from .inertia import joint_space_inertia
from .inverse import newton_euler
from .kinematics import Motion, Pose

Vector = Float[Array, " c"]
PIVOT = 1e-11  # smallest pivot, relative to its diagonal entry, that counts as positive


class Dynamics:
    """The terms of the equation of motion at one state, worked out once."""

    def __init__(self, model: Model, q: Vector, u: Vector, at: Pose, moving: Motion, time: Array | float):
        self.model, self.q, self.u, self.time = model, q, u, time
        self.at, self.moving = at, moving
        self.mass = joint_space_inertia(model, at)
        self.bias = newton_euler(model, at, moving, moving.bias_acceleration, model.gravity)

    def constraint_rows(self) -> tuple[Float[Array, "rows c"], Float[Array, " rows"]]:
        G = jacobian_rows(self.model, self.at, self.q)
        return G, bias_rows(self.model, self.at, self.moving, self.q, self.u, self.time)


def by_multipliers(terms: Dynamics, force: Vector) -> tuple[Vector, Float[Array, " rows"]]:
    """Accelerations and multipliers of all constraints; `force` is tau less the bias."""
    model = terms.model
    rows = len(model.constraints.row_names)
    factor, force = _factor(terms.mass, force, lambda M: _blame_mass(model, M))
    if rows == 0:
        return _solve(factor, force), jnp.zeros(0)
    G, gamma = terms.constraint_rows()
    return _held(model, factor, G, gamma, force, np.arange(rows))


def by_elimination(terms: Dynamics, force: Vector) -> Vector:
    """Accelerations, with couplers and locked and prescribed coordinates eliminated, other constraints by multipliers."""
    model, fixed = terms.model, terms.model.constraints
    free, at_rest = fixed.free, jnp.zeros_like(force)
    M = terms.mass
    k = explicit_accelerations(model, terms.q, terms.u, at_rest, terms.time)
    reduced, rest = M[free][:, free], force - M[:, fixed.explicit] @ k[fixed.explicit]
    reduced_force = rest[free]
    coupled = np.flatnonzero(
        fixed.explicit_coupler >= 0
    )  # locked and prescribed coordinates do not follow the free ones
    if len(coupled):
        which = fixed.explicit[coupled]
        T = elimination(model, terms.q)[coupled]  # rates of coupled per free coordinate
        Z = settled(M[free][:, which] + 0.5 * _product(T.T, M[which][:, which]))
        reduced = reduced + _product(Z, T) + _product(T.T, Z.T)  # C^T M C
        reduced_force = reduced_force + T.T @ rest[which]
    factor, reduced_force = _factor(reduced, reduced_force, lambda R: _blame_mass(model, R, free))
    if len(fixed.implicit_rows) == 0:
        answer = _solve(factor, reduced_force)
    else:
        G, gamma = (part[fixed.implicit_rows] for part in terms.constraint_rows())
        reduced_G = G[:, free] + G[:, fixed.explicit] @ elimination(model, terms.q)
        answer, _ = _held(model, factor, reduced_G, gamma + G @ k, reduced_force, fixed.implicit_rows)
    start = at_rest.at[free].set(answer)
    return explicit_accelerations(model, terms.q, terms.u, start, terms.time)


def _product(A: Float[Array, "i k"], B: Float[Array, "k j"]) -> Float[Array, "i j"]:
    """`A B`; written out where k is small, because batches of small matrix products are slow on CPU."""
    if A.shape[1] > 16:
        return A @ B
    return sum(A[:, k, None] * B[k] for k in range(A.shape[1]))  # type: ignore[return-value]


def _held(model: Model, factor: Array, G: Array, gamma: Array, force: Array, rows: np.ndarray) -> tuple[Array, Array]:
    """`G M^-1 G^T lambda = G M^-1 force + gamma`, then `udot = M^-1 (force - G^T lambda)`."""
    spread = lax.linalg.triangular_solve(factor, G.T, left_side=True, lower=True)  # L^-1 G^T
    pushed = lax.linalg.triangular_solve(factor, force[:, None], left_side=True, lower=True)[:, 0]
    held, needed = _factor(spread.T @ spread, spread.T @ pushed + gamma, lambda A: _blame_constraints(model, A, rows))
    multipliers = _solve(held, needed)
    answer = lax.linalg.triangular_solve(
        factor, (pushed - spread @ multipliers)[:, None], left_side=True, lower=True, transpose_a=True
    )[:, 0]
    return answer, multipliers


def _factor(
    A: Float[Array, "k k"], b: Float[Array, " k"], blame: Callable[[np.ndarray], ModelError]
) -> tuple[Float[Array, "k k"], Float[Array, " k"]]:
    """Lower Cholesky factor of A, and b; raises what `blame` makes of A where A is not positive definite.

    The check is tied to b because b is the smaller of the two.
    """
    L = lax.linalg.cholesky(A, symmetrize_input=False)
    diagonal = jnp.diagonal(A)
    sound = jnp.diagonal(L) ** 2 > PIVOT * diagonal  # False for NaN, which is what Cholesky returns on failure
    # A pose that is not finite is the caller's to see; only a finite A can be called singular.
    failed = ~jnp.all(sound) & jnp.all(jnp.isfinite(diagonal))
    return L, raise_where(failed, b, A, blame)


def _solve(L: Float[Array, "k k"], b: Float[Array, " k"]) -> Float[Array, " k"]:
    return jax.scipy.linalg.cho_solve((L, True), b)


def _weak_directions(A: np.ndarray) -> list[int]:
    """Entries that take part in the (nearly) null directions of a symmetric positive semidefinite matrix."""
    scale = np.sqrt(np.maximum(np.diag(A), 0))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(A / np.outer(scale, scale))
    null = vectors[:, values < 1e-9 * max(values[-1], 1e-300)] if values[-1] > 0 else vectors
    if null.shape[1] == 0:
        null = vectors[:, :1]
    return np.flatnonzero(np.abs(null).max(axis=1) > 0.05).tolist()


def _blame_mass(model: Model, A: np.ndarray, which: np.ndarray | None = None) -> ModelError:
    weak = _weak_directions(A)
    coordinates = [int(i if which is None else which[i]) for i in weak]
    links = model.tree.speed_links[coordinates].max(axis=0) > 0 if coordinates else np.zeros(0, bool)
    bodies = [model.names.links[k] for k in np.flatnonzero(links)]
    return ModelError(
        "the mass matrix is singular at this pose: moving "
        f"{_some([model.coordinate_names[i] for i in coordinates])} moves no mass. "
        f"Bodies concerned: {_some(bodies)}; give them mass and inertia, or lock these coordinates"
    )


def _blame_constraints(model: Model, A: np.ndarray, rows: np.ndarray) -> ModelError:
    names = [model.constraints.row_names[rows[i]] for i in _weak_directions(A)]
    return ModelError(
        f"the constraints are redundant or contradict each other at this pose: {_some(names)}; "
        "remove or unlock what the others already hold. A planar loop closed by a joint is held in space, too: close it by a "
        "ConstantDistanceConstraint instead"
    )


def _some(names: list[str], limit: int = 8) -> str:
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")
