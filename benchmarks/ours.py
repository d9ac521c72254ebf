"""What Myograd does in the benchmark: the quantities as functions of one pose, and the ways to evaluate them at many.

Batch and stream are written as a user would write them; change `batched` to measure another way.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import myograd as mg

BATCH = 1024
Function = Callable[..., Any]  # f(q, u) -> arrays

jax.config.update("jax_enable_compilation_cache", False)  # compile times are to be those of a first run


def batched(function: Function) -> Function:
    """f over the first axis of its arguments, on all cores."""
    return mg.batched(function)


def streamed(function: Function) -> Function:
    """f over the first axis of its arguments, one pose after the other, in a compiled loop."""
    return jax.jit(lambda *poses: jax.lax.map(lambda pose: function(*pose), poses))


def quantities(model: mg.Model) -> dict[str, Function]:
    """Each quantity of the benchmark at one pose."""
    free = model.constraints.free
    return {
        "body poses": lambda q, u: mg.body_poses(model, q),
        "mass matrix + bias": lambda q, u: (mg.mass_matrix(model, q), mg.bias_forces(model, q, u)),
        "accelerations": lambda q, u: mg.forward_dynamics(model, q, u),
        "muscle lengths": lambda q, u: mg.muscle_lengths(model, q),
        "moment arms": lambda q, u: mg.moment_arms(model, q)[:, free],
    }


def weighted(function: Function, q: jax.Array, u: jax.Array) -> Function:
    """The scalar `sum w f(q, u)` with fixed weights w: what reverse mode differentiates."""
    random = np.random.default_rng(1)
    weights = jax.tree.map(lambda out: jnp.asarray(random.normal(size=out.shape)), jax.eval_shape(function, q, u))

    def scalar(q: jax.Array, u: jax.Array) -> jax.Array:
        products = jax.tree.map(lambda w, out: jnp.sum(w * out), weights, function(q, u))
        return sum(jax.tree.leaves(products), jnp.zeros(()))

    return scalar


def first_call(function: Function, *arguments: jax.Array) -> float:
    """Seconds to trace, compile and run f, with nothing compiled before."""
    jax.clear_caches()
    start = time.perf_counter()
    jax.block_until_ready(function(*arguments))
    return time.perf_counter() - start


def runner(function: Function, *arguments: jax.Array) -> Callable[[], Any]:
    """A call without arguments that waits for its result."""
    return lambda: jax.block_until_ready(function(*arguments))


def repeated(poses: np.ndarray) -> jax.Array:
    """The poses again and again, `BATCH` in all."""
    return jnp.asarray(np.resize(poses, (BATCH, poses.shape[1])))
