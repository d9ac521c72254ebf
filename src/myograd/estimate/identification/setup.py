"""Putting an identification together, and saying by errors what makes it impossible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...errors import ModelError, MyogradError
from ...model.model import Model
from ...muscle.groups import FIRST_ORDER
from ..inverse.mechanics import Mechanics, mechanics, motion_of
from ..recording import Recording
from ..signals import EDGE, LowPass, low_pass_of, rows_apart
from . import forces
from .choices import LIMITS, SKIP, STANDARD, Choices, FiberSource
from .free_model import FreeModel, need_own_geometry
from .identifiability import Identifiability, base_parameters, check_names, identifiability
from .parameters import Parameters, parameters
from .problem import Problem
from .residual import Scheme, data_of

FEWEST = 10  # rows of a recording, after a low-pass
MORE = 1.5  # rows than numbers, if noise is to be told from them
ROUNDING = 1e-9  # of the largest derivative: smaller ones are errors of rounding
QUICKEST = 0.004  # s: time constants of activation below this are not integrated more finely


def identification(
    model: Model,
    recordings: Sequence[Recording],
    deep: Sequence[str] = (),
    bodies: Sequence[str] = (),
    choices: Choices | None = None,
    known: Sequence[Mechanics] | None = None,
) -> Problem:
    """Put an identification together.

    `deep`: muscles without EMG, whose forces are unknowns (M1); none: all muscles have EMG (M2). `bodies`: whose ten inertial
    parameters are asked for. `choices`: what else, and from which samples:

        identification(model, recordings, deep, bodies, Choices(also={"BIClong.BIClong-P1.location.x": (0.0, 0.1)}))

    `known`: the recordings' mechanics, if they have been worked out for the same bodies.
    """
    if not recordings:
        raise MyogradError("an identification needs a recording")
    recordings, deep, bodies = tuple(recordings), tuple(deep), tuple(bodies)
    choices = choices or Choices()
    fibers = _fiber_source(recordings, choices)
    choices = replace(choices, of_muscle=STANDARD[fibers] if choices.of_muscle is None else choices.of_muscle)
    channels = [name for name in model.muscle_names if all(name in r.channels for r in recordings)]
    check_names(model, deep, channels)
    worked_out = tuple(known) if known else tuple(mechanics(model, r, bodies, choices.accept) for r in recordings)
    can, null_spaces = identifiability(model, worked_out, deep)
    asked = _asked(can, choices)
    driven = can.identifiable
    _need_elastic(model, driven)
    p = parameters(model, bodies, driven, asked, choices)
    rows = [rows_of(recording, choices.every, choices.skip) for recording in recordings]
    substeps = [forces.substeps_of(recording.step, _quickest(p, choices)) for recording in recordings]
    free = FreeModel(p.also, driven, deep, bodies, choices.accept) if p.also else None
    if free:
        need_own_geometry(model, free, recordings)
    problem = Problem(
        model,
        recordings,
        worked_out,
        can,
        base_parameters(worked_out, null_spaces, bodies),
        p,
        forces.only(model, driven),
        tuple(
            data_of(model, recording, it, N, driven, at)
            for recording, it, N, at in zip(recordings, worked_out, null_spaces, rows, strict=True)
        ),
        tuple(Scheme(fibers, r.step, count) for r, count in zip(recordings, substeps, strict=True)),
        tuple(low_pass_on(recording, at) for recording, at in zip(recordings, rows, strict=True)),
        free,
        tuple(motion_of(recording, at) for recording, at in zip(recordings, rows, strict=True)) if free else (),
        accept=choices.accept,
    )
    _need_enough_rows(problem)
    _need_effect(problem)
    return problem


def _fiber_source(recordings: tuple[Recording, ...], choices: Choices) -> FiberSource:
    recorded = all(r.fiber_length is not None for r in recordings)
    if choices.fibers is None:
        return FiberSource.RECORDED if recorded else FiberSource.SOLVED
    fibers = FiberSource(choices.fibers)
    if fibers is not FiberSource.SOLVED and not recorded:
        raise MyogradError(f"fibers={fibers.value!r} needs recordings with fibre lengths and velocities")
    return fibers


def _asked(can: Identifiability, choices: Choices) -> tuple[str, ...]:
    """Muscles whose numbers are asked for."""
    if choices.muscles is None:
        return can.identifiable
    for name in choices.muscles:
        if name not in can.identifiable:
            why = (
                "deep muscles can make up for whatever it does"
                if name in can.hidden
                else "it is deep, or not in the model"
            )
            raise MyogradError(f"{name!r} cannot be identified: {why}. Identifiable are {', '.join(can.identifiable)}")
    return tuple(choices.muscles)


def _need_elastic(model: Model, driven: tuple[str, ...]) -> None:
    """Raise for muscles whose contraction is of another kind than the equations here."""
    for name in driven:
        m = model.muscle_names.index(name)
        kind = model.muscle_classes.kind[m]
        if kind not in FIRST_ORDER:
            raise ModelError(
                f"muscle {name!r} is a {kind}; identification is for {' and '.join(FIRST_ORDER)}, whose activation "
                "follows Eqs. 17-18"
            )
        if model.muscle_classes.rigid_tendon[m]:
            raise ModelError(
                f"muscle {name!r} has a rigid tendon (ignore_tendon_compliance); identification is for elastic ones, whose "
                "fibres have a length of their own"
            )


def _quickest(p: Parameters, choices: Choices) -> float:
    """[s] the shortest time constant of activation that may have to be integrated."""
    name = "muscles.activation_time_constant"
    shortest = (LIMITS | dict(choices.limits))[name][0] if name in p.places else p.stated_common[name]
    return max(shortest, QUICKEST)


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
            f"{recording.low_pass:g} Hz and the start-up of the muscles use up {lost:.2g} s. Record more, or take a higher "
            "low-pass"
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


def without_effect(J: np.ndarray) -> np.ndarray:
    """[parameters] bool: whose column of a Jacobian [rows, parameters] is zero, but for rounding."""
    largest = np.abs(J).max(axis=0)
    return largest <= ROUNDING * largest.max()


def _need_effect(problem: Problem) -> None:
    """Raise for other numbers of the model on which nothing that was recorded depends."""
    if problem.free is None:
        return
    z = problem.parameters.start()
    _, J, _ = problem.linearized(z, problem.guess(z))
    zero = without_effect(J)
    for name in problem.free.numbers.names:
        if zero[problem.parameters.places[name]]:
            raise MyogradError(
                f"{name!r} cannot be identified: nothing in these recordings depends on it. (Muscles that deep ones can make up "
                "for do not show, and activation has the same time constants in all muscles: muscles.activation_time_constant.)"
            )
