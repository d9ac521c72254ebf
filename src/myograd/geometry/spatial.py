"""Vectors, rotations and spatial (6-D) vectors, many at a time.

Layout: components first, elements last. `n` vectors are `[3, n]`, `n` rotations `[3, 3, n]`, `n` screws `[6, n]`
(angular above linear, expressed in ground at the ground origin). Products are written out as sums over the component
axis: XLA then fuses them into one loop over contiguous elements.
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


def dot(a: Float[Array, "k n"], b: Float[Array, "k n"]) -> Float[Array, " n"]:
    return sum(a[i] * b[i] for i in range(a.shape[0]))  # pyright: ignore[reportReturnType]


def norm(v: Float[Array, "k n"]) -> Float[Array, " n"]:
    """|v|, with derivative zero where it is zero."""
    square = dot(v, v)
    none = square == 0  # what is not a number stays none
    return jnp.where(none, 0.0, jnp.sqrt(jnp.where(none, 1.0, square)))


def cross(a: Float[Array, "3 n"], b: Float[Array, "3 n"]) -> Float[Array, "3 n"]:
    return jnp.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def rotate(R: Float[Array, "3 3 n"], v: Float[Array, "3 n"]) -> Float[Array, "3 n"]:
    """`R v` for each element."""
    return R[:, 0] * v[0] + R[:, 1] * v[1] + R[:, 2] * v[2]


def matmul(A: Float[Array, "3 3 n"], B: Float[Array, "3 3 n"]) -> Float[Array, "3 3 n"]:
    """`A B` for each element."""
    return jnp.stack([rotate(A, B[:, k]) for k in range(3)], axis=1)


def transposed(R: Float[Array, "3 3 n"]) -> Float[Array, "3 3 n"]:
    return jnp.swapaxes(R, 0, 1)


def cross_matrix(v: Float[Array, "3 n"]) -> Float[Array, "3 3 n"]:
    """`[v]x`, so that `[v]x w = v x w`."""
    zero = jnp.zeros_like(v[0])
    return jnp.stack([jnp.stack([zero, -v[2], v[1]]), jnp.stack([v[2], zero, -v[0]]), jnp.stack([-v[1], v[0], zero])])


def motion_cross(V: Float[Array, "6 n"], S: Float[Array, "6 n"]) -> Float[Array, "6 n"]:
    """Rate of a screw S that is carried along by the spatial velocity V."""
    return jnp.concatenate([cross(V[:3], S[:3]), cross(V[3:], S[:3]) + cross(V[:3], S[3:])])


def force_cross(V: Float[Array, "6 n"], F: Float[Array, "6 n"]) -> Float[Array, "6 n"]:
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
