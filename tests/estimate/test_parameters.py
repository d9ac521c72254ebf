"""Numbers between limits, and bodies, behind one vector."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from myograd.estimate.identification.inertia import Body
from myograd.estimate.parameters import Bounded, Bounds, Number, ParameterVector, default_prior

BODY = np.array([2.0, 0.01, -0.2, 0.0, 0.012, 0.003, 0.011, 0.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def vector() -> ParameterVector:
    numbers = [Number(f"{owner}.{name}", owner, name, "m") for owner, name in (("a", "x"), ("a", "y"), ("b", "x"))]
    bounds = (Bounds(0.0, 4.0), Bounds(-1.0, 1.0), Bounds(0.0, 0.1, center=0.04, spread=0.002))
    block = Bounded(tuple(numbers), bounds, np.array([1.0, 0.0, 0.05]), np.array([1.0, 2.0, 1.0]))
    return ParameterVector((Body.like("humerus", BODY), block))


def test_names_and_places(vector: ParameterVector):
    assert vector.names[0] == "humerus.mass" and vector.names[-1] == "b.x"
    assert vector.names[vector.places["humerus.inertia.xy"]] == "humerus.inertia.xy"
    assert [number.unit for number in vector.numbers][:5] == ["kg", "m", "m", "m", "kg m^2"]


def test_numbers_and_back(vector: ParameterVector):
    there = vector.physical_start() * 1.1
    np.testing.assert_allclose(vector.physical(jnp.asarray(vector.vector(there))), there, rtol=1e-9, atol=1e-12)


def test_what_is_beyond_a_limit_is_brought_inside(vector: ParameterVector):
    there = vector.physical_start()
    there[vector.places["a.x"]], there[vector.places["a.y"]] = 7.0, -3.0
    z = vector.vector(there)
    inside = np.asarray(vector.physical(jnp.asarray(z)))
    assert 3.5 < inside[vector.places["a.x"]] < 4.0 and -1.0 < inside[vector.places["a.y"]] < -0.8
    assert vector.near_limits(z) == []
    z[vector.places["a.x"]] = 9.0
    assert vector.near_limits(z) == ["a.x"]


def test_scales_are_relative_changes(vector: ParameterVector):
    z = vector.start()
    per = np.diag(np.asarray(jax.jacfwd(vector.physical)(jnp.asarray(z)))) * vector.scales()
    np.testing.assert_allclose(per[-3:], [1.0, 0.04, 0.002], rtol=1e-9)  # itself, a little of the range, its own spread


def test_a_prior_is_its_rows_squared_to_second_order(vector: ParameterVector):
    random = np.random.default_rng(1)
    prior, z = default_prior(vector, vector.start()), vector.start() + 0.05 * random.standard_normal(13)
    b, A = prior.rows(vector, z)
    s = 1e-4 * random.standard_normal(13)
    exact = prior.penalty(vector, z + vector.scales() * s) - prior.penalty(vector, z)
    assert exact == pytest.approx(np.sum((A @ s + b) ** 2) - b @ b, rel=1e-5)


def test_priors_of_their_own(vector: ParameterVector):
    prior = default_prior(vector, vector.start(), spread=0.3)
    center = np.asarray(vector.physical(jnp.asarray(prior.center)))
    assert center[vector.places["b.x"]] == pytest.approx(0.04)
    assert center[vector.places["a.x"]] == pytest.approx(1.0)
    np.testing.assert_allclose(prior.spread[-3:-1], [0.3, 0.15])
    assert np.isinf(prior.penalty(vector, np.where(np.arange(13) == 3, -1.0, prior.center)))  # no such body
