"""External forces of many people: one program, and each person's own frames."""

from __future__ import annotations

import copy

import jax
import numpy as np
import pytest

import myograd as mg
from force_bench import skeleton
from myograd.files.tables.table import Table

Q = np.zeros(8)


def person(offset: float) -> mg.Model:
    """The bench with its `pad`, an offset frame, elsewhere."""
    description = copy.deepcopy(skeleton())
    description.name = f"offset {offset:g}"
    description.bodies[0].frames[0].translation = (offset, 0.02, -0.03)
    return mg.compile_model(description)


def loads(frame: str = "/bodyset/trunk/pad") -> mg.ExternalLoads:
    """A constant force at the origin of a frame."""
    names = tuple(f"{what}_{axis}" for what in ("force", "point") for axis in "xyz")
    table = Table(np.linspace(0.0, 1.0, 5), np.tile([0.0, 10.0, 0.0, 0.0, 0.0, 0.0], (5, 1)), names)
    return mg.ExternalLoads([mg.ExternalForce("push", "trunk", "ground", frame, "force", "point")], table)


def test_each_person_has_their_own_frames_and_no_program():
    traced = 0

    @jax.jit
    def wrenches(model: mg.Model, forces):
        nonlocal traced
        traced += 1
        return mg.external_wrenches(model, forces, Q, 0.5)

    for offset in (0.05, 0.4):
        model = person(offset)
        found = wrenches(model, mg.external_forces(model, loads()))
        np.testing.assert_allclose(found[0], [0.3, 0.0, 10 * offset, 0.0, 10.0, 0.0], atol=1e-12)
    assert traced == 1


def test_somebody_elses_frames_are_refused():
    first, second = person(0.05), person(0.4)
    same = jax.jit(lambda model: model)
    same(first)
    with pytest.raises(mg.ModelError, match=r"not from the document that it carries, 'offset 0\.05'.*Pass the model"):
        mg.external_forces(same(second), loads())
    with pytest.raises(mg.ModelError, match="inside a compiled function"):
        jax.jit(lambda model: mg.external_forces(model, loads()))(first)


def test_frames_of_joints_are_where_the_model_has_them():
    """They are numbers of the model, which may have been changed."""
    model = person(0.05)
    moved = mg.with_values(model, {"hinge.parent_translation.x": 0.25})
    for each, x in ((model, 0.0), (moved, 0.25)):
        forces = mg.external_forces(each, loads("/jointset/hinge/hip"))
        found = mg.external_wrenches(each, forces, Q, 0.5)
        np.testing.assert_allclose(found[0], [-0.3, 0.0, 10 * x, 0.0, 10.0, 0.0], atol=1e-12)
