"""Noisy recordings: what is compared of them, and fits that know of errors in EMG."""

from __future__ import annotations

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import signal

import myograd as mg
from myograd.errors import MyogradError
from myograd.estimate.identification import noise as errors
from myograd.estimate.identification.adam import fit_adam
from myograd.estimate.identification.choices import Choices
from myograd.estimate.identification.fit import Fit, fit
from myograd.estimate.identification.fitted import fitted_model
from myograd.estimate.identification.noise import EmgNoise, motion_noise, refine, splines
from myograd.estimate.identification.problem import Problem
from myograd.estimate.identification.setup import identification
from myograd.estimate.identification.shipped import shipped_deep, shipped_recording, shipped_truth
from myograd.estimate.least_squares import Options
from myograd.estimate.recording import Recording, smooth_motion
from myograd.estimate.signals import low_pass_of, rows_apart
from myograd.models import model_path

CUTOFF = 10.0
COMMON = ("emg.delay", "emg.c1", "emg.c2")


@pytest.fixture(scope="module")
def person() -> mg.Model:
    """The person of the shipped recordings, with the muscles that these do not determine, too."""
    arm = mg.load_model(model_path("arm"))
    recording = shipped_recording("move1", arm)
    p = identification(
        arm, [recording], shipped_deep(), ("humerus", "ulna", "radius"), choices=Choices(every=50, fibers="solved")
    ).parameters
    return fitted_model(arm, p, shipped_truth(p))


@pytest.fixture(scope="module")
def problem(person: mg.Model) -> Problem:
    """EMG with errors of 5 %, exact motion; strengths and the EMG's filter are asked for."""
    it = replace(shipped_recording("move1", person, fibers=False), low_pass=6.0)
    random = np.random.default_rng(3)
    wobble = signal.sosfiltfilt(
        signal.butter(2, CUTOFF, fs=500, output="sos"), random.standard_normal(it.emg.shape), axis=0
    )
    emg = np.clip(it.emg * (1 + 0.05 * wobble / wobble.std(axis=0)), 0, 1)
    return _problem(person, replace(it, emg=emg))


def _problem(person: mg.Model, recording: Recording) -> Problem:
    return identification(
        person,
        [recording],
        shipped_deep(),
        choices=Choices(of_muscle=("max_isometric_force",), common=COMMON, fibers="solved"),
    )


@pytest.fixture(scope="module")
def plain(problem: Problem) -> Fit:
    return fit(problem, options=Options(iterations=60))


def test_a_low_pass_passes_what_is_slow_and_keeps_few_rows():
    step = 0.002 * rows_apart(6.0, 0.002)
    assert step == 0.008
    low_pass = low_pass_of(6.0, step)
    time = step * np.arange(500)
    slow, fast = np.sin(2 * np.pi * time), np.sin(2 * np.pi * 20 * time)
    np.testing.assert_allclose(low_pass(slow), low_pass.kept(slow), atol=2e-3)
    assert np.abs(low_pass(fast)).max() < 0.02
    both = low_pass(np.stack([slow, fast], axis=1))
    np.testing.assert_allclose(both[:, 0], low_pass(slow), atol=1e-12)
    apart = np.diff(low_pass.kept(time))
    assert 1 / (5 * 6.0) < apart[0] < 1 / (2 * 6.0)


def test_the_residual_is_low_passed_with_its_slopes(problem: Problem):
    z = problem.parameters.start()
    r, J, fibers = problem.linearized(z)
    assert r.shape == (problem.rows,)
    assert J.shape == (problem.rows, len(z))
    step = 1e-5 * problem.parameters.scales()[-1]
    there, here = (problem.residual(z + sign * step * np.eye(len(z))[-1], fibers)[0] for sign in (1, -1))
    np.testing.assert_allclose(J[:, -1], (there - here) / (2 * step), atol=1e-5 * np.abs(J[:, -1]).max())


def test_splines_have_unit_variance():
    values = splines(2000, 0.002, CUTOFF).values
    np.testing.assert_allclose(np.mean(np.sum(values**2, axis=1)[100:-100]), 1.0, atol=1e-3)


@pytest.mark.parametrize("cutoff", [2.0, CUTOFF])
def test_slopes_by_errors_of_emg_are_those_of_the_residual(problem: Problem, plain: Fit, cutoff: float):
    (data,) = problem.data
    basis = splines(len(data.emg), problem.schemes[0].step, cutoff)
    R = errors._slopes(problem, problem, 0, plain, basis)
    x = np.random.default_rng(0).standard_normal((basis.values.shape[1], data.emg.shape[1]))
    change, step = basis.values @ x, 1e-4
    sides = []
    for sign in (1, -1):
        emg = data.emg * jnp.asarray(1 + sign * step * change)
        sides.append(replace(problem, data=(data._replace(emg=emg),)).residual(plain.z, plain.fibers)[0])
    expected = (sides[0] - sides[1]) / (2 * step)
    np.testing.assert_allclose(R @ x.T.ravel(), expected, atol=2e-3 * np.abs(expected).max())


def test_motion_noise_is_found_beside_that_of_emg():
    random = np.random.default_rng(4)
    R = random.standard_normal((400, 30))
    left = 0.3 * random.standard_normal(400) + 0.05 * R @ random.standard_normal(30)
    assert abs(motion_noise([(R, left)], 0.05) - 0.3) < 0.03


def test_a_fit_that_knows_of_errors_is_not_led_astray_by_them(problem: Problem, plain: Fit):
    p = problem.parameters
    truth = shipped_truth(p)
    refined = refine(plain, EmgNoise(0.05, CUTOFF))
    assert refined.converged, refined.outcome
    assert refined.problem.adjusted is not None
    slowness = p.places["emg.c1"]
    before, after = (abs(it.physical[slowness] - truth[slowness]) for it in (plain, refined))
    assert after < 0.5 * before
    assert np.median(np.abs(refined.physical / truth - 1)) < np.median(np.abs(plain.physical / truth - 1))


def test_noise_that_cannot_be_is_refused(problem: Problem, plain: Fit, person: mg.Model):
    with pytest.raises(MyogradError, match="from 0 to 1, not 5"):
        EmgNoise(5.0)
    with pytest.raises(MyogradError, match="above 0 Hz, not 0"):
        EmgNoise(0.05, 0.0)
    assert refine(plain, EmgNoise(0.0)) is plain
    with pytest.raises(MyogradError, match="no envelopes up to 300 Hz"):
        refine(plain, EmgNoise(0.05, 300.0))
    with pytest.raises(MyogradError, match="exclude each other"):
        refine(replace(plain, weights=np.ones(problem.rows)), EmgNoise())
    with pytest.raises(MyogradError, match="for recordings without noise"):
        fit_adam(problem, plain.z, 1)
    exact = _problem(person, shipped_recording("move1", person, fibers=False))
    with pytest.raises(MyogradError, match="give the recordings a low_pass"):
        refine(replace(plain, problem=exact), EmgNoise())


def test_noisy_recordings_need_more_equations_than_numbers(person: mg.Model):
    it = replace(shipped_recording("move1", person, fibers=False), low_pass=6.0)
    with pytest.raises(MyogradError, match=r"are \d+ independent equations for 78 numbers; 1.5 times as many"):
        identification(person, [it], shipped_deep(), ("humerus", "ulna", "radius"), choices=Choices(fibers="solved"))


def test_motion_too_slow_for_its_low_pass_is_told(person: mg.Model):
    time = np.arange(0, 2, 1 / 30)
    angles = np.zeros((len(time), len(person.coordinate_names)))
    with pytest.raises(MyogradError, match=r"at 8 Hz needs motion recorded at 35.6 Hz or more, not at 30 Hz"):
        smooth_motion(person, time, angles, time, 30.0, 8.0)
    with pytest.raises(MyogradError, match="above 0 Hz, not at -1 Hz"):
        smooth_motion(person, time, angles, time, 30.0, -1.0)


def test_recordings_too_short_to_be_low_passed_are_told(person: mg.Model):
    it = replace(shipped_recording("move1", person, fibers=False), low_pass=6.0)
    with pytest.raises(MyogradError, match=r"0.798 s are too short: the low-pass at 6 Hz .* use up 0.7 s"):
        _problem(person, it.part(slice(0, 400)))
    with pytest.raises(MyogradError, match=r"a low-pass at 200 Hz.*below 125 Hz"):
        _problem(person, replace(it, low_pass=200.0))
