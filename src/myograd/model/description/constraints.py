"""What ties coordinates and bodies together besides joints."""

from __future__ import annotations

from dataclasses import dataclass, field

from .basic import ZERO, Vec3
from .functions import Function
from .skeleton import OffsetFrame


@dataclass
class CoordinateCoupler:
    """`dependent = scale function(independent)`."""

    name: str
    dependent: str
    independent: tuple[str, ...]
    function: Function
    scale: float = 1.0
    enforced: bool = True
    line: int = 0


@dataclass
class WeldConstraint:
    name: str
    frame1: str
    frame2: str
    frames: list[OffsetFrame] = field(default_factory=list)
    enforced: bool = True
    line: int = 0


@dataclass
class PointConstraint:
    name: str
    frame1: str
    frame2: str
    location1: Vec3 = ZERO
    location2: Vec3 = ZERO
    frames: list[OffsetFrame] = field(default_factory=list)
    enforced: bool = True
    line: int = 0


@dataclass
class ConstantDistanceConstraint:
    name: str
    frame1: str
    frame2: str
    location1: Vec3 = ZERO
    location2: Vec3 = ZERO
    distance: float = 0.0
    frames: list[OffsetFrame] = field(default_factory=list)
    enforced: bool = True
    line: int = 0


Constraint = CoordinateCoupler | WeldConstraint | PointConstraint | ConstantDistanceConstraint
