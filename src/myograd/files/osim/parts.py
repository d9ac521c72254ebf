"""Elements that are carried along, not used: how much each matters, and why it is not used."""

from __future__ import annotations

from myograd.files.osim.classes import (
    CONSTRAINTS,
    CONTACT_GEOMETRIES,
    CONTROLLED_ACTUATORS,
    FORCES,
    JOINTS,
    OTHER_CONSTRAINTS,
    OTHER_JOINTS,
)
from myograd.files.osim.fields import Source
from myograd.model.description import Node, Part, Severity

_OFF = ("false", "0")


def keep_force(source: Source, node: Node, group: str = "ForceSet") -> None:
    """Any force that is not a muscle."""
    if _is_off(node, "appliesForce"):
        source.keep(group, node, Severity.CONTROL, "this force is not computed (the file has it switched off)")
    elif node.tag in CONTROLLED_ACTUATORS:
        source.keep(
            group, node, Severity.CONTROL, "this actuator is not computed; it acts only if it is given a control"
        )
    elif node.tag in FORCES:
        source.keep(group, node, Severity.FORCE, "this force is not computed")
    else:
        source.keep(group, node, Severity.FORCE, "OpenSim 4.6 has no such class of force (a plug-in may)")


def keep_constraint(source: Source, node: Node, group: str = "ConstraintSet") -> None:
    """Any constraint that is not supported."""
    if _is_off(node, "isEnforced"):
        source.keep(group, node, Severity.CONTROL, "this constraint is not computed (the file has it switched off)")
    elif node.tag in (*CONSTRAINTS, *OTHER_CONSTRAINTS):
        source.keep(group, node, Severity.MOTION, "this constraint is not computed")
    else:
        source.keep(group, node, Severity.MOTION, "OpenSim 4.6 has no such class of constraint (a plug-in may)")


def keep_others(source: Source, nodes: list[Node], group: str) -> None:
    """What the set `group` of the model holds: contact geometry, controllers, probes."""
    for node in nodes:
        if group == "ContactGeometrySet":
            source.keep(group, node, Severity.APPEARANCE, "contact is not computed; only contact forces use this")
        else:
            source.keep(group, node, Severity.CONTROL, f"not computed (of the {group})")


def keep_groups(source: Source, nodes: list[Node], group: str) -> None:
    for node in nodes:
        source.keep(f"{group}/groups", node, Severity.BOOKKEEPING, f"names a group of the {group}; not used")


def keep_component(source: Source, node: Node, owner: str) -> None:
    """A component that some other component owns. Bodies and joints have to be in their sets, to be found."""
    if node.tag == "Model":
        raise source.error(node, f"is a component of {owner}; models inside models are not supported")
    if node.tag in ("Body", *JOINTS, *OTHER_JOINTS):
        right = "BodySet" if node.tag == "Body" else "JointSet"
        raise source.error(node, f"is a component of {owner}; move it to the {right}")
    if node.tag in FORCES:
        keep_force(source, node, owner)
    elif node.tag in (*CONSTRAINTS, *OTHER_CONSTRAINTS):
        keep_constraint(source, node, owner)
    else:
        severity = Severity.APPEARANCE if node.tag in CONTACT_GEOMETRIES else Severity.CONTROL
        source.keep(owner, node, severity, f"not used (a component of {owner})")


def keep_model_components(source: Source, holder: Node | None) -> None:
    """The components that the model owns directly: one list, kept as a whole."""
    if holder is None or not holder.children:
        return
    for node in holder.children:
        if node.tag == "Model":
            raise source.error(node, "is a component of the model; models inside models are not supported")
        source.note(Severity.CONTROL, node, "not used (a component of the model)")
    source.parts.append(Part("Model", "components", "", holder, holder.line))


def _is_off(node: Node, tag: str) -> bool:
    switch = node.find(tag)
    return switch is not None and switch.text.lower() in _OFF
