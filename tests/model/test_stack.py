"""Many people in one model, and why some cannot be."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import myograd as mg
from computed import loaded
from myograd.models import model_path


def leg() -> mg.Model:
    return loaded(model_path("planar_leg"))


def test_people_are_stacked():
    people = [leg().with_values({"shank.mass": mass}) for mass in (2.8, 3.2, 3.6)]
    stack = mg.stacked(people)
    np.testing.assert_array_equal(stack.bodies.mass[:, leg().body_names.index("shank")], [2.8, 3.2, 3.6])
    assert "a stack of 3 models" in repr(stack)
    again = jax.tree.map(lambda x: x[2], stack)
    assert jax.tree.all(jax.tree.map(lambda a, b: bool(np.array_equal(a, b)), again, people[2]))


def changed(edit) -> mg.Model:
    description = mg.read_osim(model_path("planar_leg"))
    edit(description)
    return mg.compile_model(description)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda d: d.muscles.pop(), "'planar_leg': muscles differ .only the first has tibialis_anterior"),
        (lambda d: d.markers.reverse(), "markers differ in their order"),
        (lambda d: setattr(d.coordinates()[0], "locked", True), "they differ in constraints"),
        (lambda d: setattr(d.muscles[0], "kind", "Thelen2003Muscle"), "classes or options of muscles"),
    ],
)
def test_what_differs_is_told(other, message: str):
    with pytest.raises(mg.ModelError, match=f"entry 1, 'planar_leg', has another structure than entry 0.*{message}"):
        mg.stacked([leg(), changed(other)])


def test_what_is_no_person_is_told():
    with pytest.raises(mg.ModelError, match="at least one model"):
        mg.stacked([])
    with pytest.raises(mg.ModelError, match="entry 1 is a stack of models itself"):
        mg.stacked([leg(), mg.stacked([leg(), leg()])])
