"""Everything that the public functions say of a model at a batch of states, by one compiled program.

Compiling is what takes time, so tests of several quantities share one program per model, compiled in haste: a few poses
need no fast code.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import myograd as mg
from myograd.errors import UnsupportedWarning
from myograd.models import model_path

HASTE = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}


@cache
def loaded(path: Path, opensim_coriolis: bool = False) -> mg.Model:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UnsupportedWarning
        )  # wrapping surfaces and other forces; `check` has its own tests
        return mg.load_model(path, opensim_coriolis)


def compiled(function: Callable, mapped: int = 2) -> Callable[..., Any]:
    """`function(model, q, u, ...)` for many states at once: q [n, c], u [n, c], ...

    The model's values are arguments of the program, so that they may change without compiling again.
    """
    return jax.jit(jax.vmap(function, in_axes=(None, *[0] * mapped)), compiler_options=HASTE)


def program(*parts: Callable[[mg.Model, Any, Any], dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """One program for all quantities of several parts (see below) at states q [n, c], u [n, c]."""
    return compiled(lambda model, q, u: {key: value for part in parts for key, value in part(model, q, u).items()})


def geometry(model: mg.Model, q, u) -> dict[str, Any]:
    """What needs no mass."""
    rotation, position = mg.body_poses(model, q)
    return {
        "rotation": rotation,
        "position": position,
        "velocity": mg.body_velocities(model, q, u),
        "markers": mg.marker_positions(model, q),
        "G": mg.constraint_jacobian(model, q),
        "G_bias": mg.constraint_bias(model, q, u),
        "length": mg.muscle_lengths(model, q),
        "speed": mg.muscle_speeds(model, q, u),
        "arm": mg.moment_arms(model, q),
    }


def arms_otherwise(model: mg.Model, q, u) -> dict[str, Any]:
    others = {f"arm by {method}": mg.moment_arms(model, q, method=method) for method in ("length", "velocity")}
    return others | {"coupling": mg.coupling_matrix(model, q)}


def dynamics(model: mg.Model, q, u) -> dict[str, Any]:
    return {
        "M": mg.mass_matrix(model, q),
        "bias": mg.bias_forces(model, q, u),
        "center of mass": mg.center_of_mass(model, q),
        "kinetic energy": mg.kinetic_energy(model, q, u),
        "udot": mg.forward_dynamics(model, q, u),
    }


def accelerations_otherwise(model: mg.Model, q, u) -> dict[str, Any]:
    return {"udot by multipliers": mg.forward_dynamics(model, q, u, method="multipliers")}


def by_hand(model: mg.Model, q, u) -> tuple[jax.Array, jax.Array]:
    """Momentum about the ground origin and kinetic energy, summed over the bodies as in a textbook."""
    rotation, position = mg.body_poses(model, q)
    velocity = mg.body_velocities(model, q, u)
    xx, yy, zz, xy, xz, yz = model.bodies.inertia
    tensor = jnp.stack([jnp.stack([xx, xy, xz]), jnp.stack([xy, yy, yz]), jnp.stack([xz, yz, zz])]).transpose(2, 0, 1)
    tensor = rotation @ tensor @ jnp.swapaxes(rotation, 1, 2)
    mass, spin = model.bodies.mass[:, None], velocity[:, :3]
    arm = jnp.einsum("bij,jb->bi", rotation, model.bodies.mass_center)
    center, center_velocity = position + arm, velocity[:, 3:] + jnp.cross(spin, arm)
    turning = jnp.einsum("bij,bj->bi", tensor, spin)
    angular_momentum = turning + jnp.cross(center, mass * center_velocity)
    energy = 0.5 * jnp.sum(mass * center_velocity**2) + 0.5 * jnp.sum(spin * turning)
    return jnp.concatenate([jnp.sum(angular_momentum, 0), jnp.sum(mass * center_velocity, 0)]), energy


def in_numpy(result: Any) -> Any:
    return jax.tree.map(np.asarray, result)


def relative_gap(ours: Any, theirs: Any) -> float:
    """The largest difference of two arrays, relative to their largest number where that exceeds 1."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    return float(np.abs(ours - theirs).max(initial=0.0) / max(1.0, np.abs(theirs).max(initial=0.0)))


def speeds_are_rates(model: mg.Model) -> bool:
    """Whether qdot = u: no ball, free or ellipsoid joint."""
    return len(model.tree.balls) == 0


# Our own models ----------------------------------------------------------------------------------------------

BENCHES = Path(__file__).parents[1] / "documents"
OWN = {name: model_path(name) for name in ("double_pendulum", "planar_leg", "coupled_mechanism", "four_bar")} | {
    name: BENCHES / f"{name}.osim" for name in ("all_joints", "all_constraints")
}
"""The models that ship with Myograd, and the two test benches."""
LOOPS = {"four_bar", "all_constraints"}  # some poses cannot be assembled: stay near the default


@cache
def own_states(name: str, time: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Five random states of one of our models, in the middle of the ranges, that satisfy the constraints at a time."""
    model = loaded(OWN[name])
    random = np.random.default_rng(5)
    low, high = np.clip(np.asarray(model.coordinates.range), -1.25, 1.25)
    q = low + (high - low) * random.uniform(0.1, 0.9, (5, len(low)))
    if name in LOOPS:
        q = np.asarray(model.default_pose()) + 0.2 * q
    u = random.normal(size=q.shape)

    def satisfied(q, u):
        q = mg.assemble(model, q, time)
        return q, mg.project_speeds(model, q, u, time)

    q, u = in_numpy(jax.jit(jax.vmap(satisfied), compiler_options=HASTE)(q, u))
    return q, u


# OpenSim's velocity terms are not right where a coordinate drives several turns (see `test_pack_parity`).
CORIOLIS = {"all_joints"}


@cache
def own_numbers(name: str) -> dict[str, np.ndarray]:
    """All of the above at `own_states`, with OpenSim's velocity terms."""
    model = loaded(OWN[name], opensim_coriolis=name in CORIOLIS)
    run = program(geometry, arms_otherwise, dynamics, accelerations_otherwise)
    return in_numpy(run(model, *own_states(name)))
