"""CoordinateActuator: a generalised force on a coordinate, `tau = control * optimal force`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from ..model.description import CoordinateActuator
from .term import Instant, Law, Loads, Places, column, put_each

if TYPE_CHECKING:
    from ..model.model import Model


class CoordinateActuators(Law):
    describes: ClassVar = CoordinateActuator
    optimal_force: Float[Array, " n"]
    """at full control [N m, N]"""
    coordinate: tuple[int, ...] = eqx.field(static=True)
    control: tuple[int, ...] = eqx.field(static=True)

    @classmethod
    def of(cls, forces: Sequence[CoordinateActuator], places: Places) -> CoordinateActuators:
        return cls(
            names=tuple(force.name for force in forces),
            optimal_force=column(forces, "optimal_force"),
            coordinate=tuple(places.coordinate(x.coordinate, f"CoordinateActuator {x.name!r}") for x in forces),
            control=tuple(places.control(x.name) for x in forces),
        )

    def write(self, forces: Sequence[CoordinateActuator]) -> None:
        put_each(forces, "optimal_force", self.optimal_force)

    def amounts(self, now: Instant) -> Float[Array, " n"]:
        assert now.controls is not None
        return self.optimal_force * now.controls[np.array(self.control)]

    def force(self, model: Model, now: Instant) -> Loads:
        return Loads(coordinates=self.amounts(now) @ np.eye(len(now.u))[np.array(self.coordinate)])
