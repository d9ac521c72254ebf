"""From joints in a file to a tree rooted in ground: which joint carries which body, in what order, which ones close loops.

Bodies are ordered by their distance from ground, so that the poses of one level follow from those of the level before.
A joint whose child is nearer to ground than its parent carries the parent, and is *reversed*. A joint between two
bodies that are both carried already closes a loop: a copy of its child is hung on it, which takes an equal share of the
child's mass, and a weld constraint joins the two (as Simbody does).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...errors import ModelError
from ..description import Joint, ModelDescription, OffsetFrame


@dataclass
class Link:
    """A body of the tree (0 is ground) and the joint that carries it."""

    name: str
    source: int  # index in description.bodies, -1 for ground
    joint: Joint | None
    inboard: int
    level: int
    reversed: bool = False
    copy_of: int = -1  # for the second half of a body cut to open a loop: the link of the first
    share: float = 1.0  # of the body's mass that this link carries
    joint_parent: int = field(default=0)  # link of the joint's own parent frame, whichever side is nearer to ground


def build_tree(description: ModelDescription) -> list[Link]:
    """Links in order of level, ground first."""
    ends = _ends(description)
    links, link_of, waiting = _grown(description, ends)
    unreached = [body.name for i, body in enumerate(description.bodies) if i not in link_of]
    if unreached:
        raise ModelError(f"no chain of joints connects {', '.join(unreached)} to ground")
    for i in waiting:
        links.append(_closing(description, i, ends[i], links, link_of))
    for copy in [link for link in links if link.copy_of >= 0]:
        parts = [link for link in links[1:] if link.source == copy.source]
        for part in parts:
            part.share = 1.0 / len(parts)
    return _by_level(links)


def _ends(description: ModelDescription) -> list[tuple[int, int]]:
    """Parent and child body of every joint, -1 for ground."""
    frames = description.frames()
    body_of = {"/ground": -1} | {f"/bodyset/{body.name}": i for i, body in enumerate(description.bodies)}

    def body(path: str) -> int:
        frame = frames[path]
        while isinstance(frame, OffsetFrame):
            path = frame.parent
            frame = frames[path]
        return body_of[path]

    return [(body(joint.parent_frame), body(joint.child_frame)) for joint in description.joints]


def _grown(description: ModelDescription, ends: list[tuple[int, int]]) -> tuple[list[Link], dict[int, int], list[int]]:
    """The tree grown level by level, joints in file order; the link of each body; and the joints that are left over."""
    links, link_of = [Link("ground", -1, None, -1, 0)], {-1: 0}
    waiting = list(range(len(description.joints)))
    while True:
        level = links[-1].level
        for i in list(waiting):
            parent, child = ends[i]
            if (parent in link_of) == (child in link_of):
                continue
            is_reversed = child in link_of
            near, far = (child, parent) if is_reversed else (parent, child)
            inboard = link_of[near]
            if links[inboard].level > level:
                continue  # reached in this very sweep: its turn comes with the next level
            name, joint = description.bodies[far].name, description.joints[i]
            links.append(Link(name, far, joint, inboard, links[inboard].level + 1, is_reversed))
            link_of[far] = len(links) - 1
            waiting.remove(i)
        if links[-1].level == level:
            return links, link_of, waiting


def _closing(
    description: ModelDescription, i: int, ends: tuple[int, int], links: list[Link], link_of: dict[int, int]
) -> Link:
    """The copy of a body that hangs on joint i, which closes a loop: both of its sides are carried already."""
    parent, child = ends
    if parent == child:
        raise ModelError(f"joint {description.joints[i].name!r} joins {links[link_of[parent]].name} to itself")
    cut, keep, is_reversed = (child, parent, False) if child != -1 else (parent, child, True)
    inboard = link_of[keep]
    name, level = f"{description.bodies[cut].name}_copy", links[inboard].level + 1
    return Link(name, cut, description.joints[i], inboard, level, is_reversed, copy_of=link_of[cut])


def _by_level(links: list[Link]) -> list[Link]:
    """The same links in order of level, with what they say of each other brought up to date."""
    order = sorted(range(len(links)), key=lambda k: links[k].level)  # stable: copies join their level
    position = {old: new for new, old in enumerate(order)}
    links = [links[k] for k in order]
    for link in links[1:]:
        link.inboard = position[link.inboard]
        link.copy_of = position[link.copy_of] if link.copy_of >= 0 else -1
    for k, link in enumerate(links[1:], 1):
        link.joint_parent = k if link.reversed else link.inboard
    return links
