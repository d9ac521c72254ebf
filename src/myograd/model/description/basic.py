"""What all parts of a description are made of: vectors, and XML elements that are carried along."""

from __future__ import annotations

from dataclasses import dataclass, field

Vec3 = tuple[float, float, float]
ZERO: Vec3 = (0.0, 0.0, 0.0)


@dataclass
class Node:
    """An XML element kept as it was, for what the library carries along without using (saved again, untouched)."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    text: str = ""
    children: list[Node] = field(default_factory=list)
    line: int = 0

    def find(self, tag: str) -> Node | None:
        return next((child for child in self.children if child.tag == tag), None)
