"""Joints, their coordinates, and the transform of a `CustomJoint`."""

from __future__ import annotations

import math

from myograd.errors import nearest
from myograd.files.osim.classes import FUNCTIONS, JOINTS, OTHER_FUNCTIONS
from myograd.files.osim.fields import Fields, Source
from myograd.files.osim.frames import appearance_of, read_frames
from myograd.files.osim.functions import check_arguments, read_function
from myograd.model.description import Constant, Coordinate, Joint, LinearFunction, Node, TransformAxis, Vec3

ROTATION, TRANSLATION = "rotational", "translational"

MOTION_TYPES: dict[str, tuple[str, ...]] = {
    "PinJoint": (ROTATION,),
    "SliderJoint": (TRANSLATION,),
    "WeldJoint": (),
    "UniversalJoint": (ROTATION,) * 2,
    "BallJoint": (ROTATION,) * 3,
    "GimbalJoint": (ROTATION,) * 3,
    "FreeJoint": (ROTATION,) * 3 + (TRANSLATION,) * 3,
    "PlanarJoint": (ROTATION, TRANSLATION, TRANSLATION),
    "EllipsoidJoint": (ROTATION,) * 3,
}
"""The coordinates of each joint, in order; those of a CustomJoint follow from its transform."""

AXES: dict[str, Vec3] = {
    "rotation1": (1.0, 0.0, 0.0),
    "rotation2": (0.0, 1.0, 0.0),
    "rotation3": (0.0, 0.0, 1.0),
    "translation1": (1.0, 0.0, 0.0),
    "translation2": (0.0, 1.0, 0.0),
    "translation3": (0.0, 0.0, 1.0),
}
DEFAULT_RANGE = (-10.0, 10.0)
ROUNDING = math.sqrt(2.0**-52)  # by which OpenSim lets a default value exceed the range


def read_joint(source: Source, node: Node) -> Joint:
    """A joint; its sockets are not resolved yet."""
    fields = Fields(source, node)
    if node.tag not in JOINTS:
        raise fields.error(f"this class of joint is not supported{nearest(node.tag, JOINTS)}")
    name = fields.name()
    joint = Joint(node.tag, name, fields.text("socket_parent_frame"), fields.text("socket_child_frame"), line=node.line)
    joint.frames = read_frames(fields, f"/jointset/{name}", ("frames", "components"))
    listed = fields.take("coordinates")
    coordinates = [read_coordinate(source, child) for child in listed.children] if listed else []
    if node.tag == "CustomJoint":
        joint.transform = _read_transform(fields)
        joint.coordinates = _in_transform_order(fields, joint.transform, coordinates)
    else:
        joint.coordinates = _in_joint_order(fields, joint.kind, coordinates, given=listed is not None)
    if node.tag == "EllipsoidJoint":
        joint.radii = fields.vector("radii_x_y_z", None)
        if min(joint.radii) <= 0:
            raise fields.error("the radii of an ellipsoid are positive", node.find("radii_x_y_z"))
        appearance_of(fields, name)
    fields.close()
    return joint


def read_coordinate(source: Source, node: Node) -> Coordinate:
    fields = Fields(source, node)
    if node.tag != "Coordinate":
        raise fields.error("should be a <Coordinate>")
    coordinate = Coordinate(fields.name(), line=node.line)
    coordinate.default_value = fields.number("default_value", 0.0)
    coordinate.default_speed = fields.number("default_speed_value", 0.0)
    low, high = fields.numbers("range", DEFAULT_RANGE, count=2, infinite=True)
    coordinate.range = (low, high)
    coordinate.clamped = fields.flag("clamped", False)
    coordinate.locked = fields.flag("locked", False)
    prescribed = fields.take_list("prescribed_function")
    if prescribed:
        coordinate.prescribed_function = read_function(source, prescribed[0])
        check_arguments(fields, coordinate.prescribed_function, ("time",))
    # OpenSim switches prescribed motion off where there is no function to prescribe it.
    coordinate.prescribed = fields.flag("prescribed", False) and bool(prescribed)
    coordinate.free_to_satisfy_constraints = fields.flag("is_free_to_satisfy_constraints", False)
    if low > high:
        raise fields.error(f"the range goes from {low:g} down to {high:g}", node.find("range"))
    if coordinate.clamped and not low - ROUNDING < coordinate.default_value < high + ROUNDING:
        raise fields.error(
            f"the default value {coordinate.default_value:g} is outside the range {low:g} to {high:g}, and the "
            "coordinate is clamped",
            node.find("default_value"),
        )
    fields.close()
    return coordinate


def _in_joint_order(fields: Fields, kind: str, coordinates: list[Coordinate], given: bool) -> list[Coordinate]:
    types = MOTION_TYPES[kind]
    if not given:  # OpenSim's names for the coordinates of a joint that lists none
        line = fields.node.line
        coordinates = [Coordinate(f"_coord_{i}", range=DEFAULT_RANGE, line=line) for i in range(len(types))]
    if len(coordinates) != len(types):
        raise fields.error(f"a {kind} has {len(types)} coordinates, this one has {len(coordinates)}")
    for coordinate, motion_type in zip(coordinates, types, strict=True):
        coordinate.motion_type = motion_type
    return coordinates


# CustomJoint -------------------------------------------------------------------------------------------------


def _read_transform(joint: Fields) -> list[TransformAxis]:
    node = joint.take("SpatialTransform")
    if node is None:
        raise joint.error("has no <SpatialTransform>")
    fields = Fields(joint.source, node)
    axes = []
    for name, direction in AXES.items():
        axis = fields.take_object(name, ())
        default = TransformAxis(direction, Constant(0.0), (), name)
        axes.append(default if axis is None else _read_axis(fields, axis, name))
    fields.close()
    for group in (axes[:3], axes[3:]):
        for a, b in ((0, 1), (0, 2), (1, 2)):
            if math.dist((0.0, 0.0, 0.0), _cross(group[a].axis, group[b].axis)) < 1e-5:
                raise joint.error(f"the axes {group[a].name} and {group[b].name} are parallel, or one is zero", node)
    return axes


def _read_axis(transform: Fields, node: Node, name: str) -> TransformAxis:
    fields = Fields(transform.source, node)
    if node.tag != "TransformAxis":
        raise fields.error(f"{name} should be a <TransformAxis>")
    coordinates = fields.words("coordinates")
    axis = fields.vector("axis", (1.0, 0.0, 0.0))
    given = fields.take_object("function", (*FUNCTIONS, *OTHER_FUNCTIONS))
    if given is None:
        function = Constant(0.0)
    elif given.tag != "function":
        function = read_function(fields.source, given)
    elif len(coordinates) > 1:
        raise fields.error("has several coordinates, but no function of them", given)
    else:  # an empty <function/>
        function = LinearFunction((1.0, 0.0)) if coordinates else Constant(0.0)
    check_arguments(fields, function, coordinates)
    fields.close()
    return TransformAxis(axis, function, coordinates, name, node.line)


def _in_transform_order(fields: Fields, axes: list[TransformAxis], listed: list[Coordinate]) -> list[Coordinate]:
    """The coordinates in the order in which the axes first name them, which is OpenSim's order, with motion types."""
    names = list(dict.fromkeys(name for axis in axes for name in axis.coordinates))
    if not names:
        raise fields.error("no axis depends on a coordinate; a joint that does not move is a WeldJoint")
    by_name = {coordinate.name: coordinate for coordinate in listed}
    for coordinate in listed:
        if coordinate.name not in names:
            raise fields.error(
                f"no axis depends on the coordinate {coordinate.name!r}{nearest(coordinate.name, names)}",
                Node("", line=coordinate.line),
            )
    line = fields.node.line
    coordinates = [by_name.get(name) or Coordinate(name, range=DEFAULT_RANGE, line=line) for name in names]
    for coordinate in coordinates:
        coordinate.motion_type = _motion_type(axes, coordinate.name)
    return coordinates


def _motion_type(axes: list[TransformAxis], name: str) -> str:
    """Pure motion is a slope of one on an axis; the last such axis decides. Anything else is coupled."""
    motion_type = "coupled"
    for i, axis in enumerate(axes):
        if name in axis.coordinates and isinstance(axis.function, LinearFunction):
            slope = axis.function.coefficients[0]
            if abs(slope) == 1.0:
                motion_type = ROTATION if i < 3 else TRANSLATION
    return motion_type


def _cross(a: Vec3, b: Vec3) -> Vec3:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
