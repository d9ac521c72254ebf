"""Two links on two pins, with a muscle over one joint and a muscle over both.

All numbers are our own: links of 0.5 m and 1 kg, uniform cylinders, hanging down at zero.
"""

from __future__ import annotations

from math import pi

from myograd.model.description import Coordinate, Marker, ModelDescription, PathPoint
from shipped.making import LICENCE, joint, millard, rod

LENGTH = 0.5
PIVOT = (0.0, 1.2, 0.0)
GROUND, UPPER, LOWER = "/ground", "/bodyset/upper", "/bodyset/lower"


def describe() -> ModelDescription:
    return ModelDescription(
        name="double_pendulum",
        credits=f"{LICENCE} Geometry and masses are made up: two uniform links of 0.5 m and 1 kg.",
        bodies=[rod("upper", 1.0, LENGTH, 0.02), rod("lower", 1.0, LENGTH, 0.02)],
        joints=[
            joint("PinJoint", "shoulder", GROUND, UPPER, [Coordinate("shoulder_angle", range=(-pi, pi))], at=PIVOT),
            joint(
                "PinJoint", "elbow", UPPER, LOWER, [Coordinate("elbow_angle", range=(-2.5, 2.5))], at=(0, -LENGTH, 0)
            ),
        ],
        markers=[
            Marker("elbow_marker", UPPER, (0.0, -LENGTH, 0.02)),
            Marker("tip_marker", LOWER, (0.0, -LENGTH, 0.02)),
        ],
        muscles=[
            millard(
                "one_joint",
                [
                    PathPoint("one_joint-P1", GROUND, (0.08, 1.2, 0.0)),
                    PathPoint("one_joint-P2", UPPER, (0.02, -0.25, 0.0)),
                ],
                force=200.0,
                fiber=0.12,
                tendon=0.14,
            ),
            millard(
                "two_joint",
                [
                    PathPoint("two_joint-P1", GROUND, (-0.08, 1.2, 0.0)),
                    PathPoint("two_joint-P2", UPPER, (-0.05, -0.45, 0.0)),
                    PathPoint("two_joint-P3", LOWER, (-0.02, -0.15, 0.0)),
                ],
                force=150.0,
                fiber=0.2,
                tendon=0.46,
                pennation_degrees=10.0,
            ),
        ],
    )
