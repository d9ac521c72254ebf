"""SpringGeneralizedForce: a spring and damper on a coordinate, `tau = -K (q - q_rest) - d u`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..model.description import SpringGeneralizedForce
from .term import Energy, Instant, Law, Loads, Places, column, put_each

if TYPE_CHECKING:
    from ..model.model import Model

NUMBERS = ("stiffness", "rest_length", "viscosity")


class CoordinateSprings(Law):
    describes: ClassVar = SpringGeneralizedForce
    reported_as: ClassVar[str] = "{}_Force"
    stiffness: Float[Array, " n"]
    rest_length: Float[Array, " n"]
    viscosity: Float[Array, " n"]
    coordinate: tuple[int, ...] = eqx.field(static=True)

    @classmethod
    def of(cls, forces: Sequence[SpringGeneralizedForce], places: Places) -> CoordinateSprings:
        return cls(
            names=tuple(force.name for force in forces),
            coordinate=tuple(places.coordinate(x.coordinate, f"SpringGeneralizedForce {x.name!r}") for x in forces),
            **{name: column(forces, name) for name in NUMBERS},
        )

    def write(self, forces: Sequence[SpringGeneralizedForce]) -> None:
        for name in NUMBERS:
            put_each(forces, name, getattr(self, name))

    def amounts(self, now: Instant) -> Float[Array, " n"]:
        which = np.array(self.coordinate)
        return -self.stiffness * (now.q[which] - self.rest_length) - self.viscosity * now.u[which]

    def force(self, model: Model, now: Instant) -> Loads:
        return Loads(coordinates=self.amounts(now) @ np.eye(len(now.u))[np.array(self.coordinate)])

    def energy(self, model: Model, now: Instant) -> Energy:
        stretch = now.q[np.array(self.coordinate)] - self.rest_length
        return Energy(elastic=jnp.sum(self.stiffness * stretch**2) / 2)
