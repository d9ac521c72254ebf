"""What the wrapping surfaces share: their results, and small vector functions whose derivatives are finite everywhere.

A straight segment p -> s, given in the frame of a wrapping surface, either passes it (length |s - p|) or is pulled
over it: p -> P -> arc -> Q -> s, with both straight parts tangent to the surface at P and Q and a geodesic arc
between. Such a path is stationary, so its length varies only with its ends and with the surface (first variation).

Whether a segment touches a surface, and how it goes over it, is found by `geometry.search`, segment by segment; what is
found is a root, a few numbers of the surface's own. Each surface has two functions here, for many segments at once
(components first, segments last):

    arc(p, s, sizes, axis, sign, root, where) -> Arc    the tangent points and the arc, for the segments in `where`
    along(P, direction, length, sizes, fractions)       points of the arc that starts at P with the unit tangent `direction`

with p, s [3, n] in metres in the surface's frame, sizes [3, n] (unused rows are ignored), the quadrant's axis [n] (0, 1,
2) and sign [n] (-1, 1, or 0 for none), root [r, n], where [n] bool. `arc` is differentiable, to all orders, in p, s and
sizes: at a root these decide all.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

Vectors = Float[Array, "3 n"]
Scalars = Float[Array, " n"]
Flags = Bool[Array, " n"]
Signs = Int[Array, " n"]


class Arc(NamedTuple):
    """The part of a path that lies on the surface. Where nothing wraps: P = p, Q = s, length 0."""

    P: Vectors  # the tangent point next to p, in the surface's frame
    Q: Vectors  # that next to s
    length: Scalars  # of the arc from P to Q


def root(x: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """sqrt(x), and 0 with derivative 0 for x <= 0."""
    none = x <= 0  # what is not a number stays none
    return jnp.where(none, 0.0, jnp.sqrt(jnp.where(none, 1.0, x)))


def unless_zero(x: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """x, to divide by; 1 where x is 0."""
    return jnp.where(x == 0, 1.0, x)


@jax.custom_jvp
def half_turned(
    sine: Float[Array, "*#n"], cosine: Float[Array, "*#n"], scale: Float[Array, "*#n"]
) -> Float[Array, "*#n"]:
    """The angle from -pi to pi with this sine and cosine, both times `scale`.

    By its half, since the arctangent of one argument takes a third of the time of that of two.
    """
    acute = 2 * jnp.arctan(sine / (scale + jnp.abs(cosine)))
    return jnp.where(cosine >= 0, acute, jnp.where(sine >= 0, np.pi, -np.pi) - acute)


@half_turned.defjvp
def _half_turned_jvp(primals: tuple[Array, Array, Array], tangents: tuple[Array, Array, Array]) -> tuple[Array, Array]:
    sine, cosine, scale = primals
    return half_turned(*primals), (cosine * tangents[0] - sine * tangents[1]) / scale**2


def turned(sine: Scalars, cosine: Scalars, scale: Scalars) -> Scalars:
    """The same from 0 to 2 pi, continuous about 0: an arc that is empty but for rounding is no full turn."""
    angle = half_turned(sine, cosine, scale)
    return jnp.where(angle < -1e-12, angle + 2 * np.pi, angle)
