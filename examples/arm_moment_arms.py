"""Moment arms of the arm that comes with Myograd, muscle group by muscle group, with published sizes as bands.

python examples/arm_moment_arms.py      writes docs/img/arm_*.svg
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

import myograd as mg
from myograd.app.svg import Drawing, Frame
from myograd.models import model_path

FOLDER = Path(__file__).parents[1] / "docs" / "img"
COLORS = ("#26c", "#c33", "#282", "#a6a")
POINTS = 61


class Figure(NamedTuple):
    name: str
    title: str
    muscles: tuple[str, ...]
    about: str
    along: str
    degrees: tuple[float, float]
    held: dict[str, float]  # rad
    measured: tuple[tuple[float, float, float, str], ...] = ()  # degrees, lowest and highest mm, source


FIGURES = (
    Figure(
        "arm_deltoid_abduction",
        "Deltoid in abduction",
        ("DELT1", "DELT2", "DELT3"),
        "elevation",
        "elevation",
        (5, 120),
        {},
    ),
    Figure(
        "arm_deltoid_flexion",
        "Deltoid in flexion",
        ("DELT1", "DELT2", "DELT3"),
        "elevation",
        "elevation",
        (5, 120),
        {"elevation_plane": np.pi / 2},
    ),
    Figure(
        "arm_pectoralis_abduction",
        "Pectoralis major in abduction",
        ("PECM1", "PECM2", "PECM3"),
        "elevation",
        "elevation",
        (5, 120),
        {},
    ),
    Figure(
        "arm_cuff_rotation",
        "Rotator cuff, axial rotation (inwards positive)",
        ("INFSP", "SUBSC"),
        "axial_rotation",
        "axial_rotation",
        (-45, 45),
        {"elevation": 0.3},
        ((0, 24.4, 27.0, "peak of the inferior part, Ackland 2011"), (0, -28.3, -23.3, "")),
    ),
    Figure(
        "arm_elbow_flexors",
        "Elbow flexors",
        ("BIClong", "BICshort", "BRA", "BRD"),
        "elbow_flexion",
        "elbow_flexion",
        (0, 135),
        {},
        ((101, 76.5, 77.5, "BRD, mean peak 77: Murray 2000"), (105, 46.5, 47.5, "BIClong, mean peak 47")),
    ),
    Figure(
        "arm_triceps",
        "Triceps",
        ("TRIlong", "TRIlat", "TRImed"),
        "elbow_flexion",
        "elbow_flexion",
        (0, 135),
        {},
        ((30, -25.3, -22.5, "MRI, Sugisaki 2010"), (110, -18.7, -16.1, "")),
    ),
    Figure(
        "arm_forearm",
        "Forearm rotation at 90° of flexion",
        ("BIClong", "BICshort", "PQ", "BRD"),
        "pronation",
        "pronation",
        (-70, 70),
        {"elbow_flexion": np.pi / 2},
    ),
)


def curves(model: mg.Model, figure: Figure) -> tuple[np.ndarray, np.ndarray]:
    """Angles in degrees, and moment arms in mm of each muscle."""
    degrees = np.linspace(*figure.degrees, POINTS)
    q = np.zeros((POINTS, len(model.coordinate_names)))
    for name, value in figure.held.items():
        q[:, model.coordinate_names.index(name)] = value
    q[:, model.coordinate_names.index(figure.along)] = np.radians(degrees)
    arms = np.asarray(mg.batched(lambda q: mg.moment_arms(model, mg.assemble(model, q)))(q))
    rows = [model.muscle_names.index(name) for name in figure.muscles]
    return degrees, 1e3 * arms[:, rows, model.coordinate_names.index(figure.about)]


def draw(figure: Figure, degrees: np.ndarray, arms: np.ndarray) -> str:
    page = Drawing(560, 320)
    bands = [limit for _, low, high, _ in figure.measured for limit in (low, high)]
    low, high = min(arms.min(), 0.0, *bands, -5.0), max(arms.max(), 0.0, *bands, 5.0)
    frame = Frame(page, (60, 60, 460, 270), figure.degrees, (low - 3, high + 3))
    first, last = figure.degrees
    heights = np.arange(np.ceil((low - 3) / 10) * 10, high + 3, 10)
    frame.axes(
        np.linspace(first, last, 5).tolist(),
        heights.tolist(),
        f"{figure.along.replace('_', ' ')} [°]",
        "moment arm [mm]",
    )
    page.words(figure.title, 60, 24, size=15)
    for at, bottom, top, source in figure.measured:
        page.line(frame.place(np.array([at, at]), np.array([bottom, top])), "#999", 6.0, 0.6)
        if source:
            x, y = frame.place(at, top)
            page.words(source, x, y - 6, anchor="middle", size=10)
    for i, name in enumerate(figure.muscles):
        page.line(frame.place(degrees, arms[:, i]), COLORS[i], 2.0)
        page.words(name, 470, 70 + 20 * i, color=COLORS[i])
    return page.text()


def main() -> None:
    model = mg.load_model(model_path("arm"))
    for figure in FIGURES:
        (FOLDER / f"{figure.name}.svg").write_text(draw(figure, *curves(model, figure)))


if __name__ == "__main__":
    main()
