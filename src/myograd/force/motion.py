"""What all forces of a model together do: generalised forces, and the rate of change of its whole state.

    M(q) udot + b(q, u) + G^T lambda = tau_coordinates - (dL/dq)^T T + J^T w
T are the tensions of muscles and other forces along paths, w the wrenches of springs, bushings and contact on bodies. The
rest of the state are activations and fibre lengths of the muscles.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..dynamics.entry import SHAPES, entry, need, need_constraints
from ..dynamics.forward import Dynamics, by_elimination
from ..dynamics.inverse import generalized_force
from ..dynamics.kinematics import Motion, Pose, coordinate_rates, motion, pose
from ..dynamics.wrenches import on_links
from ..model.model import Model
from ..muscle.bad_input import in_range, warn_of_fibers
from ..muscle.contraction import activation_rates, fiber_equilibrium, muscle_states, need_contraction
from ..muscle.length import lengths_and_gradient
from ..muscle.state import MuscleState
from .contact import hunt_crossley, smooth_contacts
from .coordinates import coordinate_forces
from .frames import bushings, point_springs
from .paths import path_tensions

SHAPES["controls"] = ("control_names",)
Vector = Float[Array, " c"]


class State(eqx.Module):
    """Everything that changes as a model moves. Its rate of change has the same form."""

    q: Float[Array, " c"]
    u: Float[Array, " c"]
    activation: Float[Array, " m"]
    """not used where activation follows the control at once"""
    fiber_length: Float[Array, " m"]
    """[m]; not used where the tendon is rigid"""
    time: Float[Array, ""] | float = 0.0
    """[s]; matters to prescribed coordinates only"""


class Forces(eqx.Module):
    """Forces at one state, and what they were worked out from."""

    at: Pose
    moving: Motion
    length: Float[Array, " m"]
    """of the muscles' paths [m]"""
    speed: Float[Array, " m"]
    muscles: MuscleState
    activation: Float[Array, " m"]
    tau: Vector


def need_forces(model: Model, function: str, accept: tuple[str, ...]) -> None:
    """Raise unless every force that is not computed is accepted by name."""
    need(model, function, accept, "force", "force(s) that are not computed")
    need_contraction(model, function, accept)  # of a description that was changed since it was read


def forces_at(
    model: Model,
    state: State,
    controls: Float[Array, " k"],
    wrenches: Float[Array, "bodies 6"] | None = None,
    torques: Vector | None = None,
) -> Forces:
    """All forces but gravity and constraints. `wrenches`: see `state_derivative`; `torques`: more, on coordinates [N m, N]."""
    q, u, parts, kinds = state.q, state.u, model.force_parts, model.muscle_kinds
    m = len(model.muscle_names)
    at = pose(model, q)
    moving = motion(model, q, u, at)
    length, gradient = lengths_and_gradient(model, at, q)
    speed = gradient @ u
    excitation = controls[parts.muscle_control]
    activation = jnp.where(np.array(kinds.immediate_activation, bool), excitation, state.activation)
    muscles = muscle_states(model, length[:m], speed[:m], activation, state.fiber_length)
    acts = parts.muscle_on & np.array([not problem for problem in kinds.problem], bool)
    tension = path_tensions(model, length, speed, controls)
    tension = tension.at[:m].add(jnp.where(acts, muscles.tendon_force, 0.0)) if m else tension
    pulled = np.array([*acts, *[True] * (len(model.names.paths) - m)], bool)
    tau = coordinate_forces(model, q, u, controls) - jnp.where(pulled, tension, 0.0) @ jnp.where(
        pulled[:, None], gradient, 0.0
    )
    inner = jnp.zeros((6, len(model.tree.inboard)))
    if len(parts.spring_link):
        inner = inner + point_springs(model, at)
    if len(parts.bushing_link):
        inner = inner + bushings(model, at, moving)
    if len(parts.pairs):
        inner = inner + hunt_crossley(model, at, moving)
    if len(parts.smooth_surface):
        inner = inner + smooth_contacts(model, at, moving)
    if len(parts.spring_link) + len(parts.bushing_link) + len(parts.pairs) + len(parts.smooth_surface):
        tau = tau + generalized_force(model, at, inner)
    if wrenches is not None:
        tau = tau + generalized_force(model, at, on_links(model, at, wrenches))
    if torques is not None:
        tau = tau + torques
    return Forces(at, moving, length[:m], speed[:m], muscles, activation, tau)


@in_range
def applied_forces(model: Model, state: State, controls: Float[Array, " k"], accept: tuple[str, ...] = ()) -> Vector:
    """Generalised forces of all muscles, actuators, springs, limits and contacts [N m, N]; gravity and constraints are not among
    them. `controls`: one for each of `model.control_names`; excitations of muscles are held between 0 and 1."""
    tau, used, tendon_length = _applied_forces(model, state, controls, accept)
    warn_of_fibers(model, "applied_forces", state.fiber_length, used, tendon_length)
    return tau


@entry
def _applied_forces(
    model: Model, state: State, controls: Float[Array, " k"], accept: tuple[str, ...] = ()
) -> tuple[Vector, Array, Array]:
    """The forces, and for warnings: fibre lengths as used, tendon lengths."""
    need_forces(model, "applied_forces", accept)
    it = forces_at(model, state, controls)
    return it.tau, it.muscles.fiber_length, it.muscles.tendon_length


@in_range
def state_derivative(
    model: Model,
    state: State,
    controls: Float[Array, " k"],
    wrenches: Float[Array, "bodies 6"] | None = None,
    accept: tuple[str, ...] = (),
) -> State:
    """Rate of change of the state under all forces: `q` holds qdot, `u` holds udot, and so on.

    `controls`: see `applied_forces`. `wrenches`: external moment [N m], then force at the body origin [N], on each body, in
    ground (see `external_wrenches`). Muscles that are accepted though they are not computed stay as they are.
    """
    rate, used, tendon_length = _state_derivative(model, state, controls, wrenches, accept)
    warn_of_fibers(model, "state_derivative", state.fiber_length, used, tendon_length)
    return rate


@entry
def _state_derivative(
    model: Model,
    state: State,
    controls: Float[Array, " k"],
    wrenches: Float[Array, "bodies 6"] | None = None,
    accept: tuple[str, ...] = (),
) -> tuple[State, Array, Array]:
    """The rate, and for warnings: fibre lengths as used, tendon lengths."""
    need_constraints(model, "state_derivative", accept)
    need_forces(model, "state_derivative", accept)
    it = forces_at(model, state, controls, wrenches)
    return rates_under(model, state, controls, it), it.muscles.fiber_length, it.muscles.tendon_length


def state_rates(
    model: Model,
    state: State,
    controls: Float[Array, " k"],
    wrenches: Float[Array, "bodies 6"] | None = None,
    torques: Vector | None = None,
) -> State:
    """See `state_derivative`, and `forces_at` for `torques`."""
    return rates_under(model, state, controls, forces_at(model, state, controls, wrenches, torques))


def rates_under(model: Model, state: State, controls: Float[Array, " k"], it: Forces) -> State:
    """Rate of change of the state, from its forces."""
    udot = by_elimination(Dynamics(model, state.q, state.u, it.at, it.moving, state.time), it.tau)
    return State(coordinate_rates(model, state.q, state.u), udot, *muscle_rates(model, controls, it), jnp.ones(()))


def muscle_rates(
    model: Model, controls: Float[Array, " k"], it: Forces
) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
    """Rates of change of activations, and of fibre lengths."""
    activation = activation_rates(model, it.activation, controls[model.force_parts.muscle_control])
    return _where_computed(model, activation), _where_computed(model, it.muscles.fiber_velocity)


@in_range
@entry
def equilibrium_state(
    model: Model, q: Vector, u: Vector, activation: Float[Array, " m"], accept: tuple[str, ...] = ()
) -> State:
    """The state with muscles in equilibrium (`muscle_equilibrium`): where a simulation may start. Fibres of muscles that are
    accepted though they are not computed have no length."""
    need_forces(model, "equilibrium_state", accept)
    m = len(model.muscle_names)
    length, gradient = lengths_and_gradient(model, pose(model, q), q)
    fiber_length = fiber_equilibrium(model, length[:m], (gradient @ u)[:m], activation)
    return State(q, u, activation, _where_computed(model, fiber_length), jnp.zeros(()))


def _where_computed(model: Model, values: Float[Array, " m"]) -> Float[Array, " m"]:
    """Zero for muscles whose contraction is not computed, which have NaN."""
    return jnp.where(np.array([not problem for problem in model.muscle_kinds.problem], bool), values, 0.0)
