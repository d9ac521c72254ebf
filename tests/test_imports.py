"""Imports point one way: a room of the package knows the rooms below it, `errors` and the shipped `models`, no others. What only
type checkers read (`if TYPE_CHECKING`) is not an import.

And `info` and `check` answer without JAX, whose import alone takes a second; whoever loads a model gets float64.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import myograd
from myograd import models

PACKAGE = Path(myograd.__file__).parent
ROOMS = (
    "geometry",
    "model.description",  # plain data, below the laws that are made from it
    "force",
    "model",
    "files",
    "dynamics",
    "path",
    "muscle",
    "system",
    "diagnostics",
    "soft",
    "simulation",
    "estimate",
    "tools",
    "studies",
    "app",
)
OPEN = {"errors", "models", "_deprecated", "_arrays"}  # any room may use these
USERS = {"studies", "app"}  # these may also use the public names, from `myograd` itself


def room_of(module: str) -> str:
    """The room of a dotted name; a folder that is a room of its own goes before the one it is in."""
    inside = module.split(".")[1:]
    return next(
        (room for room in (".".join(inside[:2]), ".".join(inside[:1])) if room in ROOMS), inside[0] if inside else ""
    )


def run_time_nodes(tree: ast.AST) -> list[ast.AST]:
    """All nodes but those under `if TYPE_CHECKING`."""
    found, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        found.append(node)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            waiting += node.orelse
        else:
            waiting += ast.iter_child_nodes(node)
    return found


def imported(source: str, module: str) -> set[str]:
    """Dotted names (`myograd.room.file.name`) of what `module` imports from the package."""
    names: set[str] = set()
    for node in run_time_nodes(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(module.split(".")[: -node.level]) if node.level else ""
            origin = ".".join(part for part in (base, node.module) if part)
            names |= {f"{origin}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] == "myograd"}


def forbidden(source: str, module: str) -> list[str]:
    """The imports of `module` that point the wrong way."""
    room = room_of(module)
    below = set(ROOMS[: ROOMS.index(room) + 1]) if room in ROOMS else set()

    def allowed(name: str) -> bool:
        target = room_of(name)
        return target in below | OPEN or (room in USERS and target not in ROOMS)

    return sorted(name for name in imported(source, module) if not allowed(name))


def module_name(path: Path) -> str:
    return ".".join(("myograd", *path.relative_to(PACKAGE).with_suffix("").parts)).replace("__init__", "init")


FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem == "errors")


@pytest.mark.parametrize("path", FILES, ids=lambda path: module_name(path))
def test_imports_point_down(path: Path):
    assert forbidden(path.read_text(), module_name(path)) == []


def test_the_rooms_are_documented_in_their_order():
    page = (PACKAGE.parents[1] / "docs" / "architecture.md").read_text()
    listed = [name.rstrip("/").replace("/", ".") for name in re.findall(r"^\| `([\w/]+)/` \|", page, re.MULTILINE)]
    assert listed == [*ROOMS, "models"]


def test_every_folder_is_a_room():
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders == {room for room in ROOMS if "." not in room} | {"models"}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("myograd.geometry.rotations", "from myograd.model import description"),
        ("myograd.files.osim_read", "import myograd.dynamics.forward"),
        ("myograd.dynamics.forward", "from ..muscle.path import lengths"),
        ("myograd.muscle.path", "from myograd import simulation"),
        ("myograd.soft.rod", "import myograd"),
        ("myograd.soft.rod", "from myograd import load_model"),
        ("myograd.models.init", "from myograd.files import osim_read"),
        ("myograd.model.description.forces", "from ..compile import model"),
        ("myograd.force.bushing", "from ..model.model import Model"),
        ("myograd.model.build", "def f():\n    from myograd.app.cli import app"),
    ],
)
def test_a_wrong_direction_is_found(module: str, source: str):
    assert forbidden(source, module)


def test_what_type_checkers_read_is_not_imported():
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..model.model import Model"
    assert not forbidden(source, "myograd.force.bushing")


@pytest.mark.parametrize("command", ["info", "check"])
def test_quick_commands_do_not_import_jax(command: str):
    program = (
        "import json, sys\n"
        "from myograd.app.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    code = end.code\n"
        "print(json.dumps([code, sorted({name.split('.')[0] for name in sys.modules})]), file=sys.stderr)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, command, models.names()[0]], capture_output=True, text=True, check=True
    )
    code, modules = json.loads(run.stderr.splitlines()[-1])
    assert code == 0
    assert run.stdout
    assert {"jax", "equinox", "scipy"}.isdisjoint(modules)


def test_loading_a_model_switches_to_double_precision():
    program = (
        "import myograd, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "from myograd.models import model_path\n"
        "print(myograd.load_model(model_path('double_pendulum')).default_pose().dtype)"
    )
    untouched = {name: value for name, value in os.environ.items() if name != "JAX_ENABLE_X64"}
    run = subprocess.run([sys.executable, "-c", program], env=untouched, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "float64"


@pytest.mark.parametrize(
    "call",
    [
        "myograd.integrate_activation([0.5, 0.6], 0.001)",
        "myograd.emg_to_excitation([0.5, 0.6], 0.001, 0.01, 0.1, 0.1)",
        "__import__('myograd.muscle.stroeve', fromlist=['*']).first_order_activation([0.5, 0.6], 0.001)",
    ],
)
def test_what_needs_no_model_is_in_double_precision_too(call: str):
    program = f"import myograd\nprint(({call}).dtype)"
    untouched = {name: value for name, value in os.environ.items() if name != "JAX_ENABLE_X64"}
    run = subprocess.run([sys.executable, "-c", program], env=untouched, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "float64"
