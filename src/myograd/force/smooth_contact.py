"""SmoothSphereHalfSpaceForce: a sphere on a half space, smoothed so that the force is never quite zero.

Serrancolí et al., IEEE TNSRE 27, 2019: Hertz's force at the depth sqrt(d^2 + eps), faded in over the depth and over the speed
-2/(3 c) by tanh; both materials alike; friction at the slip sqrt(v_t^2 + eps). The rest as in `hunt_crossley`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..errors import ModelError
from ..geometry.frames import between_links, point_velocity, wrench
from ..geometry.spatial import dot
from ..model.description import SmoothSphereHalfSpaceForce
from .contact_geometry import friction, half_space_and_sphere
from .term import Instant, Law, Loads, Places, column, put_each

if TYPE_CHECKING:
    from ..model.model import Model

NUMBERS = (
    "stiffness",
    "dissipation",
    "static_friction",
    "dynamic_friction",
    "viscous_friction",
    "transition_velocity",
    "constant_contact_force",
    "hertz_smoothing",
    "hunt_crossley_smoothing",
)


class SmoothContacts(Law):
    describes: ClassVar = SmoothSphereHalfSpaceForce
    stiffness: Float[Array, " n"]
    dissipation: Float[Array, " n"]
    static_friction: Float[Array, " n"]
    dynamic_friction: Float[Array, " n"]
    viscous_friction: Float[Array, " n"]
    transition_velocity: Float[Array, " n"]
    constant_contact_force: Float[Array, " n"]
    hertz_smoothing: Float[Array, " n"]
    hunt_crossley_smoothing: Float[Array, " n"]
    surfaces: tuple[tuple[int, int], ...] = eqx.field(static=True)
    """half space, sphere; as in `ContactSurfaces`"""

    @classmethod
    def of(cls, forces: Sequence[SmoothSphereHalfSpaceForce], places: Places) -> SmoothContacts:
        for x in forces:  # whose slip is sqrt(v_t^2 + it), and its derivative at rest one over the root of it
            if not x.constant_contact_force > 0:
                raise ModelError(
                    f"SmoothSphereHalfSpaceForce {x.name!r}: constant_contact_force is {x.constant_contact_force:g}; it must "
                    "be above 0"
                )
        return cls(
            names=tuple(force.name for force in forces),
            surfaces=tuple((places.surface(x.half_space, x.name), places.surface(x.sphere, x.name)) for x in forces),
            **{name: column(forces, name) for name in NUMBERS},
        )

    def write(self, forces: Sequence[SmoothSphereHalfSpaceForce]) -> None:
        for name in NUMBERS:
            put_each(forces, name, getattr(self, name))

    def force(self, model: Model, now: Instant) -> Loads:
        plane, ball = np.array(self.surfaces).T
        depth, normal, point, radius = half_space_and_sphere(model.contact_surfaces, now.at, plane, ball)
        links = model.contact_surfaces.links(np.array(self.surfaces))
        v = point_velocity(now.moving.velocity[:, links[:, 0]] - now.moving.velocity[:, links[:, 1]], point)
        v_n = dot(v, normal)
        v_t = v - v_n * normal
        k, c, eps = self.stiffness ** (2 / 3) / 2, self.dissipation, self.constant_contact_force
        hertz = 4 / 3 * k * jnp.sqrt(radius * k) * (depth**2 + eps) ** 0.75
        faded = hertz * (0.5 + 0.5 * jnp.tanh(self.hertz_smoothing * depth)) * (1 + 1.5 * c * v_n)
        damped = c > 0  # without dissipation the force never pulls
        margin = self.hunt_crossley_smoothing * (v_n + 2 / (3 * jnp.where(damped, c, 1.0)))
        f = faded * jnp.where(damped, 0.5 + 0.5 * jnp.tanh(margin), 1.0)
        slip = jnp.sqrt(dot(v_t, v_t) + eps)
        drag = f * friction(
            slip, self.transition_velocity, self.static_friction, self.dynamic_friction, self.viscous_friction
        )
        return Loads(wrenches=between_links(now.at, links, wrench(point, f * normal + drag * v_t)))
