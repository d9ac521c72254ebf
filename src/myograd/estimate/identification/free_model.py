"""Any numbers of the model among the unknowns: the residual, and its derivatives by them.

Muscle contraction may depend on such a number (the slope of a curve), or the mechanics of the recordings (an attachment, the
radius of a wrapping surface, a joint's place, a mass, the stiffness of a ligament), which are then worked out anew at every
evaluation: torques, masses, arms, lengths of paths, and the null space of the deep muscles, whose number of directions stays.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ...errors import ModelError, MyogradError
from ...model.model import Model
from ...model.parameters import Selection
from ..inverse.mechanics import inertial_mechanics, known_torques, lengths_and_pulls
from ..recording import Recording, obeying
from .forces import only
from .identifiability import moved_null_space
from .parameters import Unknowns
from .residual import Data, Scheme, residual

CONTRACTION = ".muscles."  # leaves that change no mechanics
CONSTRAINTS = (".coordinates.", ".constraint_parameters.")  # leaves that dependent coordinates follow from
SKELETON = (".joints.", *CONSTRAINTS)
GEOMETRY = (*SKELETON, ".path.", ".surfaces.")  # leaves that lengths and arms of paths depend on


class Motion(NamedTuple):
    """What was recorded of one movement, before any mechanics."""

    time: Float[Array, " T"]
    q: Float[Array, "T c"]
    u: Float[Array, "T c"]
    udot: Float[Array, "T c"]
    rows: Int[Array, " R"]
    """samples that have rows in the residual"""
    length: Float[Array, "T m"] | None
    """of all muscles, where another program's geometry is used"""
    pull: Float[Array, "T m c"] | None

    def thinned(self, kept: np.ndarray) -> Motion:
        return self._replace(rows=self.rows[kept])


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


def motion_of(recording: Recording, rows: np.ndarray) -> Motion:
    it = recording
    given = [None if x is None else jnp.asarray(x) for x in (it.length, it.pull)]
    moved = (jnp.asarray(x) for x in (it.time, it.q, it.u, it.udot, rows))
    return Motion(*moved, *given)


def need_own_geometry(model: Model, free: FreeModel, recordings: tuple[Recording, ...]) -> None:
    """Raise where a number cannot be found, because the recordings or the constraints already rest on it."""
    for recording in recordings:
        if free.touches(*GEOMETRY) and (recording.length is not None or recording.pull is not None):
            names = [
                n for n, at in zip(free.numbers.names, free.numbers.places, strict=True) if at.leaf.startswith(GEOMETRY)
            ]
            raise MyogradError(
                f"recording {recording.name!r} brings lengths and arms of the muscles along, on which {', '.join(names)} has no "
                "influence; take these out of the recording, or do not ask for the number"
            )
    if free.touches(*SKELETON) and len(model.constraints.implicit_rows):
        raise ModelError(
            f"numbers of joints and constraints of {model.name!r} cannot be identified: its loops are closed by them, and the "
            "recorded coordinates would close them no more"
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
    q, u, udot = motion.q, motion.u, motion.udot
    if free.touches(*CONSTRAINTS):
        q, u, udot = obeying(model, motion.time, q, u, udot)
    rows = motion.rows
    moved = inertial_mechanics(model, q[rows], u[rows], udot[rows], free.bodies)
    torque, C = moved.torque, moved.motion
    if model.terms:
        torque = torque - known_torques(model, motion.time[rows], q[rows], u[rows], C, free.accept)
    length, pull = motion.length, motion.pull
    if length is None or pull is None:
        found = lengths_and_pulls(model, q)
        length = found[0] if length is None else length
        pull = found[1] if pull is None else pull
    arms = jnp.einsum("tmc,tcn->tmn", pull[rows], C)
    which, deep = (np.array([model.muscle_names.index(m) for m in names], int) for names in (free.muscles, free.deep))
    null_space = data.null_space
    if len(deep):
        null_space = jax.vmap(moved_null_space)(jnp.swapaxes(arms[:, deep], 1, 2), null_space)
    return driven, data._replace(
        torque=torque,
        torque_regressor=moved.torque_regressor,
        mass=moved.mass,
        mass_regressor=moved.mass_regressor,
        metric=jnp.linalg.inv(jnp.swapaxes(C, 1, 2) @ C),
        null_space=null_space,
        arms=arms[:, which],
        length=length[:, which],
    )


@partial(jax.jit, static_argnums=(0, 1))
def by_numbers(
    free: FreeModel, scheme: Scheme, model: Model, motion: Motion, data: Data, unknowns: Unknowns
) -> Float[Array, "R k also"]:
    """Derivatives of the residual by the free numbers: forward mode, one direction for each."""

    def of(values: Array) -> Array:
        driven, there = varied(free, model, motion, data, values)
        return residual(driven, scheme, there, unknowns)[0]

    return jax.jacfwd(of)(unknowns.also)
