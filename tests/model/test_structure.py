"""Structures compare by content, all of it: type of numbers, and which field a value is in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from myograd.model.structure import Hashed


@dataclass(eq=False, frozen=True, repr=False)
class Pair(Hashed):
    first: Any
    second: Any


def test_equal_contents_are_equal():
    one, other = (Pair(np.arange(3), ("a", "b")) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Pair(np.zeros(2, np.int64), 0), Pair(np.zeros(2, np.float64), 0)),  # the same bytes
        (Pair(np.zeros((1, 2)), 0), Pair(np.zeros((2, 1)), 0)),
        (Pair("a", "b"), Pair("b", "a")),
        (Pair(1, 12), Pair(11, 2)),
    ],
)
def test_other_contents_are_not(one: Pair, other: Pair):
    assert one != other


def test_fields_are_told_apart():
    """What is at the end of one field is not taken for the beginning of the next."""

    class Text(str):
        def __repr__(self) -> str:
            return str(self)

    assert Pair(Text("a"), Text("second1")) != Pair(Text("asecond"), Text("1"))
    assert Pair(Text(""), Text("xsecondy")) != Pair(Text("secondx"), Text("y"))


def test_arrays_cannot_be_changed_afterwards():
    numbers = np.arange(3.0)
    pair = Pair(numbers, 0)
    with pytest.raises(ValueError, match="read-only"):
        pair.first[0] = 1.0


def test_arrays_inside_tuples_are_refused():
    """Their text leaves out digits, and the middle of long ones."""
    with pytest.raises(TypeError, match=r"Pair\.second is a tuple that holds arrays"):
        Pair(0, (1, (np.arange(3),)))
