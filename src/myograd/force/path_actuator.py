"""PathActuator: a tension along a path, `T = control * optimal force`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from ..model.description import PathActuator
from .term import Instant, Law, Loads, Places, column, put_each

if TYPE_CHECKING:
    from ..model.model import Model


class PathActuators(Law):
    describes: ClassVar = PathActuator
    optimal_force: Float[Array, " n"]
    """at full control [N]"""
    path: tuple[int, ...] = eqx.field(static=True)
    control: tuple[int, ...] = eqx.field(static=True)

    @classmethod
    def of(cls, forces: Sequence[PathActuator], places: Places) -> PathActuators:
        return cls(
            names=tuple(force.name for force in forces),
            optimal_force=column(forces, "optimal_force"),
            path=tuple(places.path(x) for x in forces),
            control=tuple(places.control(x.name) for x in forces),
        )

    def write(self, forces: Sequence[PathActuator]) -> None:
        put_each(forces, "optimal_force", self.optimal_force)

    def amounts(self, now: Instant) -> Float[Array, " n"]:
        assert now.controls is not None
        return self.optimal_force * now.controls[np.array(self.control)]

    def force(self, model: Model, now: Instant) -> Loads:
        return Loads(tensions=self.amounts(now) @ np.eye(len(model.names.paths))[np.array(self.path)])
