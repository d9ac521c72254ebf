"""Forward dynamics: accelerations from forces, with constraints held by multipliers or eliminated.

    M udot + b + G^T lambda = tau,   G udot + bias = 0                                                (multipliers)
    C^T M C udot_free = C^T (tau - b - M k),   udot = C udot_free + k                                 (elimination)
with C the rates of all coordinates per rate of the free ones, and k the accelerations of the others while the free
ones have none.
Both solve positive definite systems by factors `L D L^T`; a pivot that vanishes means that M, or the set of
constraints, is singular at this pose, and raises an error that names who is to blame.

Derivatives are those of the equations at the solution, which is linear in them: `d udot = M^-1 (d tau - d(M udot + b))`,
where `M udot` is worked out by inverse dynamics. So neither M nor its factor is ever differentiated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

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
from .inertia import joint_space_inertia, link_inertia
from .inverse import mass_times, newton_euler
from .kinematics import Motion, Pose, accelerations
from .solve import Factor, factorized, solved, stages

Vector = Float[Array, " c"]
Unknowns = TypeVar("Unknowns")
PIVOT = 1e-11  # smallest pivot, relative to its diagonal entry, that counts as positive


class Dynamics:
    """The terms of the equation of motion at one state."""

    def __init__(self, model: Model, q: Vector, u: Vector, at: Pose, moving: Motion, time: Array | float):
        self.model, self.q, self.u, self.time = model, q, u, time
        self.at, self.moving = at, moving
        self.inertia = link_inertia(model, at)

    def needed(self, udot: Vector) -> Vector:
        """`M udot + b`"""
        links = accelerations(self.model, self.at, self.moving, udot)
        return newton_euler(self.model, self.at, self.moving, self.inertia, links)

    def mass_times(self, udot: Vector) -> Vector:
        """`M udot`"""
        return mass_times(self.model, self.at, self.inertia, udot)

    def mass(self, which: np.ndarray) -> Float[Array, "k k"]:
        """M of the coordinates `which`, to be factorised, not to be differentiated."""
        at, inertia = lax.stop_gradient((self.at, self.inertia))
        return joint_space_inertia(self.model, at, inertia, which)

    def constraint_rows(self) -> tuple[Float[Array, "rows c"], Float[Array, " rows"]]:
        G = jacobian_rows(self.model, self.at, self.q)
        return G, bias_rows(self.model, self.at, self.moving, self.q, self.u, self.time)


def by_multipliers(terms: Dynamics, force: Vector) -> tuple[Vector, Float[Array, " rows"]]:
    """Accelerations and multipliers of all constraints; `force` is all but the bias and the constraints'."""
    model = terms.model
    rows, links = len(model.constraints.row_names), model.tree.speed_links
    order, sizes = _order(links)
    force = (force - terms.needed(jnp.zeros_like(force)))[order]
    factor, force = _factor(terms.mass(order), sizes, force, lambda M: _blame_mass(model, M, order))

    def product(x: Vector) -> Vector:
        return terms.mass_times(jnp.zeros_like(x).at[order].set(x))[order]

    G, gamma = terms.constraint_rows() if rows else (jnp.zeros((0, len(order))), jnp.zeros(0))
    answer, multipliers = _held(model, product, factor, G[:, order], gamma, force, np.arange(rows))
    return jnp.zeros_like(answer).at[order].set(answer), multipliers


def by_elimination(terms: Dynamics, force: Vector) -> Vector:
    """Accelerations, with couplers and locked and prescribed coordinates eliminated, other constraints by multipliers."""
    model, fixed = terms.model, terms.model.constraints
    order, sizes = _order(_moved_links(model)[fixed.free])
    free = fixed.free[order]
    is_coupled = fixed.explicit_coupler >= 0  # locked and prescribed coordinates do not follow the free ones
    coupled, none = fixed.explicit[is_coupled], jnp.zeros_like(force)
    T = elimination(model, terms.q)[is_coupled][:, order]  # rates of coupled per free coordinate

    def all_of(x: Float[Array, " free"]) -> Vector:
        """`C x`"""
        return none.at[free].set(x).at[coupled].set(T @ x)

    def on_free(force: Vector) -> Float[Array, " free"]:
        """`C^T force`"""
        return force[free] + force[coupled] @ T

    k = explicit_accelerations(model, terms.q, terms.u, none, terms.time)
    reduced = _reduced(terms.mass(np.concatenate([free, coupled])), lax.stop_gradient(T))
    rest = on_free(force - terms.needed(k))
    factor, rest = _factor(reduced, sizes, rest, lambda R: _blame_mass(model, R, free))

    def product(x: Float[Array, " free"]) -> Float[Array, " free"]:
        return on_free(terms.mass_times(all_of(x)))

    G, gamma = jnp.zeros((0, len(free))), jnp.zeros(0)
    if len(fixed.implicit_rows):
        G, gamma = (part[fixed.implicit_rows] for part in terms.constraint_rows())
        G, gamma = G[:, free] + G[:, coupled] @ T, gamma + G @ k
    answer, _ = _held(model, product, factor, G, gamma, rest, fixed.implicit_rows)
    return all_of(answer) + k


def _order(links: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Order of elimination of coordinates that move these links (`[c, n]`), and how many go in each stage; what is left
    then, the trunk, is one chain."""
    found = stages(links @ links.T > 0)
    sizes = [len(stage) for stage in found]
    while sizes and sizes[-1] == 1:
        sizes.pop()
    return np.concatenate([*found, np.zeros(0, int)]), sizes


def _moved_links(model: Model) -> np.ndarray:
    """[c, n] positive where a coordinate, or one that follows it, moves the link."""
    fixed, links = model.constraints, model.tree.speed_links.copy()
    for k, row in zip(fixed.explicit[::-1], fixed.explicit_coupler[::-1], strict=True):  # followers first
        if row >= 0:
            links += np.outer(fixed.arguments[row], links[k])
    return links


def _reduced(M: Float[Array, "k k"], T: Float[Array, "coupled free"]) -> Float[Array, "free free"]:
    """`C^T M C`; M has the free coordinates first, then the coupled ones, whose rates per free ones are T."""
    coupled, f = T.shape
    if coupled == 0:
        return M
    Z = settled(M[:f, f:] + 0.5 * _product(T.T, M[f:, f:]))
    return M[:f, :f] + _product(Z, T) + _product(T.T, Z.T)


def _product(A: Float[Array, "i k"], B: Float[Array, "k j"]) -> Float[Array, "i j"]:
    """`A B`; written out where k is small, because batches of small matrix products are slow on CPU."""
    if A.shape[1] > 16:
        return A @ B
    return sum(A[:, k, None] * B[k] for k in range(A.shape[1]))  # type: ignore[return-value]


def _held(
    model: Model,
    product: Callable[[Array], Array],
    factor: Factor,
    G: Float[Array, "rows k"],
    gamma: Float[Array, " rows"],
    force: Float[Array, " k"],
    rows: np.ndarray,
) -> tuple[Float[Array, " k"], Float[Array, " rows"]]:
    """x and lambda with `M x + G^T lambda = force` and `G x + gamma = 0`; `product(x)` is `M x`, `factor` M's."""
    if len(rows) == 0:
        return _solution(product, force, partial(solved, factor)), jnp.zeros(0)
    fixed_G = lax.stop_gradient(G)
    X = jax.vmap(partial(solved, factor), out_axes=1)(fixed_G)  # M^-1 G^T
    yielding, gamma = _factor(fixed_G @ X, [], gamma, lambda A: _blame_constraints(model, A, rows))

    def inverse(right: tuple[Array, Array]) -> tuple[Array, Array]:
        multipliers = solved(yielding, right[0] @ X - right[1])
        return solved(factor, right[0]) - X @ multipliers, multipliers

    return _solution(lambda y: (product(y[0]) + y[1] @ G, G @ y[0]), (force, -gamma), inverse)


def _solution(
    product: Callable[[Unknowns], Unknowns], b: Unknowns, inverse: Callable[[Unknowns], Unknowns]
) -> Unknowns:
    """y with `product(y) = b`, product linear and symmetric, by its `inverse`; differentiated by way of the product only."""
    return lax.custom_linear_solve(product, b, lambda _, right: inverse(right), symmetric=True)


def _factor(
    A: Float[Array, "k k"], sizes: list[int], b: Float[Array, " k"], blame: Callable[[np.ndarray], ModelError]
) -> tuple[Factor, Float[Array, " k"]]:
    """Factor of A, and b; raises what `blame` makes of A where A is not positive definite.

    The check is tied to b because b is the smaller of the two.
    """
    factor = factorized(A, sizes)
    diagonal = jnp.diagonal(A)
    sound = factor.pivots > PIVOT * diagonal  # False for NaN
    # A pose that is not finite is the caller's to see; only a finite A can be called singular.
    failed = ~jnp.all(sound) & jnp.all(jnp.isfinite(diagonal))
    return factor, raise_where(failed, b, A, blame)


def _weak_directions(A: np.ndarray) -> list[int]:
    """Entries that take part in the (nearly) null directions of a symmetric positive semidefinite matrix."""
    scale = np.sqrt(np.maximum(np.diag(A), 0))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(A / np.outer(scale, scale))
    null = vectors[:, values < 1e-9 * max(values[-1], 1e-300)] if values[-1] > 0 else vectors
    if null.shape[1] == 0:
        null = vectors[:, :1]
    return np.flatnonzero(np.abs(null).max(axis=1) > 0.05).tolist()


def _blame_mass(model: Model, A: np.ndarray, which: np.ndarray) -> ModelError:
    coordinates = sorted(int(which[i]) for i in _weak_directions(A))
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
