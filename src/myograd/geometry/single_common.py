"""What the wrapping surfaces share: the result, and the tangent line from a point to a circle.

A straight segment p -> s, given in the frame of a wrapping surface, either passes it (length |s - p|) or is pulled
over it: p -> P -> arc -> Q -> s, with both straight parts tangent to the surface at P and Q and a geodesic arc
between. Such a path is stationary, so its length varies only with its ends (first variation): dL = -u_p . dp + u_s .
ds, with u_p and u_s the unit vectors along the path at p and at s. Everything here is for one segment; batches are
`jax.vmap`.

When a segment wraps, and on which side, is decided as OpenSim 4.6 decides it (Wrap*.cpp, read as facts); where that
decision is replaced, the surface's module says so. The decision depends on the two points alone, never on an earlier
pose.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike


class Wrap(NamedTuple):
    """One segment wrapped over one surface; lengths in metres, points in the surface's frame."""

    engaged: Array  # bool: the path touches the surface. False: the straight line
    mandatory: Array  # bool: engaged because the segment runs into the surface (OpenSim's mandatoryWrap)
    inside: Array  # bool: an end lies inside the surface, which leaves the line straight (OpenSim's insideRadius)
    length: Array  # of the whole path p -> P -> arc -> Q -> s; |s - p| when not engaged
    tangents: Array  # [2, 3]: P and Q; p and s when not engaged
    arc_length: Array  # of the arc P -> Q; 0 when not engaged
    converged: Array  # bool: the geodesic was found (True where nothing has to be searched). False: an approximation


def on_side(point: Array, quadrant_axis: ArrayLike, quadrant_sign: ArrayLike) -> Array:
    """Whether a point [3] lies in the half space of a quadrant; the dividing plane counts as positive."""
    return (point[jnp.asarray(quadrant_axis)] >= 0) == (jnp.asarray(quadrant_sign) > 0)


def norm(v: Array) -> Array:
    """|v| with derivative 0 at v = 0."""
    square = v @ v
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)


def root(x: Array) -> Array:
    """sqrt(x), and 0 with derivative 0 for x <= 0."""
    return jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1.0)), 0.0)


def tangent_angle(d: Array, r: Array) -> Array:
    """Angle at the centre between a point at distance d >= r and the tangent point on the circle of radius r."""
    return jnp.arctan2(root(d * d - r * r), r)


@jax.custom_jvp
def tangent_excess(d: Array, r: Array) -> Array:
    """Tangent length minus the arc it replaces, l - r a, with l = sqrt(d^2 - r^2) and cos a = r / d.

    A path that turns by the angle w about the centre, from a point at distance d1 to one at d2, is
    `tangent_excess(d1, r) + tangent_excess(d2, r) + r w` long. The derivatives are l / d and -a: finite also where
    the point lies on the surface, where those of l and a alone are not.
    """
    return root(d * d - r * r) - r * tangent_angle(d, r)


@tangent_excess.defjvp
def _tangent_excess_jvp(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    d, r = primals
    dd, dr = tangents
    slope = root(d * d - r * r) / jnp.where(d > 0, d, 1.0)
    return tangent_excess(d, r), slope * dd - tangent_angle(d, r) * dr


def passing_point(p: Array, s: Array) -> tuple[Array, Array]:
    """Parameter t of the point of the line p + t (s - p) nearest the origin, and whether it is inside the segment."""
    along = s - p
    square = along @ along
    t = -(p @ along) / jnp.where(square > 0, square, 1.0)
    return t, (t > 0) & (t < 1) & (square > 0)


def assemble(
    p: Array,
    s: Array,
    engaged: Array,
    mandatory: Array,
    inside: Array,
    length: Array,
    tangents: Array,
    arc_length: Array,
    converged: ArrayLike = True,
) -> Wrap:
    """The result, with the straight line where the surface is not touched."""
    return Wrap(
        engaged=engaged,
        mandatory=engaged & mandatory,
        inside=inside,
        length=jnp.where(engaged, length, norm(s - p)),
        tangents=jnp.where(engaged, tangents, jnp.stack([p, s])),
        arc_length=jnp.where(engaged, arc_length, 0.0),
        converged=jnp.logical_or(converged, ~engaged),
    )
