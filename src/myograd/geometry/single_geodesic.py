"""Geodesics by shooting: the integrator, Newton's method, and its derivative by the implicit function theorem.

A surface without closed form gives a residual R(z; p, s, sizes) whose root z says where its geodesic starts and how
far it runs. The root is found from a guess that depends on the same points only, so the result has no history.
Derivatives never go through the iteration: dz = -(dR/dz)^-1 dR, which is itself differentiable, so all orders exist.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_derivatives import SymbolicZero


class Path(NamedTuple):
    """From p to the end of the geodesic: landing and leaving points, unit tangents at both, lengths of line and arc."""

    P: Array
    Q: Array
    along_p: Array
    along_q: Array
    line: Array
    arc: Array


Shoot = Callable[[Array, Array, Any], Path]  # (z, p, sizes) -> the path
Residual = Callable[..., Array]  # (z, p, s, sizes) -> zero at the root
State = tuple[Array, ...]

_FINE_STEPS = 5
_OFFSET = 1e-6  # for the slopes
_FOUND = 1e-9  # largest last step of a root

# Butcher's sixth-order method with seven stages (On Runge-Kutta processes of high order, 1964).
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
    """matrix^-1 b for 2 x 2, by Cramer's rule: cheap in a batch. A singular matrix gives zero, not infinity."""
    (m00, m01), (m10, m11) = matrix
    det = m00 * m11 - m01 * m10
    x = jnp.stack([b[0] * m11 - b[1] * m01, m00 * b[1] - m10 * b[0]])
    return jnp.where(det == 0, 0.0, x / jnp.where(det == 0, 1.0, det))


def approach(coarse: Residual, z: Array, args: tuple[Any, ...], longest: Array, steps: int) -> tuple[Array, Array]:
    """A root of `coarse` by Newton's method from the guess z, and the slopes there.

    The slopes are differences: they decide how fast the root is found, not where it is, and compile in a third of the
    time. None of the `steps` has a component over that of `longest`.
    """
    offsets = jnp.concatenate([jnp.zeros((1, len(z))), _OFFSET * jnp.eye(len(z))])

    def step(carry: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        z, _slopes = carry
        values = jax.vmap(lambda dz: coarse(z + dz, *args))(offsets)
        slopes = (values[1:] - values[0]).T / _OFFSET
        dz = solve(slopes, values[0])
        return (z - dz * jnp.min(longest / jnp.maximum(jnp.abs(dz), longest)), slopes), None

    return jax.lax.scan(step, (z, jnp.eye(len(z))), None, length=steps)[0]


def settle(fine: Residual, z: Array, slopes: Array, args: tuple[Any, ...]) -> tuple[Array, Array]:
    """The root of `fine` near z with the slopes of its coarse version, and whether it was found; if not, it is z."""

    def step(z: Array, _: None) -> tuple[Array, Array]:
        dz = solve(slopes, fine(z, *args))
        return z - dz, dz

    settled, steps = jax.lax.scan(step, z, None, length=_FINE_STEPS)
    found = jnp.max(jnp.abs(steps[-1])) < _FOUND
    return jnp.where(found, settled, z), found


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


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def path_length(shoot: Shoot, path: Path, z: Array, p: Array, s: Array, sizes: Any) -> Array:
    """Length of p -> P -> Q -> s, where path = shoot(z, p, sizes) for a root z.

    It is stationary in z: only p, s and the sizes of the surface change it, by the end tangents and by how the surface
    moves under a path with the same z.
    """
    return path.line + path.arc + path.along_q @ (s - path.Q)


def _path_length_jvp(shoot: Shoot, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Array, Array]:
    path, z, p, s, sizes = primals
    _, _, dp, ds, dsizes = tangents
    change = jnp.zeros_like(path.arc)
    if not isinstance(dp, SymbolicZero):
        change -= path.along_p @ dp
    if not isinstance(ds, SymbolicZero):
        change += path.along_q @ ds
    if not isinstance(dsizes, SymbolicZero):

        def length(sizes: Any) -> Array:
            moved = shoot(z, p, sizes)
            return moved.line + moved.arc + moved.along_q @ (s - moved.Q)

        change += jax.jvp(length, (sizes,), (dsizes,))[1]
    return path_length(shoot, *primals), change


path_length.defjvp(_path_length_jvp, symbolic_zeros=True)
