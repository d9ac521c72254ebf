"""Puts what a model owns directly, or in its `ComponentSet`, into the sets where it belongs.

OpenSim 4 lets a model own bodies, joints and forces as plain `components`, and finds them there. Here, only frames and
what is not used stay in the `ComponentSet`. What moves gets another path, so the sockets that name it change too.
"""

from __future__ import annotations

from myograd.files.osim_classes import (
    CONSTRAINTS,
    CONTACT_GEOMETRIES,
    CONTROLLERS,
    FORCES,
    JOINTS,
    OTHER_CONSTRAINTS,
    OTHER_JOINTS,
    PROBES,
)
from myograd.files.osim_xml import objects, take, walk
from myograd.model.description import Node

_SET_OF = {
    "Body": "BodySet",
    "Marker": "MarkerSet",
    **dict.fromkeys((*JOINTS, *OTHER_JOINTS), "JointSet"),
    **dict.fromkeys((*CONSTRAINTS, *OTHER_CONSTRAINTS), "ConstraintSet"),
    **dict.fromkeys(FORCES, "ForceSet"),
    **dict.fromkeys(CONTROLLERS, "ControllerSet"),
    **dict.fromkeys(PROBES, "ProbeSet"),
    **dict.fromkeys(CONTACT_GEOMETRIES, "ContactGeometrySet"),
}


def sort_components(model: Node) -> dict[str, str]:
    """Move the components of a `<Model>` into its sets, in place. Returns their new paths by their old ones."""
    moved: dict[str, str] = {}
    loose = take(model, "components")
    for node in reversed(loose.children if loose else []):  # OpenSim finds these before those in the sets
        _deepen(node, 1)
        _move(model, node, "", moved, first=True)
    for node in [node for node in objects(model.find("ComponentSet")) if node.tag in _SET_OF]:
        objects(model.find("ComponentSet")).remove(node)
        _move(model, node, "/componentset", moved, first=False)
    if moved:
        for node in walk(model):
            if node.tag.startswith("socket_"):
                node.text = " ".join(relocate(path, moved) for path in node.text.split())
    return moved


def relocate(path: str, moved: dict[str, str]) -> str:
    """Where an absolute path leads after the move."""
    for old, new in moved.items():
        if path == old or path.startswith(old + "/"):
            return new + path.removeprefix(old)
    return path


def _move(model: Node, node: Node, owner: str, moved: dict[str, str], first: bool) -> None:
    tag = _SET_OF.get(node.tag, "ComponentSet")
    container = model.find(tag)
    if container is None:
        container = Node(tag)
        model.children.append(container)
    content = container.find("objects")
    if content is None:
        content = Node("objects")
        container.children.append(content)
    content.children.insert(0 if first else len(content.children), node)
    name = node.attributes.get("name", "")
    moved[f"{owner}/{name}"] = f"/{tag.lower()}/{name}"


def _deepen(node: Node, depth: int) -> None:
    """Let sockets that lead out of a component reach as far as before, now that it is one level further down.

    `depth` is how many steps up lead out of the component that moves.
    """
    for child in node.children:
        if child.tag.startswith("socket_") and child.text.startswith("/".join([".."] * depth)):
            child.text = "../" + child.text
        elif child.tag in ("frames", "components", "objects", "PathPointSet"):
            for part in child.children if child.tag != "PathPointSet" else objects(child):
                _deepen(part, depth + 1)
        elif child.tag == "GeometryPath":
            _deepen(child, depth + 1)
