"""How types and shapes are checked while the tests run: an integer is a float, as Python's own typing has it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from beartype import BeartypeConf, beartype

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "myograd"
CHECK_THEMSELVES = {
    "Table",
    "Selection",
    "Model",
    "emg_envelope",
    "emg_to_excitation",
    "integrate_activation",
    "first_order_activation",
    "stroeve_tension",
    "external_forces",
    "external_wrenches",
}
"""What is given to these may be anything; they refuse it with a message of their own, which tests ask for."""

_checked = beartype(conf=BeartypeConf(is_pep484_tower=True))


def checker(function: Callable[..., Any]) -> Callable[..., Any]:
    name = getattr(function, "__qualname__", "").split(".")[0]
    return function if name in CHECK_THEMSELVES else _checked(function)


def modules() -> list[str]:
    """Whose functions are checked: all but the command line, whose arguments Typer makes, old names, which warn their callers,
    and what Numba compiles."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        by_numba = re.search(r"^@(native\.)?compiled\b|^import numba", path.read_text(), re.MULTILINE)
        if path.name not in ("__init__.py", "_deprecated.py") and "app" not in parts and not by_numba:
            found.append(".".join(parts))
    return found
