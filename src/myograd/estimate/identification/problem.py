"""An identification, put together: model, recordings, deep muscles, free parameters; its residual as a function of a vector."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
from scipy import linalg

from ...model.model import Model
from ..inverse.mechanics import Mechanics, Motion
from ..recording import Recording
from ..signals import LowPass
from . import free_model
from .choices import COMMON, MUSCLE, FiberSource
from .forces import Fibers, lengthened
from .free_model import FreeModel
from .identifiability import BaseParameters, Identifiability
from .parameters import Parameters, Unknowns
from .residual import Data, Linear, Scheme, fibers_at_rest, linearized, residual

STRIDE = 2  # samples per solved fibre, in a search


@dataclass(frozen=True, eq=False)
class Adjusted:
    """How one recording's rows are compared once the errors of its EMG have been estimated (`noise.refine`)."""

    shift: np.ndarray
    """[rows] what the estimated errors do to the residual, to first order"""
    factor: np.ndarray
    """[rows, rows] Cholesky factor of the rows' covariance, over their mean variance"""


@dataclass(frozen=True, eq=False)
class Problem:
    """What `identification` makes; `fit` solves it."""

    model: Model
    recordings: tuple[Recording, ...]
    mechanics: tuple[Mechanics, ...]
    identifiability: Identifiability
    base: BaseParameters
    parameters: Parameters
    driven: Model
    data: tuple[Data, ...]
    schemes: tuple[Scheme, ...]
    low_passes: tuple[LowPass | None, ...]
    free: FreeModel | None = None
    """where other numbers of the model are unknowns"""
    motions: tuple[Motion, ...] = ()
    """likewise"""
    adjusted: tuple[Adjusted, ...] | None = None
    accept: tuple[str, ...] = ()
    """parts of the model that stay out, though they are not computed"""

    @property
    def rows(self) -> int:
        """Numbers in the residual."""
        return self.identifiability.equations * sum(len(rows) for rows in self.compared)

    @property
    def compared(self) -> list[np.ndarray]:
        """Of each recording: the samples at which motion and forces are compared."""
        return [
            np.asarray(data.rows) if low_pass is None else low_pass.kept(np.asarray(data.rows))
            for data, low_pass in zip(self.data, self.low_passes, strict=True)
        ]

    def parts(self, rows: np.ndarray) -> list[np.ndarray]:
        """Rows of the residual, or of its Jacobian, by recording."""
        ends = self.identifiability.equations * np.cumsum([len(samples) for samples in self.compared])
        return np.split(rows, ends[:-1])

    def _weighed(self, of: int, r: np.ndarray, J: np.ndarray | None = None) -> list[np.ndarray]:
        """Rows of one recording as they are compared: residual [R, k], and its slopes [R k, parameters], if asked for."""
        both = [r.reshape(*r.shape, 1)] + ([] if J is None else [J.reshape(*r.shape, -1)])
        low_pass = self.low_passes[of]
        if low_pass is not None:
            both = [low_pass(x) for x in both]
        flat = [x.reshape(-1, x.shape[-1]) for x in both]
        if self.adjusted:
            own = self.adjusted[of]
            flat[0] = flat[0] - own.shift[:, None]
            flat = [linalg.solve_triangular(own.factor, x, lower=True, check_finite=False) for x in flat]
        return [flat[0][:, 0], *flat[1:]]

    def at(self, of: int, unknowns: Unknowns, guess: Fibers | None = None) -> tuple[Model, Scheme, Data]:
        """Muscles and data of one recording, as `residual` takes them. Traceable."""
        driven, scheme, data = self.driven, self.schemes[of], self.data[of]
        if self.free is not None:
            driven, data = free_model.varied(self.free, self.model, self.motions[of], data, unknowns.also)
        if guess is not None and scheme.fibers is FiberSource.SOLVED:
            length = guess.length
            if self.free is not None:
                length = lengthened(guess, data.length[:: scheme.stride], unknowns.muscle)
            data = data._replace(fiber_length=length)
        return driven, scheme, data

    def residual(self, z: np.ndarray, guess: Sequence[Fibers] | None = None) -> tuple[np.ndarray, list[Fibers]]:
        """[rows] at a vector of parameters; and the fibres, from which the next search for them may start."""
        unknowns = self.parameters.unknowns(jnp.asarray(z))
        found = [
            residual(*self.at(i, unknowns, guess[i] if guess else None), unknowns) for i in range(len(self.recordings))
        ]
        weighed = [self._weighed(i, np.asarray(r))[0] for i, (r, _) in enumerate(found)]
        return np.concatenate(weighed), [fibers for _, fibers in found]

    def linearized(
        self, z: np.ndarray, guess: Sequence[Fibers] | None = None
    ) -> tuple[np.ndarray, np.ndarray, list[Fibers]]:
        """[rows] residual, [rows, parameters] its exact Jacobian, and the fibres."""
        unknowns = self.parameters.unknowns(jnp.asarray(z))
        # All are under way before the first is waited for.
        parts = [
            linearized(*self.at(i, unknowns, guess[i] if guess else None), unknowns)
            for i in range(len(self.recordings))
        ]
        rs, Js = [], []
        for i, linear in enumerate(parts):
            J = _columns(self.parameters, z, linear, self._by_numbers(i, unknowns, linear))
            r, J = self._weighed(i, np.asarray(linear.r), J)
            rs.append(r)
            Js.append(J)
        return np.concatenate(rs), np.concatenate(Js), [linear.fibers for linear in parts]

    def _by_numbers(self, of: int, unknowns: Unknowns, linear: Linear) -> np.ndarray:
        """[R, k, also] derivatives of one recording's residual by other numbers of the model."""
        if self.free is None:
            return np.zeros((*linear.r.shape, 0))
        data, scheme = self.data[of], self.schemes[of]
        if scheme.fibers is FiberSource.SOLVED:
            data = data._replace(fiber_length=linear.fibers.length)
        found = free_model.by_numbers(self.free, scheme, self.model, self.motions[of], data, unknowns)
        return np.asarray(found)

    def guess(self, z: np.ndarray) -> list[Fibers]:
        """Fibre lengths at rest: where the first search starts. Recorded ones where these are used."""
        unknowns, found = self.parameters.unknowns(jnp.asarray(z)), []
        for i in range(len(self.recordings)):
            driven, scheme, data = self.at(i, unknowns)
            solved = scheme.fibers is FiberSource.SOLVED
            found.append(
                fibers_at_rest(driven, scheme, data, unknowns) if solved else Fibers(data.fiber_length, data.length)
            )
        return found

    @cached_property
    def digest(self) -> str:
        """Of what makes two problems the same one."""
        p = self.parameters
        digest = hashlib.sha256("|".join([*p.names, *COMMON]).encode())
        stated = [p.stated_muscle[name] for name in MUSCLE] + [np.array([p.stated_common[name] for name in COMMON])]
        for numbers in (p.bounded.low, p.bounded.high, p.maps, p.physical_start(), *stated):
            digest.update(numbers.tobytes())
        for data, scheme, low_pass in zip(self.data, self.schemes, self.low_passes, strict=True):
            digest.update(repr(scheme).encode())
            if low_pass is not None:
                digest.update(low_pass.kernel.tobytes() + bytes([low_pass.keep]))
            for numbers in data:
                digest.update(np.asarray(numbers).tobytes())
        for numbers in jax.tree.leaves((self.driven, (self.model, self.motions) if self.free else ())):
            digest.update(np.asarray(numbers).tobytes())
        return digest.hexdigest()

    def rough(self, rows: int) -> Problem:
        """The same with about so many rows, activations integrated in longer steps, and fibres solved at every other sample: for
        searches, where speed matters more than the fifth digit."""
        every = max(1, self.rows // (rows * self.identifiability.equations))
        data, schemes, keeping = [], [], []
        for one, scheme, low_pass in zip(self.data, self.schemes, self.low_passes, strict=True):
            on_stride = np.asarray(one.rows) % STRIDE == 0
            solved = scheme.fibers is FiberSource.SOLVED
            if low_pass is None:
                stride = STRIDE if solved and every >= STRIDE else 1
                kept = np.flatnonzero(on_stride | (stride == 1))[:: max(1, every // stride)]
            else:  # which needs its rows, and has thinned them already
                stride = STRIDE if solved and on_stride.all() else 1
                kept = np.arange(len(one.rows))
            data.append(one.thinned(kept, stride))
            schemes.append(scheme._replace(substeps=-(-scheme.substeps // 3), stride=stride))
            keeping.append(kept)
        motions = tuple(motion.thinned(kept) for motion, kept in zip(self.motions, keeping, strict=False))
        return replace(self, data=tuple(data), schemes=tuple(schemes), motions=motions)


def _columns(p: Parameters, z: np.ndarray, linear: Linear, by_also: np.ndarray) -> np.ndarray:
    """[rows, parameters] of one recording: derivatives by the vector, in the order of `p.names`."""
    count = linear.r.size
    by_bodies = np.asarray(linear.by_inertial).reshape(count, len(p.bodies), 10 if p.bodies else 0)
    by_muscle = [np.asarray(linear.by_muscle[f]).reshape(count, -1)[:, free] for f, free in p.free_muscle.items()]
    by_common = [np.asarray(linear.by_common[name]).reshape(count, 1) for name in p.free_common]
    by_numbers = np.concatenate([*by_muscle, *by_common, by_also.reshape(count, -1)], axis=1)
    return np.concatenate(
        [
            np.einsum("rbm,bmf->rbf", by_bodies, p.maps).reshape(count, -1) if p.bodies else np.zeros((count, 0)),
            by_numbers * p.bounded.slopes(z[p.of_bodies :]),
        ],
        axis=1,
    )
