"""`myograd info`: what a model consists of, as plain data and as text for a terminal. No JAX."""

from __future__ import annotations

from collections import Counter, deque
from math import degrees, isfinite
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from myograd.app.console import UNITS, Json, Model, amount, counted, find, out, print_json
from myograd.errors import quoted
from myograd.files.osim.read import read_osim
from myograd.model.description import (
    SEVERITIES,
    Body,
    ConditionalPathPoint,
    Coordinate,
    CoordinateCoupler,
    Joint,
    ModelDescription,
    MovingPathPoint,
)


def info(
    model: Model,
    muscles: Annotated[
        bool, typer.Option("--muscles", help="List each muscle: class, strength, lengths, pennation, path, wraps.")
    ] = False,
    parameters: Annotated[
        bool,
        typer.Option(
            "--parameters", help="List every number that has a name: what with_values and identify --also take."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what a model consists of: joints and coordinates, mass, constraints, muscles.

    With --muscles, JSON also has the list `each_muscle`; with --parameters it is the parameters alone.
    """
    if parameters:
        from myograd.app.parameters import by_place, parameters_data, parameters_view

        listed = parameters_data(find(model))
        if as_json:
            print_json(listed)
        else:
            out.print(parameters_view(listed))
            out.print(by_place(find(model)), soft_wrap=True)
        return
    description = read_osim(find(model))
    if as_json:
        each = {"each_muscle": muscles_data(description)} if muscles else {}
        print_json(info_data(description) | each)
    else:
        out.print(info_view(description, muscles))
        if description.muscles and not muscles:
            out.print(f"`myograd info {quoted(model)} --muscles` lists each muscle.", soft_wrap=True)


def info_data(description: ModelDescription) -> dict:
    """All that `info` shows, in SI units and radians, ready for JSON (an unlimited range ends in None)."""
    dependent = {c.dependent for c in description.constraints if isinstance(c, CoordinateCoupler) and c.enforced}
    coordinates = description.coordinates()
    unsupported = {s: sum(element.severity == s for element in description.unsupported) for s in SEVERITIES}
    return {
        "name": description.name,
        "file": description.source,
        "version": description.version,
        "mass": sum(body.mass for body in description.bodies),
        "gravity": list(description.gravity),
        "counts": {
            "bodies": len(description.bodies),
            "joints": len(description.joints),
            "coordinates": len(coordinates),
            "locked coordinates": sum(c.locked for c in coordinates),
            "prescribed coordinates": sum(c.prescribed for c in coordinates),
            "dependent coordinates": len(dependent),
            "constraints": len(description.constraints),
            "muscles": len(description.muscles),
            "wrapping surfaces": len(description.wrap_objects()),
            "markers": len(description.markers),
        },
        "joints": [
            {
                "name": joint.name,
                "class": joint.kind,
                "parent": base_body(description, joint.parent_frame),
                "child": base_body(description, joint.child_frame),
                "coordinates": [_coordinate_data(c, c.name in dependent) for c in joint.coordinates],
            }
            for joint in description.joints
        ],
        "constraints": [
            {
                "name": constraint.name,
                "class": type(constraint).__name__.replace("CoordinateCoupler", "CoordinateCouplerConstraint"),
                "binds": _bound(description, constraint),
                "enforced": constraint.enforced,
            }
            for constraint in description.constraints
        ],
        "muscles": _muscle_classes(description),
        "unsupported": unsupported,
        "unread": unsupported,  # deprecated, as `_deprecated.JSON_KEYS` says
    }


def _coordinate_data(coordinate: Coordinate, dependent: bool) -> dict:
    return {
        "name": coordinate.name,
        "motion": coordinate.motion_type,
        "unit": UNITS[coordinate.motion_type],
        "range": [limit if isfinite(limit) else None for limit in coordinate.range],
        "default": coordinate.default_value,
        "clamped": coordinate.clamped,
        "locked": coordinate.locked,
        "prescribed": coordinate.prescribed,
        "dependent": dependent,
    }


def _bound(description: ModelDescription, constraint) -> list[str]:
    """The coordinates (dependent first) or the bodies that a constraint binds."""
    if isinstance(constraint, CoordinateCoupler):
        return [constraint.dependent, *constraint.independent]
    return [base_body(description, frame) for frame in (constraint.frame1, constraint.frame2)]


def _muscle_classes(description: ModelDescription) -> dict[str, dict[str, int]]:
    """Per class: how many muscles, how many points their paths have, and how many of what kind."""
    classes: dict[str, Counter] = {}
    for muscle in description.muscles:
        counts = classes.setdefault(muscle.kind, Counter())
        points = muscle.path.points
        counts["muscles"] += 1
        counts["path points"] += len(points)
        counts["conditional"] += sum(isinstance(p, ConditionalPathPoint) for p in points)
        counts["moving"] += sum(isinstance(p, MovingPathPoint) for p in points)
        counts["wraps"] += len(muscle.path.wraps)
    return {kind: dict(counts) for kind, counts in classes.items()}


def muscles_data(description: ModelDescription) -> list[dict]:
    """What `info --muscles` adds: every muscle, in SI units and radians, in the order of `model.muscle_names`."""
    return [
        {
            "name": muscle.name,
            "class": muscle.kind,
            "max_isometric_force": muscle.max_isometric_force,
            "optimal_fiber_length": muscle.optimal_fiber_length,
            "tendon_slack_length": muscle.tendon_slack_length,
            "pennation_angle": muscle.pennation_angle,
            "path": [
                {"name": p.name, "class": type(p).__name__, "body": base_body(description, p.frame)}
                for p in muscle.path.points
            ],
            "wraps": [wrap.wrap_object.rsplit("/", 1)[-1] for wrap in muscle.path.wraps],
            "applies_force": muscle.applies_force,
        }
        for muscle in description.muscles
    ]


def muscles_view(description: ModelDescription) -> RenderableType:
    """The text of the same."""
    table = Table("muscle", "class", title="Muscles", title_justify="left", box=None)
    for column in ("F_max [N]", "l_opt [mm]", "slack [mm]", "pennation", "points"):
        table.add_column(column, justify="right")
    table.add_column("from - to")
    table.add_column("wraps over")
    for muscle in muscles_data(description):
        lengths = (f"{1e3 * muscle[key]:.1f}" for key in ("optimal_fiber_length", "tendon_slack_length"))
        bodies = [point["body"] for point in muscle["path"]]
        table.add_row(
            muscle["name"] if muscle["applies_force"] else f"{muscle['name']} (off)",
            muscle["class"],
            f"{muscle['max_isometric_force']:.4g}",
            *lengths,
            f"{degrees(muscle['pennation_angle']):.1f}°",
            str(len(bodies)),
            f"{bodies[0]} - {bodies[-1]}" if bodies else "",
            ", ".join(muscle["wraps"]),
        )
    return table


def info_view(description: ModelDescription, muscles: bool = False) -> RenderableType:
    """The text of `myograd info`; with `muscles`, each of them."""
    data = info_data(description)
    counts = data["counts"]
    facts = Table.grid(padding=(0, 2))
    facts.add_row("file", f"{data['file']} (OpenSim document {data['version']})")
    facts.add_row("mass", f"{data['mass']:.6g} kg")
    facts.add_row("gravity", f"{' '.join(f'{g:.6g}' for g in data['gravity'])} m/s²")
    facts.add_row("counts", ", ".join(counted(n, what) for what, n in counts.items() if n))
    parts: list[RenderableType] = [Text(data["name"], style="bold"), facts, Text(), _joint_tree(description)]
    if data["constraints"]:
        table = Table("constraint", "class", "binds", title="Constraints", title_justify="left", box=None)
        for constraint in data["constraints"]:
            state = "" if constraint["enforced"] else " (not enforced)"
            table.add_row(constraint["name"], constraint["class"], ", ".join(constraint["binds"]) + state)
        parts += [Text(), table]
    if data["muscles"]:
        columns = ("muscles", "path points", "conditional", "moving", "wraps")
        table = Table("class", title="Muscles", title_justify="left", box=None)
        for column in columns:
            table.add_column(column, justify="right")
        for kind, numbers in data["muscles"].items():
            table.add_row(kind, *(str(numbers[column]) for column in columns))
        parts += [Text(), muscles_view(description) if muscles else table]
    if description.unsupported:
        found = ", ".join(f"{n} {severity}" for severity, n in data["unsupported"].items() if n)
        parts += [Text(), Text(f"Not used by myograd: {found}. `myograd check --all` lists them.", style="yellow")]
    return Group(*parts)


def _joint_tree(description: ModelDescription) -> RenderableType:
    """Bodies as they hang from ground, joint by joint; a joint whose child is nearer to ground is called reversed."""
    joints_of: dict[str, list[tuple[Joint, str, bool]]] = {}
    for joint in description.joints:
        parent = base_body(description, joint.parent_frame)
        child = base_body(description, joint.child_frame)
        joints_of.setdefault(parent, []).append((joint, child, False))
        joints_of.setdefault(child, []).append((joint, parent, True))

    masses = {body.name: body.mass for body in description.bodies}
    dependent = {c.dependent for c in description.constraints if isinstance(c, CoordinateCoupler) and c.enforced}
    ground = description.ground.name
    tree = Tree(Text(ground, style="bold"))
    branches = {ground: tree}
    waiting = deque([ground])
    seen: set[int] = set()
    while waiting:
        inner = waiting.popleft()
        for joint, outer, reverse in joints_of.get(inner, []):
            if id(joint) in seen:
                continue
            seen.add(id(joint))
            label = Text.assemble(
                (outer, "bold"),
                f"  {masses.get(outer, 0.0):.4g} kg  ",
                (f"{joint.kind} {joint.name}{' (reversed)' if reverse else ''}", "cyan"),
            )
            for coordinate in joint.coordinates:
                label.append(f"\n  {coordinate_line(coordinate, coordinate.name in dependent)}", style="dim")
            branch = branches[inner].add(label)
            if outer not in branches:
                branches[outer] = branch
                waiting.append(outer)
    loose = [name for name in masses if name not in branches]
    if not loose:
        return tree
    return Group(tree, Padding(Text(f"not joined to ground: {', '.join(loose)}", style="yellow"), (0, 0, 0, 1)))


def coordinate_line(coordinate: Coordinate, dependent: bool) -> str:
    """`knee_angle_r  -120° to 10°, default 0°, locked`."""
    low, high = (amount(limit, coordinate.motion_type) for limit in coordinate.range)
    words = [f"{low} to {high}", f"default {amount(coordinate.default_value, coordinate.motion_type)}"]
    states = {
        "clamped": coordinate.clamped,
        "locked": coordinate.locked,
        "prescribed": coordinate.prescribed,
        "dependent": dependent,
    }
    words += [state for state, holds in states.items() if holds]
    return f"{coordinate.name}  {', '.join(words)}"


def base_body(description: ModelDescription, frame: str) -> str:
    """The name of the body (or `ground`) that the frame at this path is fixed to."""
    frames = description.frames()
    at = frames[frame]
    while not isinstance(at, Body):
        at = frames[at.parent]
    return at.name
