"""Whether a segment threads a ring (torus about the z axis) and touches it, and where. See `geometry.wrap.torus`.

When it wraps: OpenSim puts a long cylinder of radius r along the tangent of the circle, near the segment, and wraps over
that on the side of the torus' centre: a path that threads the ring stays in it. Here this applies to the ring itself. If
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

from .vectors import (
    Vector,
    about_turned,
    compiled,
    component,
    dot,
    minus,
    moved,
    on_side,
    room,
    root,
    scaled,
    sine_cosine,
)

_SAMPLES = 16  # places on the segment from which its point nearest the circle is sought
_SHARES = np.linspace(0, 1, _SAMPLES)
_AZIMUTHS = 16  # places on the ring tried for the guess
_ITERATIONS = 30
_LONGEST = 0.4  # step [rad]
_FOUND = 1e-7  # last step: roots converge quadratically
_SLACK = 1e-6  # [rad] of an arc: rounding where the segment only just touches
_DIGITS = 16.0  # of the integrals, as natural logarithm over 2
_RULES = (16, 32, 64, 128)
_ENOUGH = tuple(math.sinh(_DIGITS / n) for n in _RULES)  # how far poles must be for each, over half the way
_GAUSS = [np.polynomial.legendre.leggauss(n) for n in _RULES]
_NODES = np.concatenate([nodes for nodes, _ in _GAUSS])
_WEIGHTS = np.concatenate([weights for _, weights in _GAUSS])
_STEP = 2 * math.pi / _AZIMUTHS
_COSINES, _SINES = np.cos(_STEP * np.arange(_AZIMUTHS)), np.sin(_STEP * np.arange(_AZIMUTHS))


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
    threads = crossing[0] ** 2 + crossing[1] ** 2 < ring * ring
    if not threads and sign == 0:
        return True, True, 0.0, 0.0
    nearest = _nearest_to_circle(p, s, ring)
    free = threads and _from_circle(nearest, ring) >= r * r
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
    distance = room(_SAMPLES)
    for i in range(_SAMPLES):
        distance[i] = _from_circle(moved(p, _SHARES[i], step), ring)
    nearest = 0
    for i in range(1, _SAMPLES):
        if distance[i] < distance[nearest]:
            nearest = i
    t = _SHARES[nearest]
    for _ in range(5):
        x = moved(p, t, step)
        radius = max(math.sqrt(x[0] * x[0] + x[1] * x[1]), 1e-9 * ring)
        growth = (x[0] * step[0] + x[1] * step[1]) / radius  # of the distance from the axis, with t
        slope = dot(x, step) - ring * growth
        bend = dot(step, step) - ring * (step[0] ** 2 + step[1] ** 2 - growth * growth) / radius
        if not bend > 0:
            break
        before, t = t, min(max(t - min(max(slope / bend, -1 / _SAMPLES), 1 / _SAMPLES), 0.0), 1.0)
        if abs(t - before) < 1e-8:  # the next step would be the square of it
            break
    return moved(p, t, step)


@compiled
def _landing(c: float, k: float, x: Vector, ring: float) -> tuple[float, float, float, float, float, float, float]:
    """Where a line from x touches the ring's inner side at the azimuth u whose cosine and sine are c and k; lengths over r.

    Cosine and sine of its v, and dv/du; (R + r cos v) times the share of the line's direction along u, seen from x, and
    its derivative; the length of the line, and how far x is from the tube's middle there.
    """
    A, T, z = c * x[0] + k * x[1], c * x[1] - k * x[0], x[2]
    across = A - ring
    square = across * across + z * z
    line = root(square - 1)
    side = 1.0 if z > 0 else -1.0
    scale = 1 / math.sqrt(square * (1 + line * line))
    cos_v, sin_v = scale * (across - side * line * z), scale * (z + side * line * across)
    per_line = 1 / line if line > 0 else 0.0
    dv = T * (side * across * per_line - z) / square
    rho = ring + cos_v
    whole = math.sqrt(T * T + line * line)
    per_whole = 1 / whole if whole > 0 else 0.0
    share = -T * per_whole
    dshare = A * per_whole + T * (across * T - T * A) * per_whole**3
    return cos_v, sin_v, dv, rho * share, rho * dshare - sin_v * dv * share, whole, math.sqrt(square)


@compiled
def _angle(sine: float, cosine: float) -> float:
    """From 0 to 2 pi."""
    v = math.atan2(sine, cosine)
    return v if v >= 0 else v + 2 * math.pi


@compiled
def _run(v1: float, v2: float, h: float, ring: float) -> tuple[float, float, float, float]:
    """Along the geodesic with Clairaut's constant h from v1 to v2: the azimuth it covers, its derivatives with h, and the
    length, all over r; and h as used, kept where the geodesic gets through."""
    middle, half = (v1 + v2) / 2, (v2 - v1) / 2
    narrow = ring - 1 if (v1 - math.pi) * (v2 - math.pi) < 0 else ring + min(math.cos(v1), math.cos(v2))
    h = min(max(h, -0.99999 * narrow), 0.99999 * narrow)
    # The integrands' poles: cosh y = R - |h| at v = pi + i y. They say how many nodes are needed.
    away = math.acosh(max(ring - abs(h), 1.0)) / max(abs(half), 1e-9)
    if away > _ENOUGH[0]:
        azimuth, slope, length = _sums(0, 16, middle, half, h, ring)
    elif away > _ENOUGH[1]:
        azimuth, slope, length = _sums(16, 32, middle, half, h, ring)
    elif away > _ENOUGH[2]:
        azimuth, slope, length = _sums(48, 64, middle, half, h, ring)
    else:
        azimuth, slope, length = _sums(112, 128, middle, half, h, ring)
    return half * h * azimuth, half * slope, abs(half) * length, h


@compiled
def _sums(start: int, count: int, middle: float, half: float, h: float, ring: float) -> tuple[float, float, float]:
    azimuth = slope = length = 0.0
    for i in range(start, start + count):
        rho = ring + sine_cosine(middle + half * _NODES[i])[1]
        room = 1 / (rho * rho - h * h)
        pace = _WEIGHTS[i] * math.sqrt(room)
        azimuth += pace / rho
        slope += pace * room * rho
        length += pace * rho
    return azimuth, slope, length


@compiled
def find(p: Vector, s: Vector, ring: float) -> tuple[float, float, bool]:
    """Azimuths where the path lands and leaves, and whether there is such a path: the shorter of those found from two
    guesses, if the first does not give the shortest for certain. For r = 1."""
    nearest = _nearest_to_circle(p, s, ring)
    azimuth = math.atan2(nearest[1], nearest[0])
    u1, u2, length = from_guess(p, s, ring, azimuth, azimuth)
    if length < np.inf and _shortest(p, s, ring, u1, u2):
        return u1, u2, True
    first, second = _guess(p, s, ring)
    v1, v2, other = from_guess(p, s, ring, first, second)
    if other < length:
        u1, u2, length = v1, v2, other
    return u1, u2, length < np.inf


@compiled
def _shortest(p: Vector, s: Vector, ring: float, u1: float, u2: float) -> bool:
    """Whether the path found at these azimuths is certainly the shortest.

    It is taut if it presses on the ring all along its arc, and its lines are outside the ring. If it touches the inner half
    only, it is also taut in the hole of a wall: the slab |z| < 1, with the inner half of the ring for an edge. The wall is flat
    or a saddle, so the space beside it has no positive curvature, and one taut path between two points. And what passes
    through the slab outside the ring is shortened by going along the slab. In small holes, paths may go far round the
    ring, and then there can be several.
    """
    cos1, sin1, _, h1, _, _, _ = _landing(math.cos(u1), math.sin(u1), p, ring)
    cos2, sin2, _, h2, _, _, _ = _landing(math.cos(u2), math.sin(u2), s, ring)
    if not (cos1 <= 0 and cos2 <= 0 and _beside_wall(p, ring) and _beside_wall(s, ring)):
        return False
    bent = -1.0 if sin1 * sin2 < 0 else min(cos1, cos2)  # cosine of v where the ring is narrowest along the arc
    rho, square = ring + bent, ((h1 - h2) / 2) ** 2
    # the curvature of the arc, by Euler and Clairaut
    presses = rho * rho * rho - square * rho + square * bent > 0
    return presses and _free(p, _point(u1, cos1, sin1, ring), ring) and _free(s, _point(u2, cos2, sin2, ring), ring)


@compiled
def _beside_wall(x: Vector, ring: float) -> bool:
    return abs(x[2]) >= 1 or x[0] * x[0] + x[1] * x[1] <= ring * ring


@compiled
def _free(x: Vector, touched: Vector, ring: float) -> bool:
    """Whether a line is outside the ring but for its end, which touches it."""
    return _from_circle(_nearest_to_circle(x, touched, ring), ring) > 1 - 1e-9


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
    cos1, sin1, _, h1, _, _, _ = _landing(math.cos(u1), math.sin(u1), p, ring)
    cos2, sin2, _, h2, _, _, _ = _landing(math.cos(u2), math.sin(u2), s, ring)
    _, _, length, _ = _run(_angle(sin1, cos1), _angle(sin2, cos2), (h1 - h2) / 2, ring)
    landed, left = _point(u1, cos1, sin1, ring), _point(u2, cos2, sin2, ring)
    return scaled(r, landed), scaled(r, left), r * length, found


@compiled
def _point(u: float, cos_v: float, sin_v: float, ring: float) -> Vector:
    rho = ring + cos_v
    return rho * math.cos(u), rho * math.sin(u), sin_v


@compiled
def from_guess(p: Vector, s: Vector, ring: float, u1: float, u2: float) -> tuple[float, float, float]:
    """Azimuths of the path near those guessed, by Newton's method, and its length; infinite if there is none. For r = 1."""
    up = 1.0 if p[2] > 0 else -1.0
    length = np.inf
    for _ in range(_ITERATIONS):
        cos1, sin1, dv1, h1, dh1, line1, out1 = _landing(math.cos(u1), math.sin(u1), p, ring)
        cos2, sin2, dv2, h2, dh2, line2, out2 = _landing(math.cos(u2), math.sin(u2), s, ring)
        v1, v2 = _angle(sin1, cos1), _angle(sin2, cos2)
        h2, dh2 = -h2, -dh2  # seen from Q
        azimuth, slope, arc, h = _run(v1, v2, (h1 + h2) / 2, ring)
        missed1, missed2 = h1 - h2, up * azimuth - (u2 - u1)
        rho1, rho2 = ring + cos1, ring + cos2
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
    v, line = room(2, _AZIMUTHS), room(2, _AZIMUTHS)
    half_cosine, half_sine = room(2, _AZIMUTHS), room(2, _AZIMUTHS)
    shortest = np.inf  # line from s
    for end in range(2):
        x = p if end == 0 else s
        for i in range(_AZIMUTHS):
            c, k = _COSINES[i], _SINES[i]
            cosine, sine, _, _, _, length, out = _landing(c, k, x, ring)
            half_cosine[end, i] = (-1.0 if sine < 0 else 1.0) * root((1 + cosine) / 2)
            half_sine[end, i] = root((1 - cosine) / 2)
            v[end, i] = about_turned(sine, cosine)
            aside = c * x[1] - k * x[0]
            free = out >= 1 and out * out - 1 + cosine / (ring + cosine) * aside * aside > 0
            line[end, i] = length if free else np.inf  # inside, or the line is within the tube
    for j in range(_AZIMUTHS):
        shortest = min(shortest, line[1, j])
    best, first, second = np.inf, 0.0, 0.0
    for i in range(_AZIMUTHS):
        if not line[0, i] + shortest < best:
            continue
        for j in range(_AZIMUTHS):
            if not line[0, i] + line[1, j] < best:
                continue
            steps = (j - i + _AZIMUTHS // 2) % _AZIMUTHS - _AZIMUTHS // 2
            dv = up * (v[1, j] - v[0, i])
            between = half_cosine[0, i] * half_cosine[1, j] - half_sine[0, i] * half_sine[1, j]  # cosine of the mean
            across = (ring + between) * steps * _STEP
            total = line[0, i] + line[1, j] + math.sqrt(dv * dv + across * across) + 10 * max(0.0, -dv)
            if total < best:
                best, first, second = total, _STEP * i, _STEP * (i + steps)
    return first, second
