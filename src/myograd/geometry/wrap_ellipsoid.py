"""Shortest path over an ellipsoid about the origin: the true geodesic, by minimisation. Sizes: the half axes a.

In y = x / a the ellipsoid is the unit sphere. A frame of unit vectors (along, bulge, normal) has the segment run
`along` and the path give way towards `bulge`. In it, the arc is described by its height k over the plane (along, bulge)
and its angle theta from `bulge` towards `along`,

    y = (rho sin theta, rho cos theta, k),   rho^2 = 1 - k^2.

The points where lines from p touch the sphere form a circle, on which k decides theta, in closed form. So a path is
given by one function, k(t) for t from -1 to 1, with theta linear in t between the angles that belong to its first and
last height. Its length is that of two lines and an integral of |a y'|; the shortest among polynomials k(t) is found
(Ritz), with the integral over Gauss-Lobatto nodes. The error in length is the square of that in the path, and what the
ends' tangents give for its derivatives is right to that order too, so few terms suffice.

Newton's method takes the second derivative from the second variation of a geodesic: with w the distance by which the
path is moved sideways, K = 1 / (det(a) |y / a|^2)^2 the Gauss curvature and s the arc length,

    d2L = integral of (w'^2 - K w^2) ds over the arc + w_P^2 / |P - p| + w_Q^2 / |Q - s|.

When it wraps (OpenSim, WrapEllipsoid::wrapLine): if the segment runs into the ellipsoid and neither end is inside.
Where it wraps: the guess is the shortest of the paths in planes through p and s (k constant); with a quadrant, of those
that are shortest among their neighbours and have the middle of their arc on the active side; if there is none, the one
nearest to that side. OpenSim takes the plane through a point near the middle of the segment instead, and the path in
that plane.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from .ritz import BASIS, COUNT, DERIVATIVE, ENDS, SHARES, SLOPES, TERMS, WEIGHTS, sine_cosine
from .sparse import sparsely
from .spatial import cross, dot, settled
from .wrap_common import (
    Arc,
    Flags,
    Scalars,
    Signs,
    Touch,
    Vectors,
    component,
    half_turned,
    norm,
    passing_point,
    root,
    turned,
    unless_zero,
)
from .wrap_geodesic import eliminate, root_change, trace

_PLANES = 16  # tried for the guess
_ITERATIONS = 12
_LONGEST = 0.3  # step in k
_FOUND = 1e-6  # last step of a root: it converges quadratically
_BASIS_AND_SLOPES = np.concatenate([BASIS, SLOPES])
_OF_ENDS = np.concatenate([WEIGHTS * SHARES.T, WEIGHTS * np.array([[-0.5], [0.5]])], axis=1)
_OF_TERMS = np.concatenate([WEIGHTS * BASIS.T, WEIGHTS * SLOPES.T], axis=1)
_WAYS = np.array([[1.0], [-1.0]])  # the path turns towards larger theta at p, comes from smaller at s


def touch(p: Vectors, s: Vectors, sizes: Vectors, axis: Signs, sign: Signs) -> Touch:
    p, s, sizes = lax.stop_gradient((p, s, sizes))
    real = jnp.all(sizes > 0, axis=0)
    a = jnp.where(real, sizes, 1.0)
    y, q = p / a, s / a
    inside = ((dot(y, y) < 1) | (dot(q, q) < 1)) & real
    t, within = passing_point(y, q)
    nearest = y + t * (q - y)
    engaged = within & (dot(nearest, nearest) < 1) & ~inside & real
    return Touch(engaged, engaged, inside, jnp.zeros_like(t))


def wrap(p: Vectors, s: Vectors, sizes: Vectors, axis: Signs, sign: Signs, where: Flags) -> Arc:
    found = _geodesic(p, s, sizes, axis, sign, where)
    return Arc(jnp.where(where, found.P, p), jnp.where(where, found.Q, s), found.length, found.converged | ~where)


def along(
    P: Vectors, direction: Vectors, length: Scalars, sizes: Vectors, fractions: Float[Array, " f"]
) -> Float[Array, "f 3 n"]:
    """Points of the geodesic, which turns along the normal x / a^2 only."""
    a = jnp.where(sizes > 0, sizes, 1.0)

    def acceleration(x: Vectors, v: Vectors) -> Vectors:
        q, bent = x / (a * a), v / a
        return -dot(bent, bent) / dot(q, q) * q

    return trace(acceleration, jnp.where(length > 0, P, a), direction, length, fractions)


class _Geodesic(NamedTuple):
    P: Vectors
    Q: Vectors
    length: Scalars
    converged: Flags
    z: Float[Array, "terms n"]
    frame: Float[Array, "3 3 n"]  # rows: along, bulge, normal


@jax.custom_jvp
def _geodesic(p: Vectors, s: Vectors, a: Vectors, axis: Signs, sign: Signs, where: Flags) -> _Geodesic:
    return sparsely(_find, where, p, s, a, axis, sign)


@_geodesic.defjvp
def _geodesic_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[_Geodesic, _Geodesic]:
    found = _geodesic(*primals)
    where = primals[-1]
    harmless = np.array([[[-2.0, 2.0, 1.0]], [[0.5, 0.5, 1.0]], [[0.1, 0.1, 1.0]]])[..., None]
    args = tuple(jnp.where(where, x, harmless[:, 0, i]) for i, x in enumerate(primals[:3]))
    changes = tuple(jnp.where(where, x, 0.0) for x in tangents[:3])
    frame = jnp.where(where, found.frame, np.eye(3)[..., None])
    z = jnp.where(where, found.z, 0.0)
    dz, dlength = root_change(partial(_stationarity, frame), z, args, changes)
    # The whole length is stationary in z; that of the arc is the rest.
    ends = lambda z, p, s, a: _ends(z, frame, p, s, a)  # noqa: E731
    P, Q, lines = jax.jvp(ends, (z, *args), (dz, *changes))[1]
    length = dlength - lines
    P, Q, length, dz = (jnp.where(where, x, 0.0) for x in (P, Q, length, dz))
    held: Any = np.zeros(where.shape, jax.dtypes.float0)
    return found, _Geodesic(P, Q, length, held, dz, jnp.zeros_like(frame))


def _find(p: Vectors, s: Vectors, a: Vectors, axis: Signs, sign: Signs) -> _Geodesic:
    frame = settled(_guess(p, s, a, axis, sign))
    posed = settled(_posed(frame, p, s, a))

    def step(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        count, z, _, _ = carry
        course = _course(z, posed)
        slopes = settled(_slopes(course))
        dz = settled(eliminate(_bends(course, posed), slopes[:, None])[:, 0])
        largest = settled(jnp.max(jnp.abs(dz), axis=0))
        # after the step, up to third order in it
        length = course.line[0] + course.line[1] + WEIGHTS @ course.f - jnp.sum(slopes * dz, axis=0) / 2
        return count + 1, z - dz * (_LONGEST / jnp.maximum(largest, _LONGEST)), largest, length

    def unfinished(carry: tuple[Array, ...]) -> Array:
        return (carry[0] < _ITERATIONS) & jnp.any(~(carry[2] < _FOUND))

    zero = jnp.zeros_like(p[0])
    start = jnp.stack([posed.ends[2, 0]] + [zero] * (TERMS - 1))
    _, z, largest, length = lax.while_loop(unfinished, step, (jnp.zeros((), int), start, zero + 1, zero))
    P, Q, lines = _ends(z, frame, p, s, a)
    return _Geodesic(P, Q, length - lines, largest < _FOUND, z, frame)


class _Posed(NamedTuple):
    """A segment and the ellipsoid in the frame."""

    ends: Float[Array, "3 2 n"]  # p / a and s / a
    metric: Float[Array, "6 1 n"]  # of a^2: its entries 00, 11, 22, 01, 02, 12
    curvature: Float[Array, "6 1 n"]  # of 1 / a^2
    volume: Scalars  # a0 a1 a2


def _posed(frame: Float[Array, "3 3 n"], p: Vectors, s: Vectors, a: Vectors) -> _Posed:
    def matrix(scale: Vectors) -> Array:
        x, y, z = settled(frame * scale)
        return jnp.stack([dot(x, x), dot(y, y), dot(z, z), dot(x, y), dot(x, z), dot(y, z)])[:, None]

    ends = jnp.stack([p / a, s / a], axis=1)
    return _Posed(_rotated(frame[:, :, None], ends), matrix(a), matrix(1 / a), a[0] * a[1] * a[2])


def _rotated(rows: Array, v: Array) -> Array:
    return jnp.stack([dot(row, v) for row in rows])


def _times(matrix: Array, v: Array) -> Array:
    """A symmetric matrix, given by its entries 00, 11, 22, 01, 02, 12, times v."""
    m00, m11, m22, m01, m02, m12 = matrix
    x, y, z = v
    return jnp.stack([m00 * x + m01 * y + m02 * z, m01 * x + m11 * y + m12 * z, m02 * x + m12 * y + m22 * z])


def _touching(k: Float[Array, "2 n"], ends: Float[Array, "3 2 n"]) -> tuple[Float[Array, "3 2 n"], Float[Array, "2 n"]]:
    """The points of the unit sphere at heights k where lines from both ends touch it, y . end = 1, and their
    d theta / d k.
    """
    x, y, z = ends
    rest, square, rho2 = 1 - k * z, x * x + y * y, 1 - k * k
    aside = _WAYS * root(rho2 * square - rest * rest)
    point = jnp.stack([(rest * x + aside * y) / square, (rest * y - aside * x) / square, k])
    return point, (z - k) / unless_zero(rho2 * aside)


class _Course(NamedTuple):
    """A path: its lines and, at the nodes, its arc, with the slopes of the speed f = |a y'|."""

    line: Float[Array, "2 n"]
    theta_k: Float[Array, "2 n"]  # slope with the height k of an end
    line_k: Float[Array, "2 n"]
    y: Float[Array, "3 nodes n"]
    dtheta: Float[Array, " n"]
    dk: Float[Array, "nodes n"]
    f: Float[Array, "nodes n"]
    slopes: Float[Array, "4 nodes n"]  # of f with theta, theta', k and k'


def _course(z: Float[Array, "terms n"], posed: _Posed) -> _Course:
    k, dk = jnp.split(_BASIS_AND_SLOPES @ z, 2)
    ends = jnp.stack([k[0], k[-1]])
    P, theta_k = settled(_touching(ends, posed.ends))
    rho2 = 1 - ends * ends
    theta = settled(half_turned(P[0], P[1], jnp.sqrt(rho2)))
    gap = P - posed.ends
    pull = _times(posed.metric, gap)
    line = settled(jnp.sqrt(dot(gap, pull) + _TINY * posed.metric[0]))
    spread = ends / rho2
    P_k = jnp.stack([theta_k * P[1] - spread * P[0], -theta_k * P[0] - spread * P[1], jnp.ones_like(ends)])
    line_k = settled(dot(pull, P_k) / line)
    dtheta = (theta[1] - theta[0]) / 2
    sine, cosine = settled(sine_cosine(SHARES[:, :1] * theta[0] + SHARES[:, 1:] * theta[1]))
    rho = jnp.sqrt(jnp.maximum(1 - k * k, 1e-6))
    drho_dk = settled(-k / rho)
    y = settled(jnp.stack([rho * sine, rho * cosine, k]))
    drho = drho_dk * dk
    dy = settled(jnp.stack([drho * sine + dtheta * y[1], drho * cosine - dtheta * y[0], dk]))
    g = _times(posed.metric, dy)
    f = settled(jnp.sqrt(dot(g, dy) + _TINY * posed.metric[0]))
    g = settled(g / f)
    radial, around = g[0] * sine + g[1] * cosine, g[0] * cosine - g[1] * sine
    drho_dkk = (drho_dk * drho_dk + 1) / rho
    f_theta, f_dtheta = g[0] * dy[1] - g[1] * dy[0], g[0] * y[1] - g[1] * y[0]
    f_k, f_dk = drho_dk * dtheta * around - dk * drho_dkk * radial, drho_dk * radial + g[2]
    return _Course(line, theta_k, line_k, y, dtheta, dk, f, settled(jnp.stack([f_theta, f_dtheta, f_k, f_dk])))


_TINY = 1e-24  # keeps speeds of arcs and lengths of lines from zero


def _slopes(course: _Course) -> Float[Array, "terms n"]:
    """Of the length with z."""
    with_ends = _OF_ENDS @ course.slopes[:2].reshape(2 * COUNT, -1) * course.theta_k + course.line_k
    return jnp.asarray(_OF_TERMS) @ course.slopes[2:].reshape(2 * COUNT, -1) + ENDS.T @ with_ends


def _bends(course: _Course, posed: _Posed) -> Float[Array, "terms terms n"]:
    """Second derivatives of the length with z where the path is a geodesic; elsewhere near it.

    Moved by (d theta, d k), a path moves sideways by w = area (theta' d k - k' d theta) / f, where `area` is that of the
    surface per d theta d k.
    """
    normal = settled(dot(course.y, _times(posed.curvature, course.y)))
    density = settled(posed.volume * jnp.sqrt(normal) / course.f)
    first, last = settled(SHARES.T[:, :, None] * course.theta_k[:, None] * course.dk)
    basis, ends = BASIS[..., None], ENDS[..., None]
    moved = basis * course.dtheta - ends[0] * first[:, None] - ends[1] * last[:, None]
    w = settled(moved * density[:, None])
    dw = settled(sum((DERIVATIVE[:, i, None, None] * w[i] for i in range(COUNT)), jnp.zeros(())))
    stretch, curl = settled(
        jnp.stack([WEIGHTS[:, None] / course.f, WEIGHTS[:, None] * course.f / (posed.volume * normal) ** 2])
    )
    left, right = settled(stretch[:, None] * dw), settled(curl[:, None] * w)
    bends = sum((left[i, :, None] * dw[i] - right[i, :, None] * w[i] for i in range(COUNT)), jnp.zeros(()))
    ends = settled(w[:: COUNT - 1] / course.line[:, None])
    return bends + ends[0][:, None] * w[0] + ends[1][:, None] * w[-1]


def _stationarity(frame: Array, z: Array, p: Vectors, s: Vectors, a: Vectors) -> tuple[Array, Scalars]:
    """Slopes of the length with z, and the length of the whole path."""
    course = _course(z, _posed(frame, p, s, a))
    return _slopes(course), course.line[0] + course.line[1] + WEIGHTS @ course.f


def _ends(z: Array, frame: Array, p: Vectors, s: Vectors, a: Vectors) -> tuple[Vectors, Vectors, Scalars]:
    """P, Q and the length of both lines."""
    y, _ = _touching(jnp.asarray(ENDS) @ z, _rotated(frame[:, :, None], jnp.stack([p / a, s / a], axis=1)))
    P, Q = (a * _rotated(jnp.swapaxes(frame, 0, 1), y[:, i]) for i in (0, 1))
    return P, Q, norm(P - p) + norm(Q - s)


def _across(v: Vectors) -> tuple[Vectors, Vectors]:
    """Two unit vectors across the unit vector v and each other."""
    axis = jnp.where(np.arange(3)[:, None] == jnp.argmin(jnp.abs(v), axis=0), 1.0, 0.0)
    e1 = cross(v, axis)
    e1 = settled(e1 / norm(e1))
    return e1, cross(v, e1)


def _guess(p: Vectors, s: Vectors, a: Vectors, axis: Signs, sign: Signs) -> Float[Array, "3 3 n"]:
    """The frame (along, bulge, normal) of the shortest plane path, on the active side if there is a quadrant.

    In y, a plane through the segment cuts the unit sphere in a circle of radius r; p and s are at (t1, b) and (t2, b) in
    the directions (along, bulge) from its centre.
    """
    y, q = p / a, s / a
    along = settled((q - y) / norm(q - y))
    axes = settled(jnp.stack([along, *_across(along)]))
    (t1, m1, m2), t2 = _rotated(axes, y), dot(along, q)
    gram = settled(dot(jnp.swapaxes(a * axes, 0, 1)[:, :, None], jnp.swapaxes(a * axes, 0, 1)[:, None]))

    angles = 2 * np.pi / _PLANES * (np.arange(_PLANES) - _PLANES // 2)
    c, k = np.cos(angles)[:, None], np.sin(angles)[:, None]
    b, h = settled((c * m1 + k * m2, c * m2 - k * m1))
    square = jnp.maximum(1 - h * h, 1e-12)
    r = jnp.sqrt(square)
    uv, vv = settled(
        (c * gram[0, 1] + k * gram[0, 2], c * c * gram[1, 1] + 2 * c * k * gram[1, 2] + k * k * gram[2, 2])
    )

    def stretched(u: Array, v: Array) -> Array:
        """|a (u along + v bulge)|"""
        return jnp.sqrt(u * u * gram[0, 0] + 2 * u * v * uv + v * v * vv)

    def touching(t: Array, way: float) -> tuple[Array, Array]:
        distance = t * t + b * b
        near, aside = settled(jnp.stack([square / distance, way * r * root(distance - square) / distance]))
        return near * t + aside * b, near * b - aside * t

    (P0, P1), (Q0, Q1) = touching(t1, 1.0), touching(t2, -1.0)
    cosine, sine = settled(jnp.stack([(P0 * Q0 + P1 * Q1) / square, (P1 * Q0 - P0 * Q1) / square]))
    half_cosine, half_sine = settled(
        jnp.stack([jnp.where(sine < 0, -1.0, 1.0) * root((1 + cosine) / 2), root((1 - cosine) / 2)])
    )
    N0, N1 = half_cosine * P0 + half_sine * P1, half_cosine * P1 - half_sine * P0  # the middle of the arc
    speeds = stretched(P1, -P0) + 4 * stretched(N1, -N0) + stretched(Q1, -Q0)  # Simpson's rule
    lines = stretched(P0 - t1, P1 - b) + stretched(t2 - Q0, b - Q1)
    lengths = settled(settled(turned(sine, cosine, jnp.ones_like(sine))) * speeds / 6 + lines)

    h0, h1, h2 = (sign * component(x, axis) for x in axes)
    height = N0 * h0 + N1 * (c * h1 + k * h2) + h * (c * h2 - k * h1)
    before, after = (lengths[np.arange(i, i + _PLANES) % _PLANES] for i in (-1, 1))
    far = 3 * jnp.max(lengths, axis=0) - jnp.min(lengths, axis=0) * height
    valley = (lengths <= before) & (lengths <= after)
    rank = settled(jnp.where(valley, jnp.where(height >= 0, lengths, far), jnp.inf))
    bend = before - 2 * lengths + after
    offset = jnp.where(bend > 0, (before - after) / jnp.where(bend > 0, 2 * bend, 1.0), 0.0)
    refined = settled(angles[:, None] + angles[_PLANES // 2 + 1] * offset)
    best, angle = rank[0], refined[0]
    for other, value in zip(rank[1:], refined[1:], strict=True):
        best, angle = jnp.minimum(best, other), jnp.where(other < best, value, angle)
    k, c = settled(sine_cosine(angle))
    return jnp.stack([along, c * axes[1] + k * axes[2], c * axes[2] - k * axes[1]])
