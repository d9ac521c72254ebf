"""Files and functions stay small enough to be read: a file that outgrows its limit becomes two, a function likewise."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import myograd

PACKAGE = Path(myograd.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
LINES, FUNCTION, ARGUMENTS = 400, 70, 8
COMMANDS = PACKAGE / "app" / "commands"  # a command has an argument for each of its options


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_sizes(path: Path):
    text = path.read_text()
    assert text.count("\n") <= LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and path.parent != COMMANDS:
            assert (node.end_lineno or 0) - node.lineno < FUNCTION, node.name
            assert len(node.args.posonlyargs + node.args.args) <= ARGUMENTS, node.name
