"""Forces other than muscles, and contact geometry, as the `Node`s that OpenSim 4.6 reads."""

from __future__ import annotations

import dataclasses
from typing import Any

from myograd.errors import ModelError, nearest
from myograd.files.osim.write_parts import CarriedAlong, Names, geometry_path, offset_frame
from myograd.files.osim.write_values import flag, function, leaf, listing, scalar, vector
from myograd.model.description import (
    BushingForce,
    ContactGeometry,
    ContactParameters,
    CoordinateActuator,
    CoordinateLimitForce,
    Force,
    HuntCrossleyForce,
    Ligament,
    Node,
    PathActuator,
    PathSpring,
    PointToPointSpring,
    SmoothSphereHalfSpaceForce,
    SpringGeneralizedForce,
)


def contact(it: ContactGeometry, names: Names) -> Node:
    sizes = {"ContactSphere": [scalar("radius", it.radius)], "ContactEllipsoid": [vector("radii", it.radii)]}
    properties = [
        leaf("socket_frame", names.frame(it.frame)),
        vector("location", it.location),
        vector("orientation", it.orientation),
        *it.appearance,
        *sizes.get(it.kind, []),
    ]
    return Node(it.kind, {"name": it.name}, children=properties)


def force(it: Force, names: Names, parts: CarriedAlong) -> Node:
    properties: list[Node]
    match it:
        case CoordinateActuator() | CoordinateLimitForce() | SpringGeneralizedForce():
            names.coordinate(it.coordinate)
            properties = [leaf("coordinate", it.coordinate)]
        case PathActuator() | PathSpring():
            properties = [geometry_path(it.path, names)]
        case Ligament():
            curve = Node("force_length_curve", children=[function(it.force_length_curve)])
            properties = [geometry_path(it.path, names), curve]
        case PointToPointSpring():
            properties = [
                leaf("socket_body1", names.frame(it.frame1)),
                leaf("socket_body2", names.frame(it.frame2)),
            ]
        case BushingForce():
            path = f"/forceset/{it.name}"
            frames = [offset_frame(frame, f"{path}/{frame.name}", names, parts) for frame in it.frames]
            properties = [
                *listing("components", parts.take(path)),
                leaf("socket_frame1", names.frame(it.frame1)),
                leaf("socket_frame2", names.frame(it.frame2)),
                *listing("frames", frames),
            ]
        case HuntCrossleyForce():
            materials = [_parameters(material, names) for material in it.contact_parameters]
            holder = Node("HuntCrossleyForce::ContactParametersSet", {"name": "contact_parameters"})
            holder.children = [Node("objects", children=materials)]
            properties = [holder]
        case SmoothSphereHalfSpaceForce():
            properties = [
                leaf("socket_sphere", f"/contactgeometryset/{_contact(it.sphere, names)}"),
                leaf("socket_half_space", f"/contactgeometryset/{_contact(it.half_space, names)}"),
                *it.appearance,
            ]
    switch = flag("appliesForce", it.applies_force)
    return Node(type(it).__name__, {"name": it.name}, children=[switch, *properties, *_numbers(it)])


def _contact(name: str, names: Names) -> str:
    if name not in names.contacts:
        raise ModelError(f"there is no contact geometry {name!r}{nearest(name, names.contacts)}")
    return name


def _parameters(it: ContactParameters, names: Names) -> Node:
    geometry = leaf("geometry", " ".join(_contact(name, names) for name in it.geometry))
    return Node("HuntCrossleyForce::ContactParameters", children=[geometry, *_numbers(it)])


def _numbers(it: Any) -> list[Node]:
    """The properties that are numbers, vectors or flags: fields of the dataclass, called alike."""
    writers = {"float": scalar, "Vec3": vector, "bool": flag}
    return [
        writers[str(item.type)](item.name, getattr(it, item.name))
        for item in dataclasses.fields(it)
        if item.type in writers and item.name != "applies_force"
    ]
