"""Whether a segment touches a sphere about the origin, and the path over it. See `geometry.wrap.sphere`.

When it wraps (OpenSim, WrapSphere::wrapLine): if the segment runs into the sphere and neither end is inside. It goes
the short way, unless there is a quadrant with an end off its active side and the long way leaves the ends towards
that side. Two differences: OpenSim counts the arc of the long way as negative; and for lines within 1e-5 of the
centre it reuses the tangent points of an earlier pose, where here the plane is the one that contains the quadrant's
axis.
"""

from __future__ import annotations

from .vectors import (
    Vector,
    compiled,
    component,
    cross,
    dot,
    minus,
    most_across,
    moved,
    norm,
    on_side,
    passing_point,
    root,
    scaled,
    turned,
    unit,
)


@compiled
def touch(p: Vector, s: Vector, sizes: Vector, axis: int, sign: int) -> tuple[bool, bool, float, float]:
    """Engaged, mandatory, excess over the straight line, and the way: 1 short, -1 long."""
    square = sizes[0] * sizes[0]
    if not sizes[0] > 0:
        return False, False, 0.0, 0.0
    if dot(p, p) < square or dot(s, s) < square:
        return False, False, 0.0, 0.0
    t, within = passing_point(p, s)
    nearest = moved(p, t, minus(s, p))
    if not (within and dot(nearest, nearest) < square):
        return False, False, 0.0, 0.0
    p_on, s_on = on_side(component(p, axis), sign), on_side(component(s, axis), sign)
    way = 1.0
    if sign != 0 and not (p_on and s_on):
        n = plane_normal(p, s, axis, sign)
        p_minus, s_plus = _tangent_point(p, sizes[0], n, -1.0), _tangent_point(s, sizes[0], n, 1.0)
        if sign * (component(minus(p_minus, p), axis) + component(minus(s_plus, s), axis)) >= 0:
            way = -1.0
    P, Q, arc = find(p, s, sizes, axis, sign, way)
    excess = norm(minus(P, p)) + arc + norm(minus(s, Q)) - norm(minus(s, p))
    return True, sign != 0 and (p_on or s_on), excess, way


@compiled
def find(p: Vector, s: Vector, sizes: Vector, axis: int, sign: int, way: float) -> tuple[Vector, Vector, float]:
    """Tangent points and length of the arc, part of a great circle."""
    n = plane_normal(p, s, axis, sign)
    P, Q = _tangent_point(p, sizes[0], n, way), _tangent_point(s, sizes[0], n, -way)
    return P, Q, sizes[0] * turned(way * dot(n, cross(P, Q)), dot(P, Q))


@compiled
def _tangent_point(x: Vector, r: float, n: Vector, way: float) -> Vector:
    square = dot(x, x)
    near, aside = r * r / square, way * r * root(square - r * r) / square
    return moved(scaled(near, x), aside, cross(n, x))


@compiled
def plane_normal(p: Vector, s: Vector, axis: int, sign: int) -> Vector:
    """Unit normal of the plane of p, s and the centre, such that the short way from p to s turns positively about it.

    For p and s on a line through the centre: the plane that also contains the quadrant's axis, or, if there is none,
    the coordinate axis most across the line.
    """
    n = cross(p, s)
    if dot(n, n) <= 1e-24 * dot(p, p) * dot(s, s):
        n = cross(p, unit(axis, float(sign)))
        if not dot(n, n) > 1e-12 * dot(p, p):
            n = cross(p, most_across(p))
    return scaled(1 / norm(n), n)
