"""Contact of half spaces, spheres and ellipsoids after Hunt and Crossley (J. Appl. Mech. 42, 1975), as Simbody has it.

With d the depth, R the radius of curvature, n the normal towards the second body, v the velocity of the first body relative to
the second where they touch (v_n along n, v_t across):
    f_H = 4/3 k d sqrt(R k d)                                     (Hertz)
    f   = f_H (1 + 3/2 c v_n)                                     (dissipation), not below 0
    f_t = f (min(v_t / v_s, 1) (mu_d + 2 (mu_s - mu_d) / (1 + (v_t / v_s)^2)) + mu_v v_t)       (friction, against v_t)
Of two materials with k_i = K_i^(2/3): k = k1 s1, c = c1 s1 + c2 s2, s1 = k2 / (k1 + k2) = 1 - s2, and the harmonic means of
their frictions. The force acts where the softer body is pressed in the more.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..dynamics.kinematics import Motion, Pose, point_velocity
from ..geometry.spatial import dot, matmul, norm, rotate, transposed
from ..model.model import Model
from .frames import on_links, placed, wrench

Touch = tuple[Float[Array, " n"], Float[Array, "3 n"], Float[Array, "3 n"], Float[Array, " n"]]
"""Depth [m], normal towards the second surface, middle of the overlap [m], radius of curvature [m]; in ground."""


def hunt_crossley(model: Model, at: Pose, moving: Motion) -> Float[Array, "6 links"]:
    """Wrenches of all HuntCrossleyForces on links, at the ground origin."""
    parts, it = model.force_parts, model.forces.hunt_crossley
    depth, normal, middle, radius = _touching(model, at)
    (k1, k2), (c1, c2) = it.stiffness[parts.pair_material.T] ** (2 / 3), it.dissipation[parts.pair_material.T]
    s1 = k2 / jnp.where(k1 + k2 > 0, k1 + k2, 1.0)
    k, c = k1 * s1, c1 * s1 + c2 * (1 - s1)
    point = middle + depth * (0.5 - s1) * normal
    links = parts.surface_link[parts.pair_surface]
    V1, V2 = (moving.velocity[:, links[:, i]] for i in (0, 1))
    v = point_velocity(V1 - V2, point)
    v_n = dot(v, normal)
    v_t = v - v_n * normal
    in_touch = depth > 0
    d = jnp.where(in_touch, depth, 1.0)
    hertz = jnp.where(in_touch, 4 / 3 * k * d * jnp.sqrt(radius * k * d), 0.0)
    f = jnp.maximum(hertz * (1 + 1.5 * c * v_n), 0.0)
    frictions = (it.static_friction, it.dynamic_friction, it.viscous_friction)
    slip = norm(v_t)
    speed = it.transition_velocity[parts.pair_force]
    drag = f * friction(slip, speed, *(_harmonic(mu[parts.pair_material.T]) for mu in frictions))
    return on_links(model, links, wrench(point, f * normal + drag * v_t))


def friction(slip: Array, transition: Array, static: Array, dynamic: Array, viscous: Array) -> Array:
    """Friction per normal force and speed of slip [s/m]: not zero at rest, where it is all of the derivative."""
    x = slip / transition
    faded = 1 / jnp.where(slip < transition, transition, slip)  # min(x, 1) / slip
    return faded * (dynamic + 2 * (static - dynamic) / (1 + x * x)) + viscous


def _harmonic(both: Float[Array, "2 n"]) -> Float[Array, " n"]:
    total = both[0] + both[1]
    return jnp.where(total > 0, 2 * both[0] * both[1] / jnp.where(total > 0, total, 1.0), 0.0)


def _touching(model: Model, at: Pose) -> Touch:
    """All pairs; they are sorted by class."""
    parts = model.force_parts
    found: list[Touch] = []
    for classes in dict.fromkeys(parts.pairs):
        which = np.flatnonzero([pair == classes for pair in parts.pairs])
        first, second = parts.pair_surface[which].T
        found.append(TOUCH[classes](model, at, first, second))
    depth, normal, middle, radius = (jnp.concatenate(x, axis=-1) for x in zip(*found, strict=True))
    return depth, normal, middle, radius


def _frame(model: Model, at: Pose, surface: np.ndarray) -> tuple[Float[Array, "3 3 n"], Float[Array, "3 n"]]:
    """Rotation and origin of surfaces in ground."""
    it, link = model.forces.surfaces, model.force_parts.surface_link[surface]
    return matmul(at.rotation[:, :, link], it.rotation[:, :, surface]), placed(at, link, it.location[:, surface])


def half_space_and_sphere(model: Model, at: Pose, plane: np.ndarray, ball: np.ndarray) -> Touch:
    """A half space fills x > 0 of its frame."""
    (R, origin), (_, center) = _frame(model, at, plane), _frame(model, at, ball)
    radius = model.forces.surfaces.size[0, ball]
    normal = -R[:, 0]
    depth = radius - dot(center - origin, normal)
    return depth, normal, center - (radius - depth / 2) * normal, radius


def sphere_and_sphere(model: Model, at: Pose, first: np.ndarray, second: np.ndarray) -> Touch:
    (_, c1), (_, c2) = _frame(model, at, first), _frame(model, at, second)
    r1, r2 = (model.forces.surfaces.size[0, surface] for surface in (first, second))
    distance = norm(c2 - c1)
    normal = (c2 - c1) / jnp.where(distance > 0, distance, 1.0)
    depth = r1 + r2 - distance
    return depth, normal, c1 + (r1 - depth / 2) * normal, r1 * r2 / (r1 + r2)


def half_space_and_ellipsoid(model: Model, at: Pose, plane: np.ndarray, body: np.ndarray) -> Touch:
    """The ellipsoid's deepest point is -A n / sqrt(n A n), A the squares of its half axes. For the radius, Simbody takes the
    geometric mean of the half axes of the central section parallel to the plane."""
    (R, origin), (R2, center) = _frame(model, at, plane), _frame(model, at, body)
    half_axes = model.forces.surfaces.size[:, body]
    normal = -R[:, 0]
    local = rotate(transposed(R2), normal)
    deepest = -(half_axes**2) * local / jnp.sqrt(dot(half_axes * local, half_axes * local))
    lowest = rotate(R2, deepest) + center
    depth = -dot(lowest - origin, normal)
    u, v = (rotate(transposed(R2), R[:, i]) / half_axes for i in (1, 2))
    area = dot(u, u) * dot(v, v) - dot(u, v) ** 2
    return depth, normal, lowest + depth / 2 * normal, area**-0.25


TOUCH = {
    ("ContactHalfSpace", "ContactSphere"): half_space_and_sphere,
    ("ContactSphere", "ContactSphere"): sphere_and_sphere,
    ("ContactHalfSpace", "ContactEllipsoid"): half_space_and_ellipsoid,
}


def smooth_contacts(model: Model, at: Pose, moving: Motion) -> Float[Array, "6 links"]:
    """Spheres on half spaces, smoothed (Serrancolí et al., IEEE TNSRE 27, 2019): f_H at the depth sqrt(d^2 + eps), faded in
    over the depth and over the speed -2/(3 c) by tanh; both materials alike; friction at the slip sqrt(v_t^2 + eps)."""
    it, parts = model.forces.smooth_contacts, model.force_parts
    ball, plane = parts.smooth_surface.T
    depth, normal, point, radius = half_space_and_sphere(model, at, plane, ball)
    links = parts.surface_link[parts.smooth_surface[:, ::-1]]  # half space, sphere
    v = point_velocity(moving.velocity[:, links[:, 0]] - moving.velocity[:, links[:, 1]], point)
    v_n = dot(v, normal)
    v_t = v - v_n * normal
    k, c, eps = it.stiffness ** (2 / 3) / 2, it.dissipation, it.constant_contact_force
    hertz = 4 / 3 * k * jnp.sqrt(radius * k) * (depth**2 + eps) ** 0.75
    faded = hertz * (0.5 + 0.5 * jnp.tanh(it.hertz_smoothing * depth)) * (1 + 1.5 * c * v_n)
    damped = c > 0  # without dissipation the force never pulls
    margin = it.hunt_crossley_smoothing * (v_n + 2 / (3 * jnp.where(damped, c, 1.0)))
    f = faded * jnp.where(damped, 0.5 + 0.5 * jnp.tanh(margin), 1.0)
    slip = jnp.sqrt(dot(v_t, v_t) + eps)
    drag = f * friction(slip, it.transition_velocity, it.static_friction, it.dynamic_friction, it.viscous_friction)
    return on_links(model, links, wrench(point, f * normal + drag * v_t))
