"""Brings documents of OpenSim 3.0 to 4.5 to the spelling of 4.6, on the tree of `Node`s.

This is what OpenSim 4.6 itself does while it loads an old file (the `updateFromXMLNode` of each class, with the same
version numbers), so that a file and its copy saved by OpenSim 4.6 read alike. The number in each comparison is the
version that brought the present spelling. Nothing is checked here: what is odd stays odd, and the reader complains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from myograd.files.osim import upgrade_appearance as appearance
from myograd.files.osim.classes import (
    ACTUATORS,
    CONSTRAINTS,
    CONTACT_GEOMETRIES,
    CONTROLLERS,
    FORCES,
    JOINTS,
    MUSCLES,
    OTHER_CONSTRAINTS,
    OTHER_JOINTS,
    PATH_POINTS,
    PROBES,
    RENAMED,
    WRAP_OBJECTS,
)
from myograd.files.osim.xml import objects, take, walk
from myograd.model.description import Node


def upgrade(model: Node, version: int) -> None:
    """Rewrite the `<Model>` of a document of this version, in place."""
    for node in walk(model):
        _common(node, version)
    if version < 30501:
        _move_ground_and_joints_out_of_bodies(model)
    if version < 30512:
        _move_frame_set_to_components(model)
    for joint in walk(model):
        if joint.tag in (*JOINTS, *OTHER_JOINTS):
            _joint(joint, version)
    paths = _Paths(model)
    for node in list(walk(model)):
        for change in _CHANGES.get(node.tag, ()):
            change(node, version, paths)


def frame_path(name: str) -> str:
    """Where a body of a 3.x document is in a 4.x document."""
    return "/ground" if name == "ground" else f"/bodyset/{name}"


class _Paths:
    """Where the coordinates and actuators are that old documents refer to by their names alone."""

    def __init__(self, model: Node):
        self.coordinates: dict[str, str] = {}
        for joint in objects(model.find("JointSet")):
            owner = joint.attributes.get("name") or joint.tag.lower()
            coordinates = joint.find("coordinates")
            for coordinate in coordinates.children if coordinates else []:
                name = coordinate.attributes.get("name", "")
                self.coordinates.setdefault(name, f"/jointset/{owner}/{name}")
        self.actuators = {
            force.attributes.get("name", ""): f"/forceset/{force.attributes.get('name', '')}"
            for force in objects(model.find("ForceSet"))
            if force.tag in ACTUATORS
        }


# Every element -----------------------------------------------------------------------------------------------


def _common(node: Node, version: int) -> None:
    node.tag = RENAMED.get(node.tag, node.tag)
    if version < 30500 and "name" in node.attributes:  # names could hold spaces, which are not allowed since
        node.attributes["name"] = "".join(node.attributes["name"].split())
    if version < 30508:
        connectors = take(node, "connectors")
        for connector in connectors.children if connectors else []:
            connectee = connector.find("connectee_name")
            node.children.append(_socket(connector.attributes.get("name", ""), connectee))
    if version < 30517:
        for child in node.children:
            tag = child.tag
            if version < 30510:
                tag = tag.replace("connector", "socket", 1)
            if tag.startswith(("socket_", "input_")):
                tag = tag.removesuffix("_connectee_name").removesuffix("_connectee_names")
            child.tag = tag


def _socket(name: str, connectee: Node | None) -> Node:
    return Node(f"socket_{name}", text=connectee.text if connectee else "", line=connectee.line if connectee else 0)


def _body_to_socket(node: Node, old: str, socket: str) -> None:
    """Replace the name of a body by the path to it."""
    body = take(node, old)
    if body is not None:
        node.children.append(Node(f"socket_{socket}", text=frame_path(body.text), line=body.line))


def _negate(node: Node, old: str, new: str) -> None:
    """`isDisabled` became `appliesForce`, `isEnforced` or `enabled`."""
    flag = node.find(old)
    if flag is not None:
        flag.tag = new
        flag.text = "false" if flag.text.lower() in ("true", "1") else "true"


def _as_printed(text: str) -> str:
    """Numbers as OpenSim writes them when it upgrades these elements: with six significant digits.

    Keeping more would be closer to the file, but would give other poses than OpenSim does for the same file.
    """

    def printed(token: str) -> str:
        try:
            return f"{float(token):.6g}"
        except ValueError:
            return token

    return " ".join(map(printed, text.split()))


# The model ---------------------------------------------------------------------------------------------------


def _move_ground_and_joints_out_of_bodies(model: Node) -> None:
    """3.x kept each joint in its child body, and ground among the bodies."""
    joint_set = Node("JointSet", children=[Node("objects")])
    bodies = objects(model.find("BodySet"))
    for body in list(bodies):
        name = body.attributes.get("name", "")
        holder = take(body, "Joint")
        if name == "ground":
            bodies.remove(body)
            kept = [child for child in body.children if child.tag in ("geometry", "VisibleObject", "WrapObjectSet")]
            model.children.insert(0, Node("Ground", {"name": "ground"}, children=kept, line=body.line))
        elif holder is not None and holder.children:
            joint = holder.children[0]
            parent = take(joint, "parent_body")
            joint.children += [
                _socket("parent_frame", parent),
                Node("socket_child_frame", text=name, line=body.line),
            ]
            joint_set.children[0].children.append(joint)
    model.children.append(joint_set)


def _move_frame_set_to_components(model: Node) -> None:
    frames = objects(take(model, "FrameSet"))
    if frames:
        components = model.find("components")
        if components is None:
            components = Node("components")
            model.children.append(components)
        components.children += frames


# Joints, frames and bodies -----------------------------------------------------------------------------------


def _joint(joint: Node, version: int) -> None:
    for old, new in (("socket_parent_body", "socket_parent_frame"), ("socket_child_body", "socket_child_frame")):
        socket = joint.find(old)
        if socket is not None:
            socket.tag = new
    parent, child = joint.find("socket_parent_frame"), joint.find("socket_child_frame")
    if version < 30505:
        in_child = "" if version < 30500 else "_in_child"
        location, orientation = take(joint, f"location{in_child}"), take(joint, f"orientation{in_child}")
        _offset_frame(joint, parent, take(joint, "location_in_parent"), take(joint, "orientation_in_parent"))
        _offset_frame(joint, child, location, orientation)
    if version < 30507:
        coordinates = objects(take(joint, "CoordinateSet"))
        if coordinates:
            joint.children.append(Node("coordinates", children=coordinates, line=coordinates[0].line))
    if version < 30514:
        reverse = take(joint, "reverse")
        if reverse is not None and reverse.text.lower() in ("true", "1") and parent and child:
            parent.text, child.text = child.text, parent.text


def _offset_frame(owner: Node, socket: Node | None, location: Node | None, orientation: Node | None) -> None:
    """Give `owner` a frame `<body>_offset` at this place on the body that `socket` names, and plug it in."""
    if socket is None:
        return
    body = socket.text.rpartition("/")[2]
    frame = Node("PhysicalOffsetFrame", {"name": f"{body}_offset"}, line=owner.line)
    frame.children.append(Node("socket_parent", text=frame_path(body), line=socket.line))
    for tag, old in (("translation", location), ("orientation", orientation)):
        if old is not None:
            frame.children.append(Node(tag, text=_as_printed(old.text), children=old.children, line=old.line))
    frames = owner.find("frames")
    if frames is None:
        frames = Node("frames", line=owner.line)
        owner.children.append(frames)
    frames.children.append(frame)
    socket.text = f"{body}_offset"


def _frame(frame: Node, version: int, _paths: _Paths) -> None:
    if version < 30500 and frame.tag == "Body":
        moments = []
        for component, default in zip(("xx", "yy", "zz", "xy", "xz", "yz"), "111000", strict=True):
            moment = take(frame, f"inertia_{component}")
            moments.append(_as_printed(moment.text) if moment else default)
        frame.children.append(Node("inertia", text=" ".join(moments), line=frame.line))
    if version < 30502:
        appearance.visible_object_to_geometry(frame)
    if version < 30506:
        geometry = take(frame, "geometry")
        if geometry is not None:
            geometry.tag = "components"
            frame.children.append(geometry)


def _coordinate(coordinate: Node, version: int, _paths: _Paths) -> None:
    if version < 30514:
        take(coordinate, "motion_type")  # decided by the joint since


# Constraints, markers and paths ------------------------------------------------------------------------------


def _constraint(constraint: Node, version: int, _paths: _Paths) -> None:
    if version < 30509:
        _negate(constraint, "isDisabled", "isEnforced")
    if version < 30500 and constraint.tag != "WeldConstraint":
        for body in ("body_1", "body_2", "line_body", "follower_body", "rolling_body", "surface_body"):
            _body_to_socket(constraint, body, body)


def _two_frame_linker(linker: Node, version: int, _paths: _Paths) -> None:
    if version >= 30505:
        return
    for i in (1, 2):
        body = take(linker, f"body_{i}")
        if body is None:
            continue
        socket = Node(f"socket_frame{i}", text=frame_path(body.text), line=body.line)
        linker.children.append(socket)
        location, orientation = take(linker, f"location_body_{i}"), take(linker, f"orientation_body_{i}")
        if not (_is_zero(location) and _is_zero(orientation)):
            _offset_frame(linker, socket, location, orientation)


def _is_zero(vector: Node | None) -> bool:
    try:
        return vector is None or not any(map(float, vector.text.split()))
    except ValueError:
        return False


def _marker(marker: Node, version: int, _paths: _Paths) -> None:
    if version < 30501:
        _body_to_socket(marker, "body", "parent_frame")


def _path_point(point: Node, version: int, paths: _Paths) -> None:
    if version < 30505:
        _body_to_socket(point, "body", "parent_frame")
        for tag in ("coordinate", "x_coordinate", "y_coordinate", "z_coordinate"):
            coordinate = take(point, tag)
            if coordinate is not None:
                name = "".join(coordinate.text.split())
                path = paths.coordinates.get(name, name)
                point.children.append(Node(f"socket_{tag}", text=path, line=coordinate.line))


def _geometry_path(path: Node, version: int, _paths: _Paths) -> None:
    if version < 30516:
        appearance.path_color_to_appearance(path)


# Forces, contact, controllers and probes ---------------------------------------------------------------------


def _force(force: Node, version: int, _paths: _Paths) -> None:
    if version < 30509:
        _negate(force, "isDisabled", "appliesForce")
    path = force.find("GeometryPath")
    if path is not None and version < 40500:
        path.attributes["name"] = "path"
    if version < 30500 and force.tag == "PointToPointSpring":
        _body_to_socket(force, "body1", "body1")
        _body_to_socket(force, "body2", "body2")
    if version < 30506 and force.tag == "PrescribedForce":
        _body_to_socket(force, "body", "frame")


def _muscle(muscle: Node, version: int, _paths: _Paths) -> None:
    if version < 30513:  # these limits of the excitation were written, but did not mean anything
        for tag, meaningless in (("min_control", 0.0), ("max_control", 1.0)):
            limit = muscle.find(tag)
            if limit is not None and _number(limit.text) == meaningless:
                muscle.children.remove(limit)
    path = muscle.find("GeometryPath")
    if version < 30516 and path is not None:
        appearance.set_muscle_color(path)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _contact_geometry(geometry: Node, version: int, _paths: _Paths) -> None:
    if version < 30505:
        _body_to_socket(geometry, "body_name", "frame")
    if version < 30507:
        appearance.contact_color_to_appearance(geometry)


def _wrap_object(wrap: Node, version: int, _paths: _Paths) -> None:
    if version < 30515:
        appearance.wrap_color_to_appearance(wrap)


def _appearance(appearance: Node, version: int, _paths: _Paths) -> None:
    representation = appearance.find("representation")
    if version < 30505 and representation is not None and representation.text == "0":
        appearance.children.append(Node("visible", text="false"))


def _controller(controller: Node, version: int, paths: _Paths) -> None:
    if version < 30509:
        _negate(controller, "isDisabled", "enabled")
    names = take(controller, "actuator_list") if version < 40600 else None
    if names is not None:
        wanted = names.text.split()
        if any(name.upper() == "ALL" for name in wanted):
            wanted = list(paths.actuators)
        text = " ".join(paths.actuators[name] for name in wanted if name in paths.actuators)
        controller.children.append(Node("socket_actuators", text=text, line=names.line))


def _probe(probe: Node, version: int, _paths: _Paths) -> None:
    if version < 30511:
        _negate(probe, "isDisabled", "enabled")


_TWO_FRAME_LINKERS = ("WeldConstraint", "BushingForce", "ExpressionBasedBushingForce", "FunctionBasedBushingForce")
Change = Callable[[Node, int, _Paths], None]
_CHANGES: dict[str, list[Change]] = {}


def _register(classes: Iterable[str], change: Change) -> None:
    for name in classes:
        _CHANGES.setdefault(name, []).append(change)


_register(("Body", "Ground", "PhysicalOffsetFrame"), _frame)
_register(("Coordinate",), _coordinate)
_register((*CONSTRAINTS, *OTHER_CONSTRAINTS), _constraint)
_register(_TWO_FRAME_LINKERS, _two_frame_linker)
_register(("Marker",), _marker)
_register(PATH_POINTS, _path_point)
_register(FORCES, _force)
_register(MUSCLES, _muscle)
_register(("GeometryPath",), _geometry_path)
_register(CONTACT_GEOMETRIES, _contact_geometry)
_register(WRAP_OBJECTS, _wrap_object)
_register(("Appearance",), _appearance)
_register(CONTROLLERS, _controller)
_register(PROBES, _probe)
