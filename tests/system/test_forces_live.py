"""Each force and actuator against live OpenSim: accelerations at random states, through a file that we wrote."""

from __future__ import annotations

import copy
from pathlib import Path

import jax
import numpy as np
import pytest

import myograd as mg
from computed import HASTE
from force_bench import COORDINATES, FORCES, bench
from live_opensim import coordinates
from myograd.files.osim.read import read_osim
from myograd.files.osim.write import write_osim
from myograd.model.description import ModelDescription

COUNT = 40
# Over surfaces, OpenSim's pull is not quite the derivative of its own length (docs: Wrapping).
ACCURACY = {"PathActuator over a surface": 1e-4}


@pytest.fixture(scope="module")
def states() -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    q = random.uniform(-0.6, 0.6, (COUNT, len(COORDINATES)))
    q[:, 3:6] *= 0.3
    return {
        "q": q,
        "u": random.normal(size=q.shape),
        "controls": random.uniform(-1, 1, (COUNT, 2)),
    }


def theirs(opensim, path: Path, states: dict[str, np.ndarray]) -> np.ndarray:
    model = opensim.Model(str(path))
    state = model.initSystem()
    known = coordinates(model)
    found = []
    for q, u, controls in zip(states["q"], states["u"], states["controls"], strict=True):
        state.setTime(0.0)
        for coordinate, value, speed in zip(known, q, u, strict=True):
            coordinate.setValue(state, float(value), False)
            coordinate.setSpeedValue(state, float(speed))
        model.realizeVelocity(state)
        given = model.updDefaultControls()
        for i in range(given.size()):
            given.set(i, float(controls[i]))
        model.setControls(state, given)
        model.realizeAcceleration(state)
        found.append([c.getAccelerationValue(state) for c in known])
    return np.array(found)


def ours(path: Path, states: dict[str, np.ndarray]) -> np.ndarray:
    model = mg.load_model(path)
    none = np.zeros(0)
    controls = states["controls"][:, : len(model.control_names)]

    def udot(q, u, controls):
        return mg.state_derivative(model, mg.State(q, u, none, none), controls).u

    return np.asarray(jax.jit(jax.vmap(udot), compiler_options=HASTE)(states["q"], states["u"], controls))


@pytest.mark.parametrize("case", FORCES)
def test_accelerations(opensim, measured, case: str, states: dict[str, np.ndarray], tmp_path: Path):
    path = tmp_path / "bench.osim"
    write_osim(bench(case), path)
    expected, without = (theirs(opensim, p, states) for p in (path, _without_forces(tmp_path)))
    assert np.abs(expected - without).max() > 0.1, "the force does nothing here"
    found = ours(path, states)
    scale = np.maximum(1.0, np.abs(expected).max(axis=1, keepdims=True))
    measured("other forces" if case not in ACCURACY else case, np.max(np.abs(found - expected) / scale))
    np.testing.assert_array_less(np.abs(found - expected) / scale, ACCURACY.get(case, 1e-10))


def _without_forces(folder: Path) -> Path:
    description = bench("PathActuator")
    description.forces = []
    write_osim(description, folder / "bare.osim")
    return folder / "bare.osim"


@pytest.mark.parametrize("case", FORCES)
def test_written_and_read(case: str, tmp_path: Path):
    before = copy.deepcopy(bench(case))
    write_osim(before, tmp_path / "a.osim")
    after = read_osim(tmp_path / "a.osim")
    assert not [part for part in after.unsupported if part.severity != "appearance"]
    assert _content(after) == _content(before)


def _content(description: ModelDescription) -> tuple:
    def plain(item: object) -> object:
        if isinstance(item, list):
            return [plain(x) for x in item]
        if hasattr(item, "__dataclass_fields__"):
            return {k: plain(v) for k, v in vars(item).items() if k not in ("line", "geometry", "wraps")}
        return item

    return plain(description.forces), plain(description.contacts)


# External forces ---------------------------------------------------------------------------------------------


def _loads(folder: Path, samples: int) -> mg.ExternalLoads:
    """A force at a point of ground with a torque, and a force in a body's frame at that body's origin."""
    random = np.random.default_rng(samples)
    names = [f"plate_{kind}{axis}" for kind in ("v", "p", "m") for axis in "xyz"] + [f"wind_{axis}" for axis in "xyz"]
    table = mg.Table(np.linspace(0.0, 1.0, samples), random.normal(size=(samples, len(names))), tuple(names))
    forces = [
        mg.ExternalForce("plate", "shank", "ground", "ground", "plate_v", "plate_p", "plate_m"),
        mg.ExternalForce("wind", "trunk", "shank", force_identifier="wind_"),
        mg.ExternalForce("inside", "plate", "ground", "trunk", "wind_", "plate_p"),
        mg.ExternalForce("calm", "trunk", force_identifier="wind_", applies_force=False),
    ]
    loads = mg.ExternalLoads(forces, table, "loads", f"loads_{samples}.mot")
    mg.write_table(table, folder / loads.datafile)
    mg.write_external_loads(loads, folder / "loads.xml")
    return mg.read_external_loads(folder / "loads.xml")


@pytest.mark.parametrize("samples", [30, 3, 1])
def test_external_forces(opensim, samples: int, states: dict[str, np.ndarray], tmp_path: Path):
    path = _without_forces(tmp_path)
    loads = _loads(tmp_path, samples)
    peer = opensim.Model(str(path))
    theirs_of = opensim.ExternalLoads(str(tmp_path / "loads.xml"), True)
    peer.addModelComponent(theirs_of)
    state = peer.initSystem()
    model = mg.load_model(path)
    forces = mg.external_forces(model, loads)
    none = np.zeros(0)

    @jax.jit
    def udot(q, u, time):
        wrenches = mg.external_wrenches(model, forces, q, time)
        return mg.state_derivative(model, mg.State(q, u, none, none, time), none, wrenches).u

    for q, u, time in zip(states["q"][:8], states["u"], np.linspace(0.0, 1.0 if samples > 1 else 0.0, 8), strict=False):
        state.setTime(float(time))
        for coordinate, value, speed in zip(coordinates(peer), q, u, strict=True):
            coordinate.setValue(state, float(value), False)
            coordinate.setSpeedValue(state, float(speed))
        peer.realizeAcceleration(state)
        expected = np.array([c.getAccelerationValue(state) for c in coordinates(peer)])
        np.testing.assert_allclose(udot(q, u, time), expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


def test_external_forces_that_cannot_be(tmp_path: Path):
    model, loads = mg.load_model(_without_forces(tmp_path)), _loads(tmp_path, 30)
    forces = mg.external_forces(model, loads)
    with pytest.raises(mg.ModelError, match="from 0 s to 1 s, not at 2 s"):
        mg.external_wrenches(model, forces, np.zeros(8), 2.0)
    assert np.isnan(jax.jit(lambda t: mg.external_wrenches(model, forces, np.zeros(8), t))(2.0)).any()
    for time in ("0.5", np.array([0.1, 0.2]), None):
        with pytest.raises(mg.ModelError, match="external_wrenches: time is one number"):
            mg.external_wrenches(model, forces, np.zeros(8), time)  # pyright: ignore[reportArgumentType]
    with pytest.raises(mg.ModelError, match="external_wrenches: q has shape"):
        mg.external_wrenches(model, forces, np.zeros(3), 0.5)
    with pytest.raises(TypeError, match=r"takes ExternalForces \(see external_forces\), not a ExternalLoads"):
        mg.external_wrenches(model, loads, np.zeros(8), 0.5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"takes ExternalLoads \(see read_external_loads\), not a str"):
        mg.external_forces(model, "loads.xml")  # pyright: ignore[reportArgumentType]
    other = mg.load_model("planar_leg")
    with pytest.raises(mg.ModelError, match="made for a model other than 'planar_leg'"):
        mg.external_wrenches(other, forces, np.zeros(3), 0.5)
    for change, message in (
        ({"applied_to_body": "shink"}, "'plate' names 'shink', which is not a body.*shank"),
        ({"force_identifier": "plat"}, "9 columns of loads_30.mot begin with 'plat', not 3"),
        ({"applied_to_body": "ground"}, "applied to ground"),
    ):
        wrong = copy.deepcopy(loads)
        vars(wrong.forces[0]).update(change)
        with pytest.raises(mg.ModelError, match=message):
            mg.external_forces(model, wrong)
    loads.table.data[4, 1] = np.nan
    with pytest.raises(mg.ModelError, match=r"plate_vy of loads_30\.mot is not a finite number at 0.137931 s"):
        mg.external_forces(model, loads)
