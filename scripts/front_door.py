"""Write `src/myograd/__init__.pyi`, by which type checkers and editors know the public names that are imported when first used.

    python scripts/front_door.py            write it
    python scripts/front_door.py --check    exit with 1 if it is not up to date (a test does the same)

Classes and plain functions are imported from where they live. Functions of a model and its state take lists and NumPy arrays as
well as JAX's, and convert them before the code that is typed; they are written out, with `ArrayLike` where that holds.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import myograd
from myograd.dynamics.entry import SHAPES

PACKAGE = Path(myograd.__file__).parent
STUB = PACKAGE / "__init__.pyi"
HEADER = '''"""Written by scripts/front_door.py; not edited by hand."""

from typing import Any

from jax import Array
from jaxtyping import Bool, Float, Int

from . import models as models
from . import tools as tools
from ._arrays import ArrayLike
'''


def module_tree(place: str) -> ast.Module:
    path = PACKAGE.joinpath(*place.split("."))
    return ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text())


class Spelled(ast.NodeTransformer):
    """Aliases written out, those that a module imports too: `Vector` becomes `Float[Array, ' c']`."""

    def __init__(self, place: str):
        self.aliases: dict[str, ast.expr] = {}
        for node in module_tree(place).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.aliases[node.targets[0].id] = node.value
            elif isinstance(node, ast.ImportFrom) and node.level:
                inside = place.split(".")[: -node.level]
                there = ".".join([*inside, *(node.module or "").split(".")])
                for alias in node.names:
                    if alias.name == "Vector":
                        self.aliases["Vector"] = Spelled(there).aliases["Vector"]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.aliases.get(node.id, node)


def converting(place: str, name: str) -> str:
    """The signature and the docstring of a function of a model that converts its arrays; "" for other things."""
    function = next(
        (node for node in module_tree(place).body if isinstance(node, ast.FunctionDef) and node.name == name), None
    )
    if function is None or not function.args.args or function.args.args[0].arg != "model":
        return ""
    spelled, converts = Spelled(place), False
    for argument in (*function.args.args, *function.args.kwonlyargs):
        assert argument.annotation is not None, f"{name}({argument.arg})"
        annotation = spelled.visit(argument.annotation)
        argument.annotation, text = annotation, ast.unparse(annotation)
        if argument.arg in SHAPES and "Array" in text:
            converts = True
            argument.annotation = ast.parse("ArrayLike" + " | None" * ("None" in text), mode="eval").body
    assert function.returns is not None, name
    function.returns = spelled.visit(function.returns)
    function.decorator_list = []
    function.body = [function.body[0], ast.Expr(ast.Constant(...))]  # the docstring
    return ast.unparse(ast.fix_missing_locations(function)) if converts else ""


def stub() -> str:
    imports, functions = [], []
    for place, names in myograd._PLACES.items():
        for name in names.split():
            function = converting(place, name)
            if function:
                functions.append(function)
            else:
                imports.append(f"from .{place} import {name} as {name}")
    text = (
        "\n\n".join(
            [
                HEADER
                + "\n".join(imports)
                + "\n\n__version__: str\n__all__: list[str]\n_PLACES: dict[str, str]\n_HOME: dict[str, str]",
                *functions,
            ]
        )
        + "\n"
    )
    ruff = str(Path(sys.executable).with_name("ruff"))
    for command in (["check", "--select", "I,F401", "--fix", "--quiet"], ["format", "--quiet"]):
        text = subprocess.run(
            [ruff, *command, "--stdin-filename", str(STUB), "-"], input=text, capture_output=True, text=True, check=True
        ).stdout
    return text


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(
            0
            if STUB.exists() and STUB.read_text() == stub()
            else "src/myograd/__init__.pyi is out of date: run this script"
        )
    STUB.write_text(stub())
