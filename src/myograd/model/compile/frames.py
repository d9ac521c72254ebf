"""Frames of a description, resolved: which link each is fixed to and where on it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import ModelError, nearest
from ...geometry.spatial import rotation_xyz
from ..description import Body, ModelDescription, OffsetFrame
from .tree import Link


class Frames:
    """Lookup by absolute path of frames fixed to links."""

    def __init__(self, description: ModelDescription, links: list[Link]):
        self._frames = description.frames()
        self._link = {"/ground": 0}
        for k, link in enumerate(links):
            if k and link.copy_of < 0:
                self._link[f"/bodyset/{link.name}"] = k

    def on_link(self, path: str) -> tuple[int, np.ndarray, np.ndarray]:
        """Link that a frame is fixed to, and the frame's rotation [3, 3] and origin [3] in it."""
        rotation, origin = np.eye(3), np.zeros(3)
        frame: Body | OffsetFrame = self[path]
        while isinstance(frame, OffsetFrame):
            R = rotation_xyz(np.array(frame.orientation))
            rotation, origin = R @ rotation, R @ origin + np.array(frame.translation)
            path = frame.parent
            frame = self[path]
        return self._link[path], rotation, origin

    def place(self, path: str, location: Sequence[float]) -> tuple[int, np.ndarray]:
        """Link and position on it of a point given in a frame."""
        link, rotation, origin = self.on_link(path)
        return link, rotation @ np.array(location, float) + origin

    def __getitem__(self, path: str) -> Body | OffsetFrame:
        try:
            return self._frames[path]
        except KeyError:
            raise ModelError(f"there is no frame {path!r}{nearest(path, self._frames)}") from None
