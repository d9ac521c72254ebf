"""Identification as a whole: what it refuses, and how it judges each parameter."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from myograd.errors import MyogradError
from myograd.estimate.identification.noise import EmgNoise
from myograd.tools.identification import UNITS, Result, Verdict, identify, owner_and_quantity


def test_outliers_and_noise_exclude_each_other():
    nothing: Any = None
    with pytest.raises(MyogradError, match=r"robust .* noise .* choose one"):
        identify(nothing, [], (), (), robust=True, noise=EmgNoise())


def test_estimates_are_judged_by_what_the_recordings_determine():
    """Above half of the prior's variance removed: well determined; at a limit, whatever was removed: at its limit."""
    names = ("humerus mass", "BIClong pennation_angle", "BRA optimal_fiber_length", "delay")
    start, found = np.array([2.0, 0.1, 0.2, 0.05]), np.array([2.2, 0.0, 0.21, 0.04])
    width = np.array([0.1, 0.05, 0.4, 0.01])
    parts: Any = SimpleNamespace(
        problem=SimpleNamespace(
            parameters=SimpleNamespace(names=names, at_limits=lambda z: [names[1]], physical_start=lambda: start)
        ),
        fit=SimpleNamespace(physical=found, z=np.zeros(4)),
        uncertainty=SimpleNamespace(
            learned=np.array([0.51, 0.99, 0.49, 1.0]), interval=lambda fit: (found - width, found + width)
        ),
    )
    listed = Result(parts.problem, parts.fit, parts.uncertainty, [], [], []).estimates()
    assert [it.parameter for it in listed] == list(names)
    assert [it.verdict for it in listed] == [
        Verdict.WELL_DETERMINED,
        Verdict.AT_LIMIT,
        Verdict.POORLY_DETERMINED,
        Verdict.WELL_DETERMINED,
    ]
    assert [it.unit for it in listed] == ["kg", "rad", "m", "s"]
    mass = listed[0]
    assert (mass.before, mass.found, mass.low, mass.high) == pytest.approx((2.0, 2.2, 2.1, 2.3))


def test_parameters_of_all_muscles_have_no_owner():
    assert owner_and_quantity("delay") == ("", "delay")
    assert owner_and_quantity("BIClong pennation_angle")[1] in UNITS
