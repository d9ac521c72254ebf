"""Constraints and markers. Sockets are resolved later, by `references`."""

from __future__ import annotations

from myograd.files.osim.fields import Fields, Source
from myograd.files.osim.frames import read_frames
from myograd.files.osim.functions import check_arguments, read_function
from myograd.model.description import (
    ZERO,
    ConstantDistanceConstraint,
    Constraint,
    CoordinateCoupler,
    Marker,
    Node,
    PointConstraint,
    WeldConstraint,
)


def read_constraint(source: Source, node: Node) -> Constraint:
    """One of the four supported constraints."""
    fields = Fields(source, node)
    name, enforced = fields.name(), fields.flag("isEnforced", True)
    constraint: Constraint
    if node.tag == "CoordinateCouplerConstraint":
        constraint = _read_coupler(fields, name)
    else:
        frames = read_frames(fields, f"/constraintset/{name}", ("frames", "components"))
        if node.tag == "WeldConstraint":
            constraint = WeldConstraint(name, fields.text("socket_frame1"), fields.text("socket_frame2"), frames)
        else:
            bodies = (fields.text("socket_body_1"), fields.text("socket_body_2"))
            points = (fields.vector("location_body_1", ZERO), fields.vector("location_body_2", ZERO))
            if node.tag == "PointConstraint":
                constraint = PointConstraint(name, *bodies, *points, frames)
            else:
                distance = fields.number("constant_distance")
                if distance <= 0:
                    raise fields.error(f"the distance is {distance:g}; it must be positive")
                constraint = ConstantDistanceConstraint(name, *bodies, *points, distance, frames)
    constraint.enforced, constraint.line = enforced, node.line
    fields.close()
    return constraint


def _read_coupler(fields: Fields, name: str) -> CoordinateCoupler:
    independent = fields.words("independent_coordinate_names")
    dependent = fields.text("dependent_coordinate_name")
    functions = fields.take_list("coupled_coordinates_function")
    if not functions:
        raise fields.error("has no <coupled_coordinates_function>")
    if not independent or not dependent:
        raise fields.error("needs independent_coordinate_names and a dependent_coordinate_name")
    function = read_function(fields.source, functions[0])
    check_arguments(fields, function, independent)
    return CoordinateCoupler(name, dependent, independent, function, fields.number("scale_factor", 1.0))


def read_marker(source: Source, node: Node) -> Marker:
    fields = Fields(source, node)
    if node.tag != "Marker":
        raise fields.error("should be a <Marker>")
    frame, location = fields.text("socket_parent_frame"), fields.vector("location", ZERO)
    marker = Marker(fields.name(), frame, location, fields.flag("fixed", False), node.line)
    fields.close()
    return marker
