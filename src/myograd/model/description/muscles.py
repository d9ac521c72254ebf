"""Muscles."""

from __future__ import annotations

from dataclasses import dataclass, field

from .basic import Node
from .functions import Function
from .paths import Path


@dataclass
class Muscle:
    """A muscle of any class: its path, the parameters that every class has, and those that only its own has."""

    kind: str  # the OpenSim class, e.g. Millard2012EquilibriumMuscle
    name: str
    path: Path
    max_isometric_force: float = 1000.0
    optimal_fiber_length: float = 0.1
    tendon_slack_length: float = 0.2
    pennation_angle: float = 0.0
    max_contraction_velocity: float = 10.0
    applies_force: bool = True
    # As the file states them; `muscle_properties` has the names and what holds where nothing is stated. Numbers of a curve
    # are called `ForceVelocityCurve/isometric_slope`.
    numbers: dict[str, float] = field(default_factory=dict)
    flags: dict[str, bool] = field(default_factory=dict)
    curves: dict[str, Function] = field(default_factory=dict)  # force curves that the file gives as functions, by name
    properties: list[Node] = field(default_factory=list)  # every other property element, in 4.6 spelling
    line: int = 0
