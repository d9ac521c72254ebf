"""Vectors, rotations and spatial (6-D) vectors, many at a time.

Layout: components first, elements last. `n` vectors are `[3, n]`, `n` rotations `[3, 3, n]`, `n` screws `[6, n]`
(angular above linear, expressed in ground at the ground origin). Products are written out as sums over the component
axis: XLA then fuses them into one loop over contiguous elements. Components are taken apart once (`unstack`): each time that
one is cut out costs an operation, and one more wherever derivatives go backwards.
"""

from __future__ import annotations

from typing import TypeVar

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

Arrays = TypeVar("Arrays")


def materialized(x: Arrays) -> Arrays:
    """x, computed once: keeps XLA from repeating its computation inside every loop that uses it."""
    return lax.optimization_barrier(x)


def dot(a: Float[Array, "k *#n"], b: Float[Array, "k *#n"]) -> Float[Array, "*#n"]:
    products = (x * y for x, y in zip(jnp.unstack(a), jnp.unstack(b), strict=True))
    return sum(products)  # pyright: ignore[reportReturnType]


def norm(v: Float[Array, "k *#n"]) -> Float[Array, "*#n"]:
    """|v|, with derivative zero where it is zero."""
    square = dot(v, v)
    none = square == 0  # what is not a number stays none
    return jnp.where(none, 0.0, jnp.sqrt(jnp.where(none, 1.0, square)))


def cross(a: Float[Array, "3 *#n"], b: Float[Array, "3 *#n"]) -> Float[Array, "3 *#n"]:
    (a0, a1, a2), (b0, b1, b2) = jnp.unstack(a), jnp.unstack(b)
    return jnp.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])


def rotate(R: Float[Array, "3 3 *#n"], v: Float[Array, "3 *#n"]) -> Float[Array, "3 *#n"]:
    """`R v` for each element."""
    (x, y, z), (v0, v1, v2) = jnp.unstack(R, axis=1), jnp.unstack(v)
    return x * v0 + y * v1 + z * v2


def matmul(A: Float[Array, "3 3 *#n"], B: Float[Array, "3 3 *#n"]) -> Float[Array, "3 3 *#n"]:
    """`A B` for each element."""
    return jnp.stack([rotate(A, column) for column in jnp.unstack(B, axis=1)], axis=1)


def transposed(R: Float[Array, "3 3 *#n"]) -> Float[Array, "3 3 *#n"]:
    return jnp.swapaxes(R, 0, 1)


def cross_matrix(v: Float[Array, "3 *#n"]) -> Float[Array, "3 3 *#n"]:
    """`[v]x`, so that `[v]x w = v x w`."""
    x, y, z = jnp.unstack(v)
    zero = jnp.zeros_like(x)
    return jnp.stack([zero, -z, y, z, zero, -x, -y, x, zero]).reshape(3, 3, *v.shape[1:])


def motion_cross(V: Float[Array, "6 *#n"], S: Float[Array, "6 *#n"]) -> Float[Array, "6 *#n"]:
    """Rate of a screw S that is carried along by the spatial velocity V."""
    return jnp.concatenate([cross(V[:3], S[:3]), cross(V[3:], S[:3]) + cross(V[:3], S[3:])])


def force_cross(V: Float[Array, "6 *#n"], F: Float[Array, "6 *#n"]) -> Float[Array, "6 *#n"]:
    """Rate of a wrench or momentum F (moment above force) that is carried along by V."""
    return jnp.concatenate([cross(V[:3], F[:3]) + cross(V[3:], F[3:]), cross(V[:3], F[3:])])


def rotation_xyz(angles: np.ndarray) -> np.ndarray:
    """Rotation matrix of body-fixed rotations about x, then y, then z [rad]. NumPy: used when models are made."""
    (cx, cy, cz), (sx, sy, sz) = np.cos(angles), np.sin(angles)
    return np.array(
        [
            [cy * cz, -cy * sz, sy],
            [cx * sz + sx * sy * cz, cx * cz - sx * sy * sz, -sx * cy],
            [sx * sz - cx * sy * cz, sx * cz + cx * sy * sz, cx * cy],
        ]
    )


def angles_xyz(R: np.ndarray) -> np.ndarray:
    """Body-fixed x-y-z angles of a rotation matrix: the inverse of `rotation_xyz`, with |y| <= pi/2."""
    if abs(R[0, 2]) < 1 - 1e-12:
        return np.array(
            [
                np.arctan2(-R[1, 2], R[2, 2]),
                np.arctan2(R[0, 2], np.hypot(R[0, 0], R[0, 1])),
                np.arctan2(-R[0, 1], R[0, 0]),
            ]
        )
    # Gimbal lock: x and z turn about the same axis; put the whole turn in x.
    return np.array([np.arctan2(R[2, 1], R[1, 1]), np.copysign(np.pi / 2, R[0, 2]), 0.0])
