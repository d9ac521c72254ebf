"""The unchanging half of a model's muscles: class, options, curve shapes. Static under JAX, and hashable."""

from __future__ import annotations

from dataclasses import dataclass

from .description import Function
from .muscle_properties import CurveNumbers
from .structure import Hashed


@dataclass(eq=False, frozen=True, repr=False)
class MuscleKinds(Hashed):
    """What does not change under identification, one entry per muscle."""

    name: tuple[str, ...]
    kind: tuple[str, ...]  # OpenSim's class
    problem: tuple[str, ...]  # why its contraction cannot be computed, or ""
    rigid_tendon: tuple[bool, ...]
    immediate_activation: tuple[bool, ...]  # activation is excitation: there is no such state
    passive_force: tuple[bool, ...]  # DeGrooteFregly2016Muscle may do without
    numbers: tuple[tuple[tuple[str, float], ...], ...]  # `muscle_properties.NUMBERS` of the class, by name
    shapes: tuple[tuple[tuple[str, CurveNumbers], ...], ...]  # of Millard's curves, by name
    splines: tuple[tuple[tuple[str, Function], ...], ...]  # of curves given as functions, by name
