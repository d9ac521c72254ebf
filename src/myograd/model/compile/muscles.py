"""Muscles made into arrays: every number a leaf; class, variant and options as structure."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..._arrays import as_array
from ...geometry.piecewise import PiecewisePolynomials
from .. import description as d
from ..description import muscle_properties as properties
from ..description.muscle_properties import EVERY, own_numbers
from ..description.muscle_splines import SPLINES
from ..model import MuscleValues
from ..ranges import muscle_problems
from ..structure import Muscles
from .functions import pieces, polynomial, table

COMMON = (
    "activation_time_constant",
    "deactivation_time_constant",
    "fiber_damping",
    "tendon_strain_at_one_norm_force",
)
"""Arrays that several classes have, each under a name of its own (`muscle_properties.COMMON`)."""


def compile_muscles(muscles: list[d.Muscle], controls: tuple[str, ...]) -> tuple[MuscleValues, Muscles]:
    values = {name: [getattr(muscle, name) for muscle in muscles] for name in EVERY}
    values |= {name: [_common(muscle, name) for muscle in muscles] for name in COMMON}
    arrays = {name: as_array(column) for name, column in values.items()}
    made = MuscleValues(**arrays, numbers=_numbers(muscles), curves=_curves(muscles))
    kinds, variants = [muscle.kind for muscle in muscles], [properties.variant(muscle) for muscle in muscles]
    problems = [properties.problem(muscle) for muscle in muscles]
    sound = ["" if problem else kind for kind, problem in zip(kinds, problems, strict=True)]
    for m, problem in muscle_problems(sound, variants, numbers_of(made)):
        problems[m] = problem
    structure = Muscles(
        kind=tuple(kinds),
        problem=tuple(problems),
        variant=tuple(variants),
        rigid_tendon=tuple(properties.has_rigid_tendon(muscle) for muscle in muscles),
        immediate_activation=tuple(
            muscle.kind == properties.RIGID or properties.flag(muscle, "ignore_activation_dynamics")
            for muscle in muscles
        ),
        passive_force=tuple(not properties.flag(muscle, "ignore_passive_fiber_force") for muscle in muscles),
        stated=tuple(_stated(muscle) for muscle in muscles),
        control=tuple(controls.index(muscle.name) for muscle in muscles),
        applied=tuple(muscle.applies_force for muscle in muscles),
    )
    return made, structure


def numbers_of(values: MuscleValues) -> dict[str, np.ndarray]:
    """[m] each, by name: all but the curves."""
    found = {name: getattr(values, name) for name in (*EVERY, *COMMON)} | values.numbers
    return {name: np.asarray(numbers) for name, numbers in found.items()}


def _common(muscle: d.Muscle, name: str) -> float:
    """Zero where the class has no such number."""
    called = properties.COMMON.get(muscle.kind, {}).get(name)
    return (properties.number(muscle, called) or 0.0) if called else 0.0


def _numbers(muscles: list[d.Muscle]) -> dict[str, jnp.ndarray]:
    """Of all classes that are there. Zero where a muscle has no such number, or leaves it to its class; numbers that all
    muscles leave to their class are not among them."""
    names = {name: None for muscle in muscles for name in own_numbers(muscle.kind)}
    found = {}
    for name in names:
        column = [properties.number(muscle, name) if name in own_numbers(muscle.kind) else None for muscle in muscles]
        if any(value is not None for value in column):
            found[name] = as_array([value or 0.0 for value in column])
    return found


def _stated(muscle: d.Muscle) -> tuple[str, ...]:
    """Optional numbers and curves that are stated."""
    optional = [name for name in own_numbers(muscle.kind) if properties.default(muscle.kind, name) is None]
    return (*(name for name in optional if name in muscle.numbers), *muscle.curves)


def _curves(muscles: list[d.Muscle]) -> dict[str, PiecewisePolynomials]:
    """Zero where a muscle's class has no such curve."""
    names = {name: None for muscle in muscles for name in properties.SPLINE_CURVES.get(muscle.kind, ())}
    return {
        name: table(
            [
                pieces(muscle.curves.get(name, SPLINES[name]), f"{muscle.kind} {muscle.name!r}, {name}")
                if name in properties.SPLINE_CURVES.get(muscle.kind, ())
                else polynomial(0.0)
                for muscle in muscles
            ]
        )
        for name in names
    }
