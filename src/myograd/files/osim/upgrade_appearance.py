"""The part of `osim.upgrade` that concerns only appearance: meshes, colours and visibility of old documents.

3.x kept them in `VisibleObject`, `color` and `display_preference` (0 hidden, 1 wires, 2 flat, 3 and 4 smooth);
4.x has an `Appearance` per object, and one element per mesh. The line of what is made here is that of its source.
"""

from __future__ import annotations

from myograd.files.osim.xml import take
from myograd.model.description import Node

MUSCLE_COLOR = ".8 .1 .1"
CYAN = "0 1 1"


def visible_object_to_geometry(frame: Node) -> None:
    """Make the meshes of a body from its `VisibleObject`, in offset frames where they were displaced."""
    visible = take(frame, "VisibleObject")
    geometry_set = visible.find("GeometrySet") if visible else None
    shown = geometry_set.find("objects") if geometry_set else None
    if visible is None or shown is None or not shown.children:
        return
    name = frame.attributes.get("name", "")
    attached = Node("attached_geometry", line=visible.line)
    displaced: list[Node] = []
    for i, display in enumerate(shown.children, start=1):
        mesh = _mesh(display, f"{name}_geom_{i}", _text(visible, "scale_factors"))
        moves = [_text(node, "transform") for node in (visible, display)]
        moves = [move for move in moves if any(_numbers(move))]
        if moves:
            displaced.append(_displaced(mesh, f"{name}_geom_frame_{i}", moves))
        else:
            attached.children.append(mesh)
    frame.children.append(attached)
    if displaced:
        components = frame.find("components")
        if components is None:
            components = Node("components", line=visible.line)
            frame.children.append(components)
        components.children += displaced


def _mesh(display: Node, name: str, outer_scale: str) -> Node:
    inner_scale = _text(display, "scale_factors")
    scales = zip(_numbers(inner_scale) or [1.0] * 3, _numbers(outer_scale) or [1.0] * 3, strict=False)
    mesh = Node("Mesh", {"name": name}, line=display.line)
    mesh.children = [
        Node("socket_frame", text=".."),
        Node("scale_factors", text=" ".join(f"{inner * outer:.6g}" for inner, outer in scales)),
        Node("mesh_file", text=_text(display, "geometry_file")),
        _appearance(_text(display, "color"), _text(display, "opacity"), _text(display, "display_preference")),
    ]
    return mesh


def _displaced(mesh: Node, name: str, moves: list[str]) -> Node:
    """The mesh in a frame moved by three angles and a translation; in two nested frames if there are two moves."""
    inside = mesh
    for depth, move in reversed(list(enumerate(moves))):
        values = move.split()
        frame = Node("PhysicalOffsetFrame", {"name": name if depth == 0 else f"{name}_inner"}, line=mesh.line)
        frame.children = [
            Node("socket_parent", text=".."),
            Node("translation", text=" ".join(values[3:])),
            Node("orientation", text=" ".join(values[:3])),
            Node("attached_geometry" if inside is mesh else "components", children=[inside]),
        ]
        inside = frame
    return inside


def path_color_to_appearance(path: Node) -> None:
    visible = take(path, "VisibleObject")
    color = take(path, "default_color")
    take(path, "display")
    preference = _text(visible, "display_preference") if visible else ""
    _append(path, _appearance(color.text if color else "", "", "0" if preference == "0" else ""))


def set_muscle_color(path: Node) -> None:
    """Muscles are red unless they say otherwise."""
    if path.find("default_color") is None:
        path.children.append(Node("default_color", text=MUSCLE_COLOR))


def contact_color_to_appearance(geometry: Node) -> None:
    color, preference = take(geometry, "color"), take(geometry, "display_preference")
    if color or preference:
        _append(geometry, _appearance(color.text if color else CYAN, "", preference.text if preference else ""))


def wrap_color_to_appearance(wrap: Node) -> None:
    color, preference, visible = (take(wrap, tag) for tag in ("color", "display_preference", "VisibleObject"))
    inner = _text(visible, "display_preference") if visible else ""
    outer = preference.text if preference else ""
    if color or outer or inner:
        hidden_or_how = "0" if "0" in (outer, inner) else outer if outer in ("1", "2", "3") else inner
        _append(wrap, _appearance(color.text if color else CYAN, "0.5", hidden_or_how))


def _appearance(color: str, opacity: str, preference: str) -> Node:
    properties = [("visible", "false" if preference == "0" else ""), ("opacity", opacity), ("color", color)]
    appearance = Node("Appearance", children=[Node(tag, text=text) for tag, text in properties if text])
    if preference in ("1", "2", "3"):
        representation = Node("representation", text=preference)
        appearance.children.append(Node("SurfaceProperties", children=[representation]))
    return appearance


def _append(node: Node, appearance: Node) -> None:
    if appearance.children and node.find("Appearance") is None:
        appearance.line = node.line
        node.children.append(appearance)


def _text(node: Node, tag: str) -> str:
    child = node.find(tag)
    return child.text if child else ""


def _numbers(text: str) -> list[float]:
    try:
        return [float(token) for token in text.split()]
    except ValueError:
        return []
