"""Myograd beside OpenSim, MuJoCo and Pinocchio: the same quantities, checked to be equal, and the time each takes.

    python benchmarks/run.py --out docs/benchmarks.md     the whole comparison (`make bench`), some minutes
    python benchmarks/run.py --quick                      the smallest model only; prints, writes nothing unless told to

Models are those of the oracle pack beside the repository (`../shared/opensim`), or, where that is missing, those that
come with Myograd. Raw numbers go to `benchmarks/results.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import jax
import numpy as np
from commands import command_grid, measure_commands
from gradients import MODELS as GRADIENT_MODELS
from gradients import gradient_cost, gradient_grid
from identification import identification_grid, measure_identification
from muscles import compare_muscles, muscle_grid
from ours import BATCH, Function, batched, first_call, quantities, repeated, runner, streamed, weighted
from peers_opensim import OpenSim
from peers_rigid import measure
from rich.console import Console
from simulations import case, cases, compare_simulation, simulation_grid
from table import Compared, ModelRows, Row, compile_grid, page, rigid_grid, speed_grid
from timing import Disagreement, agree, timed
from wrapped import compare_wrapped, wrapped_grid

import myograd as mg
from myograd import models
from myograd.files.atomic import write_text

ROOT = Path(__file__).resolve().parents[1]
PACK = ROOT.parent / "shared" / "opensim"
PACK_MODELS = ("Arm26", "Gait10dof18musc", "Rajagopal2016", "MoBL_ARMS")
WRAPPED_MODELS = ("Arm26", "Rajagopal2016", "MoBL_ARMS")
OWN_MODELS = ("double_pendulum", "coupled_mechanism", "planar_leg")
BARS = {"accelerations": 1e-8}  # of what may differ from OpenSim; 1e-9 for all others
console = Console(width=None if sys.stdout.isatty() else 150)


def without_wrapping(path: Path, opensim_coriolis: bool) -> mg.Model:
    """The model with straight paths, and with OpenSim's own velocity terms if asked for."""
    description = mg.read_osim(path)
    for muscle in description.muscles:
        muscle.path.wraps.clear()
    return mg.compile_model(description, opensim_coriolis)


def poses_of(model: mg.Model, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """q and u, `[25, coordinates]`, that satisfy the constraints: the pack's, or random ones in the model's range."""
    reference = PACK / "reference" / f"{path.stem}.npz"
    if path.is_relative_to(PACK) and reference.exists():
        with np.load(reference, allow_pickle=False) as pack:
            names = [str(name) for name in pack["coord_names"]]
            order = [names.index(name) for name in model.coordinate_names]
            return pack["coord_value"][:, order], pack["coord_speed"][:, order]
    random, (low, high) = np.random.default_rng(5), np.clip(model.coordinates.range, -1.5, 1.5)
    q = low + (high - low) * random.uniform(0.1, 0.9, (25, len(low)))
    q = jax.jit(jax.vmap(lambda q: mg.assemble(model, q)))(q)
    u = jax.jit(jax.vmap(lambda q, u: mg.project_speeds(model, q, u)))(q, random.normal(size=q.shape))
    return np.asarray(q), np.asarray(u)


def compare(path: Path, seconds: float, few: int) -> ModelRows:
    """Every quantity of one model, by OpenSim and by Myograd."""
    model = without_wrapping(path, opensim_coriolis=False)
    as_opensim = quantities(without_wrapping(path, opensim_coriolis=True))
    q, u = poses_of(model, path)
    peer = OpenSim(path, model.coordinate_names, q, u, few)
    independent = tuple(c.getName() for c in peer.independent)
    if independent != model.independent_coordinates:
        raise Disagreement(
            f"{path.stem}: independent coordinates differ: {independent}, {model.independent_coordinates}"
        )
    rows, notes = [], []
    for quantity, function in quantities(model).items():
        console.print(f"  {quantity} ...")
        row, note = _compare_quantity(quantity, function, as_opensim[quantity], model, peer, q, u, seconds)
        rows.append(row)
        notes += note
    pairs = len(model.muscle_names) * len(independent)
    sizes = len(model.body_names), len(model.coordinate_names), len(model.muscle_names), pairs
    return ModelRows(path.stem, *sizes, rows, notes)


def _compare_quantity(
    quantity: str,
    function: Function,
    as_opensim: Function,
    model: mg.Model,
    peer: OpenSim,
    q: np.ndarray,
    u: np.ndarray,
    seconds: float,
) -> tuple[Row, list[str]]:
    """One row of the table, and what has to be said about it. What is timed is `function`; what is compared with
    OpenSim's numbers is `as_opensim`, which differs from it in the velocity terms of some joints only."""
    opensim, calls = peer.time(quantity, seconds)
    many = repeated(q), repeated(u)
    batch, stream = batched(function), streamed(function)
    first = first_call(batch, *many)
    batch_time = timed(runner(batch, *many), BATCH, seconds)
    stream_time = timed(runner(stream, *many), BATCH, seconds)

    out = [np.asarray(array)[: len(q)] for array in jax.tree.leaves(batch(*many))]
    for array, other in zip(out, jax.tree.leaves(stream(*many)), strict=True):
        agree(f"{model.name}, {quantity}, stream and batch", np.asarray(other)[: len(q)], array, 1e-10)
    compared = [np.asarray(array) for array in jax.tree.leaves(jax.jit(jax.vmap(as_opensim))(q, u))]
    difference, notes = _check(quantity, compared, model, peer, q)

    scalar = weighted(function, many[0][0], many[1][0])
    total, gradient = batched(scalar), batched(jax.grad(scalar, argnums=(0, 1)))
    gradient_first = first_call(gradient, *many)
    total_time = timed(runner(total, *many), BATCH, seconds)
    gradient_time = timed(runner(gradient, *many), BATCH, seconds)
    row = Row(
        quantity,
        opensim,
        calls,
        stream=stream_time,
        batch=batch_time,
        scalar=total_time,
        gradient=gradient_time,
        compile_seconds=first - batch_time.median * BATCH / 1e6,
        gradient_compile_seconds=gradient_first - gradient_time.median * BATCH / 1e6,
        difference=difference,
    )
    return row, notes


def _check(
    quantity: str, out: list[np.ndarray], model: mg.Model, peer: OpenSim, q: np.ndarray
) -> tuple[float, list[str]]:
    """The difference from OpenSim; raises if the two do not compute the same."""
    what = f"{model.name}, {quantity}"
    theirs = peer.values(quantity, model.body_names)
    if quantity == "moment arms":
        return _check_arms(what, out[0][: peer.few], theirs, model, peer, q)
    # R and p, or M and b: the second is a column beside the first
    ours = out[0] if len(out) == 1 else np.concatenate([out[0], out[1][..., None]], axis=-1)
    if quantity != "mass matrix + bias":
        return agree(what, ours, theirs, BARS.get(quantity, 1e-9)), []
    # a bias of 1000 N would hide a mass matrix of 0.001 kg m^2
    parts = [agree(what, ours[..., part], theirs[..., part], 1e-9) for part in (slice(0, -1), slice(-1, None))]
    return max(parts), []


def _check_arms(
    what: str, ours: np.ndarray, theirs: np.ndarray, model: mg.Model, peer: OpenSim, q: np.ndarray
) -> tuple[float, list[str]]:
    """OpenSim's moment arms miss the work of some moving path points; there, its own lengthening speeds decide."""
    off = np.abs(ours - theirs) > 1e-9
    if not off.any():
        return agree(what, ours, theirs, 1e-9), []
    free = model.constraints.free
    by_speed = np.empty_like(theirs)
    for k in range(peer.few):
        coupling = np.asarray(mg.coupling_matrix(model, q[k]))[:, free]
        by_speed[k] = -np.column_stack([peer.lengthening_speeds(k, u) for u in coupling.T])
    difference = agree(what, ours, np.where(off, by_speed, theirs), 1e-9)
    concerned = int(off.any(axis=(0, 2)).sum())
    gap = np.abs(ours - theirs).max() * 1000
    return difference, [
        f"Muscles with moving path points whose work OpenSim's moment arms leave out: {concerned} (by up to {gap:.0f} mm). "
        "There, ours are equal to its lengthening speeds at unit rate; elsewhere, to its moment arms."
    ]


def machine() -> list[tuple[str, str]]:
    """What the numbers depend on."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        cpu = next((x.split(":")[1].strip() for x in info.read_text().splitlines() if x.startswith("model name")), cpu)
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    packages = ("myograd", "jax", "jaxlib", "numpy", "opensim", "mujoco", "pin")
    return [
        ("date", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
        ("processor", f"{cpu}, {os.cpu_count()} cores"),
        ("system", f"{platform.system()} {platform.release()}"),
        ("load before the run", f"{load} (of other programs; near 0 for times to be trusted)"),
        ("versions", ", ".join([f"Python {platform.python_version()}", *(f"{p} {version(p)}" for p in packages)])),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="where to write the page")
    parser.add_argument("--json", type=Path, help="where to write the raw numbers [benchmarks/results.json]")
    parser.add_argument(
        "--model", help="this model only, by the name of its file; prints, writes nothing unless told to"
    )
    parser.add_argument("--quick", action="store_true", help="the smallest model only, with rough times")
    options = parser.parse_args()
    started, about = time.perf_counter(), machine()
    seconds, few = (0.3, 3) if options.quick else (1.0, 5)
    files = [PACK / "models" / f"{name}.osim" for name in PACK_MODELS]
    if not all(file.exists() for file in files):
        console.print(f"{PACK} is not there: comparing on the models that come with Myograd")
        files = [models.model_path(name) for name in OWN_MODELS]
    if options.model:
        known = [file.stem for file in files]
        if options.model not in known:
            parser.error(f"--model is one of {', '.join(known)}")
        files = [file for file in files if file.stem == options.model]
    results = []
    for file in files[:1] if options.quick else files:
        console.print(f"[bold]{file.stem}[/bold]")
        results.append(compare(file, seconds, few))
        speed_grid(results[-1]).print(console)
        for note in results[-1].notes:
            console.print(note)
    wrapped: list[Compared] = []
    for file in files[:1] if options.quick else files:
        if file.stem in WRAPPED_MODELS:
            console.print(f"[bold]{file.stem}[/bold], paths over surfaces ...")
            wrapped += compare_wrapped(file, *poses_of(mg.load_model(file), file), seconds, few)
    if wrapped:
        wrapped_grid(wrapped).print(console)
    driven: list[Compared] = []
    for file in files[:1] if options.quick else files:
        console.print(f"[bold]{file.stem}[/bold], muscles ...")
        driven += compare_muscles(file, *poses_of(mg.load_model(file), file), seconds)
    muscle_grid(driven).print(console)
    console.print("[bold]a second of simulation[/bold] ...")
    moved = [compare_simulation(one, seconds) for one in ([case("double_pendulum")] if options.quick else cases())]
    simulation_grid(moved).print(console)
    console.print("[bold]gradients through time[/bold] ...")
    gradients = [gradient_cost(name, seconds) for name in GRADIENT_MODELS[: 1 if options.quick else None]]
    gradient_grid(gradients).print(console)
    console.print("[bold]identification[/bold] ...")
    identified = measure_identification(options.quick)
    identification_grid(identified).print(console)
    console.print("[bold]whole commands[/bold] ...")
    commands = measure_commands(options.quick)
    command_grid(commands).print(console)
    console.print("[bold]trees of hinges[/bold]: MuJoCo, Pinocchio ...")
    rigid = [measure(hinges, seconds) for hinges in ((10,) if options.quick else (10, 40))]
    for grid in (compile_grid(results), rigid_grid(rigid)):
        grid.print(console)
    raw = options.json or (None if options.quick or options.model else Path(__file__).with_name("results.json"))
    if raw is not None:
        tables = {
            "models": results,
            "wrapped": wrapped,
            "muscles": driven,
            "simulations": moved,
            "gradients": gradients,
            "identification": identified,
            "commands": commands,
            "trees": rigid,
        }
        data = {"machine": dict(about)} | {name: [asdict(row) for row in rows] for name, rows in tables.items()}
        write_text(raw, json.dumps(data, indent=1) + "\n")
    if options.out is not None:
        others = [wrapped_grid(wrapped), muscle_grid(driven), simulation_grid(moved), gradient_grid(gradients)]
        others += [identification_grid(identified), command_grid(commands)]
        write_text(options.out, page(about, results, others, rigid, BATCH, options.quick))
    console.print(f"done in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
