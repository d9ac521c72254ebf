"""CoordinateLimitForce: a spring and damper beyond each limit of a coordinate, faded in over a transition.

tau = -s(x_up) K_up (q - q_up) + s(x_low) K_low (q_low - q) - d (s(x_up) + s(x_low)) u
x: how far beyond the limit, per transition;  s(x) = 10 x^3 - 15 x^4 + 6 x^5 from 0 to 1
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._arrays import as_array
from ..model.description import CoordinateLimitForce
from .term import Energy, Instant, Law, Loads, Places, put, put_each

if TYPE_CHECKING:
    from ..model.model import Model

SIDES = ("lower", "upper")


class CoordinateLimits(Law):
    """Radians and metres; a file states those of rotations in degrees."""

    describes: ClassVar = CoordinateLimitForce
    limit: Float[Array, "2 n"]
    stiffness: Float[Array, "2 n"]
    damping: Float[Array, " n"]
    transition: Float[Array, " n"]
    coordinate: tuple[int, ...] = eqx.field(static=True)
    unit: tuple[float, ...] = eqx.field(static=True)
    """what one unit of the file is: a degree for rotations [rad], else 1"""

    @classmethod
    def of(cls, forces: Sequence[CoordinateLimitForce], places: Places) -> CoordinateLimits:
        units = tuple(math.pi / 180 if places.is_rotation(x.coordinate) else 1.0 for x in forces)
        unit = np.array(units)
        limit, stiffness = (
            np.array([[getattr(x, f"{side}_{name}") for x in forces] for side in SIDES], float)
            for name in ("limit", "stiffness")
        )
        damping, transition = (np.array([getattr(x, n) for x in forces], float) for n in ("damping", "transition"))
        return cls(
            names=tuple(force.name for force in forces),
            limit=as_array(limit * unit),
            stiffness=as_array(stiffness / unit),
            damping=as_array(damping / unit),
            transition=as_array(transition * unit),
            coordinate=tuple(places.coordinate(x.coordinate, f"CoordinateLimitForce {x.name!r}") for x in forces),
            unit=units,
        )

    def write(self, forces: Sequence[CoordinateLimitForce]) -> None:
        unit = np.array(self.unit)
        put_each(forces, "damping", self.damping * unit)
        put_each(forces, "transition", self.transition / unit)
        for row, side in enumerate(SIDES):
            for i, force in enumerate(forces):
                put(force, f"{side}_limit", self.limit[row, i] / unit[i])
                put(force, f"{side}_stiffness", self.stiffness[row, i] * unit[i])

    def amounts(self, now: Instant) -> Float[Array, " n"]:
        which = np.array(self.coordinate)
        side = jnp.array([[-1.0], [1.0]])  # lower, upper
        beyond = side * (now.q[which] - self.limit)
        share = _step(beyond / self.transition)
        spring = jnp.sum(-side * share * self.stiffness * beyond, axis=0)
        return spring - self.damping * jnp.sum(share, axis=0) * now.u[which]

    def force(self, model: Model, now: Instant) -> Loads:
        return Loads(coordinates=self.amounts(now) @ np.eye(len(now.u))[np.array(self.coordinate)])

    def energy(self, model: Model, now: Instant) -> Energy:
        """K times the integral of s(x) x, which beyond the transition is that of x."""
        side = jnp.array([[-1.0], [1.0]])
        x = side * (now.q[np.array(self.coordinate)] - self.limit) / self.transition
        inside, beyond = jnp.clip(x, 0.0, 1.0), jnp.where(x > 1, x, 1.0)
        faded = inside**5 * (2 + inside * (-5 / 2 + inside * 6 / 7))
        return Energy(elastic=jnp.sum(self.stiffness * self.transition**2 * (faded + (beyond**2 - 1) / 2)))


def _step(x: Array) -> Array:
    """From 0 at 0 to 1 at 1, with two continuous derivatives."""
    x = jnp.clip(x, 0.0, 1.0)
    return x**3 * (10 + x * (6 * x - 15))
