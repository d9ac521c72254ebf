"""The results as tables: one form for the terminal and for `docs/benchmarks.md`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from timing import Timing

SPEED_TARGETS = {"moment arms": 1000.0, "muscle lengths": 50.0, "accelerations": 10.0}
"""How many times as fast as OpenSim a batch should be, on `TARGET_MODEL`."""
TARGET_MODEL = "Rajagopal2016"
GRADIENT_TARGET = 6.0
"""What a reverse-mode gradient may cost, in evaluations of its function."""


@dataclass(frozen=True)
class Row:
    """One quantity of one model."""

    quantity: str
    opensim: Timing
    calls: float  # [µs] of it spent on calls from Python
    stream: Timing
    batch: Timing
    scalar: Timing  # the weighted sum of the outputs, in batch
    gradient: Timing  # of that sum, in batch
    compile_seconds: float  # of the batch
    gradient_compile_seconds: float
    difference: float  # from OpenSim

    def faster(self, ours: Timing) -> float:
        """OpenSim's time over ours, both as called from Python."""
        return self.opensim.median / ours.median

    def faster_net(self, ours: Timing) -> float:
        """The same, with what OpenSim's calls from Python cost taken off."""
        return max(self.opensim.median - self.calls, 0.0) / ours.median

    @property
    def gradient_cost(self) -> float:
        """In evaluations of the function: all its outputs, or their weighted sum, whichever is faster."""
        return self.gradient.median / min(self.scalar.median, self.batch.median)


@dataclass(frozen=True)
class ModelRows:
    model: str
    bodies: int
    coordinates: int
    muscles: int
    pairs: int  # muscles x independent coordinates
    rows: list[Row]
    notes: list[str]


@dataclass(frozen=True)
class Compared:
    """One quantity of one model as it is, wrapping or driven by muscles."""

    model: str
    quantity: str
    opensim: Timing
    stream: Timing
    batch: Timing
    compile_seconds: float
    difference: float  # from OpenSim, as the table's last column says


@dataclass
class Grid:
    """A table that can be printed and written."""

    title: str
    header: list[str]
    cells: list[list[str]]

    def print(self, console: Console) -> None:
        table = Table(title=self.title, title_justify="left")
        for i, name in enumerate(self.header):
            table.add_column(name, justify="left" if i == 0 else "right")
        for row in self.cells:
            table.add_row(*row)
        console.print(table)

    def markdown(self) -> str:
        ruler = ["---"] + ["--:"] * (len(self.header) - 1)
        lines = [self.header, ruler, *self.cells]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value: float) -> str:
    """Three digits, thousands apart."""
    if value >= 100:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.3g}"


def time_of(timing: Timing) -> str:
    return f"{number(timing.median)} ({number(timing.best)})"


def judged(value: str, sign: str, target: float, met: bool) -> str:
    return f"{value} ({sign} {number(target)} {'met' if met else 'NOT met'})"


def aimed(value: float, unit: str, relation: str, target: float | None) -> str:
    """A number, and whether it reaches its target, if it has one."""
    text = f"{number(value)}{unit}" if relation == "≥" else f"{value:.1f}{unit}"
    if target is None:
        return text
    return judged(text, relation, target, value >= target if relation == "≥" else value <= target)


def compared_grid(
    title: str,
    rows: list[Compared],
    faster: Mapping[tuple[str, str], tuple[float | None, float | None]],
    compiling: dict[str, float],
    difference: tuple[str, Callable[[float], str]],
) -> Grid:
    """`faster`: how many times as fast as OpenSim batch and stream should be, by model and quantity; `compiling`: seconds that it
    may take, by model; `difference`: the last column's name, and how it is written."""

    def cells(row: Compared) -> list[str]:
        batch, stream = faster.get((row.model, row.quantity), (None, None))
        return [
            row.model,
            row.quantity,
            time_of(row.opensim),
            time_of(row.stream),
            time_of(row.batch),
            aimed(row.opensim.median / row.stream.median, "×", "≥", stream),
            aimed(row.opensim.median / row.batch.median, "×", "≥", batch),
            aimed(row.compile_seconds, "", "≤", compiling.get(row.model)),
            difference[1](row.difference),
        ]

    names = ["model", "quantity", "OpenSim", "stream", "batch", "stream faster", "batch faster", "compile, s"]
    return Grid(title, [*names, difference[0]], [cells(row) for row in rows])


def speed_up(model: str, row: Row) -> str:
    """How many times as fast as OpenSim a batch is, and whether that is what was aimed at."""
    ratio = row.faster(row.batch)
    if model != TARGET_MODEL or row.quantity not in SPEED_TARGETS:
        return f"{number(ratio)}×"
    target = SPEED_TARGETS[row.quantity]
    return judged(f"{number(ratio)}×", "≥", target, ratio >= target)


def gradient_cost(row: Row) -> str:
    return judged(number(row.gradient_cost), "≤", GRADIENT_TARGET, row.gradient_cost <= GRADIENT_TARGET)


def speed_grid(result: ModelRows) -> Grid:
    cells = [
        [
            row.quantity,
            time_of(row.opensim),
            number(row.calls),
            time_of(row.stream),
            time_of(row.batch),
            f"{number(row.faster(row.stream))}×",
            speed_up(result.model, row),
            f"{number(row.faster_net(row.batch))}×",
            gradient_cost(row),
        ]
        for row in result.rows
    ]
    header = [
        "quantity",
        "OpenSim",
        "of it calls",
        "stream",
        "batch",
        "stream faster",
        "batch faster",
        "net of calls",
        "gradient costs",
    ]
    size = f"{result.bodies} bodies, {result.coordinates} coordinates, {result.muscles} muscles"
    return Grid(f"{result.model}: {size}, {result.pairs} moment arms", header, cells)


def compile_grid(results: list[ModelRows]) -> Grid:
    cells = [
        [
            result.model,
            row.quantity,
            f"{row.compile_seconds:.2f}",
            f"{row.gradient_compile_seconds:.2f}",
            f"{row.difference:.0e}",
        ]
        for result in results
        for row in result.rows
    ]
    return Grid(
        "Compile time, and agreement with OpenSim",
        ["model", "quantity", "compile, s", "compile gradient, s", "differs by"],
        cells,
    )


def rigid_grid(rows: list) -> Grid:
    cells = [
        [
            f"{row.hinges} hinges",
            time_of(row.mujoco),
            number(row.mujoco_call),
            time_of(row.pinocchio),
            number(row.pinocchio_call),
            time_of(row.stream),
            time_of(row.batch),
            f"{row.difference:.0e}",
        ]
        for row in rows
    ]
    header = ["tree", "MuJoCo", "of it call", "Pinocchio", "of it call", "stream", "batch", "differ by"]
    return Grid("Accelerations of a tree of hinges: MuJoCo, Pinocchio", header, cells)


READING = """## How to read it

- Times are microseconds per pose: the median of several measurements, and in brackets the shortest one. Ratios are of
  medians.
- **OpenSim**: one thread, from Python, over the same poses. The rigid-body quantities are those of a copy of the model
  without forces and controllers (muscles cost time in `realizeAcceleration` even when they are switched off); lengths
  and moment arms are those of a copy whose paths have no wrapping. Body poses stop at `realizePosition`, accelerations
  at `realizeAcceleration`: nothing is copied out. Moment arms are `computeMomentArm` for each muscle and independent
  coordinate.
- **Of it calls**: the part of OpenSim's time that goes into crossing from Python to C++: the number of calls times the
  time of reading a length that is already known. **Net of calls** is the batch's lead with that part taken off, as if
  OpenSim were called from C++; the other ratios compare the two as they are called from Python.
- Agreement is checked with models made with `opensim_coriolis=True`, so that accelerations can be compared in all of them;
  times are those of the default.
- **Stream**: Myograd, one pose after the other, in a compiled loop (`jax.lax.map`), as in a simulation.
- **Batch**: Myograd, {batch} poses in one call of `myograd.batched`: chunks of 32, on all cores. OpenSim could also be run
  once per core; its times are for one.
- **Gradient costs**: the time of a reverse-mode gradient of a weighted sum of all outputs with respect to coordinates
  (and speeds), over the time of that sum or of the outputs alone, whichever is faster; all in batch.
- **Compile**: the first call of the batch less a later one: tracing and compiling, with JAX's caches empty and its
  persistent cache off.
- **Differs by**: the largest difference over all poses compared, relative to the largest number of its pose where that
  exceeds 1. The run stops if it exceeds 1e-9 (accelerations 1e-8), so that equal work is compared.
- **Paths over surfaces**: the models as they are, OpenSim's with its wrapping. *Differs by* is
  there the median of the differences that are not rounding: the two do not compute the same ([why](wrapping.md)).
- **Whole commands**: processes as a shell starts them, in seconds, with the start of Python and all imports. *Cold*: nothing is
  compiled yet, as on a machine where Myograd is new; *warm*: again, with what the first run has kept on disk. *Of cores* is the
  time of all cores together, which other programs on the machine change less.
- **MuJoCo** is `mj_forward`, **Pinocchio** is `aba`, each one pose per call from Python, one thread; MuJoCo's call
  includes writing q and u into its arrays. Myograd is `forward_dynamics`. All three are given the same tree.
"""


def page(
    machine: list[tuple[str, str]], results: list[ModelRows], others: list[Grid], rigid: list, batch: int, quick: bool
) -> str:
    """`docs/benchmarks.md`."""
    parts = [
        "# Benchmarks",
        "Written by `make bench`, which runs the programs side by side on one machine; not edited by hand. Times are "
        "in microseconds per pose. Models are taken without wrapping surfaces, but for the tables that are about these and "
        "about muscles.",
    ]
    if quick:
        parts.append("This was a short run (`--quick`): its times are rough.")
    parts.append(Grid("", ["", ""], [[f"**{key}**", value] for key, value in machine]).markdown().replace("--:", "---"))
    parts.append("## Beside OpenSim")
    for result in results:
        grid = speed_grid(result)
        parts += [f"### {grid.title}", grid.markdown(), *result.notes]
    if all(result.model != TARGET_MODEL for result in results):
        parts.append(f"{TARGET_MODEL}, for which speeds were aimed at, was not part of this run.")
    for grid in (*others, compile_grid(results), rigid_grid(rigid)):
        parts += [f"## {grid.title}", grid.markdown()]
    return "\n\n".join(parts) + "\n\n" + READING.format(batch=batch)
