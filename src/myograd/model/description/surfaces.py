"""Surfaces that paths wrap over."""

from __future__ import annotations

from dataclasses import dataclass, field

from .basic import ZERO, Node, Vec3


@dataclass
class WrapObject:
    """A surface that paths wrap over. `kind` is the OpenSim class; only that class's sizes are meaningful."""

    kind: str  # WrapCylinder | WrapSphere | WrapEllipsoid | WrapTorus
    name: str
    translation: Vec3 = ZERO
    rotation: Vec3 = ZERO
    active: bool = True
    quadrant: str = "all"  # all, or x, y, z with a sign: the side on which paths may wrap
    radius: float = 0.0  # cylinder, sphere
    length: float = 0.0  # cylinder
    dimensions: Vec3 = ZERO  # ellipsoid
    inner_radius: float = 0.0  # torus
    outer_radius: float = 0.0  # torus
    appearance: list[Node] = field(default_factory=list)
    line: int = 0
