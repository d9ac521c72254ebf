"""EMG to envelope, envelope to excitation, and the tension of paper 002's Appendix A."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from scipy.signal import lfilter

from myograd.errors import ModelError
from myograd.muscle.activation import integrate_activation
from myograd.muscle.emg import ExcitationFilter, emg_envelope, emg_to_excitation
from myograd.muscle.stroeve import first_order_activation, gaussian_force_length, hill_force_velocity, stroeve_tension

RATE = 1000.0
TIME = np.arange(4000) / RATE


def burst(middle: float = 2.0, width: float = 0.3) -> np.ndarray:
    """Noise whose strength rises and falls."""
    noise = np.random.default_rng(3).normal(size=len(TIME))
    return noise * np.exp(-(((TIME - middle) / width) ** 2))


def test_the_envelope_follows_the_strength_and_is_not_delayed():
    envelope = emg_envelope(burst(), RATE)
    assert envelope.min() >= 0
    assert envelope.max() == 1.0
    true = np.exp(-(((TIME - 2.0) / 0.3) ** 2))
    assert abs(np.sum(TIME * envelope) / np.sum(envelope) - 2.0) < 0.02
    assert np.corrcoef(envelope, true)[0, 1] > 0.98


def test_offset_drift_and_hum_of_the_recording_do_not_count():
    raw = burst()
    disturbed = raw + 3.0 + 0.5 * np.sin(2 * np.pi * 1.0 * TIME)
    np.testing.assert_allclose(emg_envelope(disturbed, RATE), emg_envelope(raw, RATE), atol=0.02)


def test_a_tone_has_the_gain_of_two_butterworth_runs():
    """Rectified, a tone of amplitude A has the mean 2 A / pi; at the edge of the band each run leaves 1 / sqrt(2)."""
    middle = slice(1500, 2500)
    for frequency, gain in ((97.3, 1.0), (20.0, 0.5)):
        envelope = emg_envelope(0.2 * np.sin(2 * np.pi * frequency * TIME), RATE, mvc=1.0)
        np.testing.assert_allclose(envelope[middle].mean(), 0.4 / np.pi * gain, rtol=0.02)


def test_normalisation_is_per_channel_and_held_at_one():
    raw = np.stack([burst(), 5 * burst()], axis=1)
    raised = emg_envelope(raw, RATE, mvc=1e9)
    assert raised.max() < 1e-6
    most = 1e9 * raised.max(axis=0)
    np.testing.assert_allclose(emg_envelope(raw, RATE, mvc=most).max(axis=0), 1.0)
    assert emg_envelope(raw, RATE, mvc=most / 2).max() == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"emg": np.where(TIME > 3, np.nan, burst())}, r"999 sample\(s\) are missing .* first at 3.001 s"),
        ({"rate": 100.0}, "contains nothing above 50 Hz, but the band goes up to 400 Hz"),
        ({"rate": 0.0}, "rate is 0 Hz"),
        ({"mvc": 0.0}, "mvc must be above 0"),
        ({"mvc": np.ones(3)}, "one number or one for each"),
        ({"emg": np.zeros(4000)}, "are constant"),
        ({"emg": np.ones(5)}, "at 1000 Hz it needs at least 167 samples$"),
        ({"emg": burst()[:160]}, "at least 167 samples"),
        ({"emg": burst()[None]}, r"shape \(1, 4000\).*is it transposed\?"),
        ({"emg": ["a", "b"]}, "emg must be numbers"),
        ({"emg": burst() + 1j}, "emg must be numbers"),
        ({"rate": None}, "rate is one number in Hz, not None"),
        ({"rate": TIME}, "rate is one number in Hz"),
        ({"mvc": "max"}, "mvc must be numbers, not 'max'"),
        ({"band": 20.0}, "it is two frequencies"),
        ({"order": 4.0}, "order is 4.0"),
        ({"low_pass": 30.0}, "low_pass is 30 Hz"),
        ({"order": 3}, "order is 3"),
        ({"band": (400.0, 20.0)}, "band is from 400 to 20 Hz"),
    ],
)
def test_recordings_that_cannot_be_used(change: dict, message: str):
    with pytest.raises(ModelError, match=message):
        emg_envelope(**({"emg": burst(), "rate": RATE} | change))


# Excitation --------------------------------------------------------------------------------------------------


def test_whole_delays_are_those_of_the_recursion(measured):
    e = np.abs(burst())[:500] / 4
    e[0] = 0.0  # before the recording there was nothing
    c1, c2, d = -0.5, -0.3, 7
    b1, b2 = c1 + c2, c1 * c2
    expected = np.asarray(lfilter([1 + b1 + b2], [1, b1, b2], np.concatenate([np.zeros(d), e[:-d]])))
    found = emg_to_excitation(e, 0.001, d * 0.001, c1, c2)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    measured("recursion", np.abs(found - expected).max())


def test_unit_gain_and_rest_before_the_start():
    constant = jnp.full((300, 2), 0.37)
    np.testing.assert_allclose(emg_to_excitation(constant, 0.001, 0.0403, -0.9, 0.4), 0.37, rtol=1e-12)


def test_delay_is_continuous():
    e = np.abs(burst())[1500:2500] / 4
    around = [np.asarray(emg_to_excitation(e, 0.001, d, -0.5, -0.3)) for d in (0.0099999999, 0.01, 0.0100000001)]
    np.testing.assert_allclose(around[0], around[1], atol=1e-6)
    np.testing.assert_allclose(around[2], around[1], atol=1e-6)
    half = np.asarray(emg_to_excitation(e, 0.001, 0.0105, -0.5, -0.3))
    one, next_one = (np.asarray(emg_to_excitation(e, 0.001, d, -0.5, -0.3)) for d in (0.010, 0.011))
    np.testing.assert_allclose(half, (one + next_one) / 2, atol=1e-12)


def test_derivatives_with_respect_to_delay_and_poles():
    e = jnp.asarray(np.abs(burst())[1900:2100] / 4)

    def total(delay, c1, c2):
        return jnp.sum(emg_to_excitation(e, 0.001, delay, c1, c2) ** 2)

    check_grads(total, (0.0123, -0.5, -0.3), order=2, modes=("fwd", "rev"), eps=1e-6, rtol=1e-4)


def test_any_free_numbers_give_a_stable_filter():
    e = jnp.asarray(np.abs(burst())[1500:2500] / 4)
    for free in (-30.0, 0.0, 3.0):
        filter_ = ExcitationFilter(jnp.array(free), jnp.array([free, -free]))
        u = filter_(e, 0.001)
        assert np.isfinite(u).all()
        assert float(jnp.max(jnp.abs(u))) < 10 * float(e.max())
    made = ExcitationFilter.of(0.04, -0.6, 0.2)
    np.testing.assert_allclose([made.delay, *made.poles], [0.04, -0.6, 0.2], rtol=1e-12)
    gradient = jax.grad(lambda f: jnp.sum(f(e, 0.001) ** 2))(made)
    assert all(np.isfinite(leaf).all() and np.any(leaf != 0) for leaf in jax.tree.leaves(gradient))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"c1": -1.0}, "stable filter"),
        ({"c2": np.nan}, "stable filter"),
        ({"c1": np.zeros(2)}, r"c1 is one number, not an array of shape \(2,\)"),
        ({"delay": -0.1}, r"delay is -0\.1 s; it must be from 0 to 1 s"),
        ({"delay": 40.0}, "delay is 40 s"),  # milliseconds
        ({"delay": np.nan}, "delay is nan s"),
        ({"step": 1000.0}, "step is 1000 s; it is the time between two samples, 1 / rate"),
        ({"step": np.inf}, "step is inf s"),
        ({"envelope": np.array([0, 0, 0, np.nan])}, "not finite in row 3"),
        ({"envelope": np.array([0.0, 0.2, 35.0])}, r"envelope is not from 0 to 1 in row 2 \(1 of 3 samples\)"),
        ({"envelope": 0.5}, "envelope needs a row per sample"),
        ({"envelope": np.zeros((0, 3))}, "envelope needs a row per sample"),
        ({"envelope": "envelope.mot"}, "envelope must be numbers"),
    ],
)
def test_what_cannot_become_an_excitation(change: dict, message: str):
    good = {"envelope": np.ones(10), "step": 0.001, "delay": 0.0, "c1": 0.0, "c2": 0.2}
    with pytest.raises(ModelError, match=f"emg_to_excitation: .*{message}"):
        emg_to_excitation(**(good | change))


def test_unusable_filters_are_refused():
    with pytest.raises(ModelError, match="delay is 0 s"):
        ExcitationFilter.of(0.0, 0.1, 0.2)
    for poles in ((1.0, 0.2), (0.2, -1.5), (np.nan, 0.2), (0.2, np.nan)):
        with pytest.raises(ModelError, match="stable filter"):
            ExcitationFilter.of(0.04, *poles)


def test_a_filter_that_overshoots_gives_an_excitation_all_the_same():
    e = np.repeat([0.0, 1.0, 0.0], 50)
    linear = np.asarray(lfilter([1.5 * 1.2], [1, 0.7, 0.1], e))
    assert linear.max() > 1.1
    assert linear.min() < -0.1
    u = emg_to_excitation(e, 0.001, 0.0, 0.5, 0.2)
    np.testing.assert_allclose(u, np.clip(linear, 0, 1), atol=1e-12)
    assert np.isfinite(integrate_activation(u, 0.001)).all()


# Paper 002, Appendix A ---------------------------------------------------------------------------------------


def test_hills_hyperbola_and_the_gaussian():
    assert gaussian_force_length(jnp.array(1.0)) == 1.0
    np.testing.assert_allclose(gaussian_force_length(jnp.array([0.55, 1.45])), np.exp(-1), rtol=1e-12)
    v = jnp.array([-2.0, -1.0, 0.0, 1e9])
    np.testing.assert_allclose(hill_force_velocity(v), [0, 0, 1, 1.3], atol=1e-8)
    # (F + a)(v - b) is constant in shortening: Hill's equation with a = b = s.
    v = jnp.linspace(-0.99, -0.01, 50)
    np.testing.assert_allclose((hill_force_velocity(v) + 0.3) * (0.3 - v), 0.3 * 1.3, rtol=1e-12)
    np.testing.assert_allclose(stroeve_tension(0.5, jnp.array(1.0), jnp.array(0.0), 800.0), 400.0)


def test_activation_rises_and_falls_with_its_time_constants():
    u = np.concatenate([np.ones(200), np.zeros(200)])
    a = np.asarray(first_order_activation(u, 0.001))
    np.testing.assert_allclose(a[:200], 1 - np.exp(-np.arange(200) / 10), atol=1e-12)
    np.testing.assert_allclose(a[200:], a[200] * np.exp(-np.arange(200) / 40), atol=1e-12)


def test_shortening_and_lengthening_meet_with_a_whole_slope():
    """At rest, the slope of Hill's hyperbola on the side of shortening."""
    np.testing.assert_allclose(jax.grad(hill_force_velocity)(0.0), (1.3 / 0.3), rtol=1e-12)


def test_constants_of_the_curves_are_arguments():
    x, v = jnp.array(1.2), jnp.array([-0.4, 0.4])
    other = stroeve_tension(0.5, x, v, 800.0, width=0.6, shortening=0.2, lengthening=0.4, most=1.5)
    expected = 400.0 * gaussian_force_length(x, 0.6) * hill_force_velocity(v, 0.2, 0.4, 1.5)
    np.testing.assert_allclose(other, expected, rtol=1e-14)
    assert np.all(np.abs(other - stroeve_tension(0.5, x, v, 800.0)) > 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"excitation": [0.5, np.nan]}, "first_order_activation: excitation is not finite in row 1"),
        ({"excitation": [0.5, 1.5]}, "excitation is not from 0 to 1 in row 1"),
        ({"excitation": 0.5}, "needs a row per sample"),
        ({"step": 0.0}, "the step is 0 s"),
        ({"activation_time": 0.0}, "time constants must be above 0"),
        ({"initial": 2.0}, "first_order_activation: initial is 2.0"),
    ],
)
def test_what_first_order_activation_refuses(change: dict, message: str):
    with pytest.raises(ModelError, match=message):
        first_order_activation(**({"excitation": np.full(3, 0.5), "step": 0.001} | change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"activation": 1.5}, "activation must be finite, and from 0 to 1"),
        ({"norm_length": np.array([1.0, np.nan])}, "norm_length must be finite"),
        ({"norm_velocity": np.array(np.inf)}, "norm_velocity must be finite"),
        ({"max_isometric_force": -1.0}, "max_isometric_force must be finite, and from 0"),
    ],
)
def test_what_has_no_tension(change: dict, message: str):
    good: dict[str, Any] = {"activation": 0.5, "norm_length": 1.0, "norm_velocity": 0.0, "max_isometric_force": 100.0}
    with pytest.raises(ModelError, match=f"stroeve_tension: {message}"):
        stroeve_tension(**(good | change))
