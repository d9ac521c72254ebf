"""Muscles of all models of the oracle pack, in all four cases of all poses, with the path lengths and speeds that OpenSim had.

So contraction is tested apart from paths, and muscles that wrap count too. Keys: see the pack's README.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
import pytest

import myograd as mg
from computed import HASTE, loaded
from myograd.model.description.muscle_properties import DE_GROOTE_FREGLY, MILLARD, SCHUTTE, THELEN
from myograd.muscle.contraction import fiber_equilibrium, force_balance, muscle_states
from oracle_pack import FILES, NO_PACK, NO_VARIANTS, reference_names

STATIC = ("a005", "a050", "a100")
CASES = (*STATIC, "rnd")
TOLERANCE = 1e-8  # of the maximum isometric force: where OpenSim's equilibria end (Schutte's: 0.01 N, reproduced)
PARTS = (
    "tendon_force",
    "active_fiber_force",
    "passive_fiber_force",
    "fiber_force",
    "active_fiber_force_along_tendon",
    "passive_fiber_force_along_tendon",
)

MUSCULAR = [path for path in FILES if len(reference_names(path, "muscle_names"))]


@pytest.fixture(
    params=[pytest.param(path, id=path.stem) for path in MUSCULAR]
    or [pytest.param(None, marks=pytest.mark.skip(reason=NO_PACK), id="no-pack")],
    scope="module",
)
def path(request: pytest.FixtureRequest) -> Path:
    return request.param


class Numbers(NamedTuple):
    model: mg.Model
    theirs: dict[str, np.ndarray]  # [cases, poses, muscles]
    ok: np.ndarray  # [cases, poses, muscles] OpenSim found an equilibrium
    given_fiber: mg.MuscleState  # ours, at OpenSim's fibre lengths
    fiber_length: np.ndarray  # our equilibria
    at_equilibrium: mg.MuscleState
    activation_rate: np.ndarray
    excitation: np.ndarray
    length: np.ndarray  # of paths
    imbalance: np.ndarray  # of our states, at our fibre velocity, by the implicit form [N]


@cache
def numbers(path: Path) -> Numbers:
    model = loaded(path)
    data = dict(np.load(path.parents[1] / "reference" / f"{path.stem}.npz", allow_pickle=False))
    names = [str(name) for name in data["muscle_names"]]
    order = np.array([names.index(name) for name in model.muscle_names])
    poses, muscles = data["muscle_length"].shape
    keys = [*mg.MuscleState._fields, "equil_ok", "excitation"]
    theirs = {
        key: np.stack([data[f"{case}_{key}"][:, order] for case in CASES]) for key in keys if f"rnd_{key}" in data
    }
    length, speed = (np.stack([data[key][:, order]] * 4) for key in ("muscle_length", "muscle_speed"))

    def compute(model: mg.Model, length, speed, activation, excitation, fiber_length):
        states = muscle_states(model, length, speed, activation, fiber_length)
        found = fiber_equilibrium(model, length, speed, activation)
        balanced = muscle_states(model, length, speed, activation, found)
        rate = mg.activation_derivative(model, activation, excitation)
        left = force_balance(model, length, activation, states.fiber_length, states.fiber_velocity)
        return states, found, balanced, rate, left

    program = jax.jit(jax.vmap(compute, in_axes=(None, *[0] * 5)), compiler_options=HASTE)
    rows = [x.reshape(-1, muscles) for x in (length, speed, theirs["activation"], theirs["excitation"])]
    ours = program(model, *rows, theirs["fiber_length"].reshape(-1, muscles))
    states, found, balanced, rate, left = jax.tree.map(lambda x: np.asarray(x).reshape(4, poses, muscles), ours)
    ok = theirs.pop("equil_ok").astype(bool)
    return Numbers(model, theirs, ok, states, found, balanced, rate, theirs.pop("excitation"), length, left)


def kinds(model: mg.Model) -> np.ndarray:
    return np.array(model.muscle_classes.kind)


def test_everything_at_given_fiber_lengths(path: Path, measured):
    """Curves 1e-8; forces 1e-6 of the strength, and far better; lengths and velocities likewise."""
    n = numbers(path)
    strength = np.asarray(n.model.muscles.max_isometric_force)
    checked = 0
    for key, theirs in n.theirs.items():
        ours = getattr(n.given_fiber, key)
        known = n.ok & np.isfinite(theirs)
        # Of De Groote and Fregly's inverse curve, a hyperbolic sine, the last digits are lost at absurd velocities.
        known &= (kinds(n.model) != DE_GROOTE_FREGLY) | (np.abs(n.theirs["norm_fiber_velocity"]) < 1e3)
        scale = strength if "force" in key else np.maximum(1.0, np.abs(theirs))
        gap = np.where(known, np.abs(ours - np.where(known, theirs, 0.0)) / scale, 0.0)
        measured("curves" if key in ("fal", "fpl", "fv") else "at given fibre lengths", gap.max())
        assert gap.max() < 1e-8, f"{key}: {gap.max():.1e} at {np.unravel_index(gap.argmax(), gap.shape)}"
        checked += known.any(axis=(0, 1)).all()  # for every muscle
    assert checked >= 10


def test_nothing_is_nan(path: Path):
    n = numbers(path)
    undefined = np.asarray(n.model.muscles.max_contraction_velocity) == 0  # Schutte: no norm_fiber_velocity
    for state in (n.given_fiber, n.at_equilibrium):
        for key, value in state._asdict().items():
            if key == "norm_fiber_velocity":
                value = value[..., ~undefined]
            assert np.isfinite(value).all(), key
    assert np.isfinite(n.fiber_length).all()


def test_equilibrium(path: Path, measured):
    """Forces to 1e-6 of the strength. Fibre lengths to 1e-6, or to what OpenSim's own tolerance leaves open."""
    n = numbers(path)
    strength = np.asarray(n.model.muscles.max_isometric_force)
    static = n.ok[:3]
    for key in PARTS:
        theirs = n.theirs[key][:3]
        known = static & np.isfinite(theirs)
        if np.any(kinds(n.model) == DE_GROOTE_FREGLY) and key != "tendon_force":
            # These follow from fibre velocities, by a hyperbolic sine of forces that OpenSim finds to 1e-10.
            known &= np.abs(n.theirs["norm_fiber_velocity"][:3]) < 10
        gap = np.where(known, np.abs(getattr(n.at_equilibrium, key)[:3] - np.where(known, theirs, 0.0)) / strength, 0.0)
        measured("forces at equilibrium", gap.max())
        assert gap.max() < 1e-6, f"{key}: {gap.max():.1e}"
    theirs = n.theirs["fiber_length"][:3]
    apart = np.abs(n.fiber_length[:3] - theirs) > 1e-6 * np.abs(theirs) + 1e-12
    close = np.abs(n.at_equilibrium.tendon_force - n.theirs["tendon_force"])[:3] <= 2 * TOLERANCE * strength
    assert not np.any(apart & static & ~close)
    assert np.count_nonzero(apart & static) <= 2e-3 * static.sum()


def test_implicit_and_explicit_forms_agree(path: Path):
    """At the fibre velocity that the explicit form gives, the implicit one is in balance."""
    n = numbers(path)
    kind, strength = kinds(n.model), np.asarray(n.model.muscles.max_isometric_force)
    moving = np.abs(n.given_fiber.fiber_velocity) < 100 * np.asarray(n.model.muscles.optimal_fiber_length)
    moving &= (kind != DE_GROOTE_FREGLY) | (
        np.asarray(n.model.muscles.fiber_damping) == 0
    )  # its explicit form has none
    moving &= n.given_fiber.fiber_velocity != 0  # clamped, or at rest
    moving &= (kind != THELEN) | (n.given_fiber.active_fiber_force > 0)  # f_V is not below zero
    moving &= (kind != SCHUTTE) | (n.given_fiber.fiber_force > n.given_fiber.passive_fiber_force)
    gap = np.where(moving & n.ok, np.abs(n.imbalance) / strength, 0.0)
    assert gap.max() < 1e-9
    if DE_GROOTE_FREGLY not in kind:
        assert (moving & n.ok).mean() > 0.2


@pytest.mark.parametrize(
    "file",
    [pytest.param(path, id=path.stem) for path in MUSCULAR if path.stem.endswith("_DGF")]
    or [pytest.param(None, marks=pytest.mark.skip(reason=NO_VARIANTS), id="no-pack")],
)
def test_implicit_form_of_de_groote_and_fregly_is_damped(file: Path):
    """Its explicit form finds the velocity without damping, so that the implicit one is not in balance there: it is what the
    parts of that very state add up to."""
    n = numbers(file)
    smooth = (kinds(n.model) == DE_GROOTE_FREGLY) & ~np.array(n.model.muscle_classes.rigid_tendon)
    assert smooth.any()
    state, strength = n.given_fiber, np.asarray(n.model.muscles.max_isometric_force)
    folded = n.length < np.asarray(n.model.muscles.tendon_slack_length)
    cos = np.where(folded, -1.0, 1.0) * np.cos(state.pennation)
    damping = np.asarray(n.model.muscles.fiber_damping) * state.norm_fiber_velocity
    parts = (state.activation * state.fal * state.fv + state.fpl + damping) * cos - state.tendon_force / strength
    counted = n.ok & smooth & (np.abs(state.norm_fiber_velocity) < 100)
    assert counted.sum() > 0.2 * (n.ok & smooth).sum()
    scale = 1 + np.abs(state.norm_fiber_velocity)
    gap = np.where(counted, np.abs(n.imbalance / strength - parts) / scale, 0.0)
    assert gap.max() < 1e-9
    damped = counted & (np.asarray(n.model.muscles.fiber_damping) > 0)
    if damped.any():  # and the damping is what is left
        left = np.where(damped, np.abs(n.imbalance / strength - damping * cos) / scale, 0.0)
        assert left.max() < 1e-9 and np.abs(n.imbalance / strength)[damped].max() > 1e-3


def test_activation_rates(path: Path):
    """`zdot` of the pack, where the states are activations: by OpenSim's formulas with the pack's excitations."""
    n = numbers(path)
    data = dict(np.load(path.parents[1] / "reference" / f"{path.stem}.npz", allow_pickle=False))
    names = [str(name) for name in data["muscle_names"]]
    order = np.array([names.index(name) for name in n.model.muscle_names])
    # In z, each muscle has its activation and then, unless its tendon is rigid, its fibre length or tendon force.
    by_name = {name: m for m, name in enumerate(n.model.muscle_names)}
    rigid = [n.model.muscle_classes.rigid_tendon[by_name[name]] for name in names]
    place = np.cumsum([0, *(1 if r else 2 for r in rigid)])[:-1]
    for c, case in enumerate(CASES):
        zdot = data[f"{case}_zdot"]
        assert zdot.shape[1] == len(names) + rigid.count(False)
        theirs = zdot[:, place][:, order]
        np.testing.assert_allclose(n.activation_rate[c], theirs, rtol=1e-9, atol=1e-9)
        if MILLARD in n.model.muscle_classes.kind or THELEN in n.model.muscle_classes.kind:
            elastic = ~np.array(n.model.muscle_classes.rigid_tendon)
            after = np.minimum(place + 1, zdot.shape[1] - 1)
            fiber = zdot[:, after][:, order]
            np.testing.assert_allclose(
                n.given_fiber.fiber_velocity[c][:, elastic], fiber[:, elastic], rtol=1e-7, atol=1e-8
            )
