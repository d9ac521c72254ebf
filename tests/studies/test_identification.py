"""The identification study: what its people's fits are scored against."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import myograd as mg
from myograd.estimate.identification.choices import COMMON, OF_MODEL
from myograd.estimate.inverse.regressors import NAMES
from myograd.model.parameters import values_of
from myograd.studies._identification_cases import OPENSIM, Case, opensim_numbers
from myograd.studies.people import BODIES

TRUTH = OPENSIM / "subjectA" / "truth.json"
needs_opensim = pytest.mark.skipif(not TRUTH.exists(), reason=f"OpenSim's recordings are not at {OPENSIM}")


@needs_opensim
def test_opensims_subjects_are_scored_against_their_own_truth(tmp_path: Path):
    """All of it is read from the subject's file, common numbers too: another file is another truth."""
    told = json.loads(TRUTH.read_text())
    told["common"] |= {"t_act_s": 0.013, "t_deact_s": 0.05, "t_d_s": 0.031, "c1": -0.7, "c2": -0.4}
    told["muscles"]["DELT1"]["max_isometric_force_N"] = 777.0
    told["bones"]["ulna"]["mass_center"] = [1.0, 2.0, 3.0]
    (tmp_path / "truth.json").write_text(json.dumps(told))
    numbers = opensim_numbers(tmp_path)
    assert [numbers[name] for name in COMMON] == [0.013, 0.05, 0.031, -0.7, -0.4]
    assert numbers["DELT1.max_isometric_force"] == 777.0
    assert [numbers[f"ulna.mass_center.{axis}"] for axis in "xyz"] == [1.0, 2.0, 3.0]
    case = Case("changed", mg.load_model("double_pendulum"), (), {}, {}, numbers)
    assert case.start["emg.delay"] == 0.031


@needs_opensim
def test_a_subjects_truth_is_what_its_model_states():
    """Of muscles and bones two files say the same: the truth, and the model that made the recordings."""
    model = mg.load_model(TRUTH.parent / "arm16.osim")
    numbers = opensim_numbers(TRUTH.parent)
    names = [f"{muscle}.{field}" for muscle in model.muscle_names for field in OF_MODEL]
    names += [f"{body}.{field}" for body in BODIES for field in NAMES]
    assert set(names) | set(COMMON) == set(numbers)
    stated = values_of(model, names)
    assert {name: numbers[name] for name in names} == pytest.approx(stated, rel=1e-6, abs=1e-9)
