"""`batched` gives what `vmap` gives, for any number of rows, on one thread or several."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import myograd as mg
from myograd.dynamics.batch import _uses_lapack
from myograd.models import model_path

pytestmark = pytest.mark.filterwarnings("ignore::myograd.errors.UnsupportedWarning")


@pytest.mark.parametrize("count", [1, 7, 8, 16, 35])
def test_equals_vmap(count):
    model = mg.load_model(model_path("double_pendulum"))
    random = np.random.default_rng(0)
    q, u = random.normal(size=(2, count, 2))

    def both(q, u):
        return mg.body_poses(model, q), mg.bias_forces(model, q, u)

    ours, theirs = mg.batched(both, chunk=8)(q, u), jax.vmap(both)(q, u)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-14), ours, theirs)


def test_linear_algebra_is_found_wherever_it_hides():
    model = mg.load_model(model_path("double_pendulum"))
    q = model.default_pose()
    assert _uses_lapack(jax.make_jaxpr(lambda q: mg.speeds(model, q, q))(q).jaxpr)
    assert _uses_lapack(jax.make_jaxpr(jax.grad(lambda q: mg.speeds(model, q, q).sum()))(q).jaxpr)
    assert not _uses_lapack(jax.make_jaxpr(lambda q: mg.muscle_lengths(model, q))(q).jaxpr)


@pytest.mark.parametrize("name", ["double_pendulum", "coupled_mechanism", "four_bar"])
@pytest.mark.parametrize("method", ["elimination", "multipliers"])
def test_accelerations_need_no_lapack(name, method):
    """It would keep them, and their gradients, on one core."""
    model = mg.load_model(model_path(name))
    q = model.default_pose()

    def total(q):
        return mg.forward_dynamics(model, q, q, method=method).sum()

    assert not _uses_lapack(jax.make_jaxpr(jax.value_and_grad(total))(q).jaxpr)


def test_accelerations_in_a_batch():
    """Through two threads, on two cores."""
    model = mg.load_model(model_path("planar_leg"))
    q = np.tile(np.asarray(model.default_pose()), (256, 1))
    out = mg.batched(lambda q: mg.forward_dynamics(model, q, q))(q)
    np.testing.assert_allclose(out, np.tile(np.asarray(mg.forward_dynamics(model, q[0], q[0])), (256, 1)), rtol=1e-12)
