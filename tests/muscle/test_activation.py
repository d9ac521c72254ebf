"""Excitation to activation: the equation, its integration, and that a recording in parallel is the recording in sequence."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import myograd as mg
from myograd.errors import ModelError
from myograd.muscle.activation import smoothed_activation_rate

STEP = 0.005


def recording(samples: int, muscles: int = 3) -> np.ndarray:
    """Excitations that rise, fall, rest at zero and at one."""
    walk = np.cumsum(np.random.default_rng(4).normal(size=(samples, muscles)), axis=0)
    return np.clip(np.sin(0.1 * walk) * 0.8 + 0.4, 0.0, 1.0)


def test_rates_of_paper_000():
    """Eqs. 17-18, by hand: rising from 0.2 to 0.8, falling from 0.8 to 0.2, and at rest."""
    u, a = jnp.array([0.8, 0.2, 0.5]), jnp.array([0.2, 0.8, 0.5])
    expected = [0.6 / (0.01 * 0.8), -0.6 / (0.04 / 1.7), 0.0]
    np.testing.assert_allclose(mg.activation_rate(u, a, 0.01, 0.04), expected, rtol=1e-14)


def test_a_steep_blend_is_the_switch():
    u, a = jnp.array([0.8, 0.2]), jnp.array([0.2, 0.8])
    np.testing.assert_allclose(
        smoothed_activation_rate(u, a, 0.01, 0.04, 1e3), mg.activation_rate(u, a, 0.01, 0.04), rtol=1e-12
    )


def test_parallel_is_sequential(measured):
    u = recording(6000)
    initial = jnp.array([0.0, 0.3, 1.0])
    sequential = mg.integrate_activation(u, STEP, initial=initial, parallel=False)
    parallel = mg.integrate_activation(u, STEP, initial=initial, parallel=True)
    np.testing.assert_allclose(parallel, sequential, rtol=0, atol=1e-8)
    measured("parallel", float(jnp.abs(parallel - sequential).max()))
    assert float(jnp.abs(sequential[1:] - sequential[:-1]).max()) > 0.1  # there is something to integrate
    np.testing.assert_array_equal(parallel[0], initial)


def test_too_short_a_beginning_shows():
    """The second pass is what makes it right: with next to none of it the stretches start wrong."""
    u = recording(6000)
    sequential = mg.integrate_activation(u, STEP, parallel=False)
    hasty = mg.integrate_activation(u, STEP, parallel=True, settle=2 * STEP)
    assert float(jnp.abs(hasty - sequential).max()) > 1e-3


def test_gradients_of_time_constants_agree():
    u = recording(4000)

    def total(times, parallel):
        return jnp.sum(jnp.sin(mg.integrate_activation(u, STEP, *times, parallel=parallel, settle=2.0, substeps=5)))

    times = (0.012, 0.05)
    sequential, parallel = (jax.jit(jax.grad(lambda t, p=p: total(t, p)))(times) for p in (False, True))
    np.testing.assert_allclose(parallel, sequential, rtol=1e-8)
    quotient = (total((0.012, 0.05 + 1e-6), False) - total((0.012, 0.05 - 1e-6), False)) / 2e-6
    np.testing.assert_allclose(sequential[1], quotient, rtol=1e-5)


def test_order_four():
    """Constant excitation below and above the activation; halved steps leave a sixteenth of the error."""
    exact = solve_ivp(
        lambda _, a: np.asarray(mg.activation_rate(1.0, jnp.asarray(a), 0.02, 0.06)),
        (0, 0.08),
        [0.0],
        rtol=1e-12,
        atol=1e-14,
    ).y[0, -1]
    errors = []
    for count in (16, 32, 64):
        a = mg.integrate_activation(np.ones(count + 1), 0.08 / count, 0.02, 0.06, substeps=1)
        errors.append(abs(float(a[-1]) - exact))
    assert 12 < errors[0] / errors[1] < 22
    assert 12 < errors[1] / errors[2] < 22


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"excitation": np.array([0.5, np.nan, 0.5])}, "not finite in row 1"),
        ({"excitation": np.array([0.5, 0.5, 1.2])}, "is not from 0 to 1 in row 2"),
        ({"step": 0.0}, "step is 0 s"),
        ({"step": 5.0}, "step is 5 s; it is the time between two samples, 1 / rate"),
        ({"step": 0.5, "activation_time": 0.001}, "too long for a time constant of 0.001 s; .* at least every 0.1 s"),
        ({"activation_time": np.full(3, 0.01)}, r"a time constant has shape \(3,\)"),
        ({"activation_time": np.nan}, "a time constant is nan s"),
        ({"settle": -1.0}, "settle is -1.0 s"),
        ({"substeps": 2.5}, "substeps is 2.5; it must be a whole number"),
        ({"substeps": 0}, "substeps is 0"),
        ({"initial": 1.5}, "initial is 1.5; activation is from 0 to 1"),
        ({"initial": -0.1}, "initial is -0.1"),
        ({"initial": np.nan}, "initial is nan"),
        ({"initial": np.zeros(2)}, r"initial has shape \(2,\)"),
        ({"deactivation_time": 0.0}, "time constant is 0 s"),
    ],
)
def test_what_cannot_be_integrated(change: dict, message: str):
    with pytest.raises(ModelError, match=message):
        mg.integrate_activation(**({"excitation": np.full(3, 0.5), "step": STEP} | change))


def test_traced_time_constants_need_a_settling_time():
    with pytest.raises(ModelError, match="give substeps"):
        jax.grad(lambda t: jnp.sum(mg.integrate_activation(recording(10), STEP, t)))(0.01)
    with pytest.raises(ModelError, match="give settle"):
        jax.grad(lambda t: jnp.sum(mg.integrate_activation(recording(10), STEP, t, substeps=5)))(0.01)


@pytest.mark.parametrize("step", [0.010, 0.0125, 0.1])
def test_samples_far_apart_are_integrated_in_smaller_steps(step: float, measured):
    """Excitation that jumps between 0 and 1, where da/dt changes with a by 8 / t_act, against two hundred steps per sample."""
    u = np.array([1.0, 1.0, 0.0, 0.0, 1.0, 0.3, 0.9, 0.0])
    fine = mg.integrate_activation(u, step, substeps=max(200, int(2e4 * step)))
    np.testing.assert_allclose(mg.integrate_activation(u, step), fine, atol=2e-4)
    measured("smaller steps", float(jnp.abs(mg.integrate_activation(u, step) - fine).max()))
    assert float(jnp.abs(mg.integrate_activation(u, 0.01, substeps=1) - mg.integrate_activation(u, 0.01)).max()) > 0.01


def test_one_sample_and_whole_numbers():
    for parallel in (None, False, True):
        np.testing.assert_array_equal(mg.integrate_activation([0.5], STEP, initial=0.2, parallel=parallel), [0.2])
    whole = np.array([0, 1, 1, 0])
    np.testing.assert_array_equal(mg.integrate_activation(whole, STEP), mg.integrate_activation(whole * 1.0, STEP))


def test_many_muscles_are_integrated_in_sequence_by_default():
    """By the default, both are the very program of the choice."""
    few, many = recording(6000, 1), recording(6000, 16)
    np.testing.assert_array_equal(mg.integrate_activation(few, STEP), mg.integrate_activation(few, STEP, parallel=True))
    np.testing.assert_array_equal(
        mg.integrate_activation(many, STEP), mg.integrate_activation(many, STEP, parallel=False)
    )


def test_traced_excitation_counts_as_0_or_1():
    wild = jnp.array([0.5, 1.5, 2.0, -1.0, 0.3])
    held = jnp.clip(wild, 0, 1)
    inside = jax.jit(lambda u: mg.integrate_activation(u, STEP))
    np.testing.assert_array_equal(inside(wild), inside(held))
