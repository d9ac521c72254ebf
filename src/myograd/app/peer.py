"""What OpenSim says of the same file at the same poses, for `--against opensim`; it is no dependency of Myograd."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np

from myograd.errors import MyogradError


def opensim() -> Any:
    """The `opensim` package, silent and without its log file."""
    try:
        module = importlib.import_module("opensim")
    except ImportError as error:
        raise MyogradError(
            f"the comparison needs OpenSim's Python package, which cannot be imported ({error}): pip install opensim"
        ) from None
    module.Logger.setLevelString("Off")
    module.Logger.removeFileSink()
    return module


class OpenSimModel:
    """A model as OpenSim reads it."""

    def __init__(self, path: Path):
        package = opensim()
        try:
            self.model = package.Model(str(path))
            self.state = self.model.initSystem()
        except RuntimeError as error:
            raise MyogradError(f"OpenSim cannot load {path}: {error}") from None

    def lengths_and_arms(
        self, names: tuple[str, ...], q: np.ndarray, coordinate: str, muscles: tuple[str, ...]
    ) -> tuple[np.ndarray, np.ndarray]:
        """[poses, muscles] lengths [m] and moment arms about `coordinate` at poses q [poses, coordinates], whose columns are
        `names`; NaN where a pose is."""
        coordinates, everything = self.model.getCoordinateSet(), self.model.getMuscles()
        about, paths = coordinates.get(coordinate), [everything.get(name) for name in muscles]
        lengths, arms = np.full((2, len(q), len(muscles)), np.nan)
        for i, values in enumerate(q):
            if np.isnan(values).any():
                continue
            for name, value in zip(names, values, strict=True):
                if not coordinates.get(name).getLocked(self.state):  # those stay at their default, in both
                    coordinates.get(name).setValue(self.state, float(value), False)
            self.model.realizePosition(self.state)
            lengths[i] = [path.getLength(self.state) for path in paths]
            arms[i] = [path.computeMomentArm(self.state, about) for path in paths]
        return lengths, arms
