"""Forces and actuators other than muscles, as plain data: the part of a description that the ForceSet is.

Fields are called as the properties of an OpenSim document are, with the same defaults; all of them hold for the class of
that name. Units are OpenSim's: a CoordinateLimitForce of a rotation is in degrees, all else in SI units and radians. Frames,
coordinates and contact geometry are named as in `description`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, runtime_checkable

from .basic import ZERO, Node, Vec3
from .functions import Function, SimmSpline
from .paths import Path
from .skeleton import OffsetFrame

# On coordinates ----------------------------------------------------------------------------------------------


@dataclass
class CoordinateActuator:
    """Generalised force `control optimal_force` on a coordinate."""

    name: str
    coordinate: str
    optimal_force: float = 1.0
    min_control: float = -math.inf
    max_control: float = math.inf
    applies_force: bool = True
    line: int = 0


@dataclass
class CoordinateLimitForce:
    """A stiff spring and damper beyond each limit, faded in over `transition`. Degrees if the coordinate is a rotation."""

    name: str
    coordinate: str
    upper_stiffness: float = 1.0
    upper_limit: float = 0.0
    lower_stiffness: float = 1.0
    lower_limit: float = 0.0
    damping: float = 0.001
    transition: float = 0.1
    compute_dissipation_energy: bool = False
    applies_force: bool = True
    line: int = 0


@dataclass
class SpringGeneralizedForce:
    """`-stiffness (q - rest_length) - viscosity u` on a coordinate."""

    name: str
    coordinate: str
    stiffness: float = 0.0
    rest_length: float = 0.0
    viscosity: float = 0.0
    applies_force: bool = True
    line: int = 0


# Along paths -------------------------------------------------------------------------------------------------


@dataclass
class PathActuator:
    """Tension `control optimal_force` along a path."""

    name: str
    path: Path
    optimal_force: float = 1.0
    min_control: float = -math.inf
    max_control: float = math.inf
    applies_force: bool = True
    line: int = 0


@dataclass
class PathSpring:
    """Tension `stiffness stretch (1 + dissipation speed)` while the path is longer than at rest."""

    name: str
    path: Path
    resting_length: float
    stiffness: float
    dissipation: float
    applies_force: bool = True
    line: int = 0


LIGAMENT_CURVE = SimmSpline(
    (-5.0, 0.998, 0.999, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.601, 1.602, 5.0),
    (0.0, 0.0, 0.0, 0.0, 0.035, 0.12, 0.26, 0.55, 1.17, 2.0, 2.0, 2.0, 2.0),
)
"""OpenSim's, for ligaments that state none."""


@dataclass
class Ligament:
    """Tension `pcsa_force curve(length / resting_length)` while the path is longer than at rest."""

    name: str
    path: Path
    resting_length: float
    pcsa_force: float = 0.0
    force_length_curve: Function = field(default_factory=lambda: LIGAMENT_CURVE)
    applies_force: bool = True
    line: int = 0


# Between frames ----------------------------------------------------------------------------------------------


@dataclass
class PointToPointSpring:
    """A spring between a point of each of two frames' bodies. OpenSim takes the points to be in the frames of the bodies that
    the frames are fixed to."""

    name: str
    frame1: str
    frame2: str
    point1: Vec3 = ZERO
    point2: Vec3 = ZERO
    stiffness: float = 1.0
    rest_length: float = 0.0
    applies_force: bool = True
    line: int = 0


@dataclass
class BushingForce:
    """Linear springs and dampers on the x-y-z angles and the displacement of frame 2 in frame 1."""

    name: str
    frame1: str
    frame2: str
    rotational_stiffness: Vec3 = ZERO
    translational_stiffness: Vec3 = ZERO
    rotational_damping: Vec3 = ZERO
    translational_damping: Vec3 = ZERO
    frames: list[OffsetFrame] = field(default_factory=list)
    applies_force: bool = True
    line: int = 0


# Contact -----------------------------------------------------------------------------------------------------


@dataclass
class ContactGeometry:
    """A surface that contact forces name. `kind` is the OpenSim class; only that class's sizes are meaningful."""

    kind: str  # ContactHalfSpace (it fills x > 0 of its frame) | ContactSphere | ContactEllipsoid
    name: str
    frame: str
    location: Vec3 = ZERO
    orientation: Vec3 = ZERO
    radius: float = 0.0  # sphere
    radii: Vec3 = ZERO  # ellipsoid
    appearance: list[Node] = field(default_factory=list)
    line: int = 0


@dataclass
class ContactParameters:
    """The material of some surfaces."""

    geometry: tuple[str, ...]  # names of contact geometry
    stiffness: float = 0.0
    dissipation: float = 0.0
    static_friction: float = 0.0
    dynamic_friction: float = 0.0
    viscous_friction: float = 0.0


@dataclass
class HuntCrossleyForce:
    """Contact between every two of its surfaces."""

    name: str
    contact_parameters: list[ContactParameters]
    transition_velocity: float = 0.01
    applies_force: bool = True
    line: int = 0


@dataclass
class SmoothSphereHalfSpaceForce:
    """The Hunt-Crossley force of a sphere on a half space, smoothed so that it is never quite zero."""

    name: str
    sphere: str
    half_space: str
    stiffness: float = 1.0
    dissipation: float = 0.0
    static_friction: float = 0.0
    dynamic_friction: float = 0.0
    viscous_friction: float = 0.0
    transition_velocity: float = 0.01
    constant_contact_force: float = 1e-5
    hertz_smoothing: float = 300.0
    hunt_crossley_smoothing: float = 50.0
    appearance: list[Node] = field(default_factory=list)  # how the force is drawn
    applies_force: bool = True
    line: int = 0


CoordinateForce = CoordinateActuator | CoordinateLimitForce | SpringGeneralizedForce
PathForce = PathActuator | PathSpring | Ligament
Force = CoordinateForce | PathForce | PointToPointSpring | BushingForce | HuntCrossleyForce | SmoothSphereHalfSpaceForce

NOT_NEGATIVE: tuple[type, ...] = (
    ContactParameters,
    HuntCrossleyForce,
    SmoothSphereHalfSpaceForce,
    PathSpring,
    PointToPointSpring,
    Ligament,
)
"""No number of these is negative."""
POSITIVE: dict[type, tuple[str, ...]] = {
    CoordinateLimitForce: ("transition",),
    HuntCrossleyForce: ("transition_velocity",),
    SmoothSphereHalfSpaceForce: ("transition_velocity", "constant_contact_force"),
    Ligament: ("resting_length",),
}
"""Numbers that are above 0."""


# Order -------------------------------------------------------------------------------------------------------


@runtime_checkable
class _Read(Protocol):
    line: int


Element = TypeVar("Element", bound=_Read)


def in_file_order(*lists: Sequence[Element]) -> list[Element]:
    """The elements of one set, kept in several lists, in the order of their lines in the file they were read from.

    Each list keeps its own order. Elements made in Python (line 0) follow at the end, list by list.
    """
    keyed: list[tuple[float, Element]] = []
    for elements in lists:
        last = 0.0
        for element in elements:
            last = max(last, element.line or math.inf)
            keyed.append((last, element))
    return [element for _, element in sorted(keyed, key=lambda pair: pair[0])]
