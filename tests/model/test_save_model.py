"""A compiled model with changed values is saved through its description, and read back as the same model."""

from __future__ import annotations

import equinox as eqx
import jax
import numpy as np
import pytest

import myograd as mg
from force_bench import FORCES, bench
from myograd.files.osim.write import write_osim
from myograd.models import model_path, names

pytestmark = pytest.mark.filterwarnings("ignore::myograd.errors.UnsupportedWarning")


def same_values(a: mg.Model, b: mg.Model) -> None:
    for (path, x), y in zip(jax.tree_util.tree_leaves_with_path(a), jax.tree.leaves(b), strict=True):
        if jax.tree_util.keystr(path) != ".fingerprint":  # which tells the two documents apart
            np.testing.assert_allclose(y, x, rtol=1e-12, atol=1e-14, err_msg=jax.tree_util.keystr(path))


@pytest.mark.parametrize("name", names())
def test_unchanged_models_come_back(name, tmp_path):
    model = mg.load_model(model_path(name))
    mg.save_model(model, tmp_path / "again.osim")
    again = mg.load_model(tmp_path / "again.osim")
    same_values(model, again)
    assert again.coordinate_names == model.coordinate_names
    assert again.tree == model.tree


@pytest.mark.parametrize("case", FORCES)
def test_values_of_forces_are_saved(case, tmp_path):
    """All that a document states as plain numbers; curves of ligaments and places of frames and surfaces are not."""
    write_osim(bench(case), tmp_path / "bench.osim")
    model = mg.load_model(tmp_path / "bench.osim")
    random = np.random.default_rng(4)
    fixed = (".curve.", ".rotation", ".contact_surfaces.")

    def changed(path, x):
        named = jax.tree_util.keystr(path)
        placed = ".location" in named and case == "BushingForce"
        return x if placed or any(part in named for part in fixed) else x * (1 + 0.01 * random.uniform(size=x.shape))

    fitted = eqx.tree_at(lambda m: m.terms, model, jax.tree_util.tree_map_with_path(changed, model.terms))
    mg.save_model(fitted, tmp_path / "fitted.osim")
    same_values(fitted, mg.load_model(tmp_path / "fitted.osim"))


CHANGES = {
    "masses": lambda m: m.bodies.mass,
    "mass centres": lambda m: m.bodies.mass_center,
    "inertias": lambda m: m.bodies.inertia,
    "path points": lambda m: m.path.location,
    "markers": lambda m: m.marker_location,
    "strengths": lambda m: m.muscles.max_isometric_force,
    "slack lengths": lambda m: m.muscles.tendon_slack_length,
    "pennation": lambda m: m.muscles.pennation_angle,
    "gravity": lambda m: m.gravity,
    "defaults": lambda m: m.coordinates.default,
    "ranges of conditional points": lambda m: m.path.conditional_range,
    "joint centres": lambda m: m.joints.parent_translation,
}


@pytest.mark.parametrize("what", CHANGES)
def test_changed_values_are_saved(what, tmp_path):
    model = mg.load_model(model_path("planar_leg"))
    where = CHANGES[what]
    random = np.random.default_rng(3)
    old = np.asarray(where(model))
    moving = list(model.paths.moving) if what == "path points" else []
    new = old * (1 + 0.01 * random.uniform(size=old.shape))
    if moving:  # the origin of a moving point's frame is the frame's, not the path's
        new[:, moving] = old[:, moving]
    changed = eqx.tree_at(where, model, jax.numpy.asarray(new))
    mg.save_model(changed, tmp_path / "fitted.osim")
    same_values(changed, mg.load_model(tmp_path / "fitted.osim"))


def test_saved_values_are_opensims(opensim, tmp_path):
    model = mg.load_model(model_path("planar_leg"))
    heavier = eqx.tree_at(lambda m: m.bodies.mass, model, model.bodies.mass * 1.25)
    mg.save_model(heavier, tmp_path / "heavier.osim")
    theirs = opensim.Model(str(tmp_path / "heavier.osim"))
    state = theirs.initSystem()
    assert theirs.getTotalMass(state) == pytest.approx(1.25 * float(model.bodies.mass.sum()), rel=1e-14)


def test_what_a_document_cannot_hold_is_refused(tmp_path):
    model = mg.load_model(model_path("planar_leg"))
    bent = eqx.tree_at(
        lambda m: m.joints.splines.coefficients, model, model.joints.splines.coefficients.at[1].multiply(1.1)
    )
    with pytest.raises(mg.ModelError, match=r"joints\.splines\.coefficients.*cannot be saved"):
        mg.save_model(bent, tmp_path / "bent.osim")
    assert not list(tmp_path.iterdir())


def test_nan_is_refused(tmp_path):
    model = mg.load_model(model_path("planar_leg"))
    lost = eqx.tree_at(lambda m: m.bodies.mass, model, model.bodies.mass.at[0].set(np.nan))
    with pytest.raises(mg.ModelError, match=r"bodies\.mass is not finite"):
        mg.save_model(lost, tmp_path / "lost.osim")
    assert not list(tmp_path.iterdir())
