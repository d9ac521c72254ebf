"""Muscles made into arrays: every number a leaf; class, variant and options as structure."""

from __future__ import annotations

import jax.numpy as jnp

from ...geometry.piecewise import PiecewisePolynomials
from .. import description as d
from ..description import muscle_properties as properties
from ..description.muscle_splines import SPLINES
from ..model import MuscleValues
from ..structure import Muscles
from .functions import pieces, polynomial, table

EVERY = (
    "max_isometric_force",
    "optimal_fiber_length",
    "tendon_slack_length",
    "pennation_angle",
    "max_contraction_velocity",
)
"""Arrays of `MuscleValues` that are fields of every muscle's description."""
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
    arrays = {name: jnp.array(column, float) for name, column in values.items()}
    structure = Muscles(
        kind=tuple(muscle.kind for muscle in muscles),
        problem=tuple(properties.problem(muscle) for muscle in muscles),
        variant=tuple(properties.variant(muscle) for muscle in muscles),
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
    return MuscleValues(**arrays, numbers=_numbers(muscles), curves=_curves(muscles)), structure


def _common(muscle: d.Muscle, name: str) -> float:
    """Zero where the class has no such number."""
    called = properties.COMMON.get(muscle.kind, {}).get(name)
    return (properties.number(muscle, called) or 0.0) if called else 0.0


def own_numbers(kind: str) -> list[str]:
    """Numbers of a class that have no common name."""
    common = properties.COMMON.get(kind, {}).values()
    return [name for name in properties.number_names(kind) if name not in common]


def _numbers(muscles: list[d.Muscle]) -> dict[str, jnp.ndarray]:
    """Of all classes that are there. Zero where a muscle has no such number, or leaves it to its class; numbers that all
    muscles leave to their class are not among them."""
    names = {name: None for muscle in muscles for name in own_numbers(muscle.kind)}
    found = {}
    for name in names:
        column = [properties.number(muscle, name) if name in own_numbers(muscle.kind) else None for muscle in muscles]
        if any(value is not None for value in column):
            found[name] = jnp.array([value or 0.0 for value in column], float)
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
