"""Shortest path over a sphere about the origin, in closed form.

The path lies in the plane of p, s and the centre: with d1, d2 the distances of the ends from the centre and w the
angle turned, L = e(d1) + e(d2) + r w, where e is the tangent length minus its arc (`tangent_excess`). The arc is part
of a great circle.

When it wraps (OpenSim, WrapSphere::wrapLine): if the segment runs into the sphere and neither end is inside. It goes
the short way, unless there is a quadrant with an end off its active side and the long way leaves the ends towards
that side. Two differences: OpenSim counts the arc of the long way as negative; and for lines within 1e-5 of the
centre it reuses the tangent points of an earlier pose, where here the plane is the one that contains the quadrant's
axis.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from myograd.geometry.wrap_common import Wrap, assemble, norm, on_side, passing_point, tangent_angle, tangent_excess


def wrap_sphere(p: Array, s: Array, radius: ArrayLike, quadrant_axis: ArrayLike, quadrant_sign: ArrayLike) -> Wrap:
    """Wraps the segment p -> s (each [3], metres, in the sphere's frame) over a sphere about the origin.

    `quadrant_sign` is 0 (all) or +-1 with `quadrant_axis` 0, 1, 2.
    """
    r = jnp.asarray(radius)
    inside = (norm(p) < r) | (norm(s) < r)
    t, within = passing_point(p, s)
    engaged = within & (norm(p + t * (s - p)) < r) & ~inside

    # Where nothing wraps, the formulas below get a harmless path, so that no derivative of theirs is infinite.
    e = jnp.where(engaged, p, jnp.stack([2 * r, r, 0 * r]))
    f = jnp.where(engaged, s, jnp.stack([-2 * r, r, 0 * r]))
    d1, d2 = norm(e), norm(f)
    a1, a2 = tangent_angle(d1, r), tangent_angle(d2, r)
    between = jnp.arctan2(norm(jnp.cross(e, f)), e @ f)

    axis = jnp.where(jnp.arange(3) == quadrant_axis, quadrant_sign, 0.0)
    n = _plane_normal(e, f, axis)
    # The long way leaves p at -a1 and reaches s at +a2 about n.
    leave, reach = _turned(e, n, -a1, r / d1), _turned(f, n, a2, r / d2)
    both_on = on_side(p, quadrant_axis, quadrant_sign) & on_side(s, quadrant_axis, quadrant_sign)
    any_on = on_side(p, quadrant_axis, quadrant_sign) | on_side(s, quadrant_axis, quadrant_sign)
    constrained = jnp.asarray(quadrant_sign) != 0
    long_way = constrained & ~both_on & ((leave - e + reach - f) @ axis >= 0)

    turn = jnp.where(long_way, 2 * jnp.pi - between, between)
    length = tangent_excess(d1, r) + tangent_excess(d2, r) + r * turn
    way = jnp.where(long_way, -1.0, 1.0)
    tangents = jnp.stack([_turned(e, n, way * a1, r / d1), _turned(f, n, -way * a2, r / d2)])
    mandatory = any_on & constrained
    return assemble(p, s, engaged, mandatory, inside, length, tangents, r * (turn - a1 - a2))


def _plane_normal(p: Array, s: Array, axis: Array) -> Array:
    """Unit normal of the plane of p, s and the centre, such that the short way from p to s turns positively about it.

    For p and s on a line through the centre: the plane that also contains the quadrant's axis, or, if there is none,
    the coordinate axis most across the line.
    """
    n = jnp.cross(p, s)
    degenerate = norm(n) <= 1e-12 * norm(p) * norm(s)
    across = jnp.where(jnp.arange(3) == jnp.argmin(jnp.abs(p)), 1.0, 0.0)
    fallback = jnp.cross(p, jnp.where(norm(jnp.cross(p, axis)) > 1e-6 * norm(p), axis, across))
    n = jnp.where(degenerate, fallback, n)
    return n / norm(n)


def _turned(point: Array, n: Array, angle: Array, scale: Array) -> Array:
    """`point` (across n) turned about n by `angle`, its length multiplied by `scale`."""
    return scale * (jnp.cos(angle) * point + jnp.sin(angle) * jnp.cross(n, point))
