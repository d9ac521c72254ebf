"""Shortest path over a cylinder about the z axis, in closed form. Sizes: radius, length.

Unrolled, path and cylinder lie in a plane: with l1, l2 the tangent lengths and T the angle turned on the cylinder, all
seen along the axis, the path climbs evenly over h = l1 + r T + l2, so L = sqrt(h^2 + (s_z - p_z)^2). The arc is a
helix, the true geodesic; OpenSim places its tangent points on a plane section instead. The tangent points of a point at
distance d from the axis are, seen along it, (r^2 p +- r l p') / d^2, with p' = p turned by a right angle.

When it wraps (OpenSim, WrapCylinder::wrapLine): never if an end is within r of the axis line. Without a quadrant, if
the segment comes within r of the axis line; it then goes round the short way. With a quadrant: if both ends are off
the active side, always; else if the segment runs into the cylinder, or if the ends are on different sides and the
point of the line nearest the axis is off the active side. The direction round the axis is the one whose tangent
points are on the active side, however far that is. Nowhere if both tangent points are beyond the ends of the
cylinder; for this decision only, the heights of the tangent points are OpenSim's. One difference: anticlockwise arcs
over half a turn, T, have the length r T here; OpenSim counts them as r (4 pi - T).
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

Plane = Float[Array, "2 n"]


def touch(p: Vectors, s: Vectors, sizes: Vectors, axis: Signs, sign: Signs) -> Touch:
    p, s, sizes = lax.stop_gradient((p, s, sizes))
    r, length = sizes[0], sizes[1]
    inside = (dot(p[:2], p[:2]) < r * r) | (dot(s[:2], s[:2]) < r * r)
    t, within = passing_point(p[:2], s[:2])
    nearest = p + t * (s - p)
    crosses = within & (dot(nearest[:2], nearest[:2]) < r * r)
    p_on, s_on, nearest_on = (on_side(component(x, axis), sign) for x in (p, s, nearest))
    by_quadrant = crosses | ((p_on != s_on) & ~nearest_on) | ~(p_on | s_on)
    touches = jnp.where(sign != 0, by_quadrant, crosses) & ~inside & (r > 0)

    p, s, r = _safe(p, s, r, touches)
    seen = _seen_along_axis(p, s, r, axis, sign)
    engaged = touches & ~_beyond(p, s, r, seen, length)
    h, rise, straight = settled(seen.line_p + seen.arc + seen.line_s), s[2] - p[2], norm(s - p)
    excess = jnp.sqrt(h * h + rise * rise) - straight
    mandatory = engaged & crosses & jnp.where(sign != 0, p_on | s_on, True)
    return Touch(engaged, mandatory, inside, jnp.where(engaged, excess, 0.0))


def wrap(p: Vectors, s: Vectors, sizes: Vectors, axis: Signs, sign: Signs, where: Flags) -> Arc:
    e, f, r = _safe(p, s, sizes[0], where)
    seen = _seen_along_axis(e, f, r, axis, sign)
    arc = settled(seen.arc)
    climb = (f[2] - e[2]) / (seen.line_p + arc + seen.line_s)
    P = jnp.concatenate([seen.P, (e[2] + climb * seen.line_p)[None]])
    Q = jnp.concatenate([seen.Q, (f[2] - climb * seen.line_s)[None]])
    length = arc * jnp.sqrt(1 + climb * climb)
    return Arc(
        jnp.where(where, P, p), jnp.where(where, Q, s), jnp.where(where, length, 0.0), jnp.ones_like(where, bool)
    )


def along(
    P: Vectors, direction: Vectors, length: Scalars, sizes: Vectors, fractions: Float[Array, " f"]
) -> Float[Array, "f 3 n"]:
    """Points of the helix."""
    r = unless_zero(sizes[0])
    s = jnp.asarray(fractions)[:, None] * length
    angle = s * (P[0] * direction[1] - P[1] * direction[0]) / (r * r)
    c, k = jnp.cos(angle), jnp.sin(angle)
    return jnp.stack([c * P[0] - k * P[1], k * P[0] + c * P[1], P[2] + s * direction[2]], axis=1)


class _Seen(NamedTuple):
    """A path seen along the axis: tangent points, lengths of the lines and the arc, and how it was chosen."""

    P: Plane
    Q: Plane
    line_p: Scalars
    line_s: Scalars
    arc: Scalars
    far_side: Flags  # it goes round the longer way


def _safe(p: Vectors, s: Vectors, r: Scalars, where: Flags) -> tuple[Vectors, Vectors, Scalars]:
    """The segments, with a harmless one where nothing wraps, so that no derivative is infinite."""
    harmless = np.array([[2.0, -2.0], [1.0, 1.0], [0.0, 0.0]])
    return jnp.where(where, p, harmless[:, :1]), jnp.where(where, s, harmless[:, 1:]), jnp.where(where, r, 1.0)


def _tangent_points(p: Plane, r: Scalars) -> tuple[Plane, Plane, Scalars]:
    """Anticlockwise and clockwise from p, and the length of the lines to them."""
    square = dot(p, p)
    line = root(square - r * r)
    near, aside = (r * r / square) * p, (r * line / square) * jnp.stack([-p[1], p[0]])
    return near + aside, near - aside, line


def _seen_along_axis(p: Vectors, s: Vectors, r: Scalars, axis: Signs, sign: Signs) -> _Seen:
    p_plus, p_minus, line_p = _tangent_points(p[:2], r)
    s_plus, s_minus, line_s = _tangent_points(s[:2], r)
    shorter_back = dot(p_plus, s_minus) < dot(p_minus, s_plus)  # the clockwise arc is the more acute

    def on(point: Plane, end: Vectors) -> Flags:
        """For the choice of direction, OpenSim has tangent points at the height of the ends."""
        return on_side(component(jnp.stack([*point, end[2]]), axis), sign)

    # OpenSim's choice with a quadrant. Anticlockwise leaves p at `p_plus` and reaches s at `s_minus`.
    p_plus_on, p_minus_on, s_plus_on, s_minus_on = on(p_plus, p), on(p_minus, p), on(s_plus, s), on(s_minus, s)
    neither = jnp.where(s_plus_on, False, jnp.where(s_minus_on, True, shorter_back))
    by_quadrant = jnp.where(p_plus_on, jnp.where(p_minus_on, ~s_plus_on, True), jnp.where(p_minus_on, False, neither))
    anticlockwise = jnp.where(sign != 0, by_quadrant, p[0] * s[1] - p[1] * s[0] >= 0)
    P, Q = jnp.where(anticlockwise, p_plus, p_minus), jnp.where(anticlockwise, s_minus, s_plus)
    sine = P[0] * Q[1] - P[1] * Q[0]
    arc = r * turned(jnp.where(anticlockwise, sine, -sine), dot(P, Q), r * r)
    return _Seen(P, Q, line_p, line_s, arc, (sign != 0) & (anticlockwise == shorter_back))


def _beyond(p: Vectors, s: Vectors, r: Scalars, seen: _Seen, length: Scalars) -> Flags:
    """Whether OpenSim has both tangent points beyond the ends of the cylinder.

    It has them where the plane of p, s and an apex of the cylinder cuts their lines. The apex is level with the point m
    that divides p s as d1 : d2, across the plane of p, s and the axis at that level, on the side of m or, `far_side`, on
    the other. A height is used if it is between the ends, else that of the end.
    """
    d1, d2 = norm(p[:2]), norm(s[:2])
    m = p + d1 / (d1 + d2) * (s - p)
    zero = jnp.zeros_like(r)
    level = jnp.stack([zero, zero, m[2]])
    n = cross(p - level, s - level)
    across = jnp.stack([-n[1], n[0], zero])
    across = r / unless_zero(norm(across)) * across
    apex = settled(level + jnp.where((dot(across, m) >= 0) == seen.far_side, -across, across))
    cut = cross(p - apex, s - apex)
    cut = settled(cut / unless_zero(norm(cut)))
    cuts = jnp.abs(cut[2]) > 5e-7
    slope = -cut[:2] / jnp.where(cuts, cut[2], 1.0)
    z1, z2 = p[2] + dot(slope, seen.P - p[:2]), p[2] + dot(slope, seen.Q - p[:2])
    rise = jnp.abs(s[2] - p[2])
    z1 = jnp.where(cuts & (jnp.abs(z1 - s[2]) < rise), z1, p[2])
    z2 = jnp.where(cuts & (jnp.abs(z2 - p[2]) < rise), z2, s[2])
    return (jnp.abs(z1) > length / 2) & (jnp.abs(z2) > length / 2)
