"""Makes the recordings that ship with Myograd: a person's arm, moved by synthesised EMG.

    python scripts/shipped/recordings.py

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
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from scipy import interpolate
from scipy.optimize import lsq_linear

import myograd
from myograd import models
from myograd.dynamics import constraints
from myograd.dynamics.accelerations import inverse_dynamics
from myograd.dynamics.kinematics import pose
from myograd.estimate.identification.choices import OF_MODEL
from myograd.estimate.inverse.regressors import NAMES
from myograd.model.model import Model
from myograd.model.parameters import values_of
from myograd.muscle.contraction import muscle_states
from myograd.muscle.emg import emg_to_excitation
from myograd.path.length import lengths_and_gradient
from myograd.simulation.controls import ControlSignal
from myograd.simulation.initial import initial_state
from myograd.simulation.run import simulate
from myograd.studies.people import BODIES, somebody
from myograd.system.rates import state_derivative
from myograd.system.state import State

DEEP = ("INFSP", "SUBSC", "TRImed", "BRA", "PQ")
FOLDER = Path(models.__file__).parent / "data"
RATE, SECONDS = 500.0, 4.0
STEP = 1 / RATE
PERIOD = 5  # samples between two decisions of the controller
TIMES = {"activation_time_constant": 0.012, "deactivation_time_constant": 0.045}  # s
EMG = {"delay": 0.0434, "c1": -0.78, "c2": -0.55}
WHOLE = int(EMG["delay"] / STEP)  # samples
LEAST, MOST = 0.02, 0.9  # EMG
WEIGHT = np.array([1.0, 1.0, 1.5, 1.5, 4.0])  # of a missing N m on each free coordinate
TONE = 1.4  # of an activation that is not the tone
MIDDLE = np.array([0.7, 0.95, 0.1, 1.3, 0.3])  # rad; elevation plane and angle, rotation, elbow, pronation
REACH = np.array([0.7, 0.6, 0.6, 0.75, 0.7])  # rad about it, roughly
SEEDS = {"move1": 1, "move2": 2, "move3": 3}


def person(seed: int = 20) -> tuple[Model, dict[str, Any]]:
    """The shipped arm with the parameters of somebody else; and these."""
    model = somebody(myograd.load_model(models.model_path("arm")), BODIES, seed)
    m = len(model.muscle_names)
    times = {name: jnp.full(m, value) for name, value in TIMES.items()}
    changed = replace(model, muscles=replace(model.muscles, **times))
    names = [f"{body}.{field}" for body in BODIES for field in NAMES]
    names += [f"{muscle}.{field}" for muscle in model.muscle_names for field in OF_MODEL]
    truth = {
        "numbers": values_of(changed, names)
        | {f"muscles.{name}": value for name, value in TIMES.items()}
        | {f"emg.{name}": value for name, value in EMG.items()},
        "bodies": BODIES,
        "deep": DEEP,
    }
    return changed, truth


# Simulation --------------------------------------------------------------------------------------------------


@jax.jit
def moved(model: Model, start: State, time: Array, excitation: Array) -> State:
    """States at `time` [T], under excitations [T, m] that are linear between them."""
    return simulate(model, start, ControlSignal(time, excitation), at=time, accuracy=1e-9).state


def posed(model: Model, free: np.ndarray, activation: np.ndarray) -> State:
    """At rest, in equilibrium."""
    q = np.zeros(len(model.coordinate_names))
    q[model.constraints.free] = free
    return initial_state(model, constraints.explicit_coordinates(model, jnp.asarray(q)), activation=activation)


# Design ------------------------------------------------------------------------------------------------------


def wander(random: np.random.Generator, count: int, rate: float) -> Any:
    """Smooth random curves [time] -> [count] that go through all of -1 to 1: splines through evenly spread values, shuffled,
    `rate` of them a second."""
    knots = np.arange(-1, SECONDS + 2, 1 / rate)
    values = random.permuted(np.tile(np.linspace(-1, 1, len(knots)), (count, 1)), axis=1)
    return interpolate.make_interp_spline(knots, values.T, k=3)


@jax.jit
def pulls(model: Model, state: State, udot: Array) -> tuple[Array, Array]:
    """Generalised forces of full activations on the free coordinates [m, n], and those that accelerations `udot` need [n]."""
    q, u, free = state.q, state.u, model.constraints.free
    full = constraints.explicit_accelerations(model, q, u, jnp.zeros_like(q).at[free].set(udot))
    C = constraints.rates_per_free(model, q)
    length, gradient = lengths_and_gradient(model, pose(model, q), q)
    muscles = muscle_states(model, length, gradient @ u, state.activation, state.fiber_length)
    arms = -(gradient @ C) * model.muscles.max_isometric_force[:, None]
    per = arms * (muscles.fal * muscles.fv * jnp.cos(muscles.pennation))[:, None]
    passive = muscles.fpl * jnp.cos(muscles.pennation)
    right = C.T @ inverse_dynamics(model, q, u, full) - passive @ arms
    return per, right


def wanted_activation(model: Model, state: State, udot: np.ndarray, about: np.ndarray) -> np.ndarray:
    """Activations between LEAST and MOST near `about` that give the free coordinates the accelerations `udot`, or nearly."""
    per, right = (np.asarray(x) for x in pulls(model, state, udot))
    A = np.vstack([(WEIGHT * per).T, TONE * np.eye(len(about))])
    return lsq_linear(A, np.concatenate([WEIGHT * right, TONE * about]), (LEAST, MOST)).x


def design(model: Model, seed: int) -> tuple[np.ndarray, State]:
    """EMG [T, m] with only the part of the delay that is less than a sample, and the state that the movement starts from."""
    random = np.random.default_rng(seed)
    m, n, free = len(model.muscle_names), len(MIDDLE), model.constraints.free
    path, tone = wander(random, n, 1.2), wander(random, m, 2.5)

    def reference(t: float) -> list[np.ndarray]:
        return [MIDDLE + REACH * path(t) if k == 0 else REACH * path(t, k) for k in (0, 1, 2)]

    def co_contraction(t: float) -> np.ndarray:
        return 0.22 + 0.18 * np.clip(tone(t), -1, 1)

    q0, tonic = reference(0.0)[0], co_contraction(0.0)
    a = np.round(wanted_activation(model, posed(model, q0, tonic), np.zeros(n), tonic), 5)
    state = start = posed(model, q0, a)
    emg: list[np.ndarray] = [a]
    u1 = u2 = excitation = a
    b1, b2 = EMG["c1"] + EMG["c2"], EMG["c1"] * EMG["c2"]
    gamma = 1 - (EMG["delay"] / STEP - WHOLE)  # Eq. 21
    for k in range(int(SECONDS * RATE) // PERIOD):
        t = k * PERIOD * STEP
        soft = min(1.0, t / 0.3)
        q, qd, qdd = reference(t + 0.04)
        now, speed = np.asarray(state.q)[free], np.asarray(state.u)[free]
        udot = soft * (qdd + 14.0 * (qd - speed) + 60.0 * (q - now)) - (1 - soft) * 10 * speed
        wanted = wanted_activation(model, state, udot, co_contraction(t))
        if k * PERIOD <= WHOLE:  # before the recording's first EMG can act
            wanted = emg[0]
        signal = [excitation]
        for j in range(PERIOD):
            emg.append(np.round(emg[-1] + (wanted - emg[-1]) / (PERIOD - j), 5))
            delayed = gamma * emg[-1] + (1 - gamma) * emg[-2]
            excitation = (1 + b1 + b2) * delayed - b1 * u1 - b2 * u2
            u1, u2 = excitation, u1
            signal.append(excitation)
        time = state.time + STEP * jnp.arange(PERIOD + 1)
        state = jax.tree.map(lambda x: x[-1], moved(model, state, time, jnp.asarray(np.array(signal))))
        if k % 50 == 0:
            print(f"  {t:.2f} s", np.round(np.rad2deg(now)), np.round(np.rad2deg(q)), flush=True)
    return np.array(emg), start


# Recording ---------------------------------------------------------------------------------------------------


def record(model: Model, emg: np.ndarray, start: State) -> dict[str, np.ndarray]:
    """The movement that an EMG [T, m] makes, without feedback."""
    time = STEP * np.arange(len(emg))
    excitation = emg_to_excitation(emg, STEP, EMG["delay"], EMG["c1"], EMG["c2"])
    states = moved(model, start, jnp.asarray(time), excitation)
    assert bool(jnp.isfinite(states.q).all())
    controls = jnp.asarray(excitation)
    rates = jax.jit(lambda s, e: jax.lax.map(lambda pair: state_derivative(model, *pair), (s, e)))(states, controls)
    return {
        "time": time,
        "q": np.asarray(states.q),
        "u": np.asarray(states.u),
        "udot": np.asarray(rates.u),
        "emg": emg,
        "fiber_length": np.asarray(states.fiber_length),
        "fiber_velocity": np.asarray(rates.fiber_length),
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
        np.savez_compressed(FOLDER / f"arm_{name}.npz", **made)  # pyright: ignore[reportArgumentType]
    (FOLDER / "arm_person.json").write_text(json.dumps({"rate": RATE, "seeds": SEEDS, **truth}, indent=1) + "\n")


if __name__ == "__main__":
    main()
