"""The anatomy as plain data: what an OpenSim document says, before any mathematics.

A `ModelDescription` mirrors a 4.6 document. Older documents are brought to this form when read, so nothing
else in the library knows about file versions. No JAX here: `myograd info` and `myograd check` stop at this form.

Conventions
- SI units and radians. Vectors are tuples of floats, `(x, y, z)`.
- Frames are named by their absolute path, as OpenSim's sockets are: `/ground`, `/bodyset/femur_r`,
  `/jointset/hip_r/pelvis_offset`. `ModelDescription.frames()` maps each path to its frame.
- An orientation is three body-fixed rotations about x, then y, then z.
- `line` is the line of the element in the file it came from, 0 for elements made in Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .forces import ContactGeometry, Force, PathForce

Vec3 = tuple[float, float, float]
ZERO: Vec3 = (0.0, 0.0, 0.0)


@dataclass
class Node:
    """An XML element kept as it was, for what the library carries along without using (saved again, untouched)."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    text: str = ""
    children: list[Node] = field(default_factory=list)
    line: int = 0

    def find(self, tag: str) -> Node | None:
        return next((child for child in self.children if child.tag == tag), None)


# Functions ---------------------------------------------------------------------------------------------------


@dataclass
class Constant:
    value: float


@dataclass
class LinearFunction:
    """`c[0] x[0] + ... + c[n-1] x[n-1] + c[n]`."""

    coefficients: tuple[float, ...]


@dataclass
class PolynomialFunction:
    """Coefficients from the highest power down to the constant."""

    coefficients: tuple[float, ...]


@dataclass
class SimmSpline:
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass
class PiecewiseLinearFunction:
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass
class PiecewiseConstantFunction:
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass
class GCVSpline:
    """Woltring's natural spline of degree `2 half_order - 1`, interpolating when `error_variance` is zero."""

    half_order: int
    error_variance: float
    x: tuple[float, ...]
    y: tuple[float, ...]
    weights: tuple[float, ...] = ()


@dataclass
class Sine:
    """`amplitude sin(omega x + phase) + offset`."""

    amplitude: float
    omega: float
    phase: float
    offset: float


@dataclass
class StepFunction:
    """Simbody's smooth quintic step from `start_value` at `start_time` to `end_value` at `end_time`."""

    start_time: float
    end_time: float
    start_value: float
    end_value: float


@dataclass
class MultiplierFunction:
    function: Function
    scale: float


@dataclass
class MultivariatePolynomialFunction:
    """Dense polynomial in `dimension` variables up to total degree `order`, in OpenSim's coefficient order."""

    coefficients: tuple[float, ...]
    dimension: int
    order: int


Function = (
    Constant
    | LinearFunction
    | PolynomialFunction
    | SimmSpline
    | PiecewiseLinearFunction
    | PiecewiseConstantFunction
    | GCVSpline
    | Sine
    | StepFunction
    | MultiplierFunction
    | MultivariatePolynomialFunction
)


# Bodies and joints -------------------------------------------------------------------------------------------


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


# Constraints -------------------------------------------------------------------------------------------------


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


# Markers and muscles -----------------------------------------------------------------------------------------


@dataclass
class Marker:
    name: str
    frame: str
    location: Vec3
    fixed: bool = False
    line: int = 0


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


@dataclass
class Muscle:
    """A muscle of any class: its path, the parameters that every class has, and its own others as read."""

    kind: str  # the OpenSim class, e.g. Millard2012EquilibriumMuscle
    name: str
    path: Path
    max_isometric_force: float = 1000.0
    optimal_fiber_length: float = 0.1
    tendon_slack_length: float = 0.2
    pennation_angle: float = 0.0
    max_contraction_velocity: float = 10.0
    applies_force: bool = True
    curves: dict[str, Function] = field(default_factory=dict)  # force curves that the file gives as functions, by name
    properties: list[Node] = field(default_factory=list)  # every other property element, in 4.6 spelling
    line: int = 0


@dataclass
class Part:
    """An element that the library keeps and saves but does not use: a force, a controller, contact geometry, ...

    `group` says where it goes back to: a set (`ForceSet`, `ContactGeometrySet`, `ControllerSet`, `ConstraintSet`, ...),
    the named groups of a set (`ForceSet/groups`), the model itself (`Model`: `assembly_accuracy`, ...), or the
    components that a frame, joint or constraint owns (its path, `/bodyset/femur_r`).
    """

    group: str
    kind: str
    name: str
    node: Node
    line: int = 0


# What was not read -------------------------------------------------------------------------------------------

SEVERITIES = ("motion", "force", "control", "unknown", "bookkeeping", "appearance")
"""From what changes the skeleton's motion to what changes only its looks."""
NO_NUMBERS = ("bookkeeping", "appearance")
"""Those that change no number that OpenSim computes."""


@dataclass(frozen=True)
class Unread:
    """Something the file holds and the library does not use.

    `severity` says what is missing without it: `motion` (a constraint: poses and accelerations), `force` (muscle-driven
    accelerations), `control` (controllers, probes, analyses), `unknown` (what OpenSim 4.6 does not know either, and
    ignores), `bookkeeping` (names of groups, defaults that nothing uses), `appearance` (meshes, colours).
    """

    severity: str
    kind: str
    name: str
    line: int
    reason: str


@dataclass
class ModelDescription:
    name: str = "model"
    source: str = ""  # the file it was read from
    version: int = 40600  # of that file
    gravity: Vec3 = (0.0, -9.80665, 0.0)
    credits: str = ""
    publications: str = ""
    length_units: str = "meters"
    force_units: str = "N"
    ground: Body = field(default_factory=lambda: Body("ground"))  # no mass: only frames, surfaces, geometry
    bodies: list[Body] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    markers: list[Marker] = field(default_factory=list)
    muscles: list[Muscle] = field(default_factory=list)
    forces: list[Force] = field(default_factory=list)  # all others
    contacts: list[ContactGeometry] = field(default_factory=list)
    frames_extra: list[OffsetFrame] = field(default_factory=list)  # of the model's ComponentSet
    others: list[Part] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)

    def coordinates(self) -> list[Coordinate]:
        """All coordinates in the order of their joints in the file (OpenSim's CoordinateSet order)."""
        return [coordinate for joint in self.joints for coordinate in joint.coordinates]

    def frames(self) -> dict[str, Body | OffsetFrame]:
        """Every frame by its absolute path."""
        return dict(self._walk_frames())

    def _walk_frames(self) -> Iterator[tuple[str, Body | OffsetFrame]]:
        def below(path: str, frames: list[OffsetFrame]) -> Iterator[tuple[str, OffsetFrame]]:
            for frame in frames:
                yield f"{path}/{frame.name}", frame
                yield from below(f"{path}/{frame.name}", frame.frames)

        yield "/ground", self.ground
        yield from below("/ground", self.ground.frames)
        for body in self.bodies:
            yield f"/bodyset/{body.name}", body
            yield from below(f"/bodyset/{body.name}", body.frames)
        for joint in self.joints:
            yield from below(f"/jointset/{joint.name}", joint.frames)
        for constraint in self.constraints:
            if not isinstance(constraint, CoordinateCoupler):
                yield from below(f"/constraintset/{constraint.name}", constraint.frames)
        for force in self.forces:
            yield from below(f"/forceset/{force.name}", getattr(force, "frames", []))
        yield from below("/componentset", self.frames_extra)

    def paths(self) -> list[Muscle | PathForce]:
        """Everything that pulls along a path: the muscles, then the other forces that do."""
        return [*self.muscles, *(force for force in self.forces if hasattr(force, "path"))]  # type: ignore[list-item]

    def wrap_objects(self) -> dict[str, WrapObject]:
        """Every wrapping surface by the path of its frame and its name."""
        return {f"{path}/{wrap.name}": wrap for path, frame in self.frames().items() for wrap in frame.wraps}
