"""The rate of change of a model's whole state under all forces.

M(q) udot + b(q, u) + G^T lambda = tau(q, u, a, l),    qdot = N(q) u,    adot, ldot by the muscles
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._arrays import ArrayLike
from ..dynamics.entry import entry, need_constraints
from ..dynamics.forward import Equation, by_elimination
from ..dynamics.kinematics import coordinate_rates, pose
from ..model.model import Model
from ..muscle.bad_input import in_range, warn_of_fibers
from ..muscle.contraction import activation_rates, fiber_equilibrium
from ..path.length import lengths_and_gradient
from .forces import Forces, forces_at, need_forces
from .state import State

Vector = Float[Array, " c"]


@in_range
def applied_forces(model: Model, state: State, controls: ArrayLike, accept: tuple[str, ...] = ()) -> Vector:
    """Generalised forces of all muscles, actuators, springs, limits and contacts [N m, N]; gravity and constraints are not among
    them. `controls`: one for each of `model.control_names`; excitations of muscles are clamped between 0 and 1."""
    # `entry` converts what is not an array.
    tau, used, tendon_length = _applied_forces(model, state, controls, accept)  # pyright: ignore[reportArgumentType]
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
    controls: ArrayLike,
    wrenches: ArrayLike | None = None,
    accept: tuple[str, ...] = (),
) -> State:
    """Rate of change of the state under all forces: `q` holds qdot, `u` holds udot, and so on.

    `controls`: see `applied_forces`. `wrenches`: external moment [N m], then force at the body origin [N], on each body, in
    ground (see `external_wrenches`). Muscles that are accepted though they are not computed stay as they are.
    """
    rate, used, tendon_length = _state_derivative(model, state, controls, wrenches, accept)  # pyright: ignore[reportArgumentType]
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
    udot = by_elimination(Equation(model, it.now), it.tau)
    return State(coordinate_rates(model, state.q, state.u), udot, *muscle_rates(model, controls, it), jnp.ones(()))


def muscle_rates(
    model: Model, controls: Float[Array, " k"], it: Forces
) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
    """Rates of change of activations, and of fibre lengths."""
    activation = activation_rates(model, it.activation, controls[np.array(model.muscle_classes.control, int)])
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
    return jnp.where(np.array([not problem for problem in model.muscle_classes.problem], bool), values, 0.0)
