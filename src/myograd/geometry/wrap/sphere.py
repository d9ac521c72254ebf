"""Shortest path over a sphere about the origin, in closed form. Sizes: radius.

The path lies in the plane of p, s and the centre, with unit normal n; the arc is part of a great circle. The tangent
points of a point at distance d from the centre are (r^2 p +- r l n x p) / d^2, with l = sqrt(d^2 - r^2).
The root is the way: 1 the short one, -1 the long one.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..spatial import cross, dot, materialized, norm
from .common import Arc, Flags, Scalars, Signs, Vectors, root, turned, unless_zero


def arc(
    p: Vectors, s: Vectors, sizes: Vectors, axis: Signs, sign: Signs, way: Float[Array, "rows n"], where: Flags
) -> Arc:
    harmless = np.array([[2.0, -2.0], [1.0, 1.0], [0.0, 0.0]])  # where nothing wraps, so that no derivative is infinite
    e, f = jnp.where(where, p, harmless[:, :1]), jnp.where(where, s, harmless[:, 1:])
    r, way = jnp.where(where, sizes[0], 1.0), jnp.where(where, way[0], 1.0)
    n = materialized(_plane_normal(e, f, axis, sign))
    P, Q = materialized((_tangent_point(e, r, n, way), _tangent_point(f, r, n, -way)))
    length = r * turned(way * dot(n, cross(P, Q)), dot(P, Q), r * r)
    return Arc(jnp.where(where, P, p), jnp.where(where, Q, s), jnp.where(where, length, 0.0))


def _tangent_point(x: Vectors, r: Scalars, n: Vectors, way: Scalars) -> Vectors:
    square = dot(x, x)
    return (r * r / square) * x + (way * r * root(square - r * r) / square) * cross(n, x)


def _plane_normal(p: Vectors, s: Vectors, axis: Signs, sign: Signs) -> Vectors:
    """Unit normal of the plane of p, s and the centre, such that the short way from p to s turns positively about it.

    For p and s on a line through the centre: the plane that also contains the quadrant's axis, or, if there is none,
    the coordinate axis most across the line.
    """
    n = cross(p, s)
    degenerate = dot(n, n) <= 1e-24 * dot(p, p) * dot(s, s)
    axes = np.arange(3)[:, None]
    quadrant = jnp.where(axes == axis, sign, 0.0)
    sideways = cross(p, quadrant)
    across = jnp.where(axes == jnp.argmin(jnp.abs(p), axis=0), 1.0, 0.0)
    usable = dot(sideways, sideways) > 1e-12 * dot(p, p)
    n = jnp.where(degenerate, jnp.where(usable, sideways, cross(p, across)), n)
    return n / norm(n)


def along(
    P: Vectors, direction: Vectors, length: Scalars, sizes: Vectors, fractions: Float[Array, " f"]
) -> Float[Array, "f 3 n"]:
    """Points of the great circle."""
    r = unless_zero(sizes[0])
    angle = (jnp.asarray(fractions)[:, None] * length / r)[:, None]
    return jnp.cos(angle) * P + jnp.sin(angle) * r * direction
