"""`myograd identify`: what is asked for on the command line."""

from __future__ import annotations

import pytest

from myograd.app.identify import read_bounds
from myograd.errors import MyogradError
from myograd.estimate.parameters import Bounds


def test_limits_are_read_by_name():
    read = read_bounds(["BIClong.BIClong-P1.location.x=-0.03:0.04", "scapula/shoulder_cap.radius=0.02:5e-2:0.03:0.005"])
    assert read == {
        "BIClong.BIClong-P1.location.x": Bounds(-0.03, 0.04),
        "scapula/shoulder_cap.radius": Bounds(0.02, 0.05, 0.03, 0.005),
    }


@pytest.mark.parametrize("text", ["a.x", "a.x=1", "a.x=1:b", "=1:2", "a.x=1:2:3"])
def test_what_is_no_limit_is_refused(text: str):
    with pytest.raises(MyogradError, match="give NAME=LOW:HIGH"):
        read_bounds([text])


def test_a_number_is_named_once():
    with pytest.raises(MyogradError, match=r"'a.x' twice"):
        read_bounds(["a.x=1:2", "a.x=1:3"])
