"""Every quantity of the skeleton a second, independent way: from poses and energies by differentiation, by hand, and by
the laws that motion must obey.

The model is `all_joints`: every kind of joint, reversed ones, ball and free joints (whose speeds are not rates) included.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import myograd as mg
from computed import OWN, by_hand, compiled, dynamics, in_numpy, loaded, own_numbers, own_states, program
from shipped.making import cylinder_inertia

ROOT = 6  # coordinates of the free joint that carries the tree


def angular(rotation: jax.Array, rate: jax.Array) -> jax.Array:
    """Angular velocity [bodies, 3] of rotations [bodies, 3, 3] that change at a rate."""
    spin = rate @ jnp.swapaxes(rotation, 1, 2)
    return jnp.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)


def first_way(model: mg.Model, q, u, udot, wrenches) -> dict[str, Any]:
    zero = jnp.zeros_like(u)
    return {
        "velocities": mg.body_velocities(model, q, u),
        "velocities by Jacobian": mg.body_velocities(model, q, u),
        "accelerations": mg.body_accelerations(model, q, u, udot),
        "marker velocities": mg.marker_velocities(model, q, u),
        "marker accelerations": mg.marker_accelerations(model, q, u, udot),
        "Jacobian of a point": mg.point_jacobian(model, q, jnp.array([0.1, -0.2, 0.3]), body=model.body_names[-1]) @ u,
        "mass matrix": mg.mass_matrix(model, q),
        "inverse dynamics": mg.inverse_dynamics(model, q, u, udot, wrenches),
        "inverse dynamics by terms": mg.inverse_dynamics(model, q, u, udot),
        "gravity": mg.gravity_forces(model, q),
        "bias at rest": mg.bias_forces(model, q, zero),
        "linear momentum": mg.momentum(model, q, u)[3:],
        "momentum by hand": mg.momentum(model, q, u),
        "energy by hand": mg.kinetic_energy(model, q, u),
        "speeds": mg.speeds(model, q, mg.coordinate_rates(model, q, u)),
    }


def second_way(model: mg.Model, q, u, udot, wrenches) -> dict[str, Any]:
    qdot = mg.coordinate_rates(model, q, u)
    N = jax.jacfwd(lambda x: mg.coordinate_rates(model, q, x))(u)

    # Positions and velocities along the motion.
    (rotation, _), (rotation_rate, position_rate) = jax.jvp(lambda x: mg.body_poses(model, x), (q,), (qdot,))
    _, marker_rate = jax.jvp(lambda x: mg.marker_positions(model, x), (q,), (qdot,))
    state, rate = (q, u), (qdot, udot)
    _, velocity_rate = jax.jvp(lambda q, u: mg.body_velocities(model, q, u), state, rate)
    _, marker_second = jax.jvp(lambda q, u: mg.marker_velocities(model, q, u), state, rate)
    spot = jnp.array([0.1, -0.2, 0.3])
    _, spot_rate = jax.jvp(lambda x: mg.point_position(model, x, spot, body=model.body_names[-1]), (q,), (qdot,))
    J = mg.body_jacobians(model, q)

    # Lagrange: d/dt (dT/dqdot) - dT/dq + dV/dq are the forces on the rates; those on the speeds follow by N^T.
    def energy(q, qdot):
        return mg.kinetic_energy(model, q, mg.speeds(model, q, qdot))

    _, qddot = jax.jvp(lambda q, u: mg.coordinate_rates(model, q, u), state, rate)
    momentum_rate = jax.jacfwd(lambda v: jax.jvp(energy, (q, v), (qdot, qddot))[1])(qdot)
    slope = jax.jacfwd(lambda x: mg.potential_energy(model, x))(q)
    forces = N.T @ (momentum_rate - jax.jacfwd(energy)(q, qdot) + slope)
    _, center_rate = jax.jvp(lambda x: mg.center_of_mass(model, x), (q,), (qdot,))
    M = mg.mass_matrix(model, q)
    return {
        "velocities": jnp.concatenate([angular(rotation, rotation_rate), position_rate], axis=1),
        "velocities by Jacobian": J @ u,
        "accelerations": velocity_rate,
        "marker velocities": marker_rate,
        "marker accelerations": marker_second,
        "Jacobian of a point": spot_rate,
        "mass matrix": jax.jacfwd(jax.jacfwd(lambda x: mg.kinetic_energy(model, q, x)))(u),
        "inverse dynamics": forces - jnp.einsum("bkc,bk->c", J, wrenches),
        "inverse dynamics by terms": M @ udot + mg.bias_forces(model, q, u),
        "gravity": -N.T @ slope,
        "bias at rest": N.T @ slope,
        "linear momentum": jnp.sum(model.bodies.mass) * center_rate,
        "momentum by hand": by_hand(model, q, u)[0],
        "energy by hand": by_hand(model, q, u)[1],
        "speeds": u,
    }


def laws(model: mg.Model, q, u, tau, wrenches) -> tuple[dict[str, Any], dict[str, Any]]:
    """What forces do to the motion: both sides of each law."""
    forced = {"tau": tau, "wrenches": wrenches}
    udot = mg.forward_dynamics(model, q, u, **forced)
    multipliers = mg.constraint_multipliers(model, q, u, **forced)
    G = mg.constraint_jacobian(model, q)
    position = mg.body_poses(model, q)[1]
    moments, forces = wrenches[:, :3], wrenches[:, 3:]
    weight = jnp.sum(model.bodies.mass) * model.gravity
    force = weight + jnp.sum(forces, 0)
    moment = jnp.cross(mg.center_of_mass(model, q), weight) + jnp.sum(moments + jnp.cross(position, forces), 0)
    state, rate = (q, u), (mg.coordinate_rates(model, q, u), udot)

    def energy(q, u):
        return mg.kinetic_energy(model, q, u) + mg.potential_energy(model, q)

    power = tau @ u + jnp.sum(wrenches * mg.body_velocities(model, q, u)) - multipliers @ (G @ u)
    found = {
        "equation of motion": mg.inverse_dynamics(model, q, u, udot, wrenches) + G.T @ multipliers,
        "energy": jax.jvp(energy, state, rate)[1],
        "momentum": jax.jvp(lambda q, u: mg.momentum(model, q, u), state, rate)[1],
    }
    return found, {"equation of motion": tau, "energy": power, "momentum": jnp.concatenate([moment, force])}


@pytest.fixture(scope="module")
def ways() -> tuple[dict, dict]:
    model = loaded(OWN["all_joints"])
    q, u = own_states("all_joints")
    random = np.random.default_rng(3)
    vector, wrenches = random.normal(size=u.shape), random.normal(size=(len(q), len(model.body_names), 6))
    vector[:, :ROOT] = 0  # as generalised forces, those on the root would come from outside

    def both(*state):
        found, expected = laws(*state)
        return first_way(*state) | found, second_way(*state) | expected

    return in_numpy(compiled(both, mapped=4)(model, q, u, vector, wrenches))


QUANTITIES = [
    *("velocities", "velocities by Jacobian", "accelerations", "marker velocities", "marker accelerations"),
    *("Jacobian of a point", "mass matrix", "inverse dynamics", "inverse dynamics by terms", "gravity", "bias at rest"),
    *("linear momentum", "momentum by hand", "energy by hand", "speeds", "equation of motion", "energy", "momentum"),
]


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_a_second_way(ways: tuple[dict, dict], quantity: str):
    first, second = (way[quantity] for way in ways)
    scale = max(1.0, np.abs(second).max())
    np.testing.assert_allclose(first / scale, second / scale, rtol=0, atol=1e-11)
    assert np.abs(second).max() > 1e-3  # or it would show nothing


def test_every_quantity_is_looked_at(ways: tuple[dict, dict]):
    assert set(ways[0]) == set(ways[1]) == set(QUANTITIES)


# The textbook ------------------------------------------------------------------------------------------------


def test_double_pendulum_is_the_textbooks():
    """Two uniform rods (0.5 m, radius 0.02 m, 1 kg): Lagrange's equations by hand; zero angles hang straight down."""
    model = loaded(OWN["double_pendulum"])
    length, first, second = 0.5, 0.4, -0.9
    q, u = np.array([first, second]), np.array([1.3, -2.1])
    end = cylinder_inertia(1.0, length, 0.02)[0] + length**2 / 4  # about the end of a rod
    lever = length**2 / 2
    M = [
        [2 * end + length**2 + 2 * lever * np.cos(second), end + lever * np.cos(second)],
        [end + lever * np.cos(second), end],
    ]
    turning = lever * np.sin(second)
    weight = 9.80665 * length
    bias = [
        -turning * (2 * u[0] * u[1] + u[1] ** 2) + weight * (1.5 * np.sin(first) + 0.5 * np.sin(first + second)),
        turning * u[0] ** 2 + weight * 0.5 * np.sin(first + second),
    ]
    found = in_numpy(program(dynamics)(model, q[None], u[None]))
    np.testing.assert_allclose(found["M"][0], M, rtol=1e-13)
    np.testing.assert_allclose(found["bias"][0], bias, rtol=1e-13)
    np.testing.assert_allclose(found["udot"][0], np.linalg.solve(M, np.negative(bias)), rtol=1e-12)


# Motion over time --------------------------------------------------------------------------------------------


def rollout(model: mg.Model, q, u, step: float, count: int):
    """States [count, c] of the motion under gravity and constraints, by the classical Runge-Kutta method."""

    def rates(q, u, time):
        return mg.coordinate_rates(model, q, u), mg.forward_dynamics(model, q, u, time=time)

    def advance(carry, _):
        q, u, time = carry

        def stage(previous, shares):
            reach, weight = shares  # how far along the previous slope, and what this slope counts
            (dq, du), (sum_q, sum_u) = previous
            dq, du = rates(q + reach * dq, u + reach * du, time + reach)
            return ((dq, du), (sum_q + weight * dq, sum_u + weight * du)), None

        nothing = jnp.zeros_like(q), jnp.zeros_like(u)
        shares = step * jnp.array([0, 0.5, 0.5, 1]), step * jnp.array([1, 2, 2, 1]) / 6
        (_, (dq, du)), _ = jax.lax.scan(stage, (nothing, nothing), shares)
        carry = q + dq, u + du, time + step
        return carry, carry[:2]

    return jax.lax.scan(advance, (q, u, 0.0), None, length=count)[1]


def test_energy_of_the_double_pendulum_is_kept():
    model = loaded(OWN["double_pendulum"])

    @jax.jit
    def energies(q, u):
        motion = rollout(model, q, u, 5e-4, 2000)
        kinetic = jax.vmap(lambda q, u: mg.kinetic_energy(model, q, u))(*motion)
        return kinetic, kinetic + jax.vmap(lambda q: mg.potential_energy(model, q))(motion[0])

    kinetic, total = in_numpy(energies(jnp.array([1.5, 0.8]), jnp.array([0.5, -1.0])))
    assert np.ptp(kinetic) > 1.0
    assert np.ptp(total) < 1e-9


def test_momentum_of_a_floating_tree_is_kept():
    """Without gravity, whatever the joints do among themselves, one of which is driven and one locked."""
    model = eqx.tree_at(lambda m: m.gravity, loaded(OWN["all_joints"]), jnp.zeros(3))
    q, u = (x[0] for x in own_states("all_joints"))

    @jax.jit
    def momenta(q, u):
        motion = rollout(model, q, u, 5e-4, 80)  # no spline of a joint passes a point in this time
        return motion, jax.vmap(lambda q, u: mg.momentum(model, q, u))(*motion)

    (_, speeds), momentum = in_numpy(momenta(q, u))
    assert np.ptp(speeds, axis=0).max() > 0.1
    assert np.abs(momentum).max() > 0.3
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), rtol=0, atol=1e-10)


def test_compiled_or_not():
    """Step by step, without compiling anything, the numbers are the same."""
    name = "double_pendulum"
    model, (q, u) = loaded(OWN[name]), own_states(name)
    compiled_numbers = own_numbers(name)
    with jax.disable_jit():
        found = in_numpy(dynamics(model, q[0], u[0]) | {"arm": mg.moment_arms(model, q[0])})
    for key, value in found.items():
        np.testing.assert_allclose(value, compiled_numbers[key][0], rtol=1e-11, atol=1e-12, err_msg=key)
