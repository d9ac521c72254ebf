"""The public functions of the skeleton. q: coordinates, u: speeds, in the order of `model.coordinate_names`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..errors import ModelError, nearest
from ..geometry.spatial import cross, dot
from ..model.model import Model
from . import constraints as held
from . import kinematics
from .entry import entry, need_constraints
from .forward import Dynamics, by_elimination, by_multipliers
from .guard import raise_where
from .inertia import apply_inertia, joint_space_inertia, link_inertia
from .inverse import generalized_force, newton_euler
from .kinematics import (
    Pose,
    accelerations,
    link_frames,
    motion,
    placement,
    point_acceleration,
    point_velocity,
    pose,
    speed_to_rate,
)
from .wrenches import on_links

Vector = Float[Array, " c"]


# Kinematics --------------------------------------------------------------------------------------------------


@entry
def body_poses(model: Model, q: Vector) -> tuple[Float[Array, "bodies 3 3"], Float[Array, "bodies 3"]]:
    """Rotation and origin [m] of every body in ground: `p_ground = R p_body + p`."""
    at, link = pose(model, q), model.tree.body_link
    return jnp.moveaxis(at.rotation[:, :, link], 2, 0), at.origin[:, link].T


@entry
def body_velocities(model: Model, q: Vector, u: Vector) -> Float[Array, "bodies 6"]:
    """Angular velocity [rad/s], then linear velocity of the body origin [m/s], in ground."""
    at, link = pose(model, q), model.tree.body_link
    V = motion(model, q, u, at).velocity[:, link]
    return jnp.concatenate([V[:3], point_velocity(V, at.origin[:, link])]).T


@entry
def body_accelerations(model: Model, q: Vector, u: Vector, udot: Vector) -> Float[Array, "bodies 6"]:
    """Angular acceleration [rad/s^2], then linear acceleration of the body origin [m/s^2], in ground."""
    at, link = pose(model, q), model.tree.body_link
    moving = motion(model, q, u, at)
    A = accelerations(model, at, moving, udot)[:, link]
    return jnp.concatenate([A[:3], point_acceleration(A, moving.velocity[:, link], at.origin[:, link])]).T


@entry
def body_jacobians(model: Model, q: Vector) -> Float[Array, "bodies 6 c"]:
    """J with `body_velocities = J u`."""
    at, link = pose(model, q), model.tree.body_link
    moved = model.tree.speed_links[:, link].T[:, None, :]  # [bodies, 1, c]
    w, v = at.screws[:3], at.screws[3:]
    at_origin = v + jnp.stack([cross(w, jnp.broadcast_to(p[:, None], w.shape)) for p in at.origin[:, link].T])
    return jnp.concatenate([jnp.broadcast_to(w, at_origin.shape), at_origin], axis=1) * moved


def points_in_ground(model: Model, at: Pose, link: np.ndarray, location: Float[Array, "3 p"]) -> Float[Array, "3 p"]:
    return link_frames(at) @ placement(link, location, len(model.tree.inboard))


@entry
def marker_positions(model: Model, q: Vector) -> Float[Array, "markers 3"]:
    """Markers in ground [m]."""
    return points_in_ground(model, pose(model, q), np.array(model.marker_link, int), model.marker_location).T


@entry
def marker_velocities(model: Model, q: Vector, u: Vector) -> Float[Array, "markers 3"]:
    """Velocities of the markers in ground [m/s]."""
    at, link = pose(model, q), np.array(model.marker_link, int)
    position = points_in_ground(model, at, link, model.marker_location)
    return point_velocity(motion(model, q, u, at).velocity[:, link], position).T


@entry
def marker_accelerations(model: Model, q: Vector, u: Vector, udot: Vector) -> Float[Array, "markers 3"]:
    """Accelerations of the markers in ground [m/s^2]."""
    at, link = pose(model, q), np.array(model.marker_link, int)
    moving = motion(model, q, u, at)
    A = accelerations(model, at, moving, udot)[:, link]
    position = points_in_ground(model, at, link, model.marker_location)
    return point_acceleration(A, moving.velocity[:, link], position).T


def body_link(model: Model, body: str) -> int:
    """Link of a body, `ground` included."""
    if body == "ground":
        return 0
    if body not in model.body_names:
        raise ModelError(f"there is no body {body!r}{nearest(body, model.body_names)}")
    return int(model.tree.body_link[model.body_names.index(body)])


@entry
def point_position(model: Model, q: Vector, location: Float[Array, "3"], body: str = "ground") -> Float[Array, "3"]:
    """Ground position [m] of a point fixed to a body."""
    link = np.array([body_link(model, body)])
    return points_in_ground(model, pose(model, q), link, jnp.asarray(location)[:, None])[:, 0]


@entry
def point_jacobian(model: Model, q: Vector, location: Float[Array, "3"], body: str = "ground") -> Float[Array, "3 c"]:
    """Velocity of a point fixed to a body per unit speeds."""
    at, link = pose(model, q), body_link(model, body)
    position = points_in_ground(model, at, np.array([link]), jnp.asarray(location)[:, None])
    return point_velocity(at.screws, jnp.broadcast_to(position, at.screws[:3].shape)) * model.tree.speed_links[:, link]


@entry
def coordinate_rates(model: Model, q: Vector, u: Vector) -> Vector:
    """`qdot = N(q) u`."""
    return kinematics.coordinate_rates(model, q, u)


@entry
def speeds(model: Model, q: Vector, qdot: Vector) -> Vector:
    """u with `qdot = N(q) u`."""
    return jnp.linalg.solve(speed_to_rate(model, q), qdot)


# Mass, momentum, energy --------------------------------------------------------------------------------------


@entry
def mass_matrix(model: Model, q: Vector) -> Float[Array, "c c"]:
    """M(q), constraints not considered."""
    at = pose(model, q)
    return joint_space_inertia(model, at, link_inertia(model, at))


@entry
def center_of_mass(model: Model, q: Vector) -> Float[Array, "3"]:
    """Of the whole model, in ground [m]."""
    inertia = jnp.sum(link_inertia(model, pose(model, q)), axis=1)
    names = model.names.model
    mass = raise_where(
        inertia[0] == 0,
        inertia[0],
        inertia[:1, None],
        lambda _: ModelError(f"{names!r} has no mass, so no centre of mass"),
    )
    return inertia[1:4] / mass


@entry
def momentum(model: Model, q: Vector, u: Vector) -> Float[Array, "6"]:
    """Angular momentum about the ground origin [kg m^2/s], then linear momentum [kg m/s]."""
    at = pose(model, q)
    return jnp.sum(apply_inertia(link_inertia(model, at), motion(model, q, u, at).velocity), axis=1)


@entry
def kinetic_energy(model: Model, q: Vector, u: Vector) -> Float[Array, ""]:
    """[J]"""
    at = pose(model, q)
    V = motion(model, q, u, at).velocity
    return 0.5 * jnp.sum(dot(V, apply_inertia(link_inertia(model, at), V)))


@entry
def potential_energy(model: Model, q: Vector) -> Float[Array, ""]:
    """Of gravity, zero at the ground origin [J]."""
    return -model.gravity @ jnp.sum(link_inertia(model, pose(model, q))[1:4], axis=1)


# Dynamics ----------------------------------------------------------------------------------------------------


@entry
def bias_forces(model: Model, q: Vector, u: Vector) -> Vector:
    """b in `M udot + b = tau`: Coriolis and centrifugal terms less gravity [N m, N]."""
    at = pose(model, q)
    moving = motion(model, q, u, at)
    return newton_euler(model, at, moving, link_inertia(model, at), moving.bias_acceleration)


@entry
def gravity_forces(model: Model, q: Vector) -> Vector:
    """Generalised forces of gravity [N m, N]."""
    return -bias_forces(model, q, jnp.zeros_like(q))


@entry
def inverse_dynamics(
    model: Model, q: Vector, u: Vector, udot: Vector, wrenches: Float[Array, "bodies 6"] | None = None
) -> Vector:
    """Generalised forces `M udot + b` that this motion needs, beyond gravity and external forces [N m, N].

    `wrenches`: external moment [N m], then force at the body origin [N], on each body, in ground. Forces of constraints
    are part of the result.
    """
    at = pose(model, q)
    moving = motion(model, q, u, at)
    needed = newton_euler(model, at, moving, link_inertia(model, at), accelerations(model, at, moving, udot))
    return needed - generalized_force(model, at, on_links(model, at, wrenches))


@entry
def forward_dynamics(
    model: Model,
    q: Vector,
    u: Vector,
    tau: Vector | None = None,
    wrenches: Float[Array, "bodies 6"] | None = None,
    time: float | Float[Array, ""] = 0.0,
    method: str = "elimination",
    accept: tuple[str, ...] = (),
) -> Vector:
    """udot under gravity, constraints, generalised forces tau and external wrenches (as in `inverse_dynamics`).

    `method`: `elimination` of coupled, locked and prescribed coordinates, or `multipliers` for all constraints. Both give
    the same accelerations; elimination solves a smaller system. `time` matters for prescribed coordinates only.
    """
    need_constraints(model, "forward_dynamics", accept)
    terms, force = _terms(model, q, u, tau, wrenches, time)
    if method == "elimination":
        return by_elimination(terms, force)
    if method == "multipliers":
        return by_multipliers(terms, force)[0]
    raise ModelError(f"forward_dynamics: method is 'elimination' or 'multipliers', not {method!r}")


@entry
def constraint_multipliers(
    model: Model,
    q: Vector,
    u: Vector,
    tau: Vector | None = None,
    wrenches: Float[Array, "bodies 6"] | None = None,
    time: float | Float[Array, ""] = 0.0,
    accept: tuple[str, ...] = (),
) -> Float[Array, " rows"]:
    """lambda of every constraint row: `M udot + b + G^T lambda = tau`."""
    need_constraints(model, "constraint_multipliers", accept)
    terms, force = _terms(model, q, u, tau, wrenches, time)
    return by_multipliers(terms, force)[1]


def _terms(
    model: Model,
    q: Vector,
    u: Vector,
    tau: Vector | None,
    wrenches: Float[Array, "bodies 6"] | None,
    time: float | Float[Array, ""],
) -> tuple[Dynamics, Vector]:
    """Terms of the equation of motion, and the generalised forces that are applied."""
    at = pose(model, q)
    terms = Dynamics(model, q, u, at, motion(model, q, u, at), time)
    force = jnp.zeros_like(u) if tau is None else tau
    if wrenches is not None:
        force = force + generalized_force(model, at, on_links(model, at, wrenches))
    return terms, force


# Constraints -------------------------------------------------------------------------------------------------


@entry
def constraint_jacobian(model: Model, q: Vector, accept: tuple[str, ...] = ()) -> Float[Array, "rows c"]:
    """G, one row per constraint equation (names: `model.constraints.row_names`)."""
    need_constraints(model, "constraint_jacobian", accept)
    return held.jacobian_rows(model, pose(model, q), q)


@entry
def constraint_bias(
    model: Model, q: Vector, u: Vector, time: float | Float[Array, ""] = 0.0, accept: tuple[str, ...] = ()
) -> Float[Array, " rows"]:
    """bias with `G udot + bias = 0`."""
    need_constraints(model, "constraint_bias", accept)
    at = pose(model, q)
    return held.bias_rows(model, at, motion(model, q, u, at), q, u, time)


@entry
def constraint_errors(
    model: Model, q: Vector, time: float | Float[Array, ""] = 0.0, accept: tuple[str, ...] = ()
) -> Float[Array, " rows"]:
    """How far each constraint is from being satisfied, in its own unit."""
    need_constraints(model, "constraint_errors", accept)
    return held.constraint_errors(model, pose(model, q), q, time)


@entry
def coupling_matrix(model: Model, q: Vector, accept: tuple[str, ...] = ()) -> Float[Array, "c c"]:
    """C(q): column i holds all speeds when coordinate i's speed is 1 and other independent ones are held (Eq. 13 of
    Sherman, Seth, Delp). Columns of dependent, locked and prescribed coordinates are NaN: they cannot be chosen.

    Where constraints tie independent coordinates (closed loops), the others move as little as they can, in the sense of
    least squares over the independent ones.
    """
    need_constraints(model, "coupling_matrix", accept)
    return coupling(model, q)


def coupling(model: Model, q: Vector) -> Float[Array, "c c"]:
    fixed, c = model.constraints, len(model.coordinate_names)
    C = held.rates_per_free(model, q)
    if len(fixed.implicit_rows):
        G = held.jacobian_rows(model, pose(model, q), q)[fixed.implicit_rows] @ C
        allowed = jnp.eye(len(fixed.free)) - jnp.linalg.pinv(G, rtol=1e-10) @ G  # projector on what G leaves free
        own = jnp.diagonal(allowed)
        # A coordinate that the constraints do not let move has no unit-rate motion: its column is undefined.
        given = np.isin(fixed.free, fixed.not_independent)  # by constraints that could not be eliminated
        movable = (own > 1e-9) & ~given
        C = C @ (allowed / jnp.where(movable, own, 1.0)) * jnp.where(movable, 1.0, jnp.nan)
    return jnp.full((c, c), jnp.nan).at[:, fixed.free].set(C)


# Projection --------------------------------------------------------------------------------------------------

_ASSEMBLY_STEPS = 30


@entry
def assemble(model: Model, q: Vector, time: float | Float[Array, ""] = 0.0, accept: tuple[str, ...] = ()) -> Vector:
    """A pose near q that satisfies the constraints.

    Coupled, locked and prescribed coordinates are set; closed loops are closed by Gauss-Newton steps of least change in
    the free coordinates. Raises if the loops cannot be closed from q.
    """
    need_constraints(model, "assemble", accept)
    fixed = model.constraints
    q = held.explicit_coordinates(model, q, time)
    if len(fixed.implicit_rows) == 0:
        return q

    def error(x: Vector) -> Float[Array, " implicit"]:
        full = held.explicit_coordinates(model, q.at[fixed.free].set(x), time)
        return held.constraint_errors(model, pose(model, full), full, time)[fixed.implicit_rows]

    def step(_: int, x: Vector) -> Vector:
        change = jnp.linalg.pinv(jax.jacfwd(error)(x), rtol=1e-9) @ error(x)
        size = jnp.max(jnp.abs(change), initial=0.0)
        return x - change * jnp.minimum(1.0, 0.5 / jnp.where(size > 0, size, 1.0))

    x = jax.lax.fori_loop(0, _ASSEMBLY_STEPS, step, q[fixed.free])
    left = error(x)
    names = [model.constraints.row_names[i] for i in fixed.implicit_rows]
    x = _unless_open(x, left, names)
    found = held.explicit_coordinates(model, q.at[fixed.free].set(x), time)
    return _unless_flipped(model, found)


def _unless_open(x: Vector, left: Float[Array, " rows"], names: list[str]) -> Vector:
    def blame(errors: np.ndarray) -> ModelError:
        worst = int(np.argmax(np.abs(errors[0])))
        return ModelError(
            f"the model cannot be assembled from this pose: {names[worst]} is still off by {abs(errors[0][worst]):.2g} "
            f"after {_ASSEMBLY_STEPS} steps; start from a pose nearer to one that satisfies the constraints"
        )

    return raise_where(jnp.max(jnp.abs(left)) > 1e-9, x, left[None], blame)


def _unless_flipped(model: Model, q: Vector) -> Vector:
    """Raise if a weld is satisfied the wrong way round: its three equations also hold after half a turn."""
    fixed = model.constraints
    if len(fixed.welds) == 0:
        return q
    along = held.weld_alignment(model, pose(model, q))
    names = [name.rsplit(" (", 1)[0] for name in fixed.row_names if name.endswith("(weld, x)")]

    def blame(values: np.ndarray) -> ModelError:
        return ModelError(
            f"the model cannot be assembled from this pose: {names[int(np.argmin(values[0]))]} closes the wrong way round, "
            "half a turn off; start from a pose nearer to the right one"
        )

    return raise_where(jnp.min(along) < 0, q, along[None], blame)


@entry
def project_speeds(
    model: Model, q: Vector, u: Vector, time: float | Float[Array, ""] = 0.0, accept: tuple[str, ...] = ()
) -> Vector:
    """Speeds near u that satisfy the velocity constraints: coupled ones set, loops closed by least change."""
    need_constraints(model, "project_speeds", accept)
    fixed = model.constraints
    u = held.explicit_speeds(model, q, u, time)
    if len(fixed.implicit_rows) == 0:
        return u
    at = pose(model, q)
    C = held.rates_per_free(model, q)
    G = held.jacobian_rows(model, at, q)[fixed.implicit_rows] @ C
    left = held.speed_errors(model, at, q, u, time)[fixed.implicit_rows]
    u = u - C @ (jnp.linalg.pinv(G, rtol=1e-10) @ left)
    rest = held.speed_errors(model, at, q, u, time)[fixed.implicit_rows]
    names = [fixed.row_names[i] for i in fixed.implicit_rows]

    def blame(errors: np.ndarray) -> ModelError:
        worst = int(np.argmax(np.abs(errors[0])))
        return ModelError(
            f"no speeds satisfy the constraints at this pose: {names[worst]} is off by {errors[0][worst]:.2g}"
        )

    return raise_where(jnp.max(jnp.abs(rest)) > 1e-9 * (1 + jnp.max(jnp.abs(u))), u, rest[None], blame)
