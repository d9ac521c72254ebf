"""Arrays with names, and what happens to those who would change a model in place."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import myograd as mg


@pytest.fixture(scope="module")
def leg() -> mg.Model:
    return mg.load_model("planar_leg")


def test_a_matrix_gets_the_models_names(leg: mg.Model):
    frame = mg.to_pandas(leg, mg.moment_arms(leg, mg.pose(leg)), "muscles", "coordinates")
    assert frame.shape == (9, 3)
    assert frame.loc["vasti", "knee_flexion"] == mg.moment_arms(leg, mg.pose(leg))[3, 1]


def test_rows_may_be_times(leg: mg.Model):
    frame = mg.to_pandas(leg, np.zeros((2, 9)), [0.0, 0.1], "muscles")
    assert frame.index.name == "time"
    assert list(frame.columns) == list(leg.muscle_names)


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        ("muscle", "coordinates", "an axis is one of bodies, coordinates, muscles, controls, markers, not 'muscle'"),
        ("muscles", "bodies", r"values have shape \(9, 3\), but there are 9 muscles and \d bodies"),
    ],
)
def test_names_that_do_not_fit_are_refused(leg: mg.Model, rows: str, columns: str, message: str):
    with pytest.raises(mg.ModelError, match=message):
        mg.to_pandas(leg, np.zeros((9, 3)), rows, columns)


def test_setting_a_number_says_how_to_do_it(leg: mg.Model):
    whole = mg.load_model("leg")
    assert whole.terms
    owners = [
        (leg.bodies, "mass"),
        (leg, "gravity"),
        (leg.muscles, "max_isometric_force"),
        (leg.path.moving_splines, "coefficients"),
        (whole.contact_surfaces, "size"),
        *((term, next(iter(term.__dataclass_fields__))) for term in whole.terms),
    ]
    for owner, name in owners:
        with pytest.raises(
            FrozenInstanceError, match=f"{name!r} cannot be set; a changed copy is made by mg.with_values"
        ):
            setattr(owner, name, 5.0)


def test_a_changed_copy_by_name(leg: mg.Model):
    heavier = leg.with_values({"thigh.mass": 9.5})
    assert mg.values_of(heavier, ["thigh.mass"]) == {"thigh.mass": 9.5}
    assert mg.values_of(leg, ["thigh.mass"]) != {"thigh.mass": 9.5}
