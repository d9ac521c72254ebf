"""A closed loop: a planar four-bar linkage with a muscle on its crank and one on its rocker.

Two bars turn about fixed pivots; a massless rod of constant length joins their tips (`ConstantDistanceConstraint`), so
two coordinates have one degree of freedom. The crank is the shortest bar and can turn all the way round (Grashof:
0.15 + 0.42 < 0.30 + 0.40 m). All numbers are our own.
"""

from __future__ import annotations

from math import acos, atan2, cos, hypot, pi, sin

from myograd.model.description import ConstantDistanceConstraint, Coordinate, Marker, ModelDescription, PathPoint
from shipped.making import LICENCE, joint, millard, rod

CRANK, ROCKER, COUPLER, BASE = 0.15, 0.30, 0.42, 0.40
CRANK_ANGLE = 0.3
HEIGHT = 0.5


def rocker_angle(crank_angle: float) -> float:
    """The angle of the rocker from upright, from the triangle of the crank's tip and the rocker's ends."""
    tip = (-CRANK * sin(crank_angle), CRANK * cos(crank_angle))
    x, y = tip[0] - BASE, tip[1]
    diagonal = hypot(x, y)
    opening = acos((ROCKER**2 + diagonal**2 - COUPLER**2) / (2 * ROCKER * diagonal))
    return atan2(y, x) - opening - pi / 2


def describe() -> ModelDescription:
    pivots = (0.0, HEIGHT, 0.0), (BASE, HEIGHT, 0.0)
    crank, rocker = "/bodyset/crank", "/bodyset/rocker"
    crank_coordinate = Coordinate("crank_angle", default_value=CRANK_ANGLE, range=(-pi, pi))
    rocker_coordinate = Coordinate(
        "rocker_angle", default_value=rocker_angle(CRANK_ANGLE), range=(-pi, pi), free_to_satisfy_constraints=True
    )
    return ModelDescription(
        name="four_bar",
        credits=f"{LICENCE} Geometry and masses are made up: a crank-rocker with a massless coupler.",
        bodies=[rod("crank", 0.4, CRANK, 0.015, up=True), rod("rocker", 0.8, ROCKER, 0.015, up=True)],
        joints=[
            joint("PinJoint", "crank_pivot", "/ground", crank, [crank_coordinate], at=pivots[0]),
            joint("PinJoint", "rocker_pivot", "/ground", rocker, [rocker_coordinate], at=pivots[1]),
        ],
        constraints=[
            ConstantDistanceConstraint(
                "coupler", crank, rocker, (0.0, CRANK, 0.0), (0.0, ROCKER, 0.0), distance=COUPLER
            )
        ],
        markers=[Marker("crank_tip", crank, (0.0, CRANK, 0.0)), Marker("rocker_tip", rocker, (0.0, ROCKER, 0.0))],
        muscles=[
            millard(
                "rocker_puller",
                [
                    PathPoint("rocker_puller-P1", "/ground", (0.60, 0.40, 0.0)),
                    PathPoint("rocker_puller-P2", rocker, (0.02, 0.20, 0.0)),
                ],
                force=300.0,
                fiber=0.12,
                tendon=0.25,
            ),
            millard(
                "crank_to_rocker",
                [
                    PathPoint("crank_to_rocker-P1", crank, (0.01, 0.10, 0.01)),
                    PathPoint("crank_to_rocker-P2", rocker, (-0.02, 0.10, 0.01)),
                ],
                force=150.0,
                fiber=0.15,
                tendon=0.23,
            ),
        ],
    )
