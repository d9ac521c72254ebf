"""Constraints: their errors, Jacobian and bias belong together; both ways to hold them give the same accelerations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import myograd as mg
from computed import (
    OWN,
    accelerations_otherwise,
    by_hand,
    compiled,
    dynamics,
    geometry,
    in_numpy,
    loaded,
    own_numbers,
    own_states,
    program,
)
from live_states import Peer
from myograd.errors import ModelError
from myograd.files.osim.write import write_osim
from myograd.model.description import Body, Coordinate, Joint, ModelDescription, OffsetFrame, Vec3
from shipped.coupled_mechanism import describe as coupled_mechanism

NAMES = ("coupled_mechanism", "four_bar", "all_joints", "all_constraints")
TIME = 0.2


def numbers(model: mg.Model, q, u, udot) -> dict[str, Any]:
    qdot = mg.coordinate_rates(model, q, u)
    _, qddot = jax.jvp(lambda q, u: mg.coordinate_rates(model, q, u), (q, u), (qdot, udot))

    def errors(later):
        """Along the motion with the accelerations udot, some time later."""
        return mg.constraint_errors(model, q + later * qdot + 0.5 * later**2 * qddot, time=TIME + later)

    def rates(later):
        return jax.jvp(errors, (later,), (1.0,))[1]

    G, bias = mg.constraint_jacobian(model, q), mg.constraint_bias(model, q, u, TIME)
    by_rates = jax.jacfwd(lambda x: mg.constraint_errors(model, x))(q)
    return {
        "errors": errors(0.0),
        "error rates": rates(0.0),
        "error accelerations": jax.jvp(rates, (0.0,), (1.0,))[1],
        "error accelerations by terms": G @ udot + bias,
        "G": G,
        "G by errors": by_rates @ jax.jacfwd(lambda x: mg.coordinate_rates(model, q, x))(u),
        "projected again": mg.project_speeds(model, q, u, TIME),
    }


def assembled(model: mg.Model, q, direction) -> dict[str, Any]:
    pose, tangent = jax.jvp(lambda x: mg.assemble(model, x, TIME), (q,), (direction,))
    return {"pose": pose, "tangent": tangent, "errors": mg.constraint_errors(model, pose, time=TIME)}


@pytest.fixture(scope="module", params=NAMES)
def found(request: pytest.FixtureRequest) -> dict[str, np.ndarray]:
    q, u = own_states(request.param, TIME)
    udot = np.random.default_rng(11).normal(size=u.shape)
    return {"u": u} | in_numpy(compiled(numbers, mapped=3)(loaded(OWN[request.param]), q, u, udot))


def test_states_satisfy_the_constraints(found):
    """`assemble` and `project_speeds` made these states."""
    assert np.abs(found["errors"]).max() < 1e-10
    assert np.abs(found["error rates"]).max() < 1e-10
    np.testing.assert_allclose(found["projected again"], found["u"], rtol=0, atol=1e-10)


def test_jacobian_is_the_derivative_of_the_errors(found):
    np.testing.assert_allclose(found["G"], found["G by errors"], rtol=0, atol=1e-12)


def test_bias_completes_the_second_derivative_of_the_errors(found):
    """Prescribed motions in time included."""
    by_terms = found["error accelerations by terms"]
    np.testing.assert_allclose(by_terms, found["error accelerations"], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_elimination_and_multipliers_give_the_same_accelerations(name: str):
    found = own_numbers(name)
    scale = np.abs(found["udot"]).max(axis=1, keepdims=True)
    np.testing.assert_allclose(found["udot"] / scale, found["udot by multipliers"] / scale, rtol=0, atol=1e-10)
    second = np.einsum("nrc,nc->nr", found["G"], found["udot"]) + found["G_bias"]  # derivatives of the errors
    np.testing.assert_allclose(second / scale, 0.0, rtol=0, atol=1e-10)
    assert scale.min() > 1.0


@pytest.mark.parametrize("name", NAMES)
def test_assembly_from_elsewhere(name: str):
    """It satisfies the constraints and is differentiable: its tangent is that of difference quotients."""
    model, (q, _) = loaded(OWN[name]), own_states(name, TIME)
    random = np.random.default_rng(13)
    start, direction = q + random.uniform(-0.1, 0.1, q.shape), random.normal(size=q.shape)
    run, step = compiled(assembled), 1e-5
    found, ahead, behind = (in_numpy(run(model, start + d * direction, direction)) for d in (0.0, step, -step))
    assert np.abs(found["pose"] - start).max() > 1e-2
    assert np.abs(found["errors"]).max() < 1e-10
    quotient = (ahead["pose"] - behind["pose"]) / (2 * step)
    np.testing.assert_allclose(found["tangent"], quotient, rtol=0, atol=1e-8)
    np.testing.assert_allclose(run(model, q, direction)["pose"], q, rtol=0, atol=1e-10)  # it keeps what is assembled


def test_assembly_sets_locked_and_prescribed_coordinates():
    model = loaded(OWN["all_joints"])
    q, u = own_states("all_joints", TIME)
    names = model.coordinate_names
    locked, driven = names.index("gimbal_3"), names.index("pin_angle")
    np.testing.assert_array_equal(q[:, locked], -0.25)
    np.testing.assert_array_equal(u[:, locked], 0.0)
    np.testing.assert_allclose(q[:, driven], 0.3 * np.sin(2.0 * TIME + 0.1) + 0.2, rtol=1e-15)
    np.testing.assert_allclose(u[:, driven], 0.6 * np.cos(2.0 * TIME + 0.1), rtol=1e-15)


@pytest.mark.parametrize("method", ["elimination", "multipliers"])
def test_locks_that_a_coupler_makes_redundant_are_named(method: str):
    """More of what cannot be solved is in `test_bad_state`."""
    description = coupled_mechanism()
    for coordinate in description.coordinates():
        coordinate.locked = coordinate.name in ("theta", "theta_3")  # which a coupler ties to each other
    model = mg.compile_model(description)
    q = model.default_pose()
    with pytest.raises(ModelError, match=r"constraints are redundant or contradict each other .*theta_3 \(locked\)"):
        mg.forward_dynamics(model, q, jnp.zeros_like(q), method=method)


# Loops of joints, and joints the wrong way round -------------------------------------------------------------


def block(name: str, k: int) -> Body:
    mass = 0.7 + 0.2 * k
    inertia = tuple(mass * i for i in (0.011, 0.013, 0.009, 0.0012, -0.0007, 0.0016))
    return Body(name, mass, (0.03 * k, 0.02, -0.01 * k), inertia)  # pyright: ignore[reportArgumentType]


def turns(name: str, count: int) -> list[Coordinate]:
    return [Coordinate(f"{name}_{k}", range=(-1.0, 1.0)) for k in range(count)]


def closed_chain() -> ModelDescription:
    """Ground - pin - A - ball - B - fork - C - pin - ground: seven coordinates, of which the loop leaves one.

    To open the loop, OpenSim cuts a body, here C, in two, and gets the inertia of one part wrong (a unit inertia about
    the origin is taken for an inertia about the mass centre) unless the part has 1 kg and its mass centre at the origin.
    """
    places = {"A": (0.0, 0.0, 0.0), "B": (0.1, 0.4, 0.05), "C": (0.5, 0.35, -0.05), "ground": (0.6, -0.1, 0.1)}

    def joint(kind: str, name: str, parent: str, child: str, count: int, at: Vec3, turned: Vec3) -> Joint:
        """At zero angles all bodies are parallel to ground, with their origins at `places`."""
        frames = []
        for side, body in (("near", parent), ("far", child)):
            origin = places[body] if body != "ground" else (0.0, 0.0, 0.0)
            path = "/ground" if body == "ground" else f"/bodyset/{body}"
            frames.append(OffsetFrame(side, path, tuple(a - o for a, o in zip(at, origin, strict=True)), turned))  # pyright: ignore[reportArgumentType]
        near, far = (f"/jointset/{name}/{side}" for side in ("near", "far"))
        return Joint(kind, name, near, far, turns(name, count), frames)

    halved = replace(block("C", 2), mass=2.0, mass_center=(0.0, 0.0, 0.0))
    return ModelDescription(
        name="closed_chain",
        bodies=[block("A", 0), block("B", 1), halved],
        joints=[
            joint("PinJoint", "first", "ground", "A", 1, places["A"], (0.1, 0.2, 0.0)),
            joint("BallJoint", "second", "A", "B", 3, places["B"], (0.3, -0.2, 0.1)),
            joint("UniversalJoint", "third", "B", "C", 2, places["C"], (-0.2, 0.4, 0.6)),
            joint("PinJoint", "fourth", "C", "ground", 1, places["ground"], (-0.3, 0.1, 0.2)),
        ],
    )


def upside_down() -> ModelDescription:
    """Joints of every plain kind whose child is ground."""
    kinds = {"PinJoint": 1, "SliderJoint": 1, "UniversalJoint": 2, "BallJoint": 3, "GimbalJoint": 3, "FreeJoint": 6}
    kinds |= {"PlanarJoint": 3, "EllipsoidJoint": 3}
    joints = []
    for kind, count in kinds.items():
        path = f"/jointset/{kind.lower()}"
        frames = [
            OffsetFrame("near", f"/bodyset/{kind}_body", (0.1, -0.05, 0.02), (0.1, -0.2, 0.3)),
            OffsetFrame("far", "/ground", (-0.2, 0.3, 0.1), (-0.15, 0.25, 0.2)),
        ]
        joint = Joint(kind, kind.lower(), f"{path}/near", f"{path}/far", turns(kind, count), frames)
        joints.append(replace(joint, radii=(0.05, 0.08, 0.11)) if kind == "EllipsoidJoint" else joint)
    bodies = [block(f"{kind}_body", k) for k, kind in enumerate(kinds)]
    return ModelDescription(name="upside_down", bodies=bodies, joints=joints)


@pytest.mark.parametrize("describe", [closed_chain, upside_down])
def test_odd_trees_move_as_in_opensim(opensim, tmp_path: Path, describe):
    path = tmp_path / "odd.osim"
    write_osim(describe(), path)
    model, peer = mg.load_model(path), Peer(opensim, path)
    random = np.random.default_rng(17)
    q, u = random.uniform(-0.3, 0.3, (2, 3, len(model.coordinate_names)))

    def satisfied(q, u):
        q = mg.assemble(model, q)
        return q, mg.project_speeds(model, q, u)

    q, u = in_numpy(jax.jit(jax.vmap(satisfied))(q, u))
    ours = in_numpy(program(geometry, dynamics, accelerations_otherwise)(model, q, u))
    for i, state in enumerate(zip(q, u, strict=True)):
        peer.set(*state)
        theirs = peer.numbers()
        for key in ("rotation", "position", "velocity"):
            np.testing.assert_allclose(ours[key][i], theirs[key], rtol=1e-9, atol=1e-10, err_msg=key)
        for key in ("udot", "udot by multipliers"):
            np.testing.assert_allclose(ours[key][i], theirs["udot"], rtol=1e-8, atol=1e-8, err_msg=key)
    assert np.abs(ours["udot"]).max() > 1.0


def test_a_closed_chain_keeps_its_energy():
    """Whatever the masses: with one degree of freedom, this law alone determines the motion."""
    description = closed_chain()
    description.bodies[2] = block("C", 2)
    model = mg.compile_model(description)

    @jax.jit
    def numbers(q, u):
        q = mg.assemble(model, q)
        u = mg.project_speeds(model, q, u)
        rates = mg.coordinate_rates(model, q, u), mg.forward_dynamics(model, q, u)
        kinetic, kinetic_rate = jax.jvp(lambda q, u: by_hand(model, q, u)[1], (q, u), rates)
        _, potential_rate = jax.jvp(lambda q: mg.potential_energy(model, q), (q,), rates[:1])
        return kinetic, mg.kinetic_energy(model, q, u), kinetic_rate, potential_rate, mg.constraint_jacobian(model, q)

    q, u = np.random.default_rng(17).uniform(-0.3, 0.3, (2, len(model.coordinate_names)))
    by_sum, kinetic, kinetic_rate, potential_rate, G = in_numpy(numbers(q, u))
    assert np.linalg.matrix_rank(G) == len(q) - 1
    np.testing.assert_allclose(kinetic, by_sum, rtol=1e-12)
    np.testing.assert_allclose(kinetic_rate, -potential_rate, rtol=1e-10)
