"""From joints in a file to a tree rooted in ground: which joint carries which body, in what order, which ones close loops.

Bodies are ordered by their distance from ground, so that the poses of one level follow from those of the level before.
A joint whose child is nearer to ground than its parent carries the parent, and is *reversed*. A joint between two
bodies that are both carried already closes a loop: a copy of its child is hung on it, which takes an equal share of the
child's mass, and a weld constraint joins the two (as Simbody does).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import ModelError
from .description import Joint, ModelDescription, OffsetFrame


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
    frames = description.frames()
    body_of = {"/ground": -1} | {f"/bodyset/{body.name}": i for i, body in enumerate(description.bodies)}
    base: dict[str, str] = {}
    for path, frame in frames.items():
        at = path
        while isinstance(frame, OffsetFrame):
            at = frame.parent
            frame = frames[at]
        base[path] = at

    ends = [(body_of[base[j.parent_frame]], body_of[base[j.child_frame]]) for j in description.joints]
    links = [Link("ground", -1, None, -1, 0)]
    link_of = {-1: 0}
    waiting = list(range(len(description.joints)))
    while True:  # grow level by level, joints in file order
        level = links[-1].level
        for i in list(waiting):
            parent, child = ends[i]
            if (parent in link_of) == (child in link_of):
                continue
            is_reversed = child in link_of
            near, far = (child, parent) if is_reversed else (parent, child)
            if links[link_of[near]].level > level:
                continue  # reached in this very sweep: its turn comes with the next level
            inboard = link_of[near]
            links.append(
                Link(
                    description.bodies[far].name,
                    far,
                    description.joints[i],
                    inboard,
                    links[inboard].level + 1,
                    is_reversed,
                )
            )
            link_of[far] = len(links) - 1
            waiting.remove(i)
        if links[-1].level == level:
            break
    unreached = [body.name for i, body in enumerate(description.bodies) if i not in link_of]
    if unreached:
        raise ModelError(f"no chain of joints connects {', '.join(unreached)} to ground")
    for i in waiting:  # both sides are carried already: a loop
        parent, child = ends[i]
        if parent == child:
            raise ModelError(f"joint {description.joints[i].name!r} joins {links[link_of[parent]].name} to itself")
        cut, keep, is_reversed = (child, parent, False) if child != -1 else (parent, child, True)
        inboard = link_of[keep]
        links.append(
            Link(
                f"{description.bodies[cut].name}_copy",
                cut,
                description.joints[i],
                inboard,
                links[inboard].level + 1,
                is_reversed,
                copy_of=link_of[cut],
            )
        )
    for copy in [link for link in links if link.copy_of >= 0]:
        parts = [link for link in links[1:] if link.source == copy.source]
        for part in parts:
            part.share = 1.0 / len(parts)
    order = sorted(range(len(links)), key=lambda k: links[k].level)  # stable: copies join their level
    position = {old: new for new, old in enumerate(order)}
    links = [links[k] for k in order]
    for link in links[1:]:
        link.inboard = position[link.inboard]
        link.copy_of = position[link.copy_of] if link.copy_of >= 0 else -1
    for k, link in enumerate(links[1:], 1):
        link.joint_parent = k if link.reversed else link.inboard
    return links
