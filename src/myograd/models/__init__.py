"""The bodies that come with Myograd, as OpenSim 4.6 documents. `python -m myograd.models.build` writes them anew."""

from __future__ import annotations

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
