"""Bodies, the frames on them, the joints between them and their coordinates; markers."""

from __future__ import annotations

from dataclasses import dataclass, field

from .basic import ZERO, Node, Vec3
from .functions import Function
from .surfaces import WrapObject


@dataclass
class OffsetFrame:
    """A frame fixed to another frame (`PhysicalOffsetFrame`)."""

    name: str
    parent: str
    translation: Vec3 = ZERO
    orientation: Vec3 = ZERO
    geometry: list[Node] = field(default_factory=list)
    wraps: list[WrapObject] = field(default_factory=list)
    frames: list[OffsetFrame] = field(default_factory=list)
    line: int = 0


@dataclass
class Body:
    name: str
    mass: float = 0.0
    mass_center: Vec3 = ZERO
    # xx yy zz xy xz yz about the mass centre
    inertia: tuple[float, float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    wraps: list[WrapObject] = field(default_factory=list)
    frames: list[OffsetFrame] = field(default_factory=list)
    geometry: list[Node] = field(default_factory=list)
    line: int = 0


@dataclass
class Coordinate:
    name: str
    default_value: float = 0.0
    default_speed: float = 0.0
    range: tuple[float, float] = (-float("inf"), float("inf"))
    clamped: bool = False
    locked: bool = False
    prescribed: bool = False
    prescribed_function: Function | None = None
    free_to_satisfy_constraints: bool = False
    motion_type: str = "rotational"  # rotational | translational | coupled, as OpenSim decides it
    line: int = 0


@dataclass
class TransformAxis:
    """One of the six axes of a CustomJoint: `function(coordinates)` radians about, or metres along, `axis`."""

    axis: Vec3
    function: Function
    coordinates: tuple[str, ...] = ()
    name: str = ""
    line: int = 0


@dataclass
class Joint:
    kind: str  # PinJoint, SliderJoint, WeldJoint, UniversalJoint, BallJoint, GimbalJoint, FreeJoint, ...
    name: str
    parent_frame: str
    child_frame: str
    coordinates: list[Coordinate] = field(default_factory=list)
    frames: list[OffsetFrame] = field(default_factory=list)
    transform: list[TransformAxis] = field(default_factory=list)  # CustomJoint: rotation1..3, translation1..3
    radii: Vec3 = ZERO  # EllipsoidJoint
    line: int = 0


@dataclass
class Marker:
    name: str
    frame: str
    location: Vec3
    fixed: bool = False
    line: int = 0
