"""`myograd check`: what of a file is not used, and where lengths of muscles are discontinuous. JAX only for the latter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

import myograd
from myograd import _deprecated
from myograd.app.console import UNITS, Json, Model, amount, counted, err, error_line, find, out, print_json
from myograd.files.osim.read import read_osim
from myograd.model.description import (
    NO_NUMBERS,
    SEVERITIES,
    ConditionalPathPoint,
    ModelDescription,
    Severity,
    Unsupported,
)

if TYPE_CHECKING:
    from myograd.diagnostics.discontinuities import Discontinuity

MATTERS = {
    Severity.MOTION: "poses and accelerations",
    Severity.FORCE: "muscle-driven accelerations",
    Severity.CONTROL: "control signals and reports",
    Severity.UNKNOWN: "nothing in OpenSim 4.6, which ignores it",
    Severity.BOOKKEEPING: "no result: names of groups, unused defaults",
    Severity.APPEARANCE: "no result: appearance only",
}
"""What an element that is not used would change, by its severity."""


def check(
    model: Model,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if something that affects motion or force is not used.")
    ] = False,
    discontinuities: Annotated[
        bool,
        typer.Option(
            "--discontinuities", help="Also search for poses at which a muscle's length is discontinuous. Loads JAX."
        ),
    ] = False,
    jumps: Annotated[bool, typer.Option("--jumps", hidden=True)] = False,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Also list what affects no result: appearance, names of groups, unused defaults."),
    ] = False,
    as_json: Json = False,
) -> None:
    """List what a file contains and myograd does not use, most important first.

    Exit code 0 if the file could be read (see --strict), 2 if not. JSON is a list of these elements; with --discontinuities, an
    object with the lists `unsupported` and `discontinuities`.
    """
    if jumps:
        error_line("warning", _deprecated.message("--jumps", _deprecated.OPTIONS["check --jumps"]), "yellow")
    description = read_osim(find(model))
    wanted = discontinuities or jumps
    if as_json:
        unsupported = check_data(description)
        if wanted:
            found = discontinuities_data(description, _find_discontinuities(description))
            keys = ("unread", "jumps") if jumps else ("unsupported", "discontinuities")
            print_json(dict(zip(keys, (unsupported, found), strict=True)))
        else:
            print_json(unsupported)
    else:
        out.print(check_view(description, everything))  # before the search, which takes its time
        if wanted:
            out.print()
            out.print(discontinuities_view(description, _find_discontinuities(description)))
        elif may_be_discontinuous(description):
            out.print(
                f"`myograd check {model} --discontinuities` searches for poses at which a muscle's length is discontinuous.",
                soft_wrap=True,
            )
    if strict and any(element.severity in (Severity.MOTION, Severity.FORCE) for element in description.unsupported):
        raise typer.Exit(1)


def _find_discontinuities(description: ModelDescription) -> list[Discontinuity]:
    found: list[Discontinuity] = []
    with err.status("loading JAX ...") as status:
        model = myograd.compile_model(description)
        names = model.independent_coordinates
        for number, name in enumerate(names, 1):
            status.update(f"searching along {name}, {number} of {len(names)}; {len(found)} discontinuities so far ...")
            found += myograd.length_discontinuities(model, name)
    return found


def ordered(elements: Sequence[Unsupported]) -> list[Unsupported]:
    """From what matters most to what matters least; within that by class and line."""
    return sorted(elements, key=lambda element: (SEVERITIES.index(element.severity), element.kind, element.line))


def check_data(description: ModelDescription) -> list[dict]:
    """What is not used, most important first, ready for JSON."""
    return [
        {
            "severity": element.severity,
            "class": element.kind,
            "name": element.name,
            "line": element.line,
            "reason": element.reason,
        }
        for element in ordered(description.unsupported)
    ]


def check_view(description: ModelDescription, everything: bool) -> RenderableType:
    """The text of `myograd check`; with `everything`, also of what affects no result."""
    listed = [x for x in description.unsupported if everything or x.severity not in NO_NUMBERS]
    rest = len(description.unsupported) - len(listed)
    if not listed:
        also = f" ({rest} other elements affect no result; --all lists them)" if rest else ""
        return Text(f"{description.source}: everything in the file that affects a result is used{also}.", style="green")
    table = Table("line", "class", "name", "why", box=None)
    table.columns[0].justify = "right"
    severity = reason = ""
    for element in ordered(listed):
        if element.severity != severity:
            if severity:
                table.add_row()
            severity, reason = element.severity, ""
            table.add_row("", Text(severity, "bold"), "", Text(f"affects {MATTERS[severity]}", "bold"))
        why = element.reason if element.reason != reason else "″"
        reason = element.reason
        table.add_row(str(element.line), element.kind, element.name, why)
    total = Table.grid(padding=(0, 2))
    for severity in SEVERITIES:
        kinds = Counter(element.kind for element in description.unsupported if element.severity == severity)
        if kinds:
            total.add_row(severity, ", ".join(f"{n} {kind}" for kind, n in kinds.items()))
    return Group(table, Text(), Text(f"Not used in {description.source}:"), total)


def may_be_discontinuous(description: ModelDescription) -> bool:
    """Whether some path has what can make its length discontinuous: a conditional point, or a surface to wrap over."""
    paths = [muscle.path for muscle in description.muscles]
    return any(path.wraps or any(isinstance(p, ConditionalPathPoint) for p in path.points) for path in paths)


def discontinuities_data(description: ModelDescription, found: Sequence[Discontinuity]) -> list[dict]:
    """Where lengths are discontinuous, ready for JSON."""
    motion = {c.name: c.motion_type for c in description.coordinates()}
    return [
        {
            "muscle": it.muscle,
            "coordinate": it.coordinate,
            "value": it.value,
            "unit": UNITS[motion[it.coordinate]],
            "size": it.size,
            "cause": it.cause,
        }
        for it in found
    ]


def discontinuities_view(description: ModelDescription, found: Sequence[Discontinuity]) -> RenderableType:
    """What `myograd check --discontinuities` adds."""
    how = "along each coordinate's range, others at their defaults"
    if not found:
        return Text(f"No muscle's length was found to change abruptly by more than 0.01 mm {how}.", style="green")
    motion = {c.name: c.motion_type for c in description.coordinates()}
    table = Table("muscle", "coordinate", "at", "by [mm]", "what happens to the path as the coordinate grows", box=None)
    table.columns[2].justify = table.columns[3].justify = "right"
    for it in sorted(found, key=lambda it: (it.muscle, it.coordinate, it.value)):
        at = amount(it.value, motion[it.coordinate])
        table.add_row(it.muscle, it.coordinate, at, f"{it.size * 1e3:+.3f}", it.cause)
    muscles = {it.muscle for it in found}
    total = f"{counted(len(found), 'discontinuities')} of {counted(len(muscles), 'muscles')}, {how}."
    return Group(table, Text(), Text(total, style="yellow"))
