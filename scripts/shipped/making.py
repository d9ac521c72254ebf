"""Small helpers to describe a body in Python."""

from __future__ import annotations

import math
from dataclasses import replace

from myograd.files.osim.write_parts import AXIS_NAMES
from myograd.model.description import (
    ZERO,
    AnyPathPoint,
    Body,
    Constant,
    Coordinate,
    Function,
    Joint,
    Muscle,
    Node,
    OffsetFrame,
    Path,
    TransformAxis,
    Vec3,
)

LICENCE = "Written for Myograd; Apache-2.0."


def cylinder_inertia(mass: float, length: float, radius: float) -> tuple[float, float, float, float, float, float]:
    """A solid cylinder along y, about its middle: xx yy zz xy xz yz, kg m^2."""
    across = mass * (3.0 * radius**2 + length**2) / 12.0
    return (across, mass * radius**2 / 2.0, across, 0.0, 0.0, 0.0)


def rod(name: str, mass: float, length: float, radius: float, up: bool = False) -> Body:
    """A uniform cylinder from the body's origin down (or up) the y axis."""
    middle = (0.0, length / 2.0 if up else -length / 2.0, 0.0)
    return Body(
        name,
        mass=mass,
        mass_center=middle,
        inertia=cylinder_inertia(mass, length, radius),
        frames=[drawn_cylinder(name, middle, length, radius)],
    )


def drawn_cylinder(body: str, middle: Vec3, length: float, radius: float) -> OffsetFrame:
    """A frame in the middle of a segment, with a cylinder to look at."""
    shape = Node(
        "Cylinder",
        {"name": f"{body}_shape"},
        children=[
            Node("socket_frame", text=".."),
            Node("radius", text=repr(radius)),
            Node("half_height", text=repr(length / 2.0)),
        ],
    )
    return OffsetFrame(f"{body}_middle", f"/bodyset/{body}", translation=middle, geometry=[shape])


def joint(
    kind: str,
    name: str,
    parent: str,
    child: str,
    coordinates: list[Coordinate],
    at: Vec3 = ZERO,
    orientation: Vec3 = ZERO,
    transform: list[TransformAxis] | None = None,
) -> Joint:
    """A joint between the frame `parent`, at the point `at` with `orientation`, and the origin of the frame `child`."""
    frame = OffsetFrame(f"{name}_at", parent, translation=at, orientation=orientation)
    return Joint(
        kind,
        name,
        parent_frame=f"/jointset/{name}/{frame.name}",
        child_frame=child,
        coordinates=coordinates,
        frames=[frame],
        transform=transform or [],
    )


def turn_and_shift(
    turn: Function, coordinate: str, x: Function | None = None, y: Function | None = None
) -> list[TransformAxis]:
    """The transform of a planar CustomJoint: `turn` about z, `x` and `y` along the axes, all of one coordinate."""

    def axis(direction: Vec3, function: Function | None) -> TransformAxis:
        if function is None:
            return TransformAxis(direction, Constant(0.0))
        return TransformAxis(direction, function, (coordinate,))

    along_x, along_y, along_z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    turns = [axis(along_z, turn), axis(along_y, None), axis(along_x, None)]
    shifts = [axis(along_x, x), axis(along_y, y), axis(along_z, None)]
    return named_axes(turns + shifts)


def named_axes(axes: list[TransformAxis]) -> list[TransformAxis]:
    """Three turns and three shifts, with the names that OpenSim gives them."""
    return [replace(axis, name=name) for axis, name in zip(axes, AXIS_NAMES, strict=True)]


def millard(
    name: str,
    points: list[AnyPathPoint],
    force: float,
    fiber: float,
    tendon: float,
    pennation_degrees: float = 0.0,
) -> Muscle:
    """A Millard2012EquilibriumMuscle with OpenSim's default curves and time constants, spelled out."""
    return Muscle(
        "Millard2012EquilibriumMuscle",
        name,
        Path(points=points),
        max_isometric_force=force,
        optimal_fiber_length=fiber,
        tendon_slack_length=tendon,
        pennation_angle=round(math.radians(pennation_degrees), 4),
        max_contraction_velocity=10.0,
        flags={"ignore_tendon_compliance": False, "ignore_activation_dynamics": False},
        numbers={
            "fiber_damping": 0.1,
            "default_activation": 0.05,
            "default_fiber_length": fiber,
            "activation_time_constant": 0.01,
            "deactivation_time_constant": 0.04,
            # Without this OpenSim sets the minimum to zero by itself, because the fibre is damped.
            "ActiveForceLengthCurve/minimum_value": 0.0,
        },
    )
