"""Muscles made into arrays: what can be identified as leaves, class, options and curve shapes as structure."""

from __future__ import annotations

import jax.numpy as jnp

from . import description as d
from . import muscle_properties as properties
from .model import MuscleValues
from .muscle_kinds import MuscleKinds

EVERY = (
    "max_isometric_force",
    "optimal_fiber_length",
    "tendon_slack_length",
    "pennation_angle",
    "max_contraction_velocity",
)
"""Arrays of `MuscleValues` that are fields of every muscle's description."""


def compile_muscles(muscles: list[d.Muscle]) -> tuple[MuscleValues, MuscleKinds]:
    problems = [properties.problem(muscle) for muscle in muscles]
    sound = [muscle.kind in properties.NUMBERS for muscle in muscles]
    kinds = MuscleKinds(
        name=tuple(muscle.name for muscle in muscles),
        kind=tuple(muscle.kind for muscle in muscles),
        problem=tuple(problems),
        rigid_tendon=tuple(
            muscle.kind == properties.RIGID or properties.flag(muscle, "ignore_tendon_compliance") for muscle in muscles
        ),
        immediate_activation=tuple(
            muscle.kind == properties.RIGID or properties.flag(muscle, "ignore_activation_dynamics")
            for muscle in muscles
        ),
        passive_force=tuple(not properties.flag(muscle, "ignore_passive_fiber_force") for muscle in muscles),
        numbers=tuple(
            tuple((name, properties.number(muscle, name)) for name in properties.NUMBERS[muscle.kind]) if known else ()
            for muscle, known in zip(muscles, sound, strict=True)
        ),
        shapes=tuple(
            tuple((curve, properties.curve_numbers(muscle, curve)) for curve in properties.MILLARD_CURVES)
            if muscle.kind == properties.MILLARD
            else ()
            for muscle in muscles
        ),
        splines=tuple(tuple(muscle.curves.items()) for muscle in muscles),
    )
    values = {name: [getattr(muscle, name) for muscle in muscles] for name in EVERY}
    for name in MuscleValues.__dataclass_fields__.keys() - values:
        values[name] = [_leaf(muscle, name) for muscle in muscles]
    return MuscleValues(**{name: jnp.array(column, float) for name, column in values.items()}), kinds


def _leaf(muscle: d.Muscle, name: str) -> float:
    """Zero where the class has no such number."""
    called = properties.LEAVES.get(muscle.kind, {}).get(name)
    return properties.number(muscle, called) if called else 0.0
