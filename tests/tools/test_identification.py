"""Identification as a whole: what it refuses, and what it lists of each parameter."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import myograd as mg
from myograd.errors import MyogradError
from myograd.estimate.identification.fit import fit
from myograd.estimate.identification.noise import EmgNoise
from myograd.estimate.identification.shipped import shipped_deep, shipped_recording
from myograd.estimate.identification.uncertainty import uncertainty
from myograd.estimate.identification.validate import validate
from myograd.estimate.least_squares import Options
from myograd.model.parameters import values_of
from myograd.models import model_path
from myograd.tools.identification import Identification, identify

COMMON = ("emg.delay", "emg.c1")


def test_outliers_and_noise_exclude_each_other():
    with pytest.raises(MyogradError, match=r"robust .* noise .* choose one"):
        identify(mg.load_model("double_pendulum"), [], (), (), robust=True, noise=EmgNoise())


@pytest.fixture(scope="module")
def result() -> Identification:
    """Of two iterations, for strengths and the EMG's filter only."""
    arm = mg.load_model(model_path("arm"))
    choices = mg.Choices(of_muscle=("max_isometric_force",), common=COMMON, every=20)
    problem = mg.identification(arm, [shipped_recording("move1", arm)], shipped_deep(), choices=choices)
    found = fit(problem, options=Options(iterations=2))
    seen = [validate(found, problem.recordings[0], problem.mechanics[0])]
    return Identification(problem=problem, fit=found, uncertainty=uncertainty(found), fitted=seen, unseen=[])


def test_estimates_are_of_the_parameters_they_name(result: Identification):
    listed = {it.parameter: it for it in result.estimates()}
    assert tuple(listed) == result.names
    muscles = [name for name in listed if name not in COMMON]
    assert len(muscles) == len(result.problem.parameters.muscles) > 3
    assert {listed[name].unit for name in muscles} == {"N"}
    assert (listed["emg.delay"].unit, listed["emg.c1"].unit) == ("s", "")
    assert {name: listed[name].before for name in muscles} == pytest.approx(values_of(result.problem.model, muscles))
    assert {name: listed[name].found for name in muscles} == pytest.approx(values_of(result.model(), muscles))
    assert {name: it.found for name, it in listed.items()} == pytest.approx(result.fit.numbers)
    low, high = result.uncertainty.interval(result.fit)
    np.testing.assert_array_equal([(it.low, it.high) for it in listed.values()], np.transpose([low, high]))
    assert all(it.low < it.found < it.high for it in listed.values())
    assert [it.verdict for it in listed.values()] == list(result.uncertainty.verdicts(result.fit))


def test_a_result_is_saved_as_a_whole(result: Identification, tmp_path: Path):
    """Two iterations do not converge, so that there is no model to save."""
    written = result.save(tmp_path / "found", "arm_")
    assert [path.name for path in written] == ["arm_unexplained_fitted_1.sto", "arm_parameters.csv"]
    left = mg.read_table(written[0])
    np.testing.assert_array_equal(left.data, result.fitted[0].residual)
    lines = list(csv.DictReader(written[1].read_text().splitlines()))
    assert {line["parameter"]: float(line["found"]) for line in lines} == pytest.approx(result.fit.numbers)
