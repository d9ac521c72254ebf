"""BushingForce: linear springs and dampers on the x-y-z angles and the displacement of one frame in another.

With y the angles of frame 2 in frame 1 and its origin there, the generalised force on y is -K y - D ydot. Angles turn at ydot
= N(y) w, w the relative angular velocity in frame 2; so the moment in frame 2 is N^T f.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..geometry.frames import between_links, placed, point_velocity, wrench
from ..geometry.spatial import matmul, rotate, transposed
from ..model.description import BushingForce
from .term import Energy, Instant, Law, Loads, Places, last, put

if TYPE_CHECKING:
    from ..model.model import Model


class Bushings(Law):
    describes: ClassVar = BushingForce
    rotation: Float[Array, "2 3 3 n"]
    """of the two frames in their links"""
    location: Float[Array, "2 3 n"]
    """[m]"""
    stiffness: Float[Array, "6 n"]
    """of the three angles, then of the displacement"""
    damping: Float[Array, "6 n"]
    links: tuple[tuple[int, int], ...] = eqx.field(static=True)

    @classmethod
    def of(cls, forces: Sequence[BushingForce], places: Places) -> Bushings:
        both = [(places.on_link(x.frame1), places.on_link(x.frame2)) for x in forces]
        return cls(
            names=tuple(force.name for force in forces),
            rotation=last([[R for _, R, _ in pair] for pair in both], (2, 3, 3)),
            location=last([[p for _, _, p in pair] for pair in both], (2, 3)),
            stiffness=last([(*x.rotational_stiffness, *x.translational_stiffness) for x in forces], (6,)),
            damping=last([(*x.rotational_damping, *x.translational_damping) for x in forces], (6,)),
            links=tuple((first[0], second[0]) for first, second in both),
        )

    def write(self, forces: Sequence[BushingForce]) -> None:
        for i, force in enumerate(forces):
            for name in ("stiffness", "damping"):
                numbers = getattr(self, name)[:, i]
                put(force, f"rotational_{name}", numbers[:3])
                put(force, f"translational_{name}", numbers[3:])

    def _between(self, now: Instant) -> tuple[Array, ...]:
        """Rotations and origins of the two frames in ground; angles and displacement of the second in the first."""
        links = np.array(self.links)
        R1, R2 = (matmul(now.at.rotation[:, :, links[:, k]], self.rotation[k]) for k in (0, 1))
        p1, p2 = (placed(now.at, links[:, k], self.location[k]) for k in (0, 1))
        return R1, R2, p1, p2, _angles(matmul(transposed(R1), R2)), rotate(transposed(R1), p2 - p1)

    def force(self, model: Model, now: Instant) -> Loads:
        links = np.array(self.links)
        R1, R2, _, p2, angles, shift = self._between(now)
        V1, V2 = (now.moving.velocity[:, links[:, k]] for k in (0, 1))
        N = _rates(angles)
        turning = rotate(N, rotate(transposed(R2), V2[:3] - V1[:3]))
        sliding = rotate(transposed(R1), point_velocity(V2, p2) - point_velocity(V1, p2))
        f = -self.stiffness * jnp.concatenate([angles, shift]) - self.damping * jnp.concatenate([turning, sliding])
        moment, force = rotate(R2, rotate(transposed(N), f[:3])), rotate(R1, f[3:])
        second = wrench(p2, force) + jnp.concatenate([moment, jnp.zeros_like(moment)])
        return Loads(wrenches=between_links(now.at, links, second))

    def energy(self, model: Model, now: Instant) -> Energy:
        *_, angles, shift = self._between(now)
        return Energy(elastic=jnp.sum(self.stiffness * jnp.concatenate([angles, shift]) ** 2) / 2)


def _angles(R: Float[Array, "3 3 n"]) -> Float[Array, "3 n"]:
    """Body-fixed x-y-z angles; as `geometry.spatial.angles_xyz`, away from gimbal lock."""
    return jnp.stack(
        [
            jnp.arctan2(-R[1, 2], R[2, 2]),
            jnp.arctan2(R[0, 2], jnp.hypot(R[0, 0], R[0, 1])),
            jnp.arctan2(-R[0, 1], R[0, 0]),
        ]
    )


def _rates(angles: Float[Array, "3 n"]) -> Float[Array, "3 3 n"]:
    """N: rates of body-fixed x-y-z angles per angular velocity in the turned frame."""
    (_, sy, sz), (_, cy, cz) = jnp.sin(angles), jnp.cos(angles)
    zero, one = jnp.zeros_like(sy), jnp.ones_like(sy)
    rows = [[cz / cy, -sz / cy, zero], [sz, cz, zero], [-sy * cz / cy, sy * sz / cy, one]]
    return jnp.stack([jnp.stack(row) for row in rows])
