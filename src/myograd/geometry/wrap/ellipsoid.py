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

The root is the series of k(t) and the frame, row by row. It is found (`search.ellipsoid`) by Newton's method, which takes
the second derivative from the second variation of a geodesic: with w the distance by which the
path is moved sideways, K = 1 / (det(a) |y / a|^2)^2 the Gauss curvature and s the arc length,

    d2L = integral of (w'^2 - K w^2) ds over the arc + w_P^2 / |P - p| + w_Q^2 / |Q - s|.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..spatial import dot, materialized
from .common import Arc, Flags, Scalars, Signs, Vectors, half_turned, root, unless_zero
from .geodesic import at_root, trace
from .ritz import FINE, TERMS, sine_cosine

_ENDS = FINE.basis[[0, -1]]
_BASIS_AND_SLOPES = np.concatenate([FINE.basis, FINE.slopes])
_OF_ENDS = np.concatenate([FINE.weights * FINE.shares.T, FINE.weights * np.array([[-0.5], [0.5]])], axis=1)
_OF_TERMS = np.concatenate([FINE.weights * FINE.basis.T, FINE.weights * FINE.slopes.T], axis=1)
_WAYS = np.array([[1.0], [-1.0]])  # the path turns towards larger theta at p, comes from smaller at s
_TINY = 1e-24  # keeps speeds of arcs and lengths of lines from zero


def arc(
    p: Vectors, s: Vectors, sizes: Vectors, axis: Signs, sign: Signs, root: Float[Array, "terms n"], where: Flags
) -> Arc:
    harmless = np.array([[-2.0, 2.0, 1.0], [0.5, 0.5, 1.0], [0.1, 0.1, 1.0]])[..., None]
    e, f, a = (jnp.where(where, x, harmless[:, i]) for i, x in enumerate((p, s, sizes)))
    frame = jnp.where(where, root[TERMS : TERMS + 9].reshape(3, 3, -1), np.eye(3)[..., None])
    z = at_root(_stationarity, jnp.where(where, root[:TERMS], 0.0), (e, f, a, frame))
    P, Q = _ends(z, e, f, a, frame)
    length = FINE.weights @ _curve(z, _posed(e, f, a, frame)).f
    return Arc(jnp.where(where, P, p), jnp.where(where, Q, s), jnp.where(where, length, 0.0))


def along(
    P: Vectors, direction: Vectors, length: Scalars, sizes: Vectors, fractions: Float[Array, " f"]
) -> Float[Array, "f 3 n"]:
    """Points of the geodesic, which turns along the normal x / a^2 only."""
    a = jnp.where(sizes > 0, sizes, 1.0)

    def acceleration(x: Vectors, v: Vectors) -> Vectors:
        q, bent = x / (a * a), v / a
        return -dot(bent, bent) / dot(q, q) * q

    return trace(acceleration, jnp.where(length > 0, P, a), direction, length, fractions)


class _Posed(NamedTuple):
    """A segment and the ellipsoid in the frame."""

    ends: Float[Array, "3 2 n"]  # p / a and s / a
    metric: Float[Array, "6 1 n"]  # of a^2: its entries 00, 11, 22, 01, 02, 12


def _posed(p: Vectors, s: Vectors, a: Vectors, frame: Float[Array, "3 3 n"]) -> _Posed:
    x, y, z = materialized(frame * a)
    metric = jnp.stack([dot(x, x), dot(y, y), dot(z, z), dot(x, y), dot(x, z), dot(y, z)])[:, None]
    return _Posed(_rotated(frame[:, :, None], jnp.stack([p / a, s / a], axis=1)), metric)


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


class _Curve(NamedTuple):
    """A path: both lines and, at the nodes, its arc, with the slopes of the speed f = |a y'|."""

    theta_k: Float[Array, "2 n"]  # slope with the height k of an end
    line_k: Float[Array, "2 n"]
    f: Float[Array, "nodes n"]
    slopes: Float[Array, "4 nodes n"]  # of f with theta, theta', k and k'


def _curve(z: Float[Array, "terms n"], posed: _Posed) -> _Curve:
    k, dk = jnp.split(_BASIS_AND_SLOPES @ z, 2)
    ends = jnp.stack([k[0], k[-1]])
    P, theta_k = materialized(_touching(ends, posed.ends))
    rho2 = 1 - ends * ends
    theta = materialized(half_turned(P[0], P[1], jnp.sqrt(rho2)))
    gap = P - posed.ends
    pull = _times(posed.metric, gap)
    line = materialized(jnp.sqrt(dot(gap, pull) + _TINY * posed.metric[0]))
    spread = ends / rho2
    P_k = jnp.stack([theta_k * P[1] - spread * P[0], -theta_k * P[0] - spread * P[1], jnp.ones_like(ends)])
    line_k = materialized(dot(pull, P_k) / line)
    dtheta = (theta[1] - theta[0]) / 2
    sine, cosine = materialized(sine_cosine(FINE.shares[:, :1] * theta[0] + FINE.shares[:, 1:] * theta[1]))
    rho = jnp.sqrt(jnp.maximum(1 - k * k, 1e-6))
    drho_dk = materialized(-k / rho)
    y = materialized(jnp.stack([rho * sine, rho * cosine, k]))
    drho = drho_dk * dk
    dy = materialized(jnp.stack([drho * sine + dtheta * y[1], drho * cosine - dtheta * y[0], dk]))
    g = _times(posed.metric, dy)
    f = materialized(jnp.sqrt(dot(g, dy) + _TINY * posed.metric[0]))
    g = materialized(g / f)
    radial, around = g[0] * sine + g[1] * cosine, g[0] * cosine - g[1] * sine
    drho_dkk = (drho_dk * drho_dk + 1) / rho
    f_theta, f_dtheta = g[0] * dy[1] - g[1] * dy[0], g[0] * y[1] - g[1] * y[0]
    f_k, f_dk = drho_dk * dtheta * around - dk * drho_dkk * radial, drho_dk * radial + g[2]
    return _Curve(theta_k, line_k, f, materialized(jnp.stack([f_theta, f_dtheta, f_k, f_dk])))


def _stationarity(z: Array, p: Vectors, s: Vectors, a: Vectors, frame: Array) -> Float[Array, "terms n"]:
    """Slopes of the length with z."""
    curve, rows = _curve(z, _posed(p, s, a, frame)), 2 * len(FINE.weights)
    with_ends = _OF_ENDS @ curve.slopes[:2].reshape(rows, -1) * curve.theta_k + curve.line_k
    return jnp.asarray(_OF_TERMS) @ curve.slopes[2:].reshape(rows, -1) + _ENDS.T @ with_ends


def _ends(z: Array, p: Vectors, s: Vectors, a: Vectors, frame: Array) -> tuple[Vectors, Vectors]:
    """P and Q."""
    y, _ = _touching(jnp.asarray(_ENDS) @ z, _rotated(frame[:, :, None], jnp.stack([p / a, s / a], axis=1)))
    P, Q = (a * _rotated(jnp.swapaxes(frame, 0, 1), y[:, i]) for i in (0, 1))
    return P, Q
