"""Three bodies, one of them free, with room for any force: what the models of the pack do not have."""

from __future__ import annotations

import math
from typing import Any

from myograd.model.description import (
    AnyPathPoint,
    Body,
    BushingForce,
    ContactGeometry,
    ContactParameters,
    Coordinate,
    CoordinateActuator,
    CoordinateLimitForce,
    Force,
    HuntCrossleyForce,
    Joint,
    Ligament,
    LinearFunction,
    ModelDescription,
    OffsetFrame,
    PathActuator,
    PathPoint,
    PathSpring,
    PathWrap,
    PointToPointSpring,
    SimmSpline,
    SmoothSphereHalfSpaceForce,
    SpringGeneralizedForce,
    WrapObject,
)
from myograd.model.description import Path as ForcePath

COORDINATES = ("rx", "ry", "rz", "tx", "ty", "tz", "knee", "slide")


def skeleton() -> ModelDescription:
    """`trunk` floats, `shank` hinges on it, `plate` slides on ground."""
    description = ModelDescription(name="force_bench")
    inertia = (0.05, 0.06, 0.04, 0.002, -0.001, 0.003)
    description.bodies = [
        Body("trunk", 3.0, (0.02, 0.1, 0.01), inertia),
        Body("shank", 1.5, (0.0, -0.15, 0.02), inertia),
        Body("plate", 2.0, (0.01, 0.0, 0.0), inertia),
    ]
    description.bodies[0].frames = [OffsetFrame("pad", "/bodyset/trunk", (0.05, 0.02, -0.03), (0.3, -0.2, 0.5))]
    description.bodies[0].wraps = [WrapObject("WrapCylinder", "roll", radius=0.05, length=0.6)]
    wide = (-10.0, 10.0)
    description.joints = [
        Joint(
            "FreeJoint",
            "free",
            "/ground",
            "/bodyset/trunk",
            [Coordinate(name, range=wide) for name in COORDINATES[:3]]
            + [Coordinate(name, range=wide, motion_type="translational") for name in COORDINATES[3:6]],
        ),
        Joint(
            "PinJoint",
            "hinge",
            "/jointset/hinge/hip",
            "/bodyset/shank",
            [Coordinate("knee", range=wide)],
            [OffsetFrame("hip", "/bodyset/trunk", (0.0, -0.2, 0.03), (0.2, 0.1, 0.0))],
        ),
        Joint(
            "SliderJoint",
            "rail",
            "/ground",
            "/bodyset/plate",
            [Coordinate("slide", range=wide, motion_type="translational")],
        ),
    ]
    description.contacts = [
        ContactGeometry("ContactHalfSpace", "floor", "/ground", (0.0, -0.1, 0.0), (0.1, 0.05, -math.pi / 2)),
        ContactGeometry("ContactHalfSpace", "wall", "/bodyset/plate", (0.3, 0.0, 0.0), (0.0, 0.2, 0.1)),
        ContactGeometry("ContactSphere", "head", "/bodyset/trunk/pad", (0.0, 0.05, 0.02), radius=0.15),
        ContactGeometry("ContactSphere", "heel", "/bodyset/shank", (0.0, -0.25, 0.0), radius=0.12),
        ContactGeometry("ContactSphere", "knob", "/bodyset/plate", (-0.1, 0.02, 0.0), radius=0.2),
        ContactGeometry(
            "ContactEllipsoid", "belly", "/bodyset/trunk", (0.02, 0.0, 0.0), (0.4, 0.2, 0.1), radii=(0.1, 0.2, 0.15)
        ),
    ]
    return description


def straight() -> ForcePath:
    return ForcePath(
        points=[
            PathPoint("a", "/ground", (0.1, 0.3, 0.0)),
            PathPoint("b", "/bodyset/trunk/pad", (0.0, 0.1, 0.05)),
            PathPoint("c", "/bodyset/shank", (0.03, -0.2, 0.0)),
        ]
    )


def over_roll() -> ForcePath:
    points: list[AnyPathPoint] = [
        PathPoint("a", "/bodyset/trunk", (-0.2, 0.02, 0.1)),
        PathPoint("b", "/bodyset/shank", (0.25, 0.2, 0.05)),
    ]
    return ForcePath(points=points, wraps=[PathWrap("/bodyset/trunk/roll", "over")])


RUBBER: dict[str, Any] = {
    "stiffness": 4e4,
    "dissipation": 0.3,
    "static_friction": 0.8,
    "dynamic_friction": 0.4,
    "viscous_friction": 0.1,
}
STEEL: dict[str, Any] = {
    "stiffness": 9e5,
    "dissipation": 0.1,
    "static_friction": 0.5,
    "dynamic_friction": 0.5,
    "viscous_friction": 0.02,
}
CURVE = SimmSpline((0.9, 1.0, 1.05, 1.1, 1.3), (0.0, 0.0, 0.2, 0.7, 2.0))

FORCES: dict[str, list[Force]] = {
    "CoordinateActuator": [CoordinateActuator("act", "knee", 12.0), CoordinateActuator("push", "ry", 3.0, -1.0, 1.0)],
    "switched off": [
        CoordinateActuator("off", "knee", 12.0, applies_force=False),
        CoordinateActuator("on", "slide", 2.0),
    ],
    "CoordinateLimitForce": [
        CoordinateLimitForce("stop", "knee", 20.0, 20.0, 30.0, -15.0, 0.2, 12.0),
        CoordinateLimitForce("rail_stop", "slide", 200.0, 0.2, 300.0, -0.1, 3.0, 0.3),
    ],
    "SpringGeneralizedForce": [
        SpringGeneralizedForce("twist", "rx", 5.0, -0.3, 0.7),
        SpringGeneralizedForce("back", "slide", 50.0, 0.1, 2.0),
    ],
    "PathActuator": [PathActuator("cable", straight(), 40.0)],
    "PathActuator over a surface": [PathActuator("rope", over_roll(), 15.0)],
    "PathSpring": [PathSpring("band", straight(), 0.5, 300.0, 0.2), PathSpring("slack", straight(), 5.0, 300.0, 0.2)],
    "Ligament": [Ligament("own", straight(), 0.55, 80.0, CURVE), Ligament("usual", straight(), 0.5, 60.0)],
    "Ligament of a line": [Ligament("line", straight(), 0.5, 60.0, LinearFunction((2.0, -1.5)))],
    "PointToPointSpring": [
        PointToPointSpring(
            "spring", "/bodyset/trunk/pad", "/bodyset/plate", (0.1, 0.0, 0.2), (0.0, 0.1, 0.0), 150.0, 0.2
        )
    ],
    "BushingForce": [
        BushingForce(
            "bushing",
            "/forceset/bushing/near",
            "/bodyset/trunk/pad",
            (8.0, 9.0, 7.0),
            (300.0, 200.0, 100.0),
            (0.3, 0.2, 0.4),
            (5.0, 6.0, 7.0),
            [OffsetFrame("near", "/bodyset/shank", (0.0, 0.2, 0.02), (0.1, -0.1, 0.2))],
        ),
        BushingForce("to_ground", "/ground", "/bodyset/shank", (1.0, 2.0, 3.0), (30.0, 20.0, 10.0)),
    ],
    "HuntCrossleyForce": [
        HuntCrossleyForce(
            "touch", [ContactParameters(("floor", "head"), **RUBBER), ContactParameters(("heel", "knob"), **STEEL)], 0.1
        ),
        HuntCrossleyForce(
            "bump", [ContactParameters(("wall",), **STEEL), ContactParameters(("belly",), **RUBBER)], 0.05
        ),
    ],
    "SmoothSphereHalfSpaceForce": [
        SmoothSphereHalfSpaceForce("smooth", "heel", "floor", **RUBBER, transition_velocity=0.1),
        SmoothSphereHalfSpaceForce(
            "firm",
            "head",
            "wall",
            **STEEL,
            constant_contact_force=1e-3,
            hertz_smoothing=50.0,
            hunt_crossley_smoothing=5.0,
        ),
    ],
}


def bench(case: str) -> ModelDescription:
    description = skeleton()
    description.forces = FORCES[case]
    return description
