"""Poses by name, and from tables of motion."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np
import pytest

import myograd as mg
from myograd.dynamics import poses


@pytest.fixture(scope="module")
def leg() -> mg.Model:
    return mg.load_model("planar_leg")


@pytest.fixture(scope="module")
def coupled() -> mg.Model:
    return mg.load_model("coupled_mechanism")


def test_a_pose_by_name_in_degrees_and_radians(leg: mg.Model):
    knee = leg.coordinate_names.index("knee_flexion")
    expected = np.asarray(leg.default_pose()).copy()
    expected[knee] = np.pi / 3
    for q in (
        mg.pose(leg, knee_flexion=60 * mg.deg),
        mg.pose(leg, {"knee_flexion": 60}, degrees=True),
        mg.pose(leg, knee_flexion=np.pi / 3),
    ):
        np.testing.assert_allclose(q, expected, rtol=0, atol=1e-15)


def test_only_angles_are_degrees(coupled: mg.Model):
    """`theta` is coupled motion, which has no unit in OpenSim."""
    q = mg.pose(coupled, {"theta": 0.5, "base": 45}, degrees=True)
    chosen = np.asarray(q)[[coupled.coordinate_names.index(name) for name in ("theta", "base")]]
    np.testing.assert_allclose(chosen, [0.5, np.pi / 4], atol=1e-15)


def test_constraints_are_satisfied(coupled: mg.Model):
    free = coupled.coordinate_names[coupled.constraints.free[0]]
    q = mg.pose(coupled, {free: 0.2})
    assert np.abs(mg.constraint_errors(coupled, q)).max() < 1e-9


def test_a_pose_can_be_differentiated_by_its_values(leg: mg.Model):
    slope = jax.grad(lambda angle: mg.muscle_lengths(leg, mg.pose(leg, knee_flexion=angle))[3])(0.5)
    q = mg.pose(leg, knee_flexion=0.5)
    arm = mg.moment_arms(leg, q)[3, leg.coordinate_names.index("knee_flexion")]
    np.testing.assert_allclose(slope, -arm, rtol=1e-12)


def test_wrong_names_are_told(leg: mg.Model, coupled: mg.Model):
    with pytest.raises(mg.ModelError, match="no coordinate 'knee_flexon'; did you mean 'knee_flexion'"):
        mg.pose(leg, knee_flexon=1.0)
    dependent = next(n for n in coupled.coordinate_names if n not in coupled.independent_coordinates)
    with pytest.raises(mg.ModelError, match="cannot be chosen: a coupler, a lock or a prescribed motion sets it"):
        mg.pose(coupled, {dependent: 0.1})
    with pytest.raises(mg.ModelError, match=r"one number, not an array of shape \(2,\)"):
        mg.pose(leg, knee_flexion=[0.1, 0.2])


def test_degrees_where_radians_belong_are_noticed(leg: mg.Model):
    with pytest.warns(mg.AngleWarning, match=r"hip_flexion is 30 rad, 1719 degrees.*30 \* mg.deg") as caught:
        mg.muscle_lengths(leg, [30.0, 0.4, 0.0])
    assert caught[0].filename == __file__


def test_a_motion_from_a_table(leg: mg.Model, tmp_path: Path):
    time = np.linspace(0, 1, 5)
    angles = np.column_stack([30 * np.sin(time), 20 + 10 * time, -5 * time])
    path = tmp_path / "walk.mot"
    mg.write_table(mg.Table(time, angles, leg.coordinate_names, in_degrees=True), path)
    for motion in (mg.read_motion(leg, path), mg.read_motion(leg, mg.read_table(path))):
        np.testing.assert_allclose(motion.q, np.deg2rad(angles), atol=1e-14)
        np.testing.assert_array_equal(motion.time, time)
        assert motion.given == leg.coordinate_names


def test_a_motion_from_states(leg: mg.Model):
    motion = mg.simulate(leg, duration=0.02, at=[0.01, 0.02])
    again = mg.read_motion(leg, mg.state_table(leg, motion))
    np.testing.assert_allclose(again.q, motion.state.q, atol=1e-15)


def test_a_misspelt_column_is_told(leg: mg.Model):
    table = mg.Table(np.arange(2.0), np.zeros((2, 3)), ("hip_flexion", "knee_flexon", "ankle_dorsiflexion"))
    with pytest.warns(mg.MotionWarning, match=r"no column for knee_flexion: .* Not used: 'knee_flexon'; misspelt\?"):
        mg.read_motion(leg, table)


def test_columns_that_are_missing_are_told(leg: mg.Model):
    table = mg.Table(np.array([0.0, 1.0]), np.array([[10.0], [20.0]]), ("knee_flexion",), in_degrees=True)
    with pytest.warns(mg.MotionWarning, match="no column for hip_flexion, ankle_dorsiflexion: at the default there"):
        motion = mg.read_motion(leg, table)
    assert motion.given == ("knee_flexion",)
    np.testing.assert_allclose(motion.q[:, 0], leg.default_pose()[0])


@pytest.mark.parametrize(
    ("names", "values", "message"),
    [
        (("knee_angle",), [[1.0]], "the motion has no column named after a coordinate of 'planar_leg'"),
        (("knee_flexion",), [[np.nan]], "knee_flexion is not finite at 0 s; fill the gap, or cut"),
        (("knee_flexion",), [[60.0]], "is 60 rad, 3438 degrees; is the table in degrees"),
    ],
)
def test_bad_tables_are_refused(leg: mg.Model, names: tuple[str, ...], values: list, message: str):
    with pytest.raises(mg.MyogradError, match=message), warnings.catch_warnings():
        warnings.simplefilter("ignore", mg.MotionWarning)
        mg.read_motion(leg, mg.Table(np.zeros(1), np.array(values), names))


def test_a_pose_that_cannot_be_assembled_is_named_by_its_time():
    loop = mg.load_model("four_bar").with_values({"rocker_pivot.parent_translation.x": 5.0})  # too far to be reached
    table = mg.Table(np.array([0.5, 0.6]), np.zeros((2, len(loop.coordinate_names))), loop.coordinate_names)
    with pytest.raises(mg.ModelError, match=r"the motion at 0\.5 s: the model cannot be assembled"):
        mg.read_motion(loop, table)


def test_a_failure_without_an_error_gives_no_numbers(leg: mg.Model, monkeypatch: pytest.MonkeyPatch):
    """A check that fails for many poses at once, but not for the one alone."""
    monkeypatch.setattr(poses, "_mapped", lambda *given: (np.full((1, 3), np.nan), np.ones(1, bool)))
    with pytest.raises(AssertionError, match=r"the motion at 0\.5 s: a check failed for all times at once"):
        poses.assembled(leg, np.zeros((1, 3)), np.array([0.5]))


def test_opensims_inverse_kinematics_is_read(pack: Path, public_model: Callable[[str], Path]):
    model = mg.load_model(public_model("Gait10dof18musc"))
    path = pack / "pipelines" / "Gait10dof18musc" / "osim46" / "ik.mot"
    if not path.exists():
        pytest.skip(f"the oracle pack has no {path.name} of Gait10dof18musc")
    table = mg.read_table(path)
    motion = mg.read_motion(model, table)
    np.testing.assert_allclose(motion.q[:, 0], np.deg2rad(table[model.coordinate_names[0]]), atol=1e-12)
