"""Whether a segment threads a ring (torus about the z axis) and touches it, and where. See `geometry.wrap_torus`.

When it wraps: OpenSim puts a long cylinder of radius r along the tangent of the circle, near the segment, and wraps over
that on the side of the torus' centre: a path that threads the ring stays in it. Here this is said of the ring itself. If
the ends are on different sides of its plane, and neither is inside the tube, the path threads the ring; it wraps unless
the straight line passes freely. With ends on the same side of the plane, or a point of the circle nearest the segment
that is off the active side of a quadrant, the line is straight. OpenSim also turns paths that do not come near the plane
about its cylinder.

One arc is looked for. Where there is none (a path that touches the ring, flies across the hole and touches it again), it is
not found.
"""

from __future__ import annotations

import math

import numpy as np

from .vectors import Vector, compiled, component, dot, minus, moved, on_side, root

_SAMPLES = 16  # places on the segment from which its point nearest the circle is sought
_AZIMUTHS = 16  # places on the ring tried for the guess
_ITERATIONS = 30
_LONGEST = 0.4  # step [rad]
_FOUND = 1e-7  # last step: roots converge quadratically
_SLACK = 1e-6  # [rad] of an arc: rounding where the segment only just touches
_DIGITS = 16.0  # of the integrals, as natural logarithm over 2
_RULES = (16, 32, 64, 128)
_GAUSS = [np.polynomial.legendre.leggauss(n) for n in _RULES]
_NODES = np.concatenate([nodes for nodes, _ in _GAUSS])
_WEIGHTS = np.concatenate([weights for _, weights in _GAUSS])


@compiled
def touch(p: Vector, s: Vector, sizes: Vector, axis: int, sign: int) -> tuple[bool, bool, float, float]:
    """Engaged, mandatory, 0, 0."""
    r, ring = sizes[0], sizes[1]
    if not r > 0:
        return False, False, 0.0, 0.0
    if _from_circle(p, ring) < r * r or _from_circle(s, ring) < r * r:
        return False, False, 0.0, 0.0
    if (p[2] < 0) == (s[2] < 0):
        return False, False, 0.0, 0.0
    crossing = moved(p, -p[2] / (s[2] - p[2]), minus(s, p))
    nearest = _nearest_to_circle(p, s, ring)
    free = crossing[0] ** 2 + crossing[1] ** 2 < ring * ring and _from_circle(nearest, ring) >= r * r
    engaged = not free and (sign == 0 or on_side(component(nearest, axis), sign))
    return engaged, engaged, 0.0, 0.0


@compiled
def _from_circle(x: Vector, ring: float) -> float:
    """Squared distance of x from the circle of radius `ring`."""
    away = math.sqrt(x[0] * x[0] + x[1] * x[1]) - ring
    return away * away + x[2] * x[2]


@compiled
def _nearest_to_circle(p: Vector, s: Vector, ring: float) -> Vector:
    """The point of the segment nearest the circle: the best of a few, improved by Newton's method."""
    step = minus(s, p)
    best, t = _from_circle(p, ring), 0.0
    for i in range(1, _SAMPLES):
        distance = _from_circle(moved(p, i / (_SAMPLES - 1), step), ring)
        if distance < best:
            best, t = distance, i / (_SAMPLES - 1)
    for _ in range(5):
        x = moved(p, t, step)
        radius = max(math.sqrt(x[0] * x[0] + x[1] * x[1]), 1e-9 * ring)
        growth = (x[0] * step[0] + x[1] * step[1]) / radius  # of the distance from the axis, with t
        slope = dot(x, step) - ring * growth
        bend = dot(step, step) - ring * (step[0] ** 2 + step[1] ** 2 - growth * growth) / radius
        if bend > 0:
            t = min(max(t - min(max(slope / bend, -1 / _SAMPLES), 1 / _SAMPLES), 0.0), 1.0)
    return moved(p, t, step)


@compiled
def _landing(u: float, x: Vector, ring: float) -> tuple[float, float, float, float, float, float]:
    """Where a line from x touches the ring's inner side at azimuth u; lengths over r.

    Its v between 0 and 2 pi, and dv/du; (R + r cos v) times the share of the line's direction along u, seen from x, and
    its derivative; the length of the line, and how far x is from the tube's middle there.
    """
    c, k = math.cos(u), math.sin(u)
    A, T, z = c * x[0] + k * x[1], c * x[1] - k * x[0], x[2]
    across = A - ring
    square = across * across + z * z
    line = root(square - 1)
    side = 1.0 if z > 0 else -1.0
    v = math.atan2(z, across)
    v = (v if v >= 0 else v + 2 * math.pi) + side * math.atan2(line, 1.0)
    per_line = 1 / line if line > 0 else 0.0
    dv = T * (side * across * per_line - z) / square
    rho = ring + math.cos(v)
    whole = math.sqrt(T * T + line * line)
    per_whole = 1 / whole if whole > 0 else 0.0
    share = -T * per_whole
    dshare = A * per_whole + T * (across * T - T * A) * per_whole**3
    return v, dv, rho * share, rho * dshare - math.sin(v) * dv * share, whole, math.sqrt(square)


@compiled
def _run(v1: float, v2: float, h: float, ring: float) -> tuple[float, float, float, float]:
    """Along the geodesic with Clairaut's constant h from v1 to v2: the azimuth it covers, its derivatives with h, and the
    length, all over r; and h as used, kept where the geodesic gets through."""
    middle, half = (v1 + v2) / 2, (v2 - v1) / 2
    narrow = ring - 1 if (v1 - math.pi) * (v2 - math.pi) < 0 else ring + min(math.cos(v1), math.cos(v2))
    h = min(max(h, -0.99999 * narrow), 0.99999 * narrow)
    # The integrands' poles: cosh y = R - |h| at v = pi + i y. They say how many nodes are needed.
    away = math.acosh(max(ring - abs(h), 1.0)) / max(abs(half), 1e-9)
    needed = _DIGITS / math.log(away + math.sqrt(1 + away * away) + 1e-12)
    count, start = 16, 0
    while count < needed and count < 128:
        start, count = start + count, 2 * count
    azimuth = slope = length = 0.0
    for i in range(start, start + count):
        rho = ring + math.cos(middle + half * _NODES[i])
        room = 1 / (rho * rho - h * h)
        pace = _WEIGHTS[i] * math.sqrt(room)
        azimuth += pace / rho
        slope += pace * room * rho
        length += pace * rho
    return half * h * azimuth, half * slope, abs(half) * length, h


@compiled
def find(p: Vector, s: Vector, ring: float) -> tuple[float, float, bool]:
    """Azimuths where the path lands and leaves, and whether there is such a path: the shorter of those found from two
    guesses. Small holes need both: there a path may go far round the ring in contact. For r = 1."""
    nearest = _nearest_to_circle(p, s, ring)
    azimuth = math.atan2(nearest[1], nearest[0])
    u1, u2, length = from_guess(p, s, ring, azimuth, azimuth)
    first, second = _guess(p, s, ring)
    v1, v2, other = from_guess(p, s, ring, first, second)
    if other < length:
        u1, u2, length = v1, v2, other
    return u1, u2, length < np.inf


@compiled
def arc(p: Vector, s: Vector, sizes: Vector, azimuths: np.ndarray, warm: bool) -> tuple[Vector, Vector, float, bool]:
    """Where the path lands and leaves, the length of the arc between, and whether it was found. `azimuths` receives those of
    the two points; with `warm` it holds those of a segment nearby."""
    r, ring = sizes[0], sizes[1] / sizes[0]
    p, s = (p[0] / r, p[1] / r, p[2] / r), (s[0] / r, s[1] / r, s[2] / r)
    found = False
    if warm:
        u1, u2, length = from_guess(p, s, ring, azimuths[0], azimuths[1])
        found = length < np.inf
    if not found:
        u1, u2, found = find(p, s, ring)
    azimuths[0], azimuths[1] = u1, u2
    v1, _, h1, _, _, _ = _landing(u1, p, ring)
    v2, _, h2, _, _, _ = _landing(u2, s, ring)
    _, _, length, _ = _run(v1, v2, (h1 - h2) / 2, ring)
    return _point(u1, v1, sizes), _point(u2, v2, sizes), r * length, found


@compiled
def _point(u: float, v: float, sizes: Vector) -> Vector:
    away = sizes[1] + sizes[0] * math.cos(v)
    return away * math.cos(u), away * math.sin(u), sizes[0] * math.sin(v)


@compiled
def from_guess(p: Vector, s: Vector, ring: float, u1: float, u2: float) -> tuple[float, float, float]:
    """Azimuths of the path near those guessed, by Newton's method, and its length; infinite if there is none. For r = 1."""
    up = 1.0 if p[2] > 0 else -1.0
    length = np.inf
    for _ in range(_ITERATIONS):
        v1, dv1, h1, dh1, line1, out1 = _landing(u1, p, ring)
        v2, dv2, h2, dh2, line2, out2 = _landing(u2, s, ring)
        h2, dh2 = -h2, -dh2  # seen from Q
        azimuth, slope, arc, h = _run(v1, v2, (h1 + h2) / 2, ring)
        missed1, missed2 = h1 - h2, up * azimuth - (u2 - u1)
        rho1, rho2 = ring + math.cos(v1), ring + math.cos(v2)
        m00, m01 = dh1, -dh2
        m10 = up * (slope * dh1 / 2 - dv1 * h / (rho1 * math.sqrt(rho1 * rho1 - h * h))) + 1
        m11 = up * (slope * dh2 / 2 + dv2 * h / (rho2 * math.sqrt(rho2 * rho2 - h * h))) - 1
        det = m00 * m11 - m01 * m10
        if det == 0:
            return u1, u2, np.inf
        du1, du2 = (missed1 * m11 - m01 * missed2) / det, (m00 * missed2 - m10 * missed1) / det
        largest = max(abs(du1), abs(du2))
        if not largest < np.inf:
            return u1, u2, np.inf
        share = _LONGEST / max(largest, _LONGEST)
        u1, u2 = u1 - share * du1, u2 - share * du2
        if largest < _FOUND:
            if up * (v2 - v1) > -_SLACK and out1 >= 1 and out2 >= 1 and h == (h1 + h2) / 2:
                length = line1 + arc + line2
            return u1, u2, length
    return u1, u2, np.inf


@compiled
def _guess(p: Vector, s: Vector, ring: float) -> tuple[float, float]:
    """The shortest way over pairs of azimuths where lines from p and from s touch."""
    up = 1.0 if p[2] > 0 else -1.0
    v = np.empty((2, _AZIMUTHS))
    line = np.empty((2, _AZIMUTHS))
    half = np.empty((2, _AZIMUTHS, 2))
    step = 2 * math.pi / _AZIMUTHS
    for i in range(_AZIMUTHS):
        for end in range(2):
            x = p if end == 0 else s
            v[end, i], _, _, _, line[end, i], out = _landing(step * i, x, ring)
            half[end, i, 0], half[end, i, 1] = math.cos(v[end, i] / 2), math.sin(v[end, i] / 2)
            c, k = math.cos(step * i), math.sin(step * i)
            aside, bent = c * x[1] - k * x[0], math.cos(v[end, i])
            lateral = out * out - 1
            if (
                out < 1 or not lateral + bent / (ring + bent) * aside * aside > 0
            ):  # inside, or the line is within the tube
                line[end, i] = np.inf
    best, first, second = np.inf, 0.0, 0.0
    for i in range(_AZIMUTHS):
        if line[0, i] == np.inf:
            continue
        for j in range(_AZIMUTHS):
            if line[1, j] == np.inf:
                continue
            steps = (j - i + _AZIMUTHS // 2) % _AZIMUTHS - _AZIMUTHS // 2
            dv = up * (v[1, j] - v[0, i])
            between = half[0, i, 0] * half[1, j, 0] - half[0, i, 1] * half[1, j, 1]  # the cosine of the mean
            across = (ring + between) * steps * step
            total = line[0, i] + line[1, j] + math.sqrt(dv * dv + across * across) + 10 * max(0.0, -dv)
            if total < best:
                best, first, second = total, step * i, step * (i + steps)
    return first, second
