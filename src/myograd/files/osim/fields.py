"""Typed access to the properties of one element, with errors that say where, and a note of what nobody asked for.

OpenSim ignores a property that it does not know, and falls back on defaults where a number does not parse. Here the
first is reported, the second is an error.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from myograd.errors import FileFormatError, nearest
from myograd.files.osim.xml import objects
from myograd.model.description import Node, Part, Severity, Unsupported, Vec3

_NUMBERS = re.compile(r"[-+.0-9eE\s]*")  # float() also accepts `1_000` and digits of other scripts
_ILLEGAL_IN_NAMES = re.compile(r"[\\*+/\s]")
_INFINITIES = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf, "infinity": math.inf, "-infinity": -math.inf}


@dataclass
class Source:
    """The file being read, and what was found in it that is not used (`unsupported`) or only carried along (`parts`)."""

    path: str | os.PathLike[str]
    unsupported: list[Unsupported] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)

    def error(self, node: Node, message: str) -> FileFormatError:
        return FileFormatError(f"{label(node)}: {message}", self.path, node.line)

    def note(self, severity: Severity, node: Node, reason: str, name: str | None = None) -> None:
        name = node.attributes.get("name", "") if name is None else name
        self.unsupported.append(Unsupported(severity, node.tag, name, node.line, reason))

    def keep(self, group: str, node: Node, severity: Severity, reason: str) -> None:
        """Carry an element along without using it."""
        self.parts.append(Part(group, node.tag, node.attributes.get("name", ""), node, node.line))
        self.note(severity, node, reason)


def label(node: Node) -> str:
    name = node.attributes.get("name")
    return f"{node.tag} {name!r}" if name else f"<{node.tag}>"


class Fields:
    """The properties of one object. Each is asked for by its name; `close` reports those that were not."""

    def __init__(self, source: Source, node: Node):
        self.source, self.node = source, node
        self._left = list(node.children)

    def error(self, message: str, at: Node | None = None) -> FileFormatError:
        """An error about this object, at the line of `at` if that came from the file."""
        line = at.line if at is not None and at.line else self.node.line
        return FileFormatError(f"{label(self.node)}: {message}", self.source.path, line)

    def close(self) -> None:
        """Report the properties that OpenSim does not know (or that occur twice): it ignores them."""
        seen = {child.tag for child in self.node.children}.difference(child.tag for child in self._left)
        owner, what = self.node.attributes.get("name", ""), f"this property of {label(self.node)}"
        for child in self._left:
            if child.tag in seen:
                self.source.note(Severity.UNKNOWN, child, f"{what} occurs twice; the first one is used", owner)
            elif child.tag != "components":
                self.source.note(Severity.UNKNOWN, child, f"{what} is unknown to OpenSim 4.6", owner)
            else:  # every component may own others
                for component in child.children:
                    self.source.note(Severity.CONTROL, component, f"a component of {label(self.node)}; not kept")

    # Elements

    def take(self, tag: str) -> Node | None:
        """The first child with this tag."""
        for i, child in enumerate(self._left):
            if child.tag == tag:
                return self._left.pop(i)
        return None

    def take_object(self, name: str, classes: Collection[str]) -> Node | None:
        """A property that is one object, in any of its spellings.

        `<name><Class> </Class></name>`, `<Class name="name">`, or, failing both, a nameless `<Class>`. An empty
        `<name/>` is returned as it is.
        """
        wrapper = self.take(name)
        if wrapper is not None:
            for extra in wrapper.children[1:]:
                self.source.note(
                    Severity.UNKNOWN, extra, f"{name} of {label(self.node)} must be one object; the first one is used"
                )
            return wrapper.children[0] if wrapper.children else wrapper
        for child in self._left:
            if child.attributes.get("name") == name:
                self._left.remove(child)
                return child
        for child in self._left:
            if child.tag in classes and not child.attributes.get("name"):
                self._left.remove(child)
                return child
        return None

    def take_set(self, tag: str) -> tuple[list[Node], list[Node]]:
        """The objects and the groups of a set."""
        container = self.take(tag)
        if container is None:
            return [], []
        fields = Fields(self.source, container)
        fields.take("objects")
        groups = fields.take("groups")
        fields.close()
        return objects(container), groups.children if groups else []

    def take_objects(self, tag: str) -> list[Node]:
        """The objects of a set whose groups, if any, do not matter."""
        found, groups = self.take_set(tag)
        for group in groups:
            self.source.note(Severity.BOOKKEEPING, group, f"names a group of the {tag}; not kept")
        return found

    def take_list(self, tag: str) -> list[Node]:
        found = self.take(tag)
        return found.children if found else []

    # Values

    def name(self) -> str:
        """The name of the object; OpenSim takes the class in lower case where there is none."""
        name = self.node.attributes.get("name") or self.node.tag.lower()
        if _ILLEGAL_IN_NAMES.search(name):
            raise self.error("the name must not contain spaces or any of \\ / * +")
        return name

    def text(self, tag: str, default: str = "") -> str:
        node = self.take(tag)
        return default if node is None else " ".join(self._value(node).split())

    def words(self, tag: str) -> tuple[str, ...]:
        return tuple(self.text(tag).split())

    def flag(self, tag: str, default: bool) -> bool:
        node = self.take(tag)
        if node is None:
            return default
        text = self._value(node).lower()
        if text not in ("true", "false", "1", "0"):
            raise self.error(f"{tag} is {node.text!r}, not true or false", node)
        return text in ("true", "1")

    def choice(self, tag: str, default: str, known: Sequence[str]) -> str:
        """One of the `known` words, whatever its case."""
        node = self.take(tag)
        if node is None:
            return default
        text = self._value(node).lower()
        if text not in known:
            raise self.error(f"{tag} is {node.text!r}{nearest(text, known)}", node)
        return text

    def number(self, tag: str, default: float | None = None) -> float:
        (value,) = self.numbers(tag, None if default is None else (default,), count=1)
        return value

    def integer(self, tag: str, default: int) -> int:
        value = self.number(tag, default)
        if value != int(value):
            raise self.error(f"{tag} is {value:g}, not a whole number")
        return int(value)

    def vector(self, tag: str, default: Vec3 | None) -> Vec3:
        x, y, z = self.numbers(tag, default, count=3)
        return x, y, z

    def numbers(
        self, tag: str, default: tuple[float, ...] | None, count: int | None = None, infinite: bool = False
    ) -> tuple[float, ...]:
        """Finite numbers (or infinite ones where they make sense), exactly `count` of them if that is given.

        Without a `default`, the property has to be there.
        """
        node = self.take(tag)
        if node is None:
            if default is None:
                raise self.error(f"has no <{tag}>")
            return default
        tokens = self._value(node).split()
        if count is not None and len(tokens) != count:
            raise self.error(f"{tag} needs {count} number{'s' * (count > 1)}, but has {len(tokens)}", node)
        return tuple(self._number(token, tag, node, infinite) for token in tokens)

    def _number(self, token: str, tag: str, node: Node, infinite: bool) -> float:
        if _NUMBERS.fullmatch(token):
            try:
                value = float(token)
            except ValueError:
                pass
            else:
                if math.isfinite(value):
                    return value
        if infinite and token.lower() in _INFINITIES:
            return _INFINITIES[token.lower()]
        shown = token if len(token) < 40 else token[:37] + "..."
        raise self.error(f"{tag} contains {shown!r}, which is not a finite number", node)

    def _value(self, node: Node) -> str:
        if node.children:
            raise self.error(f"{node.tag} should be a plain value, but contains <{node.children[0].tag}>", node)
        return node.text


def unique(name: str, taken: set[str]) -> str:
    """`name`, or `name_0`, `name_1`, ... if it is taken, as OpenSim renames path points and the like."""
    candidate, i = name, 0
    while candidate in taken:
        candidate, i = f"{name}_{i}", i + 1
    taken.add(candidate)
    return candidate
