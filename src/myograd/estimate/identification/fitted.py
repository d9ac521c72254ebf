"""What comes after a fit: the model with its numbers, and the paper's second stage."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from ...model.model import Model
from ...model.parameters import with_values
from ..inverse.mechanics import with_bodies
from . import forces
from .choices import COMMON, Choices, FiberSource
from .parameters import Parameters, Unknowns
from .problem import Problem
from .setup import identification

OF_EMG = ("emg", "emg_gain")
"""Owners and fields of numbers that no model has."""


def fitted_model(model: Model, p: Parameters, physical: np.ndarray) -> Model:
    """A model with identified numbers (order of `p.names`); the time constants of activation go to all of its muscles."""
    own, everywhere = {}, {}
    for number, value in zip(p.numbers, np.asarray(physical).tolist(), strict=True):
        if number.owner == "muscles":
            everywhere[number.field] = jnp.full(len(model.muscle_names), value)
        elif number.owner not in OF_EMG and number.field not in OF_EMG:
            own[number.name] = value
    model = with_values(model, own)
    return replace(model, muscles=replace(model.muscles, **everywhere))


def varied_model(problem: Problem, z: np.ndarray) -> Model:
    """The problem's model with those numbers of a vector that are in no list (`Choices.also`)."""
    p = problem.parameters
    return p.also.set(problem.model, p.unknowns(jnp.asarray(z)).also) if p.also else problem.model


def tendon_stage(problem: Problem, physical: np.ndarray) -> Problem:
    """The paper's second stage: tendon slack lengths by Eq. 16, all else as the first stage has found it (`physical`).

    It starts from the slack lengths whose mean force is that of the fibres. A start from elsewhere may not move at all: a tendon
    that is a tenth too long is slack, and its force does not change with its length.
    """
    p = problem.parameters
    unknowns = p.unknowns(jnp.asarray(p.vector(physical)))
    slack = zip(p.muscles, _balanced_tendons(problem, unknowns).tolist(), strict=True)
    model = fitted_model(problem.model, p, physical)
    asked = np.any(list(p.free_muscle.values()), axis=0).tolist()
    return identification(
        with_values(model, {f"{name}.tendon_slack_length": value for name, value in slack}),
        problem.recordings,
        problem.identifiability.deep,
        choices=Choices(
            muscles=[name for name, is_asked in zip(p.muscles, asked, strict=True) if is_asked],
            common=(),
            fibers=FiberSource.TENDON,
            start={name: float(unknowns.common[name]) for name in COMMON},
            accept=problem.accept,
        ),
        # Where the mechanics have changed they are worked out anew, from the fitted model.
        known=None if p.also else [with_bodies(it, np.asarray(unknowns.inertial)) for it in problem.mechanics],
    )


def _balanced_tendons(problem: Problem, unknowns: Unknowns) -> jax.Array:
    """[m] tendon slack lengths with which tendons pull, in the mean, as recorded fibres do: by bisection, since a longer
    tendon pulls less."""
    muscle = unknowns.muscle
    given = []
    for i in range(len(problem.recordings)):
        driven, scheme, data = problem.at(i, unknowns)
        driven = forces.with_muscle_values(driven, muscle)
        a = forces.activations(data.emg, muscle["emg_gain"], unknowns.common, scheme.step, scheme.substeps)
        given.append((driven, data, a, forces.forces_of_fibers(driven, a, data.fiber_length, data.fiber_velocity)))

    @jax.jit
    def excess(slack: jax.Array) -> jax.Array:
        return sum(  # pyright: ignore[reportReturnType]
            jnp.mean(
                forces.forces_of_tendons(
                    forces.with_muscle_values(driven, muscle | {"tendon_slack_length": slack}),
                    data.length,
                    a,
                    data.fiber_length,
                )
                - force,
                axis=0,
            )
            for driven, data, a, force in given
        )

    stated = muscle["tendon_slack_length"]
    low, high = 0.2 * stated, 4.0 * stated
    for _ in range(60):
        middle = (low + high) / 2
        strong = excess(middle) > 0
        low, high = jnp.where(strong, middle, low), jnp.where(strong, high, middle)
    return (low + high) / 2
