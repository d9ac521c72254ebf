"""Any numbers of the model among the unknowns: the residual, and its derivatives by them.

Muscle contraction may depend on such a number (the slope of a curve), or the mechanics of the recordings (an attachment, the
radius of a wrapping surface, a joint's place, a mass, the stiffness of a ligament), which are then worked out anew at every
evaluation: torques, masses, arms, lengths of paths, and the null space of the deep muscles, whose number of directions stays.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...errors import ModelError, MyogradError
from ...model.model import Model, MuscleValues
from ...model.parameters import Selection
from ..inverse.mechanics import Motion, motion_mechanics
from ..recording import Recording
from .forces import only
from .identifiability import moved_null_space
from .parameters import Unknowns
from .residual import Data, Scheme, residual

CONTRACTION = ".muscles."  # leaves that change no mechanics
SKELETON = (".joints.", ".coordinates.", ".constraint_parameters.")
MOVED = ("torque", "torque_regressor", "mass", "mass_regressor", "metric", "null_space", "arms", "length")
"""What of `Data` is mechanics."""
GEOMETRY = (*SKELETON, ".path.", ".surfaces.")  # leaves that lengths and arms of paths depend on


class FreeModel(NamedTuple):
    """Which numbers are free, and what depends on them. Static."""

    numbers: Selection
    muscles: tuple[str, ...]
    """with EMG"""
    deep: tuple[str, ...]
    bodies: tuple[str, ...]
    accept: tuple[str, ...]

    def touches(self, *leaves: str) -> bool:
        return any(place.leaf.startswith(leaves) for place in self.numbers.places)

    @property
    def mechanical(self) -> bool:
        """Whether mechanics depend on them, not only contraction."""
        return not all(place.leaf.startswith(CONTRACTION) for place in self.numbers.places)


def need_own_geometry(model: Model, free: FreeModel, recordings: tuple[Recording, ...]) -> None:
    """Raise where a number cannot be found, because the recordings or the constraints already rest on it."""
    for recording in recordings:
        if free.touches(*GEOMETRY) and (recording.length is not None or recording.pull is not None):
            names = [
                n for n, at in zip(free.numbers.names, free.numbers.places, strict=True) if at.leaf.startswith(GEOMETRY)
            ]
            raise MyogradError(
                f"recording {recording.name!r} contains muscle lengths and moment arms, which {', '.join(names)} cannot change; "
                "take these out of the recording, or do not ask for the number"
            )
    if free.touches(*SKELETON) and len(model.constraints.implicit_rows):
        raise ModelError(
            f"numbers of joints and constraints of {model.name!r} cannot be identified: they determine how its loops close; with "
            "other values the recorded coordinates would violate the constraints"
        )


@partial(jax.jit, static_argnums=0)
def varied(
    free: FreeModel, model: Model, motion: Motion, data: Data, values: Float[Array, " also"]
) -> tuple[Model, Data]:
    """The driven muscles and a recording's data with other values of the free numbers."""
    model = free.numbers.set(model, values)
    driven = only(model, free.muscles)
    if not free.mechanical:
        return driven, data
    it = motion_mechanics(model, motion, free.bodies, free.accept)
    torque, torque_regressor, mass, mass_regressor, C = it.inertial
    which, deep = (np.array([model.muscle_names.index(m) for m in names], int) for names in (free.muscles, free.deep))
    null_space = data.null_space
    if len(deep):
        null_space = jax.vmap(moved_null_space)(jnp.swapaxes(it.arms[:, deep], 1, 2), null_space)
    return driven, data._replace(
        torque=torque,
        torque_regressor=torque_regressor,
        mass=mass,
        mass_regressor=mass_regressor,
        metric=jnp.linalg.inv(jnp.swapaxes(C, 1, 2) @ C),
        null_space=null_space,
        arms=it.arms[:, which],
        length=it.length[:, which],
    )


# Derivatives by the numbers are the chain of two programs, each of which compiles in half the time of both in one; the second
# does not know which numbers these are.


class Slopes(NamedTuple):
    """Of what depends on n numbers, by these: all arrays have one axis more, the last [n]."""

    muscles: MuscleValues
    """of the driven muscles"""
    moved: dict[str, Array]
    """those arrays of `Data` that are mechanics"""


def by_numbers(
    free: FreeModel,
    scheme: Scheme,
    model: Model,
    motion: Motion,
    data: Data,
    unknowns: Unknowns,
) -> Float[Array, "R k also"]:
    """Derivatives of the residual by the free numbers: forward mode, one direction for each."""
    driven, there = varied(free, model, motion, data, unknowns.also)
    return _along(driven, scheme, there, unknowns, _slopes(free, model, motion, data, unknowns.also))


@partial(jax.jit, static_argnums=0)
def _slopes(free: FreeModel, model: Model, motion: Motion, data: Data, values: Float[Array, " also"]) -> Slopes:
    def of(values: Array) -> Slopes:
        driven, there = varied(free, model, motion, data, values)
        return Slopes(driven.muscles, {name: getattr(there, name) for name in MOVED if free.mechanical})

    return jax.jacfwd(of)(values)


@partial(jax.jit, static_argnums=1)
def _along(driven: Model, scheme: Scheme, data: Data, unknowns: Unknowns, slopes: Slopes) -> Float[Array, "R k also"]:
    """What changes of muscles and mechanics do to the residual."""

    def of(at: Slopes) -> Array:
        return residual(replace(driven, muscles=at.muscles), scheme, data._replace(**at.moved), unknowns)[0]

    here = Slopes(driven.muscles, {name: getattr(data, name) for name in slopes.moved})
    return jax.vmap(lambda change: jax.jvp(of, (here,), (change,))[1], in_axes=-1, out_axes=-1)(slopes)
