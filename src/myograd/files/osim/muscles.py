"""Muscles and their paths. Sockets are resolved later, by `references`."""

from __future__ import annotations

from myograd.errors import nearest
from myograd.files.osim.classes import EVERY_MUSCLE, MUSCLES, PATH_POINTS, PATHS
from myograd.files.osim.fields import Fields, Source, unique
from myograd.files.osim.frames import appearance_of
from myograd.files.osim.functions import check_arguments, read_function
from myograd.model.description import (
    ZERO,
    AnyPathPoint,
    ConditionalPathPoint,
    Constant,
    Function,
    MovingPathPoint,
    Muscle,
    Node,
    Path,
    PathPoint,
    PathWrap,
    Severity,
)
from myograd.model.description.muscle_properties import FLAGS, MILLARD, MILLARD_CURVES, NUMBERS, SPLINE_CURVES, problem

METHODS = ("hybrid", "midpoint", "axial")


def read_muscle(source: Source, node: Node) -> Muscle:
    fields = Fields(source, node)
    muscle = Muscle(node.tag, fields.name(), Path(), line=node.line)
    muscle.applies_force = fields.flag("appliesForce", True)
    muscle.max_isometric_force = fields.number("max_isometric_force", 1000.0)
    muscle.optimal_fiber_length = fields.number("optimal_fiber_length", 0.1)
    muscle.tendon_slack_length = fields.number("tendon_slack_length", 0.2)
    muscle.pennation_angle = fields.number("pennation_angle_at_optimal", 0.0)
    muscle.max_contraction_velocity = fields.number("max_contraction_velocity", 10.0)
    path = fields.take_object("path", PATHS)
    if path is None or path.tag == "path":
        raise fields.error("has no path; a path has at least two points", path)
    if path.tag == "GeometryPath":
        muscle.path = read_path(fields, path)
    elif path.tag in PATHS:
        path.attributes["name"] = "path"
        muscle.properties.append(path)
        source.note(
            Severity.FORCE, path, "this class of path is not computed: the muscle has no length", name=muscle.name
        )
    else:
        raise fields.error(f"{path.tag} is not a class of path{nearest(path.tag, PATHS)}", path)
    for tag in SPLINE_CURVES.get(node.tag, ()):
        curve = fields.take_object(tag, ())
        if curve is not None:
            muscle.curves[tag] = read_function(source, curve)
    for tag in NUMBERS.get(node.tag, ()):
        if is_stated(node.find(tag)):
            muscle.numbers[tag] = fields.number(tag)
    for tag in (tag for tag in FLAGS if tag in (*EVERY_MUSCLE, *MUSCLES[node.tag])):
        if node.find(tag) is not None:
            muscle.flags[tag] = fields.flag(tag, False)
    for tag in MILLARD_CURVES if node.tag == MILLARD else ():
        curve = fields.take(tag) or fields.take_object(tag, ())
        if curve is not None:
            _read_curve(source, curve, tag, muscle)
    for tag in (*EVERY_MUSCLE, *MUSCLES[node.tag]):
        # Curves are objects, and may be spelled either way.
        known = fields.take(tag) or fields.take_object(tag, ())
        if known is not None:
            muscle.properties.append(known)
    fields.close()
    reason = problem(muscle)
    if reason:  # its path is as good as any; only its contraction is not computed
        source.note(Severity.FORCE, node, reason)
    return muscle


def is_stated(node: Node | None) -> bool:
    """An optional property that is there without a value is not stated."""
    return node is not None and bool(node.text.strip() or node.children)


def _read_curve(source: Source, node: Node, curve: str, muscle: Muscle) -> None:
    """The shape numbers of one of Millard's curves."""
    fields = Fields(source, node)
    for name in MILLARD_CURVES[curve]:
        if is_stated(node.find(name)):
            muscle.numbers[f"{curve}/{name}"] = fields.number(name)
        else:
            fields.take(name)
    fields.close()


def read_path(muscle: Fields, node: Node) -> Path:
    fields = Fields(muscle.source, node)
    path = Path(line=node.line)
    taken: set[str] = set()
    for child in fields.take_objects("PathPointSet"):
        path.points.append(_read_point(muscle, child, taken))
    for child in fields.take_objects("PathWrapSet"):
        path.wraps.append(_read_wrap(muscle, child, taken))
    name = muscle.node.attributes.get("name", "")
    path.appearance = appearance_of(fields, name)
    fields.close()
    if len(path.points) < 2:
        raise muscle.error(f"a path needs at least two points, this one has {len(path.points)}", node)
    return path


def _read_point(muscle: Fields, node: Node, taken: set[str]) -> AnyPathPoint:
    fields = Fields(muscle.source, node)
    if node.tag not in PATH_POINTS:
        raise fields.error(f"this class of path point is unknown{nearest(node.tag, PATH_POINTS)}")
    name, frame = unique(fields.name(), taken), fields.text("socket_parent_frame")
    point: AnyPathPoint
    if node.tag == "PathPoint":
        point = PathPoint(name, frame, fields.vector("location", ZERO), node.line)
    elif node.tag == "ConditionalPathPoint":
        location, coordinate = fields.vector("location", ZERO), fields.text("socket_coordinate")
        low, high = fields.numbers("range", (0.0, 0.0), count=2, infinite=True)
        point = ConditionalPathPoint(name, frame, location, coordinate, (low, high), node.line)
    else:
        x, y, z = (fields.text(f"socket_{axis}_coordinate") for axis in "xyz")
        functions = (_location(fields, "x"), _location(fields, "y"), _location(fields, "z"))
        point = MovingPathPoint(name, frame, functions, (x, y, z), node.line)
        fields.take("location")  # 3.x wrote one here too; it never meant anything
    fields.close()
    return point


def _location(fields: Fields, axis: str) -> Function:
    node = fields.take_object(f"{axis}_location", ())
    if node is None:
        return Constant(0.0)
    if node.tag == f"{axis}_location":
        raise fields.error(f"{axis}_location has no function", node)
    function = read_function(fields.source, node)
    check_arguments(fields, function, (f"{axis}_coordinate",))
    return function


def _read_wrap(muscle: Fields, node: Node, taken: set[str]) -> PathWrap:
    fields = Fields(muscle.source, node)
    if node.tag != "PathWrap":
        raise fields.error("should be a <PathWrap>")
    name = unique(fields.name(), taken)
    surface = fields.text("wrap_object")
    method = fields.choice("method", "hybrid", (*METHODS, "unassigned"))
    first, last = fields.numbers("range", (-1.0, -1.0), count=2)
    if first != int(first) or last != int(last):
        raise fields.error("the range counts path points, but is not in whole numbers", node.find("range"))
    fields.close()
    method = "hybrid" if method == "unassigned" else method
    return PathWrap(surface, name, method, (int(first), int(last)), node.line)
