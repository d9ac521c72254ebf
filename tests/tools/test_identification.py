"""Identification as a whole: what it refuses, and what it lists of each parameter."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from myograd.errors import MyogradError
from myograd.estimate.identification.noise import EmgNoise
from myograd.estimate.identification.uncertainty import Verdict
from myograd.estimate.parameters import Number
from myograd.tools.identification import Result, identify


def test_outliers_and_noise_exclude_each_other():
    nothing: Any = None
    with pytest.raises(MyogradError, match=r"robust .* noise .* choose one"):
        identify(nothing, [], (), (), robust=True, noise=EmgNoise())


def test_estimates_go_by_the_order_of_parameters():
    names = ("humerus.mass", "BIClong.pennation_angle", "emg.delay")
    units, verdicts = ("kg", "rad", "s"), [Verdict.WELL_DETERMINED, Verdict.AT_LIMIT, Verdict.POORLY_DETERMINED]
    split = [name.split(".") for name in names]
    numbers = [Number(f"{owner}.{kind}", owner, kind, unit) for (owner, kind), unit in zip(split, units, strict=True)]
    start, found, width = np.array([2.0, 0.1, 0.05]), np.array([2.2, 0.0, 0.04]), np.array([0.1, 0.05, 0.01])
    parts: Any = SimpleNamespace(
        problem=SimpleNamespace(parameters=SimpleNamespace(numbers=numbers, physical_start=lambda: start)),
        fit=SimpleNamespace(physical=found),
        uncertainty=SimpleNamespace(interval=lambda fit: (found - width, found + width), verdicts=lambda fit: verdicts),
    )
    listed = Result(parts.problem, parts.fit, parts.uncertainty, [], [], []).estimates()
    assert [(it.parameter, it.unit, it.verdict) for it in listed] == list(zip(names, units, verdicts, strict=True))
    mass = listed[0]
    assert (mass.before, mass.found, mass.low, mass.high) == pytest.approx((2.0, 2.2, 2.1, 2.3))
