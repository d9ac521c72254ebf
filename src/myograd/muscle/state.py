"""What a muscle is doing: the result of contraction dynamics, and the geometry of pennate fibres that all classes share."""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..model.model import MuscleValues

Vector = Float[Array, " m"]
TINY = 2.0**-45.5
"""Simbody's SignificantReal, machine epsilon to the power 7/8: OpenSim's margin where it compares lengths."""


def clamped(x: Array, low: Array | np.ndarray | float, high: Array | np.ndarray | float) -> Array:
    """x between two limits. At a limit its slope is 1, that of the side within; `jnp.clip` would have half of it."""
    return jnp.where(x < low, low, jnp.where(x > high, high, x))


def at_least(x: Array, low: Array | np.ndarray | float) -> Array:
    """`clamped` from below only."""
    return jnp.where(x < low, low, x)


class Group(NamedTuple):
    """Muscles of one class and variant: what is static of them."""

    of: ModuleType
    """the class: a module of `muscle.classes`"""
    variant: str
    muscles: np.ndarray
    """their places in the model"""
    stated: tuple[tuple[str, ...], ...]
    """optional numbers and curves that the file states, of each"""
    passive_force: tuple[bool, ...]


class MuscleState(NamedTuple):
    """One entry per muscle. Forces in N, lengths in m, velocities in m/s; normalised ones as the names of curves say."""

    tendon_force: Vector
    fiber_length: Vector
    """as used: clamped to the class's minimum; from the path where the tendon is rigid"""
    fiber_velocity: Vector
    norm_fiber_length: Vector
    """by the optimal fibre length"""
    norm_fiber_velocity: Vector
    """by the maximum contraction velocity"""
    pennation: Vector
    """[rad]"""
    activation: Vector
    """as used: clamped to the class's minimum and to 1"""
    fal: Vector
    """active force-length multiplier"""
    fpl: Vector
    """passive force-length multiplier"""
    fv: Vector
    """force-velocity multiplier"""
    active_fiber_force: Vector
    passive_fiber_force: Vector
    """elastic and damping"""
    fiber_force: Vector
    active_fiber_force_along_tendon: Vector
    passive_fiber_force_along_tendon: Vector
    fiber_force_along_tendon: Vector
    tendon_length: Vector
    tendon_strain: Vector


class Fiber(NamedTuple):
    """A fibre of a muscle of constant width, `width = l sin(phi)`."""

    length: Vector
    sin: Vector
    cos: Vector

    @property
    def along_tendon(self) -> Vector:
        return self.length * self.cos


def fiber_width(p: MuscleValues) -> Vector:
    """What is constant of a fibre as it shortens and turns [m]."""
    return p.optimal_fiber_length * jnp.sin(p.pennation_angle)


def pennate(width: Vector, length: Vector, steepest: Vector | np.ndarray | float) -> Fiber:
    """The fibre of a length, with at most the pennation whose sine is `steepest`."""
    sin = clamped(width / at_least(length, TINY), 0.0, steepest)
    return Fiber(length, sin, jnp.sqrt(1 - sin**2))


def muscle_state(
    p: MuscleValues,
    *,
    tendon_force: Vector,
    fiber: Fiber,
    tendon_length: Vector,
    fiber_velocity: Vector,
    norm_fiber_velocity: Vector,
    activation: Vector,
    curves: tuple[Vector, Vector, Vector],
    active: Vector,
    passive: Vector,
    total: Vector,
) -> MuscleState:
    """All quantities from those that a class works out for itself; `curves`: active, passive, force-velocity."""
    return MuscleState(
        tendon_force=tendon_force,
        fiber_length=fiber.length,
        fiber_velocity=fiber_velocity,
        norm_fiber_length=fiber.length / p.optimal_fiber_length,
        norm_fiber_velocity=norm_fiber_velocity,
        pennation=jnp.arcsin(fiber.sin),
        activation=activation,
        fal=curves[0],
        fpl=curves[1],
        fv=curves[2],
        active_fiber_force=active,
        passive_fiber_force=passive,
        fiber_force=total,
        active_fiber_force_along_tendon=active * fiber.cos,
        passive_fiber_force_along_tendon=passive * fiber.cos,
        fiber_force_along_tendon=total * fiber.cos,
        tendon_length=tendon_length,
        tendon_strain=tendon_length / p.tendon_slack_length - 1,
    )
