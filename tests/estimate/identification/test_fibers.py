"""Fibres solved from path lengths: two ways agree, no muscle spoils another one's, and gait models stay finite."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import interpolate, signal

import myograd as mg
from myograd.estimate.identification import forces
from myograd.estimate.identification.fiber_steps import shortest_allowed, stepped_fibers
from myograd.files.motions import table_coordinates
from myograd.models import model_path

STEP = 0.005
GAITS = {
    "running": ("Hamner/outputReference/subject02_scaled.osim", "Hamner/osim46/ik.mot"),
    "walking": ("Gait2392_Simbody/subject01_simbody.osim", "Gait2392_Simbody/subject01_walk1_ik.mot"),
    "walking_millard": ("Gait10dof18musc/subject01.osim", "Gait10dof18musc/osim46/ik.mot"),
}


@pytest.fixture(scope="module")
def driven() -> mg.Model:
    return forces.only(mg.load_model(model_path("arm")), ("PECM1", "DELT2", "BIClong"))


@pytest.fixture(scope="module")
def solve(driven: mg.Model) -> Callable[[jax.Array, jax.Array], jax.Array]:
    return jax.jit(lambda L, a: forces.solved_fibers(driven, L, a, STEP, forces.resting_fibers(driven, L, a)))


@pytest.fixture(scope="module")
def signals(driven: mg.Model) -> tuple[jax.Array, jax.Array]:
    """Path lengths and activations that Newton's method over all samples solves."""
    t = STEP * np.arange(120)
    base = np.asarray(driven.muscles.tendon_slack_length + 0.95 * driven.muscles.optimal_fiber_length)
    length = base + 0.006 * np.sin(np.outer(6 * t, [1.0, 1.3, 0.7]))
    return jnp.asarray(length), jnp.asarray(0.3 + 0.2 * np.sin(np.outer(11 * t, [1.0, 0.8, 1.2])))


def balance(driven: mg.Model, length: jax.Array, activation: jax.Array, fiber: jax.Array) -> np.ndarray:
    velocity = forces.rate_of(fiber, STEP, 3)
    return np.asarray(forces._balance(driven, length, activation, fiber, velocity))


def test_both_ways_to_solve_fibres_agree(driven: mg.Model, solve: Callable, signals: tuple[jax.Array, jax.Array]):
    stepped = jax.jit(
        lambda L, a: stepped_fibers(driven, partial(forces._balance_of_one, driven), L, a, STEP, forces.BACKWARD[3])
    )(*signals)
    np.testing.assert_allclose(stepped, solve(*signals), rtol=1e-8)


def test_a_path_that_jumps_leaves_the_other_muscles_alone(
    driven: mg.Model, solve: Callable, signals: tuple[jax.Array, jax.Array]
):
    """The second path jumps by more than the fibre is long, and comes back: the tendon is slack, then torn at."""
    length, a = signals
    far = 1.2 * float(driven.muscles.optimal_fiber_length[1])
    jumping = length.at[30:75, 1].add(-far).at[80:, 1].add(0.3 * far)
    fiber = solve(jumping, a)
    others = np.array([0, 2])
    np.testing.assert_allclose(fiber[:, others], solve(length, a)[:, others], rtol=1e-10)
    assert np.abs(balance(driven, jumping, a, fiber)).max() < 1e-9


def test_fibres_at_their_shortest_do_not_move_with_parameters(driven: mg.Model, signals: tuple[jax.Array, jax.Array]):
    length, a = signals
    short = length.at[:, 1].add(-1.5 * float(driven.muscles.optimal_fiber_length[1]))

    def last(a: jax.Array) -> jax.Array:
        return forces.solved_fibers(driven, short, a, STEP, forces.resting_fibers(driven, short, a))[-1]

    value, slope = jax.jit(lambda a: jax.jvp(last, (a,), (jnp.ones_like(a),)))(a)
    np.testing.assert_allclose(value[1], shortest_allowed(driven)[1], rtol=1e-9)
    assert abs(slope[1]) < 1e-9
    assert (slope[np.array([0, 2])] < 0).all()  # more active fibres are shorter


def test_fibres_that_were_not_found_are_not_numbers(
    driven: mg.Model, signals: tuple[jax.Array, jax.Array], monkeypatch: pytest.MonkeyPatch
):
    """Neither method finds the second muscle's: no number, and no derivative that looks like one; others have theirs."""
    length, a = signals
    short = length.at[:, 1].add(-1.5 * float(driven.muscles.optimal_fiber_length[1]))  # too short for Newton's method
    longer = 1.5 * np.asarray(shortest_allowed(driven))
    monkeypatch.setattr(forces, "stepped_fibers", lambda *_: jnp.broadcast_to(longer, short.shape))

    def last(a: jax.Array) -> jax.Array:
        return forces.solved_fibers(driven, short, a, STEP, forces.resting_fibers(driven, short, a))[-1]

    value, slope = jax.jit(lambda a: jax.jvp(last, (a,), (jnp.ones_like(a),)))(a)
    np.testing.assert_array_equal(np.isfinite(value), [True, False, True])
    np.testing.assert_array_equal(np.isfinite(slope), [True, False, True])


@pytest.mark.slow
@pytest.mark.parametrize("gait", GAITS)
def test_fibres_of_gait_models_are_finite(pack: Path, gait: str, measured: Callable[..., None]):
    """Whole recordings, the models' own numbers, activations anywhere from 0.02 to 1."""
    file, motion = (pack / "pipelines" / name for name in GAITS[gait])
    if not file.exists():
        pytest.skip(f"the oracle pack has no {file}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # parts of the model that muscles do not need
        model = mg.load_model(file)
    table = mg.read_table(motion)
    rate = 1 / np.median(np.diff(table.time))
    angles = np.asarray(table_coordinates(model, table, "the motion").values)
    angles = signal.sosfiltfilt(signal.butter(2, 15, fs=rate, output="sos"), angles, axis=0)
    at = np.arange(table.time[0], table.time[-1], STEP)
    q = interpolate.make_interp_spline(table.time, angles, k=5)(at)
    length = jax.jit(jax.vmap(lambda q: mg.muscle_lengths(model, q)))(jnp.asarray(q))
    noise = np.random.default_rng(1).standard_normal(length.shape)
    slow = signal.sosfiltfilt(signal.butter(2, 6, fs=1 / STEP, output="sos"), noise, axis=0)
    a = jnp.asarray(np.clip(0.4 + 0.35 * slow / slow.std(axis=0), 0.02, 1.0))
    fiber = jax.jit(lambda L, a: forces.solved_fibers(model, L, a, STEP, forces.resting_fibers(model, L, a)))(length, a)
    finite = np.isfinite(np.asarray(fiber)).all(axis=0)
    measured(f"{gait}: muscles with finite fibres", 100 * finite.mean(), "%")
    assert finite.all(), [
        name for name, fine in zip(model.muscle_names, np.atleast_1d(finite), strict=True) if not fine
    ]
    left = np.abs(balance(model, length, a, fiber))
    held = np.asarray(fiber <= shortest_allowed(model) * (1 + 1e-9))
    assert left[~held].max() < 1e-9
    measured(f"{gait}: samples with fibres at their shortest", 100 * held.mean(), "%")
    assert held.mean() < 0.05
