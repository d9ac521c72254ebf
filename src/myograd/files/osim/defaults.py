"""The `<defaults>` of a model: what an element of some class has where it does not say otherwise."""

from __future__ import annotations

from myograd.files.osim.fields import Source
from myograd.files.osim.xml import take, walk
from myograd.model.description import Node, Severity


def apply_defaults(source: Source, model: Node) -> None:
    """Give every element the properties that it lacks and that the defaults of its class have; drop the defaults.

    An object that is a property is replaced as a whole, as in OpenSim: defaults do not reach into it.
    """
    holder = take(model, "defaults")
    if holder is None:
        return
    defaults: dict[str, Node] = {}
    for node in holder.children:
        defaults.setdefault(node.tag, node)
    used: set[str] = set()
    for node in walk(model):
        default = defaults.get(node.tag)
        if default is not None:
            used.add(node.tag)
            present = {key for child in node.children for key in _keys(child)}
            node.children += [child for child in default.children if not present & _keys(child)]
    for node in holder.children:
        if node.tag not in used:
            source.note(Severity.BOOKKEEPING, node, "default values of a class that nothing in the model has")


def _keys(node: Node) -> set[str]:
    """How a property can be called: by its tag, or, if it is an object, by its name."""
    name = node.attributes.get("name")
    return {node.tag, name} if name else {node.tag}
