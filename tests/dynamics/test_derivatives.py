"""Derivatives: finite at zero angles and zero speeds; equal to finite differences in both modes."""

from __future__ import annotations

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import myograd as mg
from computed import HASTE, loaded
from myograd.models import model_path, names


def everything(model: mg.Model, q, u):
    """A scalar that depends on poses, masses, accelerations and muscles."""
    parts = [
        *mg.body_poses(model, q),
        mg.mass_matrix(model, q),
        mg.forward_dynamics(model, q, u),
        mg.muscle_lengths(model, q),
        mg.muscle_speeds(model, q, u),
    ]
    return sum(jnp.sum(jnp.sin(part + 0.3)) for part in parts)


@pytest.mark.parametrize("name", names())
def test_derivatives_are_finite_at_zero(name):
    """Where careless formulas divide by zero."""
    model = loaded(model_path(name))
    zero = jnp.zeros(len(model.coordinate_names))
    first = jax.jit(jax.grad(lambda x: everything(model, *x)), compiler_options=HASTE)
    second = jax.jit(jax.hessian(lambda q: mg.muscle_lengths(model, q).sum()), compiler_options=HASTE)
    found = first((zero, zero)), second(zero)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(found))


def test_both_modes_match_finite_differences():
    model = loaded(model_path("double_pendulum"))
    function = jax.jit(lambda q, u: everything(model, q, u))
    check_grads(
        function, (jnp.array([0.3, -0.8]), jnp.array([0.5, 1.1])), 1, ("fwd", "rev"), atol=1e-6, rtol=1e-6, eps=1e-6
    )


def dense_accelerations(model: mg.Model, q, u, tau):
    """The equations of motion and constraints written as one matrix, every entry of which JAX differentiates."""
    M, b = mg.mass_matrix(model, q), mg.bias_forces(model, q, u)
    G, gamma = mg.constraint_jacobian(model, q), mg.constraint_bias(model, q, u)
    matrix = jnp.block([[M, G.T], [G, jnp.zeros((len(G), len(G)))]])
    return jnp.linalg.solve(matrix, jnp.concatenate([tau - b, -gamma]))[: len(q)]


@pytest.mark.parametrize("name", ["coupled_mechanism", "four_bar"])
def test_accelerations_have_the_derivatives_of_their_equations(name):
    """By the state and by values of the model: first ones in both modes, and second ones in some direction."""
    model = loaded(model_path(name))
    q = mg.assemble(model, model.default_pose())
    random = np.random.default_rng(4)
    u, tau, weights = random.normal(size=(3, len(q)))
    at = q, u, tau, model.bodies.mass, model.gravity, model.joints.parent_translation
    direction = jax.tree.map(lambda x: random.normal(size=x.shape), at)

    def derivatives(accelerations):
        def total(x):
            changed = eqx.tree_at(lambda m: (m.bodies.mass, m.gravity, m.joints.parent_translation), model, x[3:])
            return weights @ accelerations(changed, *x[:3])

        forward = jax.jvp(total, (at,), (direction,))
        reverse, second = jax.jvp(jax.grad(total), (at,), (direction,))
        return forward, reverse, second

    @partial(jax.jit, compiler_options=HASTE)
    def all_ways():
        ours = [partial(mg.forward_dynamics, method=method) for method in ("elimination", "multipliers")]
        return [derivatives(way) for way in (dense_accelerations, *ours)]

    expected, *found = all_ways()
    for ours in found:
        for part, whole in zip(jax.tree.leaves(ours), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(part, whole, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(whole).max()))


def test_assembly_is_differentiable():
    """Closing a loop: the derivative of where it ends up."""
    model = loaded(model_path("four_bar"))
    q = mg.assemble(model, model.default_pose()) + 0.05
    check_grads(lambda q: mg.assemble(model, q), (q,), 1, ("fwd", "rev"), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("where", [lambda m: m.bodies.mass, lambda m: m.path.location], ids=["masses", "path points"])
def test_values_of_a_model_can_be_parameters(where):
    model = loaded(model_path("double_pendulum"))
    q = jnp.array([0.3, -0.8])
    direction = jnp.asarray(np.random.default_rng(2).normal(size=where(model).shape))

    def along(step):
        changed = eqx.tree_at(where, model, where(model) + step * direction)
        return everything(changed, q, 0.5 * jnp.ones_like(q))

    along = jax.jit(along)
    h = 1e-4
    difference = (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h)
    assert float(jax.jvp(along, (0.0,), (1.0,))[1]) == pytest.approx(float(difference), rel=1e-6, abs=1e-7)
    assert float(jax.grad(along)(0.0)) == pytest.approx(float(difference), rel=1e-6, abs=1e-7)
