"""The arm that ships: paper 000's coordinates, muscles and pattern of moment arms; published sizes; OpenSim's numbers."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import myograd as mg
from computed import HASTE, loaded
from live_driven import driven, driven_in_opensim
from myograd.models import model_path
from shipped import arm as _arm

SHOULDER, ELBOW = ("elevation_plane", "elevation", "axial_rotation"), ("elbow_flexion", "pronation")
POSES = 24


@pytest.fixture(scope="module")
def model() -> mg.Model:
    return loaded(model_path("arm"))


@pytest.fixture(scope="module")
def poses(model: mg.Model) -> np.ndarray:
    """Over the middle nine tenths of the ranges."""
    random = np.random.default_rng(2)
    columns = [model.coordinate_names.index(name) for name in (*SHOULDER, *ELBOW)]
    low, high = np.asarray(model.coordinates.range)[:, columns]
    q = np.zeros((POSES, len(model.coordinate_names)))
    q[:, columns] = low + (high - low) * random.uniform(0.05, 0.95, (POSES, len(columns)))
    return np.asarray(jax.vmap(lambda x: mg.assemble(model, x))(q))


@pytest.fixture(scope="module")
def arms(model: mg.Model):
    """Moment arms [m] by muscle and coordinate at poses given by their angles: `arms(elevation=[0.1, 0.2])`."""
    program = jax.jit(jax.vmap(lambda q: mg.moment_arms(model, mg.assemble(model, q))), compiler_options=HASTE)

    def at(muscle: str, coordinate: str, count: int = 32, **angles) -> np.ndarray:
        q = np.zeros((count, len(model.coordinate_names)))
        for name, values in angles.items():
            q[:, model.coordinate_names.index(name)] = values
        found = np.asarray(program(q))
        return found[:, model.muscle_names.index(muscle), model.coordinate_names.index(coordinate)]

    return at


def test_coordinates_and_muscles_are_the_papers(model: mg.Model):
    assert len(model.coordinate_names) == 16
    assert set(model.independent_coordinates) == {*SHOULDER, *ELBOW}
    assert len(model.constraints.row_names) == 11
    assert model.muscle_names == (*_arm.SUPERFICIAL, *_arm.DEEP)
    assert (len(_arm.SUPERFICIAL), len(_arm.DEEP)) == (11, 5)


def test_mass_matrix_of_all_coordinates_is_regular(model: mg.Model, poses: np.ndarray):
    M = np.asarray(jax.vmap(lambda q: mg.mass_matrix(model, q))(poses))
    assert np.linalg.cond(M).max() < 1e5
    G = np.asarray(jax.vmap(lambda q: mg.constraint_jacobian(model, q))(poses))
    assert np.ptp(G, axis=0).max() == 0.0  # constant, as the paper has it
    assert np.linalg.matrix_rank(G[0]) == 11


def test_shoulder_angles_are_the_thorax_own(model: mg.Model):
    """The humerus points where the three angles say, whatever the shoulder girdle does."""
    for plane, elevation in ((0.0, 0.7), (np.pi / 2, 1.1), (0.6, 2.0)):
        q = np.zeros(16)
        q[[model.coordinate_names.index(name) for name in SHOULDER]] = plane, elevation, -0.4
        R, _ = mg.body_poses(model, mg.assemble(model, q))
        along = -np.asarray(R)[model.body_names.index("humerus"), :, 1]
        expected = [np.sin(elevation) * np.sin(plane), -np.cos(elevation), np.sin(elevation) * np.cos(plane)]
        np.testing.assert_allclose(along, expected, atol=1e-6)


# Figure 2 of the paper: who crosses shoulder, elbow, forearm. (TRIlat and BRD act on the elbow only, says its text, biceps and
# the long triceps on both.)
CROSSES = {
    **dict.fromkeys(("PECM1", "PECM2", "PECM3", "DELT1", "DELT2", "DELT3", "INFSP", "SUBSC"), (True, False, False)),
    **dict.fromkeys(("BIClong", "BICshort"), (True, True, True)),
    "TRIlong": (True, True, False),
    **dict.fromkeys(("TRIlat", "TRImed", "BRA"), (False, True, False)),
    "BRD": (False, True, True),
    "PQ": (False, False, True),
}


def test_pattern_of_moment_arms(model: mg.Model, poses: np.ndarray):
    found = np.asarray(jax.jit(jax.vmap(lambda q: mg.moment_arms(model, q)), compiler_options=HASTE)(poses))
    for name, (shoulder, flexion, rotation) in CROSSES.items():
        row = np.abs(found[:, model.muscle_names.index(name)]).max(axis=0)
        for coordinate, crosses in zip(
            (*SHOULDER, *ELBOW), (shoulder, shoulder, shoulder, flexion, rotation), strict=True
        ):
            size = row[model.coordinate_names.index(coordinate)]
            assert (size > 2e-3) if crosses else (size < 1e-12), (name, coordinate, size)


ELBOW_RANGE = np.linspace(0.3, 2.1, 32)


@pytest.mark.parametrize(
    ("muscle", "low", "high"),
    [
        ("BIClong", 0.046, 0.048),  # 4.7 cm on average: Murray, Buchanan, Delp 2000
        ("BICshort", 0.040, 0.054),
        ("BRD", 0.076, 0.078),  # 7.7 cm on average: Murray, Buchanan, Delp 2000
        ("BRA", 0.020, 0.035),
    ],
)
def test_peak_flexion_arms(arms, measured, muscle: str, low: float, high: float):
    peak = arms(muscle, "elbow_flexion", elbow_flexion=ELBOW_RANGE).max()
    measured(f"{muscle}, peak", 1000 * peak, "mm")
    assert low < peak < high


def test_triceps_arms(arms, measured):
    """MRI of 18 subjects: 1.74 (SD 0.13) cm at 110 degrees to 2.39 (0.14) cm at 30 degrees (Sugisaki et al. 2010)."""
    for muscle in ("TRIlong", "TRIlat", "TRImed"):
        found = -arms(muscle, "elbow_flexion", elbow_flexion=ELBOW_RANGE)
        measured("triceps", 1000 * found.max(), "mm")
        assert found.min() > 0.0174 - 2 * 0.0013 and found.max() < 0.0239 + 2 * 0.0014


def test_rotator_cuff_turns_the_arm(arms, measured):
    """Peaks as the arm is raised: subscapularis 24.4 mm (abduction) and 27.0 mm (flexion) inwards, infraspinatus 28.3 and 23.3 mm
    outwards, both of their inferior parts (Ackland and Pandy 2011)."""
    turn = np.tile(np.linspace(-0.8, 0.8, 16), 3)
    up = np.repeat([0.0, 0.3, 0.8], 16)
    for plane in (0.0, np.pi / 2):
        at = {"count": 48, "axial_rotation": turn, "elevation": up, "elevation_plane": plane}
        inward, outward = arms("SUBSC", "axial_rotation", **at), -arms("INFSP", "axial_rotation", **at)
        measured("subscapularis, peak", 1000 * inward.max(), "mm")
        measured("infraspinatus, peak", 1000 * outward.max(), "mm")
        assert inward.min() > 0 and 0.0244 < inward.max() < 0.0270
        assert outward.min() > 0 and 0.0233 < outward.max() < 0.0283


def test_deltoid_raises_and_pectoralis_lowers(arms):
    """Elevators: middle and anterior deltoid in abduction, anterior in flexion; pectoralis major depresses in abduction and turns
    inwards throughout (Ackland et al. 2008; Ackland and Pandy 2011)."""
    up = np.linspace(0.5, 2.0, 32)
    for muscle in ("DELT1", "DELT2"):
        assert arms(muscle, "elevation", elevation=up).min() > 0.0
        assert arms(muscle, "elevation", elevation=up).max() < 0.045
        assert arms(muscle, "elevation", elevation=up[:20], elevation_plane=np.pi / 2, count=20).min() > 0
    for muscle in ("PECM2", "PECM3"):
        assert arms(muscle, "elevation", elevation=up[:24], count=24).max() < 0
        assert arms(muscle, "axial_rotation", elevation=up).min() > 0
    assert arms("DELT3", "elevation", elevation=np.linspace(0.3, 1.2, 32), elevation_plane=np.pi / 2).max() < 0


def test_biceps_supinates_and_pronator_pronates(arms):
    turn = np.linspace(-1.0, 1.0, 32)
    assert arms("BIClong", "pronation", elbow_flexion=1.57, pronation=turn).max() < 0
    assert arms("BIClong", "pronation", elbow_flexion=1.57, pronation=turn).min() > -0.02
    assert arms("PQ", "pronation", pronation=turn).min() > 0
    assert arms("PQ", "pronation", pronation=turn).max() < 0.015


def test_fibres_work_near_their_optimum(model: mg.Model, poses: np.ndarray):
    activation = np.full(16, 0.5)
    u = np.zeros_like(poses)
    found = jax.jit(jax.vmap(lambda q, u: mg.muscle_equilibrium(model, q, u, activation)), compiler_options=HASTE)(
        poses, u
    )
    share = np.asarray(found) / np.asarray(model.muscles.optimal_fiber_length)
    assert share.min() > 0.45 and share.max() < 1.6


def test_same_numbers_in_opensim(opensim, measured, model: mg.Model, poses: np.ndarray):
    """Cylinders and spheres only: OpenSim's lengths are geodesics too; its pull over them is not quite their derivative."""
    random = np.random.default_rng(4)
    u = np.array([mg.project_speeds(model, q, random.normal(size=16)) for q in poses])
    lengths, tensions, udot = driven(model, poses, u, 0.4)
    their_lengths, their_tensions, their_udot, straight = driven_in_opensim(opensim, model_path("arm"), poses, u, 0.4)
    assert straight.mean() > 0.2 and not straight.all()
    length_gap = np.abs(lengths - their_lengths)
    tension_gap = np.abs(tensions - their_tensions) / np.asarray(model.muscles.max_isometric_force)
    assert length_gap[straight].max() < 1e-12
    assert tension_gap[straight].max() < 1e-6
    assert length_gap[~straight].max() < 1e-6
    assert tension_gap[~straight].max() < 2e-6
    gap = np.abs(udot - their_udot).max(axis=1) / np.abs(their_udot).max(axis=1)
    for where, which in (("straight", straight), ("wrapped", ~straight)):
        measured(f"length, {where}", length_gap[which].max(), "m")
        measured(f"tension, {where}", tension_gap[which].max())
    measured("accelerations, median", np.median(gap))
    measured("accelerations, largest", gap.max())
    assert np.median(gap) < 2e-5 and gap.max() < 2e-4  # some muscle wraps at every pose
