"""`scripts/oracle_pack.py` makes a pack of the form of the public one: the same files, keys and shapes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import myograd as mg
from myograd.models import model_path
from oracle_numbers import CASES, PARTS
from oracle_pack import FILES, NO_PACK, reference

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "oracle_pack.py"
# What the axes of the arrays are, by the arrays whose lengths they have; "n" poses, "rows" constraint equations, "p" points.
SHAPES = {
    "q qdot": "n q",
    "u bias_inertial tau_gravity bias_with_gravity udot_gravity_only udot_no_muscles a050_udot_muscles_gravity_only": "n u",
    "coord_value coord_speed": "n c",
    "resample_count qerr_max uerr_max mass kinetic_energy": "n",
    "body_R": "n b 3 3",
    "body_p": "n b 3",
    "body_vel a050_body_acc": "n b 6",
    "gravity_body_forces": "n b+1 6",
    "marker_pos": "n k 3",
    "com com_vel": "n 3",
    "M": "n u u",
    "G": "n rows u",
    "G_bias multipliers_gravity_only": "n rows",
    "muscle_length muscle_speed path_npoints path_wraps": "n m",
    "moment_arm": "n m c",
    "path_genforce_unit": "n m u",
    "path_points": "n m p 3",
    "path_point_is_wrap path_wrap_length path_point_frame path_point_wrap_object": "n m p",
    "path_frame_names": "frames",
    "path_wrap_object_names": "surfaces",
    "coord_names coord_names_tree_order coord_q_index coord_u_index coord_locked coord_prescribed coord_dependent": "c",
    "coord_clamped coord_motion_type coord_joint coord_default": "c",
    "coord_range": "c 2",
    "u_coord_names": "u",
    "default_q": "q",
    "body_names body_mass": "b",
    "marker_names": "k",
    "muscle_names muscle_class": "m",
    "muscle_params": "m 7",
    "force_names force_class force_applies_default": "f",
    "actuator_names control_is_muscle": "a",
    "constraint_names constraint_class": "constraints",
    "state_names": "states",
    "gravity": "3",
    "seed model_file opensim_version": "",
    "rnd_controls": "n a",
}
IN_CASES = {"udot tau_applied": "n u", "z zdot": "n z", "multipliers": "n rows", "act_force": "n a", "equil_ok": "n m"}
WITH_MUSCLES = {"muscle_speed_fd muscle_speed_fd2": "n m"}
WITH_QUOTIENTS = {"moment_arm_fd moment_arm_fd_h1e5": "n m c"}
WITH_WRAPPING = {"muscle_length_fresh muscle_speed_fresh": "n m"}


def expected(data: dict[str, np.ndarray], quotients: bool) -> dict[str, str]:
    """Shapes by key of a reference, whether or not it has them."""
    shapes = {key: shape for keys, shape in SHAPES.items() for key in keys.split()}
    of_cases = {key: shape for keys, shape in IN_CASES.items() for key in keys.split()} | dict.fromkeys(PARTS, "n m")
    shapes |= {f"{case}_{key}": shape for case in (*CASES, "rnd") for key, shape in of_cases.items()}
    for more, given in (
        (WITH_MUSCLES, len(data["muscle_names"]) > 0),
        (WITH_QUOTIENTS, len(data["muscle_names"]) > 0 and quotients),
        (WITH_WRAPPING, bool(data["path_wraps"].any())),
    ):
        if given:
            shapes |= {key: shape for keys, shape in more.items() for key in keys.split()}
    return shapes


def check_form(data: dict[str, np.ndarray], quotients: bool = True) -> None:
    """Keys, and axes of the same length wherever they have the same name."""
    shapes = expected(data, quotients)
    assert data.keys() == shapes.keys()
    sizes: dict[str, int] = {}
    for key, value in data.items():
        axes = shapes[key].split()
        assert value.ndim == len(axes), key
        for axis, size in zip(axes, value.shape, strict=True):
            known = int(axis) if axis.isdigit() else sizes.setdefault(axis, size)
            assert size == known, (key, axis)
    assert sizes["b+1"] == sizes["b"] + 1


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem) for path in FILES if reference(path).exists()]
    or [pytest.param(None, marks=pytest.mark.skip(reason=NO_PACK), id="no-pack")],
)
def test_the_pack_at_hand_has_this_form(path: Path):
    with np.load(reference(path), allow_pickle=False) as data:
        check_form(dict(data), quotients=not path.stem.endswith("_DGF"))


@pytest.fixture(scope="module")
def made(opensim, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack of two shipped models: one whose paths wrap, one with a closed loop."""
    folder = tmp_path_factory.mktemp("oracle")
    (folder / "in").mkdir()
    for name in ("leg", "four_bar"):
        (folder / "in" / f"{name}.osim").write_bytes(model_path(name).read_bytes())
    words = [sys.executable, str(SCRIPT), str(folder / "in"), "--out", str(folder / "pack"), "--poses", "6"]
    subprocess.run([*words, "--degroote-fregly"], check=True, capture_output=True, cwd=folder)
    return folder / "pack"


@pytest.mark.parametrize("name", ["leg", "four_bar", "leg_DGF", "four_bar_DGF"])
def test_a_made_pack_has_the_form_of_the_public_one(made: Path, name: str):
    with np.load(made / "reference" / f"{name}.npz", allow_pickle=False) as data:
        check_form(dict(data), quotients=not name.endswith("_DGF"))
        assert len(data["q"]) == 6
    assert (made / "models" / f"{name}.osim").exists()
    assert json.loads((made / "pack.json").read_text())["models"] == ["four_bar", "leg"]


@pytest.mark.parametrize("name", ["leg", "four_bar"])
def test_what_it_holds_is_consistent(made: Path, name: str):
    """Constraints, the equation of motion, moment arms: by numbers of OpenSim's alone; and lengths by ours."""
    with np.load(made / "reference" / f"{name}.npz", allow_pickle=False) as file:
        data = dict(file)
    assert data["qerr_max"].max() < 1e-13 and data["uerr_max"].max() < 1e-13
    for case in (*CASES, "rnd"):
        assert data[f"{case}_equil_ok"].all()
        inertial = np.einsum("nij,nj->ni", data["M"], data[f"{case}_udot"]) + data["bias_inertial"]
        left = inertial + np.einsum("nri,nr->ni", data["G"], data[f"{case}_multipliers"]) - data[f"{case}_tau_applied"]
        assert np.abs(left).max() < 1e-8 * np.abs(data[f"{case}_tau_applied"]).max()
    straight = ~data["path_wraps"]
    np.testing.assert_allclose(data["muscle_speed"][straight], data["muscle_speed_fd"][straight], rtol=0, atol=1e-9)
    steady = np.abs(data["moment_arm_fd"] - data["moment_arm_fd_h1e5"]) < 1e-8
    known = straight[:, :, None] & steady & np.isfinite(data["moment_arm"])
    assert known.sum() > 10
    np.testing.assert_allclose(data["moment_arm"][known], data["moment_arm_fd"][known], rtol=0, atol=1e-8)
    assert not np.allclose(data["rnd_fiber_velocity"], 0.0)
    model = mg.load_model(model_path(name))
    assert sorted(data["coord_names"]) == sorted(model.coordinate_names)
    order = [list(data["coord_names"]).index(coordinate) for coordinate in model.coordinate_names]
    muscles = [list(data["muscle_names"]).index(muscle) for muscle in model.muscle_names]
    ours = np.array([mg.muscle_lengths(model, q) for q in data["coord_value"][:, order]])
    gap = np.abs(ours - data["muscle_length"][:, muscles])
    assert gap[straight[:, muscles]].max() < 1e-12


def test_what_cannot_become_a_pack_is_told(opensim, tmp_path: Path):
    def said(*words: str) -> str:
        run = subprocess.run([sys.executable, str(SCRIPT), *words], capture_output=True, text=True, cwd=tmp_path)
        assert run.returncode == 1
        return run.stderr

    assert "there is no .osim file in it" in said(str(tmp_path), "--out", "pack")
    (tmp_path / "broken.osim").write_text("<OpenSimDocument")
    assert "OpenSim cannot load it" in said(str(tmp_path), "--out", "pack")
