"""Whether a segment touches an ellipsoid about the origin, and the geodesic over it. See `geometry.wrap_ellipsoid`, which
has the equations.

When it wraps (OpenSim, WrapEllipsoid::wrapLine): if the segment runs into the ellipsoid and neither end is inside.
Where it wraps: the guess is the shortest of the paths in planes through p and s (k constant); with a quadrant, of those
that are shortest among their neighbours and have the middle of their arc on the active side; if there is none, the one
nearest to that side. OpenSim takes the plane through a point near the middle of the segment instead, and the path in
that plane.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..ritz import COARSE, FINE, TERMS, Rule
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
    sine_cosine,
)

_PLANES = 16  # tried for the guess
_APPROACH, _ITERATIONS = 8, 12  # with few terms, and with all of them
_LONGEST = 0.3  # step in k
_NEAR = 1e-3  # last step with few terms
_STEADY = 1e-2  # after a step this short, the second derivatives are kept
_FOUND = 1e-7  # last step
_ROUNDING = 1e-13  # the step that would follow it
_TINY = 1e-24  # keeps speeds of arcs and lengths of lines from zero

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


@compiled
def _touching(k: float, ends: np.ndarray, end: int) -> tuple[float, float, float]:
    """The point of the unit sphere at height k where a line from the end touches it, and its d theta / d k."""
    x, y, z = ends[end, 0], ends[end, 1], ends[end, 2]
    rest, square, rho2 = 1 - k * z, x * x + y * y, 1 - k * k
    aside = (1.0 if end == 0 else -1.0) * root(rho2 * square - rest * rest)
    slope = rho2 * aside
    return (
        (rest * x + aside * y) / square,
        (rest * y - aside * x) / square,
        (z - k) / (slope if slope != 0 else 1.0),
    )


@compiled
def _upper(m: np.ndarray) -> tuple[float, float, float, float, float, float]:
    return m[0, 0], m[0, 1], m[0, 2], m[1, 1], m[1, 2], m[2, 2]


def _newton_by(rule: Rule) -> tuple[Callable[..., float], Callable[..., tuple[float, float]], np.ndarray]:
    """The functions below for one rule, whose tables and sizes the compiler then knows. It works on several nodes at once: they
    come last in tables, and are filled up to a multiple of 4 by some of weight 0."""
    real, terms = rule.basis.shape
    most, last = -(-real // 4) * 4, real - 1

    def filled(x: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(np.pad(x, [(0, most - real)] + [(0, 0)] * (x.ndim - 1), mode="edge").T)

    basis, basis_slopes, basis_bends = filled(rule.basis), filled(rule.slopes), filled(rule.bends)
    derivative, shares = filled(rule.derivative), filled(rule.shares)[1].copy()
    ways = np.array([(1.0, -1.0)[j % 2] for j in range(terms)])  # the terms at t = -1; all are 1 at t = 1

    @compiled
    def second(z, at, dtheta, density, speed, bent, H, weights) -> None:
        """The second variation: `w` is the sideways motion of the path per term, `dw` its derivative.

        Moved by (d theta, d k), a path moves sideways by w = density (theta' d k - k' d theta).
        """
        count = len(weights)
        theta0_k, theta1_k = at[0, 1], at[1, 1]
        w, dw, curled = room(terms, most), room(terms, most), room(most)
        grown, dk, ddk, width = room(most), room(most), room(most), room(most)
        for i in range(count):
            grown[i] = dk[i] = ddk[i] = 0.0
            width[i] = math.sqrt(weights[i] / speed[i])
        for n in range(last + 1):
            for i in range(count):
                grown[i] += derivative[n, i] * density[n]
        for j in range(1, terms):
            for i in range(count):
                dk[i] += basis_slopes[j, i] * z[j]
                ddk[i] += basis_bends[j, i] * z[j]
        for j in range(terms):
            sign = ways[j]
            for i in range(count):
                share, here = shares[i], density[i]
                from_first, from_last = sign * (1 - share) * theta0_k, share * theta1_k
                aside = basis[j, i] * dtheta - (from_first + from_last) * dk[i]
                turn = 0.5 * (theta1_k - sign * theta0_k)
                slope = basis_slopes[j, i] * dtheta - (from_first + from_last) * ddk[i] - turn * dk[i]
                w[j, i] = here * aside
                dw[j, i] = width[i] * (grown[i] * aside + here * slope)
        for j in range(terms):
            at_first, at_last = w[j, 0] / at[0, 2], w[j, last] / at[1, 2]
            for i in range(count):
                curled[i] = bent[i] * w[j, i]
            for n in range(j + 1):
                total = at_first * w[n, 0] + at_last * w[n, last]
                for i in range(count):
                    total += dw[j, i] * dw[n, i] - curled[i] * w[n, i]
                H[j, n] = total

    @compiled
    def course(z, ends, metric, curvature, volume, H, g, with_bends, weights):
        """The length of the path with the series z; its slopes with z go to `g`, its second derivatives to `H` if asked for."""
        total, count = 0.0, len(weights)
        m00, m01, m02, m11, m12, m22 = _upper(metric)
        c00, c01, c02, c11, c12, c22 = _upper(curvature)
        tiny = _TINY * m00
        at = room(2, 4)  # of both ends: theta, theta_k, line, line_k
        for end in range(2):
            k = 0.0
            for j in range(terms):
                k += z[j] * (1.0 if end == 1 else ways[j])
            x, y, theta_k = _touching(k, ends, end)
            gx, gy, gz = x - ends[end, 0], y - ends[end, 1], k - ends[end, 2]
            px, py, pz = m00 * gx + m01 * gy + m02 * gz, m01 * gx + m11 * gy + m12 * gz, m02 * gx + m12 * gy + m22 * gz
            line = math.sqrt(px * gx + py * gy + pz * gz + tiny)
            spread = k / (1 - k * k)
            line_k = (px * (theta_k * y - spread * x) - py * (theta_k * x + spread * y) + pz) / line
            at[end, 0], at[end, 1], at[end, 2], at[end, 3] = math.atan2(x, y), theta_k, line, line_k
            total += line
        first, turn = at[0, 0], at[1, 0] - at[0, 0]
        dtheta = turn / 2
        heights, climbs = room(most), room(most)
        for i in range(count):
            heights[i] = z[0]
            climbs[i] = 0.0
        for j in range(1, terms):
            for i in range(count):
                heights[i] += basis[j, i] * z[j]
                climbs[i] += basis_slopes[j, i] * z[j]
        density, speed, bent = room(most), room(most), room(most)
        by_k, by_dk = room(most), room(most)  # slopes with k and k' at the nodes
        by_first = by_last = 0.0  # slopes with theta at both ends
        for i in range(count):
            k, dk, share, weight = heights[i], climbs[i], shares[i], weights[i]
            sine, cosine = sine_cosine(first + share * turn)
            square = 1 - k * k
            rho = math.sqrt(square if square > 1e-6 else 1e-6)
            rho_k = -k / rho
            x, y = rho * sine, rho * cosine
            drho = rho_k * dk
            dx, dy = drho * sine + dtheta * y, drho * cosine - dtheta * x
            gx, gy, gz = m00 * dx + m01 * dy + m02 * dk, m01 * dx + m11 * dy + m12 * dk, m02 * dx + m12 * dy + m22 * dk
            f = math.sqrt(gx * dx + gy * dy + gz * dk + tiny)
            per_f = 1 / f
            gx, gy, gz = gx * per_f, gy * per_f, gz * per_f
            radial, around = gx * sine + gy * cosine, gx * cosine - gy * sine
            rho_kk = (rho_k * rho_k + 1) / rho
            f_theta, f_dtheta = weight * (gx * dy - gy * dx), weight * (gx * y - gy * x)
            by_k[i] = weight * (rho_k * dtheta * around - dk * rho_kk * radial)
            by_dk[i] = weight * (rho_k * radial + gz)
            by_first += (1 - share) * f_theta - 0.5 * f_dtheta
            by_last += share * f_theta + 0.5 * f_dtheta
            total += weight * f
            curved = c00 * x * x + c11 * y * y + c22 * k * k + 2 * (c01 * x * y + c02 * x * k + c12 * y * k)
            density[i], speed[i] = volume * math.sqrt(curved) * per_f, f
            bent[i] = weight * f / (volume * curved) ** 2
        by_first, by_last = by_first * at[0, 1] + at[0, 3], by_last * at[1, 1] + at[1, 3]
        for j in range(terms):
            slope = by_last + ways[j] * by_first
            for i in range(count):
                slope += by_k[i] * basis[j, i] + by_dk[i] * basis_slopes[j, i]
            g[j] = slope
        if with_bends:
            second(z, at, dtheta, density, speed, bent, H, weights)
        return total

    @compiled
    def step(z, H, g, anew):
        """Newton's step from slopes g: its largest entry and what it takes off the length. If anew, H becomes its factor:
        H = L D L^T with L below the diagonal, 1 / D on it, and L D, mirrored, above."""
        if anew:
            for j in range(terms):
                pivot = H[j, j]
                for i in range(j):
                    scaled = H[j, i]
                    for k in range(i):
                        scaled -= H[k, j] * H[i, k]
                    H[i, j] = scaled
                    H[j, i] = scaled * H[i, i]
                    pivot -= scaled * H[j, i]
                H[j, j] = 1 / pivot if pivot != 0 else 1.0
        dz = room(terms)
        for j in range(terms):
            value = g[j]
            for k in range(j):
                value -= H[j, k] * dz[k]
            dz[j] = value
        for j in range(terms):
            dz[j] *= H[j, j]
        for j in range(terms - 1, -1, -1):
            for k in range(j):  # of the terms before it
                dz[k] -= H[j, k] * dz[j]
        largest = gained = 0.0
        for j in range(terms):
            largest = max(largest, abs(dz[j]))
            gained += g[j] * dz[j] / 2
        if not largest < np.inf:
            return np.inf, 0.0
        share = _LONGEST / max(largest, _LONGEST)
        for j in range(terms):
            z[j] -= share * dz[j]
        return largest, gained

    return course, step, np.pad(rule.weights, (0, most - real))


(_coarse, _coarse_step, _COARSE), (_fine, _fine_step, _FINE) = _newton_by(COARSE), _newton_by(FINE)


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
    metric, curvature = room(3, 3), room(3, 3)
    y, q = _over(p, a), _over(s, a)
    for i in range(3):
        ends[0, i] = frame[i, 0] * y[0] + frame[i, 1] * y[1] + frame[i, 2] * y[2]
        ends[1, i] = frame[i, 0] * q[0] + frame[i, 1] * q[1] + frame[i, 2] * q[2]
        for j in range(3):
            metric[i, j] = curvature[i, j] = 0.0
            for k in range(3):
                metric[i, j] += frame[i, k] * frame[j, k] * a[k] * a[k]
                curvature[i, j] += frame[i, k] * frame[j, k] / (a[k] * a[k])
    volume = a[0] * a[1] * a[2]
    H, g = room(TERMS, TERMS), room(TERMS)
    if not warm:
        for _ in range(_APPROACH):
            _coarse(z, ends, metric, curvature, volume, H, g, True, _COARSE)
            if _coarse_step(z, H, g, True)[0] < _NEAR:
                break
    largest, before, length = 1.0, 1.0, 0.0
    for _ in range(_ITERATIONS):
        # The last step was long, or the kept derivatives serve badly.
        anew = largest > _STEADY or largest > 0.03 * before
        length = _fine(z, ends, metric, curvature, volume, H, g, anew, _FINE)
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
    x, y, _ = _touching(k, ends, end)
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
