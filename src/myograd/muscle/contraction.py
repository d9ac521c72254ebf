"""The muscles of a model, whatever their classes, from the lengths and speeds of their paths: forces, fibre velocities,
equilibrium, activation. Results are in the order of `model.muscle_names`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..model.model import Model, MuscleValues
from .groups import grouped, part_of
from .state import Group, MuscleState, Vector, clamped

NOTHING: Any = np.zeros(0)


def _each(model: Model, compute: Callable[..., Any], *columns: Vector, nothing: Any = NOTHING) -> Any:
    """`compute(group, its parameters, its shape, its entries of columns)` for all groups, put together again. `nothing`: the
    result of a model without muscles that can be computed."""
    made = grouped(model.muscle_classes)
    whole = len(made.groups) == 1 and not made.missing
    results = []
    for group in made.groups:
        p, own = (model.muscles, columns) if whole else part_of((model.muscles, columns), group)
        results.append(compute(group, p, group.of.shape(p, group), *own))
    if whole:
        return results[0]
    blank = jnp.full(made.missing, jnp.nan)

    def join(*parts: Array | np.ndarray) -> Array:
        everything = jnp.concatenate([*parts, blank])
        return everything if made.order is None else everything[made.order]

    return jax.tree.map(join, *(results or [nothing]))


def _activated(shape: Any, activation: Vector) -> Vector:
    """Activation between the class's minimum and 1. Clamped here, and nowhere else."""
    return clamped(activation, getattr(shape, "minimum_activation", 0.0), 1.0)


def _group_dynamics(
    group: Group, p: MuscleValues, shape: Any, length: Vector, speed: Vector, activation: Vector, fiber_length: Vector
) -> MuscleState:
    return group.of.dynamics(p, shape, length, speed, _activated(shape, activation), fiber_length)


# From path lengths and speeds --------------------------------------------------------------------------------


def muscle_states(model: Model, length: Vector, speed: Vector, activation: Vector, fiber_length: Vector) -> MuscleState:
    """What every muscle does, from its path's length [m] and speed [m/s], its activation and fibre length [m]."""
    nothing = MuscleState(*[NOTHING] * len(MuscleState._fields))
    return _each(model, _group_dynamics, length, speed, activation, fiber_length, nothing=nothing)


def fiber_equilibrium(model: Model, length: Vector, speed: Vector, activation: Vector) -> Vector:
    """Fibre lengths [m] at which fibres and tendons balance, each class by its own convention."""
    return _each(
        model,
        lambda group, p, shape, length, speed, a: group.of.equilibrium(p, shape, length, speed, _activated(shape, a)),
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
    group: Group,
    p: MuscleValues,
    shape: Any,
    length: Vector,
    activation: Vector,
    fiber_length: Vector,
    fiber_velocity: Vector,
) -> Vector:
    return group.of.force_balance(p, shape, length, _activated(shape, activation), fiber_length, fiber_velocity)


def fiber_forces(model: Model, activation: Vector, fiber_length: Vector, fiber_velocity: Vector) -> Vector:
    """Fibre force along the tendon [N] from the fibre's length [m] and velocity [m/s], whatever the tendon does. For the classes
    of `FIRST_ORDER` with elastic tendons."""
    normalised = _each(
        model,
        lambda group, p, shape, a, fiber, v: group.of.fiber_force(p, shape, _activated(shape, a), fiber, v),
        activation,
        fiber_length,
        fiber_velocity,
    )
    return model.muscles.max_isometric_force * normalised


def acting_activation(model: Model, activation: Vector, controls: Float[Array, " k"]) -> Vector:
    """Activations as they act: between the class's minimum and 1, as OpenSim's `getActivation` gives them; of muscles without
    activation dynamics, the excitation. What is not finite stays."""
    classes = model.muscle_classes
    excitation = controls[np.array(classes.control, int)]
    raw = jnp.where(np.array(classes.immediate_activation, bool), excitation, activation)
    limited = _each(model, lambda group, p, shape, a: _activated(shape, a), raw)
    computed = np.array([not problem for problem in classes.problem], bool)
    return jnp.where(computed & jnp.isfinite(raw), limited, raw)


def activation_rates(model: Model, activation: Vector, excitation: Vector) -> Vector:
    immediate = np.array(model.muscle_classes.immediate_activation, bool)
    rate = _each(model, _group_rate, activation, clamped(excitation, 0.0, 1.0))
    return jnp.where(immediate, 0.0, rate)


def _group_rate(group: Group, p: MuscleValues, shape: Any, activation: Vector, excitation: Vector) -> Vector:
    return group.of.activation_derivative(p, shape, _activated(shape, activation), excitation)
