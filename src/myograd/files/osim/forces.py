"""Forces and actuators other than muscles, and contact geometry. Sockets are resolved later, by `references`.

Properties that are numbers are read, and written, by the fields of the dataclasses, which have their names and defaults.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from myograd.files.osim.classes import PATHS
from myograd.files.osim.fields import Fields, Source
from myograd.files.osim.frames import appearance_of, read_frames
from myograd.files.osim.functions import check_arguments, read_function
from myograd.files.osim.muscles import read_path
from myograd.files.osim.xml import objects
from myograd.model.description import (
    LIGAMENT_CURVE,
    BushingForce,
    ContactGeometry,
    ContactParameters,
    CoordinateActuator,
    CoordinateLimitForce,
    Force,
    HuntCrossleyForce,
    Ligament,
    Node,
    Path,
    PathActuator,
    PathSpring,
    PointToPointSpring,
    SmoothSphereHalfSpaceForce,
    SpringGeneralizedForce,
)
from myograd.model.description.forces import NOT_NEGATIVE, POSITIVE

READ_FORCES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        CoordinateActuator,
        CoordinateLimitForce,
        SpringGeneralizedForce,
        PathActuator,
        PathSpring,
        Ligament,
        PointToPointSpring,
        BushingForce,
        HuntCrossleyForce,
        SmoothSphereHalfSpaceForce,
    )
}
READ_CONTACTS = ("ContactHalfSpace", "ContactSphere", "ContactEllipsoid")
APPEARANCE = ("force_visualization_radius", "force_visualization_scale_factor")


def is_computed(node: Node, contacts: dict[str, str]) -> bool:
    """Whether a force is of a class, on a path and between surfaces that are computed. `contacts`: classes of the contact
    geometry that is read, by name."""
    path = node.find("path")
    if path is not None and path.children and path.children[0].tag in PATHS[1:]:
        return False
    if any(node.find(tag) is not None for tag in PATHS[1:]):
        return False
    if node.tag == "HuntCrossleyForce":
        kinds = [contacts.get(name) for material in _materials(node) for name in _named(material.find("geometry"))]
        return None not in kinds and not ("ContactEllipsoid" in kinds and _beside_ellipsoid(kinds))
    return node.tag in READ_FORCES


def _beside_ellipsoid(kinds: list[str | None]) -> bool:
    """Whether an ellipsoid meets something other than a half space, which has no closed formula."""
    return sum(kind in ("ContactEllipsoid", "ContactSphere") for kind in kinds) > 1


def _materials(node: Node) -> list[Node]:
    """The sets of parameters of a HuntCrossleyForce, whatever the spelling."""
    holder = next((child for child in node.children if child.attributes.get("name") == "contact_parameters"), None)
    holder = holder or node.find("contact_parameters") or node.find("HuntCrossleyForce::ContactParametersSet")
    return objects(holder)


def _named(geometry: Node | None) -> list[str]:
    return [name.rpartition("/")[2] for name in geometry.text.split()] if geometry else []


def read_contact(source: Source, node: Node) -> ContactGeometry:
    fields = Fields(source, node)
    contact = ContactGeometry(node.tag, fields.name(), fields.text("socket_frame"), line=node.line)
    for name in ("location", "orientation"):
        setattr(contact, name, fields.vector(name, getattr(contact, name)))
    if node.tag == "ContactSphere":
        contact.radius = fields.number("radius", 0.0)
        if contact.radius <= 0:
            raise fields.error(f"the radius is {contact.radius:g}; it must be positive", node.find("radius"))
    elif node.tag == "ContactEllipsoid":
        contact.radii = fields.vector("radii", contact.radii)
        if min(contact.radii) <= 0:
            raise fields.error("the radii must be positive", node.find("radii"))
    contact.appearance = appearance_of(fields, contact.name)
    fields.close()
    return contact


def read_force(source: Source, node: Node) -> Force:
    """A force of one of the classes `READ_FORCES`."""
    fields, kind = Fields(source, node), READ_FORCES[node.tag]
    name = fields.name()
    known: dict[str, Any] = {"name": name, "applies_force": fields.flag("appliesForce", True), "line": node.line}
    if kind in (CoordinateActuator, CoordinateLimitForce, SpringGeneralizedForce):
        known["coordinate"] = fields.text("coordinate")
    elif kind in (PathActuator, PathSpring, Ligament):
        known["path"] = _read_path(fields)
    elif kind is PointToPointSpring:
        known["frame1"], known["frame2"] = fields.text("socket_body1"), fields.text("socket_body2")
    elif kind is BushingForce:
        known["frames"] = read_frames(fields, f"/forceset/{name}", ("frames", "components"))
        known["frame1"], known["frame2"] = fields.text("socket_frame1"), fields.text("socket_frame2")
    elif kind is HuntCrossleyForce:
        known["contact_parameters"] = [_read_parameters(source, material) for material in _materials(node)]
        fields.take_object("contact_parameters", ("HuntCrossleyForce::ContactParametersSet",))
    else:
        known["sphere"], known["half_space"] = fields.text("socket_sphere"), fields.text("socket_half_space")
        appearance = [fields.take(tag) for tag in APPEARANCE]
        known["appearance"] = [node for node in appearance if node is not None]
    if kind is Ligament:
        curve = fields.take_object("force_length_curve", ())
        known["force_length_curve"] = LIGAMENT_CURVE if curve is None else read_function(source, curve)
        check_arguments(fields, known["force_length_curve"], ("length",))
    force = kind(**known, **_numbers(fields, kind))
    fields.close()
    return force


def _read_path(fields: Fields) -> Path:
    path = fields.take_object("path", PATHS)
    if path is None or path.tag == "path":
        raise fields.error("has no path; a path has at least two points", path)
    return read_path(fields, path)


def _read_parameters(source: Source, node: Node) -> ContactParameters:
    fields = Fields(source, node)
    names = tuple(_named(fields.take("geometry")))
    parameters = ContactParameters(names, **_numbers(fields, ContactParameters))
    fields.close()
    return parameters


def _numbers(fields: Fields, kind: type) -> dict[str, Any]:
    """Properties that are numbers, vectors or flags: those of the dataclass `kind`."""
    values: dict[str, Any] = {}
    for item in dataclasses.fields(kind):
        default = None if item.default is dataclasses.MISSING else item.default
        if item.type == "float":
            limit = item.name in ("min_control", "max_control")
            standard = None if default is None else (default,)
            (values[item.name],) = fields.numbers(item.name, standard, count=1, infinite=limit)
            if values[item.name] < 0 and kind in NOT_NEGATIVE:
                raise fields.error(f"{item.name} is {values[item.name]:g}; it must not be negative")
            if values[item.name] <= 0 and item.name in POSITIVE.get(kind, ()):
                raise fields.error(f"{item.name} is {values[item.name]:g}; it must be above 0")
        elif item.type == "Vec3":
            values[item.name] = fields.vector(item.name, default)
        elif item.type == "bool" and item.name != "applies_force":
            values[item.name] = fields.flag(item.name, bool(default))
    return values
