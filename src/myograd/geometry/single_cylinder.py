"""Shortest path over a cylinder about the z axis, in closed form.

Unrolled, path and cylinder lie in a plane: with l1, l2 the tangent lengths and T the angle turned, all seen along the
axis, the path climbs evenly over h = l1 + r T + l2, so L = sqrt(h^2 + (s_z - p_z)^2). The arc is a helix, the true
geodesic; OpenSim places its tangent points on a plane section instead.

When it wraps (OpenSim, WrapCylinder::wrapLine): never if an end is within r of the axis line. Without a quadrant, if
the segment comes within r of the axis line; it then goes round the short way. With a quadrant: if both ends are off
the active side, always; else if the segment runs into the cylinder, or if the ends are on different sides and the
point of the line nearest the axis is off the active side. The direction round the axis is the one whose tangent
points are on the active side, however far that is. Nowhere if both tangent points are beyond the ends of the
cylinder; for this decision only, the heights of the tangent points are OpenSim's. One difference: anticlockwise arcs
over half a turn, T, have the length r T here; OpenSim counts them as r (4 pi - T).
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from myograd.geometry.single_common import (
    Wrap,
    assemble,
    norm,
    on_side,
    passing_point,
    root,
    tangent_angle,
    tangent_excess,
)


def wrap_cylinder(
    p: Array, s: Array, radius: ArrayLike, length: ArrayLike, quadrant_axis: ArrayLike, quadrant_sign: ArrayLike
) -> Wrap:
    """Wraps the segment p -> s (each [3], metres, in the cylinder's frame) over a cylinder.

    The axis is z, from -length/2 to length/2. `quadrant_sign` is 0 (all) or +-1 with `quadrant_axis` 0, 1, 2.
    """
    r = jnp.asarray(radius)
    inside = (norm(p[:2]) < r) | (norm(s[:2]) < r)
    constrained = jnp.asarray(quadrant_sign) != 0
    t, within = passing_point(p[:2], s[:2])
    nearest = p + t * (s - p)
    crosses = within & (norm(nearest[:2]) < r)
    p_on, s_on = on_side(p, quadrant_axis, quadrant_sign), on_side(s, quadrant_axis, quadrant_sign)
    passes_off_side = (p_on != s_on) & ~on_side(nearest, quadrant_axis, quadrant_sign)
    touches = jnp.where(constrained, crosses | passes_off_side | ~(p_on | s_on), crosses) & ~inside & (r > 0)

    # Where nothing wraps, the formulas below get a harmless path, so that no derivative of theirs is infinite.
    e = jnp.where(touches, p, jnp.stack([2 * r, r, 0 * r]))
    f = jnp.where(touches, s, jnp.stack([-2 * r, r, 0 * r]))
    d1, d2 = norm(e[:2]), norm(f[:2])
    a1, a2 = tangent_angle(d1, r), tangent_angle(d2, r)
    between = jnp.arctan2(e[0] * f[1] - e[1] * f[0], e[:2] @ f[:2])  # angle from p to s, counter-clockwise

    shorter_back = jnp.cos(between - a1 - a2) < jnp.cos(between + a1 + a2)  # the clockwise arc is the more acute
    by_quadrant = _anticlockwise(e, f, a1, a2, d1, d2, r, shorter_back, quadrant_axis, quadrant_sign)
    anticlockwise = jnp.where(constrained, by_quadrant, between >= 0)
    direction = jnp.where(anticlockwise, 1.0, -1.0)
    turn = direction * between
    turn = jnp.where(turn < 0, turn + 2 * jnp.pi, turn)
    turn = jnp.where(turn < a1 + a2, turn + 2 * jnp.pi, turn)

    l1, l2 = root(d1 * d1 - r * r), root(d2 * d2 - r * r)
    planar = tangent_excess(d1, r) + tangent_excess(d2, r) + r * turn
    arc = r * (turn - a1 - a2)
    climb = (f[2] - e[2]) / planar
    tangent1 = _beside(e, direction * a1, d1, r, e[2] + climb * l1)
    tangent2 = _beside(f, -direction * a2, d2, r, f[2] - climb * l2)
    far_side = constrained & (anticlockwise == shorter_back)
    beyond = jnp.all(jnp.abs(_opensim_heights(e, f, tangent1, tangent2, d1, d2, r, far_side)) > length / 2)

    engaged = touches & ~beyond
    steepness = jnp.sqrt(1 + climb * climb)
    mandatory = crosses & jnp.where(constrained, p_on | s_on, True)
    return assemble(
        p, s, engaged, mandatory, inside, planar * steepness, jnp.stack([tangent1, tangent2]), arc * steepness
    )


def _beside(point: Array, angle: Array, d: Array, r: Array, z: Array) -> Array:
    """The point of the cylinder at `angle` (anticlockwise about the axis) from `point`, which is d from the axis."""
    c, k = jnp.cos(angle) * r / d, jnp.sin(angle) * r / d
    return jnp.stack([c * point[0] - k * point[1], k * point[0] + c * point[1], z])


def _anticlockwise(
    p: Array,
    s: Array,
    a1: Array,
    a2: Array,
    d1: Array,
    d2: Array,
    r: Array,
    shorter_back: Array,
    axis: ArrayLike,
    sign: ArrayLike,
) -> Array:
    """OpenSim's choice of direction with a quadrant: which tangent points (at the heights of the ends) are on its
    side.

    Anticlockwise leaves p at +a1 and reaches s at -a2; clockwise leaves at -a1 and reaches at +a2.
    """
    p_plus, p_minus = (on_side(_beside(p, x, d1, r, p[2]), axis, sign) for x in (a1, -a1))
    s_plus, s_minus = (on_side(_beside(s, x, d2, r, s[2]), axis, sign) for x in (a2, -a2))
    neither = jnp.where(s_plus, False, jnp.where(s_minus, True, shorter_back))
    return jnp.where(p_plus, jnp.where(p_minus, ~s_plus, True), jnp.where(p_minus, False, neither))


def _opensim_heights(p: Array, s: Array, P: Array, Q: Array, d1: Array, d2: Array, r: Array, far_side: Array) -> Array:
    """Heights [2] at which OpenSim has the tangent points: where the plane of p, s and an apex of the cylinder cuts
    them.

    The apex is level with the point m that divides p s as d1 : d2, across the plane of p, s and the axis at that
    level, on the side of m or, `far_side`, on the other. A height is used if it is between the ends, else that of the
    end.
    """
    m = p + d1 / (d1 + d2) * (s - p)
    level = jnp.stack([0 * r, 0 * r, m[2]])
    n = jnp.cross(p - level, s - level)
    across = jnp.stack([-n[1], n[0], 0 * r])
    across = r * across / jnp.where(norm(across) > 0, norm(across), 1.0)
    apex = level + jnp.where((across @ m >= 0) == far_side, -across, across)
    cut = jnp.cross(p - apex, s - apex)
    cut = cut / jnp.where(norm(cut) > 0, norm(cut), 1.0)
    cuts = jnp.abs(cut[2]) > 5e-7
    slope = -cut[:2] / jnp.where(cuts, cut[2], 1.0)
    z1, z2 = p[2] + slope @ (P - p)[:2], p[2] + slope @ (Q - p)[:2]
    rise = jnp.abs(s[2] - p[2])
    z1 = jnp.where(cuts & (jnp.abs(z1 - s[2]) < rise), z1, p[2])
    z2 = jnp.where(cuts & (jnp.abs(z2 - p[2]) < rise), z2, s[2])
    return jnp.stack([z1, z2])
