"""Geodesics by shooting: the integrator, Newton's method, and its derivative by the implicit function theorem.

A surface without closed form gives a residual R(z; p, s, sizes) whose root z says where its geodesic starts and how far it
runs. The root is found from a guess that depends on the same points only, so the result has no history. Derivatives never
go through the iteration: dz = -(dR/dz)^-1 dR, which is itself differentiable, so all orders exist.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

Residual = Callable[..., Array]
State = tuple[Array, ...]

_NEWTON_STEPS, _FINE_STEPS = 6, 2
_OFFSET = 1e-6

# Butcher's sixth-order method with seven stages (Coefficients for the study of Runge-Kutta integration processes, 1963).
_A = (
    (1 / 3,),
    (0, 2 / 3),
    (1 / 12, 1 / 3, -1 / 12),
    (-1 / 16, 9 / 8, -3 / 16, -3 / 8),
    (0, 9 / 8, -3 / 8, -3 / 4, 1 / 2),
    (9 / 44, -9 / 11, 63 / 44, 18 / 11, 0, -16 / 11),
)
_B = (11 / 120, 0, 27 / 40, 27 / 40, -4 / 15, -4 / 15, 11 / 120)


def integrate(rate: Callable[[State], State], state: State, span: Array, steps: int) -> State:
    """The state after `span` of `state' = rate(state)`, in `steps` equal steps of sixth order.

    The state is a tuple of scalars: in a batch each is contiguous, which XLA turns into vector instructions.
    """
    h = span / steps

    def advanced(state: State, weights: tuple[float, ...], slopes: list[State]) -> State:
        used = [(w, k) for w, k in zip(weights, slopes, strict=True) if w]
        return tuple(y + h * sum(w * k[i] for w, k in used) for i, y in enumerate(state))

    def step(state: State, _: None) -> tuple[State, None]:
        slopes = [rate(state)]
        for row in _A:
            slopes.append(rate(advanced(state, row, slopes)))
        return advanced(state, _B, slopes), None

    return jax.lax.scan(step, state, None, length=steps)[0]


def solve(matrix: Array, b: Array) -> Array:
    """matrix^-1 b for 2 x 2 and 3 x 3 by Cramer's rule: cheap in a batch. A singular matrix gives zero, not infinity."""
    if len(b) == 2:
        det = matrix[0, 0] * matrix[1, 1] - matrix[0, 1] * matrix[1, 0]
        x = jnp.stack([b[0] * matrix[1, 1] - b[1] * matrix[0, 1], matrix[0, 0] * b[1] - matrix[1, 0] * b[0]])
    else:
        c0, c1, c2 = matrix.T
        det = c0 @ jnp.cross(c1, c2)
        x = jnp.stack([b @ jnp.cross(c1, c2), c0 @ jnp.cross(b, c2), c0 @ jnp.cross(c1, b)])
    return jnp.where(det == 0, 0.0, x / jnp.where(det == 0, 1.0, det))


def find_root(coarse: Residual, fine: Residual, z: Array, args: tuple[Any, ...], longest: float) -> Array:
    """Root of `fine` by Newton's method on `coarse`, a cheaper version of it, then with the slopes of `coarse` on `fine`.

    The slopes are differences: they decide how fast the root is found, not where it is, and compile in a third of the time.
    The number of steps is fixed; none has a component over `longest`.
    """
    offsets = jnp.concatenate([jnp.zeros((1, len(z))), _OFFSET * jnp.eye(len(z))])

    def value_and_slopes(z: Array) -> tuple[Array, Array]:
        values = jax.vmap(lambda dz: coarse(z + dz, *args))(offsets)
        return values[0], (values[1:] - values[0]).T / _OFFSET

    def newton_step(carry: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        z, _slopes = carry
        value, slopes = value_and_slopes(z)
        dz = solve(slopes, value)
        return (z - dz * jnp.minimum(1.0, longest / jnp.maximum(jnp.max(jnp.abs(dz)), longest)), slopes), None

    (z, slopes), _ = jax.lax.scan(newton_step, (z, jnp.eye(len(z))), None, length=_NEWTON_STEPS)
    return jax.lax.scan(lambda z, _: (z - solve(slopes, fine(z, *args)), None), z, None, length=_FINE_STEPS)[0]


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def root_of(residual: Residual, z: Array, args: tuple[Any, ...]) -> Array:
    """z, already a root of residual(z, *args), as a function of args."""
    return z


@root_of.defjvp
def _root_of_jvp(residual: Residual, primals: tuple[Array, Any], tangents: tuple[Array, Any]) -> tuple[Array, Array]:
    z = root_of(residual, *primals)
    _, args = primals
    change = jax.jvp(lambda *a: residual(z, *a), args, tangents[1])[1]
    return z, -solve(jax.jacfwd(residual)(z, *args), change)
