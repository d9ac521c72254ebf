"""The numbers of an identification, behind a vector: those of bodies, of muscles, common ones, and any others of the model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...errors import MyogradError
from ...model.model import Model
from ...model.parameters import UNITS, Selection
from ..inverse.regressors import NAMES, stated_bodies
from ..parameters import Bounded, Bounds, Number, ParameterVector
from .choices import ABSOLUTE, COMMON, COMMON_NUMBERS, LIMITS, MUSCLE, OF_MODEL, POLES, Choices
from .inertia import Body

START = {
    "muscles.activation_time_constant": 0.010,
    "muscles.deactivation_time_constant": 0.040,
    "emg.delay": 0.040,
    "emg.c1": -0.7,
    "emg.c2": -0.5,
}
PENNATION_SURENESS = 2.0  # it is known better than others; as its cosine matters, a fit is easily led astray by it
QUARTER = 0.25  # of the distance between the limits: how well a number is known of which nothing else is said


class Unknowns(NamedTuple):
    """The numbers behind a vector, in the form that the physics uses. Free or not, all of them are here."""

    inertial: Float[Array, " inertial"]
    """inertial parameters (`regressors.PHI`) of the bodies, one after the other"""
    muscle: dict[str, Float[Array, " m"]]
    """`MUSCLE` of every muscle with EMG"""
    common: dict[str, Float[Array, ""]]
    """`COMMON`"""
    also: Float[Array, " also"]
    """other numbers of the model"""


@dataclass(frozen=True, eq=False)
class Parameters(ParameterVector):
    """Which numbers are free, and where they start: one block for each body, then one for all numbers between limits."""

    muscles: tuple[str, ...]
    """with EMG"""
    stated_muscle: dict[str, np.ndarray]
    """of `MUSCLE`: [m] the values of those that are not free, and the start of others"""
    stated_common: dict[str, float]
    """likewise, of `COMMON`"""
    also: Selection | None
    """other numbers of the model"""

    @cached_property
    def bodies(self) -> tuple[str, ...]:
        """Whose ten inertial parameters are free."""
        return tuple(block.name for block in self.blocks if isinstance(block, Body))

    @property
    def of_bodies(self) -> int:
        """How many of the numbers are of bodies; they come first."""
        return 10 * len(self.bodies)

    @cached_property
    def bounded(self) -> Bounded:
        """The block of all numbers that are not of bodies."""
        (block,) = (block for block in self.blocks if isinstance(block, Bounded))
        return block

    @cached_property
    def maps(self) -> np.ndarray:
        """[b, 10, 10] inertial parameters of each body per its entries in the vector"""
        maps = [block.map for block in self.blocks if isinstance(block, Body)]
        return np.array(maps).reshape(-1, 10, 10)

    @cached_property
    def free_muscle(self) -> dict[str, np.ndarray]:
        """Of `MUSCLE`: [m] bool, whether it is free"""
        return {f: np.array([f"{m}.{f}" in self.places for m in self.muscles], bool) for f in MUSCLE}

    @cached_property
    def free_common(self) -> tuple[str, ...]:
        return tuple(name for name in COMMON if name in self.places)

    @partial(jax.jit, static_argnums=0)
    def unknowns(self, z: Float[Array, " z"]) -> Unknowns:
        values = self.physical_bounded(z)
        at = {number.name: i for i, number in enumerate(self.bounded.numbers)}
        muscle = {}
        for f, free in self.free_muscle.items():
            places = np.array([at[f"{self.muscles[m]}.{f}"] for m in np.flatnonzero(free)], int)
            muscle[f] = jnp.asarray(self.stated_muscle[f]).at[np.flatnonzero(free)].set(values[places])
        common = {name: values[at[name]] if name in at else jnp.asarray(self.stated_common[name]) for name in COMMON}
        also = np.array([at[name] for name in self.also.names] if self.also else [], int)
        return Unknowns(self.inertial(z), muscle, common, values[also])

    def inertial(self, z: Float[Array, " z"]) -> Float[Array, " inertial"]:
        """Inertial parameters (`regressors.PHI`) of the bodies, one after the other."""
        return jnp.einsum("bmf,bf->bm", self.maps, z[: self.of_bodies].reshape(-1, 10)).ravel()

    def physical_bounded(self, z: Float[Array, " z"]) -> Float[Array, " s"]:
        """All numbers that are not of bodies."""
        return self.bounded.physical(z[self.of_bodies :])


def parameters(
    model: Model, bodies: tuple[str, ...], muscles: tuple[str, ...], asked: tuple[str, ...], choices: Choices
) -> Parameters:
    """Ten numbers of each body, `choices.of_muscle` of those `asked` of the muscles with EMG, and `choices.common` ones; starting
    at the model's own values, and at `choices.start` for what a model does not state (delay, c1, c2). A pennation of zero stays:
    the force does not change with it to first order. Then whatever is in `choices.also`.
    """
    which = [model.muscle_names.index(name) for name in muscles]
    stated = {f: np.asarray(getattr(model.muscles, f))[which] for f in OF_MODEL} | {"emg_gain": np.ones(len(which))}
    common = _common_start(model, which, choices)
    also = choices.bounds
    bounds: dict[Number, Bounds] = {}
    values: dict[Number, float] = {}
    for f in MUSCLE:
        for m, own in zip(muscles, stated[f].tolist(), strict=True):
            number = Number(f"{m}.{f}", m, f, UNITS.get(f, ""))
            chosen = f in (choices.of_muscle or ()) and m in asked and (f != "pennation_angle" or own > 0)
            if chosen or number.name in also:
                bounds[number] = also.pop(number.name, None) or _limits(f, choices, own)
                values[number] = own
    for number in COMMON_NUMBERS:
        if number.name in choices.common or number.name in also:
            bounds[number] = also.pop(number.name, None) or _limits(number.name, choices)
            values[number] = common[number.name]
    if len({it for number, it in bounds.items() if number.name in POLES}) == 2:
        raise MyogradError("emg.c1 and emg.c2 are interchangeable, so they must have the same limits")
    rest = _others(model, bodies, also)
    for number, (own, limits) in rest.items():
        bounds[number], values[number] = limits, own
    for number, it in bounds.items():
        if number.name in choices.also and not it.low < values[number] < it.high:
            raise MyogradError(
                f"{number.name!r} starts at {values[number]:g} {number.unit}: not between its limits, {it.low:g} and {it.high:g}"
            )
    sureness = [PENNATION_SURENESS if number.field == "pennation_angle" else 1.0 for number in bounds]
    block = Bounded(tuple(bounds), tuple(bounds.values()), np.array(list(values.values())), np.array(sureness))
    own = stated_bodies(model, bodies) if bodies else np.zeros((0, 10))
    return Parameters(
        (*(Body.like(name, row) for name, row in zip(bodies, own, strict=True)), block),
        muscles,
        stated,
        common,
        Selection(model, [number.name for number in rest]) if rest else None,
    )


def _limits(kind: str, choices: Choices, own: float = 1.0) -> Bounds:
    low, high = (LIMITS | dict(choices.limits))[kind]
    return Bounds(low, high) if kind in ABSOLUTE else Bounds(low * own, high * own)


def _common_start(model: Model, which: list[int], choices: Choices) -> dict[str, float]:
    times = {
        "muscles.activation_time_constant": np.asarray(model.muscles.activation_time_constant)[which],
        "muscles.deactivation_time_constant": np.asarray(model.muscles.deactivation_time_constant)[which],
    }
    own = {name: float(np.median(t)) for name, t in times.items() if len(t) and np.all(t > 0)}
    return START | own | dict(choices.start)


def _others(model: Model, bodies: tuple[str, ...], also: dict[str, Bounds]) -> dict[Number, tuple[float, Bounds]]:
    """Numbers of the model that are in no list: their values, and limits with a prior."""
    if not also:
        return {}
    of_bodies = {f"{body}.{field}": body for body in bodies for field in NAMES}
    for name in also:
        if name in of_bodies:
            raise MyogradError(
                f"{name!r} is one of the ten inertial parameters of {of_bodies[name]!r}, which are identified together; ask for "
                "the body, or for some of its numbers"
            )
    chosen = Selection(model, list(also))
    found = {}
    for name, place, own in zip(also, chosen.places, np.asarray(chosen.get(model)).tolist(), strict=True):
        it = also[name]
        if it.spread is None and it.low < own < it.high:
            it = Bounds(it.low, it.high, own, QUARTER * (it.high - it.low))
        found[Number(name, "", name, place.unit)] = (own, it)
    return found
