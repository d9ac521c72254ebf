"""Roots of scalar equations, one per muscle, that cannot be missed; and their derivatives by the implicit function theorem."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ..geometry.spatial import settled

Vector = Float[Array, " m"]
Residual = Callable[[Any, Vector], Vector]
"""Of everything that the equation depends on, and of the unknown. Muscles do not mix."""
CLOSE = 1e-12  # relative step after which Newton's method has reached rounding
MOST_STEPS = 100


def bracketed_root(residual: Residual, given: Any, low: Vector, high: Vector, start: Vector) -> Vector:
    """x between low and high where the residual changes from negative to positive: Newton's method from `start`, halving the
    bracket where a step would leave it. `low` itself where the residual is not negative there.

    Has no derivatives of its own: see `with_derivatives`.
    """
    given, low, high, start = lax.stop_gradient((given, low, high, start))
    high = jnp.where(residual(given, low) >= 0, low, high)

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        low, high, x, _, count = state
        value, slope = jax.jvp(lambda at: residual(given, at), (x,), (jnp.ones_like(x),))
        above = value > 0
        low, high = jnp.where(above, low, x), jnp.where(above, x, high)
        newton = x - value / slope
        rounding = 1e-14 * jnp.abs(x)
        inside = (newton >= low - rounding) & (newton <= high + rounding)  # false for a step that is not a number
        after = jnp.where(inside, jnp.clip(newton, low, high), (low + high) / 2)
        # Settled, or the compiler may work it out once for the state and once, rounded otherwise, for the distance.
        after = settled(after)
        return low, high, after, jnp.abs(after - x), count + 1

    def going_on(state: tuple[Array, ...]) -> Array:
        _, _, x, moved, count = state
        return (count < MOST_STEPS) & jnp.any(moved > CLOSE * jnp.abs(x))

    state = (low, high, jnp.clip(start, low, high), jnp.full_like(low, jnp.inf), jnp.array(0))
    return lax.while_loop(going_on, step, state)[2]


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def with_derivatives(residual: Residual, given: Any, root: Vector) -> Vector:
    """`root`, with the derivatives with respect to `given` that `residual(given, root) = 0` implies, of any order."""
    return root


@with_derivatives.defjvp
def _implicit(residual: Residual, primals: tuple[Any, Vector], tangents: tuple[Any, Vector]) -> tuple[Vector, Vector]:
    given, root = primals
    root = with_derivatives(residual, given, root)
    change = jax.jvp(lambda g: residual(g, root), (given,), (tangents[0],))[1]
    slope = jax.jvp(lambda x: residual(given, x), (root,), (jnp.ones_like(root),))[1]
    return root, -change / jnp.where(slope == 0, jnp.inf, slope)
