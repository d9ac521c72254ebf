"""All public models of the oracle pack: our numbers are those that OpenSim 4.6 computed, on all 25 poses of each.

The keys of the pack are explained in its README. Orders differ between the pack and the model, so names decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import myograd as mg
from computed import (
    accelerations_otherwise,
    arms_otherwise,
    compiled,
    dynamics,
    geometry,
    in_numpy,
    loaded,
    program,
    speeds_are_rates,
)
from myograd.errors import ModelError
from oracle_pack import FILES, MODELS, NO_PACK

MASSLESS = "WristModel"  # none of its bodies has mass
WRAPPED = {"Arm26", "MoBL_ARMS", "Rajagopal2016"}  # models with paths that wrap at some poses
# One coordinate of each knee of this model drives three rotations. OpenSim's velocity terms are not right there (see
# `test_bias_is_lagranges`), and the model is compared with them reproduced.
CORIOLIS = "Rajagopal2016"
SKELETON = (
    "gravity",
    "bodies",
    "joints",
    "coordinates",
    "constraint_parameters",
    "marker_location",
    "path",
    "surfaces",
)  # parts of a model that its muscles' classes do not bear on


class Reference:
    """What OpenSim computed, in the order of a model's own names."""

    def __init__(self, path: Path, model: mg.Model):
        self.data = dict(np.load(path.parents[1] / "reference" / f"{path.stem}.npz", allow_pickle=False))
        self.coordinate = self._index("coord_names", model.coordinate_names)
        self.u = self._index("u_coord_names", model.speed_names)
        self.body = self._index("body_names", model.body_names)
        self.muscle = self._index("muscle_names", model.muscle_names)
        self.marker = self._index("marker_names", model.marker_names)
        self.state = self["coord_value"][:, self.coordinate], self["u"][:, self.u]

    def __getitem__(self, key: str) -> np.ndarray:
        return self.data[key]

    def _index(self, key: str, names: tuple[str, ...]) -> np.ndarray:
        known = [str(name) for name in self.data[key]]
        assert sorted(known) == sorted(names), key
        return np.array([known.index(name) for name in names], int)

    def arms(self, key: str) -> np.ndarray:
        return self[key][:, self.muscle][:, :, self.coordinate]

    def unwrapped(self) -> np.ndarray:
        """[poses, muscles] paths that touch no wrapping surface."""
        return ~self["path_wraps"][:, self.muscle].astype(bool)


@cache
def at_poses(path: Path) -> tuple[mg.Model, Reference, dict[str, np.ndarray], Callable]:
    """A model of the pack, the reference, what we compute at its poses, and the program that does so."""
    model = loaded(path, opensim_coriolis=path.stem == CORIOLIS)
    reference = Reference(path, model)
    parts = [geometry]
    if path.stem not in WRAPPED:
        parts += [arms_otherwise]
    if path.stem != MASSLESS:
        parts += [dynamics]
        if len(model.constraints.row_names):
            parts += [accelerations_otherwise]
    run = program(*parts)
    return model, reference, in_numpy(run(model, *reference.state)), run


def check_rigid(reference: Reference, ours: dict[str, np.ndarray]) -> None:
    """Poses and velocities, and masses and forces if there are any: 1e-9, or 1e-10 near zero."""
    expected = {
        "rotation": reference["body_R"][:, reference.body],
        "position": reference["body_p"][:, reference.body],
        "velocity": reference["body_vel"][:, reference.body],
        "markers": reference["marker_pos"][:, reference.marker] if len(reference.marker) else ours["markers"][:, :0],
    }
    if "M" in ours:
        expected |= {
            "M": reference["M"][:, reference.u][:, :, reference.u],
            "bias": reference["bias_with_gravity"][:, reference.u],
            "center of mass": reference["com"],
            "kinetic energy": reference["kinetic_energy"],
        }
    for key, value in expected.items():
        np.testing.assert_allclose(ours[key], value, rtol=1e-9, atol=1e-10, err_msg=key)


def check_constraints(reference: Reference, ours: dict[str, np.ndarray]) -> None:
    """G and its bias, row by row; each has its own order of rows, and signs of its own."""
    theirs = reference["G"][:, :, reference.u]
    assert ours["G"].shape == theirs.shape
    gaps = np.array(  # [sign, their row, our row]
        [np.abs(ours["G"][:, None] - sign * theirs[:, :, None]).max(axis=(0, 3), initial=0) for sign in (1, -1)]
    )
    rows, columns = linear_sum_assignment(gaps.min(axis=0))
    sign = np.where(gaps.argmin(axis=0)[rows, columns] == 0, 1.0, -1.0)
    np.testing.assert_allclose(ours["G"][:, columns], sign[:, None] * theirs[:, rows], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(ours["G_bias"][:, columns], sign * reference["G_bias"][:, rows], rtol=1e-9, atol=1e-10)


def check_paths(reference: Reference, ours: dict[str, np.ndarray]) -> None:
    """Lengths, speeds and moment arms of the paths that do not wrap at the pose: 1e-9 m."""
    straight = reference.unwrapped()
    for key in ("length", "speed"):
        theirs = reference[f"muscle_{key}"][:, reference.muscle]
        np.testing.assert_allclose(ours[key][straight], theirs[straight], rtol=0, atol=1e-9, err_msg=key)
    theirs = reference.arms("moment_arm")
    known = straight[:, :, None] & np.isfinite(theirs)  # not so about dependent and locked coordinates
    np.testing.assert_array_equal(np.isfinite(ours["arm"]), np.isfinite(theirs))
    if "moment_arm_fd" in reference.data:
        # Beside moving points OpenSim's arm is not -dL/dq of its own length; there the difference quotient decides.
        quotient = reference.arms("moment_arm_fd")
        steady = np.abs(quotient - reference.arms("moment_arm_fd_h1e5")) < 1e-6
        wrong = np.abs(quotient - theirs) > 1e-6
        np.testing.assert_allclose(
            ours["arm"][known & wrong & steady], quotient[known & wrong & steady], rtol=0, atol=1e-6
        )
        known &= ~wrong
    np.testing.assert_allclose(ours["arm"][known], theirs[known], rtol=0, atol=1e-9)


def check_accelerations(reference: Reference, ours: dict[str, np.ndarray]) -> None:
    """Free fall: 1e-8 of the pose's largest acceleration."""
    theirs = reference["udot_gravity_only"][:, reference.u]
    scale = np.maximum(1.0, np.abs(theirs).max(axis=1, keepdims=True))
    np.testing.assert_allclose(ours["udot"] / scale, theirs / scale, rtol=0, atol=1e-8)


# Every public model ------------------------------------------------------------------------------------------


def test_bodies(pack_model: Path):
    _, reference, ours, _ = at_poses(pack_model)
    check_rigid(reference, ours)


def test_constraint_equations(pack_model: Path):
    _, reference, ours, _ = at_poses(pack_model)
    check_constraints(reference, ours)


def test_paths(pack_model: Path):
    model, reference, ours, _ = at_poses(pack_model)
    assert ours["length"].shape == (25, len(model.muscle_names))
    if model.muscle_names:
        check_paths(reference, ours)


def test_free_fall(pack_model: Path):
    model, reference, ours, _ = at_poses(pack_model)
    if pack_model.stem == MASSLESS:
        q, u = (x[0] for x in reference.state)
        with pytest.raises(ModelError, match=r"mass matrix is singular.*Bodies concerned: \w+, .*give them mass"):
            mg.forward_dynamics(model, q, u)
    else:
        check_accelerations(reference, ours)


def test_elimination_is_as_good_as_multipliers(pack_model: Path):
    _, _, ours, _ = at_poses(pack_model)
    if "udot by multipliers" in ours:
        scale = np.maximum(1.0, np.abs(ours["udot"]).max(axis=1, keepdims=True))
        # Near gimbal lock (pose 14 of Rajagopal2016: 6e7) the rounding of M alone moves the answer by its condition number
        # times 2e-16, in either form.
        lock = np.maximum(1.0, np.linalg.cond(ours["M"]) / 1e7)[:, None]
        assert (np.abs(ours["udot"] - ours["udot by multipliers"]) <= 1e-10 * lock * scale).all()
        second = np.einsum("nrc,nc->nr", ours["G"], ours["udot"]) + ours["G_bias"]  # derivatives of the constraints
        np.testing.assert_allclose(second / scale, 0.0, rtol=0, atol=1e-10)


def test_moment_arms_three_ways(pack_model: Path):
    model, _, ours, _ = at_poses(pack_model)
    if pack_model.stem not in WRAPPED:
        for method in ("length", "velocity"):
            np.testing.assert_allclose(ours[f"arm by {method}"], ours["arm"], rtol=0, atol=1e-10, err_msg=method)
        C = ours["coupling"][:, :, model.constraints.free]
        np.testing.assert_allclose(ours["G"] @ C, 0.0, rtol=0, atol=1e-10)  # speeds that satisfy the constraints ...
        np.testing.assert_array_equal(
            C[:, model.constraints.free], np.broadcast_to(np.eye(C.shape[2]), (25, *[C.shape[2]] * 2))
        )


# Variants ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "variant",
    [pytest.param(path, id=path.stem) for path in FILES if path.stem.endswith("_DGF")]
    or [pytest.param(None, marks=pytest.mark.skip(reason=NO_PACK), id="no-pack")],
)
def test_variants(variant: Path):
    """With other muscle classes the skeleton and the paths are the same, so the original's program computes them."""
    original_path = variant.with_stem(variant.stem.removesuffix("_DGF"))
    original, _, _, run = at_poses(original_path)
    model = loaded(variant, opensim_coriolis=original_path.stem == CORIOLIS)
    assert (model.tree, model.constraints, model.paths) == (original.tree, original.constraints, original.paths)
    values = replace(original, **{part: getattr(model, part) for part in SKELETON})
    reference = Reference(variant, model)
    ours = in_numpy(run(values, *reference.state))
    check_rigid(reference, ours)
    check_constraints(reference, ours)
    check_paths(reference, ours)
    check_accelerations(reference, ours)
    for values in jax.tree.leaves(model.muscles):
        assert np.all(np.isfinite(values))


def test_printed_models_are_the_originals(pack_model: Path):
    """`X_v46.osim` is the same model, printed by OpenSim 4.6."""
    original, printed = loaded(pack_model), loaded(pack_model.with_stem(f"{pack_model.stem}_v46"))
    printed = replace(printed, fingerprint=original.fingerprint)  # it tells the two documents apart, as it should
    assert (printed.tree, printed.constraints, printed.paths) == (original.tree, original.constraints, original.paths)
    before, after = jax.tree_util.tree_leaves_with_path(original), jax.tree.leaves(printed)
    for (path, value), again in zip(before, after, strict=True):
        # OpenSim prints 15 to 17 digits.
        np.testing.assert_allclose(again, value, rtol=1e-13, atol=1e-14, err_msg=jax.tree_util.keystr(path))


# Where OpenSim is not right ----------------------------------------------------------------------------------


def lagrange(model: mg.Model, q, u) -> jax.Array:
    """`d/dt (dT/du) - dT/dq + dV/dq` at udot = 0, from the mass matrix and the potential alone; qdot = u."""
    _, change = jax.jvp(lambda x: mg.mass_matrix(model, x) @ u, (q,), (u,))
    return change - jax.grad(lambda x: 0.5 * u @ mg.mass_matrix(model, x) @ u - mg.potential_energy(model, x))(q)


def test_bias_is_lagranges(pack: Path):
    """Our bias follows from OpenSim's own mass matrix; OpenSim's does not, where a coordinate drives several turns."""
    path = pack / "models" / f"{CORIOLIS}.osim"
    model = loaded(path)
    assert speeds_are_rates(model)
    reference = Reference(path, model)
    few = slice(0, 3)
    q, u = (x[few] for x in reference.state)

    def both(model: mg.Model, q, u) -> dict:
        return {"lagrange": lagrange(model, q, u), "bias": mg.bias_forces(model, q, u), "M": mg.mass_matrix(model, q)}

    ours = in_numpy(compiled(both)(model, q, u))
    theirs = reference["bias_with_gravity"][few][:, reference.u]
    np.testing.assert_allclose(ours["M"], reference["M"][few][:, reference.u][:, :, reference.u], rtol=1e-9, atol=1e-10)
    scale = np.abs(theirs).max(axis=1, keepdims=True)
    np.testing.assert_allclose(ours["bias"] / scale, ours["lagrange"] / scale, rtol=0, atol=1e-11)
    missed = np.abs(theirs - ours["lagrange"]) / scale
    assert missed.max() > 1e-6
    # It misses forces on the legs and on what carries them, none on what the legs do not touch.
    apart = [i for i, name in enumerate(model.coordinate_names) if name.startswith(("lumbar", "arm", "elbow", "pro"))]
    assert len(apart) == 13
    assert missed[:, apart].max() < 1e-11


def test_the_pack_is_whole(pack: Path):
    assert len(MODELS) == 11
    assert {path.stem for path in MODELS} >= WRAPPED | {MASSLESS, CORIOLIS}


# Derivatives -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_derivatives_are_finite(pack_model: Path):
    """First and second ones at the default pose and at zero angles, where careless formulas divide by zero."""
    model = loaded(pack_model)

    def total(model: mg.Model, x):
        q, u = x
        parts = [*mg.body_poses(model, q), mg.body_velocities(model, q, u), mg.marker_positions(model, q)]
        if pack_model.stem not in WRAPPED:  # no number, and so no derivative, where a path wraps
            parts += [mg.muscle_lengths(model, q), mg.moment_arms(model, q)[:, model.constraints.free]]
        if pack_model.stem != MASSLESS:
            parts += [mg.forward_dynamics(model, q, u)]
        return sum(jnp.sum(jnp.sin(part + 0.3)) for part in parts)

    def derivatives(model: mg.Model, q, u):
        gradient = jax.grad(total, argnums=1)
        along = jnp.cos(jnp.arange(len(q))), jnp.sin(1.0 + jnp.arange(len(q)))  # no entry is zero
        return jax.jvp(lambda x: gradient(model, x), ((q, u),), (along,))

    default = np.asarray(mg.assemble(model, model.default_pose()))
    q = np.stack([default, np.zeros_like(default)])
    for leaf in jax.tree.leaves(compiled(derivatives)(model, q, np.zeros_like(q))):
        assert np.isfinite(leaf).all()
        assert np.abs(leaf).max() > 1e-3
