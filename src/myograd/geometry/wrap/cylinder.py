"""Shortest path over a cylinder about the z axis, in closed form. Sizes: radius, length.

Unrolled, path and cylinder lie in a plane: with l1, l2 the tangent lengths and T the angle turned on the cylinder, all
seen along the axis, the path climbs evenly over h = l1 + r T + l2, so L = sqrt(h^2 + (s_z - p_z)^2). The arc is a
helix, the true geodesic; OpenSim places its tangent points on a plane section instead. The tangent points of a point at
distance d from the axis are, seen along it, (r^2 p +- r l p') / d^2, with p' = p turned by a right angle.
The root is the direction round the axis: 1 anticlockwise, -1 clockwise.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..spatial import dot, materialized
from .common import Arc, Flags, Scalars, Signs, Vectors, root, turned, unless_zero


def arc(
    p: Vectors, s: Vectors, sizes: Vectors, axis: Signs, sign: Signs, side: Float[Array, "rows n"], where: Flags
) -> Arc:
    harmless = np.array([[2.0, -2.0], [1.0, 1.0], [0.0, 0.0]])  # where nothing wraps, so that no derivative is infinite
    e, f = jnp.where(where, p, harmless[:, :1]), jnp.where(where, s, harmless[:, 1:])
    r, side = jnp.where(where, sizes[0], 1.0), jnp.where(where, side[0], 1.0)
    P, line_p = _tangent_point(e, r, side)
    Q, line_s = _tangent_point(f, r, -side)
    turn = materialized(r * turned(side * (P[0] * Q[1] - P[1] * Q[0]), dot(P, Q), r * r))
    climb = (f[2] - e[2]) / (line_p + turn + line_s)
    P = jnp.concatenate([P, (e[2] + climb * line_p)[None]])
    Q = jnp.concatenate([Q, (f[2] - climb * line_s)[None]])
    length = turn * jnp.sqrt(1 + climb * climb)
    return Arc(jnp.where(where, P, p), jnp.where(where, Q, s), jnp.where(where, length, 0.0))


def _tangent_point(p: Vectors, r: Scalars, way: Scalars) -> tuple[Float[Array, "2 n"], Scalars]:
    """Seen along the axis: anticlockwise (way 1) or clockwise (-1) from p, and the length of the line."""
    p = p[:2]
    square = dot(p, p)
    line = root(square - r * r)
    return (r * r / square) * p + (way * r * line / square) * jnp.stack([-p[1], p[0]]), line


def along(
    P: Vectors, direction: Vectors, length: Scalars, sizes: Vectors, fractions: Float[Array, " f"]
) -> Float[Array, "f 3 n"]:
    """Points of the helix."""
    r = unless_zero(sizes[0])
    s = jnp.asarray(fractions)[:, None] * length
    angle = s * (P[0] * direction[1] - P[1] * direction[0]) / (r * r)
    c, k = jnp.cos(angle), jnp.sin(angle)
    return jnp.stack([c * P[0] - k * P[1], k * P[0] + c * P[1], P[2] + s * direction[2]], axis=1)
