"""What is identified: which numbers, between which limits, and how they are written as a vector that may take any value.

Numbers of muscles and of activation lie between two limits, `p = low + (high - low) / (1 + exp(-z))`; bodies are valid by
construction (`inertia`). The vector z is what an optimiser sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy import special

from ...errors import MyogradError, nearest
from ...model.model import Model
from . import inertia

MUSCLE = (
    "max_isometric_force",
    "optimal_fiber_length",
    "max_contraction_velocity",
    "pennation_angle",
    "tendon_slack_length",
    "emg_gain",
)
"""Of each muscle: the five of paper 000, III-F.1, and a factor of its EMG (1 if the EMG is well scaled)."""
COMMON = ("activation_time", "deactivation_time", "delay", "c1", "c2")
"""Of all muscles: time constants and delay [s], poles of the filter (Eqs. 17-21)."""
LIMITS: dict[str, tuple[float, float]] = {
    "max_isometric_force": (0.2, 5.0),  # times the model's own value
    "optimal_fiber_length": (0.5, 2.0),
    "max_contraction_velocity": (0.2, 5.0),
    "tendon_slack_length": (0.5, 2.0),
    "emg_gain": (0.2, 5.0),
    "pennation_angle": (0.0, 0.8),  # rad
    "activation_time": (0.002, 0.06),  # s
    "deactivation_time": (0.008, 0.25),
    "delay": (0.0, 0.15),
    "c1": (-0.98, 0.98),
    "c2": (-0.98, 0.98),
}
START = {"activation_time": 0.010, "deactivation_time": 0.040, "delay": 0.040, "c1": -0.7, "c2": -0.5}
NEAR_LIMIT, AT_LIMIT, INSIDE = 0.01, 1e-4, 0.05  # of the distance between two limits


class Unknowns(NamedTuple):
    """The numbers behind a vector, in the form that the physics uses."""

    moments: Float[Array, " 10b"]
    """`inertia.moments` of the bodies, one after the other"""
    muscle: Float[Array, "6 m"]
    """`MUSCLE` of every muscle with EMG"""
    common: Float[Array, "5"]
    """`COMMON`"""


@dataclass(frozen=True, eq=False)
class Parameters:
    """Which numbers are free, and where they start. `stated_*` are the values of those that are not, and the start of others."""

    bodies: tuple[str, ...]
    muscles: tuple[str, ...]
    free_muscle: np.ndarray
    """[6, m] bool"""
    free_common: np.ndarray
    """[5] bool"""
    maps: np.ndarray
    """[b, 10, 10] moments of each body per its free numbers (`inertia.body_map`)"""
    stated_bodies: np.ndarray
    """[b, 10] `inertia.NAMES`"""
    stated_muscle: np.ndarray
    """[6, m]"""
    stated_common: np.ndarray
    low: np.ndarray
    """limits of the free numbers of muscles, then of the common ones"""
    high: np.ndarray

    @property
    def names(self) -> tuple[str, ...]:
        """Of all free numbers, in the order of vectors: `humerus mass`, `PECM1 max_isometric_force`, `delay`."""
        return (
            *(f"{body} {name}" for body in self.bodies for name in inertia.NAMES),
            *(f"{self.muscles[m]} {MUSCLE[f]}" for f, m in np.argwhere(self.free_muscle)),
            *(name for name, free in zip(COMMON, self.free_common, strict=True) if free),
        )

    @property
    def of_bodies(self) -> int:
        """How many of the numbers are of bodies; they come first."""
        return 10 * len(self.bodies)

    def start(self) -> np.ndarray:
        """The vector of the stated values."""
        return self.vector(self.physical_start())

    def physical_start(self) -> np.ndarray:
        """The stated values of the free numbers, in the order of `names`."""
        return np.concatenate(
            [
                self.stated_bodies.ravel(),
                self.stated_muscle[self.free_muscle],
                self.stated_common[self.free_common],
            ]
        )

    def vector(self, physical: np.ndarray) -> np.ndarray:
        """From physical numbers (order of `names`): what is beyond a limit is brought inside it, to where it can move."""
        count = self.of_bodies
        bodies = [
            np.linalg.solve(per, np.asarray(inertia.moments(jnp.asarray(inertia.valid(row)))))
            for row, per in zip(physical[:count].reshape(-1, 10), self.maps, strict=True)
        ]
        share = (physical[count:] - self.low) / (self.high - self.low)
        share = np.where(share < AT_LIMIT, INSIDE, np.where(share > 1 - AT_LIMIT, 1 - INSIDE, share))
        return np.concatenate([*bodies, special.logit(share)])

    @partial(jax.jit, static_argnums=0)
    def physical(self, z: Float[Array, " z"]) -> Float[Array, " z"]:
        """Masses, mass centres, inertias, and numbers of muscles and activation, in the order of `names`."""
        bodies = jax.vmap(inertia.stated)(self.moments(z).reshape(-1, 10)) if self.bodies else jnp.zeros(0)
        return jnp.concatenate([bodies.ravel(), self._scalars(z)])

    @partial(jax.jit, static_argnums=0)
    def unknowns(self, z: Float[Array, " z"]) -> Unknowns:
        scalars = self._scalars(z)
        count = int(self.free_muscle.sum())
        muscle = jnp.asarray(self.stated_muscle).at[np.nonzero(self.free_muscle)].set(scalars[:count])
        common = jnp.asarray(self.stated_common).at[np.flatnonzero(self.free_common)].set(scalars[count:])
        return Unknowns(self.moments(z), muscle, common)

    def moments(self, z: Float[Array, " z"]) -> Float[Array, " 10b"]:
        """`inertia.moments` of the bodies."""
        return jnp.einsum("bmf,bf->bm", self.maps, z[: self.of_bodies].reshape(-1, 10)).ravel()

    def _scalars(self, z: Float[Array, " z"]) -> Float[Array, " s"]:
        return jnp.asarray(self.low) + (self.high - self.low) * jax.nn.sigmoid(z[self.of_bodies :])

    def scales(self) -> np.ndarray:
        """What counts as a change of one in the vector, at the start: of bodies the whole pseudo-inertia, of other numbers
        themselves."""
        physical = self.physical_start()[self.of_bodies :]
        share = np.clip((physical - self.low) / (self.high - self.low), 1e-3, 1 - 1e-3)
        slope = (self.high - self.low) * share * (1 - share)
        size = np.maximum(np.abs(physical), 0.02 * (self.high - self.low))
        return np.concatenate([np.ones(self.of_bodies), size / slope])

    def at_limits(self, z: np.ndarray) -> list[str]:
        """Names of numbers that lie at a limit, as good as."""
        share = special.expit(z[self.of_bodies :])
        near = np.minimum(share, 1 - share) < NEAR_LIMIT
        return [name for name, is_near in zip(self.names[self.of_bodies :], near, strict=True) if is_near]


def parameters(
    model: Model,
    bodies: tuple[str, ...],
    muscles: tuple[str, ...],
    of_muscle: tuple[str, ...] = MUSCLE[:5],
    common: tuple[str, ...] = COMMON,
    limits: Mapping[str, tuple[float, float]] | None = None,
    start: Mapping[str, float] | None = None,
    asked: tuple[str, ...] | None = None,
) -> Parameters:
    """The numbers named: ten of each body, `of_muscle` of each muscle (or of those `asked` for), and `common` ones; starting at
    the model's own values, and at `start` for what a model does not state (delay, c1, c2). A pennation of zero stays: the force
    does not change with it to first order. `limits` replaces some of `LIMITS`; those of forces, lengths and velocities are
    relative to the model's own.
    """
    for given, known in (
        (of_muscle, MUSCLE),
        (common, COMMON),
        (tuple(limits or ()), LIMITS),
        (tuple(start or ()), COMMON),
    ):
        for name in given:
            if name not in known:
                raise MyogradError(f"there is no parameter {name!r} to identify{nearest(name, known)}")
    which = [model.muscle_names.index(name) for name in muscles]
    values = model.muscles
    stated = np.array([np.asarray(getattr(values, name))[which] for name in MUSCLE[:5]] + [np.ones(len(which))])
    free = np.zeros((6, len(which)), bool)
    free[[MUSCLE.index(name) for name in of_muscle]] = True
    free[:, [asked is not None and name not in asked for name in muscles]] = False
    free[MUSCLE.index("pennation_angle")] &= stated[MUSCLE.index("pennation_angle")] > 0
    times = {
        "activation_time": np.asarray(values.activation_time_constant)[which],
        "deactivation_time": np.asarray(values.deactivation_time_constant)[which],
    }
    begin = (
        START | {name: float(np.median(t)) for name, t in times.items() if len(t) and np.all(t > 0)} | dict(start or {})
    )
    free_common = np.array([name in common for name in COMMON])
    bounds = LIMITS | dict(limits or {})
    if bounds["c1"] != bounds["c2"]:
        raise MyogradError("c1 and c2 change nothing when they change places: their limits must be the same")
    relative = np.array([name != "pennation_angle" for name in MUSCLE])[:, None]
    edges = []
    for side in (0, 1):
        of_muscles = np.array([bounds[name][side] for name in MUSCLE])[:, None] * np.where(relative, stated, 1.0)
        edges.append(np.concatenate([of_muscles[free], [bounds[name][side] for name in COMMON if name in common]]))
    own = inertia.stated_bodies(model, bodies) if bodies else np.zeros((0, 10))
    own = np.array([inertia.valid(row) for row in own]).reshape(-1, 10)
    return Parameters(
        tuple(bodies),
        tuple(muscles),
        free,
        free_common,
        np.array([inertia.body_map(row) for row in own]).reshape(-1, 10, 10),
        own,
        stated,
        np.array([begin[name] for name in COMMON]),
        edges[0],
        edges[1],
    )
