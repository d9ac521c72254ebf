"""HuntCrossleyForce: contact of half spaces, spheres and ellipsoids (Hunt, Crossley, J. Appl. Mech. 42, 1975), as Simbody has it.

With d the depth, R the radius of curvature, n the normal towards the second body, v the velocity of the first body relative to
the second where they touch (v_n along n, v_t across):
    f_H = 4/3 k d sqrt(R k d)                                     (Hertz)
    f   = f_H (1 + 3/2 c v_n)                                     (dissipation), not below 0
    f_t = f (min(v_t / v_s, 1) (mu_d + 2 (mu_s - mu_d) / (1 + (v_t / v_s)^2)) + mu_v v_t)       (friction, against v_t)
Of two materials with k_i = K_i^(2/3): k = k1 s1, c = c1 s1 + c2 s2, s1 = k2 / (k1 + k2) = 1 - s2, and the harmonic means of
their frictions. The force acts where the softer body is pressed in the more.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..errors import ModelError
from ..geometry.frames import between_links, point_velocity, wrench
from ..geometry.spatial import dot, norm
from ..model.description import HuntCrossleyForce
from .contact_geometry import ELLIPSOID, HALF_SPACE, SHAPES, TOUCH, Touch, friction
from .term import Energy, Instant, Law, Loads, Places, column, put_each

if TYPE_CHECKING:
    from ..model.model import Model

MATERIAL = ("stiffness", "dissipation", "static_friction", "dynamic_friction", "viscous_friction")


class HuntCrossley(Law):
    """`k` sets of material parameters of `n` forces; `p` pairs of surfaces, sorted by class."""

    describes: ClassVar = HuntCrossleyForce
    stiffness: Float[Array, " k"]
    dissipation: Float[Array, " k"]
    static_friction: Float[Array, " k"]
    dynamic_friction: Float[Array, " k"]
    viscous_friction: Float[Array, " k"]
    transition_velocity: Float[Array, " n"]
    materials: tuple[str, ...] = eqx.field(static=True)
    """[k] what each set of parameters is called"""
    classes: tuple[tuple[str, str], ...] = eqx.field(static=True)
    """[p] of the two surfaces"""
    surfaces: tuple[tuple[int, int], ...] = eqx.field(static=True)
    """[p] as in `ContactSurfaces`"""
    material: tuple[tuple[int, int], ...] = eqx.field(static=True)
    """[p] of the two"""
    owner: tuple[int, ...] = eqx.field(static=True)
    """[p] the force"""

    @classmethod
    def of(cls, forces: Sequence[HuntCrossleyForce], places: Places) -> HuntCrossley:
        materials = [material for force in forces for material in force.contact_parameters]
        pairs = _pairs(forces, places)
        return cls(
            names=tuple(force.name for force in forces),
            transition_velocity=column(forces, "transition_velocity"),
            materials=tuple(f"{x.name}.{'+'.join(m.geometry)}" for x in forces for m in x.contact_parameters),
            classes=tuple(classes for classes, _, _, _ in pairs),
            surfaces=tuple(surfaces for _, surfaces, _, _ in pairs),
            material=tuple(material for _, _, material, _ in pairs),
            owner=tuple(force for _, _, _, force in pairs),
            **{name: column(materials, name) for name in MATERIAL},
        )

    def write(self, forces: Sequence[HuntCrossleyForce]) -> None:
        materials = [material for force in forces for material in force.contact_parameters]
        for name in MATERIAL:
            put_each(materials, name, getattr(self, name))
        put_each(forces, "transition_velocity", self.transition_velocity)

    def _touching(self, model: Model, now: Instant) -> Touch:
        found: list[Touch] = []
        surfaces = np.array(self.surfaces)
        for classes in dict.fromkeys(self.classes):
            first, second = surfaces[[pair == classes for pair in self.classes]].T
            found.append(TOUCH[classes](model.contact_surfaces, now.at, first, second))
        depth, normal, middle, radius = (jnp.concatenate(x, axis=-1) for x in zip(*found, strict=True))
        return depth, normal, middle, radius

    def _stiffness(self) -> tuple[Float[Array, " p"], Float[Array, " p"]]:
        """k, and the first surface's share s1 of the depth."""
        k1, k2 = self.stiffness[np.array(self.material).T] ** (2 / 3)
        s1 = k2 / jnp.where(k1 + k2 > 0, k1 + k2, 1.0)
        return k1 * s1, s1

    def force(self, model: Model, now: Instant) -> Loads:
        if not self.classes:
            return Loads()
        material = np.array(self.material).T
        depth, normal, middle, radius = self._touching(model, now)
        k, s1 = self._stiffness()
        c1, c2 = self.dissipation[material]
        c = c1 * s1 + c2 * (1 - s1)
        point = middle + depth * (0.5 - s1) * normal
        links = model.contact_surfaces.links(np.array(self.surfaces))
        V1, V2 = (now.moving.velocity[:, links[:, i]] for i in (0, 1))
        v = point_velocity(V1 - V2, point)
        v_n = dot(v, normal)
        v_t = v - v_n * normal
        in_touch = depth > 0
        d = jnp.where(in_touch, depth, 1.0)
        hertz = jnp.where(in_touch, 4 / 3 * k * d * jnp.sqrt(radius * k * d), 0.0)
        f = jnp.maximum(hertz * (1 + 1.5 * c * v_n), 0.0)
        frictions = (self.static_friction, self.dynamic_friction, self.viscous_friction)
        speed = self.transition_velocity[np.array(self.owner)]
        drag = f * friction(norm(v_t), speed, *(_harmonic(mu[material]) for mu in frictions))
        return Loads(wrenches=between_links(now.at, links, wrench(point, f * normal + drag * v_t)))

    def energy(self, model: Model, now: Instant) -> Energy:
        """The integral of f_H over the depth: 2/5 f_H d."""
        if not self.classes:
            return Energy()
        depth, _, _, radius = self._touching(model, now)
        k, _ = self._stiffness()
        d = jnp.where(depth > 0, depth, 1.0)
        stored = 8 / 15 * k * d**2 * jnp.sqrt(radius * k * d)
        return Energy(elastic=jnp.sum(jnp.where(depth > 0, stored, 0.0)))


def _harmonic(both: Float[Array, "2 p"]) -> Float[Array, " p"]:
    total = both[0] + both[1]
    return jnp.where(total > 0, 2 * both[0] * both[1] / jnp.where(total > 0, total, 1.0), 0.0)


Pair = tuple[tuple[str, str], tuple[int, int], tuple[int, int], int]  # classes, surfaces, materials, force


def _pairs(forces: Sequence[HuntCrossleyForce], places: Places) -> list[Pair]:
    """Every two surfaces of a force that can touch, sorted by class. Two half spaces, or two surfaces of one frame, cannot."""
    found: list[Pair] = []
    first = 0
    for h, force in enumerate(forces):
        members = [
            (places.surface(name, force.name), first + k)
            for k, material in enumerate(force.contact_parameters)
            for name in material.geometry
        ]
        first += len(force.contact_parameters)
        for pair in combinations(members, 2):
            one, other = sorted(pair, key=lambda member: SHAPES.index(places.surface_kind(member[0])))
            (a, material_a), (b, material_b) = one, other
            classes = places.surface_kind(a), places.surface_kind(b)
            if classes == (HALF_SPACE, HALF_SPACE) or places.surface_frame(a) == places.surface_frame(b):
                continue
            if ELLIPSOID in classes and classes[0] != HALF_SPACE:
                raise ModelError(
                    f"HuntCrossleyForce {force.name!r}: contact between a {classes[0]} and a {classes[1]} is not computed"
                )
            found.append((classes, (a, b), (material_a, material_b), h))
    return sorted(found, key=lambda pair: pair[0])
