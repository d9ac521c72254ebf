"""Moment arms of a wrapped muscle, Myograd's and OpenSim's, beside the derivatives of the lengths they should be.

    python examples/virtual_work.py Arm26.osim      prints the table, writes docs/img/virtual_work.svg

The long head of the triceps of Arm26 (a model that comes with OpenSim, and is not ours to ship) passes over a cylinder and an
ellipsoid at the shoulder and a cylinder at the elbow. Where it touches some, OpenSim's moment arm is not the derivative of
OpenSim's length, and where it touches several, it is far from it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import myograd as mg
from myograd.app.peer import OpenSimModel
from myograd.app.svg import Drawing, Frame

MUSCLE, COORDINATE, POINTS = "TRIlong", "r_shoulder_elev", 361
PICTURE = Path(__file__).parents[1] / "docs" / "img" / "virtual_work.svg"
BLUE, RED, BLACK = "#26c", "#c33", "#333"


def slope(length: Callable[[np.ndarray], np.ndarray], angles: np.ndarray) -> np.ndarray:
    """-dL/dq by central differences of fourth order [m]."""
    h = 1e-5
    L = {k: length(angles + k * h) for k in (-2, -1, 1, 2)}
    return -(8 * (L[1] - L[-1]) - (L[2] - L[-2])) / (12 * h)


def unbroken(values: np.ndarray, step: float, limits: tuple[float, float]) -> list[np.ndarray]:
    """Indices of the stretches of a curve in which values are within limits, and neighbours within `step` of each other."""
    shown = np.flatnonzero((values > limits[0]) & (values < limits[1]))
    return np.split(shown, np.flatnonzero((np.abs(np.diff(values[shown])) > step) | (np.diff(shown) > 1)) + 1)


def main() -> None:
    path = Path(sys.argv[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mg.load_model(path)
    peer = OpenSimModel(path)
    column, muscle = model.coordinate_names.index(COORDINATE), model.muscle_names.index(MUSCLE)
    low, high = np.asarray(model.coordinates.range)[:, column]
    angles = np.linspace(low, high, POINTS)
    lengths = mg.batched(lambda q: mg.muscle_lengths(model, q)[muscle])
    arms = mg.batched(lambda q: mg.moment_arms(model, q)[muscle, column])

    def poses(angles: np.ndarray) -> np.ndarray:
        q = np.tile(np.asarray(model.default_pose()), (len(angles), 1))
        q[:, column] = angles
        return q

    def theirs(angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        length, arm = peer.lengths_and_arms(model.coordinate_names, poses(angles), COORDINATE, (MUSCLE,))
        return length[:, 0], arm[:, 0]

    our_length, our_arm = (np.asarray(f(poses(angles))) * 1e3 for f in (lengths, arms))
    our_slope = slope(lambda x: np.asarray(lengths(poses(x))), angles) * 1e3
    their_length, their_arm = (x * 1e3 for x in theirs(angles))
    their_slope = slope(lambda x: theirs(x)[0], angles) * 1e3
    degrees = np.degrees(angles)
    print("angle [deg]   Myograd: -dL/dq [mm]   arm - that   OpenSim: -dL/dq [mm]   arm - that")
    for i in range(0, POINTS, 12):
        off, their_off = our_arm[i] - our_slope[i], their_arm[i] - their_slope[i]
        print(f"{degrees[i]:11.1f} {our_slope[i]:22.3f} {off:12.1e} {their_slope[i]:22.3f} {their_off:12.3f}")
    print(f"largest arm + dL/dq of Myograd: {np.abs(our_arm - our_slope).max():.1e} mm")

    picture = Drawing(760, 800)
    ticks = [-90, -45, 0, 45, 90, 135, 180]
    curves = (
        ((their_length, RED, "OpenSim 4.6", ""), (our_length, BLUE, "Myograd", "")),
        (
            (their_arm, RED, "OpenSim: arm", ""),
            (their_slope, BLACK, "OpenSim: -dL/dq", "2 3"),
            (our_arm, BLUE, "Myograd: both", ""),
        ),
        ((their_arm - their_slope, RED, "OpenSim", ""), (our_arm - our_slope, BLUE, "Myograd", "")),
    )
    frames = (
        ((40, 230), (245, 345), [260, 280, 300, 320, 340], "length [mm]", 2.5),
        ((290, 500), (-42, 34), [-40, -20, 0, 20], "moment arm, and -dL/dq of the same program's length [mm]", 6.0),
        ((560, 750), (-22, 22), [-20, -10, 0, 10, 20], "moment arm less -dL/dq [mm]", 6.0),
    )
    for lines, ((top, bottom), limits, heights, title, step) in zip(curves, frames, strict=True):
        frame = Frame(picture, (60, top, 600, bottom), (-90, 180), limits)
        frame.axes(ticks, heights, "shoulder elevation [°]" if bottom == 750 else "", title)
        for k, (values, color, name, dashes) in enumerate(lines):
            for piece in unbroken(values, step, limits):
                picture.line(frame.place(degrees[piece], values[piece]), color, 1.8, dashes=dashes)
            picture.words(name, 612, top + 16 + 20 * k, color=color)
    PICTURE.write_text(picture.text())


if __name__ == "__main__":
    main()
