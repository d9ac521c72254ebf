"""Roots of scalar equations, one per muscle, that cannot be missed; and their derivatives by the implicit function theorem."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ...geometry.spatial import materialized

Vector = Float[Array, " m"]
Residual = Callable[[Any, Vector], Vector]
"""Of everything that the equation depends on, and of the unknown. Muscles do not mix."""
CLOSE = 1e-9  # relative step of Newton's method after which rounding is all that is left: it squares the error
ROUNDING = 1e-14
MOST_STEPS = 100


def bracketed_root(residual: Residual, given: Any, low: Vector, high: Vector, start: Vector) -> Vector:
    """x between low and high where the residual changes from negative to positive: Newton's method from `start`, halving the
    bracket where a step would leave it, or is more than half of the one before (on a curve that bends to both sides, such as
    force over velocity, Newton's method can go back and forth for ever). `low` itself where the residual is not negative there.

    Has no derivatives of its own: see `with_derivatives`.
    """
    given, low, high, start = lax.stop_gradient((given, low, high, start))
    high = jnp.where(residual(given, low) >= 0, low, high)

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        low, high, x, before, _, count = state
        value, slope = jax.jvp(lambda at: residual(given, at), (x,), (jnp.ones_like(x),))
        above = value > 0
        low, high = jnp.where(above, low, x), jnp.where(above, x, high)
        newton = x - value / slope
        rounding = ROUNDING * jnp.abs(x)
        inside = (newton >= low - rounding) & (newton <= high + rounding)  # false for a step that is not a number
        inside = inside & (slope > 0) & (slope < jnp.inf)
        move = jnp.abs(newton - x)
        inside = inside & ((2 * move <= before) | (move <= CLOSE * jnp.abs(x)))
        after = jnp.where(inside, jnp.clip(newton, low, high), (low + high) / 2)
        # Materialized, or the compiler may compute it once for the state and once, rounded otherwise, for the distance.
        after = materialized(after)
        moved = jnp.abs(after - x)
        going_on = moved > jnp.where(inside, CLOSE, ROUNDING) * jnp.abs(x)
        return low, high, after, moved, jnp.any(going_on), count + 1

    state = (low, high, jnp.clip(start, low, high), jnp.full_like(low, jnp.inf), jnp.array(True), jnp.array(0))
    return lax.while_loop(lambda state: state[4] & (state[5] < MOST_STEPS), step, state)[2]


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
