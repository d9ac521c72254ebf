"""What `myograd demo` shows: the shipped planar leg, released, and what can be computed along its motion.

The leg hangs from its hip and is released from a bent pose; springs in knee and ankle stand for the tissues that keep
joints inside their ranges. Nothing damps, so the sum of all energies must stay as it was, and its drift is the error of
the simulation. The spring torque is not written down: it is the derivative of the spring energy.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import myograd
from myograd import models
from myograd.dynamics.bodies import points_in_ground
from myograd.dynamics.kinematics import pose
from myograd.errors import UnsupportedWarning
from myograd.path.segments import segments_at

MODEL = "planar_leg"
KNEE = "knee_flexion"
START = {"hip_flexion": 0.9, "knee_flexion": 0.9, "ankle_dorsiflexion": -0.2}  # rad, from rest
REST = {"hip_flexion": 0.0, "knee_flexion": 0.9, "ankle_dorsiflexion": -0.1}  # rad, where the springs do not pull
STIFFNESS = {"hip_flexion": 0.0, "knee_flexion": 15.0, "ankle_dorsiflexion": 8.0}  # N m/rad
SECONDS, STEP, KEEP = 5.0, 1e-3, 10  # every 10th step of 1 ms is kept

Array = jax.Array
State = tuple[Array, Array]  # coordinates and speeds


@dataclass
class Swing:
    """The simulated motion, at `frames` times, and the moment arms over the knee's range, at `points` angles."""

    model: myograd.Model
    time: np.ndarray  # [frames] s
    angles: np.ndarray  # [frames, coordinates] rad
    kinetic: np.ndarray  # [frames] J
    gravitational: np.ndarray  # [frames] J
    elastic: np.ndarray  # [frames] J
    bones: np.ndarray  # [frames, 6, 3] m: hip, knee, ankle, heel, toe, ankle
    muscles: np.ndarray  # [frames, segments, 2, 3] m, NaN where a segment is not part of its path
    knee: np.ndarray  # [points] rad
    arms: np.ndarray  # [points, muscles] m

    @property
    def total(self) -> np.ndarray:
        return self.kinetic + self.gravitational + self.elastic

    @property
    def drift(self) -> float:
        """Greatest change of the total energy, relative to the greatest kinetic energy."""
        return float(np.abs(self.total - self.total[0]).max() / self.kinetic.max())


def simulate(report: Callable[[str], None] = print) -> Swing:
    """Release the leg, and compute all that is shown; `report` is called with what is being done."""
    report(f"loading {MODEL} ...")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsupportedWarning)  # the muscles' forces: they are idle here
        model = myograd.load_model(models.model_path(MODEL))
    order = model.coordinate_names
    start, rest, stiffness = (jnp.array([table[name] for name in order]) for table in (START, REST, STIFFNESS))

    def elastic(q: Array) -> Array:
        return jnp.sum(stiffness * (q - rest) ** 2) / 2

    def rates(state: State) -> State:
        q, u = state
        return u, myograd.forward_dynamics(model, q, u, tau=-jax.grad(elastic)(q))  # pins and a hinge: qdot = u

    def step(state: State, _: None) -> tuple[State, None]:
        return runge_kutta_4(rates, state, STEP), None

    def keep(state: State, _: None) -> tuple[State, State]:
        return lax.scan(step, state, None, length=KEEP)[0], state

    frames = round(SECONDS / (STEP * KEEP)) + 1
    report("compiling the simulation ...")
    run = jax.jit(lambda state: lax.scan(keep, state, None, length=frames)[1])
    compiled = run.lower((start, jnp.zeros_like(start))).compile()
    report(f"simulating {SECONDS:g} s ...")
    q, u = compiled((start, jnp.zeros_like(start)))

    report("compiling energies, drawings and moment arms ...")
    along = jax.jit(
        jax.vmap(
            lambda q, u: (
                myograd.kinetic_energy(model, q, u),
                myograd.potential_energy(model, q),
                elastic(q),
                bones(model, q),
                path_segments(model, q),
            )
        )
    )
    kinetic, gravitational, spring, drawn_bones, drawn_muscles = along(q, u)
    column = order.index(KNEE)
    low, high = model.coordinates.range[:, column]
    knee = jnp.linspace(low, high, 101)
    arms = jax.jit(jax.vmap(lambda angle: myograd.moment_arms(model, rest.at[column].set(angle))[:, column]))(knee)
    return Swing(
        model=model,
        time=np.arange(frames) * STEP * KEEP,
        angles=np.asarray(q),
        kinetic=np.asarray(kinetic),
        gravitational=np.asarray(gravitational),
        elastic=np.asarray(spring),
        bones=np.asarray(drawn_bones),
        muscles=np.asarray(drawn_muscles),
        knee=np.asarray(knee),
        arms=np.asarray(arms),
    )


def runge_kutta_4(rates: Callable[[State], State], state: State, h: float) -> State:
    """One step of the classical method of fourth order. Its stages are a loop, so that `rates` is compiled once."""

    def stage(carry: tuple[State, State], coefficients: Array) -> tuple[tuple[State, State], None]:
        slope, mean = carry
        ahead, weight = coefficients
        slope = rates(jax.tree.map(lambda x, k: x + h * ahead * k, state, slope))
        return (slope, jax.tree.map(lambda m, k: m + weight * k, mean, slope)), None

    zero = jax.tree.map(jnp.zeros_like, state)
    (_, mean), _ = lax.scan(stage, (zero, zero), jnp.array([[0, 1 / 6], [1 / 2, 1 / 3], [1 / 2, 1 / 3], [1, 1 / 6]]))
    return jax.tree.map(lambda x, k: x + h * k, state, mean)


def bones(model: myograd.Model, q: Array) -> Array:
    """[6, 3] the line through hip, knee, ankle, heel and toe, back to the ankle."""
    _, origins = myograd.body_poses(model, q)
    markers = myograd.marker_positions(model, q)
    hip, knee, ankle = (origins[model.body_names.index(body)] for body in ("thigh", "shank", "foot"))
    heel, toe = (markers[model.marker_names.index(marker)] for marker in ("heel", "toe"))
    return jnp.stack([hip, knee, ankle, heel, toe, ankle])


def path_segments(model: myograd.Model, q: Array) -> Array:
    """[segments, 2, 3] both ends of every straight segment of every muscle, NaN while it is not part of the path."""
    at = pose(model, q)
    between = segments_at(model, at, q)
    on = jnp.where(between.weight > 0, 1.0, jnp.nan)
    moving = jnp.stack([between.start * on, (between.start + between.along) * on])
    within = model.paths.rigid.T  # [2, r] points of segments inside one body
    rigid = jnp.stack(
        [
            points_in_ground(model, at, model.paths.point_link[points], model.path.location[:, points])
            for points in within
        ]
    )
    return jnp.moveaxis(jnp.concatenate([moving, rigid], axis=2), 2, 0)


def summary(swing: Swing) -> str:
    """The result in two lines."""
    low, high = np.degrees(swing.angles.min(axis=0)), np.degrees(swing.angles.max(axis=0))
    ranges = ", ".join(
        f"{name} {a:.0f}° to {b:.0f}°" for name, a, b in zip(swing.model.coordinate_names, low, high, strict=True)
    )
    return (
        f"{swing.time[-1]:g} s of swing in steps of {STEP * 1e3:g} ms: {ranges}\n"
        f"energy drift {swing.drift:.1e} of the greatest kinetic energy ({swing.kinetic.max():.1f} J)"
    )
