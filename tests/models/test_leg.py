"""The leg that ships: paper 001's coordinates and muscles, what they do, foot contact; OpenSim's numbers."""

from __future__ import annotations

import numpy as np
import pytest

import myograd as mg
from computed import loaded
from live_driven import driven, driven_in_opensim
from myograd.models import model_path
from shipped.leg import SPHERE

OF_THE_PAPER = (
    "gastrocnemius_lateral",
    "gastrocnemius_medial",
    "soleus",
    "tibialis_anterior",
    "semimembranosus",
    "rectus_femoris",
)
SIGNS = {  # of the moment arms about hip flexion, hip adduction, knee flexion and ankle dorsiflexion; None: either
    "gluteus_maximus": (-1, None, 0, 0),
    "gluteus_medius": (None, -1, 0, 0),
    "iliopsoas": (1, None, 0, 0),
    "adductors": (None, 1, 0, 0),
    "rectus_femoris": (1, None, -1, 0),
    "vasti": (0, 0, -1, 0),
    "semimembranosus": (-1, None, 1, 0),
    "biceps_femoris_long": (-1, None, 1, 0),
    "biceps_femoris_short": (0, 0, 1, 0),
    "gastrocnemius_medial": (0, 0, 1, -1),
    "gastrocnemius_lateral": (0, 0, 1, -1),
    "soleus": (0, 0, 0, -1),
    "tibialis_anterior": (0, 0, 0, 1),
}
ABOUT = ("hip_flexion", "hip_adduction", "knee_flexion", "ankle_dorsiflexion")


@pytest.fixture(scope="module")
def model() -> mg.Model:
    return loaded(model_path("leg"))


def at(model: mg.Model, **angles: float) -> np.ndarray:
    q = np.array(model.default_pose())
    for name, value in angles.items():
        q[model.coordinate_names.index(name)] = value
    return q


def test_coordinates_and_muscles_are_the_papers(model: mg.Model):
    assert len(model.coordinate_names) == 11
    assert set(OF_THE_PAPER) <= set(model.muscle_names)
    assert set(SIGNS) == set(model.muscle_names)


@pytest.mark.parametrize(
    "pose",
    [
        {},
        {"hip_flexion": 0.8, "knee_flexion": 1.0},
        {"hip_flexion": 1.2, "knee_flexion": 1.6, "ankle_dorsiflexion": 0.3},
        {"hip_flexion": -0.3, "knee_flexion": 0.2, "ankle_dorsiflexion": -0.4},
    ],
)
def test_muscles_do_what_anatomy_says(model: mg.Model, pose: dict[str, float]):
    arms = np.asarray(mg.moment_arms(model, at(model, **pose)))
    for name, signs in SIGNS.items():
        row = arms[model.muscle_names.index(name)]
        for coordinate, sign in zip(ABOUT, signs, strict=True):
            arm = row[model.coordinate_names.index(coordinate)]
            if sign is not None:
                assert np.sign(round(float(arm), 6)) == sign, (name, coordinate, arm)
        assert np.abs(row[[model.coordinate_names.index(c) for c in ABOUT]]).max() < 0.09


def test_the_sole_touches_the_ground_when_standing(model: mg.Model):
    """At rest all spheres just touch; pushed in by 3 mm they bear about the weight of a man."""
    q = at(model)
    m = len(model.muscle_names)
    lower = q.copy()
    lower[model.coordinate_names.index("pelvis_y")] -= 0.003
    state = [mg.equilibrium_state(model, x, np.zeros_like(x), np.full(m, 0.02)) for x in (q, lower)]
    up = model.coordinate_names.index("pelvis_y")
    touching, pushed = (float(mg.applied_forces(model, s, np.full(m, 0.02))[up]) for s in state)
    assert 0 < touching < 0.2 * pushed and 400 < pushed < 1500
    raised = q.copy()
    raised[up] += 2 * SPHERE
    apart = mg.equilibrium_state(model, raised, np.zeros_like(q), np.full(m, 0.02))
    assert abs(float(mg.applied_forces(model, apart, np.full(m, 0.02))[up])) < 1e-3


def test_same_numbers_in_opensim(opensim, measured, model: mg.Model):
    """With muscles half active, stops and contact. The gastrocnemii wrap at some poses: see `test_arm`."""
    random = np.random.default_rng(4)
    poses = 40
    low, high = np.clip(np.asarray(model.coordinates.range), -1.0, 1.2)
    q = low + (high - low) * random.uniform(0.1, 0.9, (poses, len(low)))
    q[:, model.coordinate_names.index("pelvis_y")] = random.uniform(0.7, 1.0, poses)
    u = random.normal(size=q.shape)
    lengths, tensions, udot = driven(model, q, u, 0.4)
    their_lengths, their_tensions, their_udot, straight = driven_in_opensim(opensim, model_path("leg"), q, u, 0.4)
    assert np.abs(lengths - their_lengths)[straight].max() < 1e-12
    assert np.abs(lengths - their_lengths).max() < 5e-6
    strength = np.asarray(model.muscles.max_isometric_force)
    assert (np.abs(tensions - their_tensions) / strength)[straight].max() < 1e-6
    gap = np.abs(udot - their_udot).max(axis=1) / np.abs(their_udot).max(axis=1)
    none = straight.all(axis=1)
    measured("length, straight", np.abs(lengths - their_lengths)[straight].max(), "m")
    measured("tension, straight", (np.abs(tensions - their_tensions) / strength)[straight].max())
    measured("accelerations, nothing wraps", gap[none].max())
    measured("accelerations, largest", gap.max())
    assert none.sum() >= 5 and gap[none].max() < 1e-6
    assert gap.max() < 2e-3
