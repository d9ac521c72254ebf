"""Models from files and back: `load_model` and `save_model`."""

from __future__ import annotations

from os import PathLike

from ..errors import UnsupportedWarning, quoted, warn
from ..model.compile.model import compile_model
from ..model.description import NO_NUMBERS, ModelDescription
from ..model.export import description_of
from ..model.model import Model
from ..models import find
from .osim.read import read_osim
from .osim.write import write_osim


def load_model(path: str | PathLike[str], opensim_coriolis: bool = False) -> Model:
    """Read an OpenSim document (version 3.0 to 4.6), or a model that ships with Myograd (by its name, such as "arm"), and make it
    ready to be computed with.

    Warns once if the file contains anything that affects a result and is not used; `myograd check FILE` lists it.
    `opensim_coriolis`: see `compile_model`.
    """
    description = read_osim(find(path))
    _warn_of_unsupported(description)
    return compile_model(description, opensim_coriolis)


def _warn_of_unsupported(description: ModelDescription) -> None:
    matters = [item for item in description.unsupported if item.severity not in NO_NUMBERS]
    if not matters:
        return
    kinds: dict[str, int] = {}
    for item in matters:
        kinds[item.kind] = kinds.get(item.kind, 0) + 1
    listed = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    source = quoted(description.source)
    warn(
        f"{source}: parts of it are not used: {listed}. `myograd check {source}` lists them",
        UnsupportedWarning,
    )


def save_model(model: Model, path: str | PathLike[str], like: Model | None = None) -> None:
    """Write a model, with its present values, as an OpenSim 4.6 document.

    Names, appearance and all else that affects no result are those of the document that the model was read from; or of the one
    that `like` was read from, if a compiled function has returned the model with another document of the same structure.
    """
    write_osim(description_of(model, like.document if like else None), path)
