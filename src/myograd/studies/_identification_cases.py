"""The people of the identification study: recordings, and the numbers behind them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import myograd
from myograd import models
from myograd.estimate.identification.choices import COMMON, Choices, FiberSource
from myograd.estimate.identification.parameters import Parameters
from myograd.estimate.identification.problem import Problem
from myograd.estimate.identification.setup import identification
from myograd.estimate.identification.shipped import shipped_deep, shipped_numbers, shipped_recording
from myograd.estimate.inverse.mechanics import Mechanics, mechanics
from myograd.estimate.inverse.regressors import NAMES
from myograd.estimate.recording import Recording
from myograd.model.model import Model
from myograd.studies.people import BODIES, somebody

OPENSIM = Path(
    os.environ.get("MYOGRAD_IDENTIFICATION", Path(__file__).resolve().parents[4] / "shared" / "identification")
)
MOVEMENTS = {"move1": "move1", "move2": "move2", "move3": "move3_test"}
"""Of OpenSim's recordings, and their files."""
MUSCLE_KEYS = {
    "max_isometric_force_N": "max_isometric_force",
    "optimal_fiber_length_m": "optimal_fiber_length",
    "tendon_slack_length_m": "tendon_slack_length",
    "pennation_at_optimal_rad": "pennation_angle",
    "max_contraction_velocity_lopt_per_s": "max_contraction_velocity",
}
COMMON_KEYS = {
    "t_act_s": "muscles.activation_time_constant",
    "t_deact_s": "muscles.deactivation_time_constant",
    "t_d_s": "emg.delay",
    "c1": "emg.c1",
    "c2": "emg.c2",
}
"""What `truth.json` calls numbers, and their names here."""


@dataclass(eq=False)
class Case:
    """One source of recordings: a model, its movements, and the truth."""

    name: str
    model: Model
    deep: tuple[str, ...]
    recordings: dict[str, Recording]
    known: dict[str, Mechanics]
    numbers: dict[str, float]
    """the person's true numbers, by name"""

    @property
    def start(self) -> dict[str, float]:
        """Of the numbers that no model states, where fits would start that are not given a start."""
        return {name: self.numbers[name] for name in COMMON}

    def truth(self, p: Parameters) -> np.ndarray:
        """In the order of `p.names`."""
        return np.array([self.numbers[name] for name in p.names])

    def problem(
        self, method: str, fibers: FiberSource, movements: Sequence[str] = ("move1", "move2"), every: int = 1
    ) -> Problem:
        return identification(
            self.model,
            [self.recordings[name] for name in movements],
            self.deep if method == "M1" else (),
            BODIES,
            choices=Choices(fibers=fibers, start=self.start, every=every),
            known=[self.known[name] for name in movements],
        )


def own_case() -> Case:
    model = myograd.load_model(models.model_path("arm"))
    recordings = {name: shipped_recording(name, model) for name in MOVEMENTS}
    known = {name: mechanics(model, it, BODIES) for name, it in recordings.items()}
    return Case("own", model, shipped_deep(), recordings, known, shipped_numbers())


def opensim_case(folder: Path = OPENSIM / "subjectA") -> Case | None:
    """Recordings made with OpenSim on another arm; with OpenSim's own geometry. None where they are not at hand."""
    if not (folder / "truth.json").exists():
        return None
    model = myograd.load_model(folder / "arm16.osim")
    told = json.loads((folder / "truth.json").read_text())
    recordings = {name: opensim_recording(model, folder / f"{file}.npz", name) for name, file in MOVEMENTS.items()}
    return Case(
        "opensim",
        somebody(model, BODIES, 21),  # what is known before must not be the truth, which the file states
        tuple(told["deep"]),
        recordings,
        {name: mechanics(model, it, BODIES) for name, it in recordings.items()},  # does not depend on what is asked for
        opensim_numbers(folder),
    )


def opensim_numbers(folder: Path) -> dict[str, float]:
    """The true numbers of a subject of OpenSim's, by name."""
    told = json.loads((folder / "truth.json").read_text())
    found = {COMMON_KEYS[key]: told["common"][key] for key in COMMON_KEYS}
    for muscle, numbers in told["muscles"].items():
        found |= {f"{muscle}.{name}": numbers[key] for key, name in MUSCLE_KEYS.items()}
    for body, numbers in told["bones"].items():
        values = [numbers["mass"], *numbers["mass_center"], *numbers["inertia_com_xx_yy_zz_xy_xz_yz"]]
        found |= {f"{body}.{name}": value for name, value in zip(NAMES, values, strict=True)}
    return found


def opensim_recording(model: Model, path: Path, name: str) -> Recording:
    """From a file of the independent set (its README says what it holds)."""
    with np.load(path, allow_pickle=False) as file:
        it = dict(file)
    columns = [model.coordinate_names.index(str(c)) for c in it["coord16"]]
    order = [[str(m) for m in it["muscles"]].index(m) for m in model.muscle_names]
    count, c = len(it["time"]), len(model.coordinate_names)
    motion = np.zeros((3, count, c))
    motion[0] = np.asarray(model.default_pose())
    for k, key in enumerate(("q", "qd", "qdd")):
        motion[k][:, columns] = it[key]
    pull = np.zeros((count, len(order), c))
    pull[:, :, columns] = it["path_genforce_unit"][:, order]
    return Recording(
        name,
        it["time"],
        motion[0],
        motion[1],
        motion[2],
        it["emg"][:, order],
        model.muscle_names,
        it["fiber_length"][:, order],
        it["fiber_velocity"][:, order],
        it["muscle_length"][:, order],
        pull,
    )
