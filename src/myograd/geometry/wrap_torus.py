"""Shortest path through a ring (interim: one segment at a time). Sizes: radius of the tube, radius of its circle."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from .single_torus import wrap_torus
from .spatial import dot
from .wrap_common import Arc, Flags, Scalars, Signs, Touch, Vectors, component, norm, on_side, unless_zero

_SAMPLES = 16  # places on the segment from which its point nearest the circle is sought


def touch(p: Vectors, s: Vectors, sizes: Vectors, axis: Signs, sign: Signs) -> Touch:
    p, s, sizes = lax.stop_gradient((p, s, sizes))
    r, ring = sizes[0], sizes[1]
    inside = (_from_circle(p, ring) < r * r) | (_from_circle(s, ring) < r * r)
    opposite = (p[2] < 0) != (s[2] < 0)
    rise = jnp.where(opposite, s[2] - p[2], 1.0)
    crossing = p - p[2] / rise * (s - p)
    nearest = nearest_to_circle(p, s, ring)
    free = (dot(crossing[:2], crossing[:2]) < ring * ring) & (_from_circle(nearest, ring) >= r * r)
    active = (sign == 0) | on_side(component(nearest, axis), sign)
    engaged = opposite & ~inside & ~free & active & (r > 0)
    return Touch(engaged, engaged, inside, jnp.zeros_like(r))


def wrap(p: Vectors, s: Vectors, sizes: Vectors, axis: Signs, sign: Signs, where: Flags) -> Arc:
    r, ring = jnp.where(where, sizes[0], 1.0), jnp.where(where, sizes[1], 2.0)
    e = jnp.where(where, p, jnp.array([[2.0], [0.0], [2.0]]))
    f = jnp.where(where, s, jnp.array([[2.0], [0.0], [-2.0]]))
    found = jax.vmap(wrap_torus, -1, -1)(e, f, r, ring, axis, sign)
    return Arc(
        jnp.where(where, found.tangents[0], p),
        jnp.where(where, found.tangents[1], s),
        jnp.where(where, found.arc_length, 0.0),
        found.converged | ~where,
    )


def along(
    P: Vectors, direction: Vectors, length: Scalars, sizes: Vectors, fractions: Float[Array, " f"]
) -> Float[Array, "f 3 n"]:
    raise NotImplementedError


def _from_circle(x: Vectors, ring: Scalars) -> Scalars:
    """Squared distance of x from the circle of radius `ring`."""
    return (norm(x[:2]) - ring) ** 2 + x[2] ** 2


def nearest_to_circle(p: Vectors, s: Vectors, ring: Scalars) -> Vectors:
    """The point of each segment nearest the circle: the best of a few, improved by Newton's method."""
    step = s - p
    best, t = _from_circle(p, ring), jnp.zeros_like(ring)
    for i in range(1, _SAMPLES):
        distance = _from_circle(p + i / (_SAMPLES - 1) * step, ring)
        t = jnp.where(distance < best, i / (_SAMPLES - 1), t)
        best = jnp.minimum(distance, best)
    for _ in range(5):
        x = p + t * step
        radius = jnp.maximum(norm(x[:2]), 1e-9 * ring)
        growth = dot(x[:2], step[:2]) / unless_zero(radius)  # of the distance from the axis, with t
        slope = dot(x, step) - ring * growth
        bend = dot(step, step) - ring * (dot(step[:2], step[:2]) - growth**2) / unless_zero(radius)
        change = jnp.where(bend > 0, slope / jnp.where(bend > 0, bend, 1.0), 0.0)
        t = jnp.clip(t - jnp.clip(change, -1 / _SAMPLES, 1 / _SAMPLES), 0.0, 1.0)
    return p + t * step
