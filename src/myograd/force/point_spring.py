"""PointToPointSpring: `f = K (|d| - L_rest)` along the line d between a point of each of two bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..geometry.frames import between_links, placed, wrench
from ..geometry.spatial import norm
from ..model.description import PointToPointSpring
from .term import Energy, Instant, Law, Loads, Places, column, last, put, put_each

if TYPE_CHECKING:
    from ..model.model import Model


class PointSprings(Law):
    describes: ClassVar = PointToPointSpring
    location: Float[Array, "2 3 n"]
    """of the two points in their links [m]"""
    stiffness: Float[Array, " n"]
    rest_length: Float[Array, " n"]
    links: tuple[tuple[int, int], ...] = eqx.field(static=True)

    @classmethod
    def of(cls, forces: Sequence[PointToPointSpring], places: Places) -> PointSprings:
        """OpenSim takes the points to be in the frames of the bodies that the named frames are fixed to."""
        return cls(
            names=tuple(force.name for force in forces),
            location=last([(x.point1, x.point2) for x in forces], (2, 3)),
            stiffness=column(forces, "stiffness"),
            rest_length=column(forces, "rest_length"),
            links=tuple((places.on_link(x.frame1)[0], places.on_link(x.frame2)[0]) for x in forces),
        )

    def write(self, forces: Sequence[PointToPointSpring]) -> None:
        put_each(forces, "stiffness", self.stiffness)
        put_each(forces, "rest_length", self.rest_length)
        for i, force in enumerate(forces):
            put(force, "point1", self.location[0, :, i])
            put(force, "point2", self.location[1, :, i])

    def _ends(self, now: Instant) -> tuple[Float[Array, "3 n"], Float[Array, "3 n"]]:
        links = np.array(self.links)
        return placed(now.at, links[:, 0], self.location[0]), placed(now.at, links[:, 1], self.location[1])

    def force(self, model: Model, now: Instant) -> Loads:
        p1, p2 = self._ends(now)
        length = norm(p2 - p1)
        pull = self.stiffness * (length - self.rest_length) / jnp.where(length > 0, length, 1.0)
        return Loads(wrenches=between_links(now.at, np.array(self.links), wrench(p2, pull * (p1 - p2))))

    def energy(self, model: Model, now: Instant) -> Energy:
        p1, p2 = self._ends(now)
        return Energy(elastic=jnp.sum(self.stiffness * (norm(p2 - p1) - self.rest_length) ** 2) / 2)
