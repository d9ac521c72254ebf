"""The models that come with Myograd: they are what their builders say, and OpenSim agrees on what they are."""

from __future__ import annotations

from math import cos, hypot, sin
from pathlib import Path

import numpy as np
import pytest

from live_opensim import coordinates, muscles, warnings_of
from myograd.errors import FileFormatError, ModelError
from myograd.files.models import load_model
from myograd.files.osim.write import osim_text
from myograd.model.description import MovingPathPoint
from myograd.models import find, model_path, names
from shipped import coupled_mechanism as _coupled_mechanism
from shipped import four_bar as _four_bar
from shipped import planar_leg as _planar_leg
from shipped.build import DESCRIBE


def load(opensim, name: str):
    model = opensim.Model(str(model_path(name)))
    return model, model.initSystem()


def test_names():
    assert names() == sorted(DESCRIBE)
    with pytest.raises(ModelError, match="did you mean 'planar_leg'"):
        model_path("planer_leg")


def test_load_model_takes_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A file of that name comes first; what looks like a path is one."""
    monkeypatch.chdir(tmp_path)
    assert find("arm") == model_path("arm")
    assert load_model("double_pendulum").name == "double_pendulum"
    with pytest.raises(ModelError, match="did you mean 'arm'"):
        load_model("amr")
    for path in ("arm.osim", "models/arm"):
        with pytest.raises(FileFormatError, match=f"{path}: cannot be read"):
            load_model(path)
    (tmp_path / "arm").write_text(model_path("four_bar").read_text())
    assert load_model("arm").name == "four_bar"


@pytest.mark.parametrize("name", names())
def test_files_are_what_the_builders_write(name: str):
    assert model_path(name).read_text(encoding="utf-8") == osim_text(DESCRIBE[name]())


@pytest.mark.parametrize("name", names())
def test_opensim_loads_without_a_warning(opensim, name: str):
    with warnings_of(opensim) as said:
        model, state = load(opensim, name)
        model.equilibrateMuscles(state)
        model.realizeAcceleration(state)
    assert said() == ""
    assert model.getName() == name
    assert "Apache-2.0" in model.getCredits()
    assert np.isfinite(state.getUDot().to_numpy()).all()


def test_double_pendulum_has_the_textbook_mass_matrix(opensim):
    """Two uniform cylinders (length 0.5 m, radius 0.02 m, 1 kg): a sum of point masses and central inertias."""
    model, state = load(opensim, "double_pendulum")
    length, radius, angle = 0.5, 0.02, 0.7
    coordinates(model)[1].setValue(state, angle)
    model.realizePosition(state)
    matrix = opensim.Matrix()
    model.getMatterSubsystem().calcM(state, matrix)
    central = (3 * radius**2 + length**2) / 12
    end, lever = central + length**2 / 4, length**2 / 2 * cos(angle)
    expected = [[2 * end + length**2 + 2 * lever, end + lever], [end + lever, end]]
    assert [[matrix.get(i, j) for j in (0, 1)] for i in (0, 1)] == pytest.approx(np.array(expected), abs=1e-14)


def test_theta_is_the_angle_between_a_and_b(opensim):
    assert sum(_coupled_mechanism.ALPHA.values()) == pytest.approx(1.0)
    model, state = load(opensim, "coupled_mechanism")
    theta = model.getCoordinateSet().get("theta")
    for angle in (-1.0, 0.3, 1.2):
        theta.setValue(state, angle)
        model.realizePosition(state)
        a, b = (model.getBodySet().get(name).getTransformInGround(state).R() for name in ("A", "B"))
        across = a.get(0, 0) * b.get(1, 0) - a.get(1, 0) * b.get(0, 0)  # sine of the angle between the x axes
        along = a.get(0, 0) * b.get(0, 0) + a.get(1, 0) * b.get(1, 0)
        assert (across, along) == pytest.approx((sin(angle), cos(angle)), abs=1e-8)


def test_default_poses_meet_the_constraints(opensim):
    for name in ("coupled_mechanism", "four_bar"):
        defaults = {c.name: c.default_value for j in DESCRIBE[name]().joints for c in j.coordinates}
        model, state = load(opensim, name)
        for c in coordinates(model):
            c.setValue(state, defaults[c.getName()], False)
        model.realizePosition(state)
        assert abs(state.getQErr().to_numpy()).max() < 1e-15


def test_the_crank_turns_all_the_way_round():
    for crank in np.linspace(-np.pi, np.pi, 13):
        rocker = _four_bar.rocker_angle(crank)
        tips = (
            (-_four_bar.CRANK * sin(crank), _four_bar.CRANK * cos(crank)),
            (_four_bar.BASE - _four_bar.ROCKER * sin(rocker), _four_bar.ROCKER * cos(rocker)),
        )
        assert hypot(tips[1][0] - tips[0][0], tips[1][1] - tips[0][1]) == pytest.approx(_four_bar.COUPLER, abs=1e-12)


def test_planar_leg_weighs_what_winters_table_says(opensim):
    model, state = load(opensim, "planar_leg")
    assert model.getTotalMass(state) == pytest.approx(75.0 * (0.142 + 0.100 + 0.0465 + 0.0145))


SIGNS = {  # of the moment arms about hip, knee and ankle: flexion and dorsiflexion are positive
    "iliopsoas": (1, 0, 0),
    "gluteus_maximus": (-1, 0, 0),
    "rectus_femoris": (1, -1, 0),
    "vasti": (0, -1, 0),
    "hamstrings": (-1, 1, 0),
    "biceps_femoris_short": (0, 1, 0),
    "gastrocnemius": (0, 1, -1),
    "soleus": (0, 0, -1),
    "tibialis_anterior": (0, 0, 1),
}


@pytest.mark.parametrize("pose", [(0.0, 0.0, 0.0), (1.0, 0.5, -0.5), (1.6, 2.2, 0.4), (0.3, 1.2, 0.0)])
def test_planar_leg_muscles_do_what_anatomy_says(opensim, pose):
    model, state = load(opensim, "planar_leg")
    for c, value in zip(coordinates(model), pose, strict=True):
        c.setValue(state, value)
    model.realizePosition(state)
    for muscle in muscles(model):
        arms = [muscle.computeMomentArm(state, c) for c in coordinates(model)]
        assert [int(np.sign(round(arm, 6))) for arm in arms] == list(SIGNS[muscle.getName()]), muscle.getName()
        assert max(map(abs, arms)) < 0.09  # m


def test_planar_leg_lengths_hardly_jump_where_points_switch(opensim):
    model, state = load(opensim, "planar_leg")
    hip, knee = coordinates(model)[:2]
    hip.setValue(state, 0.2)
    for coordinate, at in [(hip, 0.53), (hip, 0.98), (knee, 0.55), *((knee, at) for *_, at in _planar_leg.TROCHLEA)]:
        lengths = []
        for side in (-1e-7, 1e-7):
            coordinate.setValue(state, at + side)
            model.realizePosition(state)
            lengths.append([muscle.getLength(state) for muscle in muscles(model)])
        assert np.abs(np.subtract(*lengths)).max() < 2e-4  # m
        coordinate.setValue(state, 0.2)


def test_planar_leg_has_moving_points_with_and_without_a_neighbour_on_their_body():
    paths = {muscle.name: muscle.path.points for muscle in _planar_leg.describe().muscles}
    assert isinstance(paths["vasti"][-1], MovingPathPoint)
    moving, last = paths["rectus_femoris"][-2:]
    assert isinstance(moving, MovingPathPoint)
    assert moving.frame == last.frame
