"""Moment arms of Sherman, Seth and Delp, How to compute muscle moment arm using generalized coordinates (2010)."""

from __future__ import annotations

from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pytest

import myograd as mg
from computed import compiled, loaded
from myograd.models import model_path, names

BENCHES = Path(__file__).parent / "models"
UNWRAPPED = ("Gait10dof18musc", "Gait2392_subject01", "Hamner2010", "Leg6Dof9Musc", "SoccerKick", "Tug_of_War_Millard")
OWN = {name: model_path(name) for name in names()} | {x.stem: x for x in sorted(BENCHES.glob("all_*.osim"))}


def poses(model: mg.Model, count: int = 4) -> np.ndarray:
    """Random poses in the middle of the ranges that satisfy the constraints."""
    random = np.random.default_rng(11)
    default = np.asarray(model.default_pose())
    low, high = np.clip(np.asarray(model.coordinates.range), default - 0.4, default + 0.4)
    q = low + (high - low) * random.uniform(0.2, 0.8, (count, len(default)))
    q[0] = default
    return np.array([mg.assemble(model, x) for x in q])


def three_ways(model, q):
    return {method: mg.moment_arms(model, q, method=method) for method in ("force", "length", "velocity")} | {
        "C": mg.coupling_matrix(model, q),
        "G": mg.constraint_jacobian(model, q),
    }


def check_three_ways(path: Path) -> None:
    model = loaded(path)
    out = compiled(three_ways, mapped=1)(model, poses(model))
    force = np.asarray(out["force"])
    # Dependent, locked and prescribed coordinates have no moment arm, nor have free ones that constraints hold fast.
    free = [i for i in model.constraints.free if np.isfinite(np.asarray(out["C"])[:, :, i]).all()]
    assert len(free) == len(model.constraints.free) or len(model.constraints.implicit_rows)
    assert np.isfinite(force[:, :, free]).all()
    assert np.isnan(np.delete(force, free, axis=2)).all()
    np.testing.assert_allclose(out["length"][:, :, free], force[:, :, free], rtol=0, atol=1e-10)
    np.testing.assert_allclose(out["velocity"][:, :, free], force[:, :, free], rtol=0, atol=1e-10)
    C = np.asarray(out["C"])[:, :, free]
    np.testing.assert_allclose(np.asarray(out["G"]) @ C, 0, atol=1e-10)
    np.testing.assert_allclose(np.diagonal(C[:, free], axis1=1, axis2=2), 1, atol=1e-12)  # unit rate


@pytest.mark.parametrize("name", OWN)
def test_three_methods_agree(name):
    check_three_ways(OWN[name])


@pytest.mark.parametrize("name", UNWRAPPED)
def test_three_methods_agree_on_public_models(name, pack):
    check_three_ways(pack / "models" / f"{name}.osim")


def test_three_methods_agree_on_the_wrist(pack):
    """54 conditional points: the poses must not sit on a switch, where the length jumps."""
    check_three_ways(pack / "models" / "WristModel.osim")


def test_finite_differences_along_the_constraints():
    """Finite differencing, the paper's first way: move theta, satisfy the constraints, measure the length."""
    model = loaded(model_path("coupled_mechanism"))
    q = np.asarray(mg.assemble(model, model.default_pose()))
    theta, h = model.coordinate_names.index("theta"), 1e-4

    def length(step: float) -> np.ndarray:
        moved = q.copy()
        moved[theta] += step
        return np.asarray(mg.muscle_lengths(model, mg.assemble(model, moved)))

    slope = (8 * (length(h) - length(-h)) - (length(2 * h) - length(-2 * h))) / (12 * h)
    np.testing.assert_allclose(mg.moment_arms(model, q)[:, theta], -slope, atol=1e-11)


# Effective torque (Eqs. 21 to 24) ------------------------------------------------------------------------------------

PART_OF_THETA = ("theta", "theta_2", "theta_3", "theta_4")
OUTSIDE = ("theta_5", "theta_6")


def dynamics_under_tension(model: mg.Model, q: np.ndarray, muscle: int, tension: float) -> dict[str, np.ndarray]:
    """At rest and without weight, the muscle alone: f, its accelerations, the multipliers of the couplers."""
    model = eqx.tree_at(lambda m: m.gravity, model, 0.0 * model.gravity)
    at_rest = np.zeros_like(q)
    f = -tension * np.asarray(mg.muscle_gradients(model, q))[muscle]
    udot = np.asarray(mg.forward_dynamics(model, q, at_rest, f, method="multipliers"))
    multipliers = np.asarray(mg.constraint_multipliers(model, q, at_rest, f))
    return {
        "applied": f,
        "needed": np.asarray(mg.inverse_dynamics(model, q, at_rest, udot)),  # M udot
        "G": np.asarray(mg.constraint_jacobian(model, q)),
        "multipliers": multipliers,
    }


@pytest.fixture(scope="module")
def mechanism():
    model = loaded(model_path("coupled_mechanism"))
    return model, poses(model, 3)


@pytest.mark.parametrize("muscle", [0, 1])
def test_effective_torque_is_arm_times_tension(mechanism, muscle):
    """C^T f = r s (Eq. 24 with all coupled coordinates), f = M udot + G^T lambda by inverse dynamics. The scaled
    coordinates (theta reads 2.5 times the angle of its pin, theta_3 half of it) need no weights: they drop out."""
    model, all_q = mechanism
    theta, s = model.coordinate_names.index("theta"), 350.0
    for q in all_q:
        d = dynamics_under_tension(model, q, muscle, s)
        f = d["needed"] + d["G"].T @ d["multipliers"]
        r = float(mg.moment_arms(model, q)[muscle, theta])
        C = np.asarray(mg.coupling_matrix(model, q))[:, theta]
        assert abs(r) > 1e-3  # a zero would prove nothing
        np.testing.assert_allclose(C @ f, r * s, rtol=1e-9)


def test_effective_torque_over_the_angles_of_theta_alone(mechanism):
    """C_theta^T f = r s (Eq. 24 as printed, rows outside theta zero) where the muscle does not load theta_5 and theta_6;
    in general, what the outside coordinates' couplers hand on to theta must be counted, less what their bodies' inertia
    keeps back: C_theta^T (f - G_out^T lambda_out) + C_out^T (M udot)_out = r s."""
    model, all_q = mechanism
    index = {name: i for i, name in enumerate(model.coordinate_names)}
    inside, outside = [index[n] for n in PART_OF_THETA], [index[n] for n in OUTSIDE]
    rows = [i for i, name in enumerate(model.constraints.row_names) if any(f"of {n})" in name for n in OUTSIDE)]
    s, loaded_outside, not_loaded = 350.0, 0, 0
    for q in all_q:
        C = np.asarray(mg.coupling_matrix(model, q))[:, index["theta"]]
        for muscle in range(2):
            d = dynamics_under_tension(model, q, muscle, s)
            f = d["needed"] + d["G"].T @ d["multipliers"]
            handed_on = f - d["G"][rows].T @ d["multipliers"][rows]
            torque = C[inside] @ handed_on[inside] + C[outside] @ d["needed"][outside]
            r = float(mg.moment_arms(model, q)[muscle, index["theta"]])
            np.testing.assert_allclose(torque, r * s, rtol=1e-9)
            if np.abs(f[outside]).max() < 1e-9:
                np.testing.assert_allclose(C[inside] @ f[inside], r * s, rtol=1e-9)
                not_loaded += 1
            else:
                loaded_outside += 1
    assert loaded_outside and not_loaded  # both kinds of muscle were tried


# Moving points -------------------------------------------------------------------------------------------------------


def test_moving_points_do_their_work(opensim):
    """rectus_femoris has a moving point beside a point of the same body, whose work OpenSim's moment arm leaves out."""
    path = model_path("planar_leg")
    model = loaded(path)
    knee, muscle = model.coordinate_names.index("knee_flexion"), model.muscle_names.index("rectus_femoris")
    q = np.array(model.default_pose())
    q[knee] = 1.2
    h = 1e-4

    def length(step: float) -> float:
        return float(mg.muscle_lengths(model, q + step * np.eye(len(q))[knee])[muscle])

    slope = (8 * (length(h) - length(-h)) - (length(2 * h) - length(-2 * h))) / (12 * h)
    ours = float(mg.moment_arms(model, q)[muscle, knee])
    assert ours == pytest.approx(-slope, abs=1e-11)

    theirs = opensim.Model(str(path))
    state = theirs.initSystem()
    for name, value in zip(model.coordinate_names, q, strict=True):
        theirs.getCoordinateSet().get(name).setValue(state, float(value), False)
    coordinate = theirs.getCoordinateSet().get("knee_flexion")
    arm = theirs.getMuscles().get("rectus_femoris").computeMomentArm(state, coordinate)
    assert abs(arm - ours) > 5e-4
    coordinate.setSpeedValue(state, 1.0)
    theirs.realizeVelocity(state)
    assert -theirs.getMuscles().get("rectus_femoris").getLengtheningSpeed(state) == pytest.approx(ours, abs=1e-12)


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("beyond", [0.0, 0.2])
def test_moving_points_at_and_beyond_the_ends_of_their_range(end, beyond):
    model = loaded(model_path("planar_leg"))
    knee = model.coordinate_names.index("knee_flexion")
    q = np.array(model.default_pose())
    q[knee] = float(model.coordinates.range[end, knee]) + (beyond if end else -beyond)
    force, length, velocity = (mg.moment_arms(model, q, method=method) for method in ("force", "length", "velocity"))
    np.testing.assert_allclose(force, length, atol=1e-12)
    np.testing.assert_allclose(force, velocity, atol=1e-12)


def test_muscles_that_touch_a_surface_are_nan_where_opensims_wrap(pack):
    """The same poses, but for two of MoBL_ARMS where OpenSim bends ECRL round a torus 10 cm away from it."""
    spurious = 0
    for name in ("Arm26", "Rajagopal2016", "MoBL_ARMS"):
        model = loaded(pack / "models" / f"{name}.osim")
        with np.load(pack / "reference" / f"{name}.npz") as reference:
            order = [list(reference["coord_names"]).index(x) for x in model.coordinate_names]
            q = reference["coord_value"][:, order]
            muscles = [model.muscle_names.index(x) for x in reference["muscle_names"]]
            theirs = reference["path_wraps"]
        lengths = jax.jit(jax.vmap(lambda q, model=model: mg.muscle_lengths(model, q)))(q)
        ours = np.isnan(np.asarray(lengths)[:, muscles])
        assert not np.any(ours & ~theirs)
        missed = theirs & ~ours
        assert {model.muscle_names[muscles[i]] for i in np.flatnonzero(missed.any(axis=0))} <= {"ECRL"}
        spurious += int(missed.sum())
    assert spurious == 2


def test_what_is_not_known_has_no_derivative_either(pack):
    model = loaded(pack / "models" / "Arm26.osim")
    q = np.array([0.0, 2.0])
    unknown = np.isnan(np.asarray(mg.muscle_lengths(model, q)))
    assert unknown.any()
    for differentiate in (jax.jacfwd, jax.jacrev):
        slope = np.asarray(differentiate(lambda q: mg.muscle_lengths(model, q))(jax.numpy.asarray(q)))
        assert np.isnan(slope[unknown]).all()
