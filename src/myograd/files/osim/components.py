"""Puts what a model owns directly, or in its `ComponentSet`, into the sets where it belongs.

OpenSim 4 lets a model own bodies, joints and forces as plain `components`, and finds them there. Here, they go to their
sets, and frames to the `ComponentSet`; anything else stays. What moves gets another path, so the sockets that name it
change too.
"""

from __future__ import annotations

from collections.abc import Iterator

from myograd.files.osim.classes import (
    CONSTRAINTS,
    CONTACT_GEOMETRIES,
    CONTROLLERS,
    FORCES,
    JOINTS,
    OTHER_CONSTRAINTS,
    OTHER_JOINTS,
    PROBES,
)
from myograd.files.osim.xml import objects
from myograd.model.description import Node

_SET_OF = {
    "PhysicalOffsetFrame": "ComponentSet",
    "Body": "BodySet",
    "Marker": "MarkerSet",
    **dict.fromkeys((*JOINTS, *OTHER_JOINTS), "JointSet"),
    **dict.fromkeys((*CONSTRAINTS, *OTHER_CONSTRAINTS), "ConstraintSet"),
    **dict.fromkeys(FORCES, "ForceSet"),
    **dict.fromkeys(CONTROLLERS, "ControllerSet"),
    **dict.fromkeys(PROBES, "ProbeSet"),
    **dict.fromkeys(CONTACT_GEOMETRIES, "ContactGeometrySet"),
}
_MODEL_SETS = set(_SET_OF.values())


def sort_components(model: Node) -> None:
    """Move the components of a `<Model>` into its sets, in place. Elements of sets and lists have names by now."""
    loose, in_set = model.find("components"), objects(model.find("ComponentSet"))
    first = [node for node in (loose.children if loose else []) if node.tag in _SET_OF]
    last = [node for node in in_set if node.tag in _SET_OF and node.tag != "PhysicalOffsetFrame"]
    moved = {f"/{_name(node)}": f"/{_SET_OF[node.tag].lower()}/{_name(node)}" for node in first}
    moved |= {f"/componentset/{_name(node)}": f"/{_SET_OF[node.tag].lower()}/{_name(node)}" for node in last}
    if not moved:
        return
    for node, path in _components(model, ""):
        for socket in node.children:
            if socket.tag.startswith("socket_"):
                socket.text = " ".join(_retarget(target, path, moved) for target in socket.text.split())
    for node in reversed(first):  # OpenSim finds these before those in the sets
        _move(model, node, loose.children if loose else [], at=0)
    for node in last:
        _move(model, node, in_set, at=None)


def absolute(socket: str, owner: str) -> str:
    """The absolute path of `socket`, as seen from the component at `owner`."""
    steps: list[str] = [] if socket.startswith("/") else owner.strip("/").split("/")
    for step in socket.split("/"):
        if step == "..":
            steps = steps[:-1]
        elif step not in ("", "."):
            steps.append(step)
    return "/" + "/".join(steps)


def _retarget(target: str, owner: str, moved: dict[str, str]) -> str:
    """What a socket of the component at `owner` has to say after the move, if it says `target` before."""
    new = _relocate(absolute(target, owner), moved)
    return target if absolute(target, _relocate(owner, moved)) == new else new


def _relocate(path: str, moved: dict[str, str]) -> str:
    for old, new in moved.items():
        if path == old or path.startswith(old + "/"):
            return new + path.removeprefix(old)
    return path


def _components(node: Node, path: str) -> Iterator[tuple[Node, str]]:
    """A component and all that it owns, with their paths."""
    yield node, path
    for child in node.children:
        if child.tag in _MODEL_SETS:
            below = [(part, f"{path}/{child.tag.lower()}/{_name(part)}") for part in objects(child)]
        elif child.tag in ("components", "frames", "coordinates", "attached_geometry"):
            below = [(part, f"{path}/{_name(part)}") for part in child.children]
        elif child.tag == "PathPointSet":
            below = [(part, f"{path}/{_name(part)}") for part in objects(child)]
        elif child.tag == "path":
            below = [(part, f"{path}/path") for part in child.children]
        elif child.tag in ("Ground", "GeometryPath"):
            below = [(child, f"{path}/{_name(child)}")]
        else:
            below = []
        for part, part_path in below:
            yield from _components(part, part_path)


def _name(node: Node) -> str:
    return node.attributes.get("name") or node.tag.lower()


def _move(model: Node, node: Node, source: list[Node], at: int | None) -> None:
    source.remove(node)
    tag = _SET_OF[node.tag]
    container = model.find(tag)
    if container is None:
        container = Node(tag)
        model.children.append(container)
    content = container.find("objects")
    if content is None:
        content = Node("objects")
        container.children.append(content)
    content.children.insert(len(content.children) if at is None else at, node)
