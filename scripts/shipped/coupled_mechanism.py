"""A mechanism like Figure 3 of Sherman, Seth and Delp, How to compute muscle moment arm using generalized coordinates.

Body B hangs on body A by a chain of four parallel pins. Their angles are shares of the angle of interest,
`theta_k = alpha_k theta`, `sum alpha_k = 1` (Eqs. 19, 20), so `theta` is the angle between A and B. It is the
coordinate of the first pin, scaled to read the whole angle; couplers move the others. The coordinates of some pins are
not their angles, `theta_k = w_k q_k` ("Obtaining joint torques from generalized forces").

Two more coupled angles, `theta_5` (not linear in `theta`) and `theta_6`, swing a guide that carries a point of the
muscle's path, and are no part of `theta`. The muscle starts on A and ends on body C, beyond B, on a hinge of its own
(`phi`). A turns about ground (`base`). All numbers are our own.
"""

from __future__ import annotations

from myograd.model.description import (
    Coordinate,
    CoordinateCoupler,
    Joint,
    LinearFunction,
    Marker,
    ModelDescription,
    PathPoint,
    PolynomialFunction,
    Vec3,
)
from shipped.making import LICENCE, joint, millard, rod, turn_and_shift

ALPHA = {"theta": 0.4, "theta_2": 0.3, "theta_3": 0.2, "theta_4": 0.1}
WEIGHT = {"theta": ALPHA["theta"], "theta_2": 1.0, "theta_3": 2.0, "theta_4": 1.0, "theta_5": 0.5, "theta_6": 1.0}
"""`angle = weight * coordinate`; the first coordinate reads theta although its pin turns by alpha_1 theta only."""

THETA = 0.3
GUIDE_5 = (0.4, 1.2, 0.0)  # coordinate theta_5 = 0.4 theta^2 + 1.2 theta, half of which is the angle
GUIDE_6 = (-0.5, 0.0)  # theta_6 = -0.5 theta
LENGTHS = {"A": 0.30, "link_1": 0.06, "link_2": 0.06, "link_3": 0.06, "B": 0.25, "C": 0.20}


def scaled_pin(name: str, parent: str, child: str, coordinate: Coordinate, at: Vec3) -> Joint:
    """A hinge about z whose angle is `WEIGHT[coordinate] * coordinate`."""
    transform = turn_and_shift(LinearFunction((WEIGHT[coordinate.name], 0.0)), coordinate.name)
    return joint("CustomJoint", name, parent, child, [coordinate], at, transform=transform)


def coupled(name: str, default: float) -> Coordinate:
    motion_type = "rotational" if WEIGHT[name] == 1.0 else "coupled"  # OpenSim's word for a scaled angle
    return Coordinate(name, default_value=default, range=(-3.0, 3.0), motion_type=motion_type)


def describe() -> ModelDescription:
    end = {name: (0.0, -length, 0.0) for name, length in LENGTHS.items()}
    at = {name: f"/bodyset/{name}" for name in (*LENGTHS, "guide_arm", "guide_head")}
    shares = {name: ALPHA[name] / WEIGHT[name] for name in ("theta_2", "theta_3", "theta_4")}
    theta_5 = GUIDE_5[0] * THETA**2 + GUIDE_5[1] * THETA

    joints = [
        joint("PinJoint", "mount", "/ground", at["A"], [Coordinate("base", range=(-1.5, 1.5))], at=(0.0, 1.0, 0.0)),
        scaled_pin("pin_1", at["A"], at["link_1"], coupled("theta", THETA), end["A"]),
        scaled_pin("pin_2", at["link_1"], at["link_2"], coupled("theta_2", shares["theta_2"] * THETA), end["link_1"]),
        scaled_pin("pin_3", at["link_2"], at["link_3"], coupled("theta_3", shares["theta_3"] * THETA), end["link_2"]),
        scaled_pin("pin_4", at["link_3"], at["B"], coupled("theta_4", shares["theta_4"] * THETA), end["link_3"]),
        joint(
            "PinJoint",
            "hinge",
            at["B"],
            at["C"],
            [Coordinate("phi", default_value=0.2, range=(-1.5, 1.5))],
            at=end["B"],
        ),
        scaled_pin("pin_5", at["link_2"], at["guide_arm"], coupled("theta_5", theta_5), (0.0, -0.03, 0.0)),
        scaled_pin(
            "pin_6", at["guide_arm"], at["guide_head"], coupled("theta_6", GUIDE_6[0] * THETA), (0.05, 0.0, 0.0)
        ),
    ]
    return ModelDescription(
        name="coupled_mechanism",
        credits=f"{LICENCE} After Figure 3 of Sherman, Seth and Delp (2010); geometry and masses are made up.",
        publications="Sherman, Seth, Delp: How to compute muscle moment arm using generalized coordinates, 2010.",
        bodies=[
            rod("A", 1.0, LENGTHS["A"], 0.02),
            *(rod(f"link_{k}", 0.15, LENGTHS[f"link_{k}"], 0.012) for k in (1, 2, 3)),
            rod("B", 0.8, LENGTHS["B"], 0.02),
            rod("C", 0.5, LENGTHS["C"], 0.015),
            rod("guide_arm", 0.05, 0.05, 0.008),
            rod("guide_head", 0.05, 0.04, 0.008),
        ],
        joints=joints,
        constraints=[
            *(
                CoordinateCoupler(f"couple_{name}", name, ("theta",), LinearFunction((share, 0.0)))
                for name, share in shares.items()
            ),
            CoordinateCoupler("couple_theta_5", "theta_5", ("theta",), PolynomialFunction(GUIDE_5)),
            CoordinateCoupler("couple_theta_6", "theta_6", ("theta",), LinearFunction(GUIDE_6)),
        ],
        markers=[
            Marker("B_end", at["B"], end["B"]),
            Marker("C_end", at["C"], end["C"]),
            Marker("guide_tip", at["guide_head"], (0.02, -0.03, 0.0)),
        ],
        muscles=[
            millard(
                "guided",
                [
                    PathPoint("guided-P1", at["A"], (0.03, -0.10, 0.0)),
                    PathPoint("guided-P2", at["guide_head"], (0.02, -0.03, 0.0)),
                    PathPoint("guided-P3", at["C"], (0.02, -0.10, 0.0)),
                ],
                force=400.0,
                fiber=0.15,
                tendon=0.55,
                pennation_degrees=8.0,
            ),
            millard(
                "direct",
                [
                    PathPoint("direct-P1", at["A"], (-0.03, -0.15, 0.01)),
                    PathPoint("direct-P2", at["link_2"], (-0.03, -0.03, 0.01)),
                    PathPoint("direct-P3", at["B"], (-0.02, -0.12, 0.01)),
                ],
                force=300.0,
                fiber=0.12,
                tendon=0.33,
            ),
        ],
    )
