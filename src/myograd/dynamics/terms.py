"""The terms of a model's equation of motion at an instant: its rigid links, and whatever else it has."""

from __future__ import annotations

from collections.abc import Iterable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..force.term import Energy, Instant, Term
from ..geometry.frames import Pose
from ..geometry.spatial import dot
from ..model.model import Model
from .inertia import apply_inertia, joint_space_inertia, link_inertia
from .inverse import mass_times, newton_euler
from .kinematics import accelerations, motion, pose

Vector = Float[Array, " c"]


def instant(model: Model, q: Vector, u: Vector, time: Float[Array, ""] | float = 0.0) -> Instant:
    """Where the model is and how it moves."""
    at = pose(model, q)
    return Instant(time, q, u, at, motion(model, q, u, at))


class RigidLinks(Term):
    """The skeleton itself, at a pose."""

    link_inertia: Float[Array, "10 n"]
    """about the ground origin (`inertia.link_inertia`)"""

    @classmethod
    def of(cls, model: Model, at: Pose) -> RigidLinks:
        return cls(link_inertia(model, at))

    def coupled(self, model: Model) -> np.ndarray:
        return _linked(model)

    def inertia(self, model: Model, now: Instant) -> Float[Array, "c c"]:
        return joint_space_inertia(model, now.at, self.link_inertia)

    def inertia_block(self, model: Model, now: Instant, which: np.ndarray) -> Float[Array, "k k"]:
        return joint_space_inertia(model, now.at, self.link_inertia, which)

    def inertia_times(self, model: Model, now: Instant, x: Vector) -> Vector:
        return mass_times(model, now.at, self.link_inertia, x)

    def bias(self, model: Model, now: Instant) -> Vector:
        return newton_euler(model, now.at, now.moving, self.link_inertia, now.moving.bias_acceleration)

    def needed(self, model: Model, now: Instant, udot: Vector) -> Vector:
        links = accelerations(model, now.at, now.moving, udot)
        return newton_euler(model, now.at, now.moving, self.link_inertia, links)

    def first_moment(self, model: Model, now: Instant) -> Float[Array, "4"]:
        return jnp.sum(self.link_inertia[:4], axis=1)

    def momentum(self, model: Model, now: Instant) -> Float[Array, "6"]:
        return jnp.sum(apply_inertia(self.link_inertia, now.moving.velocity), axis=1)

    def energy(self, model: Model, now: Instant) -> Energy:
        V = now.moving.velocity
        kinetic = 0.5 * jnp.sum(dot(V, apply_inertia(self.link_inertia, V)))
        return Energy(kinetic, -model.gravity @ jnp.sum(self.link_inertia[1:4], axis=1))


def added(parts: Iterable[Array]) -> Array:
    """The sum of what terms give, without a zero to begin with, which would not be free."""
    first, *others = parts
    return sum(others, first)


def inertial_terms(model: Model, now: Instant) -> list[Term]:
    """Those that have inertia."""
    return [RigidLinks.of(model, now.at), *(term for term in model.terms if term.coupled(model) is not None)]


def _linked(model: Model) -> np.ndarray:
    """[c, c] bool: coordinates that move some link together."""
    links = model.tree.speed_links
    return links @ links.T > 0


def coupled_coordinates(model: Model) -> np.ndarray:
    """[c, c] bool: between which coordinates the mass matrix may have entries."""
    found = _linked(model)
    for term in model.terms:
        more = term.coupled(model)
        if more is not None:
            found = found | more | more.T
    return found
