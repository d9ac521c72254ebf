"""The public functions of muscles: what they do at a pose, in equilibrium, and how their activation changes."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from .._arrays import ArrayLike
from ..dynamics.entry import entry
from ..dynamics.kinematics import pose
from ..errors import UnsupportedError
from ..model.model import Model
from ..path.api import muscle_rows, need_paths
from ..path.length import lengths_and_gradient
from .bad_input import in_range, warn_of_fibers
from .contraction import activation_rates, fiber_equilibrium, force_balance, muscle_states
from .state import MuscleState, Vector


def need_contraction(model: Model, function: str, accept: tuple[str, ...]) -> None:
    """Raise unless every muscle whose contraction cannot be computed is accepted by name."""
    each = zip(model.muscle_names, model.muscle_classes.problem, strict=True)
    missing = {name: problem for name, problem in each if problem and name not in accept}
    if missing:
        first = next(iter(missing))
        others = f" (the first of {len(missing)} such muscles)" if len(missing) > 1 else ""
        raise UnsupportedError(
            f"{function} of {model.name!r}: muscle {first!r}: {missing[first]}{others}", list(missing)
        )


def _path(model: Model, q: Array, u: Array, function: str, accept: tuple[str, ...]) -> tuple[Vector, Vector]:
    """Lengths and speeds of the muscles' paths."""
    need_paths(model, function, accept)
    length, gradient = lengths_and_gradient(model, pose(model, q), q)
    return muscle_rows(model, length), muscle_rows(model, gradient @ u)


@in_range
def muscle_dynamics(
    model: Model,
    q: ArrayLike,
    u: ArrayLike,
    activation: ArrayLike,
    fiber_length: ArrayLike,
    accept: tuple[str, ...] = (),
) -> MuscleState:
    """What every muscle does: `tendon_force`, `fiber_velocity`, and all their parts by name (see `MuscleState`).

    `fiber_length` [m] is not used where the tendon is rigid. Fibres shorter than the class allows are computed, and reported,
    at its limit, with a FiberLengthWarning; activation is clamped between the class's minimum and 1.
    """
    # `entry` converts what is not an array.
    state = _muscle_dynamics(model, q, u, activation, fiber_length, accept)  # pyright: ignore[reportArgumentType]
    warn_of_fibers(model, "muscle_dynamics", fiber_length, state.fiber_length, state.tendon_length)
    return state


@entry
def _muscle_dynamics(
    model: Model, q: Array, u: Array, activation: Vector, fiber_length: Vector, accept: tuple[str, ...] = ()
) -> MuscleState:
    need_contraction(model, "muscle_dynamics", accept)
    return muscle_states(model, *_path(model, q, u, "muscle_dynamics", accept), activation, fiber_length)


@in_range
@entry
def muscle_equilibrium(
    model: Model, q: Float[Array, " c"], u: Float[Array, " c"], activation: Vector, accept: tuple[str, ...] = ()
) -> Vector:
    """Fibre lengths [m] at which fibres and tendons balance.

    By each class's own convention, as OpenSim's: Millard and Schutte fibres are at rest, Thelen's share the path's speed with
    the tendon by their stiffness, De Groote and Fregly's take all of it. Where the tendon is rigid, the path decides.
    Derivatives are those of the equation that is solved.
    """
    need_contraction(model, "muscle_equilibrium", accept)
    return fiber_equilibrium(model, *_path(model, q, u, "muscle_equilibrium", accept), activation)


@in_range
@entry
def muscle_force_balance(
    model: Model,
    q: Float[Array, " c"],
    activation: Vector,
    fiber_length: Vector,
    fiber_velocity: Vector,
    accept: tuple[str, ...] = (),
) -> Vector:
    """Fibre force along the tendon less tendon force [N], for any fibre length [m] and velocity [m/s]: the implicit form of
    contraction dynamics, for solvers that treat the fibre velocity as unknown. Nothing is clamped but activation, so that a
    solver that strays feels a slope. Zero for rigid tendons."""
    need_contraction(model, "muscle_force_balance", accept)
    length, _ = _path(model, q, jnp.zeros_like(q), "muscle_force_balance", accept)
    return force_balance(model, length, activation, fiber_length, fiber_velocity)


@in_range
@entry
def activation_derivative(model: Model, activation: Vector, excitation: Vector, accept: tuple[str, ...] = ()) -> Vector:
    """da/dt [1/s] of every muscle, by its class; zero where activation is the excitation itself."""
    need_contraction(model, "activation_derivative", accept)
    return activation_rates(model, activation, excitation)
