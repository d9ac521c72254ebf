"""What a recording says about the motion, before any parameter is known: worked out once, by elimination of constraints.

With C the rates of all coordinates per rate of the free ones (`G C = 0`), Eqs. 1-2 of paper 000 become

    C^T (M udot + b) = C^T J^T f,       C^T M C = the inertia that the free motion has.

Both sides' left halves are linear in the inertial parameters of bodies; C, the arms `J C` and the lengths of paths are geometry.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from ...dynamics import constraints as held
from ...dynamics.accelerations import inverse_dynamics
from ...dynamics.batch import batched
from ...dynamics.energy import mass_matrix
from ...dynamics.entry import need_constraints
from ...dynamics.kinematics import pose
from ...errors import ModelError, nearest
from ...model.model import Model
from ...path.api import muscle_rows, need_paths
from ...path.length import lengths_and_gradient
from ...system.rates import applied_forces
from ...system.state import State
from ..identification.inertia import regressors
from ..identification.recording import Recording, check_recording

CHUNK = 32  # samples at a time


@dataclass(frozen=True, eq=False)
class Mechanics:
    """Of T samples, n free directions of motion, b bodies whose inertia is asked for, m muscles. NumPy."""

    need: np.ndarray
    """[T, n] generalised forces that the motion needs, but for those bodies; less known forces"""
    need_per: np.ndarray
    """[T, n, 10 b] what those bodies need, per unit of their moments (`inertia.moments`)"""
    mass: np.ndarray
    """[T, n, n] inertia of the free motion, but for those bodies"""
    mass_per: np.ndarray
    """[T, n, n, 10 b]"""
    motion: np.ndarray
    """[T, c, n] C"""
    arms: np.ndarray
    """[T, m, n] generalised forces of unit tensions"""
    length: np.ndarray
    """[T, m] of the paths [m]"""


def mechanics(model: Model, recording: Recording, bodies: tuple[str, ...], accept: tuple[str, ...] = ()) -> Mechanics:
    """Everything that a recording's motion decides."""
    check_recording(model, recording)
    need_constraints(model, "identification", accept)
    for name in bodies:
        if name not in model.body_names:
            raise ModelError(f"there is no body {name!r} to identify{nearest(name, model.body_names)}")
    it = recording
    need, need_per, mass, mass_per, motion = (
        np.asarray(x) for x in _terms(model, jnp.asarray(it.q), jnp.asarray(it.u), jnp.asarray(it.udot), bodies)
    )
    if model.terms:
        need = need - _known_forces(model, it, motion, accept)
    length, pull = it.length, it.pull
    if length is None or pull is None:
        need_paths(model, "identification", accept)
        found = [np.asarray(x) for x in _paths(model, jnp.asarray(it.q))]
        length = found[0] if length is None else length
        pull = found[1] if pull is None else pull
    arms = np.einsum("tmc,tcn->tmn", pull, motion)
    return Mechanics(need, need_per, mass, mass_per, motion, arms, length)


@partial(jax.jit, static_argnames="bodies")
def _terms(model: Model, q: Array, u: Array, udot: Array, bodies: tuple[str, ...]) -> tuple[Array, ...]:
    """The first five of `Mechanics`. Compiled once per structure of a model, not per recording."""
    which = np.array([model.body_names.index(name) for name in bodies], int)
    rest = eqx.tree_at(lambda m: m.bodies.mass, model, model.bodies.mass.at[which].set(0.0))

    def of(sample: tuple[Array, Array, Array]) -> tuple[Array, ...]:
        q, u, udot = sample
        C = free_motion(model, q)
        n, count = C.shape[1], 10 * len(bodies)
        needed, mass = C.T @ inverse_dynamics(rest, q, u, udot), C.T @ mass_matrix(rest, q) @ C
        if not bodies:
            return needed, mass, C
        per_need, per_mass = regressors(model, q, u, udot, C, bodies)
        return needed, mass, C, per_need.reshape(n, count), per_mass.reshape(n, n, count)

    needed, mass, C, *per = lax.map(of, (q, u, udot), batch_size=CHUNK)
    per_need, per_mass = per or (jnp.zeros((*needed.shape, 0)), jnp.zeros((*mass.shape, 0)))
    return needed, per_need, mass, per_mass, C


@jax.jit
def _paths(model: Model, q: Array) -> tuple[Array, Array]:
    """Lengths of the muscles' paths, and generalised forces of unit tensions."""

    def of(q: Array) -> tuple[Array, Array]:
        length, gradient = lengths_and_gradient(model, pose(model, q), q)
        return muscle_rows(model, length), -muscle_rows(model, gradient)

    return lax.map(of, q, batch_size=CHUNK)


def free_motion(model: Model, q: Array) -> Array:
    """[c, n] C: the motions that all constraints allow. Columns are the free coordinates' unless loops tie these."""
    C = held.rates_per_free(model, q)
    if len(model.constraints.implicit_rows):
        G = held.jacobian_rows(model, pose(model, q), q)[model.constraints.implicit_rows] @ C
        C = C @ jnp.linalg.svd(G, full_matrices=True)[2][len(model.constraints.implicit_rows) :].T
    return C


def _known_forces(model: Model, it: Recording, motion: np.ndarray, accept: tuple[str, ...]) -> np.ndarray:
    """[T, n] generalised forces of springs, limits and contacts, whose parameters are not asked for; actuators are off."""
    without = eqx.tree_at(
        lambda m: m.muscles.max_isometric_force, model, jnp.zeros_like(model.muscles.max_isometric_force)
    )
    idle = jnp.zeros(len(model.muscle_names))
    fibers = model.muscles.optimal_fiber_length

    def of(q: Array, u: Array) -> Array:
        return applied_forces(without, State(q, u, idle, fibers), jnp.zeros(len(model.control_names)), accept=accept)

    return np.einsum("tcn,tc->tn", motion, np.asarray(batched(of, CHUNK)(it.q, it.u)))
