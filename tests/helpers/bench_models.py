"""Three test benches in `models/`: every joint and function, every constraint, every wrapping surface.

`python tests/helpers/bench_models.py` writes them. They stand for nothing in nature; hardly two numbers are alike, so that a
swapped axis or sign shows.
"""

from __future__ import annotations

from pathlib import Path

from myograd.files.osim.write import write_osim
from myograd.model.description import (
    ZERO,
    Body,
    ConditionalPathPoint,
    Constant,
    ConstantDistanceConstraint,
    Coordinate,
    CoordinateCoupler,
    GCVSpline,
    Joint,
    LinearFunction,
    Marker,
    ModelDescription,
    MovingPathPoint,
    MultiplierFunction,
    Muscle,
    OffsetFrame,
    PathPoint,
    PathWrap,
    PiecewiseLinearFunction,
    PointConstraint,
    PolynomialFunction,
    SimmSpline,
    Sine,
    StepFunction,
    TransformAxis,
    Vec3,
    WeldConstraint,
    WrapObject,
)
from shipped.making import LICENCE, millard, named_axes

FOLDER = Path(__file__).parents[1] / "documents"
CREDITS = f"{LICENCE} A test bench: all numbers are made up."
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
RANGE = (-1.5, 1.5)


def lump(name: str, k: int, **more) -> Body:
    """A body with its mass centre off the origin and all products of inertia."""
    mass = 0.8 + 0.17 * k
    center = (0.03 - 0.004 * k, -0.05 + 0.006 * k, 0.02 + 0.003 * k)
    tensor = (0.011, 0.013, 0.009, 0.0012, -0.0007, 0.0016)
    return Body(name, mass, center, tuple(round(mass * i, 6) for i in tensor), **more)  # pyright: ignore[reportArgumentType]


def turn(name: str, default: float, **more) -> Coordinate:
    return Coordinate(name, default_value=default, range=RANGE, **more)


def slide(name: str, default: float, **more) -> Coordinate:
    return Coordinate(name, default_value=default, range=(-0.5, 0.5), motion_type="translational", **more)


def attached(kind: str, name: str, parent: str, child: str, k: int, coordinates: list[Coordinate], **more) -> Joint:
    """A joint with an offset and turned frame on both sides."""
    frames = [
        OffsetFrame(
            "near", parent, (0.06 + 0.01 * k, -0.12 + 0.013 * k, 0.04 - 0.009 * k), (0.1 * k, -0.2, 0.3 - 0.05 * k)
        ),
        OffsetFrame("far", child, (-0.03, 0.05 - 0.004 * k, 0.01 * k), (-0.15, 0.05 * k, 0.2)),
    ]
    path = f"/jointset/{name}"
    return Joint(kind, name, f"{path}/near", f"{path}/far", coordinates, frames, **more)


def axis(direction: Vec3, function, *coordinates: str) -> TransformAxis:
    return TransformAxis(direction, function, coordinates)


def all_joints() -> ModelDescription:
    spline_x = (-2.0, -1.0, -0.3, 0.4, 1.1, 2.0)
    bent = [
        axis((0.6, 0.0, 0.8), LinearFunction((1.0, 0.1)), "bent_1"),
        axis(Y, SimmSpline(spline_x, (0.3, 0.1, -0.05, 0.1, 0.35, 0.4)), "bent_1"),
        axis((0.8, 0.0, -0.6), PiecewiseLinearFunction((-2.0, -0.5, 0.7, 2.0), (-0.4, -0.1, 0.3, 0.2)), "bent_2"),
        axis(X, Constant(0.05)),
        axis(Y, GCVSpline(3, 0.0, (*spline_x, 2.6), (0.02, 0.0, 0.01, 0.03, 0.02, -0.01, 0.0)), "bent_2"),
        axis(Z, PolynomialFunction((0.02, -0.03, 0.05, 0.01)), "bent_1"),
    ]
    twisted = [
        axis(X, MultiplierFunction(SimmSpline(spline_x, (0.5, 0.3, 0.1, -0.1, -0.4, -0.5)), 1.3), "twisted_1"),
        axis(Y, Sine(0.4, 1.7, 0.2, 0.1), "twisted_2"),
        axis(Z, LinearFunction((0.7, -0.4, 0.05)), "twisted_1", "twisted_2"),
        axis(X, PolynomialFunction((-0.02, 0.03, 0.01)), "twisted_1"),
        axis(Y, MultiplierFunction(Constant(0.04), 0.5)),
        axis(Z, StepFunction(-0.8, 0.9, 0.01, 0.07), "twisted_2"),
    ]
    backward = [
        axis(Z, LinearFunction((1.0, 0.0)), "backward_turn"),
        axis(X, LinearFunction((1.0, 0.0)), "backward_roll"),
        axis(Y, Constant(0.0)),
        axis(X, SimmSpline(spline_x, (0.04, 0.02, 0.0, 0.01, 0.03, 0.05)), "backward_turn"),
        axis(Y, LinearFunction((1.0, 0.0)), "backward_slide"),
        axis(Z, Constant(-0.02)),
    ]
    hook = OffsetFrame("hook", "/bodyset/trunk/bracket", (0.0, 0.03, -0.02), (0.3, 0.1, -0.2))
    bracket = OffsetFrame("bracket", "/bodyset/trunk", (0.05, 0.1, 0.02), (0.2, -0.1, 0.4), frames=[hook])
    wraps = [
        WrapObject("WrapCylinder", "barrel", (0.0, 0.1, 0.0), (0.1, 0.2, 0.3), radius=0.03, length=0.2, quadrant="-y"),
        WrapObject("WrapSphere", "ball", (0.02, 0.0, 0.0), radius=0.04, active=False),
        WrapObject(
            "WrapEllipsoid", "egg", (0.0, 0.0, 0.05), (0.0, 0.4, 0.0), dimensions=(0.02, 0.03, 0.05), quadrant="x"
        ),
        WrapObject("WrapTorus", "ring", (0.1, 0.0, 0.0), inner_radius=0.01, outer_radius=0.04),
    ]
    children = [
        *("pinned", "slid", "welded", "forked", "balled", "gimballed", "planed", "rounded", "bent", "twisted"),
        *("reversed", "reversed_ball", "backward"),
    ]
    at = {name: f"/bodyset/{name}" for name in ("trunk", *children)}
    free = [turn(f"trunk_{a}", 0.1 * k) for k, a in enumerate(("rx", "ry", "rz"), 1)]
    free += [slide(f"trunk_{a}", 0.05 * k) for k, a in enumerate(("tx", "ty", "tz"), 1)]
    swing = Sine(0.3, 2.0, 0.1, 0.2)
    gimbal = [turn("gimbal_1", 0.1), turn("gimbal_2", 0.2), turn("gimbal_3", -0.25, locked=True)]
    return ModelDescription(
        name="all_joints",
        credits=CREDITS,
        gravity=(0.2, -9.7, 0.3),
        bodies=[
            lump("trunk", 0, frames=[bracket], wraps=wraps),
            *(lump(name, k) for k, name in enumerate(children, start=1)),
        ],
        joints=[
            attached("FreeJoint", "free", "/ground", at["trunk"], 0, free),
            attached(
                "PinJoint",
                "pin",
                at["trunk"] + "/bracket/hook",
                at["pinned"],
                1,
                [turn("pin_angle", 0.2, prescribed=True, prescribed_function=swing)],
            ),
            attached("SliderJoint", "slider", at["pinned"], at["slid"], 2, [slide("slider_shift", 0.1, clamped=True)]),
            attached("WeldJoint", "weld", at["trunk"], at["welded"], 3, []),
            attached(
                "UniversalJoint", "fork", at["welded"], at["forked"], 4, [turn("fork_1", 0.3), turn("fork_2", -0.2)]
            ),
            attached(
                "BallJoint", "ball_joint", at["trunk"], at["balled"], 5, [turn(f"ball_{k}", 0.1 * k) for k in (1, 2, 3)]
            ),
            attached("GimbalJoint", "gimbal", at["balled"], at["gimballed"], 6, gimbal),
            attached(
                "PlanarJoint",
                "plane",
                at["trunk"],
                at["planed"],
                7,
                [turn("plane_turn", 0.2), slide("plane_x", 0.03), slide("plane_y", -0.04, default_speed=0.1)],
            ),
            attached(
                "EllipsoidJoint",
                "ellipsoid",
                at["planed"],
                at["rounded"],
                8,
                [turn(f"ellipsoid_{k}", 0.3 - 0.1 * k) for k in (1, 2, 3)],
                radii=(0.05, 0.08, 0.11),
            ),
            attached(
                "CustomJoint",
                "bend",
                at["rounded"],
                at["bent"],
                9,
                [turn("bent_1", 0.1), turn("bent_2", 0.2, motion_type="coupled")],
                transform=named_axes(bent),
            ),
            attached(
                "CustomJoint",
                "twist",
                at["bent"],
                at["twisted"],
                10,
                [turn("twisted_1", 0.15, motion_type="coupled"), turn("twisted_2", -0.1, motion_type="coupled")],
                transform=named_axes(twisted),
            ),
            # The parent frames of these three are on the body farther from ground.
            attached("PinJoint", "reversed_pin", at["reversed"], at["trunk"], 11, [turn("reversed_angle", 0.4)]),
            attached(
                "BallJoint",
                "reversed_ball_joint",
                at["reversed_ball"],
                at["reversed"],
                12,
                [turn(f"reversed_ball_{k}", 0.05 * k) for k in (1, 2, 3)],
            ),
            attached(
                "CustomJoint",
                "backward_custom",
                at["backward"],
                at["reversed_ball"],
                13,
                [turn("backward_turn", 0.2), turn("backward_roll", 0.1), slide("backward_slide", 0.05)],
                transform=named_axes(backward),
            ),
        ],
        frames_extra=[OffsetFrame("outpost", "/jointset/bend/near", (0.02, 0.04, -0.01), (0.0, 0.2, 0.1))],
        markers=[
            *(Marker(f"on_{name}", path, (0.02, -0.03, 0.05)) for name, path in at.items()),
            Marker("on_hook", "/bodyset/trunk/bracket/hook", (0.01, 0.0, 0.02)),
            Marker("on_outpost", "/componentset/outpost", ZERO, fixed=True),
            Marker("on_ground", "/ground", (0.5, 0.0, 0.0)),
        ],
        muscles=[
            millard(
                "straight",
                [
                    PathPoint("straight-P1", "/ground", (0.3, 0.1, 0.0)),
                    PathPoint("straight-P2", at["pinned"], (0.02, 0.01, 0.03)),
                    PathPoint("straight-P3", at["slid"], (-0.02, 0.04, 0.01)),
                ],
                force=100.0,
                fiber=0.2,
                tendon=0.18,
            ),
            millard(
                "sometimes",
                [
                    PathPoint("sometimes-P1", at["trunk"], (0.0, 0.2, 0.1)),
                    ConditionalPathPoint("sometimes-P2", at["welded"], (0.1, 0.0, 0.0), "fork_1", (0.0, 1.0)),
                    PathPoint("sometimes-P3", at["forked"], (0.03, -0.04, 0.02)),
                    PathPoint("sometimes-P4", at["gimballed"], (0.03, -0.01, 0.05)),
                ],
                force=120.0,
                fiber=0.15,
                tendon=0.56,
            ),
            millard(
                "moving",
                [
                    PathPoint("moving-P1", at["planed"], (0.04, 0.1, 0.0)),
                    MovingPathPoint(
                        "moving-P2",
                        at["bent"],
                        (
                            SimmSpline(spline_x, (0.05, 0.04, 0.03, 0.03, 0.05, 0.06)),
                            PolynomialFunction((0.01, 0.02, -0.03)),
                            Constant(0.02),
                        ),
                        ("bent_1", "bent_1", "bent_1"),
                    ),
                    PathPoint("moving-P3", at["twisted"], (0.02, -0.02, -0.03)),
                ],
                force=140.0,
                fiber=0.1,
                tendon=0.68,
            ),
            millard(
                "backwards",
                [
                    PathPoint("backwards-P1", "/bodyset/trunk/bracket/hook", (0.0, 0.02, 0.04)),
                    PathPoint("backwards-P2", at["reversed"], (0.06, 0.02, 0.0)),
                    PathPoint("backwards-P3", at["backward"], (-0.03, 0.05, 0.01)),
                ],
                force=160.0,
                fiber=0.12,
                tendon=0.75,
            ),
        ],
    )


def all_constraints() -> ModelDescription:
    """A pendulum with three free bodies held to it, and two geared arms. No constraint is redundant."""
    base, welded, hung, tied, geared, mixed = (
        f"/bodyset/{name}" for name in ("base", "welded", "hung", "tied", "geared", "mixed")
    )

    def free(name: str, place: Vec3, child: str) -> Joint:
        coordinates = [turn(f"{name}_{a}", 0.0) for a in ("rx", "ry", "rz")]
        coordinates += [slide(f"{name}_{a}", value) for a, value in zip(("tx", "ty", "tz"), place, strict=True)]
        return Joint("FreeJoint", f"{name}_free", "/ground", child, coordinates)

    def hinge(name: str, place: Vec3, child: str) -> Joint:
        frame = OffsetFrame("near", base, place, (0.2, 0.1, 0.0))
        return Joint(
            "PinJoint", f"{name}_hinge", f"/jointset/{name}_hinge/near", child, [turn(f"{name}_angle", 0.0)], [frame]
        )

    tilt = (0.1, 0.2, 0.3)
    return ModelDescription(
        name="all_constraints",
        credits=CREDITS,
        bodies=[lump(name, k) for k, name in enumerate(("base", "welded", "hung", "tied", "geared", "mixed"))],
        joints=[
            Joint("PinJoint", "base_hinge", "/ground", base, [turn("base_angle", 0.0)]),
            free("welded", (0.08, -0.2, 0.03), welded),
            free("hung", (0.1, 0.15, 0.05), hung),
            free("tied", (-0.2, 0.0, 0.1), tied),
            hinge("geared", (0.1, 0.05, 0.0), geared),
            hinge("mixed", (-0.1, 0.08, 0.02), mixed),
        ],
        constraints=[
            WeldConstraint(
                "hold",
                "/constraintset/hold/on_base",
                "/constraintset/hold/on_welded",
                frames=[
                    OffsetFrame("on_base", base, (0.12, -0.15, 0.03), tilt),
                    OffsetFrame("on_welded", welded, (0.04, 0.05, 0.0), tilt),
                ],
            ),
            PointConstraint("hang", base, hung, (0.13, 0.1, 0.04), (0.03, -0.05, -0.01)),
            PointConstraint("idle", base, tied, (0.3, 0.1, 0.0), (0.0, 0.2, 0.0), enforced=False),
            ConstantDistanceConstraint("tie", base, tied, (0.0, -0.1, 0.1), (0.2, -0.1, 0.3), distance=0.3),
            CoordinateCoupler("gear", "geared_angle", ("base_angle",), PolynomialFunction((0.3, -0.2, 0.5, 0.0))),
            CoordinateCoupler(
                "mix", "mixed_angle", ("base_angle", "hung_rx"), LinearFunction((0.5, -0.3, 0.0)), scale=1.2
            ),
        ],
        markers=[Marker("tip", mixed, (0.0, 0.2, 0.0))],
        muscles=[
            millard(
                "pull",
                [
                    PathPoint("pull-P1", "/ground", (0.2, 0.3, 0.0)),
                    PathPoint("pull-P2", hung, (0.02, 0.05, 0.01)),
                    PathPoint("pull-P3", geared, (0.0, 0.15, 0.03)),
                ],
                force=100.0,
                fiber=0.1,
                tendon=0.06,
            )
        ],
    )


def all_surfaces() -> ModelDescription:
    """An arm of two links, with each surface wrapped alone, two on one segment, and points of all kinds beside them."""
    upper, lower, ground = "/bodyset/upper", "/bodyset/lower", "/ground"
    upper_body, lower_body = lump("upper", 1), lump("lower", 2)
    upper_body.wraps = [
        WrapObject("WrapSphere", "ball", (0.003, 0.002, -0.004), radius=0.03),
        WrapObject("WrapEllipsoid", "egg", (0.0, -0.01, 0.005), (0.2, 0.1, 0.3), dimensions=(0.02, 0.04, 0.03)),
        WrapObject("WrapTorus", "ring", (0.045, -0.15, 0.0), (1.5, 0.1, 0.0), inner_radius=0.008, outer_radius=0.02),
        WrapObject("WrapCylinder", "idle", (0.0, -0.15, 0.0), active=False, radius=0.05, length=1.0),
    ]
    lower_body.wraps = [
        WrapObject(
            "WrapCylinder", "roll", (0.002, 0.001, 0.0), (0.1, 0.2, 0.0), quadrant="-x", radius=0.025, length=0.2
        ),
        WrapObject("WrapCylinder", "free_roll", (0.0, -0.01, 0.0), (0.0, 0.1, 0.1), radius=0.02, length=0.06),
        WrapObject("WrapSphere", "sided_ball", (0.0, -0.005, 0.01), quadrant="x", radius=0.02),
    ]

    def muscle(name: str, points: list, *wraps: PathWrap) -> Muscle:
        made = millard(name, points, force=100.0, fiber=0.1, tendon=0.2)
        made.path.wraps = list(wraps)
        return made

    def over(surface: str, first: int = -1, last: int = -1) -> PathWrap:
        return PathWrap(surface, surface.rsplit("/", 1)[1], range=(first, last))

    def fixed(name: str, frame: str, place: Vec3) -> PathPoint:
        return PathPoint(name, frame, place)

    ramp = SimmSpline((-0.5, 0.5, 1.5, 2.5), (0.01, 0.014, 0.02, 0.022))
    return ModelDescription(
        name="all_surfaces",
        credits=CREDITS,
        bodies=[upper_body, lower_body],
        joints=[
            Joint(
                "UniversalJoint",
                "shoulder",
                ground,
                upper,
                [Coordinate("lift", range=(-0.9, 1.2)), Coordinate("twist", range=(-0.6, 0.6))],
                [],
            ),
            Joint(
                "PinJoint",
                "elbow",
                "/jointset/elbow/near",
                lower,
                [Coordinate("bend", default_value=0.8, range=(0.0, 2.2))],
                [OffsetFrame("near", upper, (0.0, -0.3, 0.0), (0.05, 0.1, 0.0))],
            ),
        ],
        muscles=[
            muscle(
                "rolled",
                [fixed("rolled-P1", upper, (-0.02, -0.12, 0.012)), fixed("rolled-P2", lower, (-0.015, -0.08, -0.01))],
                over(f"{lower}/roll"),
            ),
            muscle(
                "balled",
                [fixed("balled-P1", ground, (0.01, 0.06, 0.05)), fixed("balled-P2", upper, (0.012, -0.1, 0.03))],
                over(f"{upper}/ball"),
            ),
            muscle(
                "egged",
                [fixed("egged-P1", ground, (-0.04, 0.07, -0.02)), fixed("egged-P2", upper, (-0.005, -0.12, -0.03))],
                over(f"{upper}/egg"),
            ),
            muscle(
                "ringed",
                [fixed("ringed-P1", ground, (0.03, 0.05, 0.06)), fixed("ringed-P2", lower, (0.02, -0.05, -0.01))],
                over(f"{upper}/ring"),
            ),
            muscle(
                "chained",
                [fixed("chained-P1", ground, (-0.02, 0.07, 0.05)), fixed("chained-P2", lower, (-0.03, -0.1, 0.0))],
                over(f"{lower}/roll"),
                over(f"{upper}/ball"),
                over(f"{upper}/egg"),
            ),
            muscle(
                "mixed",
                [
                    fixed("mixed-P1", ground, (-0.03, 0.04, -0.03)),
                    MovingPathPoint(
                        "mixed-P2", upper, (ramp, Constant(-0.1), Constant(0.02)), ("bend", "bend", "bend")
                    ),
                    ConditionalPathPoint("mixed-P3", upper, (-0.02, -0.22, 0.01), "bend", (0.6, 2.2)),
                    fixed("mixed-P4", lower, (-0.02, -0.06, 0.01)),
                    fixed("mixed-P5", lower, (-0.01, -0.14, 0.0)),
                ],
                over(f"{lower}/free_roll", 2, 4),
                over(f"{upper}/ball", 1, 2),
                over(f"{upper}/idle"),
            ),
            muscle(
                "sided",
                [fixed("sided-P1", upper, (-0.03, -0.18, 0.02)), fixed("sided-P2", lower, (-0.02, -0.09, -0.005))],
                over(f"{lower}/sided_ball"),
            ),
        ],
    )


BENCHES = {"all_joints": all_joints, "all_constraints": all_constraints, "all_surfaces": all_surfaces}

if __name__ == "__main__":
    for name, describe in BENCHES.items():
        write_osim(describe(), FOLDER / f"{name}.osim")
