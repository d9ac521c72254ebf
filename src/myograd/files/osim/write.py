"""Writes a `ModelDescription` as an OpenSim 4.6 document.

The description becomes a tree of `Node`s, the tree becomes text. What the library does not use (`Part`s, geometry, the
other properties of muscles) is a `Node` already and goes back to where it came from, untouched. Numbers are written
with as many digits as it takes to read the same float64 again. The file is replaced in one step, once it is complete.

OpenSim finds properties by their tags, so their order is free; the order of the sets and of what they hold is not (it
is the order of coordinates, controls and states), and is kept.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable
from xml.sax.saxutils import escape, quoteattr

from myograd.errors import ModelError, nearest
from myograd.files.atomic import write_text
from myograd.files.osim.classes import SETS
from myograd.files.osim.write_forces import contact, force
from myograd.files.osim.write_parts import Names, body, constraint, joint, marker, muscle, offset_frame
from myograd.files.osim.write_values import leaf, vector
from myograd.model.description import ModelDescription, Node, Part, in_file_order

VERSION = 40600


def write_osim(description: ModelDescription, path: str | os.PathLike[str]) -> None:
    """Write `description` to `path` as a document of OpenSim 4.6. On any error, what was at `path` stays as it was."""
    write_text(path, osim_text(description))


def osim_text(description: ModelDescription) -> str:
    """The document as text."""
    return document_text(model_node(description))


def document_text(content: Node) -> str:
    """A document of OpenSim 4.6 that holds one object."""
    document = Node("OpenSimDocument", {"Version": str(VERSION)}, children=[content])
    return '<?xml version="1.0" encoding="UTF-8" ?>\n' + "".join(_lines(document, 0))


def model_node(description: ModelDescription) -> Node:
    """The `<Model>` element. Raises ModelError for what OpenSim would not load: unknown frames, repeated names, NaN."""
    names = Names(description)
    parts = _Parts(description.others)
    model = Node("Model", {"name": description.name})
    model.children += parts.take("Model")
    model.children += [
        body(description.ground, "/ground", names, parts),
        vector("gravity", description.gravity),
        leaf("credits", description.credits),
        leaf("publications", description.publications),
        leaf("length_units", description.length_units),
        leaf("force_units", description.force_units),
    ]
    elements = {
        "BodySet": _built("Body", description.bodies, lambda b: body(b, f"/bodyset/{b.name}", names, parts)),
        "JointSet": _built("Joint", description.joints, lambda j: joint(j, names, parts)),
        "ConstraintSet": _in_file_order(
            parts.take_parts("ConstraintSet"),
            (
                description.constraints,
                _built("Constraint", description.constraints, lambda c: constraint(c, names, parts)),
            ),
        ),
        "ForceSet": _in_file_order(
            parts.take_parts("ForceSet"),
            (description.muscles, _built("Muscle", description.muscles, lambda m: muscle(m, names))),
            (description.forces, _built("Force", description.forces, lambda f: force(f, names, parts))),
        ),
        "ContactGeometrySet": _in_file_order(
            parts.take_parts("ContactGeometrySet"),
            (description.contacts, _built("ContactGeometry", description.contacts, lambda c: contact(c, names))),
        ),
        "MarkerSet": _built("Marker", description.markers, lambda m: marker(m, names)),
        "ComponentSet": _built(
            "Frame", description.frames_extra, lambda f: offset_frame(f, f"/componentset/{f.name}", names, parts)
        ),
    }
    for tag in SETS:
        objects = elements.get(tag, []) + parts.take(tag)
        groups = parts.take(f"{tag}/groups")
        if objects or groups:
            content = [Node("objects", children=objects), *([Node("groups", children=groups)] if groups else [])]
            model.children.append(Node(tag, {"name": tag.lower()}, children=content))
    parts.check_all_taken()
    return model


class _Parts:
    """The elements that are carried along, by where they go."""

    def __init__(self, parts: Iterable[Part]):
        self.waiting: dict[str, list[Part]] = {}
        for part in parts:
            self.waiting.setdefault(part.group, []).append(part)
        self.known_groups = {"Model", *SETS, *(f"{tag}/groups" for tag in SETS)}

    def take_parts(self, group: str) -> list[Part]:
        self.known_groups.add(group)
        return self.waiting.pop(group, [])

    def take(self, group: str) -> list[Node]:
        return [part.node for part in self.take_parts(group)]

    def check_all_taken(self) -> None:
        for group, parts in self.waiting.items():
            raise ModelError(
                f"{parts[0].kind} {parts[0].name!r} belongs to {group!r}, which is not a part of the model"
                f"{nearest(group, sorted(self.known_groups))}"
            )


@runtime_checkable
class _Named(Protocol):
    name: str


Element = TypeVar("Element", bound=_Named)


def _built(what: str, elements: Sequence[Element], build: Callable[[Element], Node]) -> list[Node]:
    """The nodes of a set; errors name the element, names are unique."""
    nodes = []
    for element in elements:
        try:
            nodes.append(build(element))
        except ModelError as error:
            raise ModelError(f"{what} {element.name!r}: {error}") from None
    for name, count in Counter(element.name for element in elements).items():
        if count > 1:
            raise ModelError(f"{what} {name!r}: {count} have this name; names must differ")
    return nodes


@dataclass
class _Placed:
    node: Node
    line: int


def _in_file_order(parts: list[Part], *built: tuple[Sequence[Any], list[Node]]) -> list[Node]:
    """Merge parts, and nodes made from elements, by their lines in the file they were read from; see `in_file_order`."""
    lists = [[_Placed(n, e.line) for e, n in zip(elements, nodes, strict=True)] for elements, nodes in built]
    return [placed.node for placed in in_file_order(*lists, [_Placed(part.node, part.line) for part in parts])]


# Nodes as text -----------------------------------------------------------------------------------------------

# Characters that no XML 1.0 document can hold, not even escaped.
_FORBIDDEN = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF])


def _checked(text: str, node: Node) -> str:
    if text.translate(_FORBIDDEN) != text:
        raise ModelError(f"{node.tag} {node.attributes.get('name', '')!r}: {text!r} contains a control character")
    return text


def _lines(node: Node, depth: int) -> Iterable[str]:
    indent = "\t" * depth
    attributes = "".join(f" {key}={quoteattr(_checked(value, node))}" for key, value in node.attributes.items())
    text = escape(_checked(node.text, node))
    if node.children:
        yield f"{indent}<{node.tag}{attributes}>{text.strip()}\n"
        for child in node.children:
            yield from _lines(child, depth + 1)
        yield f"{indent}</{node.tag}>\n"
    elif text:
        yield f"{indent}<{node.tag}{attributes}>{text}</{node.tag}>\n"
    else:
        yield f"{indent}<{node.tag}{attributes} />\n"
