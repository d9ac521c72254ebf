"""Shortest path through a ring: over the inner side of a torus about the z axis, the true geodesic, by quadrature.

Sizes: radius r of the tube (OpenSim's inner_radius), radius R of the circle in its middle (outer_radius):
x = (rho cos u, rho sin u, r sin v) with rho = R + r cos v. A geodesic keeps h = rho^2 du/ds (Clairaut), so along it

    du/dv = +- r h / (rho sqrt(rho^2 - h^2)),   ds/dv = +- r rho / sqrt(rho^2 - h^2),

and on its way through the ring v only grows, or only falls. At a given u there is one v on the inner side where a line from
p is tangent, in closed form, and h is known there; the same from s. The root is the azimuths (u1, u2) of the points where
the path lands and leaves: for them, both have the same h, and the geodesic from one covers the azimuth to the other.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..spatial import dot, materialized, norm
from .common import Arc, Flags, Scalars, Signs, Vectors, root, unless_zero
from .geodesic import at_root, trace

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(128)  # as many as the search uses for the narrowest of rings


def arc(
    p: Vectors, s: Vectors, sizes: Vectors, axis: Signs, sign: Signs, azimuths: Float[Array, "rows n"], where: Flags
) -> Arc:
    harmless = np.array([[1.5, 1.5, 1.0], [0.0, 0.0, 2.0], [2.0, -2.0, 0.0]])  # for which the azimuths are zero
    args = tuple(jnp.where(where, x, harmless[:, i, None]) for i, x in enumerate((p, s, sizes)))
    u = at_root(_missed, jnp.where(where, azimuths[:2], 0.0), args)
    r, ring = args[2][0], args[2][1] / args[2][0]
    first, last = _landing(u[0], args[0] / r, ring), _landing(u[1], args[1] / r, ring)
    _, length = _run(first.v, last.v, (first.h - last.h) / 2, ring)
    P, Q = (r * _point(u[i], end.v, ring) for i, end in enumerate((first, last)))
    return Arc(jnp.where(where, P, p), jnp.where(where, Q, s), jnp.where(where, r * length, 0.0))


class _Landing(NamedTuple):
    v: Scalars
    h: Scalars  # Clairaut's constant of the line to there


def _landing(u: Scalars, x: Vectors, ring: Scalars) -> _Landing:
    """Where a line from x touches the ring at azimuth u, on the inner side, with v between 0 and 2 pi; lengths over r."""
    c, k = jnp.cos(u), jnp.sin(u)
    across, aside, above = c * x[0] + k * x[1] - ring, c * x[1] - k * x[0], x[2]
    line = root(across * across + above * above - 1)
    v = jnp.mod(jnp.arctan2(above, across), 2 * np.pi) + jnp.where(above > 0, 1.0, -1.0) * jnp.arctan(line)
    return _Landing(v, -(ring + jnp.cos(v)) * aside / unless_zero(root(aside * aside + line * line)))


def _run(v1: Scalars, v2: Scalars, h: Scalars, ring: Scalars) -> tuple[Scalars, Scalars]:
    """Azimuth that a geodesic covers from v1 to v2, with the sign of h (v2 - v1), and its length, over r."""
    half = (v2 - v1) / 2
    rho = materialized(ring + jnp.cos((v1 + v2) / 2 + half * _NODES[:, None]))
    pace = materialized(1 / jnp.sqrt(rho * rho - h * h))
    return half * h * (_WEIGHTS @ (pace / rho)), jnp.abs(half) * (_WEIGHTS @ (pace * rho))


def _missed(u: Float[Array, "2 n"], p: Vectors, s: Vectors, sizes: Vectors) -> Float[Array, "2 n"]:
    """How far the two ends are from one geodesic: in h, and in azimuth."""
    r, ring = sizes[0], sizes[1] / sizes[0]
    first, last = _landing(u[0], p / r, ring), _landing(u[1], s / r, ring)
    azimuth, _ = _run(first.v, last.v, (first.h - last.h) / 2, ring)  # the line from s is followed backwards
    return jnp.stack([first.h + last.h, jnp.where(p[2] > 0, azimuth, -azimuth) - (u[1] - u[0])])


def _point(u: Scalars, v: Scalars, ring: Scalars) -> Vectors:
    rho = ring + jnp.cos(v)
    return jnp.stack([rho * jnp.cos(u), rho * jnp.sin(u), jnp.sin(v)])


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
