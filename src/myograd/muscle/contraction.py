"""The muscles of a model, whatever their classes: forces, fibre velocities, equilibrium, and activation.

Muscles of one class and variant are computed together; results are in the order of `model.muscle_names`. The functions that
take path lengths and speeds are the physics; those that take q and u find these first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..dynamics.entry import SHAPES, entry
from ..dynamics.kinematics import pose
from ..errors import ModelError, UnreadError
from ..model.model import Model, MuscleValues
from ..model.muscle_kinds import MuscleKinds
from ..model.muscle_properties import DE_GROOTE_FREGLY, MILLARD, RIGID, SCHUTTE, THELEN
from . import degroote_fregly, millard, rigid_tendon, schutte, thelen
from .api import muscle_rows, need_paths
from .bad_input import in_range, warn_of_fibers
from .length import lengths_and_gradient
from .state import MuscleState, Vector, held

CLASSES: dict[str, ModuleType] = {
    MILLARD: millard,
    THELEN: thelen,
    DE_GROOTE_FREGLY: degroote_fregly,
    SCHUTTE: schutte,
    RIGID: rigid_tendon,
}
"""Each has `variant` and `shape` (what of a class is static), `dynamics`, `equilibrium`, `force_balance` and
`activation_derivative`, with the same arguments in all of them."""
FIRST_ORDER = (MILLARD, THELEN)
"""Classes whose activation follows Eqs. 17-18 of paper 000 (`activation_rate`)."""
SHAPES.update(dict.fromkeys(("activation", "excitation", "fiber_length", "fiber_velocity"), ("muscle_names",)))
NOTHING: Any = np.zeros(0)


# Groups ------------------------------------------------------------------------------------------------------


class Group(NamedTuple):
    """Muscles of one class and variant."""

    of: ModuleType
    shape: Any
    muscles: np.ndarray


class Groups(NamedTuple):
    groups: tuple[Group, ...]
    order: np.ndarray | None  # puts the groups' results in the order of the model; None if they are
    missing: int  # muscles of classes that are not computed come last, as NaN


@functools.lru_cache(maxsize=64)
def grouped(kinds: MuscleKinds) -> Groups:
    places: dict[tuple[str, str], list[int]] = {}
    left_out: list[int] = []
    for m, kind in enumerate(kinds.kind):
        if kinds.problem[m]:
            left_out.append(m)
        else:
            places.setdefault((kind, CLASSES[kind].variant(kinds, m)), []).append(m)
    groups = tuple(
        Group(CLASSES[kind], _shape(kinds, kind, muscles), np.array(muscles)) for (kind, _), muscles in places.items()
    )
    sequence = [m for muscles in places.values() for m in muscles] + left_out
    order = np.argsort(sequence)
    return Groups(groups, None if sequence == sorted(sequence) else order, len(left_out))


def _shape(kinds: MuscleKinds, kind: str, muscles: list[int]) -> Any:
    try:
        return CLASSES[kind].shape(kinds, muscles)
    except ModelError:
        for m in muscles:  # which one is it?
            try:
                CLASSES[kind].shape(kinds, [m])
            except ModelError as error:
                raise ModelError(f"{kind} {kinds.name[m]!r}: {error}") from None
        raise


def _each(model: Model, compute: Callable[..., Any], *columns: Vector, nothing: Any = NOTHING) -> Any:
    """`compute(group, its parameters, its entries of columns)` for all groups, put together again. `nothing`: the result of
    a model without muscles that can be computed."""
    made = grouped(model.muscle_kinds)
    whole = len(made.groups) == 1 and not made.missing

    def part(column: Array, group: Group) -> Array:
        return column if whole else column[group.muscles]

    results = [
        compute(group, jax.tree.map(lambda x, g=group: part(x, g), model.muscles), *(part(x, group) for x in columns))
        for group in made.groups
    ]
    if whole:
        return results[0]
    blank = jnp.full(made.missing, jnp.nan)

    def join(*parts: Array) -> Array:
        everything = jnp.concatenate([*parts, blank])
        return everything if made.order is None else everything[made.order]

    return jax.tree.map(join, *(results or [nothing]))


def _activated(group: Group, activation: Vector) -> Vector:
    """Activation between the class's minimum and 1. Held here, and nowhere else."""
    return held(activation, getattr(group.shape, "minimum_activation", 0.0), 1.0)


def _group_dynamics(
    group: Group, p: MuscleValues, length: Vector, speed: Vector, activation: Vector, fiber_length: Vector
) -> MuscleState:
    return group.of.dynamics(p, group.shape, length, speed, _activated(group, activation), fiber_length)


# From path lengths and speeds --------------------------------------------------------------------------------


def muscle_states(model: Model, length: Vector, speed: Vector, activation: Vector, fiber_length: Vector) -> MuscleState:
    """What every muscle does, from its path's length [m] and speed [m/s], its activation and fibre length [m]."""
    nothing = MuscleState(*[NOTHING] * len(MuscleState._fields))
    return _each(model, _group_dynamics, length, speed, activation, fiber_length, nothing=nothing)


def fiber_equilibrium(model: Model, length: Vector, speed: Vector, activation: Vector) -> Vector:
    """Fibre lengths [m] at which fibres and tendons balance, each class by its own convention."""
    return _each(
        model,
        lambda group, p, length, speed, a: group.of.equilibrium(p, group.shape, length, speed, _activated(group, a)),
        length,
        speed,
        activation,
    )


def force_balance(
    model: Model, length: Vector, activation: Vector, fiber_length: Vector, fiber_velocity: Vector
) -> Vector:
    """Fibre force along the tendon less tendon force [N]; zero for rigid tendons."""
    normalised = _each(model, _group_balance, length, activation, fiber_length, fiber_velocity)
    return model.muscles.max_isometric_force * normalised


def _group_balance(
    group: Group, p: MuscleValues, length: Vector, activation: Vector, fiber_length: Vector, fiber_velocity: Vector
) -> Vector:
    a = _activated(group, activation)
    return group.of.force_balance(p, group.shape, length, a, fiber_length, fiber_velocity)


def fiber_forces(model: Model, activation: Vector, fiber_length: Vector, fiber_velocity: Vector) -> Vector:
    """Fibre force along the tendon [N] from the fibre's length [m] and velocity [m/s], whatever the tendon does. For the classes
    of `FIRST_ORDER` with elastic tendons."""
    normalised = _each(
        model,
        lambda group, p, a, fiber, v: group.of.fiber_force(p, group.shape, _activated(group, a), fiber, v),
        activation,
        fiber_length,
        fiber_velocity,
    )
    return model.muscles.max_isometric_force * normalised


# From coordinates and speeds ---------------------------------------------------------------------------------


def need_contraction(model: Model, function: str, accept: tuple[str, ...]) -> None:
    """Raise unless every muscle whose contraction cannot be computed is accepted by name."""
    for name, problem in zip(model.muscle_names, model.muscle_kinds.problem, strict=True):
        if problem and name not in accept:
            raise UnreadError(
                f"{function} of {model.names.model!r}: muscle {name!r}: {problem}. To do without, pass accept=({name!r},)"
            )


def _path(model: Model, q: Array, u: Array, function: str, accept: tuple[str, ...]) -> tuple[Vector, Vector]:
    """Lengths and speeds of the muscles' paths."""
    need_paths(model, function, accept)
    length, gradient = lengths_and_gradient(model, pose(model, q), q)
    return muscle_rows(model, length), muscle_rows(model, gradient @ u)


@in_range
def muscle_dynamics(
    model: Model,
    q: Float[Array, " c"],
    u: Float[Array, " c"],
    activation: Vector,
    fiber_length: Vector,
    accept: tuple[str, ...] = (),
) -> MuscleState:
    """What every muscle does: `tendon_force`, `fiber_velocity`, and all their parts by name (see `MuscleState`).

    `fiber_length` [m] is not used where the tendon is rigid. Fibres shorter than the class allows are computed, and reported,
    at its limit, with a FiberLengthWarning; activation is held between the class's minimum and 1.
    """
    state = _muscle_dynamics(model, q, u, activation, fiber_length, accept)
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


def activation_rates(model: Model, activation: Vector, excitation: Vector) -> Vector:
    kinds = model.muscle_kinds
    immediate = np.array(kinds.immediate_activation, bool)
    rate = _each(model, _group_rate, activation, held(excitation, 0.0, 1.0))
    return jnp.where(immediate, 0.0, rate)


def _group_rate(group: Group, p: MuscleValues, activation: Vector, excitation: Vector) -> Vector:
    return group.of.activation_derivative(p, group.shape, _activated(group, activation), excitation)
