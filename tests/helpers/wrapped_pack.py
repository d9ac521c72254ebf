"""Paths over surfaces: what is touched and how long they are, on the test bench and on the pack, beside OpenSim's.

`python tests/helpers/wrapped_pack.py` prints the table of docs/wrapping.md (needs the oracle pack).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import myograd as mg
from computed import BENCHES, compiled, in_numpy, loaded
from myograd.dynamics.kinematics import pose, speed_to_rate
from myograd.path.contacts import contacts
from myograd.path.posed import posed_path_geometry
from oracle_pack import FILES

BENCH = BENCHES / "all_surfaces.osim"
WRAPPED = [path for path in FILES if path.stem in ("Arm26", "Rajagopal2016", "MoBL_ARMS")]
CLOSED = {"WrapCylinder", "WrapSphere"}


def everything(model: mg.Model, q):
    """Lengths, what is touched, and the rates of lengths by the work of the lines and by differentiation."""
    at = contacts(model.wraps, posed_path_geometry(model, pose(model, q), q))
    return {
        "length": mg.muscle_lengths(model, q),
        "gradient": mg.muscle_gradients(model, q),
        "order": at.order,
        "arc": at.arc,
        "coupling": speed_to_rate(model, q) @ mg.coupling_matrix(model, q)[:, model.constraints.free],
    }


class Found(NamedTuple):
    """A model, its poses, and what `everything` says of them; `lengths` is a program for these alone."""

    model: mg.Model
    q: np.ndarray
    ours: dict[str, Any]
    lengths: Callable[..., Any]


@cache
def found(path: Path) -> Found:
    model = loaded(path)
    if path == BENCH:
        low, high = np.asarray(model.coordinates.range)
        q = low + (high - low) * np.random.default_rng(1).uniform(size=(60, len(low)))
    else:
        data = np.load(path.parents[1] / "reference" / f"{path.stem}.npz", allow_pickle=False)
        names = [str(name) for name in data["coord_names"]]
        q = data["coord_value"][:, [names.index(name) for name in model.coordinate_names]]
    lengths = compiled(mg.muscle_lengths, 1)
    return Found(model, q, in_numpy(compiled(everything, 1)(model, q)), lengths)


def polylines(it: Found) -> list[list[list[str]]]:
    """Names of the surfaces along each path, [pose][muscle]."""
    wraps, order = it.model.wraps, it.ours["order"]
    names = [path.rsplit("/", 1)[1] for path in it.model.document.description.wrap_objects()]
    table = []
    for k in range(len(it.q)):
        row = []
        for m in range(len(it.model.muscle_names)):
            on = [s for s in np.flatnonzero(wraps.path == m) if order.engaged[k, s]]
            on.sort(key=lambda s: (wraps.pairs[order.pair[k, s], 0], order.place[k, s]))
            row.append([names[wraps.surface[s]] for s in on])
        table.append(row)
    return table


class Pack(NamedTuple):
    """What OpenSim's paths of a pack model touch, and their lengths."""

    touched: list[list[list[str]]]
    length: np.ndarray
    jumps: np.ndarray
    """[poses, muscles] the length jumps nearby: OpenSim's difference quotients at two steps disagree"""


@cache
def pack_of(path: Path) -> Pack:
    data = np.load(path.parents[1] / "reference" / f"{path.stem}.npz", allow_pickle=False)
    names = [str(name).rsplit("/", 1)[-1] for name in data["path_wrap_object_names"]]
    count, objects, on = data["path_npoints"], data["path_point_wrap_object"], data["path_point_is_wrap"]
    touched = [
        [[names[i] for i in objects[k, m, :n][on[k, m, :n].astype(bool)]][::2] for m, n in enumerate(count[k])]
        for k in range(len(count))
    ]
    order = [str(name) for name in data["muscle_names"]]
    index = [order.index(name) for name in loaded(path).muscle_names]
    quotients = [data[key][:, index] for key in ("moment_arm_fd", "moment_arm_fd_h1e5")]
    jumps = np.nanmax(np.abs(quotients[0] - quotients[1]), axis=2) > 1e-4
    return Pack([[row[i] for i in index] for row in touched], data["muscle_length"][:, index], jumps)


def compared() -> tuple[dict[str, list[float]], dict[str, list[bool]]]:
    """Over the whole pack: differences of length [m] by what is touched, away from jumps; and whether the same surfaces are
    touched in the same order, by the surfaces that a muscle has."""
    gaps, agree = defaultdict(list), defaultdict(list)
    for path in WRAPPED:
        it, pack = found(path), pack_of(path)
        wraps, order, ours = it.model.wraps, it.ours["order"], polylines(it)
        for k in range(len(it.q)):
            for m in sorted(set(wraps.path)):
                own = np.flatnonzero(wraps.path == m)
                same = ours[k][m] == pack.touched[k][m]
                agree["cylinders and spheres" if {wraps.kind[s] for s in own} <= CLOSED else "others"].append(same)
                on = own[order.engaged[k, own]]
                if same and len(on) and not pack.jumps[k, m]:
                    gaps[_what(it, k, own, on)].append(abs(it.ours["length"][k, m] - pack.length[k, m]))
    return gaps, agree


def _what(it: Found, k: int, own: np.ndarray, on: np.ndarray) -> str:
    """What a path touches at pose k, in the words of the table."""
    wraps, order = it.model.wraps, it.ours["order"]
    kinds = {wraps.kind[s].removeprefix("Wrap").lower() for s in on}
    radius = np.asarray(it.model.surfaces.sizes)[0, wraps.surface[on]]
    if (order.before[k, on] < len(wraps.surface)).any():
        return "several surfaces on one segment"
    if kinds <= {"cylinder", "sphere"}:
        if (it.ours["arc"][k, on] > np.pi * radius).any():
            return "cylinder or sphere, more than half a turn"
        return "cylinder or sphere" if len(own) == 1 else "cylinder or sphere, of a path with several surfaces"
    return " and ".join(sorted(kinds - {"cylinder", "sphere"}))


def main() -> None:
    gaps, agree = compared()
    print("| touched | cases | median, mm | 99 %, mm | largest, mm |\n|---|--:|--:|--:|--:|")
    for what, values in sorted(gaps.items()):
        mm = 1000 * np.array(values)
        print(f"| {what} | {len(mm)} | {np.median(mm):.4f} | {np.quantile(mm, 0.99):.3f} | {mm.max():.2f} |")
    print("\n| surfaces of the muscle | cases | same surfaces touched in the same order |\n|---|--:|--:|")
    for what, values in sorted(agree.items()):
        print(f"| {what} | {len(values)} | {100 * np.mean(values):.2f} % |")


if __name__ == "__main__":
    main()
