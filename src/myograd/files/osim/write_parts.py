"""Each kind of element of a `ModelDescription` as the `Node` that OpenSim 4.6 reads."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from myograd.errors import ModelError, nearest
from myograd.files.osim.classes import JOINTS, WRAP_OBJECTS
from myograd.files.osim.write_values import flag, function, leaf, listing, scalar, vector
from myograd.model.description import (
    AnyPathPoint,
    Body,
    ConditionalPathPoint,
    Constant,
    ConstantDistanceConstraint,
    Constraint,
    Coordinate,
    CoordinateCoupler,
    Joint,
    Marker,
    ModelDescription,
    MovingPathPoint,
    Muscle,
    Node,
    OffsetFrame,
    Path,
    PathWrap,
    WeldConstraint,
    WrapObject,
)

AXIS_NAMES = ("rotation1", "rotation2", "rotation3", "translation1", "translation2", "translation3")


class Names:
    """What the sockets of a model may refer to."""

    def __init__(self, description: ModelDescription):
        self.frames = set(description.frames())
        self.coordinates: dict[str, str] = {}
        for owner in description.joints:
            for it in owner.coordinates:
                if it.name in self.coordinates:
                    raise ModelError(f"{self.coordinates[it.name]} and joint {owner.name!r} share a coordinate's name")
                self.coordinates[it.name] = f"/jointset/{owner.name}/{it.name}"
        self.contacts = [contact.name for contact in description.contacts]
        # OpenSim looks wrapping surfaces up by bare name and takes the first.
        self.first_wrap: dict[str, str] = {}
        for path, wrap in description.wrap_objects().items():
            self.first_wrap.setdefault(wrap.name, path)

    def frame(self, path: str) -> str:
        if path not in self.frames:
            raise ModelError(f"there is no frame {path!r}{nearest(path, sorted(self.frames))}")
        return path

    def coordinate(self, name: str) -> str:
        """The path of the coordinate called `name`."""
        if name not in self.coordinates:
            raise ModelError(f"there is no coordinate {name!r}{nearest(name, self.coordinates)}")
        return self.coordinates[name]

    def wrap_object(self, path: str) -> str:
        """The bare name of the surface at `path`."""
        name = path.rpartition("/")[2]
        if name not in self.first_wrap:
            raise ModelError(f"there is no wrap object {path!r}{nearest(path, self.first_wrap.values())}")
        if self.first_wrap[name] != path:
            raise ModelError(
                f"the wrap object {path!r} is hidden by {self.first_wrap[name]!r}: OpenSim finds wrap objects by name "
                "alone, so one of the two needs another name"
            )
        return name


@runtime_checkable
class CarriedAlong(Protocol):
    def take(self, group: str) -> list[Node]: ...


# Frames and bodies -------------------------------------------------------------------------------------------


def wrap_object(it: WrapObject) -> Node:
    match it.kind:
        case "WrapCylinder":
            sizes = [scalar("radius", it.radius), scalar("length", it.length)]
        case "WrapSphere":
            sizes = [scalar("radius", it.radius)]
        case "WrapEllipsoid":
            sizes = [vector("dimensions", it.dimensions)]
        case "WrapTorus":
            sizes = [scalar("inner_radius", it.inner_radius), scalar("outer_radius", it.outer_radius)]
        case _:
            raise ModelError(f"wrap object {it.name!r}: there is no kind {it.kind!r}{nearest(it.kind, WRAP_OBJECTS)}")
    properties = [
        flag("active", it.active),
        vector("xyz_body_rotation", it.rotation),
        vector("translation", it.translation),
        leaf("quadrant", it.quadrant),
        *it.appearance,
        *sizes,
    ]
    return Node(it.kind, {"name": it.name}, children=properties)


def _frame_content(it: Body | OffsetFrame, path: str, names: Names, parts: CarriedAlong) -> list[Node]:
    """What ground, bodies and offset frames have in common."""
    wraps = [wrap_object(wrap) for wrap in it.wraps]
    components = [offset_frame(frame, f"{path}/{frame.name}", names, parts) for frame in it.frames]
    return [
        *listing("components", components + parts.take(path)),
        *listing("attached_geometry", it.geometry),
        *([Node("WrapObjectSet", {"name": "wrapobjectset"}, children=listing("objects", wraps))] if wraps else []),
    ]


def offset_frame(it: OffsetFrame, path: str, names: Names, parts: CarriedAlong) -> Node:
    properties = [
        *_frame_content(it, path, names, parts),
        leaf("socket_parent", names.frame(it.parent)),
        vector("translation", it.translation),
        vector("orientation", it.orientation),
    ]
    return Node("PhysicalOffsetFrame", {"name": it.name}, children=properties)


def body(it: Body, path: str, names: Names, parts: CarriedAlong) -> Node:
    """A `Body`, or, at `/ground`, the `Ground`, which has no mass properties."""
    content = _frame_content(it, path, names, parts)
    if path == "/ground":
        return Node("Ground", {"name": "ground"}, children=content)
    mass = [scalar("mass", it.mass), vector("mass_center", it.mass_center), vector("inertia", it.inertia)]
    return Node("Body", {"name": it.name}, children=content + mass)


# Joints ------------------------------------------------------------------------------------------------------


def coordinate(it: Coordinate) -> Node:
    prescribed = [function(it.prescribed_function)] if it.prescribed_function is not None else []
    properties = [
        scalar("default_value", it.default_value),
        scalar("default_speed_value", it.default_speed),
        vector("range", it.range),
        flag("clamped", it.clamped),
        flag("locked", it.locked),
        *listing("prescribed_function", prescribed),
        flag("prescribed", it.prescribed),
        flag("is_free_to_satisfy_constraints", it.free_to_satisfy_constraints),
    ]
    return Node("Coordinate", {"name": it.name}, children=properties)


def joint(it: Joint, names: Names, parts: CarriedAlong) -> Node:
    if it.kind not in JOINTS:
        raise ModelError(f"there is no kind of joint {it.kind!r}{nearest(it.kind, JOINTS)}")
    path = f"/jointset/{it.name}"
    frames = [offset_frame(frame, f"{path}/{frame.name}", names, parts) for frame in it.frames]
    properties = [
        *listing("components", parts.take(path)),
        leaf("socket_parent_frame", names.frame(it.parent_frame)),
        leaf("socket_child_frame", names.frame(it.child_frame)),
        *listing("coordinates", [coordinate(c) for c in it.coordinates]),
        *listing("frames", frames),
    ]
    if it.kind == "CustomJoint":
        properties.append(_spatial_transform(it, names))
    if it.kind == "EllipsoidJoint":
        properties.append(vector("radii_x_y_z", it.radii))
    return Node(it.kind, {"name": it.name}, children=properties)


def _spatial_transform(it: Joint, names: Names) -> Node:
    if len(it.transform) != len(AXIS_NAMES):
        raise ModelError(f"a CustomJoint has six axes ({', '.join(AXIS_NAMES)}), this one has {len(it.transform)}")
    axes = []
    for axis, name in zip(it.transform, AXIS_NAMES, strict=True):
        for coordinate_name in axis.coordinates:
            names.coordinate(coordinate_name)
        properties = [
            leaf("coordinates", " ".join(axis.coordinates)),
            vector("axis", axis.axis),
            function(axis.function, "function"),
        ]
        axes.append(Node("TransformAxis", {"name": name}, children=properties))
    return Node("SpatialTransform", children=axes)


# Constraints -------------------------------------------------------------------------------------------------


def constraint(it: Constraint, names: Names, parts: CarriedAlong) -> Node:
    path = f"/constraintset/{it.name}"
    components = parts.take(path)
    if isinstance(it, CoordinateCoupler):
        kind = "CoordinateCouplerConstraint"
        for name in (*it.independent, it.dependent):
            names.coordinate(name)
        properties = [
            Node("coupled_coordinates_function", children=[function(it.function)]),
            leaf("independent_coordinate_names", " ".join(it.independent)),
            leaf("dependent_coordinate_name", it.dependent),
            scalar("scale_factor", it.scale),
        ]
    else:
        kind = type(it).__name__
        frames = [offset_frame(frame, f"{path}/{frame.name}", names, parts) for frame in it.frames]
        sockets = ("frame1", "frame2") if isinstance(it, WeldConstraint) else ("body_1", "body_2")
        properties = [
            leaf(f"socket_{sockets[0]}", names.frame(it.frame1)),
            leaf(f"socket_{sockets[1]}", names.frame(it.frame2)),
        ]
        if isinstance(it, WeldConstraint):
            properties += listing("frames", frames)
        else:
            components += frames  # the point constraints own frames like any other component
            properties += [vector("location_body_1", it.location1), vector("location_body_2", it.location2)]
        if isinstance(it, ConstantDistanceConstraint):
            properties.append(scalar("constant_distance", it.distance))
    properties = [*listing("components", components), flag("isEnforced", it.enforced), *properties]
    return Node(kind, {"name": it.name}, children=properties)


# Markers and muscles -----------------------------------------------------------------------------------------


def marker(it: Marker, names: Names) -> Node:
    properties = [
        leaf("socket_parent_frame", names.frame(it.frame)),
        vector("location", it.location),
        flag("fixed", it.fixed),
    ]
    return Node("Marker", {"name": it.name}, children=properties)


def path_point(it: AnyPathPoint, names: Names) -> Node:
    properties = [leaf("socket_parent_frame", names.frame(it.frame))]
    match it:
        case MovingPathPoint():
            properties += _moving_location(it, names)
        case ConditionalPathPoint():
            properties += [
                vector("location", it.location),
                leaf("socket_coordinate", names.coordinate(it.coordinate)),
                vector("range", it.range),
            ]
        case _:
            properties.append(vector("location", it.location))
    return Node(type(it).__name__, {"name": it.name}, children=properties)


def _moving_location(it: MovingPathPoint, names: Names) -> list[Node]:
    """OpenSim loads a moving point only if all three functions name the same coordinate.

    A Constant that names none may as well name the others' coordinate.
    """
    used = {name for name in it.coordinates if name}
    if len(used) > 1:
        raise ModelError(
            f"the path point {it.name!r} depends on several coordinates ({', '.join(sorted(used))}); OpenSim allows one"
        )
    unnamed = [f for name, f in zip(it.coordinates, it.functions, strict=True) if not name]
    if not all(isinstance(f, Constant) for f in unnamed):
        raise ModelError(f"the path point {it.name!r} has a function without coordinate; only a Constant needs none")
    sockets = [leaf(f"socket_{axis}_coordinate", names.coordinate(name)) for name in used for axis in "xyz"]
    locations = [Node(f"{axis}_location", children=[function(f)]) for axis, f in zip("xyz", it.functions, strict=True)]
    return sockets + locations


def path_wrap(it: PathWrap, names: Names) -> Node:
    properties = [
        leaf("wrap_object", names.wrap_object(it.wrap_object)),
        leaf("method", it.method),
        leaf("range", " ".join(map(str, it.range))),
    ]
    return Node("PathWrap", {"name": it.name} if it.name else {}, children=properties)


def geometry_path(it: Path, names: Names) -> Node:
    points = Node("objects", children=[path_point(point, names) for point in it.points])
    wraps = [path_wrap(wrap, names) for wrap in it.wraps]
    properties = [
        *it.appearance,
        Node("PathPointSet", {"name": "pathpointset"}, children=[points]),
        *([Node("PathWrapSet", {"name": "pathwrapset"}, children=listing("objects", wraps))] if wraps else []),
    ]
    return Node("GeometryPath", {"name": it.name}, children=properties)


def muscle(it: Muscle, names: Names) -> Node:
    properties = [
        flag("appliesForce", it.applies_force),
        # A path of another class than GeometryPath has no points here; it is kept among the properties.
        *([geometry_path(it.path, names)] if it.path.points else []),
        scalar("max_isometric_force", it.max_isometric_force),
        scalar("optimal_fiber_length", it.optimal_fiber_length),
        scalar("tendon_slack_length", it.tendon_slack_length),
        scalar("pennation_angle_at_optimal", it.pennation_angle),
        scalar("max_contraction_velocity", it.max_contraction_velocity),
        *(Node(name, children=[function(curve)]) for name, curve in it.curves.items()),
        *_muscle_numbers(it),
        *it.properties,
    ]
    return Node(it.kind, {"name": it.name}, children=properties)


def _muscle_numbers(it: Muscle) -> list[Node]:
    """What only the class has: flags, numbers, and curves with theirs."""
    found = [flag(tag, value) for tag, value in it.flags.items()]
    curves: dict[str, list[Node]] = {}
    for name, value in it.numbers.items():
        curve, _, parameter = name.rpartition("/")
        (curves.setdefault(curve, []) if curve else found).append(scalar(parameter, value))
    return found + [Node(tag, {"name": f"{it.name}_{tag}"}, children=children) for tag, children in curves.items()]
