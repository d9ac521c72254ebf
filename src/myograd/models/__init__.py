"""The bodies that come with Myograd, as OpenSim 4.6 documents. `scripts/shipped/build.py` writes them anew."""

from __future__ import annotations

import os
from pathlib import Path

from myograd.errors import ModelError, nearest


def names() -> list[str]:
    """The names that `model_path` knows."""
    return sorted(path.stem for path in Path(__file__).parent.glob("*.osim"))


def model_path(name: str) -> Path:
    """The file of the model called `name`, for example `planar_leg`."""
    if name not in names():
        raise ModelError(f"there is no model {name!r} in Myograd{nearest(name, names())}")
    return Path(__file__).with_name(f"{name}.osim")


def find(model: str | os.PathLike[str]) -> Path:
    """The file that a path or a name means: one without folder and ending, where there is no such file, is a shipped model's."""
    path = Path(model)
    if path.exists() or path.suffix or path.name != os.fspath(model):
        return path
    return model_path(path.name)
