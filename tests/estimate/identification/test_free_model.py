"""Any numbers of the model among the unknowns: exact derivatives, and numbers that are found again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

import myograd as mg
from myograd.errors import MyogradError
from myograd.estimate.identification.choices import Choices
from myograd.estimate.identification.fit import fit
from myograd.estimate.identification.fitted import fitted_model, tendon_stage
from myograd.estimate.identification.problem import Problem
from myograd.estimate.identification.setup import identification
from myograd.estimate.identification.shipped import shipped_deep, shipped_numbers, shipped_recording
from myograd.estimate.identification.uncertainty import uncertainty
from myograd.estimate.identification.validate import validate
from myograd.estimate.inverse.mechanics import mechanics
from myograd.estimate.least_squares import Options
from myograd.estimate.recording import Recording
from myograd.model.parameters import parameter_places, values_of, with_values
from myograd.models import model_path

ATTACHMENT, RADIUS, STRENGTH = (
    "BIClong.BIClong-P1.location.x",
    "scapula/shoulder_cap.radius",
    "DELT2.max_isometric_force",
)
EMG = ("emg.delay", "emg.c1", "emg.c2", "muscles.activation_time_constant", "muscles.deactivation_time_constant")
LEAVES = {
    "an attachment": ATTACHMENT,
    "a deep muscle's attachment": "INFSP.INFSP-P2.location.y",
    "the radius of a wrapping surface": RADIUS,
    "the place of a wrapping surface": "scapula/shoulder_cap.translation.y",
    "a joint's place": "elbow.parent_translation.y",
    "a coupler": "constraint_parameters.coupler_slopes[0,11]",
    "a mass": "ulna.mass",
    "gravity": "gravity.y",
    "the slope of a curve": "DELT1.ForceVelocityCurve.isometric_slope",
    "a tendon's strain": "DELT2.tendon_strain_at_one_norm_force",
}


def as_the_person(arm: mg.Model) -> mg.Model:
    places = parameter_places(arm)
    return with_values(arm, {name: value for name, value in shipped_numbers().items() if name in places})


@pytest.fixture(scope="module")
def person() -> mg.Model:
    """The person of the shipped recordings."""
    return as_the_person(mg.load_model(model_path("arm")))


@pytest.fixture(scope="module")
def recording(person: mg.Model) -> Recording:
    return shipped_recording("move1", person)


def common() -> dict:
    """The EMG's filter is known, and nothing but strengths is asked for."""
    return {
        "of_muscle": ("max_isometric_force",),
        "common": (),
        "start": {name: shipped_numbers()[name] for name in EMG},
    }


def around(model: mg.Model, *names: str) -> dict[str, tuple[float, float]]:
    """Limits about the model's own values."""
    return {
        name: (own - (room := 0.05 + abs(own)) / 2, own + room / 2) for name, own in values_of(model, names).items()
    }


# Derivatives -------------------------------------------------------------------------------------------------


class Push(mg.Term):
    """A torque on the first coordinate that grows with time: 0.1 N m each second."""

    def force(self, model: mg.Model, now: mg.Instant) -> mg.Loads:
        return mg.Loads(coordinates=jnp.zeros_like(now.q).at[0].set(0.1 * now.time))


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> mg.Model:
    """The person with a force that depends on time, and with one that is not computed and has to be accepted."""
    file = tmp_path_factory.mktemp("clutched") / "arm.osim"
    clutch = '<ForceSet name="forceset"><objects><ClutchedPathSpring name="clutch" />'
    file.write_text(re.sub(r'<ForceSet name="forceset">\s*<objects>', clutch, model_path("arm").read_text()))
    with pytest.warns(UserWarning, match="ClutchedPathSpring"):
        arm = mg.load_model(file)
    return as_the_person(arm).with_terms(Push())


def solved(model: mg.Model, recordings: Sequence[Recording], also: dict | None = None) -> Problem:
    return identification(
        model,
        recordings,
        shipped_deep(),
        ("humerus",),
        choices=Choices(fibers="solved", accept=("clutch",), also=also or {}, **common()),
    )


@pytest.fixture(scope="module")
def every_leaf(pushed: mg.Model, recording: Recording) -> Problem:
    return solved(pushed, [recording.part(slice(1000, 1300, 6))], around(pushed, *LEAVES.values()))


@pytest.fixture(scope="module")
def at_start(every_leaf: Problem):
    z = every_leaf.parameters.start()
    return z, *every_leaf.linearized(z, every_leaf.guess(z))


@pytest.mark.slow
@pytest.mark.parametrize("kind", LEAVES)
def test_the_jacobian_is_that_of_the_residual(every_leaf: Problem, at_start, kind: str):
    z, _, J, fibers = at_start
    k = every_leaf.parameters.places[LEAVES[kind]]
    step = np.zeros_like(z)
    step[k] = 1e-4
    sides = [every_leaf.residual(z + sign * step, fibers)[0] for sign in (2, 1, -1, -2)]
    expected = (8 * (sides[1] - sides[2]) - (sides[0] - sides[3])) / (12 * step[k])
    assert np.abs(expected).max() > 1e-4
    np.testing.assert_allclose(J[:, k], expected, atol=2e-6 * np.abs(expected).max())


def test_standard_numbers_keep_their_derivatives(every_leaf: Problem, at_start):
    """Beside others, and worked out anew with them, they are those of the problem without others."""
    _, r, J, _ = at_start
    p = every_leaf.parameters
    plain = solved(every_leaf.model, every_leaf.recordings)
    kept = [p.places[name] for name in plain.parameters.names]
    start = plain.parameters.start()
    r_plain, J_plain, _ = plain.linearized(start, plain.guess(start))
    np.testing.assert_allclose(r, r_plain, atol=1e-7 * np.abs(r_plain).max())
    np.testing.assert_allclose(J[:, kept], J_plain, atol=1e-7 * np.abs(J_plain).max())


def test_other_values_are_those_of_another_model(every_leaf: Problem):
    """The residual at other values is that of the model with these values, worked out from the beginning; and what a validation
    on the same recording leaves."""
    p = every_leaf.parameters
    there = p.physical_start()
    there[[p.places[name] for name in LEAVES.values()]] *= 1.02
    own = fitted_model(every_leaf.model, p, there)
    again = solved(own, every_leaf.recordings)
    found, expected = (
        np.abs(problem.residual(z, problem.guess(z))[0])  # the null space may have either sign
        for problem, z in ((every_leaf, p.vector(there)), (again, again.parameters.start()))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7 * expected.max())
    validated = validate(fit(every_leaf, options=Options(iterations=0)), every_leaf.recordings[0], z=p.vector(there))
    np.testing.assert_allclose(np.abs(validated.residual.ravel()), expected, rtol=1e-7, atol=1e-7 * expected.max())


def test_another_model_or_motion_is_another_problem(every_leaf: Problem):
    deep = {"BRA.max_isometric_force": 1.0}
    motion = every_leaf.motions[0]
    faster = motion._replace(u=1.01 * motion.u)
    others = (
        replace(every_leaf, model=with_values(every_leaf.model, deep)),
        replace(every_leaf, motions=(faster,)),
    )
    assert len({every_leaf.digest, *(other.digest for other in others)}) == 3


def test_forces_that_are_not_computed_have_to_be_accepted(pushed: mg.Model, recording: Recording):
    with pytest.raises(mg.UnsupportedError, match=r"identification .* ClutchedPathSpring 'clutch'"):
        identification(pushed, [recording], shipped_deep())


# Numbers that are found --------------------------------------------------------------------------------------


@pytest.mark.parametrize("fibers", ["recorded", pytest.param("solved", marks=pytest.mark.slow)])
def test_geometry_and_a_strength_are_found_again(person: mg.Model, recording: Recording, fibers: str):
    """From a model whose wrapping surface, attachment and strength are not the person's, without noise."""
    true = values_of(person, [RADIUS, ATTACHMENT, STRENGTH])
    wrong = with_values(
        person, {RADIUS: true[RADIUS] + 0.003, ATTACHMENT: true[ATTACHMENT] + 0.004, STRENGTH: 0.8 * true[STRENGTH]}
    )
    problem = identification(
        wrong,
        [recording],
        shipped_deep(),
        choices=Choices(
            every=8,
            muscles=("DELT2",),
            fibers=fibers,
            also={RADIUS: (0.02, 0.05), ATTACHMENT: mg.Bounds(-0.03, 0.04, center=0.008, spread=0.02)},
            **common(),
        ),
    )
    assert problem.parameters.names == (STRENGTH, RADIUS, ATTACHMENT)
    found = fit(problem, options=Options(iterations=30))
    assert found.converged, found.outcome
    for name, value in found.numbers.items():
        assert value == pytest.approx(true[name], rel=2e-3 if fibers == "solved" else 2e-4)
    again = fitted_model(wrong, problem.parameters, found.physical)
    assert values_of(again, list(true)) == pytest.approx(found.numbers, rel=1e-12)
    unseen = shipped_recording("move2", person)
    assert validate(found, unseen).normalised < 0.01 * validate(found, unseen, z=problem.parameters.start()).normalised
    assert uncertainty(found).learned.min() > 0.9
    if fibers == "recorded":
        second = tendon_stage(problem, found.physical)
        assert second.parameters.names == ("DELT2.tendon_slack_length",)


@pytest.mark.slow
def test_searches_and_priors_know_other_numbers(person: mg.Model, recording: Recording):
    problem = identification(
        person,
        [recording],
        shipped_deep(),
        choices=Choices(
            every=8,
            also={RADIUS: mg.Bounds(0.02, 0.05, center=0.03, spread=0.001), STRENGTH: (500.0, 3000.0)},
            **common(),
        ),
    )
    p = problem.parameters
    assert (p.bounded.low[p.places[STRENGTH]], p.bounded.high[p.places[STRENGTH]]) == (500.0, 3000.0)
    tight = fit(problem.rough(50), options=Options(iterations=0)).prior
    assert tight is not None
    physical = np.asarray(p.physical(tight.center))
    assert physical[p.places[RADIUS]] == pytest.approx(0.03)
    step = np.zeros(len(p.names))
    step[p.places[RADIUS]] = 1e-6
    away = tight.penalty(p, p.vector(physical + 1e3 * step)) - tight.penalty(p, p.vector(physical))
    assert away == pytest.approx(1.0, rel=0.1)  # 1 mm away is a standard deviation


# What cannot be found ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("also", "message"),
    [
        ({"BIClong.BIClong-P1.location.w": (0.0, 0.1)}, "no parameter 'BIClong.BIClong-P1.location.w'.*location"),
        ({ATTACHMENT: (0.1, 0.2)}, "starts at 0.005 m: not between its limits, 0.1 and 0.2"),
        ({ATTACHMENT: (0.2, 0.1)}, "the lower one first"),
        ({"humerus.mass": (0.1, 5.0)}, "one of the ten inertial parameters of 'humerus'"),
        ({"BRA.max_isometric_force": (1.0, 1e4)}, "nothing in these recordings depends on it"),
        ({"DELT1.activation_time_constant": (0.001, 0.1)}, "same time constants in all muscles"),
        ({"emg.c1": (-0.9, 0.9), "emg.c2": (-0.8, 0.8)}, "interchangeable, so they must have the same limits"),
    ],
)
def test_numbers_that_cannot_be_found(person: mg.Model, recording: Recording, known, also: dict, message: str):
    with pytest.raises(MyogradError, match=message):
        identification(
            person,
            [recording],
            shipped_deep(),
            ("humerus",),
            choices=Choices(every=50, also=also, **common()),
            known=known,
        )


@pytest.fixture(scope="module")
def known(person: mg.Model, recording: Recording):
    return [mechanics(person, recording, ("humerus",))]


def test_geometry_of_another_program_leaves_nothing_to_find(person: mg.Model, recording: Recording, known):
    given = replace(recording, length=known[0].length)
    with pytest.raises(
        MyogradError, match=r"contains muscle lengths and moment arms, which .*cap.radius cannot change"
    ):
        identification(
            person,
            [given],
            shipped_deep(),
            ("humerus",),
            choices=Choices(also={RADIUS: (0.02, 0.05)}, **common()),
            known=known,
        )


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ((0.0, 1.0, 0.5), "one is missing"),
        ((0.0, 1.0, 2.0, 0.1), "outside its limits"),
        ((0.0, 1.0, 0.5, -0.1), "positive number"),
        ((0.0, float("inf")), "finite"),
    ],
)
def test_bounds_that_cannot_be(bounds: tuple[float, ...], message: str):
    with pytest.raises(MyogradError, match=message):
        mg.Bounds(*bounds)
