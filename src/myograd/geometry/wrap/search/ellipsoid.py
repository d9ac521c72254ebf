"""Whether a segment touches an ellipsoid about the origin, and the geodesic over it. See `geometry.wrap.ellipsoid`, which
has the equations.

When it wraps (OpenSim, WrapEllipsoid::wrapLine): if the segment runs into the ellipsoid and neither end is inside.
Where it wraps: the guess is the shortest of the paths in planes through p and s (k constant); with a quadrant, of those
that are shortest among their neighbours and have the middle of their arc on the active side; if there is none, the one
nearest to that side. OpenSim takes the plane through a point near the middle of the segment instead, and the path in
that plane.
"""

from __future__ import annotations

import math

import numpy as np

from ..ritz import COARSE, FINE, TERMS
from .ritz_newton import length_by, step_by, tables_of, touching
from .vectors import (
    Vector,
    about_turned,
    compiled,
    component,
    cross,
    dot,
    minus,
    most_across,
    moved,
    norm,
    room,
    root,
    scaled,
)

_PLANES = 16  # tried for the guess
_APPROACH, _ITERATIONS = 8, 12  # with few terms, and with all of them
_NEAR = 1e-3  # last step with few terms
_STEADY = 1e-2  # after a step this short, the second derivatives are kept
_FOUND = 1e-7  # last step
_ROUNDING = 1e-13  # the step that would follow it

_COSINES, _SINES = np.cos(2 * np.pi / _PLANES * np.arange(_PLANES)), np.sin(2 * np.pi / _PLANES * np.arange(_PLANES))


@compiled
def touch(p: Vector, s: Vector, sizes: Vector, axis: int, sign: int) -> tuple[bool, bool, float, float]:
    """Engaged, mandatory, 0, 0."""
    if not (sizes[0] > 0 and sizes[1] > 0 and sizes[2] > 0):
        return False, False, 0.0, 0.0
    y, q = _over(p, sizes), _over(s, sizes)
    if dot(y, y) < 1 or dot(q, q) < 1:
        return False, False, 0.0, 0.0
    along = minus(q, y)
    square, back = dot(along, along), -dot(y, along)  # y + t along is nearest the centre at t = back / square
    engaged = 0 < back < square and (dot(y, y) - 1) * square < back * back
    return engaged, engaged, 0.0, 0.0


@compiled
def _over(x: Vector, a: Vector) -> Vector:
    return x[0] / a[0], x[1] / a[1], x[2] / a[2]


@compiled
def _times(x: Vector, a: Vector) -> Vector:
    return x[0] * a[0], x[1] * a[1], x[2] * a[2]


_OF_COARSE, _OF_FINE = tables_of(COARSE), tables_of(FINE)
_COARSE, _FINE = _OF_COARSE.weights, _OF_FINE.weights
_coarse, _coarse_step = length_by(_OF_COARSE), step_by(_OF_COARSE)
_fine, _fine_step = length_by(_OF_FINE), step_by(_OF_FINE)


@compiled
def find(
    p: Vector, s: Vector, a: Vector, axis: int, sign: int, z: np.ndarray, frame: np.ndarray, warm: bool
) -> tuple[Vector, Vector, float, bool]:
    """Tangent points, arc, and whether it was found. `z`: heights' series, `frame` [3, 3]: rows along, bulge and normal.
    Both are results; with `warm`, guesses too: those of a segment nearby."""
    if not warm:
        along, bulge, normal = _guess(p, s, a, axis, sign)
        for i in range(3):
            frame[0, i], frame[1, i], frame[2, i] = along[i], bulge[i], normal[i]
        z[:] = 0.0
        z[0] = dot(normal, _over(p, a))
    ends = room(2, 3)
    shape = room(2, 3, 3)  # metric, curvature
    y, q = _over(p, a), _over(s, a)
    for i in range(3):
        ends[0, i] = frame[i, 0] * y[0] + frame[i, 1] * y[1] + frame[i, 2] * y[2]
        ends[1, i] = frame[i, 0] * q[0] + frame[i, 1] * q[1] + frame[i, 2] * q[2]
        for j in range(3):
            shape[0, i, j] = shape[1, i, j] = 0.0
            for k in range(3):
                shape[0, i, j] += frame[i, k] * frame[j, k] * a[k] * a[k]
                shape[1, i, j] += frame[i, k] * frame[j, k] / (a[k] * a[k])
    volume = a[0] * a[1] * a[2]
    H, g = room(TERMS, TERMS), room(TERMS)
    if not warm:
        for _ in range(_APPROACH):
            _coarse(z, ends, shape, volume, H, g, True, _COARSE)
            if _coarse_step(z, H, g, True)[0] < _NEAR:
                break
    largest, before, length = 1.0, 1.0, 0.0
    for _ in range(_ITERATIONS):
        # The last step was long, or the kept derivatives serve badly.
        anew = largest > _STEADY or largest > 0.03 * before
        length = _fine(z, ends, shape, volume, H, g, anew, _FINE)
        before = largest
        largest, gained = _fine_step(z, H, g, anew)
        length -= gained
        # What the next step would be: the square of this one or, by kept derivatives, smaller in the same proportion.
        if largest < _FOUND and (anew or largest * largest < _ROUNDING * before):
            break
    P, Q = _end(z, frame, ends, a, 0), _end(z, frame, ends, a, 1)
    return P, Q, length - norm(minus(P, p)) - norm(minus(Q, s)), largest < _FOUND


@compiled
def _end(z: np.ndarray, frame: np.ndarray, ends: np.ndarray, a: Vector, end: int) -> Vector:
    k = 0.0
    for j in range(TERMS):
        k += z[j] * (1.0 if end == 1 or j % 2 == 0 else -1.0)
    x, y, _ = touching(k, ends, end)
    return _times(
        (
            frame[0, 0] * x + frame[1, 0] * y + frame[2, 0] * k,
            frame[0, 1] * x + frame[1, 1] * y + frame[2, 1] * k,
            frame[0, 2] * x + frame[1, 2] * y + frame[2, 2] * k,
        ),
        a,
    )


@compiled
def _guess(p: Vector, s: Vector, a: Vector, axis: int, sign: int) -> tuple[Vector, Vector, Vector]:
    """The frame (along, bulge, normal) of the shortest plane path, on the active side if there is a quadrant.

    In y, a plane through the segment cuts the unit sphere in a circle of radius r; p and s are at (t1, b) and (t2, b) in
    the directions (along, bulge) from its centre.
    """
    y, q = _over(p, a), _over(s, a)
    along = minus(q, y)
    along = scaled(1 / norm(along), along)
    e1 = cross(along, most_across(along))
    e1 = scaled(1 / norm(e1), e1)
    e2 = cross(along, e1)
    t1, m1, m2, t2 = dot(along, y), dot(e1, y), dot(e2, y), dot(along, q)
    u, v1, v2 = _times(a, along), _times(a, e1), _times(a, e2)
    uu, uv1, uv2, v11, v12, v22 = dot(u, u), dot(u, v1), dot(u, v2), dot(v1, v1), dot(v1, v2), dot(v2, v2)
    h0, h1, h2 = (sign * component(along, axis), sign * component(e1, axis), sign * component(e2, axis))
    lengths, heights = room(_PLANES), room(_PLANES)
    step = 2 * math.pi / _PLANES
    for i in range(_PLANES):
        c, k = _COSINES[i], _SINES[i]
        b, h = c * m1 + k * m2, c * m2 - k * m1
        square = max(1 - h * h, 1e-12)
        r = math.sqrt(square)
        uv, vv = c * uv1 + k * uv2, c * c * v11 + 2 * c * k * v12 + k * k * v22
        d1, d2 = t1 * t1 + b * b, t2 * t2 + b * b
        near1, aside1 = square / d1, r * root(d1 - square) / d1
        near2, aside2 = square / d2, -r * root(d2 - square) / d2
        P0, P1 = near1 * t1 + aside1 * b, near1 * b - aside1 * t1
        Q0, Q1 = near2 * t2 + aside2 * b, near2 * b - aside2 * t2
        cosine, sine = (P0 * Q0 + P1 * Q1) / square, (P1 * Q0 - P0 * Q1) / square
        # more than half a turn; but an arc that is empty but for rounding is no full one
        half_cosine, half_sine = (-1.0 if sine < -1e-12 else 1.0) * root((1 + cosine) / 2), root((1 - cosine) / 2)
        N0, N1 = half_cosine * P0 + half_sine * P1, half_cosine * P1 - half_sine * P0  # the middle of the arc
        speeds = _stretched(P1, -P0, uu, uv, vv) + 4 * _stretched(N1, -N0, uu, uv, vv) + _stretched(Q1, -Q0, uu, uv, vv)
        lines = _stretched(P0 - t1, P1 - b, uu, uv, vv) + _stretched(t2 - Q0, b - Q1, uu, uv, vv)
        lengths[i] = about_turned(sine, cosine) * speeds / 6 + lines  # Simpson's rule
        heights[i] = N0 * h0 + N1 * (c * h1 + k * h2) + h * (c * h2 - k * h1)
    longest, shortest = lengths[0], lengths[0]
    for i in range(_PLANES):
        longest, shortest = max(longest, lengths[i]), min(shortest, lengths[i])
    best, angle = np.inf, 0.0
    for i in range(_PLANES):
        before, here, after = lengths[i - 1], lengths[i], lengths[(i + 1) % _PLANES]
        if here <= before and here <= after:
            rank = here if heights[i] >= 0 else 3 * longest - shortest * heights[i]
            if rank < best:
                bend = before - 2 * here + after
                best, angle = rank, step * (i + ((before - after) / (2 * bend) if bend > 0 else 0.0))
    c, k = math.cos(angle), math.sin(angle)
    return along, moved(scaled(c, e1), k, e2), moved(scaled(c, e2), -k, e1)


@compiled
def _stretched(u: float, v: float, uu: float, uv: float, vv: float) -> float:
    """|a (u along + v bulge)|"""
    return math.sqrt(u * u * uu + 2 * u * v * uv + v * v * vv)
