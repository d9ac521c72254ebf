"""Ground, bodies, offset frames and wrapping surfaces.

Sockets are kept as written, for instance `../../bodyset/pelvis`; `references` resolves them once all is read.
"""

from __future__ import annotations

from myograd.errors import nearest
from myograd.files.osim.classes import WRAP_OBJECTS
from myograd.files.osim.fields import Fields, Source, unique
from myograd.files.osim.parts import keep_component
from myograd.model.description import ZERO, Body, Node, OffsetFrame, Severity, WrapObject

QUADRANTS = ("all", "x", "-x", "y", "-y", "z", "-z")


def read_ground(source: Source, node: Node) -> Body:
    ground = Body("ground", line=node.line)
    fields = Fields(source, node)
    _frame_content(fields, ground, "/ground")
    fields.close()
    return ground


def read_body(source: Source, node: Node) -> Body:
    fields = Fields(source, node)
    body = Body(fields.name(), line=node.line)
    body.mass = fields.number("mass")
    if body.mass < 0:
        raise fields.error(f"the mass is {body.mass:g}, but a mass is not negative", node.find("mass"))
    body.mass_center = fields.vector("mass_center", ZERO)
    xx, yy, zz, xy, xz, yz = fields.numbers("inertia", (0.0,) * 6, count=6)
    if min(xx, yy, zz) < 0:
        raise fields.error("a moment of inertia is negative", node.find("inertia"))
    # As in OpenSim, a body without mass has no inertia either, whatever it says.
    if body.mass > 0:
        body.inertia = (xx, yy, zz, xy, xz, yz)
    _frame_content(fields, body, f"/bodyset/{body.name}")
    fields.close()
    return body


def read_offset_frame(source: Source, node: Node, owner: str) -> OffsetFrame:
    """A `PhysicalOffsetFrame` that belongs to the component at the path `owner`."""
    fields = Fields(source, node)
    frame = OffsetFrame(fields.name(), parent="", line=node.line)
    frame.parent = fields.text("socket_parent")
    frame.translation = fields.vector("translation", ZERO)
    frame.orientation = fields.vector("orientation", ZERO)
    _frame_content(fields, frame, f"{owner}/{frame.name}")
    fields.close()
    return frame


def read_frames(fields: Fields, owner: str, tags: tuple[str, ...]) -> list[OffsetFrame]:
    """The offset frames in the lists `tags` of a component; other components there are carried along."""
    frames: list[OffsetFrame] = []
    for tag in tags:
        for node in fields.take_list(tag):
            if node.tag == "PhysicalOffsetFrame":
                frames.append(read_offset_frame(fields.source, node, owner))
                if any(frame.name == frames[-1].name for frame in frames[:-1]):
                    raise fields.error(f"has two frames called {frames[-1].name!r}", node)
            else:
                keep_component(fields.source, node, owner)
    return frames


def _frame_content(fields: Fields, frame: Body | OffsetFrame, path: str) -> None:
    """What ground, bodies and offset frames have in common."""
    source = fields.source
    frame.frames = read_frames(fields, path, ("components",))
    taken: set[str] = set()
    for node in fields.take_objects("WrapObjectSet"):
        frame.wraps.append(_read_wrap_object(source, node, taken))
    frame.geometry = fields.take_list("attached_geometry")
    for geometry in frame.geometry:
        source.note(Severity.APPEARANCE, geometry, f"drawn with {path}")
    triad = fields.take_object("frame_geometry", ("FrameGeometry",))
    if triad is not None:
        source.note(Severity.APPEARANCE, triad, f"the drawn axes of {path}; not kept", name=frame.name)


def _read_wrap_object(source: Source, node: Node, taken: set[str]) -> WrapObject:
    fields = Fields(source, node)
    if node.tag not in WRAP_OBJECTS:
        raise fields.error(f"this class of wrap object is unknown{nearest(node.tag, WRAP_OBJECTS)}")
    wrap = WrapObject(node.tag, unique(fields.name(), taken), line=node.line)
    wrap.active = fields.flag("active", True)
    wrap.rotation = fields.vector("xyz_body_rotation", ZERO)
    wrap.translation = fields.vector("translation", ZERO)
    wrap.quadrant = _quadrant(fields)
    match node.tag:
        case "WrapCylinder":
            wrap.radius, wrap.length = fields.number("radius", 1.0), fields.number("length", 1.0)
            sizes = (wrap.radius, wrap.length)
        case "WrapSphere":
            wrap.radius = fields.number("radius", 0.05)
            sizes = (wrap.radius,)
        case "WrapEllipsoid":
            sizes = wrap.dimensions = fields.vector("dimensions", (0.05, 0.05, 0.05))
        case _:
            wrap.inner_radius = fields.number("inner_radius", 0.01)
            wrap.outer_radius = fields.number("outer_radius", 0.05)
            sizes = (wrap.inner_radius, wrap.outer_radius)
            if wrap.outer_radius <= wrap.inner_radius:
                raise fields.error("the outer radius must be greater than the inner radius")
    smallest_is_zero = node.tag in ("WrapCylinder", "WrapSphere")  # OpenSim lets these vanish, not the others
    if min(sizes) < 0 or (min(sizes) == 0 and not smallest_is_zero):
        raise fields.error(f"has a size of {min(sizes):g}")
    wrap.appearance = appearance_of(fields, wrap.name)
    fields.close()
    return wrap


def _quadrant(fields: Fields) -> str:
    node = fields.take("quadrant")
    text = node.text if node is not None else "Unassigned"
    quadrant = "all" if text == "Unassigned" else text.lower().removeprefix("+")
    if quadrant not in QUADRANTS:
        raise fields.error(f"the quadrant is {text!r}{nearest(quadrant, QUADRANTS)}", node)
    return quadrant


def appearance_of(fields: Fields, name: str) -> list[Node]:
    """The `Appearance` of an object called `name`, kept for the next save."""
    node = fields.take("Appearance")
    if node is None:
        return []
    fields.source.note(Severity.APPEARANCE, node, "colour and visibility", name)
    return [node]
