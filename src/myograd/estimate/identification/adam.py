"""The optimiser of paper 000, for comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from ...errors import MyogradError
from ..least_squares import Outcome
from .fit import Fit, Progress, loss_of
from .parameters import Unknowns
from .problem import Problem
from .residual import residual


def fit_adam(
    problem: Problem,
    start: np.ndarray,
    epochs: int,
    rate: float = 1e-3,
    report: Callable[[Progress], None] = lambda _: None,
    every: int = 100,
) -> Fit:
    """The paper's optimiser: Adam on the mean square of the residual, normalised by its value at the start, in the scaled
    vector; gradients in reverse mode. `rate`: step in relative parameters."""
    if any(problem.low_passes):
        raise MyogradError(
            "Adam is for recordings without noise, as the paper's; `fit` and `noise.refine` are for noisy ones"
        )
    p, scale = problem.parameters, jnp.asarray(problem.parameters.scales())
    guess = problem.guess(start)
    optimiser = optax.adam(rate)

    def loss(x: jax.Array, norm: jax.Array) -> jax.Array:
        unknowns: Unknowns = p.unknowns(x * scale)
        total = sum(
            jnp.sum(residual(*problem.at(i, unknowns, fibers), unknowns)[0] ** 2) for i, fibers in enumerate(guess)
        )
        return total / norm

    @jax.jit
    def epoch(x: jax.Array, state: Any, norm: jax.Array) -> tuple[jax.Array, Any, jax.Array]:
        value, slope = jax.value_and_grad(loss)(x, norm)
        change, state = optimiser.update(slope, state)
        return optax.apply_updates(x, change), state, value  # pyright: ignore[reportReturnType]

    x = jnp.asarray(start) / scale
    norm = loss(x, jnp.ones(()))
    state = optimiser.init(x)
    history = [(1.0, np.asarray(p.physical(jnp.asarray(start))))]
    samples = sum(len(one.rows) for one in problem.data)
    for k in range(epochs):
        x, state, value = epoch(x, state, norm)
        if (k + 1) % every == 0:
            history.append((float(value), np.asarray(p.physical(x * scale))))
            report(Progress(k + 1, epochs, float(jnp.sqrt(value * norm / samples)), float("nan")))
    z = np.asarray(x * scale)
    r, fibers = problem.residual(z, guess)
    outcome = Outcome.NOT_ENOUGH_ITERATIONS
    return Fit(problem, z, loss_of(problem, r), float("nan"), outcome, False, epochs, history, fibers)
