"""Identification as a whole: the shipped recordings, the independent ones, and recordings that cannot identify."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import myograd as mg
from myograd.errors import ActivationWarning, MyogradError
from myograd.estimate.identification.adam import fit_adam
from myograd.estimate.identification.choices import Choices, FiberSource
from myograd.estimate.identification.diagnostics import check, diagnostics
from myograd.estimate.identification.fit import Fit, fit, ordered_poles
from myograd.estimate.identification.fitted import fitted_model, tendon_stage
from myograd.estimate.identification.problem import Problem
from myograd.estimate.identification.scores import scores
from myograd.estimate.identification.search import search, spread_starts
from myograd.estimate.identification.setup import identification
from myograd.estimate.identification.shipped import shipped_deep, shipped_recording, shipped_truth
from myograd.estimate.identification.structure import Structure
from myograd.estimate.identification.uncertainty import relative_errors, uncertainty
from myograd.estimate.identification.undetermined import undetermined
from myograd.estimate.identification.validate import validate
from myograd.estimate.inverse.mechanics import mechanics
from myograd.estimate.least_squares import Options, Outcome
from myograd.estimate.recording import Recording, check_recording, read_recording
from myograd.files.tables.table import Table
from myograd.models import model_path
from myograd.studies._identification_cases import OPENSIM, opensim_numbers, opensim_recording

BODIES = ("humerus", "ulna", "radius")


@pytest.fixture(scope="module")
def arm() -> mg.Model:
    return mg.load_model(model_path("arm"))


@pytest.fixture(scope="module")
def recording(arm: mg.Model) -> Recording:
    return shipped_recording("move1", arm)


@pytest.fixture(scope="module")
def worked_out(arm: mg.Model, recording: Recording):
    return mechanics(arm, recording, BODIES)


@pytest.fixture(scope="module")
def problem(arm: mg.Model, recording: Recording, worked_out) -> Problem:
    """Of every fourth sample."""
    return identification(arm, [recording], shipped_deep(), BODIES, choices=Choices(every=4), known=[worked_out])


def at_truth(problem: Problem) -> np.ndarray:
    return problem.parameters.vector(shipped_truth(problem.parameters))


def test_the_truth_explains_a_shipped_movement(problem: Problem):
    r, _ = problem.residual(at_truth(problem))
    wrong, _ = problem.residual(problem.parameters.start())
    assert np.sqrt(np.mean(r**2)) < 1e-5
    assert np.sqrt(np.mean(wrong**2)) > 1


def test_a_fit_comes_back_to_the_truth(problem: Problem):
    p = problem.parameters
    true = shipped_truth(p)
    (start,) = spread_starts(p, 0.01, 1, 0, true)
    found = fit(problem, start, Options(iterations=40))
    well = relative_errors(problem, p.vector(true)) < 0.05
    assert well.sum() >= 10
    score = scores(p, problem.base, found.physical, true, well)
    assert found.loss < 1e-4
    assert score.well < 0.3


def test_tendons_are_found_in_the_second_stage(problem: Problem):
    true = shipped_truth(problem.parameters)
    second = tendon_stage(problem, true)
    assert {number.field for number in second.parameters.numbers} == {"tendon_slack_length"}
    right = shipped_truth(second.parameters)
    found = fit(second)
    assert np.median(np.abs(found.physical / right - 1)) < 0.01


@pytest.fixture(scope="module")
def found(problem: Problem) -> Fit:
    """A fit that starts at the truth."""
    return fit(problem, at_truth(problem), Options(iterations=3))


def test_open_combinations_are_changes_that_the_residual_does_not_show(problem: Problem, found: Fit):
    p, sure, size = problem.parameters, uncertainty(found), 1e-3
    r, _ = problem.residual(found.z)

    def shows(combination: np.ndarray) -> float:
        return float(np.linalg.norm(problem.residual(found.z + size * p.scales() * combination)[0] - r))

    told = undetermined(found, sure, most=3)
    assert len(told) == 3
    for it, combination in zip(told, sure.combinations[::-1], strict=False):
        assert shows(combination) < 1e-4 * shows(sure.combinations[0])
        moved = np.asarray(p.physical(jnp.asarray(found.z + size * p.scales() * combination))) - found.physical
        by = {change.number.name: change.by for change in it.changes}
        same = {name: moved[p.places[name]] / size for name in by}
        longer = by[it.changes[0].number.name] / same[it.changes[0].number.name]
        assert by == pytest.approx({name: longer * change for name, change in same.items()}, rel=0.02)


def test_intervals_and_validation(problem: Problem, found: Fit, recording: Recording, worked_out):
    p = problem.parameters
    sure = uncertainty(found)
    assert np.isfinite(sure.errors).all()
    assert sure.learned.max() > 0.9
    own = validate(found, recording, worked_out)
    whole = identification(problem.model, [recording], shipped_deep(), BODIES, known=[worked_out])
    assert own.acceleration == pytest.approx(np.sqrt(np.mean(whole.residual(found.z)[0] ** 2)), rel=1e-6)
    wrong = validate(found, recording, worked_out, z=p.start())
    assert own.normalised_torque < wrong.normalised_torque


@pytest.mark.slow
def test_a_search_ends_where_its_fit_does_and_goes_on_from_its_checkpoint(problem: Problem, tmp_path: Path):
    p = problem.parameters
    (start,) = spread_starts(p, 0.01, 1, 0, shipped_truth(p))
    file = tmp_path / "search.npz"
    found = search(problem, start, checkpoint=file)
    assert found.converged and found.loss < 1e-5
    assert found.numbers["emg.c1"] < found.numbers["emg.c2"]
    again = search(problem, start, checkpoint=file)
    assert again.iterations <= found.iterations
    np.testing.assert_allclose(again.physical, found.physical, rtol=1e-6)


@pytest.mark.slow
def test_a_search_finds_the_truth_where_a_fit_does_not(arm: mg.Model):
    recordings = [shipped_recording(name, arm) for name in ("move1", "move2")]
    both = identification(arm, recordings, shipped_deep(), BODIES)
    p = both.parameters
    starts = spread_starts(p, 0.1, 5, 24, shipped_truth(p))
    start = next(z for z in starts if fit(both.rough(400), z, Options(iterations=30)).loss > 1e-3)
    assert search(both, start).loss < 1e-5


def test_poles_in_order_are_the_same_fit(problem: Problem):
    z = at_truth(problem)
    at = [problem.parameters.places[name] for name in ("emg.c1", "emg.c2")]
    swapped = z.copy()
    swapped[at] = z[at[::-1]]
    np.testing.assert_allclose(problem.residual(swapped)[0], problem.residual(z)[0], atol=1e-9)
    assert ordered_poles(problem.parameters, swapped).tolist() == z.tolist()


def test_adam_goes_down(problem: Problem):
    (start,) = spread_starts(problem.parameters, 0.05, 1, 3, shipped_truth(problem.parameters))
    done = fit_adam(problem.rough(100), start, 20)
    assert done.loss < 0.9 * fit(problem.rough(100), start, Options(iterations=0)).loss


def test_a_fit_goes_on_from_its_checkpoint(problem: Problem, tmp_path: Path):
    thin = problem.rough(120)
    (start,) = spread_starts(problem.parameters, 0.05, 1, 2, shipped_truth(problem.parameters))
    file = tmp_path / "fit.npz"
    fit(thin, start, Options(iterations=2), checkpoint=file)
    gone_on = fit(thin, start, Options(iterations=4), checkpoint=file)
    straight = fit(thin, start, Options(iterations=4))
    np.testing.assert_allclose(gone_on.z, straight.z, rtol=1e-6, atol=1e-8)
    other = replace(thin, schemes=(thin.schemes[0]._replace(substeps=9),))
    with pytest.raises(MyogradError, match="another fit"):
        fit(other, start, checkpoint=file)


def test_another_curve_is_another_problem(problem: Problem):
    """For checkpoints: also where the number that differs is none of those that are identified."""
    softer = replace(problem.driven.muscles, fiber_damping=2 * problem.driven.muscles.fiber_damping)
    other = replace(problem, driven=replace(problem.driven, muscles=softer))
    assert replace(problem).digest == problem.digest != other.digest


def test_a_fitted_model_is_saved(problem: Problem, tmp_path: Path):
    p = problem.parameters
    true = shipped_truth(p)
    file = tmp_path / "person.osim"
    mg.save_model(fitted_model(problem.model, p, true), file)
    again = mg.load_model(file)
    k = again.muscle_names.index("DELT1")
    place = p.places["DELT1.optimal_fiber_length"]
    assert float(again.muscles.optimal_fiber_length[k]) == pytest.approx(true[place], rel=1e-12)
    assert float(again.bodies.mass[again.body_names.index("ulna")]) == pytest.approx(true[p.places["ulna.mass"]])


# Recordings that cannot identify -----------------------------------------------------------------------------


def test_no_movement_is_told(problem: Problem, recording: Recording):
    still = replace(
        recording, q=np.tile(recording.q[:1], (len(recording), 1)), u=0 * recording.u, udot=0 * recording.udot
    )
    with pytest.raises(MyogradError, match="nothing moves"):
        check(replace(problem, recordings=(still,)))


def test_one_axis_is_told(problem: Problem, recording: Recording):
    q, u = np.tile(recording.q[:1], (len(recording), 1)), 0 * recording.u
    elbow = problem.model.coordinate_names.index("elbow_flexion")
    q[:, elbow], u[:, elbow] = recording.q[:, elbow], recording.u[:, elbow]
    with pytest.raises(MyogradError, match="only elbow_flexion moves"):
        check(replace(problem, recordings=(replace(recording, q=q, u=u),)))


def test_a_dead_channel_is_told(problem: Problem, recording: Recording):
    emg = recording.emg.copy()
    emg[:, recording.channels.index("DELT2")] = 0.05
    with pytest.raises(MyogradError, match="'DELT2' is flat"):
        check(replace(problem, recordings=(replace(recording, emg=emg),)))


def test_fibres_that_are_often_at_their_shortest_are_told(problem: Problem):
    schemes = tuple(scheme._replace(fibers=FiberSource.SOLVED) for scheme in problem.schemes)
    problem = replace(problem, schemes=schemes)
    z = problem.parameters.start()
    fibers = problem.guess(z)
    name = problem.identifiability.identifiable[1]
    short = [it._replace(length=it.length.at[: len(it.length) // 10, 1].set(0.0)) for it in fibers]
    noise = Structure(False, 0.0, 1.0, 0.0, 0.1)
    at = Fit(problem, z, 0.0, 0.0, Outcome.CONVERGED, True, 0)
    assert f"samples: {name}. " in "".join(diagnostics(replace(at, fibers=short), 0.0, noise))
    assert "shortest" not in "".join(diagnostics(replace(at, fibers=fibers), 0.0, noise))


def test_good_recordings_pass(problem: Problem):
    check(problem)


def test_shifted_clocks_are_told(problem: Problem):
    data = problem.data[0]
    late = round(0.5 / problem.schemes[0].step)
    shifted = jnp.roll(data.emg, late, axis=0)
    with pytest.raises(MyogradError, match=r"best if shifted 0.(4|5) s earlier.* clocks"):
        check(replace(problem, data=(data._replace(emg=shifted),)))


def test_noise_that_is_taken_for_motion_is_told(problem: Problem, recording: Recording):
    noise = 30 * np.random.default_rng(1).standard_normal(recording.udot.shape)
    noisy = replace(recording, udot=recording.udot + noise)
    with pytest.raises(MyogradError, match=r"mostly above 15 Hz.*Give a low-pass"):
        check(replace(problem, recordings=(noisy,)))


def tables(arm: mg.Model, recording: Recording) -> tuple[Table, Table]:
    free = [arm.coordinate_names[i] for i in arm.constraints.free]
    columns = [arm.coordinate_names.index(name) for name in free]
    motion = Table(recording.time, np.rad2deg(recording.q[:, columns]), tuple(free), in_degrees=True)
    return motion, Table(recording.time, recording.emg, tuple(f"emg_{name}" for name in recording.channels))


def test_tables_become_a_recording(arm: mg.Model, recording: Recording):
    motion, emg = tables(arm, recording)
    read = read_recording(arm, motion, emg, low_pass=None)
    np.testing.assert_allclose(read.q, recording.q, atol=1e-9)
    inside = slice(20, -20)
    np.testing.assert_allclose(read.udot[inside], recording.udot[inside], atol=0.05 * np.abs(recording.udot).max())
    assert read.channels == recording.channels


def test_names_that_do_not_match_are_told(arm: mg.Model, recording: Recording):
    motion, emg = tables(arm, recording)
    wrong = Table(emg.time, emg.data, ("emg_DELTA1", *emg.names[1:]))
    with pytest.raises(MyogradError, match=r"'emg_DELTA1' names no muscle.*DELT1"):
        read_recording(arm, motion, wrong)
    with pytest.raises(MyogradError, match="no column for coordinate"):
        read_recording(arm, Table(motion.time, motion.data, ("elbow", *motion.names[1:]), in_degrees=True), emg)


def test_emg_a_little_below_zero_is_clipped_and_told(arm: mg.Model, recording: Recording):
    motion, emg = tables(arm, recording)
    low = emg.data.copy()
    low[100, 2] = -1e-4
    with pytest.warns(ActivationWarning, match=rf"set to zero: {recording.channels[2]} \(down to -0.0001\)"):
        read = read_recording(arm, motion, Table(emg.time, low, emg.names), low_pass=None)
    np.testing.assert_allclose(read.emg, np.maximum(low, 0.0), atol=1e-12)
    check_recording(arm, read)
    low[100, 2] = -0.2
    with pytest.raises(
        MyogradError, match=rf"EMG of '{recording.channels[2]}' is -0.2 at 0.2 s.*emg_envelope makes them"
    ):
        check_recording(arm, read_recording(arm, motion, Table(emg.time, low, emg.names), low_pass=None))


def test_recordings_that_do_not_overlap_are_told(arm: mg.Model, recording: Recording):
    motion, emg = tables(arm, recording)
    with pytest.raises(MyogradError, match="clocks shifted"):
        read_recording(arm, motion, Table(emg.time + 100, emg.data, emg.names))


# The independent set -----------------------------------------------------------------------------------------


@pytest.mark.skipif(not OPENSIM.exists(), reason=f"OpenSim's recordings are not at {OPENSIM}")
def test_the_truth_explains_opensims_movement():
    model = mg.load_model(OPENSIM / "subjectA" / "arm16.osim")
    recording = opensim_recording(model, OPENSIM / "subjectA" / "move1.npz", "move1").part(slice(0, 801))
    numbers = opensim_numbers(OPENSIM / "subjectA")
    start = {name: numbers[name] for name in ("emg.delay", "emg.c1", "emg.c2")}
    deep = ("INFSP", "SUBSC", "TRImed", "BRA", "PQ")
    problem = identification(model, [recording], deep, BODIES, choices=Choices(start=start))
    assert problem.identifiability.hidden == ("TRIlat", "BRD")
    assert len(problem.base.names) == 24
    z = problem.parameters.start()
    assert np.sqrt(np.mean(problem.residual(z)[0] ** 2)) < 1e-5
    practical = identification(
        model, [recording], deep, BODIES, choices=Choices(start=start, fibers="solved"), known=problem.mechanics
    )
    assert np.sqrt(np.mean(practical.residual(z := practical.parameters.start(), practical.guess(z))[0] ** 2)) < 2e-4
