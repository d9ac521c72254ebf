"""Shortest path over a sphere about the origin, in closed form. Sizes: radius.

The path lies in the plane of p, s and the centre, with unit normal n; the arc is part of a great circle. The tangent
points of a point at distance d from the centre are (r^2 p +- r l n x p) / d^2, with l = sqrt(d^2 - r^2).

When it wraps (OpenSim, WrapSphere::wrapLine): if the segment runs into the sphere and neither end is inside. It goes
the short way, unless there is a quadrant with an end off its active side and the long way leaves the ends towards
that side. Two differences: OpenSim counts the arc of the long way as negative; and for lines within 1e-5 of the
centre it reuses the tangent points of an earlier pose, where here the plane is the one that contains the quadrant's
axis.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from .spatial import cross, dot, settled
from .wrap_common import (
    Arc,
    Flags,
    Scalars,
    Signs,
    Touch,
    Vectors,
    component,
    norm,
    on_side,
    passing_point,
    root,
    turned,
    unless_zero,
)


def touch(p: Vectors, s: Vectors, sizes: Vectors, axis: Signs, sign: Signs) -> Touch:
    p, s, r = lax.stop_gradient((p, s, sizes[0]))
    inside = (dot(p, p) < r * r) | (dot(s, s) < r * r)
    t, within = passing_point(p, s)
    nearest = p + t * (s - p)
    engaged = within & (dot(nearest, nearest) < r * r) & ~inside & (r > 0)
    p_on, s_on = (on_side(component(x, axis), sign) for x in (p, s))
    path = _path(*_safe(p, s, r, engaged), axis, sign)
    excess = path.line_p + path.arc + path.line_s - norm(s - p)
    return Touch(engaged, engaged & (p_on | s_on) & (sign != 0), inside, jnp.where(engaged, excess, 0.0))


def wrap(p: Vectors, s: Vectors, sizes: Vectors, axis: Signs, sign: Signs, where: Flags) -> Arc:
    path = _path(*_safe(p, s, sizes[0], where), axis, sign)
    return Arc(
        jnp.where(where, path.P, p),
        jnp.where(where, path.Q, s),
        jnp.where(where, path.arc, 0.0),
        jnp.ones_like(where, bool),
    )


def along(
    P: Vectors, direction: Vectors, length: Scalars, sizes: Vectors, fractions: Float[Array, " f"]
) -> Float[Array, "f 3 n"]:
    """Points of the great circle."""
    r = unless_zero(sizes[0])
    angle = (jnp.asarray(fractions)[:, None] * length / r)[:, None]
    return jnp.cos(angle) * P + jnp.sin(angle) * r * direction


class _Path(NamedTuple):
    P: Vectors
    Q: Vectors
    line_p: Scalars
    line_s: Scalars
    arc: Scalars


def _safe(p: Vectors, s: Vectors, r: Scalars, where: Flags) -> tuple[Vectors, Vectors, Scalars]:
    """The segments, with a harmless one where nothing wraps, so that no derivative is infinite."""
    harmless = np.array([[2.0, -2.0], [1.0, 1.0], [0.0, 0.0]])
    return jnp.where(where, p, harmless[:, :1]), jnp.where(where, s, harmless[:, 1:]), jnp.where(where, r, 1.0)


def _path(p: Vectors, s: Vectors, r: Scalars, axis: Signs, sign: Signs) -> _Path:
    n = settled(_plane_normal(p, s, axis, sign))

    def tangent_points(x: Vectors) -> tuple[Vectors, Vectors, Scalars]:
        square = dot(x, x)
        line = root(square - r * r)
        near, aside = (r * r / square) * x, (r * line / square) * cross(n, x)
        return near + aside, near - aside, line

    p_plus, p_minus, line_p = tangent_points(p)
    s_plus, s_minus, line_s = tangent_points(s)
    # The short way turns positively about n: it leaves p at `p_plus` and reaches s at `s_minus`.
    both_on = on_side(component(p, axis), sign) & on_side(component(s, axis), sign)
    long_way = (sign != 0) & ~both_on & (sign * component(p_minus - p + s_plus - s, axis) >= 0)
    P, Q = settled((jnp.where(long_way, p_minus, p_plus), jnp.where(long_way, s_plus, s_minus)))
    sine = dot(n, cross(P, Q))
    return _Path(P, Q, line_p, line_s, r * turned(jnp.where(long_way, -sine, sine), dot(P, Q), r * r))


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
