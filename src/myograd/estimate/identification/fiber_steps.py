"""Fibre lengths of a recording, one sample after the other: slower than Newton's method over all samples at once
(`forces.solved_fibers`), but it always arrives.

With backward differences the velocity at a sample is an increasing function of the length there, so the balance of a sample is
one equation in one unknown per muscle. It has a root between the shortest fibre and the one that neither stretches the tendon
nor shortens: there the fibre pulls and the tendon does not. Bisection guards Newton's method (`bracketed_root`). Where even the
shortest fibre outpulls the tendon, the path is too short for the muscle, and the fibre stays at its shortest.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from ...model.model import Model
from ...muscle.classes.roots import bracketed_root
from ...muscle.contraction import shortest_fibers
from ...muscle.state import fiber_width

Samples = Float[Array, "T m"]
OfOne = Float[Array, " m"]
Balance = Callable[[OfOne, OfOne, OfOne, OfOne], OfOne]
"""Of path length, activation, fibre length and velocity: normalised."""
SHORTEST = 0.02  # of the optimal fibre length
ROUNDING = 1e-9
RESOLVED = (
    1e-12  # of the maximum force: a slack tendon and a fibre at its largest speed balance at any length below that
)


def shortest_allowed(driven: Model) -> OfOne:
    """[m] m: the muscles' shortest fibres, or a small part of the optimal length where a class has none."""
    return jnp.maximum(shortest_fibers(driven), SHORTEST * driven.muscles.optimal_fiber_length)


def at_shortest(driven: Model, fiber: Samples) -> Bool[Array, "T m"]:
    """Which fibres are no longer than that."""
    return fiber <= shortest_allowed(driven) * (1 + ROUNDING)


def stepped_fibers(
    driven: Model, balance: Balance, length: Samples, activation: Samples, step: float, factors: tuple[float, ...]
) -> Samples:
    """[T, m] Fibre lengths [m], of all muscles. `factors`: those of backward differences; at the first sample fibres are at
    rest. Has no derivatives."""
    muscles, shortest = driven.muscles, shortest_allowed(driven)
    slack = jnp.hypot(fiber_width(muscles), jnp.maximum(length - muscles.tendon_slack_length, 0.0))
    moving = jnp.arange(len(length)) > 0

    def advance(past: tuple[Array, ...], at: tuple[Array, ...]) -> tuple[tuple[Array, ...], Array]:
        path, a, slack, moving = at
        known = sum((c * earlier for c, earlier in zip(factors[1:], past, strict=True)), jnp.zeros_like(path))

        def unbalanced(_: None, fiber: OfOne) -> OfOne:
            velocity = jnp.where(moving, factors[0] * fiber + known, 0.0) / step
            return balance(path, a, fiber, velocity) - RESOLVED

        resting = jnp.where(moving, -known / factors[0], slack)
        high = jnp.maximum(jnp.maximum(slack, resting), shortest)
        fiber = bracketed_root(unbalanced, None, shortest, high, resting)
        earlier = tuple(jnp.where(moving, x, fiber) for x in past[:-1])  # the first sample is taken to have lasted
        return (fiber, *earlier), fiber

    start = (slack[0],) * (len(factors) - 1)
    return lax.scan(advance, start, (length, activation, slack, moving))[1]
