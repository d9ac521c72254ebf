"""Ligament: tension by a curve of a path's length, `T = F_pcsa f(L / L_rest)` while the path is longer than at rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..geometry.piecewise import PiecewisePolynomials, evaluate, integral
from ..model.description import Ligament
from .term import Energy, Instant, Law, Loads, Places, column, put_each

if TYPE_CHECKING:
    from ..model.model import Model

NUMBERS = ("resting_length", "pcsa_force")


class Ligaments(Law):
    describes: ClassVar = Ligament
    resting_length: Float[Array, " n"]
    pcsa_force: Float[Array, " n"]
    curve: PiecewisePolynomials
    path: tuple[int, ...] = eqx.field(static=True)

    @classmethod
    def of(cls, forces: Sequence[Ligament], places: Places) -> Ligaments:
        return cls(
            names=tuple(force.name for force in forces),
            curve=places.functions([(x.force_length_curve, f"Ligament {x.name!r}") for x in forces]),
            path=tuple(places.path(x) for x in forces),
            **{name: column(forces, name) for name in NUMBERS},
        )

    def write(self, forces: Sequence[Ligament]) -> None:
        for name in NUMBERS:
            put_each(forces, name, getattr(self, name))

    def _strained(self, now: Instant) -> Float[Array, " n"]:
        """Length over the resting length."""
        assert now.length is not None
        return now.length[np.array(self.path)] / self.resting_length

    def amounts(self, now: Instant) -> Float[Array, " n"]:
        x = self._strained(now)
        return jnp.where(x > 1, evaluate(self.curve, x)[0] * self.pcsa_force, 0.0)

    def force(self, model: Model, now: Instant) -> Loads:
        return Loads(tensions=self.amounts(now) @ np.eye(len(model.names.paths))[np.array(self.path)])

    def energy(self, model: Model, now: Instant) -> Energy:
        x = jnp.maximum(self._strained(now), 1.0)
        stored = integral(self.curve, jnp.ones_like(x), x)
        return Energy(elastic=jnp.sum(self.pcsa_force * self.resting_length * stored))
