"""Bodies of another size: against live OpenSim's `Model.scale`, number by number; derivatives; what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import myograd as mg
from computed import loaded
from myograd.model.parameters import leaves_by_name
from myograd.models import model_path

EVEN = {"pelvis": 1.07, "thigh": 0.9, "shank": 1.2, "foot": 0.85}
UNEVEN = {"thigh": (1.1, 0.9, 1.25), "shank": (0.95, 1.2, 1.05), "foot": (1.3, 0.8, 1.1)}


def opensims(opensim, path: Path, factors: dict[str, Any], folder: Path) -> mg.Model:
    """Masses preserved, so that only sizes differ."""
    model = opensim.Model(str(path))
    state = model.initSystem()
    wanted = opensim.ScaleSet()
    for body, value in factors.items():
        one = opensim.Scale()
        one.setSegmentName(body)
        one.setScaleFactors(opensim.Vec3(*np.broadcast_to(value, 3).tolist()))
        one.setApply(True)
        wanted.cloneAndAppend(one)
    assert model.scale(state, wanted, True, -1.0)
    model.printToXML(str(folder / "scaled.osim"))
    return loaded(folder / "scaled.osim")


def gaps(ours: mg.Model, theirs: mg.Model) -> dict[str, float]:
    """Largest difference in each array."""
    pairs = zip(leaves_by_name(ours).items(), leaves_by_name(theirs).values(), strict=True)
    different = {name: np.where(np.asarray(a) == np.asarray(b), 0.0, np.asarray(a - b)) for (name, a), b in pairs}
    return {name: float(np.abs(gap).max(initial=0.0)) for name, gap in different.items() if name != ".fingerprint"}


@pytest.mark.parametrize("how", ["even", "uneven"])
def test_a_leg_is_opensims(how: str, opensim, tmp_path: Path, measured: Callable[..., None]):
    """Splines within the knee, a moving point, no surfaces. Of inertia, only equal factors have one answer."""
    path = model_path("planar_leg")
    leg = loaded(path)
    factors = {"even": EVEN, "uneven": UNEVEN}[how]
    factors = {body: value for body, value in factors.items() if body in leg.body_names}
    found = gaps(mg.scaled(leg, factors), opensims(opensim, path, factors, tmp_path))
    if how == "uneven":
        found.pop(".bodies.inertia")
    measured(f"scaled, {how}", max(found.values()))
    assert max(found.values()) < 1e-12, found


def test_surfaces_are_opensims(opensim, tmp_path: Path):
    """Lengths over surfaces are not quite OpenSim's (docs/wrapping.md); those of the muscles follow their paths."""
    path = model_path("arm")
    arm = loaded(path)
    factors = {body: (1.1, 0.9, 1.2) for body in arm.body_names}
    ours, theirs = mg.scaled(arm, factors), opensims(opensim, path, factors, tmp_path)
    found = gaps(ours, theirs)
    free = np.setdiff1d(np.arange(len(arm.muscle_names)), arm.wraps.path)
    assert len(free)
    for name in ("optimal_fiber_length", "tendon_slack_length"):
        a, b = (np.asarray(getattr(it.muscles, name)) for it in (ours, theirs))
        np.testing.assert_allclose(a[free], b[free], rtol=1e-9)
        np.testing.assert_allclose(a, b, rtol=0.02)
        found.pop(f".muscles.{name}")
    found.pop(".bodies.inertia")
    assert max(found.values()) < 1e-12, found


def test_inertia_is_that_of_the_stretched_body():
    """Of points with masses, which are stretched one by one."""
    leg = loaded(model_path("planar_leg"))
    random = np.random.default_rng(0)
    x, m, s = random.normal(size=(20, 3)), random.uniform(1, 2, 20), np.array([1.2, 0.7, 1.1])

    def moments(x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        mass, center = m.sum(), m @ x / m.sum()
        y = x - center
        tensor = np.sum([w * (r @ r * np.eye(3) - np.outer(r, r)) for w, r in zip(m, y, strict=True)], axis=0)
        return mass, center, tensor[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]

    def body(model: mg.Model, x: np.ndarray) -> dict[str, float]:
        mass, center, inertia = moments(x)
        return {
            "thigh.mass": mass,
            **{f"thigh.mass_center.{a}": v for a, v in zip("xyz", center, strict=True)},
            **{f"thigh.inertia.{a}": v for a, v in zip(("xx", "yy", "zz", "xy", "xz", "yz"), inertia, strict=True)},
        }

    found = mg.scaled(leg.with_values(body(leg, x)), {"thigh": s})
    wanted = body(leg, x * s)
    assert mg.values_of(found, list(wanted)) == pytest.approx(wanted, rel=1e-12)


def test_a_turned_frame_is_stretched_along_the_bodys_axes():
    """Every point and every joint centre of a body goes where the body's material goes."""
    description = mg.read_osim(model_path("planar_leg"))
    for joint in description.joints:
        for frame in joint.frames:
            frame.orientation = (0.3, -0.2, 0.5)
    model = mg.compile_model(description)
    s = np.array([1.2, 0.8, 1.1])
    found = mg.scaled(model, {"thigh": s})
    q = model.default_pose()
    thigh, shank = model.body_names.index("thigh"), model.body_names.index("shank")

    def shank_in_thigh(model: mg.Model) -> np.ndarray:
        rotations, origins = (np.asarray(x) for x in mg.body_poses(model, q))
        return rotations[thigh].T @ (origins[shank] - origins[thigh])

    assert not np.asarray(model.joints.child_translation)[:, model.tree.body_link[shank]].any()
    np.testing.assert_allclose(shank_in_thigh(found), s * shank_in_thigh(model), atol=1e-12)


def test_derivatives_are_those_of_difference_quotients():
    leg = loaded(model_path("planar_leg"))
    q = mg.pose(leg, knee_flexion=0.7)

    @jax.jit
    def lengths(s: jax.Array) -> jax.Array:
        model = mg.scaled(leg, {"thigh": (1.0, s, 1.0), "shank": s})
        return jnp.concatenate(
            [mg.muscle_lengths(model, q), model.muscles.tendon_slack_length, model.bodies.inertia[0]]
        )

    slope, h = jax.jacfwd(lengths)(1.0), 1e-5
    np.testing.assert_allclose(slope, (lengths(1 + h) - lengths(1 - h)) / (2 * h), rtol=1e-6, atol=1e-8)
    assert np.abs(slope).max() > 0.1


@pytest.mark.parametrize("name", ["planar_leg", "arm"])
def test_a_scaled_model_is_saved_and_read_again(name: str, tmp_path: Path):
    model = loaded(model_path(name))
    found = mg.scaled(model, dict.fromkeys(model.body_names, (1.1, 0.9, 1.2)))
    mg.save_model(found, tmp_path / "scaled.osim")
    assert max(gaps(loaded(tmp_path / "scaled.osim"), found).values()) < 1e-12


def test_nothing_changes_by_factors_of_one():
    arm = loaded(model_path("arm"))
    assert max(gaps(mg.scaled(arm, dict.fromkeys(arm.body_names, 1.0)), arm).values()) < 1e-15


@pytest.mark.parametrize(
    ("name", "factors", "message"),
    [
        ("planar_leg", {"thig": 1.1}, "has no body 'thig'; did you mean 'thigh'"),
        ("planar_leg", {"thigh": (1.1, 1.0)}, r"the factors of 'thigh' have shape \(2,\); give one number, or three"),
        ("planar_leg", {"thigh": (1.1, 0.0, 1.0)}, "they must be positive"),
        ("leg", {"foot": 1.1}, "bodies with forces between bodies: heel_on_floor, ball_medial_on_floor"),
    ],
)
def test_what_cannot_be_scaled_is_told(name: str, factors: dict[str, Any], message: str):
    with pytest.raises(mg.ModelError, match=message):
        mg.scaled(loaded(model_path(name)), factors)
