"""Shortest path through a ring: over the inner side of a torus about the z axis, the true geodesic, by shooting.

Sizes: radius r of the tube (OpenSim's inner_radius), radius R of the circle in its middle (outer_radius):
x = ((R + r cos v) cos u, (R + r cos v) sin u, r sin v). A geodesic keeps h = (R + r cos v)^2 du/ds (Clairaut), so

    u' = h / (R + r cos v)^2,   v'' = -h^2 sin v / (r (R + r cos v)^3).

At a given u there is one v on the inner side where a line from p is tangent, in closed form. The unknowns z = (u, length of
the arc / r) are found such that the line from the end of the geodesic, along its tangent, meets s.

When it wraps: OpenSim puts a long cylinder of radius r along the tangent of the circle, near the segment, and wraps over
that on the side of the torus' centre: a path that threads the ring stays in it. Here this is said of the ring itself. If
the ends are on different sides of its plane, and neither is inside the tube, the path threads the ring; it wraps unless
the straight line passes freely. With ends on the same side of the plane, or a point of the circle nearest the segment
that is off the active side of a quadrant, the line is straight. OpenSim also turns paths that do not come near the plane
about its cylinder.

One arc is looked for. Where there is none (a path that touches the ring, flies across the hole and touches it again),
`converged` is False. The search is written for one segment; `touch`, `wrap` and `along` are for many.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from .sparse import sparsely
from .spatial import cross, dot, settled
from .wrap_common import Arc, Flags, Scalars, Signs, Touch, Vectors, component, norm, on_side, root, unless_zero
from .wrap_geodesic import root_change, trace

_SAMPLES = 16  # places on the segment from which its point nearest the circle is sought
_AZIMUTHS = 24  # places on the ring tried for the guess
_SLACK = 1e-6  # in arc / r: rounding where the segment only just touches
_COARSE, _FINE = 8, 24  # integration steps while approaching the root, and at the end
_ITERATIONS = 15
_NEAR, _FOUND = 1e-4, 1e-9  # last steps of the approach, and of a root
_OFFSET = 1e-6  # for the slopes of the approach: they decide how fast the root is found, not where it is
_LONGEST = 0.4  # step
# Butcher's sixth-order method with seven stages (On Runge-Kutta processes of high order, 1964).
_A = (
    (1 / 3,),
    (0, 2 / 3),
    (1 / 12, 1 / 3, -1 / 12),
    (-1 / 16, 9 / 8, -3 / 16, -3 / 8),
    (0, 9 / 8, -3 / 8, -3 / 4, 1 / 2),
    (9 / 44, -9 / 11, 63 / 44, 18 / 11, 0, -16 / 11),
)
_B = (11 / 120, 0, 27 / 40, 27 / 40, -4 / 15, -4 / 15, 11 / 120)


def touch(p: Vectors, s: Vectors, sizes: Vectors, axis: Signs, sign: Signs) -> Touch:
    p, s, sizes = lax.stop_gradient((p, s, sizes))
    r, ring = sizes[0], sizes[1]
    inside = (_from_circle(p, ring) < r * r) | (_from_circle(s, ring) < r * r)
    opposite = (p[2] < 0) != (s[2] < 0)
    rise = jnp.where(opposite, s[2] - p[2], 1.0)
    crossing = p - p[2] / rise * (s - p)
    nearest = _nearest_to_circle(p, s, ring)
    free = (dot(crossing[:2], crossing[:2]) < ring * ring) & (_from_circle(nearest, ring) >= r * r)
    active = (sign == 0) | on_side(component(nearest, axis), sign)
    engaged = opposite & ~inside & ~free & active & (r > 0)
    return Touch(engaged, engaged, inside, jnp.zeros_like(r))


def wrap(p: Vectors, s: Vectors, sizes: Vectors, axis: Signs, sign: Signs, where: Flags) -> Arc:
    found = _geodesic(p, s, sizes, where)
    return Arc(jnp.where(where, found.P, p), jnp.where(where, found.Q, s), found.length, found.converged | ~where)


def along(
    P: Vectors, direction: Vectors, length: Scalars, sizes: Vectors, fractions: Float[Array, " f"]
) -> Float[Array, "f 3 n"]:
    """Points of the geodesic, which turns along the normal only."""
    r, ring = jnp.where(length > 0, sizes[0], 1.0), jnp.where(length > 0, sizes[1], 2.0)
    level = jnp.array([[1.0], [1.0], [0.0]])

    def acceleration(x: Vectors, v: Vectors) -> Vectors:
        axial = unless_zero(norm(level * x))
        outward = level * x / axial  # e_u
        normal = (x - ring * outward) / r
        around = dot(v, jnp.stack([-outward[1], outward[0], jnp.zeros_like(r)]))
        spin = around * around / axial  # of the velocity along e_u', which turns with u
        across = dot(v, v) - around * around
        return -(across / r + spin * dot(normal, outward)) * normal

    start = jnp.where(length > 0, P, jnp.stack([ring - r, 0 * r, 0 * r]))
    return trace(acceleration, start, direction, length, fractions)


class _Geodesic(NamedTuple):
    P: Vectors
    Q: Vectors
    length: Scalars
    converged: Flags
    z: Float[Array, "2 n"]


@jax.custom_jvp
def _geodesic(p: Vectors, s: Vectors, sizes: Vectors, where: Flags) -> _Geodesic:
    return sparsely(_find, where, p, s, sizes)


@_geodesic.defjvp
def _geodesic_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[_Geodesic, _Geodesic]:
    found, where = _geodesic(*primals), primals[-1]
    harmless = np.array([[2.0, 2.0, 1.0], [0.0, 0.0, 2.0], [2.0, -2.0, 0.0]])
    args = tuple(jnp.where(where, x, harmless[:, i, None]) for i, x in enumerate(primals[:3]))
    changes = tuple(jnp.where(where, x, 0.0) for x in tangents[:3])
    z = jnp.where(where, found.z, np.array([[0.0], [1.0]]))

    def residual(z: Array, p: Array, s: Array, sizes: Array) -> tuple[Array, Array]:
        return _missed(_shot(z, p, sizes, _FINE), s, sizes), jnp.zeros_like(z[0])

    dz, _ = root_change(residual, z, args, changes)
    path = jax.jvp(
        lambda z, p, sizes: _shot(z, p, sizes, _FINE)[:3], (z, args[0], args[2]), (dz, changes[0], changes[2])
    )[1]
    P, Q, length, dz = (jnp.where(where, x, 0.0) for x in (*path, dz))
    held: Any = np.zeros(where.shape, jax.dtypes.float0)
    return found, _Geodesic(P, Q, length, held, dz)


def _find(p: Vectors, s: Vectors, sizes: Vectors) -> _Geodesic:
    """From two guesses per segment, coarsely; then from the better one to the end."""
    n = p.shape[1]
    z, slopes, length = _approach(jnp.concatenate(_guesses(p, s, sizes), axis=1), p, s, sizes)
    second = length[n:] < length[:n]
    z, slopes = (jnp.where(second, x[..., n:], x[..., :n]) for x in (z, slopes))

    def step(carry: tuple[Array, Array, Array, _Shot]) -> tuple[Array, Array, Array, _Shot]:
        count, z, _, _ = carry
        shot = _shot(z, p, sizes, _FINE)
        dz = settled(_solved(slopes, _missed(shot, s, sizes)))
        return count + 1, settled(z - dz), jnp.max(jnp.abs(dz), axis=0), shot

    start = (jnp.zeros((), int), z, jnp.ones(n), _Shot(p, s, 0 * p[0], p))
    _, z, last, shot = lax.while_loop(lambda c: (c[0] < _ITERATIONS) & jnp.any(~(c[2] < _FOUND)), step, start)
    return _Geodesic(shot.P, shot.Q, shot.length, (last < _FOUND) & (z[1] > -_SLACK), z)


def _approach(
    z: Float[Array, "2 2n"], p: Vectors, s: Vectors, sizes: Vectors
) -> tuple[Float[Array, "2 2n"], Float[Array, "2 2 2n"], Float[Array, " 2n"]]:
    """Roots of the coarse residual by Newton's method, the slopes there, and the lengths of the paths: infinite if none."""
    n = z.shape[1]
    six_p, six_s, six_sizes = (jnp.concatenate([x] * 6, axis=1) for x in (p, s, sizes))

    def step(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        count, z, _, _, _, _ = carry
        aside = [z, z + np.array([[_OFFSET], [0.0]]), z + np.array([[0.0], [_OFFSET]])]
        shot = settled(_shot(jnp.concatenate(aside, axis=1), six_p, six_sizes, _COARSE))
        values = settled(_missed(shot, six_s, six_sizes))
        here, by_u, by_arc = values[:, :n], values[:, n : 2 * n], values[:, 2 * n :]
        slopes = jnp.stack([by_u - here, by_arc - here], axis=1) / _OFFSET
        dz = settled(_solved(slopes, here))
        largest = jnp.max(jnp.abs(dz), axis=0)
        onwards = dot(shot.along_q, six_s - shot.Q)[:n]
        length = (norm(shot.P - six_p) + shot.length)[:n] + onwards
        valid = (jnp.max(jnp.abs(here), axis=0) < 1e-3) & (z[1] > -_SLACK) & (onwards > 0)
        taken = settled(z - dz * (_LONGEST / jnp.maximum(largest, _LONGEST)))
        return count + 1, taken, largest, slopes, length, valid

    start = (jnp.zeros((), int), z, jnp.ones(n), jnp.zeros((2, 2, n)), z[0], z[0] > 9)
    _, z, _, slopes, length, valid = lax.while_loop(
        lambda c: (c[0] < _ITERATIONS) & jnp.any(~(c[2] < _NEAR)), step, start
    )
    return z, slopes, jnp.where(valid, length, jnp.inf)


def _solved(matrix: Float[Array, "2 2 n"], b: Float[Array, "2 n"]) -> Float[Array, "2 n"]:
    """matrix^-1 b; zero where it is singular."""
    (m00, m01), (m10, m11) = matrix
    det = m00 * m11 - m01 * m10
    x = jnp.stack([b[0] * m11 - b[1] * m01, m00 * b[1] - m10 * b[0]])
    return jnp.where(det == 0, 0.0, x / unless_zero(det))


class _Shot(NamedTuple):
    """From p to the end of a geodesic."""

    P: Vectors
    Q: Vectors
    length: Scalars  # of the arc
    along_q: Vectors  # unit tangent at Q


def _frame(u: Scalars, v: Scalars, sizes: Vectors) -> tuple[Vectors, Vectors, Vectors]:
    """Point of the torus at (u, v), and there the unit vectors along u and along v."""
    r, ring = sizes[0], sizes[1]
    cu, su, cv, sv = jnp.cos(u), jnp.sin(u), jnp.cos(v), jnp.sin(v)
    zero = jnp.zeros_like(cu)
    point = jnp.stack([(ring + r * cv) * cu, (ring + r * cv) * su, r * sv])
    return point, jnp.stack([-su, cu, zero]), jnp.stack([-sv * cu, -sv * su, cv])


def _landing(u: Array, p: Array, sizes: Array) -> Array:
    """v of the point at u on the inner side, between 0 and 2 pi, where a line from p touches; p is not in the plane z = 0."""
    r, ring = sizes[0], sizes[1]
    across, above = jnp.cos(u) * p[0] + jnp.sin(u) * p[1] - ring, p[2]
    v = jnp.mod(jnp.arctan2(above, across), 2 * np.pi)
    return v + jnp.where(above > 0, 1.0, -1.0) * jnp.arctan2(root(across * across + above * above - r * r), r)


def _shot(z: Float[Array, "2 n"], p: Vectors, sizes: Vectors, steps: int) -> _Shot:
    u, span = z
    r, ring = sizes[0], sizes[1]
    v = settled(_landing(u, p, sizes))
    P, along_u, along_v = settled(_frame(u, v, sizes))
    cu, cv = dot(along_u, P - p), dot(along_v, P - p)
    heading = settled(norm(jnp.stack([cu, cv])))
    ratio = ring / r  # the geodesic is computed for r = 1
    h = settled((ratio + jnp.cos(v)) * cu / heading)
    size = span / steps

    def rate(state: Array) -> Array:  # with cos v and sin v as states, there are no angles to evaluate
        _, c, k, dv = state
        turn = h / (ratio + c)
        du = turn / (ratio + c)
        return jnp.stack([du, -k * dv, c * dv, -turn * du * k])

    def advanced(state: Array, weights: tuple[float, ...], slopes: list[Array]) -> Array:
        return settled(state + size * sum(w * k for w, k in zip(weights, slopes, strict=True) if w))

    def step(state: Array, _: None) -> tuple[Array, None]:
        slopes = [settled(rate(state))]
        for row in _A:
            slopes.append(settled(rate(advanced(state, row, slopes))))
        return advanced(state, _B, slopes), None

    u, c, k, dv = lax.scan(step, jnp.stack([u, jnp.cos(v), jnp.sin(v), cv / heading]), None, length=steps)[0]
    v = jnp.arctan2(k, c)
    Q, along_u, along_v = _frame(u, v, sizes)
    along_q = h / (ratio + jnp.cos(v)) * along_u + dv * along_v
    return _Shot(P, Q, r * span, along_q)


def _missed(shot: _Shot, s: Vectors, sizes: Vectors) -> Float[Array, "2 n"]:
    """How far s is from the line that leaves the geodesic at its end: along the normal and across, over r."""
    r, ring = sizes[0], sizes[1]
    Q, gap = shot.Q, (s - shot.Q) / r
    axial = norm(Q[:2])
    n = jnp.stack([Q[0] * (1 - ring / axial), Q[1] * (1 - ring / axial), Q[2]]) / r
    return jnp.stack([dot(n, gap), dot(cross(shot.along_q, n), gap)])


def _guesses(p: Vectors, s: Vectors, sizes: Vectors) -> tuple[Float[Array, "2 n"], Float[Array, "2 n"]]:
    """(u, arc / r) of the shortest way over pairs of azimuths where lines from p and from s touch; and at the azimuth of the
    point of the segment nearest the circle. Small holes need both: there a path may go far round the ring in contact."""
    r, ring = sizes[0], sizes[1]
    azimuths = 2 * np.pi / _AZIMUTHS * np.arange(_AZIMUTHS)
    cu, su = np.cos(azimuths)[:, None], np.sin(azimuths)[:, None]
    up = jnp.where(p[2] > 0, 1.0, -1.0)

    def touched(x: Vectors) -> tuple[Array, Array]:
        """Length of the line from x to each azimuth, infinite where it would be inside the tube, and v there."""
        v = settled(_landing(jnp.asarray(azimuths)[:, None], x[:, None], sizes[:, None]))
        c, k = settled((jnp.cos(v), jnp.sin(v)))
        across, aside = cu * x[0] + su * x[1] - ring, cu * x[1] - su * x[0]
        outside = across * across + x[2] ** 2 >= r * r
        lateral = c * x[2] - k * across  # of the line, along v
        convex = lateral * lateral / r + c / (ring + r * c) * aside * aside > 0
        return settled((jnp.where(outside & convex, jnp.sqrt(lateral * lateral + aside * aside), jnp.inf), v))

    (line1, v1), (line2, v2) = touched(p), touched(s)
    dv = settled(up * (v2[None] - v1[:, None]))
    du = (azimuths[None, :] - azimuths[:, None] + np.pi) % (2 * np.pi) - np.pi
    c1, k1, c2, k2 = settled((jnp.cos(v1 / 2), jnp.sin(v1 / 2), jnp.cos(v2 / 2), jnp.sin(v2 / 2)))
    halfway = ring + r * (
        c1[:, None] * c2[None] - k1[:, None] * k2[None]
    )  # distance from the axis at the mean of v1, v2
    arcs = jnp.sqrt((r * dv) ** 2 + (halfway * du[..., None]) ** 2)
    missed = 10 * r * jnp.maximum(0.0, -dv)  # pairs between which the tube is not touched
    arcs, total = (x.reshape(_AZIMUTHS**2, -1) for x in (arcs, line1[:, None] + arcs + line2[None] + missed))
    best = jnp.argmin(total, axis=0)
    arc = jnp.take_along_axis(arcs, best[None], axis=0)[0]
    nearest = _nearest_to_circle(p, s, ring)
    azimuth = jnp.arctan2(nearest[1], nearest[0])
    span = up * (_landing(azimuth, s, sizes) - _landing(azimuth, p, sizes))
    return (
        jnp.stack([jnp.asarray(azimuths)[best // _AZIMUTHS], jnp.clip(arc / r, 0.05, 3.0)]),
        jnp.stack([azimuth, jnp.clip(span, 0.05, 3.0)]),
    )


def _from_circle(x: Vectors, ring: Scalars) -> Scalars:
    """Squared distance of x from the circle of radius `ring`."""
    return (norm(x[:2]) - ring) ** 2 + x[2] ** 2


def _nearest_to_circle(p: Vectors, s: Vectors, ring: Scalars) -> Vectors:
    """The point of each segment nearest the circle: the best of a few, improved by Newton's method."""
    step = s - p
    best, t = _from_circle(p, ring), jnp.zeros_like(ring)
    for i in range(1, _SAMPLES):
        distance = _from_circle(p + i / (_SAMPLES - 1) * step, ring)
        t = jnp.where(distance < best, i / (_SAMPLES - 1), t)
        best = jnp.minimum(distance, best)
    t = settled(t)
    for _ in range(5):
        x = p + t * step
        radius = jnp.maximum(norm(x[:2]), 1e-9 * ring)
        growth = dot(x[:2], step[:2]) / unless_zero(radius)  # of the distance from the axis, with t
        slope = dot(x, step) - ring * growth
        bend = dot(step, step) - ring * (dot(step[:2], step[:2]) - growth**2) / unless_zero(radius)
        change = jnp.where(bend > 0, slope / jnp.where(bend > 0, bend, 1.0), 0.0)
        t = settled(jnp.clip(t - jnp.clip(change, -1 / _SAMPLES, 1 / _SAMPLES), 0.0, 1.0))
    return p + t * step
