"""Shortest path over an ellipsoid about the origin (interim: one segment at a time). Sizes: half axes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from .single_ellipsoid import wrap_ellipsoid
from .spatial import dot
from .wrap_common import Arc, Flags, Scalars, Signs, Touch, Vectors, passing_point


def touch(p: Vectors, s: Vectors, sizes: Vectors, axis: Signs, sign: Signs) -> Touch:
    p, s, sizes = lax.stop_gradient((p, s, sizes))
    real = jnp.all(sizes > 0, axis=0)
    a = jnp.where(real, sizes, 1.0)
    y, q = p / a, s / a
    inside = ((dot(y, y) < 1) | (dot(q, q) < 1)) & real
    t, within = passing_point(y, q)
    nearest = y + t * (q - y)
    engaged = within & (dot(nearest, nearest) < 1) & ~inside & real
    return Touch(engaged, engaged, inside, jnp.zeros_like(t))


def wrap(p: Vectors, s: Vectors, sizes: Vectors, axis: Signs, sign: Signs, where: Flags) -> Arc:
    a = jnp.where(where, sizes, 1.0)
    e = jnp.where(where, p, jnp.array([[2.0], [0.5], [0.1]]))
    f = jnp.where(where, s, jnp.array([[-2.0], [0.5], [0.1]]))
    found = jax.vmap(wrap_ellipsoid, -1, -1)(e, f, a, axis, sign)
    return Arc(
        jnp.where(where, found.tangents[0], p),
        jnp.where(where, found.tangents[1], s),
        jnp.where(where, found.arc_length, 0.0),
        found.converged | ~where,
    )


def along(
    P: Vectors, direction: Vectors, length: Scalars, sizes: Vectors, fractions: Float[Array, " f"]
) -> Float[Array, "f 3 n"]:
    raise NotImplementedError
