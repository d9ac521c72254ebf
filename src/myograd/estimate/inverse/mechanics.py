"""What a recording says about the motion, before any parameter is known: worked out once, by elimination of constraints.

With C the rates of all coordinates per rate of the free ones (`G C = 0`), Eqs. 1-2 of paper 000 become

    C^T (M udot + b) = C^T J^T f,       C^T M C = the inertia that the free motion has.

Both sides' left halves are linear in the inertial parameters of bodies; C, the arms `J C` and the lengths of paths are geometry.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from ...dynamics import constraints
from ...dynamics.accelerations import inverse_dynamics
from ...dynamics.batch import batched
from ...dynamics.energy import mass_matrix
from ...dynamics.entry import need_constraints
from ...dynamics.kinematics import pose
from ...errors import ModelError, nearest
from ...model.model import Model
from ...path.api import muscle_rows, need_paths
from ...path.length import lengths_and_gradient
from ...system.forces import need_forces
from ...system.rates import applied_forces
from ...system.state import State
from ..motions import obeying
from ..recording import Recording, check_recording
from .regressors import regressors

CHUNK = 32  # samples at a time


class Inertial(NamedTuple):
    """Of T samples, n free directions of motion; `inertial`: ten parameters (`regressors.PHI`) of each body that is asked for."""

    torque: Float[Array, "T n"]
    """inverse-dynamics torques `C^T (M udot + b)`, but for those bodies; less known forces"""
    torque_regressor: Float[Array, "T n inertial"]
    """those bodies' torques, per unit of their inertial parameters"""
    mass: Float[Array, "T n n"]
    """inertia of the free motion, but for those bodies"""
    mass_regressor: Float[Array, "T n n inertial"]
    motion: Float[Array, "T c n"]
    """C"""


class Mechanics(NamedTuple):
    """Everything that a recording's motion decides, of T samples and m muscles. `mechanics` gives NumPy's arrays."""

    inertial: Inertial
    arms: Float[Array, "T m n"]
    """generalised forces of unit tensions"""
    length: Float[Array, "T m"]
    """of the paths [m]"""


def mechanics(model: Model, recording: Recording, bodies: tuple[str, ...], accept: tuple[str, ...] = ()) -> Mechanics:
    """Of a recording, with the given bodies' inertia still to be found."""
    check_recording(model, recording)
    need_constraints(model, "identification", accept)
    need_forces(model, "identification", accept)
    for name in bodies:
        if name not in model.body_names:
            raise ModelError(f"there is no body {name!r} to identify{nearest(name, model.body_names)}")
    if recording.length is None or recording.pull is None:
        need_paths(model, "identification", accept)
    found = motion_mechanics(model, motion_of(recording, np.arange(len(recording))), bodies, accept)
    return jax.tree.map(np.asarray, found)


class Motion(NamedTuple):
    """What was recorded of one movement, before any mechanics."""

    time: Float[Array, " T"]
    q: Float[Array, "T c"]
    u: Float[Array, "T c"]
    udot: Float[Array, "T c"]
    rows: Int[Array, " R"]
    """samples whose mechanics are asked for"""
    length: Float[Array, "T m"] | None
    """of all muscles, where another program's geometry is used"""
    pull: Float[Array, "T m c"] | None

    def thinned(self, kept: np.ndarray) -> Motion:
        return self._replace(rows=self.rows[kept])


def motion_of(recording: Recording, rows: np.ndarray) -> Motion:
    it = recording
    given = [None if x is None else jnp.asarray(x) for x in (it.length, it.pull)]
    moved = (jnp.asarray(x) for x in (it.time, it.q, it.u, it.udot, rows))
    return Motion(*moved, *given)


def motion_mechanics(model: Model, motion: Motion, bodies: tuple[str, ...], accept: tuple[str, ...] = ()) -> Mechanics:
    """Of a motion's rows (but lengths of all samples), under the constraints of this model: coordinates that these set are not
    taken as recorded, but as they follow from the free ones. Traceable."""
    time, rows = motion.time, motion.rows
    q, u, udot = obeying(model, time, motion.q, motion.u, motion.udot)
    moved = inertial_mechanics(model, q[rows], u[rows], udot[rows], bodies)
    if model.terms:
        known = known_torques(model, time[rows], q[rows], u[rows], moved.motion, accept)
        moved = moved._replace(torque=moved.torque - known)
    length, pull = motion.length, motion.pull
    if length is None or pull is None:
        found = lengths_and_pulls(model, q)
        length = found[0] if length is None else length
        pull = found[1] if pull is None else pull
    return Mechanics(moved, jnp.einsum("tmc,tcn->tmn", pull[rows], moved.motion), length)


@partial(jax.jit, static_argnames="bodies")
def inertial_mechanics(
    model: Model,
    q: Float[Array, "T c"],
    u: Float[Array, "T c"],
    udot: Float[Array, "T c"],
    bodies: tuple[str, ...],
) -> Inertial:
    """Compiled once per structure of a model, not per recording. Known forces are not taken off yet."""
    which = np.array([model.body_names.index(name) for name in bodies], int)
    rest = eqx.tree_at(lambda m: m.bodies.mass, model, model.bodies.mass.at[which].set(0.0))

    def of(sample: tuple[Array, Array, Array]) -> tuple[Array, ...]:
        q, u, udot = sample
        C = free_motion(model, q)
        n, count = C.shape[1], 10 * len(bodies)
        torque, mass = C.T @ inverse_dynamics(rest, q, u, udot), C.T @ mass_matrix(rest, q) @ C
        if not bodies:
            return torque, mass, C
        by_torque, by_mass = regressors(model, q, u, udot, C, bodies)
        return torque, mass, C, by_torque.reshape(n, count), by_mass.reshape(n, n, count)

    torque, mass, C, *per = lax.map(of, (q, u, udot), batch_size=CHUNK)
    by_torque, by_mass = per or (jnp.zeros((*torque.shape, 0)), jnp.zeros((*mass.shape, 0)))
    return Inertial(torque, by_torque, mass, by_mass, C)


@jax.jit
def lengths_and_pulls(model: Model, q: Float[Array, "T c"]) -> tuple[Float[Array, "T m"], Float[Array, "T m c"]]:
    """Lengths of the muscles' paths, and generalised forces of unit tensions."""

    def of(q: Array) -> tuple[Array, Array]:
        length, gradient = lengths_and_gradient(model, pose(model, q), q)
        return muscle_rows(model, length), -muscle_rows(model, gradient)

    return lax.map(of, q, batch_size=CHUNK)


def free_motion(model: Model, q: Float[Array, " c"]) -> Float[Array, "c n"]:
    """C: the motions that all constraints allow. Columns are the free coordinates' unless loops tie these."""
    C = constraints.rates_per_free(model, q)
    if len(model.constraints.implicit_rows):
        G = constraints.jacobian_rows(model, pose(model, q), q)[model.constraints.implicit_rows] @ C
        C = C @ jnp.linalg.svd(G, full_matrices=True)[2][len(model.constraints.implicit_rows) :].T
    return C


def known_torques(
    model: Model,
    time: Float[Array, " T"],
    q: Float[Array, "T c"],
    u: Float[Array, "T c"],
    motion: Float[Array, "T c n"],
    accept: tuple[str, ...] = (),
) -> Float[Array, "T n"]:
    """Generalised forces of springs, limits and contacts on the free motion; actuators are off."""
    without = eqx.tree_at(
        lambda m: m.muscles.max_isometric_force, model, jnp.zeros_like(model.muscles.max_isometric_force)
    )
    idle = jnp.zeros(len(model.muscle_names))
    fibers = model.muscles.optimal_fiber_length

    def of(time: Array, q: Array, u: Array) -> Array:
        state = State(q, u, idle, fibers, time)
        return applied_forces(without, state, jnp.zeros(len(model.control_names)), accept=accept)

    return jnp.einsum("tcn,tc->tn", motion, batched(of, CHUNK)(time, q, u))


def with_bodies(it: Mechanics, inertial: np.ndarray) -> Mechanics:
    """The mechanics of bodies whose inertial parameters have been found: nothing of them is left to ask for."""
    was = it.inertial
    return it._replace(
        inertial=was._replace(
            torque=was.torque + was.torque_regressor @ inertial,
            torque_regressor=was.torque_regressor[:, :, :0],
            mass=was.mass + was.mass_regressor @ inertial,
            mass_regressor=was.mass_regressor[:, :, :, :0],
        )
    )
