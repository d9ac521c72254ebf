"""Make an oracle pack: models, and what OpenSim computes of them at random states, for the tests to compare with.

    python scripts/oracle_pack.py FOLDER_OF_OSIM --out PACK [--poses 25] [--seed 20260101] [--degroote-fregly]
    MYOGRAD_ORACLE_PACK=PACK pytest tests

Needs PyPI's `opensim` (pip install 'myograd[test]'). Writes, for each model X of the folder:

    PACK/models/X.osim         the file as it is, and X_v46.osim, the same printed by this OpenSim
    PACK/reference/X.npz       numbers at the states; `scripts/oracle_numbers.py` says what each key holds
    PACK/models/X_DGF.osim     with --degroote-fregly: its muscles replaced by DeGrooteFregly2016Muscles, and their numbers
    PACK/pack.json             which models, how many poses, the seed, OpenSim's version

A state: coordinates that nothing sets are drawn from the middle 80 % of their ranges (translations within 2 m, angles of more
than a turn within 1.25 rad), the model is assembled, and Newton's method takes the errors of the constraints below 1e-14; speeds
are drawn from N(0, 1), projected on the constraints. A model whose reference is there already is left as it is, so an interrupted
run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

from myograd.files.atomic import write_bytes, write_text
from oracle_numbers import CASES, Oracle, OracleError, each, loaded, opensim_package

POSES, SEED = 25, 20260101
TRANSLATION, ROTATION = 2.0, 1.25  # where ranges are cut: metres, and radians of coordinates that turn more than once
TRIES = 50


def drawn(oracle: Oracle, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
    """q and u that satisfy the constraints, and how many poses could not be assembled before."""
    free = oracle.free
    low, high = oracle.ranges[free].T
    slides = oracle.motion_types[free] == 2
    wide = ~slides & (high - low > 2 * np.pi)
    low = np.where(slides, np.clip(low, -TRANSLATION, TRANSLATION), np.where(wide, -ROTATION, low))
    high = np.where(slides, np.clip(high, -TRANSLATION, TRANSLATION), np.where(wide, ROTATION, high))
    for failed in range(TRIES):
        values = low + (high - low) * (0.1 + 0.8 * random.uniform(size=len(free)))
        try:
            q = oracle.assembled(values)
        except RuntimeError:  # OpenSim could not satisfy the constraints from there
            continue
        return q, oracle.projected(q, random.normal(size=oracle.state.getNU())), failed
    raise OracleError(
        f"{oracle.path.name}: none of {TRIES} random poses could be assembled; are its ranges those of its joints?"
    )


def numbers(path: Path, poses: int, seed: int, quotients: bool = True) -> dict[str, np.ndarray]:
    """All that a reference holds of a model."""
    oracle = Oracle(path)
    random = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    muscles, controls = len(oracle.muscles), len(oracle.actuators)
    for _ in range(poses):
        q, u, failed = drawn(oracle, random)
        row: dict[str, Any] = {"resample_count": failed} | oracle.rigid(q, u) | oracle.paths(q, u)
        if muscles and quotients:
            row |= oracle.arm_quotients(q, u)
        activation = random.uniform(0.05, 1.0, muscles)
        stretch = random.uniform(0.99, 1.01, muscles)
        drive = np.where(oracle.is_muscle, random.uniform(size=controls), random.uniform(-1, 1, controls))
        for name, level in CASES.items():
            row |= oracle.case(q, u, name, np.full(muscles, level), np.where(oracle.is_muscle, level, 0.0))
        row |= oracle.case(q, u, "rnd", activation, drive, stretch) | {"rnd_controls": drive}
        rows.append(row)
    points = [row.pop("polylines") for row in rows]
    found = {key: np.array([row[key] for row in rows]) for key in rows[0]} | polylines(points, muscles)
    if found["path_wraps"].any():
        fresh = [Oracle(path).paths(q, u) for q, u in zip(found["q"], found["u"], strict=True)]
        for key in ("muscle_length", "muscle_speed"):
            found[f"{key}_fresh"] = np.array([row[key] for row in fresh])
    return found | facts(oracle) | {"seed": np.array(seed), "model_file": np.array(path.name)}


def polylines(poses: list[list[list[tuple[Any, ...]]]], muscles: int) -> dict[str, np.ndarray]:
    """The points of all paths, `Oracle.paths`'s polylines, as arrays [poses, muscles, points]."""
    most = max((len(path) for paths in poses for path in paths), default=0)
    rows = [point for paths in poses for path in paths for point in path]
    frames, surfaces = sorted({row[3] for row in rows}), sorted({row[4] for row in rows} - {""})
    shape = len(poses), muscles, most
    places, arcs = np.full((*shape, 3), np.nan), np.zeros(shape)
    on, frame, surface = np.zeros(shape, bool), np.full(shape, -1, np.int16), np.full(shape, -1, np.int16)
    for k, paths in enumerate(poses):
        for m, path in enumerate(paths):
            for i, (place, touches, arc, name, over) in enumerate(path):
                places[k, m, i], on[k, m, i], arcs[k, m, i] = place, touches, arc
                frame[k, m, i] = frames.index(name)
                surface[k, m, i] = surfaces.index(over) if over else -1
    return {
        "path_npoints": np.array([[len(path) for path in paths] for paths in poses], int).reshape(shape[:2]),
        "path_points": places,
        "path_point_is_wrap": on,
        "path_wrap_length": arcs,
        "path_point_frame": frame,
        "path_point_wrap_object": surface,
        "path_frame_names": np.array(frames, str),
        "path_wrap_object_names": np.array(surfaces, str),
        "path_wraps": np.asarray(on.any(axis=2)),
    }


def facts(oracle: Oracle) -> dict[str, np.ndarray]:
    """What does not depend on the state: names, orders, classes, parameters."""

    def named(items: list[Any], get: str = "getName") -> np.ndarray:
        return np.array([getattr(item, get)() for item in items], str)

    speeds = np.argsort(oracle.u_index)
    names, constraints = named(oracle.coordinates), each(oracle.model.getConstraintSet())
    states, gravity = oracle.model.getStateVariableNames(), oracle.model.get_gravity()
    parameters = [
        (
            muscle.getMaxIsometricForce(),
            muscle.getOptimalFiberLength(),
            muscle.getTendonSlackLength(),
            muscle.getPennationAngleAtOptimalFiberLength(),
            muscle.getMaxContractionVelocity(),
            muscle.get_ignore_tendon_compliance(),
            muscle.get_ignore_activation_dynamics(),
        )
        for muscle in oracle.muscles
    ]
    return {
        "coord_names": names,
        "coord_names_tree_order": names[np.argsort(oracle.q_index)],
        "u_coord_names": names[speeds],
        "coord_q_index": oracle.q_index,
        "coord_u_index": oracle.u_index,
        "coord_locked": oracle.locked,
        "coord_prescribed": oracle.prescribed,
        "coord_dependent": oracle.dependent,
        "coord_clamped": np.array([c.getClamped(oracle.state) for c in oracle.coordinates], bool),
        "coord_range": oracle.ranges,
        "coord_motion_type": oracle.motion_types,
        "coord_joint": np.array([c.getJoint().getName() for c in oracle.coordinates], str),
        "coord_default": np.array([c.getDefaultValue() for c in oracle.coordinates], float),
        "default_q": oracle.default_q,
        "body_names": named(oracle.bodies),
        "body_mass": np.array([body.getMass() for body in oracle.bodies], float),
        "marker_names": named(oracle.markers),
        "muscle_names": named(oracle.muscles),
        "muscle_class": named(oracle.muscles, "getConcreteClassName"),
        "muscle_params": np.array(parameters, float).reshape(-1, 7),
        "force_names": named(oracle.forces),
        "force_class": named(oracle.forces, "getConcreteClassName"),
        "force_applies_default": np.array(oracle.applies, bool),
        "actuator_names": named(oracle.actuators),
        "control_is_muscle": oracle.is_muscle,
        "constraint_names": named(constraints),
        "constraint_class": named(constraints, "getConcreteClassName"),
        "state_names": np.array([states.get(i) for i in range(states.getSize())], str),
        "gravity": gravity.to_numpy(),
        "opensim_version": np.array(oracle.package.GetVersionAndDate()),
    }


def write_reference(path: Path, values: dict[str, np.ndarray]) -> None:
    """All of it or nothing."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **values)  # pyright: ignore[reportArgumentType]
    write_bytes(path, [buffer.getvalue()])


def make_pack(folder: Path, out: Path, poses: int, seed: int, degroote_fregly: bool) -> None:
    files = sorted(folder.glob("*.osim"))
    if not files:
        raise OracleError(f"{folder}: there is no .osim file in it")
    models, references = out / "models", out / "reference"
    if models.resolve() == folder.resolve():
        raise OracleError(f"{folder}: the pack would be written over the models; choose another folder for --out")
    for made in (models, references):
        made.mkdir(parents=True, exist_ok=True)
    for k, file in enumerate(files):
        print(f"[{k + 1}/{len(files)}] {file.name}", flush=True)
        jobs = [(file.stem, True)] + [(f"{file.stem}_DGF", False)] * degroote_fregly
        shutil.copyfile(file, models / file.name)
        printed(file, models / f"{file.stem}_v46.osim", replaced=False)
        if degroote_fregly:
            printed(file, models / f"{file.stem}_DGF.osim", replaced=True)
        for name, quotients in jobs:
            reference = references / f"{name}.npz"
            if not reference.exists():
                write_reference(reference, numbers(models / f"{name}.osim", poses, seed, quotients))
    about = {
        "models": [file.stem for file in files],
        "poses": poses,
        "seed": seed,
        "opensim": opensim_package().GetVersionAndDate(),
    }
    write_text(out / "pack.json", json.dumps(about, indent=1) + "\n")


def printed(source: Path, target: Path, replaced: bool) -> None:
    """The model as this OpenSim writes it; with the muscles of De Groote and Fregly if `replaced`."""
    model = loaded(source)
    if replaced:
        opensim_package().DeGrooteFregly2016Muscle.replaceMuscles(model)
        model.finalizeConnections()
    model.printToXML(str(target))


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of .osim files")
    parser.add_argument("--out", type=Path, required=True, help="folder of the pack; made if it is not there")
    parser.add_argument("--poses", type=int, default=POSES, help="states per model")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--degroote-fregly", action="store_true", help="also with DeGrooteFregly2016Muscles")
    options = parser.parse_args(words)
    make_pack(options.folder, options.out, options.poses, options.seed, options.degroote_fregly)
    print(f"wrote {options.out}; the tests find it by MYOGRAD_ORACLE_PACK={options.out}")


if __name__ == "__main__":
    try:
        main()
    except OracleError as error:
        sys.exit(f"error: {error}")
