"""Shortest path over an ellipsoid about the origin with half axes a: the true geodesic, by shooting.

In y = x / a the ellipsoid is the unit sphere, and the points where lines from p touch it form a circle on it, known
in closed form: one angle phi says where the path lands and, being tangent, in which direction. From there runs the
geodesic. Let q = x / a^2, normal to the surface, n = q . q, and v the unit tangent. A geodesic turns along the normal
only, dv/ds = -(v . v/a^2) q / n, and keeps j = n (v . v/a^2) (Joachimsthal). With a parameter sigma that slows down
where the surface bends, ds/dsigma = n:

    q' = n v / a^2,   v' = -(j / n) q,   s' = n.

The unknowns (phi, sigma) are found such that the line from the end of the geodesic, along its tangent, meets s.

When it wraps (OpenSim, WrapEllipsoid::wrapLine): if the segment runs into the ellipsoid and neither end is inside.
Where it wraps: the guess is the shortest of the paths in planes through p and s; with a quadrant, of those that are
shortest among their neighbours and have the middle of their arc on the active side; if there is none, the one nearest
to that side. OpenSim takes the plane through a point near the middle of the segment instead, and the path in that
plane.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from myograd.geometry.single_common import Wrap, assemble, norm, passing_point, root, tangent_angle
from myograd.geometry.single_geodesic import Path, State, approach, integrate, path_length, root_of, settle

_PLANES = 24  # directions tried for the guess
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)  # for the lengths of the guesses, on [-1, 1]
_COARSE, _FINE = 10, 40  # integration steps while approaching the root, and at the end


def wrap_ellipsoid(
    p: Array, s: Array, dimensions: ArrayLike, quadrant_axis: ArrayLike, quadrant_sign: ArrayLike
) -> Wrap:
    """Wraps the segment p -> s (each [3], metres, in the ellipsoid's frame) over an ellipsoid about the origin.

    `dimensions` [3] are the half axes. `quadrant_sign` is 0 (all) or +-1 with `quadrant_axis` 0, 1, 2.
    """
    a = jnp.asarray(dimensions)
    inside = (norm(p / a) < 1) | (norm(s / a) < 1)
    t, within = passing_point(p / a, s / a)
    engaged = within & (norm((p + t * (s - p)) / a) < 1) & ~inside

    # Where nothing wraps, the solver gets a harmless path, so that it converges and its derivatives are finite.
    e = jnp.where(engaged, p, a * jnp.array([2.0, 0.5, 0.1]))
    f = jnp.where(engaged, s, a * jnp.array([-2.0, 0.5, 0.1]))
    known = jax.lax.stop_gradient((e, f, a))
    guess = _guess(*known, quadrant_axis, quadrant_sign)
    z, slopes = approach(_coarse_residual, guess, known, longest=jnp.stack([0.4, 0.05 + 0.5 * guess[1]]), steps=6)
    z, found = settle(_residual, z, slopes, known)
    z = jnp.where(found, z, guess)
    z = root_of(_residual, z, (e, f, a))
    path = _path(z, e, a)
    tangents = jnp.stack([path.P, path.Q])
    length = path_length(_path, path, z, e, f, a)
    return assemble(p, s, engaged, engaged, inside, length, tangents, path.arc, found)


def _path(z: Array, p: Array, a: Array, steps: int = _FINE) -> Path:
    phi, sigma = z
    y = p / a
    square = y @ y
    k = root(1 - 1 / square)
    e1, e2 = _across(y)
    w = jnp.cos(phi) * e1 + jnp.sin(phi) * e2
    landing, heading = y / square + k * w, a * (w - k * y)
    tangent = heading / norm(heading)

    size = jnp.mean(a)  # the geodesic is computed for mean half axis 1
    b0, b1, b2 = (size / a) ** 2
    q0, q1, q2 = landing * size / a
    v0, v1, v2 = tangent
    j = (q0 * q0 + q1 * q1 + q2 * q2) * (b0 * v0 * v0 + b1 * v1 * v1 + b2 * v2 * v2)

    def rate(state: State) -> State:
        q0, q1, q2, v0, v1, v2, _ = state
        n = q0 * q0 + q1 * q1 + q2 * q2
        turn = -j / n
        return (n * b0 * v0, n * b1 * v1, n * b2 * v2, turn * q0, turn * q1, turn * q2, n)

    q0, q1, q2, v0, v1, v2, arc = integrate(rate, (q0, q1, q2, v0, v1, v2, 0 * q0), sigma, steps)
    normal, leaving = jnp.stack([q0, q1, q2]), jnp.stack([v0, v1, v2])
    return Path(a * landing, normal * a * a / size, tangent, leaving, k * norm(heading), size * arc)


def _residual(z: Array, p: Array, s: Array, a: Array, steps: int = _FINE) -> Array:
    """How far s is from the line that leaves the geodesic at its end: along the normal and across, per mean half
    axis.
    """
    path = _path(z, p, a, steps)
    n = path.Q / (a * a)
    n = n / norm(n)
    gap = (s - path.Q) / jnp.mean(a)
    return jnp.stack([n @ gap, jnp.cross(path.along_q, n) @ gap])


def _coarse_residual(z: Array, p: Array, s: Array, a: Array) -> Array:
    return _residual(z, p, s, a, _COARSE)


def _across(v: Array) -> tuple[Array, Array]:
    """Two unit vectors across v and each other."""
    axis = jnp.where(jnp.arange(3) == jnp.argmin(jnp.abs(v)), 1.0, 0.0)
    e1 = jnp.cross(v, axis)
    e1 = e1 / norm(e1)
    return e1, jnp.cross(v, e1) / norm(v)


def _guess(p: Array, s: Array, a: Array, quadrant_axis: ArrayLike, quadrant_sign: ArrayLike) -> Array:
    """(phi, sigma) of the shortest plane path, on the active side if there is a quadrant.

    In y, a plane through the segment cuts the unit sphere in a circle of radius r. Let `along` be the direction of
    the segment, `bulge` the direction across it in which the path gives way, and theta the angle about the circle's
    centre from `bulge` towards `along`. The ends are at (t1, b) and (t2, b) in the directions (along, bulge) from the
    centre.
    """
    y, q = p / a, s / a
    along = (q - y) / norm(q - y)
    e1, e2 = _across(along)
    t1, t2 = y @ along, q @ along
    m1, m2 = y @ e1, y @ e2
    metric = jnp.stack([along, e1, e2]) * a
    metric = metric @ metric.T

    def section(angle: Array) -> tuple[Array, Array, Array, Array]:
        """Length of the path that bulges towards `angle`, and the first and last theta and the radius of its arc."""
        c, k = jnp.cos(angle), jnp.sin(angle)
        b = c * m1 + k * m2
        r = root(1 - (c * m2 - k * m1) ** 2)
        uu, uv = metric[0, 0], c * metric[0, 1] + k * metric[0, 2]
        vv = c * c * metric[1, 1] + 2 * c * k * metric[1, 2] + k * k * metric[2, 2]

        def stretched(u: Array, v: Array) -> Array:
            """|a (u along + v bulge)|"""
            return root(u * u * uu + 2 * u * v * uv + v * v * vv)

        first = tangent_angle(jnp.hypot(t1, b), r) - jnp.arctan2(-t1, b)
        last = jnp.arctan2(t2, b) - tangent_angle(jnp.hypot(t2, b), r)
        theta = (first + last) / 2 + (last - first) / 2 * _NODES
        arc = r * (last - first) / 2 * (_WEIGHTS @ stretched(jnp.cos(theta), -jnp.sin(theta)))
        lines = stretched(r * jnp.sin(first) - t1, r * jnp.cos(first) - b) + stretched(
            t2 - r * jnp.sin(last), b - r * jnp.cos(last)
        )
        return arc + lines, first, last, r

    def point(angle: Array, theta: Array) -> Array:
        """The point [3] of the unit sphere at `theta` in the plane that bulges towards `angle`."""
        bulge, normal = jnp.cos(angle) * e1 + jnp.sin(angle) * e2, jnp.cos(angle) * e2 - jnp.sin(angle) * e1
        h = y @ normal
        return root(1 - h * h) * (jnp.sin(theta) * along + jnp.cos(theta) * bulge) + h * normal

    step = 2 * np.pi / _PLANES
    angles = step * jnp.arange(_PLANES)
    lengths, first, last, _ = jax.vmap(section)(angles)
    before, after = jnp.roll(lengths, 1), jnp.roll(lengths, -1)
    valley = (lengths <= before) & (lengths <= after)
    height = quadrant_sign * jax.vmap(point)(angles, (first + last) / 2)[:, jnp.asarray(quadrant_axis)]
    rank = jnp.where(height >= 0, lengths, 3 * jnp.max(lengths) - jnp.min(lengths) * height)
    best = jnp.argmin(jnp.where(valley, rank, jnp.inf))
    left, mid, right = before[best], lengths[best], after[best]
    bend = left - 2 * mid + right
    angle = angles[best] + step * jnp.where(bend > 0, (left - right) / jnp.where(bend > 0, 2 * bend, 1.0), 0.0)

    _, first, last, r = section(angle)
    theta = (first + last) / 2 + (last - first) / 2 * _NODES
    bulge = jnp.cos(angle) * e1 + jnp.sin(angle) * e2
    speeds = r * jnp.linalg.norm(a * (jnp.cos(theta)[:, None] * along - jnp.sin(theta)[:, None] * bulge), axis=1)
    normals = jax.vmap(point, (None, 0))(angle, theta) / a
    sigma = (last - first) / 2 * (_WEIGHTS @ (speeds / jnp.sum(normals * normals, axis=1))) / jnp.mean(a) ** 3
    landing, (f1, f2) = point(angle, first), _across(y)
    return jnp.stack([jnp.arctan2(landing @ f2, landing @ f1), sigma])
