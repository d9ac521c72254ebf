"""Reads an OpenSim document of any version from 3.0 to 4.6 into a `ModelDescription`.

File -> tree of nodes (`xml`) -> the same in 4.6 spelling (`upgrade`), with its defaults filled in
(`defaults`) -> dataclasses (the other modules here) -> references resolved (`references`).

What a description has no place for is either carried along as a `Part` or gone; in both cases it is in `unsupported`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from myograd.errors import DuplicateNameWarning, FileFormatError, quoted, warn
from myograd.files.osim.classes import CONSTRAINTS, MUSCLES, SETS
from myograd.files.osim.components import sort_components
from myograd.files.osim.constraints import read_constraint, read_marker
from myograd.files.osim.defaults import apply_defaults
from myograd.files.osim.fields import Fields, Source, unique
from myograd.files.osim.forces import READ_CONTACTS, is_computed, read_contact, read_force
from myograd.files.osim.frames import read_body, read_ground, read_offset_frame
from myograd.files.osim.joints import DEFAULT_RANGE, MOTION_TYPES, read_joint
from myograd.files.osim.muscles import read_muscle
from myograd.files.osim.parts import (
    keep_component,
    keep_constraint,
    keep_force,
    keep_groups,
    keep_model_components,
    keep_others,
)
from myograd.files.osim.references import resolve
from myograd.files.osim.upgrade import upgrade
from myograd.files.osim.xml import objects, read_document, walk
from myograd.model.description import (
    Coordinate,
    Joint,
    Marker,
    ModelDescription,
    Node,
    OffsetFrame,
    Severity,
    in_file_order,
)

GRAVITY = (0.0, -9.80665, 0.0)


def read_osim(path: str | os.PathLike[str]) -> ModelDescription:
    """The model in the file at `path`. Raises FileFormatError, with file and line, for whatever is wrong with it."""
    model, version = read_document(path)
    upgrade(model, version)
    source = Source(path)
    apply_defaults(source, model)
    _name_the_nameless(model)
    sort_components(model)
    description = ModelDescription(source=os.fspath(path), version=version)
    _read_model(source, model, description)
    description.others, description.unsupported = source.parts, source.unsupported
    _check_names(source, description)
    resolve(description, path)
    _connect_loose_bodies(description)
    return description


def _read_model(source: Source, model: Node, description: ModelDescription) -> None:
    """Fill the description; references stay as the file has them."""
    fields = Fields(source, model)
    description.name = fields.name()
    description.gravity = fields.vector("gravity", GRAVITY)
    description.credits = fields.text("credits", description.credits)
    description.publications = fields.text("publications", description.publications)
    description.length_units = fields.text("length_units", description.length_units)
    description.force_units = fields.text("force_units", description.force_units)
    ground = fields.take_object("ground", ("Ground",))
    if ground is not None:
        description.ground = read_ground(source, ground)
    sets: dict[str, list[Node]] = {}
    for group in SETS:
        sets[group], groups = fields.take_set(group)
        keep_groups(source, groups, group)
    for node in sets["BodySet"]:
        if node.tag != "Body":
            raise source.error(node, "is in the BodySet, but is not a <Body>")
        description.bodies.append(read_body(source, node))
    description.joints = [read_joint(source, node) for node in sets["JointSet"]]
    for node in sets["ConstraintSet"]:
        if node.tag in CONSTRAINTS:
            description.constraints.append(read_constraint(source, node))
        else:
            keep_constraint(source, node)
    for node in sets["ContactGeometrySet"]:
        if node.tag in READ_CONTACTS:
            description.contacts.append(read_contact(source, node))
        else:
            keep_others(source, [node], "ContactGeometrySet")
    surfaces = {contact.name: contact.kind for contact in description.contacts}
    for node in sets["ForceSet"]:
        if node.tag in MUSCLES:
            description.muscles.append(read_muscle(source, node))
        elif is_computed(node, surfaces):
            description.forces.append(read_force(source, node))
        else:
            keep_force(source, node)
    description.markers = [read_marker(source, node) for node in sets["MarkerSet"]]
    _rename_markers(source, description.markers)
    for group in ("ControllerSet", "ProbeSet"):
        keep_others(source, sets[group], group)
    for tag, reason in _MODEL_PROPERTIES.items():
        node = fields.take(tag)
        if node is not None:
            source.keep("Model", node, Severity.APPEARANCE, reason)
    for node in sets["ComponentSet"]:
        if node.tag == "PhysicalOffsetFrame":
            description.frames_extra.append(read_offset_frame(source, node, "/componentset"))
        else:
            keep_component(source, node, "ComponentSet")
    keep_model_components(source, fields.take("components"))
    fields.close()


_MODEL_PROPERTIES = {
    "assembly_accuracy": "constraints are always satisfied to rounding",
    "ModelVisualPreferences": "what is drawn",
}


# Names -------------------------------------------------------------------------------------------------------


def _name_the_nameless(model: Node) -> None:
    """Elements of a set need names; OpenSim calls them by their class, and numbers them if there are several."""
    for holder in walk(model):
        siblings = holder.children if holder.tag in ("components", "coordinates", "frames") else []
        siblings = objects(holder) if holder.tag in SETS else siblings
        taken = {node.attributes.get("name", "") for node in siblings}
        for node in siblings:
            if not node.attributes.get("name"):
                node.attributes["name"] = unique(node.tag.lower(), taken)


def _rename_markers(source: Source, markers: list[Marker]) -> None:
    """Markers that share a name are numbered, `heel`, `heel_0`, `heel_1`, as in OpenSim."""
    taken: set[str] = set()
    renamed = []
    for marker in markers:
        name = unique(marker.name, taken)
        if name != marker.name:
            renamed.append(f"{marker.name!r} in line {marker.line} is now {name!r}")
            marker.name = name
    if renamed:
        warn(
            f"{quoted(source.path)}: markers share a name, and were renamed, as OpenSim does: {', '.join(renamed)}",
            DuplicateNameWarning,
        )


@runtime_checkable
class _Named(Protocol):
    name: str
    line: int


def _check_names(source: Source, description: ModelDescription) -> None:
    """Names must differ, since results are labelled by them. (Those of markers do: see `_rename_markers`.)

    (OpenSim renames what is there twice, and tells coordinates apart by their joints.)
    """
    kept = [part for part in source.parts if part.group == "ForceSet"]
    groups: dict[str, Iterable[_Named]] = {
        "body": description.bodies,
        "joint": description.joints,
        "coordinate": description.coordinates(),
        "constraint": description.constraints,
        "force": in_file_order(description.muscles, description.forces, kept),
        "contact geometry": description.contacts,
        "component": description.frames_extra,
    }
    for what, elements in groups.items():
        first: dict[str, int] = {}
        for element in elements:
            if element.name in first:
                where = f" (the other in line {first[element.name]})" if first[element.name] else ""
                raise FileFormatError(
                    f"there are two {_PLURALS.get(what, what + 's')} called {element.name!r}{where}; rename one",
                    source.path,
                    element.line,
                )
            first[element.name] = element.line


_PLURALS = {"body": "bodies", "contact geometry": "contact geometries"}


# Bodies without joints ---------------------------------------------------------------------------------------


def _connect_loose_bodies(description: ModelDescription) -> None:
    """Give each group of bodies that no joint connects to ground a `FreeJoint` to ground, as OpenSim does.

    The base of a group is a body that is nobody's child, if there is one; of several, the one with the most children.
    """
    frames = description.frames()

    def body_of(path: str) -> str:
        frame = frames[path]
        while isinstance(frame, OffsetFrame):
            path = frame.parent
            frame = frames[path]
        return path

    edges = [(body_of(joint.parent_frame), body_of(joint.child_frame)) for joint in description.joints]
    connected = _reach({"/ground"}, edges)
    loose = [f"/bodyset/{body.name}" for body in description.bodies]
    while loose := [path for path in loose if path not in connected]:
        children = {path: sum(parent == path for parent, _ in edges) for path in loose}
        roots = [path for path in loose if all(child != path for _, child in edges)]
        base = max(roots or loose, key=lambda path: children[path])
        description.joints.append(_free_joint(base.removeprefix("/bodyset/")))
        connected = _reach(connected | {base}, edges)


def _reach(start: set[str], edges: Sequence[tuple[str, str]]) -> set[str]:
    reached, waiting = set(start), True
    while waiting:
        found = {b for pair in edges for a, b in (pair, pair[::-1]) if a in reached and b not in reached}
        reached |= found
        waiting = bool(found)
    return reached


def _free_joint(body: str) -> Joint:
    joint = Joint("FreeJoint", f"free_{body}", "/ground", f"/bodyset/{body}")
    joint.coordinates = [
        Coordinate(f"{joint.name}_coord_{i}", range=DEFAULT_RANGE, motion_type=motion_type)
        for i, motion_type in enumerate(MOTION_TYPES["FreeJoint"])
    ]
    return joint
