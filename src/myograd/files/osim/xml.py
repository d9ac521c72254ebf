"""Reads an `.osim` file into a tree of `Node`s, with the line of every element.

OpenSim parses with TinyXML, which forgives more than XML allows, and real models need that: tags with `::`, text that
is not UTF-8 although the file says so, a bare `&`, comments that contain `--`. These are accepted, nothing else is.
There is no document type, hence no entities: no file is ever opened, and no text expanded, because a model says so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from xml.parsers import expat

from myograd.errors import FileFormatError
from myograd.files.kinds import need_document
from myograd.model.description import Node

OLDEST, NEWEST = 30000, 40600
MAX_DEPTH = 100  # real models have about 15 levels

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_BARE_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#[0-9]+|#x[0-9A-Fa-f]+);)")


def read_document(path: str | os.PathLike[str], holding: str = "Model", oldest: int = OLDEST) -> tuple[Node, int]:
    """The `<Model>` (or what else it should be `holding`) of the file at `path`, and the version of the document."""
    need_document(path, holding)
    root = _parse(_text_of(path), path)
    if root.tag != "OpenSimDocument":
        raise FileFormatError(f"the root element is <{root.tag}>, not <OpenSimDocument>", path, root.line)
    text = root.attributes.get("Version", "")
    if not (text.isascii() and text.isdigit()):
        raise FileFormatError(f'Version="{text}" is not a version of OpenSim, such as 40600', path, root.line)
    version = int(text)
    if version < oldest:
        raise FileFormatError(
            f"version {version} is older than OpenSim 3.0 ({OLDEST}); open the model in OpenSim 4.x and save it first",
            path,
            root.line,
        )
    if version > NEWEST:
        raise FileFormatError(
            f"version {version} is newer than OpenSim 4.6 ({NEWEST}), the newest that can be read", path, root.line
        )
    if not root.children or root.children[0].tag != holding:
        found = f"contains a <{root.children[0].tag}>, not" if root.children else "does not contain"
        raise FileFormatError(f"the document {found} a <{holding}>", path, root.line)
    return root.children[0], version


def _text_of(path: str | os.PathLike[str]) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise FileFormatError(f"cannot be read: {error.strerror}", path) from None
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileFormatError("is UTF-16 text; save it as UTF-8", path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def _parse(text: str, path: str | os.PathLike[str]) -> Node:
    text = _COMMENT.sub(lambda comment: "\n" * comment.group().count("\n"), text)
    text = _BARE_AMPERSAND.sub("&amp;", text)
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    top = Node("")
    open_nodes = [top]
    texts: list[list[str]] = [[]]

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(open_nodes) > MAX_DEPTH:
            raise FileFormatError(
                f"<{tag}> is more than {MAX_DEPTH} elements deep; no OpenSim model is", path, parser.CurrentLineNumber
            )
        node = Node(tag, attributes, line=parser.CurrentLineNumber)
        open_nodes[-1].children.append(node)
        open_nodes.append(node)
        texts.append([])

    def end(_tag: str) -> None:
        open_nodes.pop().text = "".join(texts.pop()).strip()

    def refuse_document_type(*_declaration: object) -> None:
        raise FileFormatError(
            "has a document type (<!DOCTYPE ...>), which is refused because it could define entities; "
            "OpenSim models have none",
            path,
            parser.CurrentLineNumber,
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = lambda data: texts[-1].append(data)
    parser.StartDoctypeDeclHandler = refuse_document_type
    try:
        parser.Parse(text.encode("utf-8", errors="replace"), True)
    except expat.ExpatError as error:
        inside = f" inside <{open_nodes[-1].tag}>, opened in line {open_nodes[-1].line}" if len(open_nodes) > 1 else ""
        raise FileFormatError(
            f"is not well-formed XML: {expat.ErrorString(error.code)}{inside}", path, error.lineno
        ) from None
    return top.children[0]


# Trees -------------------------------------------------------------------------------------------------------


def walk(node: Node) -> Iterator[Node]:
    """`node` and everything below it, parents first."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def take(node: Node, tag: str) -> Node | None:
    """Remove the first child with this tag, and return it."""
    child = node.find(tag)
    if child is not None:
        node.children.remove(child)
    return child


def objects(container: Node | None) -> list[Node]:
    """What a set holds."""
    content = container.find("objects") if container else None
    return content.children if content else []
