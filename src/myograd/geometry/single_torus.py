"""Shortest path through a ring: over the inner side of a torus about the z axis, the true geodesic, by shooting.

The tube has radius r (OpenSim's inner_radius) and its centre runs on the circle of radius R (outer_radius) in the
plane z = 0: x = ((R + r cos v) cos u, (R + r cos v) sin u, r sin v). A geodesic keeps h = (R + r cos v)^2 du/ds
(Clairaut), so

    u' = h / (R + r cos v)^2,   v'' = -h^2 sin v / (r (R + r cos v)^3).

At a given u there is one v on the inner side where a line from p is tangent, in closed form. The unknowns (u, length
of the arc) are found such that the line from the end of the geodesic, along its tangent, meets s.

When it wraps: OpenSim puts a long cylinder of radius r along the tangent of the circle, near the segment, and wraps
over that on the side of the torus' centre: a path that threads the ring stays in it. Here this is said of the ring
itself. If the ends are on different sides of its plane, and neither is inside the tube, the path threads the ring; it
wraps unless the straight line passes freely. With ends on the same side of the plane, or a point of the circle
nearest the segment that is off the active side of a quadrant, the line is straight. OpenSim also turns paths that do
not come near the plane about its cylinder.

One arc is looked for. Where there is none (a path that touches the ring, flies across the hole and touches it again),
`converged` is False and the path is the one over OpenSim's cylinder.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from myograd.geometry.single_common import Wrap, assemble, norm, on_side, tangent_angle
from myograd.geometry.single_cylinder import wrap_cylinder
from myograd.geometry.single_geodesic import Path, State, approach, integrate, path_length, root_of, settle

_AZIMUTHS = 24  # places on the ring tried for the guess
_SAMPLES = 16  # places on the segment from which its point nearest the circle is sought
_SLACK = 1e-6  # in arc / r: rounding where the segment only just touches
_NEWTON_STEPS = 10
_COARSE, _FINE = 20, 40  # integration steps while approaching the root, and at the end


def wrap_torus(
    p: Array,
    s: Array,
    inner_radius: ArrayLike,
    outer_radius: ArrayLike,
    quadrant_axis: ArrayLike,
    quadrant_sign: ArrayLike,
) -> Wrap:
    """Wraps the segment p -> s (each [3], metres, in the torus' frame) over the inside of a torus about z.

    `inner_radius` is that of the tube, `outer_radius` that of the circle in its middle, as in OpenSim.
    `quadrant_sign` is 0 (all) or +-1 with `quadrant_axis` 0, 1, 2.
    """
    sizes = jnp.stack([jnp.asarray(inner_radius, float), jnp.asarray(outer_radius, float)])
    r, ring = sizes
    inside = (_from_circle(p, ring) < r * r) | (_from_circle(s, ring) < r * r)
    opposite = (p[2] < 0) != (s[2] < 0)
    rise = jnp.where(opposite, s[2] - p[2], 1.0)
    crossing = p - p[2] / rise * (s - p)
    nearest = _nearest_to_circle(p, s, ring)
    free = (norm(crossing[:2]) < ring) & (_from_circle(nearest, ring) >= r * r)
    active = (jnp.asarray(quadrant_sign) == 0) | on_side(nearest, quadrant_axis, quadrant_sign)
    engaged = opposite & ~inside & ~free & active

    # Where nothing wraps, the solver gets a harmless path, so that it converges and its derivatives are finite.
    e = jnp.where(engaged, p, jnp.stack([ring, 0 * r, 2 * r]))
    f = jnp.where(engaged, s, jnp.stack([ring, 0 * r, -2 * r]))
    known = jax.lax.stop_gradient((e, f, sizes))
    azimuth = jax.lax.stop_gradient(jnp.arctan2(nearest[1], nearest[0]))
    z, slopes = _start(*known, azimuth)
    z, found = settle(_residual, z, slopes, known)
    found = found & (z[1] > -_SLACK)
    z = jnp.where(found, z, jnp.stack([azimuth, jnp.asarray(0.1)]))
    z = root_of(_residual, z, (e, f, sizes))
    path = _path(z, e, sizes)
    over_cylinder = _over_tangent_cylinder(e, f, sizes, azimuth)
    length = jnp.where(found, path_length(_path, path, z, e, f, sizes), over_cylinder.length)
    tangents = jnp.where(found, jnp.stack([path.P, path.Q]), over_cylinder.tangents)
    arc = jnp.where(found, path.arc, over_cylinder.arc_length)
    return assemble(p, s, engaged, opposite & ~free, inside, length, tangents, arc, found)


def _over_tangent_cylinder(p: Array, s: Array, sizes: Array, azimuth: Array) -> Wrap:
    """The path over the cylinder along the circle's tangent at `azimuth`, on the side of the ring's centre, as in
    OpenSim.
    """
    r, ring = sizes
    c, k, zero = jnp.cos(azimuth), jnp.sin(azimuth), jnp.zeros_like(azimuth)
    axes = jnp.stack([jnp.stack([-c, -k, zero]), jnp.stack([zero, zero, zero - 1]), jnp.stack([k, -c, zero])])
    centre = ring * jnp.stack([c, k, zero])
    wrap = wrap_cylinder(axes @ (p - centre), axes @ (s - centre), r, jnp.inf, 0, 1)
    return wrap._replace(tangents=wrap.tangents @ axes + centre)


def _frame(u: Array, v: Array, sizes: Array) -> tuple[Array, Array, Array, Array]:
    """Point of the torus at (u, v), and there the unit vectors along u, along v and outwards."""
    r, ring = sizes
    cu, su, cv, sv = jnp.cos(u), jnp.sin(u), jnp.cos(v), jnp.sin(v)
    zero = jnp.zeros_like(cu)
    outwards = jnp.stack([cv * cu, cv * su, sv])
    point = jnp.stack([ring * cu, ring * su, zero]) + r * outwards
    return point, jnp.stack([-su, cu, zero]), jnp.stack([-sv * cu, -sv * su, cv]), outwards


def _landing(u: Array, p: Array, sizes: Array) -> Array:
    """v of the point at u on the inner side, between 0 and 2 pi, where a line from p touches; p is not in the plane z
    = 0.
    """
    r, ring = sizes
    across, above = jnp.cos(u) * p[0] + jnp.sin(u) * p[1] - ring, p[2]
    v = jnp.mod(jnp.arctan2(above, across), 2 * jnp.pi)
    return v + jnp.where(above > 0, 1.0, -1.0) * tangent_angle(norm(jnp.stack([across, above])), r)


def _path(z: Array, p: Array, sizes: Array, steps: int = _FINE) -> Path:
    """The path for z = (u, arc / r)."""
    u, span = z
    r, ring = sizes
    v = _landing(u, p, sizes)
    P, along_u, along_v, _ = _frame(u, v, sizes)
    line = P - p
    cu, cv = along_u @ line, along_v @ line
    heading = norm(jnp.stack([cu, cv]))
    ratio = ring / r  # the geodesic is computed for r = 1
    h = (ratio + jnp.cos(v)) * cu / heading

    def rate(state: State) -> State:  # with cos v and sin v as states, there are no angles to evaluate
        _, c, k, dv = state
        turn = h / (ratio + c)
        du = turn / (ratio + c)
        return du, -k * dv, c * dv, -turn * du * k

    u, c, k, dv = integrate(rate, (u, jnp.cos(v), jnp.sin(v), cv / heading), span, steps)
    v = jnp.arctan2(k, c)
    Q, along_u, along_v, _ = _frame(u, v, sizes)
    along_q = h / (ratio + jnp.cos(v)) * along_u + dv * along_v
    return Path(P, Q, line / norm(line), along_q, norm(line), r * span)


def _residual(z: Array, p: Array, s: Array, sizes: Array, steps: int = _FINE) -> Array:
    """How far s is from the line that leaves the geodesic at its end: along the normal and across, over r."""
    path = _path(z, p, sizes, steps)
    r, ring = sizes
    centre = jnp.concatenate([path.Q[:2] * ring / norm(path.Q[:2]), jnp.zeros(1)])
    n = (path.Q - centre) / r
    gap = (s - path.Q) / r
    return jnp.stack([n @ gap, jnp.cross(path.along_q, n) @ gap])


def _coarse_residual(z: Array, p: Array, s: Array, sizes: Array) -> Array:
    return _residual(z, p, s, sizes, _COARSE)


def _from_circle(x: Array, ring: Array) -> Array:
    """Squared distance of x from the circle of radius `ring`."""
    return (norm(x[:2]) - ring) ** 2 + x[2] ** 2


def _nearest_to_circle(p: Array, s: Array, ring: Array) -> Array:
    """The point of the segment nearest the circle: the best of a few, improved by Newton's method."""
    along = s - p
    samples = jnp.linspace(0.0, 1.0, _SAMPLES)
    t = samples[jnp.argmin(jax.vmap(lambda t: _from_circle(p + t * along, ring))(samples))]

    def step(t: Array, _: None) -> tuple[Array, None]:
        x = p + t * along
        radius = jnp.maximum(norm(x[:2]), 1e-9 * ring)
        growth = x[:2] @ along[:2] / radius  # of the distance from the axis, with t
        slope = x @ along - ring * growth
        bend = along @ along - ring * (along[:2] @ along[:2] - growth**2) / radius
        change = jnp.where(bend > 0, slope / jnp.where(bend > 0, bend, 1.0), 0.0)
        return jnp.clip(t - jnp.clip(change, -1 / _SAMPLES, 1 / _SAMPLES), 0.0, 1.0), None

    return p + jax.lax.scan(step, t, None, length=6)[0] * along


def _start(p: Array, s: Array, sizes: Array, azimuth: Array) -> tuple[Array, Array]:
    """(u, arc / r) near the shortest geodesic, and the slopes of the coarse residual there, by Newton's method.

    It starts from the shortest way over pairs of azimuths where lines from p and from s touch, and at `azimuth`,
    that of the point of the segment nearest the circle. Small holes need both: there a path may go far round the
    ring while it is in contact.
    """
    r, ring = sizes
    azimuths = 2 * np.pi / _AZIMUTHS * jnp.arange(_AZIMUTHS)
    up = jnp.where(p[2] > 0, 1.0, -1.0)

    def touched(x: Array) -> tuple[Array, Array]:
        """Length of the line from x to each azimuth, infinite where it would be inside the tube, and v there."""

        def at(u: Array) -> tuple[Array, Array]:
            v = _landing(u, x, sizes)
            point, along_u, along_v, _ = _frame(u, v, sizes)
            cu, cv = along_u @ (point - x), along_v @ (point - x)
            outside = (jnp.cos(u) * x[0] + jnp.sin(u) * x[1] - ring) ** 2 + x[2] ** 2 >= r * r
            convex = cv * cv / r + jnp.cos(v) / (ring + r * jnp.cos(v)) * cu * cu > 0
            return jnp.where(outside & convex, norm(point - x), jnp.inf), v

        return jax.vmap(at)(azimuths)

    line1, v1 = touched(p)
    line2, v2 = touched(s)
    dv = up * (v2[None, :] - v1[:, None])
    du = jnp.mod(azimuths[None, :] - azimuths[:, None] + jnp.pi, 2 * jnp.pi) - jnp.pi
    arcs = jnp.hypot(r * dv, (ring + r * jnp.cos((v1[:, None] + v2[None, :]) / 2)) * du)
    missed = 10 * r * jnp.maximum(0.0, -dv)  # pairs between which the tube is not touched
    best = jnp.argmin(line1[:, None] + arcs + line2[None, :] + missed)
    span = up * (_landing(azimuth, s, sizes) - _landing(azimuth, p, sizes))
    starts = jnp.array([[azimuths[best // _AZIMUTHS], arcs.reshape(-1)[best] / r], [azimuth, span]])
    starts = jnp.clip(starts, jnp.array([-jnp.inf, 0.05]), jnp.array([jnp.inf, 3.0]))

    def refined(start: Array) -> tuple[Array, Array, Array]:
        z, slopes = approach(_coarse_residual, start, (p, s, sizes), longest=jnp.array([0.4, 0.4]), steps=_NEWTON_STEPS)
        path = _path(z, p, sizes, _COARSE)
        onwards = path.along_q @ (s - path.Q)
        valid = (jnp.max(jnp.abs(_coarse_residual(z, p, s, sizes))) < 1e-3) & (z[1] > -_SLACK) & (onwards > 0)
        return jnp.where(valid, path.line + path.arc + onwards, jnp.inf), z, slopes

    lengths, roots, slopes = jax.vmap(refined)(starts)
    chosen = jnp.argmin(lengths)
    return roots[chosen], slopes[chosen]
