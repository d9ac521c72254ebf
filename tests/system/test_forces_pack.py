"""All forces of all models of the oracle pack together: generalised forces and accelerations.

Where a path touches a surface, OpenSim's pull is not the derivative of its own length (README of the pack, pitfall 1), and
where a moving point sits beside one of the same body it is not either (pitfall 2). Models with such paths are computed with
OpenSim's lengths, speeds and pulls per unit tension, so that all else is compared; those without, by `state_derivative` alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import myograd as mg
from computed import HASTE, loaded
from myograd.dynamics.kinematics import motion, pose
from myograd.files.osim.read import read_osim
from myograd.force.term import Instant
from myograd.model.description import NO_NUMBERS
from myograd.muscle.contraction import fiber_equilibrium, muscle_states
from oracle_pack import FILES, NO_PACK, has_mass

CASES = ("a050", "rnd")
ALL = [path for path in FILES if has_mass(path)]


class Reference(NamedTuple):
    """Numbers of the pack in a model's orders; those of both cases are one after the other."""

    model: mg.Model
    state: dict[str, np.ndarray]
    tau: np.ndarray  # generalised forces, gravity's included
    udot: np.ndarray
    known: np.ndarray  # OpenSim found all equilibria
    wraps: bool  # some path of the model touches a surface at some pose


def reference(path: Path) -> Reference:
    model = loaded(path, opensim_coriolis=True)  # see `test_pack_parity`
    data = dict(np.load(path.parents[1] / "reference" / f"{path.stem}.npz", allow_pickle=False))

    def order(key: str, names: tuple[str, ...]) -> np.ndarray:
        known = [str(name) for name in data[key]]
        assert sorted(known) == sorted(names), key
        return np.array([known.index(name) for name in names], int)

    def both(key: str, columns: Any = slice(None)) -> np.ndarray:
        return np.concatenate([data[f"{case}_{key}"][:, columns] for case in CASES])

    coordinate, speed = order("coord_names", model.coordinate_names), order("u_coord_names", model.speed_names)
    muscle, control = order("muscle_names", model.muscle_names), order("actuator_names", model.control_names)
    poses = len(data["u"])
    rest = np.tile(np.where(data["control_is_muscle"], 0.5, 0.0)[control], (poses, 1))
    state = {
        "q": np.tile(data["coord_value"][:, coordinate], (2, 1)),
        "u": np.tile(data["u"][:, speed], (2, 1)),
        "activation": both("activation", muscle),
        "fiber_length": both("fiber_length", muscle),
        "controls": np.concatenate([rest, data["rnd_controls"][:, control]]),
        "length": np.tile(data["muscle_length"][:, muscle], (2, 1)),
        "speed": np.tile(data["muscle_speed"][:, muscle], (2, 1)),
        "pull": np.tile(data["path_genforce_unit"][:, muscle][:, :, speed], (2, 1, 1)),
        "solve": np.repeat([True, False], poses),  # for the fibre length
    }
    known = np.concatenate([data[f"{case}_equil_ok"].all(axis=1) for case in CASES])
    return Reference(
        model, state, both("tau_applied", speed), both("udot", speed), known, bool(data["path_wraps"].any())
    )


def by_ourselves(model: mg.Model, s: dict[str, Any]) -> tuple[Any, Any]:
    found = mg.muscle_equilibrium(model, s["q"], s["u"], s["activation"])
    fiber = jnp.where(s["solve"], found, s["fiber_length"])
    state = mg.State(s["q"], s["u"], s["activation"], fiber)
    tau = mg.applied_forces(model, state, s["controls"]) + mg.gravity_forces(model, s["q"])
    return tau, mg.state_derivative(model, state, s["controls"]).u


def by_their_paths(model: mg.Model, s: dict[str, Any]) -> tuple[Any, Any]:
    path = s["length"], s["speed"], s["activation"]
    fiber = jnp.where(s["solve"], fiber_equilibrium(model, *path), s["fiber_length"])
    tension = muscle_states(model, *path, fiber).tendon_force
    at = pose(model, s["q"])
    now = Instant(0.0, s["q"], s["u"], at, motion(model, s["q"], s["u"], at), s["controls"])
    tau = tension @ s["pull"]
    for term in model.terms:
        on_coordinates = term.force(model, now).coordinates
        assert on_coordinates is not None  # nothing else is asked for
        tau += on_coordinates
    return tau + mg.gravity_forces(model, s["q"]), mg.forward_dynamics(model, s["q"], s["u"], tau)


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem) for path in ALL]
    or [pytest.param(None, marks=pytest.mark.skip(reason=NO_PACK), id="no-pack")],
)
def test_forces_and_accelerations(path: Path, measured):
    it = reference(path)
    compute = by_their_paths if it.wraps else by_ourselves
    if it.wraps and len(it.model.contact_surfaces.names):
        pytest.skip("paths over surfaces are compared by OpenSim's pulls, which is done without contact")
    tau, udot = jax.jit(jax.vmap(compute, in_axes=(None, 0)), compiler_options=HASTE)(it.model, it.state)
    assert it.known.sum() > 10
    for ours, theirs in ((tau, it.tau), (udot, it.udot)):
        gap = np.abs(ours - theirs).max(axis=1) / np.maximum(1.0, np.abs(theirs).max(axis=1))
        measured("all forces", np.where(it.known, gap, 0.0).max())
        assert np.where(it.known, gap, 0.0).max() < 1e-6
    assert np.isfinite(udot).all()


def test_everything_is_used(pack_file: Path):
    assert {part.severity for part in read_osim(pack_file).unsupported} <= set(NO_NUMBERS)
