"""Where on a model the names of a description are: links, coordinates, paths, controls, contact surfaces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import ModelError, nearest
from ...geometry.piecewise import PiecewisePolynomials
from .. import description as d
from .frames import Frames
from .functions import pieces, table


class Places:
    """Lookup by name. What force laws are made with (`force.term.Places`)."""

    def __init__(
        self, description: d.ModelDescription, frames: Frames, index: dict[str, int], controls: tuple[str, ...]
    ):
        self._description, self._frames, self._index, self._controls = description, frames, index, controls
        self._paths = {id(owner): i for i, owner in enumerate(description.paths())}
        self._rotations = {c.name for c in description.coordinates() if c.motion_type == "rotational"}

    def on_link(self, path: str) -> tuple[int, np.ndarray, np.ndarray]:
        return self._frames.on_link(path)

    def coordinate(self, name: str, owner: str) -> int:
        return find(self._index, name, owner)

    def path(self, owner: object) -> int:
        return self._paths[id(owner)]

    def control(self, name: str) -> int:
        return self._controls.index(name)

    def is_rotation(self, coordinate: str) -> bool:
        return coordinate in self._rotations

    def surface(self, name: str, owner: str) -> int:
        names = [contact.name for contact in self._description.contacts]
        if name not in names:
            raise ModelError(f"force {owner!r} touches {name!r}, which is not a contact geometry{nearest(name, names)}")
        return names.index(name)

    def surface_kind(self, surface: int) -> str:
        return self._description.contacts[surface].kind

    def surface_frame(self, surface: int) -> str:
        return self._description.contacts[surface].frame

    def functions(self, functions: Sequence[tuple[d.Function, str]]) -> PiecewisePolynomials:
        return table([pieces(function, owner) for function, owner in functions])


def find(index: dict[str, int], name: str, owner: str) -> int:
    """A coordinate's place."""
    if name not in index:
        raise ModelError(f"{owner}: there is no coordinate {name!r}{nearest(name, index)}")
    return index[name]
