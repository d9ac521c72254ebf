"""ContactHalfSpace, ContactSphere, ContactEllipsoid: surfaces that contact forces name, and where two of them touch."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..geometry.frames import Pose, placed
from ..geometry.spatial import dot, matmul, norm, rotate, rotation_xyz, transposed
from ..geometry.values import Values
from ..model.description import ContactGeometry
from .term import Places, last, put

HALF_SPACE, SPHERE, ELLIPSOID = SHAPES = ("ContactHalfSpace", "ContactSphere", "ContactEllipsoid")
Touch = tuple[Float[Array, " n"], Float[Array, "3 n"], Float[Array, "3 n"], Float[Array, " n"]]
"""Depth [m], normal towards the second surface, middle of the overlap [m], radius of curvature [m]; in ground."""


class ContactSurfaces(Values):
    """All of a model, in the order of the file."""

    rotation: Float[Array, "3 3 n"]
    """in the link"""
    location: Float[Array, "3 n"]
    size: Float[Array, "3 n"]
    """ellipsoid: half axes; sphere: radius, three times [m]"""
    names: tuple[str, ...] = eqx.field(static=True)
    link: tuple[int, ...] = eqx.field(static=True)

    @classmethod
    def of(cls, contacts: Sequence[ContactGeometry], places: Places) -> ContactSurfaces:
        frames = [places.on_link(contact.frame) for contact in contacts]
        return cls(
            rotation=last(
                [R @ rotation_xyz(np.array(x.orientation)) for x, (_, R, _) in zip(contacts, frames, strict=True)],
                (3, 3),
            ),
            location=last([R @ np.array(x.location) + p for x, (_, R, p) in zip(contacts, frames, strict=True)], (3,)),
            size=last([x.radii if x.kind == ELLIPSOID else (x.radius,) * 3 for x in contacts], (3,)),
            names=tuple(contact.name for contact in contacts),
            link=tuple(link for link, _, _ in frames),
        )

    def write(self, contacts: Sequence[ContactGeometry]) -> None:
        for i, contact in enumerate(contacts):
            if contact.kind == ELLIPSOID:
                put(contact, "radii", self.size[:, i])
            else:
                put(contact, "radius", self.size[0, i])

    def links(self, surfaces: np.ndarray) -> np.ndarray:
        return np.array(self.link, int)[surfaces]

    def frame(self, at: Pose, surface: np.ndarray) -> tuple[Float[Array, "3 3 n"], Float[Array, "3 n"]]:
        """Rotation and origin of surfaces in ground."""
        link = self.links(surface)
        R = matmul(at.rotation[:, :, link], self.rotation[:, :, surface])
        return R, placed(at, link, self.location[:, surface])


def half_space_and_sphere(it: ContactSurfaces, at: Pose, plane: np.ndarray, ball: np.ndarray) -> Touch:
    """A half space fills x > 0 of its frame."""
    (R, origin), (_, center) = it.frame(at, plane), it.frame(at, ball)
    radius = it.size[0, ball]
    normal = -R[:, 0]
    depth = radius - dot(center - origin, normal)
    return depth, normal, center - (radius - depth / 2) * normal, radius


def sphere_and_sphere(it: ContactSurfaces, at: Pose, first: np.ndarray, second: np.ndarray) -> Touch:
    (_, c1), (_, c2) = it.frame(at, first), it.frame(at, second)
    r1, r2 = (it.size[0, surface] for surface in (first, second))
    distance = norm(c2 - c1)
    normal = (c2 - c1) / jnp.where(distance > 0, distance, 1.0)
    depth = r1 + r2 - distance
    return depth, normal, c1 + (r1 - depth / 2) * normal, r1 * r2 / (r1 + r2)


def half_space_and_ellipsoid(it: ContactSurfaces, at: Pose, plane: np.ndarray, body: np.ndarray) -> Touch:
    """The ellipsoid's deepest point is -A n / sqrt(n A n), A the squares of its half axes. For the radius, Simbody takes the
    geometric mean of the half axes of the central section parallel to the plane."""
    (R, origin), (R2, center) = it.frame(at, plane), it.frame(at, body)
    half_axes = it.size[:, body]
    normal = -R[:, 0]
    local = rotate(transposed(R2), normal)
    deepest = -(half_axes**2) * local / jnp.sqrt(dot(half_axes * local, half_axes * local))
    lowest = rotate(R2, deepest) + center
    depth = -dot(lowest - origin, normal)
    u, v = (rotate(transposed(R2), R[:, i]) / half_axes for i in (1, 2))
    area = dot(u, u) * dot(v, v) - dot(u, v) ** 2
    return depth, normal, lowest + depth / 2 * normal, area**-0.25


TOUCH = {
    (HALF_SPACE, SPHERE): half_space_and_sphere,
    (SPHERE, SPHERE): sphere_and_sphere,
    (HALF_SPACE, ELLIPSOID): half_space_and_ellipsoid,
}


def friction(slip: Array, transition: Array, static: Array, dynamic: Array, viscous: Array) -> Array:
    """Friction per normal force and speed of slip [s/m]: not zero at rest, where it is all of the derivative."""
    x = slip / transition
    faded = 1 / jnp.where(slip < transition, transition, slip)  # min(x, 1) / slip
    return faded * (dynamic + 2 * (static - dynamic) / (1 + x * x)) + viscous
