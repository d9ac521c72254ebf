"""The recordings that ship with Myograd: a person's arm, two movements and an unseen third (made by
`scripts/shipped/recordings.py`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ... import models
from ...errors import MyogradError, nearest
from ...files.models import load_model
from ...model.model import Model
from ..recording import Recording, follow
from .parameters import Parameters

FOLDER = Path(models.__file__).parent / "data"
MOVEMENTS = ("move1", "move2", "move3")


def shipped_recording(name: str, model: Model | None = None, fibers: bool = True) -> Recording:
    """One of `MOVEMENTS` of the shipped arm; with recorded fibre states, or without."""
    if name not in MOVEMENTS:
        raise MyogradError(f"there is no shipped recording {name!r}{nearest(name, MOVEMENTS)}")
    model = model or load_model(models.model_path("arm"))
    with np.load(FOLDER / f"arm_{name}.npz", allow_pickle=False) as file:
        it = dict(file)
    full = np.zeros((3, len(it["time"]), len(model.coordinate_names)))
    for k, key in enumerate(("q", "u", "udot")):
        full[k][:, model.constraints.free] = it[key]
    q, u, udot = follow(model, it["time"], *full)
    return Recording(
        name,
        it["time"],
        q,
        u,
        udot,
        it["emg"],
        model.muscle_names,
        it["fiber_length"] if fibers else None,
        it["fiber_velocity"] if fibers else None,
    )


def _person() -> dict[str, Any]:
    return json.loads((FOLDER / "arm_person.json").read_text())


def shipped_numbers() -> dict[str, float]:
    """The person's own numbers, by name: those that are not the shipped arm's, and those of the EMG."""
    return _person()["numbers"]


def shipped_truth(p: Parameters) -> np.ndarray:
    """The person's own numbers, in the order of `p.names`; gains of the EMG are one."""
    known = shipped_numbers()
    return np.array([1.0 if number.field == "emg_gain" else known[number.name] for number in p.numbers])


def shipped_bodies() -> tuple[str, ...]:
    """Bodies whose inertia is the person's own, and not the shipped arm's."""
    return tuple(_person()["bodies"])


def shipped_deep() -> tuple[str, ...]:
    """Muscles of the shipped arm that surface EMG does not reach."""
    return tuple(_person()["deep"])
