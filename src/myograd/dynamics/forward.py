"""Forward dynamics: accelerations from forces, with constraints enforced by multipliers or eliminated.

    M udot + b + G^T lambda = tau,   G udot + bias = 0                                                (multipliers)
    C^T M C udot_free = C^T (tau - b - M k),   udot = C udot_free + k                                 (elimination)
with C the rates of all coordinates per rate of the free ones, and k the accelerations of the others while the free
ones have none.
Both solve positive definite systems by factors `L D L^T`; a pivot that vanishes means that M, or the set of
constraints, is singular at this pose, and raises an error that names the bodies or constraints concerned.

Derivatives are those of the equations at the solution, which is linear in them: `d udot = M^-1 (d tau - d(M udot + b))`,
where `M udot` is computed by inverse dynamics. So neither M nor its factor is ever differentiated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from ..errors import ModelError
from ..force.term import Instant
from ..geometry.spatial import materialized
from ..model.model import Model
from .constraints import bias_rows, elimination, explicit_accelerations, jacobian_rows
from .guard import raise_where
from .solve import Factor, factorized, solved, stages
from .terms import added, coupled_coordinates, inertial_terms

Vector = Float[Array, " c"]
PIVOT = 1e-11  # smallest pivot, relative to its diagonal entry, that counts as positive


class Equation:
    """The equation of motion at an instant: the sum of its inertial terms."""

    def __init__(self, model: Model, now: Instant):
        self.model, self.now = model, now
        self.terms = inertial_terms(model, now)

    def needed(self, udot: Vector) -> Vector:
        """`M udot + b`"""
        return added(term.needed(self.model, self.now, udot) for term in self.terms)

    def mass_times(self, udot: Vector) -> Vector:
        """`M udot`"""
        return added(term.inertia_times(self.model, self.now, udot) for term in self.terms)

    def mass(self, which: np.ndarray) -> Float[Array, "k k"]:
        """M of the coordinates `which`, to be factorised, not to be differentiated."""
        terms, now = lax.stop_gradient((self.terms, self.now))
        # Rigid links look at the model's structure only.
        model = lax.stop_gradient(self.model) if len(terms) > 1 else self.model
        return added(term.inertia_block(model, now, which) for term in terms)

    def constraint_rows(self) -> tuple[Float[Array, "rows c"], Float[Array, " rows"]]:
        model, now = self.model, self.now
        G = jacobian_rows(model, now.at, now.q)
        return G, bias_rows(model, now.at, now.moving, now.q, now.u, now.time)


def by_multipliers(equation: Equation, force: Vector) -> tuple[Vector, Float[Array, " rows"]]:
    """Accelerations and multipliers of all constraints; `force` is all but the bias and the constraints'."""
    model = equation.model
    rows = len(model.constraints.row_names)
    order, sizes = _order(coupled_coordinates(model))
    force = (force - equation.needed(jnp.zeros_like(force)))[order]
    factor, force = _factor(equation.mass(order), sizes, force, lambda M: _singular_mass_error(model, M, order))

    def product(x: Vector) -> Vector:
        return equation.mass_times(jnp.zeros_like(x).at[order].set(x))[order]

    G, gamma = equation.constraint_rows() if rows else (jnp.zeros((0, len(order))), jnp.zeros(0))
    answer, multipliers = _constrained(model, product, factor, G[:, order], gamma, force, np.arange(rows))
    return jnp.zeros_like(answer).at[order].set(answer), multipliers


def by_elimination(equation: Equation, force: Vector) -> Vector:
    """Accelerations, with couplers and locked and prescribed coordinates eliminated, other constraints by multipliers."""
    model, now = equation.model, equation.now
    fixed = model.constraints
    follows = _followers(model)[fixed.free].astype(float)
    order, sizes = _order(follows @ coupled_coordinates(model) @ follows.T > 0)
    free = fixed.free[order]
    is_coupled = fixed.explicit_coupler >= 0  # locked and prescribed coordinates do not follow the free ones
    coupled, none = fixed.explicit[is_coupled], jnp.zeros_like(force)
    T = elimination(model, now.q)[is_coupled][:, order]  # rates of coupled per free coordinate

    def all_of(x: Float[Array, " free"]) -> Vector:
        """`C x`"""
        return none.at[free].set(x).at[coupled].set(T @ x)

    def on_free(force: Vector) -> Float[Array, " free"]:
        """`C^T force`"""
        return force[free] + force[coupled] @ T

    k = explicit_accelerations(model, now.q, now.u, none, now.time)
    reduced = _reduced(equation.mass(np.concatenate([free, coupled])), lax.stop_gradient(T))
    rest = on_free(force - equation.needed(k))
    factor, rest = _factor(reduced, sizes, rest, lambda R: _singular_mass_error(model, R, free))

    def product(x: Float[Array, " free"]) -> Float[Array, " free"]:
        return on_free(equation.mass_times(all_of(x)))

    G, gamma = jnp.zeros((0, len(free))), jnp.zeros(0)
    if len(fixed.implicit_rows):
        G, gamma = (part[fixed.implicit_rows] for part in equation.constraint_rows())
        G, gamma = G[:, free] + G[:, coupled] @ T, gamma + G @ k
    answer, _ = _constrained(model, product, factor, G, gamma, rest, fixed.implicit_rows)
    return all_of(answer) + k


def _order(coupled: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Order of elimination of unknowns between which there are entries where `coupled` [k, k], and how many go in each stage;
    what is left then, the trunk, is one chain."""
    found = stages(coupled)
    sizes = [len(stage) for stage in found]
    while sizes and sizes[-1] == 1:
        sizes.pop()
    return np.concatenate([*found, np.zeros(0, int)]), sizes


def _followers(model: Model) -> np.ndarray:
    """[c, c] bool: which coordinates move when one does, itself among them."""
    fixed, follows = model.constraints, np.eye(len(model.coordinate_names), dtype=bool)
    for k, row in zip(fixed.explicit[::-1], fixed.explicit_coupler[::-1], strict=True):  # followers first
        if row >= 0:
            follows |= np.outer(fixed.arguments[row] > 0, follows[k])
    return follows


def _reduced(M: Float[Array, "k k"], T: Float[Array, "coupled free"]) -> Float[Array, "free free"]:
    """`C^T M C`; M has the free coordinates first, then the coupled ones, whose rates per free ones are T."""
    coupled, f = T.shape
    if coupled == 0:
        return M
    Z = materialized(M[:f, f:] + 0.5 * _product(T.T, M[f:, f:]))
    return M[:f, :f] + _product(Z, T) + _product(T.T, Z.T)


def _product(A: Float[Array, "i k"], B: Float[Array, "k j"]) -> Float[Array, "i j"]:
    """`A B`; written out where k is small, because batches of small matrix products are slow on CPU."""
    if A.shape[1] > 16:
        return A @ B
    return sum(A[:, k, None] * B[k] for k in range(A.shape[1]))  # pyright: ignore[reportReturnType]


def _constrained(
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
    yielding, gamma = _factor(fixed_G @ X, [], gamma, lambda A: _redundant_constraints_error(model, A, rows))

    def inverse(right: Array) -> Array:
        on_x, on_rows = right[: len(force)], right[len(force) :]
        multipliers = solved(yielding, on_x @ X - on_rows)
        return jnp.concatenate([solved(factor, on_x) - X @ multipliers, multipliers])

    def both(y: Array) -> Array:
        x, multipliers = y[: len(force)], y[len(force) :]
        return jnp.concatenate([product(x) + multipliers @ G, G @ x])

    # One vector, not two: JAX transposes a linear solve only if all of its right-hand sides depend on what is differentiated.
    y = _solution(both, jnp.concatenate([force, -gamma]), inverse)
    return y[: len(force)], y[len(force) :]


def _solution(product: Callable[[Array], Array], b: Array, inverse: Callable[[Array], Array]) -> Array:
    """y with `product(y) = b`, product linear and symmetric, by its `inverse`; differentiated by way of the product only."""
    return lax.custom_linear_solve(product, b, lambda _, right: inverse(right), symmetric=True)


def _factor(
    A: Float[Array, "k k"], sizes: list[int], b: Float[Array, " k"], explain: Callable[[np.ndarray], ModelError]
) -> tuple[Factor, Float[Array, " k"]]:
    """Factor of A, and b; raises the error that `explain` makes of A where A is not positive definite.

    The check is tied to b because b is the smaller of the two.
    """
    factor = factorized(A, sizes)
    diagonal = jnp.diagonal(A)
    sound = factor.pivots > PIVOT * diagonal  # False for NaN
    # A pose that is not finite is the caller's to see; only a finite A can be called singular.
    failed = ~jnp.all(sound) & jnp.all(jnp.isfinite(diagonal))
    return factor, raise_where(failed, b, A, explain)


def _weak_directions(A: np.ndarray) -> list[int]:
    """Entries that take part in the (nearly) null directions of a symmetric positive semidefinite matrix."""
    scale = np.sqrt(np.maximum(np.diag(A), 0))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(A / np.outer(scale, scale))
    null = vectors[:, values < 1e-9 * max(values[-1], 1e-300)] if values[-1] > 0 else vectors
    if null.shape[1] == 0:
        null = vectors[:, :1]
    return np.flatnonzero(np.abs(null).max(axis=1) > 0.05).tolist()


def _singular_mass_error(model: Model, A: np.ndarray, which: np.ndarray) -> ModelError:
    coordinates = sorted(int(which[i]) for i in _weak_directions(A))
    links = model.tree.speed_links[coordinates].max(axis=0) > 0 if coordinates else np.zeros(0, bool)
    bodies = [model.names.links[k] for k in np.flatnonzero(links)]
    return ModelError(
        "the mass matrix is singular at this pose: moving "
        f"{_some([model.coordinate_names[i] for i in coordinates])} moves no mass. "
        f"Bodies concerned: {_some(bodies)}; give them mass and inertia, or lock these coordinates"
    )


def _redundant_constraints_error(model: Model, A: np.ndarray, rows: np.ndarray) -> ModelError:
    names = [model.constraints.row_names[rows[i]] for i in _weak_directions(A)]
    return ModelError(
        f"the constraints are redundant or contradict each other at this pose: {_some(names)}; "
        "remove or unlock what the others already enforce. A joint that closes a planar loop also constrains it out of plane: "
        "close it by a ConstantDistanceConstraint instead"
    )


def _some(names: list[str], limit: int = 8) -> str:
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")
