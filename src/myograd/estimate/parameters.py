"""Numbers to be estimated, by name: their limits, what is known of them before, and a vector behind them that may take any value.

A number between two limits is `low + (high - low) / (1 + exp(-z))`. Numbers that belong together (the ten of a body) may be
written in another way; each such way is a `Block`. The vector z of all blocks, one after the other, is what an optimiser sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy import special

from ..errors import MyogradError

SPREAD = 0.2  # of a model's own numbers about the person's, relative
NEAR_LIMIT, AT_LIMIT, INSIDE = 0.01, 1e-4, 0.05  # of the distance between two limits
SMALLEST = 0.02  # likewise: no number counts as smaller, where a change is relative to it


class Number(NamedTuple):
    """What a number is called: `femur_r.mass` is the field `mass` of `femur_r`."""

    name: str
    owner: str
    field: str
    unit: str


@dataclass(frozen=True)
class Bounds:
    """Limits of a number; and, if it is known before, that it is about `center`, give or take `spread` (standard deviation)."""

    low: float
    high: float
    center: float | None = None
    spread: float | None = None

    def __post_init__(self) -> None:
        if not (np.isfinite([self.low, self.high]).all() and self.low < self.high):
            raise MyogradError(
                f"limits are two finite numbers, the lower one first, not {self.low:g} and {self.high:g}"
            )
        if (self.center is None) != (self.spread is None):
            raise MyogradError("a prior has a center and a spread; one is missing")
        if self.center is not None and not self.low < self.center < self.high:
            raise MyogradError(f"a prior about {self.center:g} is outside its limits, {self.low:g} and {self.high:g}")
        if self.spread is not None and not 0 < self.spread < np.inf:
            raise MyogradError(f"the spread of a prior is a positive number, not {self.spread:g}")


@runtime_checkable
class Block(Protocol):
    """Numbers that are written as a vector together."""

    @property
    def numbers(self) -> tuple[Number, ...]: ...

    @property
    def start(self) -> np.ndarray:
        """[n] their values before"""
        ...

    def vector(self, physical: np.ndarray) -> np.ndarray:
        """[n] entries of the vector, from the numbers themselves. What cannot be is brought to where it can."""
        ...

    def physical(self, z: Float[Array, " n"]) -> Float[Array, " n"]:
        """The numbers themselves."""
        ...

    def scales(self) -> np.ndarray:
        """[n] what counts as a change of one in the vector, at the start."""
        ...

    def prior(self, z: np.ndarray, spread: float) -> tuple[np.ndarray, np.ndarray]:
        """Center and spread (in `scales`), if nothing else is said: about z, give or take `spread`, relative."""
        ...

    def prior_rows(self, z: np.ndarray, center: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """b and A with `penalty(z + s) = |A s + b|^2` to second order, up to a constant; s in units of `scales`."""
        ...

    def penalty(self, z: np.ndarray, center: np.ndarray, spread: np.ndarray) -> float:
        """-2 log of the prior's density, up to a constant; infinite where there are no such numbers."""
        ...

    def near_limits(self, z: np.ndarray) -> np.ndarray:
        """[n] bool: which are at a limit, as good as."""
        ...


@dataclass(frozen=True, eq=False)
class Bounded:
    """Numbers between limits, each by itself. A `Block`."""

    numbers: tuple[Number, ...]
    bounds: tuple[Bounds, ...]
    start: np.ndarray
    sureness: np.ndarray
    """[n] how many times as narrow as others' the usual prior is; those with a prior of their own have that"""

    @cached_property
    def low(self) -> np.ndarray:
        return np.array([it.low for it in self.bounds])

    @cached_property
    def high(self) -> np.ndarray:
        return np.array([it.high for it in self.bounds])

    def vector(self, physical: np.ndarray) -> np.ndarray:
        """What is at a limit or beyond is brought inside, to where it can move."""
        share = (physical - self.low) / (self.high - self.low)
        share = np.where(share < AT_LIMIT, INSIDE, np.where(share > 1 - AT_LIMIT, 1 - INSIDE, share))
        return special.logit(share)

    def physical(self, z: Float[Array, " n"]) -> Float[Array, " n"]:
        return jnp.asarray(self.low) + (self.high - self.low) * jax.nn.sigmoid(z)

    def slopes(self, z: np.ndarray) -> np.ndarray:
        """[n] of the numbers by their entries in the vector."""
        share = special.expit(z)
        return (self.high - self.low) * share * (1 - share)

    def _slopes_at(self, physical: np.ndarray) -> np.ndarray:
        share = np.clip((physical - self.low) / (self.high - self.low), 1e-3, 1 - 1e-3)
        return (self.high - self.low) * share * (1 - share)

    def scales(self) -> np.ndarray:
        """Of the numbers themselves, or of the spread that they are known with."""
        size = np.maximum(np.abs(self.start), SMALLEST * (self.high - self.low))
        size = np.array([one if it.spread is None else it.spread for one, it in zip(size, self.bounds, strict=True)])
        return size / self._slopes_at(self.start)

    def prior(self, z: np.ndarray, spread: float) -> tuple[np.ndarray, np.ndarray]:
        known = np.array([it.spread is not None for it in self.bounds], bool)
        own = np.array(
            [it.center if it.center is not None else x for it, x in zip(self.bounds, self.start, strict=True)]
        )
        width = np.array([it.spread or 1.0 for it in self.bounds]) / self._slopes_at(own) / self.scales()
        return np.where(known, self.vector(own), z), np.where(known, width, spread / self.sureness)

    def prior_rows(self, z: np.ndarray, center: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (z - center) / (self.scales() * spread), np.diag(1 / spread)

    def penalty(self, z: np.ndarray, center: np.ndarray, spread: np.ndarray) -> float:
        return float(np.sum(((z - center) / (self.scales() * spread)) ** 2))

    def near_limits(self, z: np.ndarray) -> np.ndarray:
        share = special.expit(z)
        return np.minimum(share, 1 - share) < NEAR_LIMIT


@dataclass(frozen=True, eq=False)
class ParameterVector:
    """Blocks of numbers, one after the other. Vectors and lists of numbers are in the order of `names`."""

    blocks: tuple[Block, ...]

    @cached_property
    def numbers(self) -> tuple[Number, ...]:
        return tuple(number for block in self.blocks for number in block.numbers)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """`humerus.mass`, `PECM1.max_isometric_force`, `emg.delay`."""
        return tuple(number.name for number in self.numbers)

    @cached_property
    def places(self) -> dict[str, int]:
        """Of each name, in vectors."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def _slices(self) -> list[slice]:
        ends = np.cumsum([0, *(len(block.numbers) for block in self.blocks)]).tolist()
        return [slice(first, last) for first, last in pairwise(ends)]

    def parts(self, *vectors: np.ndarray) -> Iterator[tuple[Block, tuple[np.ndarray, ...]]]:
        """Each block with its entries of the vectors."""
        for block, own in zip(self.blocks, self._slices, strict=True):
            yield block, tuple(x[own] for x in vectors)

    def physical_start(self) -> np.ndarray:
        """The numbers before."""
        return _joined([block.start for block in self.blocks])

    def start(self) -> np.ndarray:
        """Their vector."""
        return self.vector(self.physical_start())

    def vector(self, physical: np.ndarray) -> np.ndarray:
        """From the numbers themselves: what cannot be (beyond a limit, no body's) is brought to where it can."""
        return _joined([block.vector(own) for block, (own,) in self.parts(physical)])

    @partial(jax.jit, static_argnums=0)
    def physical(self, z: Float[Array, " n"]) -> Float[Array, " n"]:
        """The numbers themselves."""
        parts = [block.physical(z[own]) for block, own in zip(self.blocks, self._slices, strict=True)]
        return jnp.concatenate([jnp.zeros(0), *parts])

    def scales(self) -> np.ndarray:
        """What counts as a change of one in the vector, at the start."""
        return _joined([block.scales() for block in self.blocks])

    def near_limits(self, z: np.ndarray) -> list[str]:
        """Names of numbers that lie at a limit, as good as."""
        near = _joined([block.near_limits(own) for block, (own,) in self.parts(z)])
        return [name for name, is_near in zip(self.names, near, strict=True) if is_near]


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0), *parts])


@dataclass(frozen=True)
class Prior:
    """What is known before: each number of the vector is about `center`, give or take `spread` (standard deviation, in
    `scales`: relative for most); how far from it a number is, its block says (`Block.penalty`). It decides where the
    measurement does not, and weighs less the smaller the residual is: the noise is taken to be what fits it."""

    center: np.ndarray
    spread: np.ndarray

    def rows(self, p: ParameterVector, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """b and A with `self.penalty(z + s) = |A s + b|^2` to second order, up to a constant; s in units of `scales`."""
        b, A, first = np.zeros(len(z)), np.zeros((len(z), len(z))), 0
        for block, (own, center, spread) in p.parts(z, self.center, self.spread):
            at = slice(first, first + len(own))
            b[at], A[at, at] = block.prior_rows(own, center, spread)
            first = at.stop
        return b, A

    def penalty(self, p: ParameterVector, z: np.ndarray) -> float:
        """-2 log of the prior's density, up to a constant; infinite where there are no such numbers."""
        return float(sum(block.penalty(*own) for block, own in p.parts(z, self.center, self.spread)))


def default_prior(p: ParameterVector, z: np.ndarray, spread: float = SPREAD) -> Prior:
    """About a vector, give or take `spread`, relative; numbers whose `Bounds` say more are known as these say."""
    parts = [block.prior(own, spread) for block, (own,) in p.parts(z)]
    return Prior(_joined([center for center, _ in parts]), _joined([width for _, width in parts]))
