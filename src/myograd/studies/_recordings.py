"""Makes the recordings that ship with Myograd: a person's arm, moved by synthesised EMG.

    python -m myograd.studies._recordings

The person is the shipped `arm` with other parameters (drawn once). A movement is designed with feedback: a smooth random
reference for the five free coordinates, torques by inverse dynamics, shared by the muscles about a random co-contraction by
bounded least squares. The EMG that comes out is moved forward by the whole samples of the electromechanical delay, and the
recording is a separate run of the person's model with that EMG and no feedback. Every sample is exact by itself:
accelerations and fibre velocities are those of the state.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from scipy import interpolate

import myograd
from myograd import models
from myograd.dynamics import constraints as held
from myograd.dynamics.api import forward_dynamics, inverse_dynamics
from myograd.dynamics.kinematics import pose
from myograd.estimate import inertia
from myograd.estimate.forces import BACKWARD
from myograd.estimate.parameters import MUSCLE
from myograd.force.motion import State
from myograd.model.model import Model
from myograd.muscle.activation import activation_rate, integrate_activation
from myograd.muscle.contraction import fiber_equilibrium, force_balance, muscle_states
from myograd.muscle.emg import emg_to_excitation
from myograd.muscle.length import lengths_and_gradient

BODIES = ("humerus", "ulna", "radius")
DEEP = ("INFSP", "SUBSC", "TRImed", "BRA", "PQ")
FOLDER = Path(models.__file__).parent / "data"
RATE, SECONDS = 500.0, 4.0
STEP = 1 / RATE
PARTS = 8  # steps of the integrator per sample
PERIOD = 5  # samples between two decisions of the controller
TIMES = {"activation_time": 0.012, "deactivation_time": 0.045, "delay": 0.0434, "c1": -0.78, "c2": -0.55}
WHOLE = int(TIMES["delay"] / STEP)  # samples
LEAST, MOST = 0.02, 0.7  # EMG
MIDDLE = np.array([0.7, 0.8, 0.1, 1.3, 0.3])  # rad; elevation plane and angle, rotation, elbow, pronation
REACH = np.array([0.45, 0.30, 0.40, 0.45, 0.45])  # rad, standard deviation about it, roughly
SEEDS = {"move1": 1, "move2": 2, "move3": 3}


def person(seed: int = 20) -> tuple[Model, dict[str, Any]]:
    """The shipped arm with the parameters of somebody else; and these."""
    model = myograd.load_model(models.model_path("arm"))
    random = np.random.default_rng(seed)
    m = len(model.muscle_names)

    def about(x: Array, spread: float) -> Array:
        return jnp.asarray(np.round(np.asarray(x) * (1 + spread * random.uniform(-1, 1, m)), 6))

    old = model.muscles
    fiber = about(old.optimal_fiber_length, 0.08)
    longer = np.asarray(fiber - old.optimal_fiber_length) * np.cos(np.asarray(old.pennation_angle))
    muscles = replace(
        old,
        max_isometric_force=about(old.max_isometric_force, 0.2),
        optimal_fiber_length=fiber,
        # Fibres stay in the middle of their range: what they gain the tendon loses, and a little at random.
        tendon_slack_length=jnp.maximum(about(old.tendon_slack_length, 0.02) - 0.5 * longer, 0.006),
        pennation_angle=about(old.pennation_angle, 0.1),
        max_contraction_velocity=about(old.max_contraction_velocity, 0.15),
        activation_time_constant=jnp.full(m, TIMES["activation_time"]),
        deactivation_time_constant=jnp.full(m, TIMES["deactivation_time"]),
    )
    stated = inertia.stated_bodies(model, BODIES)
    bodies = model.bodies
    for name, row in zip(BODIES, stated, strict=True):
        free = np.concatenate([np.ones(4), np.zeros(6)]) + 0.12 * random.uniform(-1, 1, 10)
        new = np.asarray(inertia.stated(jnp.asarray(inertia.body_map(row) @ free)))
        i = model.body_names.index(name)
        bodies = replace(
            bodies,
            mass=bodies.mass.at[i].set(new[0]),
            mass_center=bodies.mass_center.at[:, i].set(new[1:4]),
            inertia=bodies.inertia.at[:, i].set(new[4:]),
        )
    changed = replace(model, muscles=muscles, bodies=bodies)
    truth = {
        "bodies": {
            name: dict(zip(inertia.NAMES, row.tolist(), strict=True))
            for name, row in zip(BODIES, inertia.stated_bodies(changed, BODIES), strict=True)
        },
        "muscles": {
            name: {field: float(getattr(muscles, field)[k]) for field in MUSCLE[:5]}
            for k, name in enumerate(model.muscle_names)
        },
        "common": TIMES,
        "deep": DEEP,
    }
    return changed, truth


# Simulation --------------------------------------------------------------------------------------------------


class Course(NamedTuple):
    """Activation over one period: cubic between samples."""

    a: Array  # [samples, m]
    rate: Array


def _at(course: Course, time: Array) -> Array:
    """Activation at a time from the start of the period."""
    k = jnp.clip(jnp.floor(time / STEP).astype(int), 0, len(course.a) - 2)
    s = time / STEP - k
    a, b, da, db = course.a[k], course.a[k + 1], STEP * course.rate[k], STEP * course.rate[k + 1]
    return a + s * (da + s * (3 * (b - a) - 2 * da - db + s * (2 * (a - b) + da + db)))


def _state(model: Model, x: Array, activation: Array) -> State:
    """x: free coordinates, their speeds, fibre lengths."""
    free = model.constraints.free
    n = len(free)
    q = held.explicit_coordinates(model, jnp.zeros(len(model.coordinate_names)).at[free].set(x[:n]))
    u = held.explicit_speeds(model, q, jnp.zeros_like(q).at[free].set(x[n : 2 * n]))
    return State(q, u, activation, x[2 * n :])


class Moving(NamedTuple):
    """A state on its way: free coordinates, their speeds and fibre lengths; fibre lengths of the two steps before; the last
    accelerations."""

    x: Array
    earlier: Array
    udot: Array


class Rates(NamedTuple):
    """What a state does."""

    state: State
    udot: Array
    fiber_velocity: Array


def _rates(model: Model, x: Array, activation: Array) -> Rates:
    state = _state(model, x, activation)
    length, gradient = lengths_and_gradient(model, pose(model, state.q), state.q)
    found = muscle_states(model, length, gradient @ state.u, activation, state.fiber_length)
    udot = forward_dynamics(model, state.q, state.u, -found.tendon_force @ gradient)
    return Rates(state, udot, found.fiber_velocity)


@jax.jit
def period(model: Model, start: Moving, course: Course) -> tuple[Moving, Array]:
    """The state after one period, and those at its samples [PERIOD, x].

    Coordinates by the explicit two-step formula of Adams; fibres, which are stiff, by implicit backward differences of order
    3 at the new length of the path. How well the coordinates are integrated does not matter to a recording; that the fibres
    obey their equation along the path does.
    """
    h, free = STEP / PARTS, model.constraints.free
    n = len(free)
    own, *factors = BACKWARD[3]

    def advance(now: Moving, k: Array) -> tuple[Moving, Array]:
        udot = _rates(model, now.x, _at(course, k * h)).udot[free]
        u = now.x[n : 2 * n] + h * (1.5 * udot - 0.5 * now.udot)
        q = now.x[:n] + h / 2 * (now.x[n : 2 * n] + u)
        a = _at(course, (k + 1) * h)
        past = jnp.stack([now.x[2 * n :], *now.earlier])
        at = _state(model, jnp.concatenate([q, u, past[0]]), a)
        length, _ = lengths_and_gradient(model, pose(model, at.q), at.q)

        def balance(fiber: Array) -> Array:
            return force_balance(model, length, a, fiber, (own * fiber + jnp.asarray(factors) @ past) / h)

        def newton(_: int, fiber: Array) -> Array:
            value, slope = jax.jvp(balance, (fiber,), (jnp.ones_like(fiber),))
            return fiber - value / slope

        fiber = jax.lax.fori_loop(0, 6, newton, 3 * past[0] - 3 * past[1] + past[2])
        x = jnp.concatenate([q, u, fiber])
        return Moving(x, past[:2], udot), x

    end, xs = jax.lax.scan(advance, start, jnp.arange(PERIOD * PARTS))
    return end, xs[PARTS - 1 :: PARTS]


def at_rest(model: Model, x: np.ndarray) -> Moving:
    """A state in which fibres do not move, and nothing is accelerated."""
    fibers = jnp.asarray(x[-len(model.muscle_names) :])
    return Moving(jnp.asarray(x), jnp.stack([fibers, fibers]), jnp.zeros(len(model.constraints.free)))


@jax.jit
def course_of(excitation: Array, initial: Array) -> Course:
    """Activation of a period from its excitation [PERIOD + 1, m]."""
    times = TIMES["activation_time"], TIMES["deactivation_time"]
    a = integrate_activation(excitation, STEP, *times, initial=initial, parallel=False, substeps=4)
    return Course(a, activation_rate(excitation, a, *times))


# Design ------------------------------------------------------------------------------------------------------


def wander(random: np.random.Generator, count: int, rate: float) -> Any:
    """Smooth random curves [time] -> [count], of unit deviation: splines through random values `rate` times a second."""
    knots = np.arange(-1, SECONDS + 2, 1 / rate)
    return interpolate.make_interp_spline(knots, random.standard_normal((len(knots), count)), k=5)


@jax.jit
def wanted_activation(model: Model, x: Array, now: Array, udot: Array, about: Array) -> Array:
    """Activations between LEAST and MOST near `about` that give the free coordinates the accelerations `udot`."""
    state = _state(model, x, now)
    q, u, free = state.q, state.u, model.constraints.free
    full = held.explicit_accelerations(model, q, u, jnp.zeros_like(q).at[free].set(udot))
    C = held.rates_per_free(model, q)
    length, gradient = lengths_and_gradient(model, pose(model, q), q)
    muscles = muscle_states(model, length, gradient @ u, now, state.fiber_length)
    arms = -(gradient @ C) * model.muscles.max_isometric_force[:, None]
    per = arms * (muscles.fal * jnp.cos(muscles.pennation))[:, None]
    passive = muscles.fpl * jnp.cos(muscles.pennation)
    right = C.T @ inverse_dynamics(model, q, u, full) - passive @ arms
    weight = jnp.array([1.0, 1.0, 1.5, 1.5, 4.0])

    def slope(a: Array) -> Array:
        return per @ (weight**2 * (a @ per - right)) + 2.0 * (a - about)

    size = jnp.sum((per * weight) ** 2) + 2.0
    return jax.lax.fori_loop(0, 1000, lambda _, a: jnp.clip(a - slope(a) / size, LEAST, MOST), about)


def design(model: Model, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """EMG [T, m] with only the part of the delay that is less than a sample, and the state that the movement starts from."""
    random = np.random.default_rng(seed)
    m, n = len(model.muscle_names), len(MIDDLE)
    path, tone = wander(random, n, 1.6), wander(random, m, 2.5)

    def reference(t: float) -> list[np.ndarray]:
        fade = 0.9 * REACH
        return [(MIDDLE + fade * path(t)) if k == 0 else fade * path(t, k) for k in (0, 1, 2)]

    def co_contraction(t: float) -> np.ndarray:
        return 0.10 + 0.09 * np.tanh(tone(t)) + 0.04

    q0 = reference(0.0)[0]
    fibers = np.asarray(model.muscles.optimal_fiber_length)
    x = np.concatenate([q0, np.zeros(n), fibers])
    a = co_contraction(0.0)
    a = np.asarray(wanted_activation(model, x, a, np.zeros(n), a))
    at_start = _state(model, jnp.asarray(x), jnp.asarray(a)).q
    length, _ = lengths_and_gradient(model, pose(model, at_start), at_start)
    a = np.round(a, 5)
    x[2 * n :] = fiber_equilibrium(model, length, jnp.zeros(m), jnp.asarray(a))
    start, moving = x.copy(), at_rest(model, x)
    emg: list[np.ndarray] = [a]
    u1 = u2 = excitation = a
    b1, b2 = TIMES["c1"] + TIMES["c2"], TIMES["c1"] * TIMES["c2"]
    gamma = 1 - (TIMES["delay"] / STEP - WHOLE)  # Eq. 21
    for k in range(int(SECONDS * RATE) // PERIOD):
        t = k * PERIOD * STEP
        soft = min(1.0, t / 0.3)
        q, qd, qdd = reference(t + 0.04)
        udot = soft * (qdd + 14.0 * (qd - x[n : 2 * n])) + 60.0 * (q - x[:n]) * soft - (1 - soft) * 10 * x[n : 2 * n]
        wanted = np.asarray(wanted_activation(model, x, a, udot, co_contraction(t)))
        if k * PERIOD <= WHOLE:  # before the recording's first EMG can act
            wanted = emg[0]
        course = [excitation]
        for j in range(PERIOD):
            emg.append(np.round(emg[-1] + (wanted - emg[-1]) / (PERIOD - j), 5))
            delayed = gamma * emg[-1] + (1 - gamma) * emg[-2]
            excitation = (1 + b1 + b2) * delayed - b1 * u1 - b2 * u2
            u1, u2 = excitation, u1
            course.append(excitation)
        made = course_of(jnp.asarray(np.array(course)), jnp.asarray(a))
        moving, _ = period(model, moving, made)
        x, a = np.asarray(moving.x), np.asarray(made.a[-1])
        if k % 50 == 0:
            print(f"  {t:.2f} s", np.round(np.rad2deg(x[:n]), 0), np.round(np.rad2deg(q), 0), flush=True)
    return np.array(emg), start


# Recording ---------------------------------------------------------------------------------------------------


def record(model: Model, emg: np.ndarray, start: np.ndarray) -> dict[str, np.ndarray]:
    """The movement that an EMG [T, m] makes, without feedback."""
    excitation = np.asarray(emg_to_excitation(emg, STEP, TIMES["delay"], TIMES["c1"], TIMES["c2"]))
    a, moving = jnp.asarray(emg[0]), at_rest(model, start)
    states, activations = [np.asarray(start)[None]], [np.asarray(a)[None]]
    for k in range(0, len(emg) - 1, PERIOD):
        made = course_of(jnp.asarray(excitation[k : k + PERIOD + 1]), a)
        moving, xs = period(model, moving, made)
        states.append(np.asarray(xs))
        activations.append(np.asarray(made.a[1:]))
        a = made.a[-1]
    every, activation = np.concatenate(states), np.concatenate(activations)
    rates = jax.jit(lambda xs, a: jax.lax.map(lambda pair: _rates(model, *pair), (xs, a)))(every, activation)
    return {
        "time": STEP * np.arange(len(emg)),
        "q": np.asarray(rates.state.q),
        "u": np.asarray(rates.state.u),
        "udot": np.asarray(rates.udot),
        "emg": emg,
        "fiber_length": np.asarray(rates.state.fiber_length),
        "fiber_velocity": np.asarray(rates.fiber_velocity),
    }


def main() -> None:
    model, truth = person()
    FOLDER.mkdir(exist_ok=True)
    free = model.constraints.free
    for name, seed in SEEDS.items():
        emg, start = design(model, seed)
        made = record(model, np.concatenate([emg[WHOLE:], np.repeat(emg[-1:], WHOLE, axis=0)]), start)
        span = np.rad2deg(np.ptp(made["q"][:, free], axis=0))
        print(name, "ranges", np.round(span), "from", np.round(np.rad2deg(made["q"][:, free].min(axis=0))), flush=True)
        # Coordinates that constraints set are not stored; they follow from the free ones.
        for key in ("q", "u", "udot"):
            made[key] = made[key][:, free]
        np.savez_compressed(FOLDER / f"arm_{name}.npz", **made)  # type: ignore[arg-type]
    (FOLDER / "arm_person.json").write_text(json.dumps({"rate": RATE, "seeds": SEEDS, **truth}, indent=1) + "\n")


if __name__ == "__main__":
    main()
