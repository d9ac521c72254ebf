"""Paths that muscles and other forces pull along: their points, and the surfaces they may wrap over."""

from __future__ import annotations

from dataclasses import dataclass, field

from .basic import Node, Vec3
from .functions import Function


@dataclass
class PathPoint:
    name: str
    frame: str
    location: Vec3
    line: int = 0


@dataclass
class ConditionalPathPoint:
    """Part of the path only while `range[0] <= coordinate <= range[1]`, give or take 1e-5 (as in OpenSim)."""

    name: str
    frame: str
    location: Vec3
    coordinate: str
    range: tuple[float, float]
    line: int = 0


@dataclass
class MovingPathPoint:
    """A point whose x, y and z in its frame are functions of one coordinate each (constant where none is named)."""

    name: str
    frame: str
    functions: tuple[Function, Function, Function]
    coordinates: tuple[str, str, str]  # "" where the function is a Constant without coordinate
    line: int = 0


AnyPathPoint = PathPoint | ConditionalPathPoint | MovingPathPoint


@dataclass
class PathWrap:
    wrap_object: str  # path of the frame that owns the surface + "/" + its name, e.g. /bodyset/femur_r/gastroc
    name: str = ""
    method: str = "hybrid"  # hybrid | midpoint | axial (ellipsoids)
    range: tuple[int, int] = (-1, -1)  # 1-based first and last path point; below 1: the ends of the path
    line: int = 0


@dataclass
class Path:
    name: str = "path"
    points: list[AnyPathPoint] = field(default_factory=list)
    wraps: list[PathWrap] = field(default_factory=list)
    appearance: list[Node] = field(default_factory=list)
    line: int = 0
