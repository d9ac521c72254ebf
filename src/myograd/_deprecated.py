"""Old names that still work, each with a warning that names the new one. docs/versions.md explains the rules.

These tables are all there is: an entry that is removed here is gone. The command line's own are in `OPTIONS` and `JSON_KEYS`.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any

REMOVED_IN = "0.2.0"

NAMES = {
    "Course": "ControlSignal",
    "Jump": "Discontinuity",
    "UnreadError": "UnsupportedError",
    "UnreadWarning": "UnsupportedWarning",
    "length_jumps": "length_discontinuities",
}
"""Public names of `myograd`."""

ATTRIBUTES = {
    "Identification.diagnostics": "messages",
    "Model.source": "document",
    "Model.ties": "constraint_parameters",
    "ModelDescription.unread": "unsupported",
}
"""Attributes of public classes."""

MODULES = {
    "myograd.estimate.doubts": ("myograd.estimate.identification.diagnostics",),
    "myograd.estimate.fit": ("myograd.estimate.identification.fit",),
    "myograd.estimate.noise": ("myograd.estimate.identification.noise",),
    "myograd.estimate.problem": (
        "myograd.estimate.identification.setup",
        "myograd.estimate.identification.fitted",
        "myograd.estimate.identification.problem",
    ),
    "myograd.estimate.residual": ("myograd.estimate.identification.residual",),
    "myograd.estimate.search": ("myograd.estimate.identification.search",),
    "myograd.estimate.shipped": ("myograd.estimate.identification.shipped",),
    "myograd.estimate.uncertainty": ("myograd.estimate.identification.uncertainty",),
    "myograd.estimate.validate": ("myograd.estimate.identification.validate",),
}
"""Modules that the documentation imported from, and those that have their names now."""

PARAMETERS = {
    "activation_time": "muscles.activation_time_constant",
    "deactivation_time": "muscles.deactivation_time_constant",
    "delay": "emg.delay",
    "c1": "emg.c1",
    "c2": "emg.c2",
}
"""Names of identification's parameters."""

OPTIONS = {"check --jumps": "--discontinuities"}
"""Options of commands; hidden from --help."""

JSON_KEYS = {"info: unread": "unsupported", "check: unread": "unsupported", "check: jumps": "discontinuities"}
"""Keys of JSON output. `info` writes both; `check` writes the old ones with the old option."""


def message(old: str, new: str) -> str:
    return f"{old} is deprecated and will be removed in myograd {REMOVED_IN}: use {new}"


def warn(old: str, new: str, between: int = 0) -> None:
    """Warn the caller of the function that calls this; `between`: calls of other libraries between the two."""
    warnings.warn(message(old, new), DeprecationWarning, stacklevel=3 + between)


def old_attribute(name: str, between: int = 0) -> Any:
    """A property of a class under its old name, `Class.attribute`. `between`: see `warn`."""

    def read(self: object) -> Any:
        warn(name, ATTRIBUTES[name], between)
        return getattr(self, ATTRIBUTES[name])

    return property(read)


def _first(places: list[ModuleType], name: str) -> Any:
    for place in places:
        if hasattr(place, name):
            return getattr(place, name)
    raise AttributeError(f"none of {', '.join(place.__name__ for place in places)} has {name!r}")


class MovedModules(MetaPathFinder, Loader):
    """Finds a module at its old place: an empty one, whose names are looked up in the modules that have them now."""

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        return spec_from_loader(fullname, self) if fullname in MODULES else None

    def exec_module(self, module: ModuleType) -> None:
        places = MODULES[module.__name__]
        warnings.warn(message(module.__name__, ", ".join(places)), DeprecationWarning, stacklevel=2)
        module.__getattr__ = partial(_first, [import_module(place) for place in places])


sys.meta_path.append(MovedModules())
