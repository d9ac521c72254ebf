"""Moment arms next to a moving path point: Myograd's, OpenSim's, and the derivative of the length they should be.

    python examples/moving_points.py            prints the table, writes docs/img/moving_points.svg

The patellar point of the planar leg's rectus femoris slides on the shank as the knee bends, and its neighbour is fixed to
the same body. OpenSim leaves the work of that sliding out of its moment arm (but not out of its lengthening speed).
"""

from __future__ import annotations

import warnings
from pathlib import Path

import jax
import numpy as np

import myograd as mg
from myograd.app.svg import Drawing, Frame
from myograd.models import model_path

MUSCLE, COORDINATE, POINTS = "rectus_femoris", "knee_flexion", 13
PICTURE = Path(__file__).parents[1] / "docs" / "img" / "moving_points.svg"


def ours(model: mg.Model, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Moment arm, and minus the derivative of the length by central differences of fourth order [m]."""
    knee, muscle = model.coordinate_names.index(COORDINATE), model.muscle_names.index(MUSCLE)
    arms = jax.vmap(lambda q: mg.moment_arms(model, q)[muscle, knee])(poses)
    h = 1e-4
    lengths = {
        k: jax.vmap(lambda q: mg.muscle_lengths(model, q)[muscle])(poses + k * h * np.eye(poses.shape[1])[knee])
        for k in (-2, -1, 1, 2)
    }
    return np.asarray(arms), -np.asarray(8 * (lengths[1] - lengths[-1]) - (lengths[2] - lengths[-2])) / (12 * h)


def opensims(path: Path, names: tuple[str, ...], poses: np.ndarray) -> np.ndarray:
    """OpenSim's moment arm at the same poses [m]."""
    import opensim

    opensim.Logger.setLevelString("Off")
    model = opensim.Model(str(path))
    state = model.initSystem()
    out = []
    for q in poses:
        for name, value in zip(names, q, strict=True):
            model.getCoordinateSet().get(name).setValue(state, float(value), False)
        out.append(model.getMuscles().get(MUSCLE).computeMomentArm(state, model.getCoordinateSet().get(COORDINATE)))
    return np.array(out)


def main() -> None:
    path = model_path("planar_leg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mg.load_model(path)
    knee = model.coordinate_names.index(COORDINATE)
    poses = np.tile(np.asarray(model.default_pose()), (POINTS, 1))
    poses[:, knee] = np.linspace(0.05, 1.95, POINTS)
    arms, slopes = ours(model, poses)
    theirs = opensims(path, model.coordinate_names, poses)
    print("knee [deg]   -dL/dq [mm]   myograd - that [mm]   OpenSim - that [mm]")
    for q, arm, slope, other in zip(poses[:, knee], arms, slopes, theirs, strict=True):
        print(f"{np.degrees(q):10.1f} {slope * 1e3:13.3f} {(arm - slope) * 1e3:21.1e} {(other - slope) * 1e3:21.3f}")
    picture = Drawing(560, 300)
    frame = Frame(picture, (60, 20, 420, 250), (0, 115), (-52, -28))
    frame.axes([0, 30, 60, 90], [-50, -45, -40, -35, -30], "knee flexion [°]", "moment arm [mm]")
    angle = np.degrees(poses[:, knee])
    for values, color, name, y in ((theirs, "#c33", "OpenSim 4.6", 60), (arms, "#26c", "Myograd = -dL/dq", 85)):
        picture.line(frame.place(angle, values * 1e3), color, 2.0)
        picture.words(name, 430, y, color=color)
    PICTURE.write_text(picture.text())


if __name__ == "__main__":
    main()
