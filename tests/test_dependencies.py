"""What is imported is declared in pyproject.toml, and what is declared is imported."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
IMPORTED_AS = {"pin": "pinocchio", "mkdocs-material": "", "pytest-xdist": ""}  # by other names, or not at all
TOOLS = {"basedpyright", "ruff", "mkdocs", "mkdocstrings"}  # are run, not imported


def declared(*lists: list[str]) -> set[str]:
    """Modules of requirements such as `jax>=0.10.2,<0.11`."""
    names = {re.split(r"[^\w-]", requirement, maxsplit=1)[0] for one in lists for requirement in one}
    return {IMPORTED_AS.get(name, name) for name in names} - TOOLS - {"", "myograd"}


def imported(folder: str) -> set[str]:
    """Modules of others that the files of a folder import, by whatever form of import."""
    found, own = set(), {"myograd"}
    for path in (ROOT / folder).rglob("*.py"):
        own |= {path.stem, path.parent.name}
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found.add(node.module.split(".")[0])
            elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                called = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if called in ("import_module", "importorskip"):
                    found.add(str(node.args[0].value).split(".")[0])
    return {name for name in found if name not in sys.stdlib_module_names} - own


def test_the_package_declares_what_it_imports():
    outside = imported("src") - declared(PROJECT["dependencies"])
    assert outside == {"pandas", "opensim"}  # asked for only by who gives tables to pandas, or compares with OpenSim
    assert "pandas" in declared(EXTRAS["pandas"])


def test_the_package_imports_what_it_declares():
    assert declared(PROJECT["dependencies"]) - imported("src") == set()


@pytest.mark.parametrize(
    ("folder", "extras"),
    [("tests", ("test",)), ("scripts", ("test",)), ("benchmarks", ("bench",)), ("examples", ("test",))],
)
def test_other_folders_declare_what_they_import(folder: str, extras: tuple[str, ...]):
    beside = {path.stem for name in ("tests/helpers", "scripts") for path in (ROOT / name).glob("*.py")} | {"shipped"}
    known = declared(PROJECT["dependencies"], EXTRAS["pandas"], *(EXTRAS[extra] for extra in extras))
    assert imported(folder) - known - beside == set()


@pytest.mark.parametrize("extra", ["test", "bench"])
def test_extras_are_imported(extra: str):
    assert declared(EXTRAS[extra]) <= imported("tests") | imported("benchmarks") | imported("scripts")


def test_every_requirement_has_a_lowest_version():
    for requirement in [*PROJECT["dependencies"], *(x for extra in EXTRAS.values() for x in extra)]:
        assert ">=" in requirement or requirement.startswith("myograd["), requirement


@pytest.mark.parametrize("file", ["run", "test", "docs", "bench"])
def test_everything_declared_is_pinned(file: str):
    pinned = set(re.findall(r"^([\w.-]+)==", (ROOT / "requirements" / f"{file}.txt").read_text(), re.MULTILINE))
    wanted = [*PROJECT["dependencies"], *EXTRAS.get(file, [])]
    names = {re.split(r"[^\w-]", requirement, maxsplit=1)[0] for requirement in wanted} - {"myograd"}
    assert names <= pinned
