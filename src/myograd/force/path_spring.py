"""PathSpring: a spring along a path, `T = K (L - L_rest) (1 + D Ldot)` while the path is longer than at rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..model.description import PathSpring
from .term import Energy, Instant, Law, Loads, Places, column, put_each

if TYPE_CHECKING:
    from ..model.model import Model

NUMBERS = ("resting_length", "stiffness", "dissipation")


class PathSprings(Law):
    describes: ClassVar = PathSpring
    reported_as: ClassVar[str] = "{}_tension"
    resting_length: Float[Array, " n"]
    stiffness: Float[Array, " n"]
    dissipation: Float[Array, " n"]
    path: tuple[int, ...] = eqx.field(static=True)

    @classmethod
    def of(cls, forces: Sequence[PathSpring], places: Places) -> PathSprings:
        return cls(
            names=tuple(force.name for force in forces),
            path=tuple(places.path(x) for x in forces),
            **{name: column(forces, name) for name in NUMBERS},
        )

    def write(self, forces: Sequence[PathSpring]) -> None:
        for name in NUMBERS:
            put_each(forces, name, getattr(self, name))

    def _stretch(self, now: Instant) -> Float[Array, " n"]:
        assert now.length is not None
        beyond = now.length[np.array(self.path)] - self.resting_length
        return jnp.where(beyond > 0, beyond, 0.0)

    def amounts(self, now: Instant) -> Float[Array, " n"]:
        assert now.speed is not None
        return self.stiffness * self._stretch(now) * (1 + self.dissipation * now.speed[np.array(self.path)])

    def force(self, model: Model, now: Instant) -> Loads:
        return Loads(tensions=self.amounts(now) @ np.eye(len(model.names.paths))[np.array(self.path)])

    def energy(self, model: Model, now: Instant) -> Energy:
        return Energy(elastic=jnp.sum(self.stiffness * self._stretch(now) ** 2) / 2)
