"""Reaching: the hand of the arm goes to a target and rests there, by gradients through the simulation (paper 001, section 4.7).

Two tasks of 0.5 s. The parameters of the first are the paper's, constant torques at the shoulder (3) and the elbow (1); those of
the second are excitations of all muscles over time, which the paper names as what its method cannot do. The first guess holds the
arm where it is, against gravity: by torques, or by its muscles. Both minimise

    |r|^2,    r = (hand - target, REST * velocity of the hand, sqrt(EFFORT / n) * parameters)
The paper's optimiser is `fminunc` with its adjoint gradients, or without. Ours is a Gauss-Newton method with exact Jacobians. The
same problem is given to the same method with Jacobians by differences (what `fminunc` does without gradients), and to a search
that needs none: Nelder and Mead's for four parameters, an evolution strategy for eighty. What counts is how many simulations
and how much time each needs to the same cost.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import least_squares, minimize

import myograd as mg
from myograd.files.atomic import write_text
from myograd.models import model_path

DURATION = 0.5  # s
START = {"elevation_plane": 0.9, "elevation": 0.6, "axial_rotation": 0.2, "elbow_flexion": 0.8}  # rad
GOAL = {"elevation_plane": 1.1, "elevation": 0.9, "axial_rotation": 0.2, "elbow_flexion": 1.2}  # the target is there
TURNED = tuple(START)
HAND = "knuckle"
REST = 0.05  # s: a speed of 2 cm/s counts as much as an error of 1 mm
TORQUE_EFFORT, EXCITATION_EFFORT = (
    1e-10,
    1e-6,
)  # (N m)^-2 m^2, m^2: a tenth of a millimetre or a millimetre at full effort
KNOTS = 5
PASSIVE = 0.01  # activation of muscles that rest
PARTS = ("torques", "excitations")
PAPER = {
    "optimiser": "fminunc, adjoint derivatives",
    "parameters": "constant torques: shoulder 3, elbow 1",
    "excitations as parameters": "not possible",
    "time without gradients over time with": "an order of magnitude",
}


Motion = Callable[[Array], mg.Trajectory]
SAME = 1.01  # costs no more apart than this are the same


class Reached(Exception):
    """Stops an optimiser: it has converged, or has used its share of time."""


@dataclass
class Task:
    """What to optimise: `residual(x)` and its Jacobian, one simulation each; the first six numbers are the hand's."""

    name: str
    residual: Callable[[np.ndarray], Any]
    jacobian: Callable[[np.ndarray], Any]
    x0: np.ndarray
    spread: float
    """of the first guesses of optimisers without gradients"""


@dataclass
class Record:
    """What one optimiser did: simulations (a Jacobian is one, of its own cost), seconds, and the error, after each of them."""

    optimiser: str
    task: Task
    goal: float = 0.0
    limit: int = 10**9
    cost: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    jacobians: int = 0
    best: np.ndarray = field(default_factory=lambda: np.zeros(0))
    started: float = field(default_factory=time.perf_counter)

    def residual(self, x: np.ndarray) -> np.ndarray:
        r = np.nan_to_num(np.asarray(self.task.residual(x)), nan=1e3, posinf=1e3, neginf=-1e3)
        cost = float(r @ r)
        if not self.cost or cost < min(self.cost):
            self.best = np.array(x)
        self.cost.append(cost)
        self.error.append(float(np.linalg.norm(r[:6])))
        self.seconds.append(time.perf_counter() - self.started)
        if min(self.cost) <= self.goal or len(self.cost) >= self.limit:
            raise Reached
        return r

    def scalar(self, x: np.ndarray) -> float:
        r = self.residual(x)
        return float(r @ r)

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        self.jacobians += 1
        return np.asarray(self.task.jacobian(x))

    def to(self, goal: float) -> int | None:
        """Simulations until the cost was `goal` or less, or None."""
        found = np.flatnonzero(np.array(self.cost) <= goal)
        return int(found[0]) + 1 if len(found) else None


def run(out: Path, quick: bool = False, parts: Sequence[str] = PARTS) -> None:
    model = mg.load_model(model_path("arm"))
    target = mg.marker_positions(model, posed(model, GOAL))[model.marker_names.index(HAND)]
    summary: dict[str, Any] = {
        "paper": PAPER,
        "quick": quick,
        "duration [s]": DURATION,
        "target [m]": np.asarray(target).tolist(),
    }
    tasks = {"torques": (torque_task, 2000), "excitations": (excitation_task, 10_000)}
    for part in parts:
        make, limit = tasks[part]
        limit = 300 if quick else limit
        task, motion = make(model, target)
        summary[task.name] = report(out, model, task, motion, optimised(task, limit), target)
        write_text(out / "summary.json", json.dumps(summary, indent=1) + "\n")


# Tasks -------------------------------------------------------------------------------------------------------


def posed(model: mg.Model, angles: dict[str, float]) -> Float[Array, " c"]:
    q = np.array(model.default_pose())
    for name, angle in angles.items():
        q[model.coordinate_names.index(name)] = angle
    return mg.assemble(model, q)


def hand(model: mg.Model, state: mg.State) -> tuple[Float[Array, " 3"], Float[Array, " 3"]]:
    """Its position [m] and velocity [m/s]."""
    which = model.marker_names.index(HAND)
    return mg.marker_positions(model, state.q)[which], mg.marker_velocities(model, state.q, state.u)[which]


def missed(model: mg.Model, end: mg.State, target: Float[Array, " 3"]) -> Float[Array, " 6"]:
    position, velocity = hand(model, end)
    return jnp.concatenate([position - target, REST * velocity])


def unbalanced(model: mg.Model, state: mg.State) -> Float[Array, " f"]:
    """What is missing to hold a pose against gravity [N m], on each free coordinate."""
    still = jnp.zeros_like(state.q)
    forces = mg.applied_forces(model, state, jnp.asarray(state.activation))  # controls of the arm are its muscles'
    missing = mg.inverse_dynamics(model, state.q, still, still) - forces
    return missing @ mg.coupling_matrix(model, state.q)[:, model.constraints.free]


def torque_task(model: mg.Model, target: Array) -> tuple[Task, Motion]:
    start = mg.initial_state(model, posed(model, START), activation=PASSIVE)
    turned = np.array([model.coordinate_names.index(name) for name in TURNED])
    controls = np.full(len(model.control_names), PASSIVE)
    holding = np.asarray(unbalanced(model, start))[[list(model.constraints.free).index(i) for i in turned]]

    def motion(x: Array, at: Any = None) -> mg.Trajectory:
        torques = jnp.zeros(len(model.coordinate_names)).at[turned].set(x)
        return mg.simulate(model, start, controls, DURATION, at=at, torques=torques, forward_mode=True)

    def residual(x: Array) -> Array:
        effort = jnp.sqrt(TORQUE_EFFORT / len(x)) * x
        return jnp.concatenate([missed(model, motion(x, [DURATION]).at(-1), target), effort])

    return Task("torques", jax.jit(residual), jax.jit(jax.jacfwd(residual)), holding, spread=1.0), jax.jit(motion)


def excitation_task(model: mg.Model, target: Array) -> tuple[Task, Motion]:
    q = posed(model, START)
    held = jax.jit(lambda a: mg.equilibrium_state(model, q, jnp.zeros_like(q), a))
    # The second part chooses the least of many ways to hold it.
    missing = jax.jit(lambda a: jnp.concatenate([unbalanced(model, held(a)), 0.1 * a]))
    first = np.full(len(model.muscle_names), 0.1)
    slopes: Any = jax.jit(jax.jacfwd(missing))
    holding = least_squares(missing, first, slopes, bounds=(PASSIVE, 0.99)).x
    start = held(holding)
    shape = (KNOTS, len(model.control_names))
    knots = jnp.linspace(0.0, DURATION, KNOTS)

    def excitation(x: Array) -> Array:
        """Between 0 and 1."""
        return jax.nn.sigmoid(x.reshape(shape))

    def motion(x: Array, at: Any = None) -> mg.Trajectory:
        return mg.simulate(model, start, mg.ControlSignal(knots, excitation(x)), DURATION, at=at)

    def effort(x: Array) -> Array:
        return jnp.sqrt(EXCITATION_EFFORT / x.size) * excitation(x).ravel()

    def end(x: Array) -> Array:
        return missed(model, motion(x, [DURATION]).at(-1), target)

    def jacobian(x: Array) -> Array:
        return jnp.concatenate([jax.jacrev(end)(x), jax.jacfwd(effort)(x)])

    x0 = np.tile(np.log(holding / (1 - holding)), KNOTS)
    residual = jax.jit(lambda x: jnp.concatenate([end(x), effort(x)]))
    return Task("excitations", residual, jax.jit(jacobian), x0, spread=0.5), jax.jit(motion)


# Optimisers --------------------------------------------------------------------------------------------------


def optimised(task: Task, limit: int) -> list[Record]:
    """The same task by each optimiser, at most `limit` simulations of each; the first says what the others have to reach."""
    jax.block_until_ready((task.residual(task.x0), task.jacobian(task.x0)))  # compiled before the clock runs
    exact = Record("Gauss-Newton, exact Jacobian", task, limit=limit)
    gauss_newton(exact, exact.jacobian)
    goal = min(exact.cost) * SAME
    differences = Record("Gauss-Newton, differences", task, goal, limit)
    gauss_newton(differences, "2-point")
    name, search = ("Nelder-Mead", nelder_mead) if len(task.x0) <= 10 else ("evolution strategy", evolution)
    free = Record(name, task, goal, limit)
    search(free)
    return [exact, differences, free]


def gauss_newton(record: Record, jacobian: Any) -> None:
    with suppress(Reached):  # steps of differences well above the integrator's tolerance
        least_squares(record.residual, record.task.x0, jacobian, diff_step=1e-4, ftol=1e-6, xtol=1e-8, gtol=1e-12)


def nelder_mead(record: Record) -> None:
    x0, spread = record.task.x0, record.task.spread
    simplex = np.vstack([x0, x0 + spread * np.eye(len(x0))])
    with suppress(Reached):
        minimize(
            record.scalar,
            x0,
            method="Nelder-Mead",
            options=dict(initial_simplex=simplex, maxfev=10**9, fatol=0, xatol=0),
        )


def evolution(record: Record) -> None:
    """CMA-ES with the constants of its author (Hansen, The CMA Evolution Strategy: a tutorial, arXiv 1604.00772)."""
    random, n = np.random.default_rng(0), len(record.task.x0)
    size = 4 + int(3 * np.log(n))
    weights = np.log((size + 1) / 2) - np.log(np.arange(1, size // 2 + 1))
    weights /= weights.sum()
    mass = 1 / np.sum(weights**2)
    c_step = (mass + 2) / (n + mass + 5)
    c_path = (4 + mass / n) / (n + 4 + 2 * mass / n)
    c_one = 2 / ((n + 1.3) ** 2 + mass)
    c_rank = min(1 - c_one, 2 * (mass - 2 + 1 / mass) / ((n + 2) ** 2 + mass))
    damping = 1 + c_step + 2 * max(0.0, np.sqrt((mass - 1) / (n + 1)) - 1)
    length = np.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n**2))  # of a normal vector, on average
    mean, sigma, C = np.array(record.task.x0), record.task.spread, np.eye(n)
    step_path, path = np.zeros(n), np.zeros(n)
    for generation in range(1, 10**9):
        scales, axes = np.linalg.eigh(C)
        scales = np.sqrt(np.maximum(scales, 1e-20))
        children = random.normal(size=(size, n)) * scales @ axes.T
        try:
            costs = [record.scalar(mean + sigma * child) for child in children]
        except Reached:
            return
        best = children[np.argsort(costs)[: len(weights)]]
        moved = weights @ best
        mean = mean + sigma * moved
        white = axes @ ((moved @ axes) / scales)
        step_path = (1 - c_step) * step_path + np.sqrt(c_step * (2 - c_step) * mass) * white
        size_of_path = np.linalg.norm(step_path) / np.sqrt(1 - (1 - c_step) ** (2 * generation)) / length
        steady = size_of_path < 1.4 + 2 / (n + 1)
        path = (1 - c_path) * path + steady * np.sqrt(c_path * (2 - c_path) * mass) * moved
        late = (1 - steady) * c_path * (2 - c_path)
        C = (1 - c_one - c_rank + c_one * late) * C + c_one * np.outer(path, path) + c_rank * (best.T * weights) @ best
        sigma *= np.exp(c_step / damping * (np.linalg.norm(step_path) / length - 1))


# Results -----------------------------------------------------------------------------------------------------


def report(
    out: Path, model: mg.Model, task: Task, motion: Motion, records: list[Record], target: Array
) -> dict[str, Any]:
    """Tables and figures of one task; what its part of the summary is."""
    exact, *others = records
    goal = min(exact.cost) * SAME
    moved = motion(jnp.asarray(exact.best))
    places, velocities = jax.jit(jax.vmap(lambda state: hand(model, state)))(moved.state)
    unmoved = jax.jit(jax.vmap(lambda state: hand(model, state)[0]))(motion(jnp.asarray(task.x0)).state)
    ratio = jacobian_cost(task)

    def of(record: Record) -> dict[str, Any]:
        needed = record.to(goal)
        return {
            "reached the same cost": needed is not None,
            "simulations": needed or len(record.cost),
            "Jacobians": record.jacobians,
            "simulations, a Jacobian counted by its time": (needed or len(record.cost)) + record.jacobians * ratio,
            "time [s]": record.seconds[(needed or len(record.cost)) - 1],
            "error [mm]": 1e3 * record.error[int(np.argmin(record.cost))],
        }

    found = {record.optimiser: of(record) for record in records}
    ours = found[exact.optimiser]
    for record in others:
        theirs = found[record.optimiser]
        for what in ("simulations", "simulations, a Jacobian counted by its time", "time [s]"):
            theirs[f"{what}, over those of the exact Jacobian"] = theirs[what] / ours[what]
    from myograd.studies._reaching_figures import write_convergence, write_excitations, write_path

    write_convergence(out, task, records)
    write_path(out, task, moved, places, unmoved, target)
    if task.name == "excitations":
        write_excitations(out, model, moved)
    return {
        "parameters": len(task.x0),
        "values": exact.best.tolist(),
        "distance of the hand from the target at the end [mm]": float(1e3 * jnp.linalg.norm(places[-1] - target)),
        "distance at the start [mm]": float(1e3 * jnp.linalg.norm(places[0] - target)),
        "speed of the hand at the end [mm/s]": float(1e3 * jnp.linalg.norm(velocities[-1])),
        "highest speed of the hand [mm/s]": float(1e3 * jnp.max(jnp.linalg.norm(velocities, axis=1))),
        "Jacobian's time over a simulation's": ratio,
        "optimisers": found,
    }


def jacobian_cost(task: Task) -> float:
    """Time of a Jacobian over that of a simulation."""

    def median(function: Callable[[np.ndarray], Any]) -> float:
        times = []
        for _ in range(5):
            begun = time.perf_counter()
            jax.block_until_ready(function(task.x0))
            times.append(time.perf_counter() - begun)
        return float(np.median(times))

    return median(task.jacobian) / median(task.residual)
