"""Constraints: which coordinates can be eliminated, and what remains for multipliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from ..._arrays import as_array
from ...errors import ModelError
from .. import description as d
from ..model import ConstraintParameters
from ..structure import Constraints, Tree
from .frames import Frames
from .functions import Pieces, pieces, table
from .joints import multilinear
from .places import find
from .tree import Link

Frame = tuple[int, np.ndarray, np.ndarray]  # link, rotation and origin in it
Ends = tuple[tuple[int, int], np.ndarray]  # two links, and where on them [2, 3]


@dataclass
class _Enforced:
    """The constraints that hold, by class, with where they act."""

    couplers: list[d.CoordinateCoupler]
    welds: list[tuple[str, Frame, Frame]]
    points: list[tuple[str, Ends]]
    distances: list[tuple[str, float, Ends]]
    locked: list[int]
    prescribed: list[int]


def compile_constraints(
    description: d.ModelDescription, links: list[Link], frames: Frames, index: dict[str, int], tree: Tree
) -> tuple[ConstraintParameters, Constraints]:
    found = _enforced(description, links, frames)
    slopes, offsets, splines = _coupler_functions(found.couplers, index)
    coordinates = description.coordinates()
    parameters = ConstraintParameters(
        coupler_slopes=as_array(slopes),
        coupler_offsets=as_array(offsets),
        coupler_splines=table([f for _, _, f in splines]),
        prescribed=table([_prescribed(coordinates[i]) for i in found.prescribed]),
        weld_rotation=_last([np.stack([a[1], b[1]]) for _, a, b in found.welds], (2, 3, 3)),
        weld_location=_last([np.stack([a[2], b[2]]) for _, a, b in found.welds], (2, 3)),
        point_location=_last([where for _, (_, where) in found.points], (2, 3)),
        distance_location=_last([where for _, _, (_, where) in found.distances], (2, 3)),
        distance=as_array([distance for _, distance, _ in found.distances]),
    )
    return parameters, _structure(found, [(row, q) for row, q, _ in splines], description, index, tree)


def _enforced(description: d.ModelDescription, links: list[Link], frames: Frames) -> _Enforced:
    active = [item for item in description.constraints if item.enforced]
    welds = [
        (item.name, frames.on_link(item.frame1), frames.on_link(item.frame2))
        for item in active
        if isinstance(item, d.WeldConstraint)
    ]
    for k, link in enumerate(links):  # a body cut to open a loop is welded together again
        if link.copy_of >= 0:
            here = np.eye(3), np.zeros(3)
            welds.append((f"loop through {link.name}", (link.copy_of, *here), (k, *here)))
    coordinates = description.coordinates()
    return _Enforced(
        [item for item in active if isinstance(item, d.CoordinateCoupler)],
        welds,
        [(item.name, _ends(item, frames)) for item in active if isinstance(item, d.PointConstraint)],
        [
            (item.name, item.distance, _ends(item, frames))
            for item in active
            if isinstance(item, d.ConstantDistanceConstraint)
        ],
        [i for i, x in enumerate(coordinates) if x.locked],
        [i for i, x in enumerate(coordinates) if x.prescribed and x.prescribed_function and not x.locked],
    )


def _structure(
    found: _Enforced, splines: list[tuple[int, int]], description: d.ModelDescription, index: dict[str, int], tree: Tree
) -> Constraints:
    """`splines`: coupler and argument of each spline term."""
    dependent = np.array([find(index, item.dependent, item.name) for item in found.couplers], int)
    arguments = np.zeros((len(found.couplers), len(index)))
    for row, item in enumerate(found.couplers):
        arguments[row, [find(index, name, item.name) for name in item.independent]] = 1
    locked, prescribed = np.array(found.locked, int), np.array(found.prescribed, int)
    row_names = _row_names(found, [c.name for c in description.coordinates()])
    first_lock = len(row_names) - len(locked) - len(prescribed)
    explicit, setter, used_rows = _eliminate(dependent, arguments, locked, prescribed, tree, first_lock)
    return Constraints(
        locked=locked,
        prescribed=prescribed,
        dependent=dependent,
        arguments=arguments,
        coupler_spline=np.array([row for row, _ in splines], int),
        coupler_coordinate=np.array([q for _, q in splines], int),
        welds=_pairs([(a[0], b[0]) for _, a, b in found.welds]),
        points=_pairs([links for _, (links, _) in found.points]),
        distances=_pairs([links for _, _, (links, _) in found.distances]),
        free=np.array([i for i in range(len(index)) if i not in explicit], int),
        explicit=np.array(explicit, int),
        explicit_depth=_depth(explicit, setter, arguments),
        explicit_coupler=np.array(setter, int),
        implicit_rows=np.array([row for row in range(len(row_names)) if row not in used_rows], int),
        row_names=tuple(row_names),
        names=(
            tuple(item.name for item in found.couplers),
            tuple(name for name, *_ in found.welds),
            tuple(name for name, _ in found.points),
            tuple(name for name, *_ in found.distances),
        ),
    )


def _row_names(found: _Enforced, coordinates: list[str]) -> list[str]:
    """What each row of the constraint Jacobian ties."""
    parts = ("turn x", "turn y", "turn z", "x", "y", "z")
    return (
        [f"{item.name} (coupler of {item.dependent})" for item in found.couplers]
        + [f"{name} (weld, {part})" for name, _, _ in found.welds for part in parts]
        + [f"{name} (point, {part})" for name, _ in found.points for part in "xyz"]
        + [f"{name} (distance)" for name, _, _ in found.distances]
        + [f"{coordinates[i]} (locked)" for i in found.locked]
        + [f"{coordinates[i]} (prescribed)" for i in found.prescribed]
    )


def _coupler_functions(
    couplers: list[d.CoordinateCoupler], index: dict[str, int]
) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int, Pieces]]]:
    slopes, offsets = np.zeros((len(couplers), len(index))), np.zeros(len(couplers))
    splines: list[tuple[int, int, Pieces]] = []
    for row, item in enumerate(couplers):
        owner = f"constraint {item.name!r}"
        arguments = [find(index, name, item.name) for name in item.independent]
        scaled = d.MultiplierFunction(item.function, item.scale)
        linear = multilinear(scaled)
        if linear is not None and len(linear) == len(arguments) + 1:
            slopes[row, arguments] = linear[:-1]
            offsets[row] = linear[-1]
        elif len(arguments) == 1:
            function = pieces(scaled, owner)
            if function.is_linear:
                offsets[row], slopes[row, arguments] = function.line
            else:
                splines.append((row, arguments[0], function))
        else:
            raise ModelError(
                f"{owner}: a {type(item.function).__name__} of {len(arguments)} coordinates is not supported; "
                "several coordinates can be coupled by a LinearFunction"
            )
    return slopes, offsets, splines


def _prescribed(coordinate: d.Coordinate) -> Pieces:
    assert coordinate.prescribed_function is not None
    return pieces(coordinate.prescribed_function, f"coordinate {coordinate.name!r}, prescribed_function")


def _eliminate(
    dependent: np.ndarray,
    arguments: np.ndarray,
    locked: np.ndarray,
    prescribed: np.ndarray,
    tree: Tree,
    first_lock: int,
) -> tuple[list[int], list[int], set[int]]:
    """Coordinates that follow explicitly from others, in an order in which each follows its arguments.

    Coordinates whose speed is not their rate (ball joints), coordinates set twice and couplers in a circle stay with the
    multipliers. Returns the coordinates, what sets each (as in `Constraints.explicit_coupler`) and the rows used up.
    """
    in_ball = set(tree.balls.ravel().tolist())
    chosen: dict[int, int] = {}  # coordinate -> coupler

    def reaches(start: int, goal: int) -> bool:
        if start == goal:
            return True
        return start in chosen and any(reaches(int(a), goal) for a in np.flatnonzero(arguments[chosen[start]]))

    for row, target in enumerate(dependent.tolist()):
        needs = np.flatnonzero(arguments[row]).tolist()
        if target in chosen or in_ball & {target, *needs} or any(reaches(a, target) for a in needs):
            continue
        chosen[target] = row
    used = set(chosen.values())
    setter = dict(chosen)
    for i, q in enumerate(locked.tolist()):
        if q not in setter and q not in in_ball:
            setter[q] = -1
            used.add(first_lock + i)
    for i, q in enumerate(prescribed.tolist()):
        if q not in setter and q not in in_ball:
            setter[q] = -2 - i
            used.add(first_lock + len(locked) + i)

    order: list[int] = []

    def visit(q: int) -> None:
        if q in setter and q not in order:
            if setter[q] >= 0:
                for a in np.flatnonzero(arguments[setter[q]]):
                    visit(int(a))
            order.append(q)

    for q in setter:
        visit(q)
    return order, [setter[q] for q in order], used


def _depth(explicit: list[int], setter: list[int], arguments: np.ndarray) -> int:
    """How many explicit coordinates follow one another in the longest chain, less one."""
    depth: dict[int, int] = {}
    for q, row in zip(explicit, setter, strict=True):
        before = [depth[a] for a in np.flatnonzero(arguments[row]).tolist() if a in depth] if row >= 0 else []
        depth[q] = 1 + max(before, default=-1)
    return max(depth.values(), default=0)


def _ends(item: d.PointConstraint | d.ConstantDistanceConstraint, frames: Frames) -> Ends:
    (a, at_a), (b, at_b) = frames.place(item.frame1, item.location1), frames.place(item.frame2, item.location2)
    return (a, b), np.stack([at_a, at_b])


def _pairs(rows: Sequence[tuple[int, int]]) -> np.ndarray:
    return np.array(rows, int).reshape(len(rows), 2)


def _last(items: list[np.ndarray], shape: tuple[int, ...]) -> jnp.ndarray:
    """Stack along a new last axis."""
    return as_array(np.stack(items, axis=-1) if items else np.zeros((*shape, 0)))
