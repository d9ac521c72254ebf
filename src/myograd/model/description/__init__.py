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

from .basic import ZERO, Node, Vec3
from .constraints import ConstantDistanceConstraint, Constraint, CoordinateCoupler, PointConstraint, WeldConstraint
from .document import NO_NUMBERS, SEVERITIES, ModelDescription, Part, Severity, Unsupported
from .forces import (
    LIGAMENT_CURVE,
    BushingForce,
    ContactGeometry,
    ContactParameters,
    CoordinateActuator,
    CoordinateForce,
    CoordinateLimitForce,
    Force,
    HuntCrossleyForce,
    Ligament,
    PathActuator,
    PathForce,
    PathSpring,
    PointToPointSpring,
    SmoothSphereHalfSpaceForce,
    SpringGeneralizedForce,
    in_file_order,
)
from .functions import (
    Constant,
    Function,
    GCVSpline,
    LinearFunction,
    MultiplierFunction,
    MultivariatePolynomialFunction,
    PiecewiseConstantFunction,
    PiecewiseLinearFunction,
    PolynomialFunction,
    SimmSpline,
    Sine,
    StepFunction,
)
from .muscles import Muscle
from .paths import AnyPathPoint, ConditionalPathPoint, MovingPathPoint, Path, PathPoint, PathWrap
from .skeleton import Body, Coordinate, Joint, Marker, OffsetFrame, TransformAxis
from .surfaces import WrapObject

__all__ = [
    "LIGAMENT_CURVE",
    "NO_NUMBERS",
    "SEVERITIES",
    "ZERO",
    "AnyPathPoint",
    "Body",
    "BushingForce",
    "ConditionalPathPoint",
    "Constant",
    "ConstantDistanceConstraint",
    "Constraint",
    "ContactGeometry",
    "ContactParameters",
    "Coordinate",
    "CoordinateActuator",
    "CoordinateCoupler",
    "CoordinateForce",
    "CoordinateLimitForce",
    "Force",
    "Function",
    "GCVSpline",
    "HuntCrossleyForce",
    "Joint",
    "Ligament",
    "LinearFunction",
    "Marker",
    "ModelDescription",
    "MovingPathPoint",
    "MultiplierFunction",
    "MultivariatePolynomialFunction",
    "Muscle",
    "Node",
    "OffsetFrame",
    "Part",
    "Path",
    "PathActuator",
    "PathForce",
    "PathPoint",
    "PathSpring",
    "PathWrap",
    "PiecewiseConstantFunction",
    "PiecewiseLinearFunction",
    "PointConstraint",
    "PointToPointSpring",
    "PolynomialFunction",
    "Severity",
    "SimmSpline",
    "Sine",
    "SmoothSphereHalfSpaceForce",
    "SpringGeneralizedForce",
    "StepFunction",
    "TransformAxis",
    "Unsupported",
    "Vec3",
    "WeldConstraint",
    "WrapObject",
    "in_file_order",
]
