"""Constraints: position errors, Jacobian G and bias, with `G udot + bias = 0`; coupled coordinates eliminated.

Rows, in order: couplers, welds (3 turns, then 3 displacements), points, distances, locked, prescribed coordinates; their
names are `model.constraints.row_names`.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..geometry.frames import Motion, Pose, point_acceleration, point_velocity
from ..geometry.piecewise import evaluate
from ..geometry.spatial import cross, dot, norm, rotate
from ..model.model import Model
from .kinematics import coordinate_rates, speed_to_rate

Vector = Float[Array, " c"]


def _coupled(model: Model, q: Vector) -> tuple[Float[Array, " d"], Float[Array, "d c"], Float[Array, " t"]]:
    """Value of each coupler's function, its gradient, and the curvature of its spline terms."""
    values, fixed = model.constraint_parameters, model.constraints
    value = values.coupler_slopes @ q + values.coupler_offsets
    gradient = values.coupler_slopes
    curvature = jnp.zeros(0)
    if len(fixed.coupler_spline):
        f, slope, curvature = evaluate(values.coupler_splines, q[fixed.coupler_coordinate])
        value = value.at[fixed.coupler_spline].add(f)
        gradient = gradient.at[fixed.coupler_spline, fixed.coupler_coordinate].add(slope)
    return value, gradient, curvature


def _sides(model: Model, at: Pose, links: np.ndarray, location: Float[Array, "2 3 x"]) -> list[Float[Array, "3 x"]]:
    """Ground positions of the two points of each constraint."""
    return [rotate(at.rotation[:, :, links[:, k]], location[k]) + at.origin[:, links[:, k]] for k in (0, 1)]


def _weld_axes(model: Model, at: Pose) -> tuple[Float[Array, "3 3 w"], Float[Array, "3 3 w"]]:
    """Axes that must stay at right angles: first frame's x, y, z against second frame's y, z, x; `[component, axis, weld]`."""
    links, R = model.constraints.welds, model.constraint_parameters.weld_rotation
    first, second = (
        jnp.stack([rotate(at.rotation[:, :, links[:, k]], R[k][:, axis]) for axis in order], axis=1)
        for k, order in ((0, (0, 1, 2)), (1, (1, 2, 0)))
    )
    return first, second


def weld_alignment(model: Model, at: Pose) -> Float[Array, " w"]:
    """For each weld, the least cosine between like axes of its two frames: 1 when satisfied, -1 when half a turn off."""
    links, R = model.constraints.welds, model.constraint_parameters.weld_rotation
    first, second = (
        jnp.stack([rotate(at.rotation[:, :, links[:, k]], R[k][:, axis]) for axis in range(3)], axis=1) for k in (0, 1)
    )
    return jnp.min(jnp.stack([dot(first[:, k], second[:, k]) for k in range(3)]), axis=0)


def constraint_errors(model: Model, at: Pose, q: Vector, time: Float[Array, ""] | float = 0.0) -> Float[Array, " rows"]:
    """How far each constraint is from being satisfied: rad, m, or the coordinate's unit."""
    fixed, values = model.constraints, model.constraint_parameters
    rows = [_coupled(model, q)[0] - q[fixed.dependent]]
    if len(fixed.welds):
        first, second = _weld_axes(model, at)
        turns = jnp.stack([dot(first[:, k], second[:, k]) for k in range(3)])
        a, b = _sides(model, at, fixed.welds, values.weld_location)
        rows.append(jnp.concatenate([turns, b - a]).T.ravel())
    if len(fixed.points):
        a, b = _sides(model, at, fixed.points, values.point_location)
        rows.append((b - a).T.ravel())
    if len(fixed.distances):
        a, b = _sides(model, at, fixed.distances, values.distance_location)
        rows.append(norm(b - a) - values.distance)
    rows.append(q[fixed.locked] - model.coordinates.default[fixed.locked])
    return jnp.concatenate([*rows, q[fixed.prescribed] - _prescribed(model, time)[0]])


def jacobian_rows(model: Model, at: Pose, q: Vector) -> Float[Array, "rows c"]:
    """G(q): rates of the constraint errors per unit speeds."""
    fixed, values = model.constraints, model.constraint_parameters
    c = len(model.coordinate_names)
    N = speed_to_rate(model, q)
    _, gradient, _ = _coupled(model, q)

    def between(links: np.ndarray) -> np.ndarray:
        """+1 where a speed moves only the second link, -1 only the first."""
        return (model.tree.speed_links[:, links[:, 1]] - model.tree.speed_links[:, links[:, 0]]).T  # [x, c]

    def apart_rates(links: np.ndarray, positions: list[Float[Array, "3 x"]]) -> Float[Array, "3 x c"]:
        """Rate of the second point's displacement from the first per unit speed."""
        w, v = at.screws[:3, None, :], at.screws[3:, None, :]
        rates = [v + cross(jnp.broadcast_to(w, (3, len(links), c)), p[:, :, None]) for p in positions]
        moves = model.tree.speed_links.T
        return rates[1] * moves[links[:, 1]] - rates[0] * moves[links[:, 0]]

    rows = [(gradient - jnp.eye(c)[fixed.dependent]) @ N]
    if len(fixed.welds):
        first, second = _weld_axes(model, at)
        normal = jnp.stack([cross(first[:, k], second[:, k]) for k in range(3)], axis=1)  # [3, axis, w]
        turn = -jnp.einsum("xkw,xc->kwc", normal, at.screws[:3]) * between(fixed.welds)
        weld = apart_rates(fixed.welds, _sides(model, at, fixed.welds, values.weld_location))
        rows.append(jnp.concatenate([turn, weld]).transpose(1, 0, 2).reshape(-1, c))
    if len(fixed.points):
        point = apart_rates(fixed.points, _sides(model, at, fixed.points, values.point_location))
        rows.append(point.transpose(1, 0, 2).reshape(-1, c))
    if len(fixed.distances):
        ends = _sides(model, at, fixed.distances, values.distance_location)
        along = ends[1] - ends[0]
        rows.append(dot(along[:, :, None] / norm(along)[:, None], apart_rates(fixed.distances, ends)))
    return jnp.concatenate([*rows, N[fixed.locked], N[fixed.prescribed]])


def bias_rows(
    model: Model, at: Pose, moving: Motion, q: Vector, u: Vector, time: Float[Array, ""] | float = 0.0
) -> Float[Array, " rows"]:
    """What must be added to `G udot` to give the second derivatives of the constraint errors."""
    fixed, values = model.constraints, model.constraint_parameters
    qdot = coordinate_rates(model, q, u)
    spin = jnp.zeros_like(u)  # Ndot u
    if len(model.tree.balls):
        _, spin = jax.jvp(lambda x: coordinate_rates(model, x, u), (q,), (qdot,))
    _, gradient, curvature = _coupled(model, q)
    couplers = gradient @ spin - spin[fixed.dependent]
    if len(fixed.coupler_spline):
        couplers = couplers.at[fixed.coupler_spline].add(curvature * qdot[fixed.coupler_coordinate] ** 2)

    def apart(links: np.ndarray, location: Float[Array, "2 3 x"]) -> list[Float[Array, "3 x"]]:
        """Displacement of the second point from the first, its rate, and its acceleration at zero udot."""
        positions = _sides(model, at, links, location)
        V = [moving.velocity[:, links[:, k]] for k in (0, 1)]
        A = [moving.bias_acceleration[:, links[:, k]] for k in (0, 1)]
        v = [point_velocity(V[k], positions[k]) for k in (0, 1)]
        a = [point_acceleration(A[k], V[k], positions[k]) for k in (0, 1)]
        return [positions[1] - positions[0], v[1] - v[0], a[1] - a[0]]

    rows = [couplers]
    if len(fixed.welds):
        first, second = _weld_axes(model, at)
        turns = jnp.stack([_turn_bias(moving, fixed.welds, first[:, k], second[:, k]) for k in range(3)])
        rows.append(jnp.concatenate([turns, apart(fixed.welds, values.weld_location)[2]]).T.ravel())
    if len(fixed.points):
        rows.append(apart(fixed.points, values.point_location)[2].T.ravel())
    if len(fixed.distances):
        d, d_rate, d_bias = apart(fixed.distances, values.distance_location)
        length = norm(d)
        stretching = dot(d, d_rate) / length
        rows.append((dot(d, d_bias) + dot(d_rate, d_rate) - stretching**2) / length)
    return jnp.concatenate([*rows, spin[fixed.locked], spin[fixed.prescribed] - _prescribed(model, time)[2]])


def _turn_bias(moving: Motion, links: np.ndarray, a: Float[Array, "3 w"], b: Float[Array, "3 w"]) -> Float[Array, " w"]:
    """Second derivative of `a . b` at zero udot, a fixed in the first link and b in the second."""
    w = [moving.velocity[:3, links[:, k]] for k in (0, 1)]
    alpha = [moving.bias_acceleration[:3, links[:, k]] for k in (0, 1)]
    a1, b1 = cross(w[0], a), cross(w[1], b)
    a2 = cross(alpha[0], a) + cross(w[0], a1)
    b2 = cross(alpha[1], b) + cross(w[1], b1)
    return dot(a2, b) + 2 * dot(a1, b1) + dot(a, b2)


def speed_errors(
    model: Model, at: Pose, q: Vector, u: Vector, time: Float[Array, ""] | float = 0.0
) -> Float[Array, " rows"]:
    """Rates of the constraint errors: `G u`, less the rates of prescribed coordinates."""
    fixed = model.constraints
    errors = jacobian_rows(model, at, q) @ u
    if not len(fixed.prescribed):
        return errors
    return errors.at[-len(fixed.prescribed) :].add(-_prescribed(model, time)[1])


def _prescribed(model: Model, time: Float[Array, ""] | float) -> tuple[Array, Array, Array]:
    """Value, rate and acceleration of each prescribed coordinate."""
    count = len(model.constraints.prescribed)
    if not count:
        return jnp.zeros(0), jnp.zeros(0), jnp.zeros(0)
    return evaluate(model.constraint_parameters.prescribed, jnp.full(count, time))


# Elimination -------------------------------------------------------------------------------------------------


def elimination(model: Model, q: Vector) -> Float[Array, "explicit free"]:
    """Rates of the eliminated coordinates per rates of the free ones.

    Eliminated rates are `J_f udot_f + J_h udot_h`; J_h has no cycles, so its powers end with the longest chain.
    """
    fixed = model.constraints
    free, explicit = fixed.free, fixed.explicit
    gradient = _explicit_gradient(model, q)
    rates = gradient[:, free]
    for _ in range(fixed.explicit_depth):
        rates = gradient[:, free] + gradient[:, explicit] @ rates
    return rates


def rates_per_free(model: Model, q: Vector) -> Float[Array, "c free"]:
    """Rates of all coordinates per rates of the free ones."""
    fixed = model.constraints
    C = jnp.zeros((len(model.coordinate_names), len(fixed.free)))
    C = C.at[fixed.free, np.arange(len(fixed.free))].set(1.0)
    return C.at[fixed.explicit].set(elimination(model, q)) if len(fixed.explicit) else C


def _explicit_gradient(model: Model, q: Vector) -> Float[Array, "explicit c"]:
    fixed = model.constraints
    _, gradient, _ = _coupled(model, q)
    by_coupler = fixed.explicit_coupler >= 0
    rows = jnp.zeros((len(fixed.explicit), len(model.coordinate_names)))
    return rows.at[np.flatnonzero(by_coupler)].set(gradient[fixed.explicit_coupler[by_coupler]])


def _fill_explicit(model: Model, start: Vector, values: Float[Array, " explicit"], gradient: Array) -> Vector:
    """Vector x with `x_explicit = values + gradient x`, free entries as in `start`."""
    fixed = model.constraints
    x = start.at[fixed.explicit].set(0.0)
    for _ in range(fixed.explicit_depth + 1):
        x = x.at[fixed.explicit].set(values + gradient @ x)
    return x


def explicit_speeds(model: Model, q: Vector, u: Vector, time: Float[Array, ""] | float = 0.0) -> Vector:
    """u with the eliminated speeds replaced by what the free ones make them."""
    if not len(model.constraints.explicit):
        return u
    rates = _explicit_prescribed(model, time)[1]
    return _fill_explicit(model, u, rates, _explicit_gradient(model, q))


def explicit_accelerations(
    model: Model, q: Vector, u: Vector, udot: Vector, time: Float[Array, ""] | float = 0.0
) -> Vector:
    """udot with the eliminated accelerations replaced by what the free ones make them."""
    fixed = model.constraints
    if not len(fixed.explicit):
        return udot
    _, _, curvature = _coupled(model, q)
    curving = jnp.zeros(len(fixed.dependent))
    if len(fixed.coupler_spline):
        curving = curving.at[fixed.coupler_spline].add(curvature * u[fixed.coupler_coordinate] ** 2)
    by_coupler = fixed.explicit_coupler >= 0
    extra = _explicit_prescribed(model, time)[2]
    extra = extra.at[np.flatnonzero(by_coupler)].add(curving[fixed.explicit_coupler[by_coupler]])
    return _fill_explicit(model, udot, extra, _explicit_gradient(model, q))


def explicit_coordinates(model: Model, q: Vector, time: Float[Array, ""] | float = 0.0) -> Vector:
    """q with the eliminated coordinates replaced by what the free ones make them."""
    fixed = model.constraints
    if not len(fixed.explicit):
        return q
    given = _explicit_prescribed(model, time)[0]
    locked = np.flatnonzero(fixed.explicit_coupler == -1)
    given = given.at[locked].set(model.coordinates.default[fixed.explicit[locked]])
    by_coupler = np.flatnonzero(fixed.explicit_coupler >= 0)
    for _ in range(fixed.explicit_depth + 1):
        value, _, _ = _coupled(model, q)
        q = q.at[fixed.explicit].set(given.at[by_coupler].set(value[fixed.explicit_coupler[by_coupler]]))
    return q


def _explicit_prescribed(model: Model, time: Float[Array, ""] | float) -> list[Float[Array, " explicit"]]:
    """Value, rate and acceleration of those eliminated coordinates that follow a function of time; 0 elsewhere."""
    fixed = model.constraints
    rows = np.flatnonzero(fixed.explicit_coupler <= -2)
    which = -2 - fixed.explicit_coupler[rows]
    return [jnp.zeros(len(fixed.explicit)).at[rows].set(part[which]) for part in _prescribed(model, time)]
