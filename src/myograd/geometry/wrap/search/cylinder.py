"""Whether a segment touches a cylinder about the z axis, on which side, and the path over it. See `geometry.wrap.cylinder`.

When it wraps (OpenSim, WrapCylinder::wrapLine): never if an end is within r of the axis line. Without a quadrant, if
the segment comes within r of the axis line; it then goes round the short way. With a quadrant: if both ends are off
the active side, always; else if the segment runs into the cylinder, or if the ends are on different sides and the
point of the line nearest the axis is off the active side. The direction round the axis is the one whose tangent
points are on the active side, however far that is. Nowhere if both tangent points are beyond the ends of the
cylinder; for this decision only, the heights of the tangent points are OpenSim's. One difference: anticlockwise arcs
over half a turn, T, have the length r T here; OpenSim counts them as r (4 pi - T).
"""

from __future__ import annotations

import math

from .vectors import (
    Vector,
    compiled,
    component,
    cross,
    dot,
    minus,
    moved,
    norm,
    on_side,
    passing_point,
    root,
    scaled,
    turned,
)

Plane = tuple[float, float]


@compiled
def touch(p: Vector, s: Vector, sizes: Vector, axis: int, sign: int) -> tuple[bool, bool, float, float]:
    """Engaged, mandatory, excess over the straight line unless mandatory, and the side: 1 anticlockwise, -1 clockwise."""
    r = sizes[0]
    square = r * r
    if not r > 0:
        return False, False, 0.0, 0.0
    if p[0] * p[0] + p[1] * p[1] < square or s[0] * s[0] + s[1] * s[1] < square:
        return False, False, 0.0, 0.0
    t, within = passing_point((p[0], p[1], 0.0), (s[0], s[1], 0.0))
    nearest = moved(p, t, minus(s, p))
    crosses = within and nearest[0] * nearest[0] + nearest[1] * nearest[1] < square
    touches, some_on = crosses, True
    if sign != 0:
        p_on, s_on = on_side(component(p, axis), sign), on_side(component(s, axis), sign)
        some_on = p_on or s_on
        touches = crosses or not some_on or (p_on != s_on and not on_side(component(nearest, axis), sign))
    if not touches:
        return False, False, 0.0, 0.0
    side, far = _side(p, s, r, axis, sign)
    if _beyond(p, s, r, side, far, sizes[1]):
        return False, False, 0.0, 0.0
    if crosses and some_on:
        return True, True, 0.0, side
    _, _, line_p, line_s, arc = _seen(p, s, r, side)
    h, rise = line_p + arc + line_s, s[2] - p[2]
    return True, False, math.sqrt(h * h + rise * rise) - norm(minus(s, p)), side


@compiled
def find(p: Vector, s: Vector, sizes: Vector, side: float) -> tuple[Vector, Vector, float]:
    """Tangent points and length of the arc, a helix."""
    P, Q, line_p, line_s, arc = _seen(p, s, sizes[0], side)
    climb = (s[2] - p[2]) / (line_p + arc + line_s)
    return (P[0], P[1], p[2] + climb * line_p), (Q[0], Q[1], s[2] - climb * line_s), arc * math.sqrt(1 + climb * climb)


@compiled
def _tangent_point(p: Vector, r: float, way: float) -> tuple[Plane, float]:
    """Seen along the axis: where the line from p touches, anticlockwise (way 1) or clockwise (-1), and its length."""
    square = p[0] * p[0] + p[1] * p[1]
    line = root(square - r * r)
    near, aside = r * r / square, way * r * line / square
    return (near * p[0] - aside * p[1], near * p[1] + aside * p[0]), line


@compiled
def _seen(p: Vector, s: Vector, r: float, side: float) -> tuple[Plane, Plane, float, float, float]:
    P, line_p = _tangent_point(p, r, side)
    Q, line_s = _tangent_point(s, r, -side)
    arc = r * turned(side * (P[0] * Q[1] - P[1] * Q[0]), P[0] * Q[0] + P[1] * Q[1])
    return P, Q, line_p, line_s, arc


@compiled
def _side(p: Vector, s: Vector, r: float, axis: int, sign: int) -> tuple[float, bool]:
    """The direction round the axis, and whether that is the longer way."""
    if sign == 0:
        return (1.0 if p[0] * s[1] - p[1] * s[0] >= 0 else -1.0), False
    (p_plus, _), (p_minus, _) = _tangent_point(p, r, 1.0), _tangent_point(p, r, -1.0)
    (s_plus, _), (s_minus, _) = _tangent_point(s, r, 1.0), _tangent_point(s, r, -1.0)
    # the clockwise arc is the more acute
    back = p_plus[0] * s_minus[0] + p_plus[1] * s_minus[1] < p_minus[0] * s_plus[0] + p_minus[1] * s_plus[1]
    # For this choice, OpenSim has tangent points at the height of the ends.
    p_plus_on, p_minus_on = _on(p_plus, p[2], axis, sign), _on(p_minus, p[2], axis, sign)
    s_plus_on, s_minus_on = _on(s_plus, s[2], axis, sign), _on(s_minus, s[2], axis, sign)
    if p_plus_on:
        anticlockwise = not s_plus_on if p_minus_on else True
    elif p_minus_on or s_plus_on:
        anticlockwise = False
    else:
        anticlockwise = True if s_minus_on else back
    return (1.0 if anticlockwise else -1.0), anticlockwise == back


@compiled
def _on(point: Plane, height: float, axis: int, sign: int) -> bool:
    return on_side(component((point[0], point[1], height), axis), sign)


@compiled
def _beyond(p: Vector, s: Vector, r: float, side: float, far: bool, length: float) -> bool:
    """Whether OpenSim has both tangent points beyond the ends of the cylinder.

    It has them where the plane of p, s and an apex of the cylinder cuts their lines. The apex is level with the point m
    that divides p s as d1 : d2, across the plane of p, s and the axis at that level, on the side of m or, `far`, on the
    other. A height is used if it is no further from the other end's than this end's is, else that of the end.
    """
    rise = abs(s[2] - p[2])
    if max(abs(p[2]), abs(s[2])) + rise <= length / 2:  # none of those heights can be beyond
        return False
    (P, _), (Q, _) = _tangent_point(p, r, side), _tangent_point(s, r, -side)
    d1, d2 = math.sqrt(p[0] * p[0] + p[1] * p[1]), math.sqrt(s[0] * s[0] + s[1] * s[1])
    m = moved(p, d1 / (d1 + d2), minus(s, p))
    level = (0.0, 0.0, m[2])
    n = cross(minus(p, level), minus(s, level))
    size = math.sqrt(n[0] * n[0] + n[1] * n[1])
    size = r / size if size > 0 else r
    across = (-n[1] * size, n[0] * size, 0.0)
    if (dot(across, m) >= 0) == far:
        across = scaled(-1.0, across)
    apex = moved(level, 1.0, across)
    cut = cross(minus(p, apex), minus(s, apex))
    size = norm(cut)
    cut = scaled(1 / size if size > 0 else 1.0, cut)
    z1, z2 = p[2], s[2]
    if abs(cut[2]) > 5e-7:
        at_P = p[2] - (cut[0] * (P[0] - p[0]) + cut[1] * (P[1] - p[1])) / cut[2]
        at_Q = p[2] - (cut[0] * (Q[0] - p[0]) + cut[1] * (Q[1] - p[1])) / cut[2]
        if abs(at_P - s[2]) < rise:
            z1 = at_P
        if abs(at_Q - p[2]) < rise:
            z2 = at_Q
    return abs(z1) > length / 2 and abs(z2) > length / 2
