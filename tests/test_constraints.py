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
from computed import OWN, compiled, dynamics, geometry, in_numpy, loaded, own_states, program
from live_states import Peer
from myograd.errors import ModelError
from myograd.files.osim_write import write_osim
from myograd.model.description import (
    Body,
    Coordinate,
    CoordinateCoupler,
    Joint,
    LinearFunction,
    ModelDescription,
    OffsetFrame,
    Vec3,
)
from myograd.models._coupled_mechanism import describe as coupled_mechanism
from myograd.models._double_pendulum import describe as double_pendulum

NAMES = ("coupled_mechanism", "four_bar", "all_joints", "all_constraints")
TIME = 0.2
COUNT = 3


def numbers(model: mg.Model, q, u, udot, tau, wrenches) -> dict[str, Any]:
    forced = {"tau": tau, "wrenches": wrenches, "time": TIME}
    rate, acceleration = jax.jvp(
        lambda q, u: mg.coordinate_rates(model, q, u), (q, u), (mg.coordinate_rates(model, q, u), udot)
    )

    def errors(later):
        """Along the motion with the accelerations udot, some time later."""
        course = q + later * rate + 0.5 * later**2 * acceleration
        return mg.constraint_errors(model, course, time=TIME + later)

    def change(later):
        return jax.jvp(errors, (later,), (1.0,))[1]

    G = mg.constraint_jacobian(model, q)
    perturbed = q + 0.05 * jnp.sin(jnp.arange(len(q)))
    assembled, tangent = jax.jvp(lambda x: mg.assemble(model, x, TIME), (perturbed,), (udot,))
    near = 1e-5
    quotient = (
        mg.assemble(model, perturbed + near * udot, TIME) - mg.assemble(model, perturbed - near * udot, TIME)
    ) / (2 * near)
    return {
        "errors": mg.constraint_errors(model, q, time=TIME),
        "G": G,
        "G by errors": jax.jacfwd(lambda x: mg.constraint_errors(model, x))(q)
        @ jax.jacfwd(lambda x: mg.coordinate_rates(model, q, x))(u),
        "error rates": change(0.0),
        "error accelerations": jax.jvp(change, (0.0,), (1.0,))[1],
        "by terms": G @ udot + mg.constraint_bias(model, q, u, TIME),
        "udot": mg.forward_dynamics(model, q, u, **forced),
        "udot by multipliers": mg.forward_dynamics(model, q, u, method="multipliers", **forced),
        "bias": mg.constraint_bias(model, q, u, TIME),
        "assembled errors": mg.constraint_errors(model, assembled, time=TIME),
        "moved": assembled - perturbed,
        "tangent": tangent,
        "tangent by quotient": quotient,
        "projected again": mg.project_speeds(model, q, u, TIME),
        "u": u,
    }


@pytest.fixture(scope="module", params=NAMES)
def found(request: pytest.FixtureRequest) -> dict[str, np.ndarray]:
    model = loaded(OWN[request.param])
    q, u = own_states(request.param, COUNT, TIME)
    random = np.random.default_rng(11)
    udot, tau = random.normal(size=(2, *u.shape))
    wrenches = random.normal(size=(COUNT, len(model.body_names), 6))
    return in_numpy(compiled(numbers, mapped=5)(model, q, u, udot, tau, wrenches))


def test_states_satisfy_the_constraints(found):
    """`assemble` and `project_speeds` made these states."""
    assert np.abs(found["errors"]).max() < 1e-10
    assert np.abs(found["error rates"]).max() < 1e-10
    np.testing.assert_allclose(found["projected again"], found["u"], rtol=0, atol=1e-10)


def test_jacobian_is_the_derivative_of_the_errors(found):
    np.testing.assert_allclose(found["G"], found["G by errors"], rtol=0, atol=1e-12)


def test_bias_completes_the_second_derivative_of_the_errors(found):
    """Prescribed motions in time included."""
    np.testing.assert_allclose(found["by terms"], found["error accelerations"], rtol=1e-10, atol=1e-10)


def test_elimination_and_multipliers_give_the_same_accelerations(found):
    scale = np.abs(found["udot"]).max()
    np.testing.assert_allclose(found["udot"] / scale, found["udot by multipliers"] / scale, rtol=0, atol=1e-10)
    held = np.einsum("nrc,nc->nr", found["G"], found["udot"]) + found["bias"]
    np.testing.assert_allclose(held / scale, 0.0, rtol=0, atol=1e-10)
    assert scale > 1.0


def test_assembly_from_elsewhere(found):
    assert np.abs(found["moved"]).max() > 1e-3
    assert np.abs(found["assembled errors"]).max() < 1e-10


def test_assembly_is_differentiable(found):
    np.testing.assert_allclose(found["tangent"], found["tangent by quotient"], rtol=0, atol=1e-8)
