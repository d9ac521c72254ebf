"""An identification, put together: model, recordings, deep muscles, free parameters; its residual as a function of a vector."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
from scipy import linalg

from ...errors import ModelError, MyogradError
from ...model.model import Model
from ...muscle.groups import FIRST_ORDER
from ..inverse.mechanics import Mechanics, mechanics
from ..signals import EDGE, LowPass, low_pass_of, rows_apart
from . import forces, inertia
from .parameters import COMMON, LIMITS, MUSCLE, Parameters, Unknowns, parameters
from .rank import BaseParameters, Seen, base_parameters, check_names, seen_muscles
from .recording import Recording
from .residual import FIBERS, Data, Scheme, data_of, linearized, residual

STRIDE = 2  # samples per solved fibre, in a search
FEWEST = 10  # rows of a recording, after a low-pass
MORE = 1.5  # rows than numbers, if noise is to be told from them
SKIP = 0.2  # s at the start of a recording without rows: what was before is not known


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
    seen: Seen
    base: BaseParameters
    parameters: Parameters
    driven: Model
    data: tuple[Data, ...]
    schemes: tuple[Scheme, ...]
    low_passes: tuple[LowPass | None, ...]
    adjusted: tuple[Adjusted, ...] | None = None

    @property
    def rows(self) -> int:
        """Numbers in the residual."""
        return self.seen.equations * sum(len(rows) for rows in self.compared)

    @property
    def compared(self) -> list[np.ndarray]:
        """Of each recording: the samples at which motion and forces are compared."""
        return [
            np.asarray(data.rows) if low_pass is None else low_pass.kept(np.asarray(data.rows))
            for data, low_pass in zip(self.data, self.low_passes, strict=True)
        ]

    def parts(self, rows: np.ndarray) -> list[np.ndarray]:
        """Rows of the residual, or of its Jacobian, by recording."""
        ends = self.seen.equations * np.cumsum([len(samples) for samples in self.compared])
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

    def residual(self, z: np.ndarray, guess: Sequence[jax.Array] | None = None) -> tuple[np.ndarray, list[jax.Array]]:
        """[rows] at a vector of parameters; and the fibre lengths, from which the next search for them may start."""
        unknowns = self.parameters.unknowns(jnp.asarray(z))
        found = [
            residual(self.driven, scheme, data, unknowns)
            for scheme, data in zip(self.schemes, self._from(guess), strict=True)
        ]
        weighed = [self._weighed(i, np.asarray(r))[0] for i, (r, _) in enumerate(found)]
        return np.concatenate(weighed), [fiber for _, fiber in found]

    def linearized(
        self, z: np.ndarray, guess: Sequence[jax.Array] | None = None
    ) -> tuple[np.ndarray, np.ndarray, list[jax.Array]]:
        """[rows] residual, [rows, parameters] its exact Jacobian, and the fibre lengths."""
        p = self.parameters
        unknowns, chain = _chain(p, jnp.asarray(z))
        rs, Js, fibers = [], [], []
        parts = [  # all are under way before the first is waited for
            linearized(self.driven, scheme, data, unknowns)
            for scheme, data in zip(self.schemes, self._from(guess), strict=True)
        ]
        for i, it in enumerate(parts):
            count = it.r.size
            by_bodies = (
                np.asarray(it.by_moments).reshape(count, len(p.bodies), 10) if p.bodies else np.zeros((count, 0, 10))
            )
            J = np.concatenate(
                [
                    np.einsum("rbm,bmf->rbf", by_bodies, chain[0]).reshape(count, -1),
                    np.asarray(it.by_muscle).reshape(count, 6, -1)[:, p.free_muscle] * chain[1],
                    np.asarray(it.by_common).reshape(count, 5)[:, p.free_common] * chain[2],
                ],
                axis=1,
            )
            r, J = self._weighed(i, np.asarray(it.r), J)
            rs.append(r)
            Js.append(J)
            fibers.append(it.fiber)
        return np.concatenate(rs), np.concatenate(Js), fibers

    def guess(self, z: np.ndarray) -> list[jax.Array]:
        """Fibre lengths at rest: where the first search starts. Recorded ones where these are used."""
        unknowns = self.parameters.unknowns(jnp.asarray(z))
        return [
            data.fiber_length
            if scheme.fibers != "solved"
            else _at_rest(self.driven, scheme, data, unknowns.muscle, unknowns.common)
            for scheme, data in zip(self.schemes, self.data, strict=True)
        ]

    def _from(self, guess: Sequence[jax.Array] | None) -> list[Data]:
        if guess is None:
            return list(self.data)
        return [
            data._replace(fiber_length=jnp.asarray(fiber)) if scheme.fibers == "solved" else data
            for scheme, data, fiber in zip(self.schemes, self.data, guess, strict=True)
        ]

    @cached_property
    def digest(self) -> str:
        """Of what makes two problems the same one."""
        p = self.parameters
        digest = hashlib.sha256("|".join([*p.names, *COMMON]).encode())
        for numbers in (p.low, p.high, p.maps, p.stated_bodies, p.stated_muscle, p.stated_common):
            digest.update(numbers.tobytes())
        for data, scheme, low_pass in zip(self.data, self.schemes, self.low_passes, strict=True):
            digest.update(repr(scheme).encode())
            if low_pass is not None:
                digest.update(low_pass.kernel.tobytes() + bytes([low_pass.keep]))
            for numbers in data:
                digest.update(np.asarray(numbers).tobytes())
        return digest.hexdigest()

    def rough(self, rows: int) -> Problem:
        """The same with about so many rows, activations integrated in longer steps, and fibres solved at every other sample: for
        searches, where speed matters more than the fifth digit."""
        count = len(Data._fields) - 4  # all but the signals that make forces, which need every sample
        every = max(1, self.rows // (rows * self.seen.equations))
        data, schemes = [], []
        for one, scheme, low_pass in zip(self.data, self.schemes, self.low_passes, strict=True):
            on_stride = np.asarray(one.rows) % STRIDE == 0
            if low_pass is None:
                stride = STRIDE if scheme.fibers == "solved" and every >= STRIDE else 1
                kept = np.flatnonzero(on_stride | (stride == 1))[:: max(1, every // stride)]
            else:  # which needs its rows, and has thinned them already
                stride = STRIDE if scheme.fibers == "solved" and on_stride.all() else 1
                kept = np.arange(len(one.rows))
            few = Data(*(x[kept] for x in one[:count]), *one[count:])
            data.append(few._replace(rows=few.rows // stride))
            schemes.append(scheme._replace(substeps=-(-scheme.substeps // 3), stride=stride))
        return replace(self, data=tuple(data), schemes=tuple(schemes))


@jax.jit(static_argnums=1)
def _at_rest(driven: Model, scheme: Scheme, data: Data, muscle: jax.Array, common: jax.Array) -> jax.Array:
    driven = forces.with_values(driven, muscle)
    activation = forces.activations(data.emg, muscle[5], common, scheme.step, scheme.substeps)
    return forces.resting_fibers(driven, data.length[:: scheme.stride], activation[:: scheme.stride])


def _chain(p: Parameters, z: jax.Array) -> tuple[Unknowns, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The numbers behind z, and their derivatives: of bodies [b, moment, free], of muscles' and of common numbers."""
    share = np.asarray(jax.nn.sigmoid(z[p.of_bodies :]))
    slope = (p.high - p.low) * share * (1 - share)
    muscles = int(p.free_muscle.sum())
    return p.unknowns(z), (p.maps, slope[:muscles], slope[muscles:])


def identification(
    model: Model,
    recordings: Sequence[Recording],
    deep: Sequence[str] = (),
    bodies: Sequence[str] = (),
    muscles: Sequence[str] | None = None,
    of_muscle: Sequence[str] | None = None,
    common: Sequence[str] = COMMON,
    fibers: str | None = None,
    limits: Mapping[str, tuple[float, float]] | None = None,
    start: Mapping[str, float] | None = None,
    every: int = 1,
    skip: float = SKIP,
    accept: tuple[str, ...] = (),
    known: Sequence[Mechanics] | None = None,
) -> Problem:
    """Put an identification together, and say by errors what makes it impossible.

    `deep`: muscles without EMG, whose forces are unknowns (M1); none: all muscles have EMG (M2). `bodies`: whose ten inertial
    parameters are asked for. `muscles`: whose numbers are asked for; by default all that can be. `of_muscle`: which numbers; by
    default all five, without the tendon slack length where fibres are `recorded`. `fibers`: one of `residual.FIBERS`; by default
    `recorded` where they are, else `solved`. `every`: one row of the residual per so many samples (noisy recordings
    have as many as their low-pass needs). `skip` [s]: without rows at the start of each recording. `known`: the
    recordings' mechanics, if they have been worked out for the same bodies.
    """
    if not recordings:
        raise MyogradError("an identification needs a recording")
    if fibers is None:
        fibers = "recorded" if all(r.fiber_length is not None for r in recordings) else "solved"
    if fibers not in FIBERS:
        raise MyogradError(f"fibers is one of {', '.join(FIBERS)}, not {fibers!r}")
    if fibers != "solved" and any(r.fiber_length is None for r in recordings):
        raise MyogradError(f"fibers={fibers!r} needs recordings with fibre lengths and velocities")
    if of_muscle is None:
        of_muscle = {"recorded": MUSCLE[:4], "tendon": ("tendon_slack_length",), "solved": MUSCLE[:5]}[fibers]
    channels = [name for name in model.muscle_names if all(name in r.channels for r in recordings)]
    check_names(model, deep, channels)
    worked_out = tuple(known) if known else tuple(mechanics(model, r, tuple(bodies), accept) for r in recordings)
    seen, free = seen_muscles(model, worked_out, tuple(deep))
    asked = tuple(seen.identifiable) if muscles is None else tuple(muscles)
    for name in asked:
        if name not in seen.identifiable:
            why = (
                "deep muscles can make up for whatever it does"
                if name in seen.hidden
                else "it is deep, or not in the model"
            )
            raise MyogradError(f"{name!r} cannot be identified: {why}. Identifiable are {', '.join(seen.identifiable)}")
    driven = seen.identifiable
    for name in driven:
        kind = model.muscle_classes.kind[model.muscle_names.index(name)]
        if kind not in FIRST_ORDER:
            raise ModelError(
                f"muscle {name!r} is a {kind}; identification is for {' and '.join(FIRST_ORDER)}, whose activation "
                "follows Eqs. 17-18"
            )
        if model.muscle_classes.rigid_tendon[model.muscle_names.index(name)]:
            raise ModelError(
                f"muscle {name!r} has a rigid tendon (ignore_tendon_compliance); identification is for elastic ones, whose "
                "fibres have a length of their own"
            )
    p = parameters(model, tuple(bodies), driven, tuple(of_muscle or ()), tuple(common), limits, start, asked)
    shortest = (
        (LIMITS | dict(limits or {}))["activation_time"][0] if "activation_time" in common else p.stated_common[0]
    )
    data, schemes = [], []
    for recording, it, N in zip(recordings, worked_out, free, strict=True):
        rows = rows_of(recording, every, skip)
        data.append(data_of(model, recording, it, N, driven, rows))
        substeps = forces.substeps_of(recording.step, max(shortest, 0.004))
        schemes.append(Scheme(fibers, recording.step, substeps))
    base = (
        base_parameters(worked_out, free, tuple(bodies))
        if bodies
        else BaseParameters((), np.zeros((0, 0)), np.zeros(0))
    )
    problem = Problem(
        model,
        tuple(recordings),
        worked_out,
        seen,
        base,
        p,
        forces.only(model, driven),
        tuple(data),
        tuple(schemes),
        tuple(low_pass_on(recording, np.asarray(one.rows)) for recording, one in zip(recordings, data, strict=True)),
    )
    _need_enough_rows(problem)
    return problem


def rows_of(recording: Recording, every: int, skip: float = SKIP) -> np.ndarray:
    """Samples that have a row in the residual: one in `every`; or as many as a low-pass needs, if the recording is noisy."""
    first = min(int(np.ceil(skip / recording.step - 1e-9)), len(recording) - 1)
    if recording.low_pass is not None:
        every = rows_apart(recording.low_pass, recording.step)
        first += first % 2  # so that every other sample has all rows, if these are even steps apart
    return np.arange(first, len(recording), every)


def low_pass_on(recording: Recording, rows: np.ndarray) -> LowPass | None:
    """The filter for a recording's rows, if it is noisy."""
    if recording.low_pass is None:
        return None
    found = low_pass_of(recording.low_pass, recording.step * rows_apart(recording.low_pass, recording.step))
    if len(found.kept(rows)) < FEWEST:
        lost = recording.step * int(rows[0]) + 2 * EDGE / recording.low_pass
        raise MyogradError(
            f"recording {recording.name!r}: {recording.time[-1] - recording.time[0]:.3g} s are too short: the low-pass at "
            f"{recording.low_pass:g} Hz and the muscles' start take {lost:.2g} s of it. Record more, or take a higher low-pass"
        )
    return found


def _need_enough_rows(problem: Problem) -> None:
    """Raise where noisy recordings are too short for what is asked of them: they would be fitted to nothing, noise and all."""
    numbers = len(problem.parameters.names)
    if any(problem.low_passes) and problem.rows < MORE * numbers:
        seconds = sum(recording.time[-1] - recording.time[0] for recording in problem.recordings)
        raise MyogradError(
            f"{seconds:.3g} s of movement, low-passed, are {problem.rows} independent equations for {numbers} numbers; "
            f"{MORE:g} times as many are needed. Record more or longer movements, or ask for fewer numbers (no bodies, or "
            "fewer muscles)"
        )


def with_bodies(it: Mechanics, moments: np.ndarray) -> Mechanics:
    """The mechanics of bodies whose inertia has been found: nothing of them is left to ask for."""
    return replace(
        it,
        need=it.need + it.need_per @ moments,
        need_per=it.need_per[:, :, :0],
        mass=it.mass + it.mass_per @ moments,
        mass_per=it.mass_per[:, :, :, :0],
    )


def fitted_model(model: Model, p: Parameters, physical: np.ndarray) -> Model:
    """A model with identified numbers (order of `p.names`); the time constants of activation go to all of its muscles."""
    muscles, count = model.muscles, p.of_bodies
    for name, value in zip(p.names[count:], physical[count:], strict=True):
        muscle, _, number = name.rpartition(" ")
        if muscle and number != "emg_gain":
            i = model.muscle_names.index(muscle)
            muscles = replace(muscles, **{number: getattr(muscles, number).at[i].set(value)})
        elif name in ("activation_time", "deactivation_time"):
            muscles = replace(muscles, **{f"{name}_constant": jnp.full(len(model.muscle_names), value)})
    return replace(inertia.with_stated(model, p.bodies, physical[:count].reshape(-1, 10)), muscles=muscles)


def tendon_stage(problem: Problem, physical: np.ndarray) -> Problem:
    """The paper's second stage: tendon slack lengths by Eq. 16, all else as the first stage has found it (`physical`).

    It starts from the slack lengths whose mean force is that of the fibres. A start from elsewhere may not move at all: a tendon
    that is a tenth too long is slack, and its force does not change with its length.
    """
    p = problem.parameters
    unknowns = p.unknowns(jnp.asarray(p.vector(physical)))
    common = {name: float(value) for name, value in zip(COMMON, unknowns.common, strict=True)}
    slack = _balanced_tendons(problem, unknowns)
    model = fitted_model(problem.model, p, physical)
    which = np.array([model.muscle_names.index(name) for name in p.muscles])
    lengths = model.muscles.tendon_slack_length.at[which].set(slack)
    return identification(
        replace(model, muscles=replace(model.muscles, tendon_slack_length=lengths)),
        problem.recordings,
        problem.seen.deep,
        muscles=[name for name, asked in zip(p.muscles, np.any(p.free_muscle, axis=0).tolist(), strict=True) if asked],
        common=(),
        fibers="tendon",
        start=common,
        known=[with_bodies(it, np.asarray(unknowns.moments)) for it in problem.mechanics],
    )


def _balanced_tendons(problem: Problem, unknowns: Unknowns) -> jax.Array:
    """[m] tendon slack lengths with which tendons pull, in the mean, as recorded fibres do: by bisection, since a longer
    tendon pulls less."""
    muscle = unknowns.muscle
    given = []
    for data, scheme in zip(problem.data, problem.schemes, strict=True):
        a = forces.activations(data.emg, muscle[5], unknowns.common, scheme.step, scheme.substeps)
        driven = forces.with_values(problem.driven, muscle)
        given.append((data, a, forces.forces_of_fibers(driven, a, data.fiber_length, data.fiber_velocity)))

    @jax.jit
    def excess(slack: jax.Array) -> jax.Array:
        driven = forces.with_values(problem.driven, muscle.at[4].set(slack))
        return sum(  # pyright: ignore[reportReturnType]
            jnp.mean(forces.forces_of_tendons(driven, data.length, a, data.fiber_length) - force, axis=0)
            for data, a, force in given
        )

    low, high = 0.2 * muscle[4], 4.0 * muscle[4]
    for _ in range(60):
        middle = (low + high) / 2
        strong = excess(middle) > 0
        low, high = jnp.where(strong, middle, low), jnp.where(strong, high, middle)
    return (low + high) / 2
