"""Constraints: which coordinates can be eliminated, and what remains to be held by multipliers."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from ..errors import ModelError, nearest
from . import description as d
from .compile_joints import multilinear
from .frames import Frames
from .functions import Pieces, pieces, table
from .model import Ties
from .structure import Constraints, Tree
from .tree import Link


def compile_constraints(
    description: d.ModelDescription, links: list[Link], frames: Frames, index: dict[str, int], tree: Tree
) -> tuple[Ties, Constraints]:
    c = len(index)
    active = [item for item in description.constraints if item.enforced]
    couplers = [item for item in active if isinstance(item, d.CoordinateCoupler)]
    slopes, offsets, splines = _coupler_functions(couplers, index)
    dependent = np.array([find(index, item.dependent, item.name) for item in couplers], int)
    arguments = np.zeros((len(couplers), c))
    for row, item in enumerate(couplers):
        arguments[row, [find(index, name, item.name) for name in item.independent]] = 1

    welds = [(item.name, item.frame1, item.frame2) for item in active if isinstance(item, d.WeldConstraint)]
    weld_places = [(name, frames.on_link(a), frames.on_link(b)) for name, a, b in welds]
    for k, link in enumerate(links):  # a body cut to open a loop is welded together again
        if link.copy_of >= 0:
            here = np.eye(3), np.zeros(3)
            weld_places.append((f"loop through {link.name}", (link.copy_of, *here), (k, *here)))
    points = [item for item in active if isinstance(item, d.PointConstraint)]
    distances = [item for item in active if isinstance(item, d.ConstantDistanceConstraint)]
    point_places = [_two_places(item, frames) for item in points]
    distance_places = [_two_places(item, frames) for item in distances]

    coordinates = description.coordinates()
    locked = np.array([i for i, x in enumerate(coordinates) if x.locked], int)
    prescribed = [i for i, x in enumerate(coordinates) if x.prescribed and x.prescribed_function and not x.locked]
    row_names = (
        [f"{item.name} (coupler of {item.dependent})" for item in couplers]
        + [
            f"{name} (weld, {part})"
            for name, _, _ in weld_places
            for part in ("turn x", "turn y", "turn z", "x", "y", "z")
        ]
        + [f"{item.name} (point, {part})" for item in points for part in "xyz"]
        + [f"{item.name} (distance)" for item in distances]
        + [f"{coordinates[i].name} (locked)" for i in locked]
        + [f"{coordinates[i].name} (prescribed)" for i in prescribed]
    )
    first_lock = len(row_names) - len(locked) - len(prescribed)
    explicit, setter, used_rows = _eliminate(dependent, arguments, locked, np.array(prescribed, int), tree, first_lock)
    constraints = Constraints(
        locked=locked,
        prescribed=np.array(prescribed, int),
        dependent=dependent,
        arguments=arguments,
        coupler_spline=np.array([row for row, _, _ in splines], int),
        coupler_coordinate=np.array([q for _, q, _ in splines], int),
        welds=_pairs([(a[0], b[0]) for _, a, b in weld_places]),
        points=_pairs([links_ for links_, _ in point_places]),
        distances=_pairs([links_ for links_, _ in distance_places]),
        free=np.array([i for i in range(c) if i not in explicit], int),
        explicit=np.array(explicit, int),
        explicit_depth=_depth(explicit, setter, arguments),
        explicit_coupler=np.array(setter, int),
        implicit_rows=np.array([row for row in range(len(row_names)) if row not in used_rows], int),
        row_names=tuple(row_names),
    )
    ties = Ties(
        coupler_slopes=jnp.asarray(slopes),
        coupler_offsets=jnp.asarray(offsets),
        coupler_splines=table([f for _, _, f in splines]),
        prescribed=table([_prescribed(coordinates[i]) for i in prescribed]),
        weld_rotation=_last([np.stack([a[1], b[1]]) for _, a, b in weld_places], (2, 3, 3)),
        weld_location=_last([np.stack([a[2], b[2]]) for _, a, b in weld_places], (2, 3)),
        point_location=_last([where for _, where in point_places], (2, 3)),
        distance_location=_last([where for _, where in distance_places], (2, 3)),
        distance=jnp.array([item.distance for item in distances], float),
    )
    return ties, constraints


def find(index: dict[str, int], name: str, owner: str) -> int:
    if name not in index:
        raise ModelError(f"{owner}: there is no coordinate {name!r}{nearest(name, index)}")
    return index[name]


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


def _two_places(
    item: d.PointConstraint | d.ConstantDistanceConstraint, frames: Frames
) -> tuple[tuple[int, int], np.ndarray]:
    (a, at_a), (b, at_b) = frames.place(item.frame1, item.location1), frames.place(item.frame2, item.location2)
    return (a, b), np.stack([at_a, at_b])


def _pairs(rows: Sequence[tuple[int, int]]) -> np.ndarray:
    return np.array(rows, int).reshape(len(rows), 2)


def _last(items: list[np.ndarray], shape: tuple[int, ...]) -> jnp.ndarray:
    """Stack along a new last axis."""
    return jnp.asarray(np.stack(items, axis=-1) if items else np.zeros((*shape, 0)))
