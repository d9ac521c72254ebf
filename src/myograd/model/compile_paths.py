"""Muscle paths as flat lists of points and of straight stretches between neighbours.

A conditional point that is off the path makes its neighbours neighbours of each other. Every pair of points that can
become neighbours is listed as a stretch once and for all, with the points that must be on and off for it to exist; so the
list is fixed, and only 0/1 weights depend on the pose.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..errors import ModelError
from . import description as d
from .compile_constraints import find
from .compile_wraps import compile_surfaces, compile_wraps
from .frames import Frames
from .functions import Pieces, pieces, table
from .model import PathValues, Surfaces
from .structure import Paths, Tree, Wraps


def compile_paths(
    description: d.ModelDescription, frames: Frames, index: dict[str, int], tree: Tree
) -> tuple[PathValues, Surfaces, Paths, Wraps]:
    muscles: list[int] = []
    link_list: list[int] = []
    locations: list[np.ndarray] = []
    moving: list[int] = []
    moving_rotation: list[np.ndarray] = []
    moving_coordinate: list[list[int]] = []
    moving_functions: list[Pieces] = []
    conditional: list[int] = []
    conditional_coordinate: list[int] = []
    conditional_range: list[tuple[float, float]] = []
    pairs: list[tuple[int, int, dict[int, int]]] = []  # two points and the conditional points (on 1, off -1) it needs
    for m, muscle in enumerate(description.paths()):
        first = len(muscles)
        for point in muscle.path.points:
            at = len(muscles)
            muscles.append(m)
            if isinstance(point, d.MovingPathPoint):
                link, rotation, location = frames.on_link(point.frame)
                owner = f"muscle {muscle.name!r}, point {point.name!r}"
                moving.append(at)
                moving_rotation.append(rotation)
                moving_coordinate.append([find(index, q, owner) if q else 0 for q in point.coordinates])
                functions = [pieces(f, owner) for f in point.functions]
                if any(
                    not q and not (f.is_linear and f.line[1] == 0)
                    for q, f in zip(point.coordinates, functions, strict=True)
                ):
                    raise ModelError(f"{owner}: a location that is not constant needs a coordinate")
                moving_functions += functions
            else:
                link, location = frames.place(point.frame, point.location)
            if isinstance(point, d.ConditionalPathPoint):
                owner = f"muscle {muscle.name!r}, point {point.name!r}"
                conditional.append(at)
                conditional_coordinate.append(find(index, point.coordinate, owner))
                conditional_range.append(point.range)
            link_list.append(link)
            locations.append(location)
        count = len(muscles) - first
        if count == 1:
            raise ModelError(f"muscle {muscle.name!r}: a path needs at least two points, this one has 1")
        pairs += _neighbours(range(first, first + count), set(conditional))

    switchable = {point: k for k, point in enumerate(conditional)}
    links = np.array(link_list, int)
    moves = set(moving)
    rigid = [(a, b) for a, b, needs in pairs if links[a] == links[b] and not needs and not {a, b} & moves]
    constant = set(rigid)
    stretches = [pair for pair in pairs if (pair[0], pair[1]) not in constant]
    ends = np.array([(a, b) for a, b, _ in stretches], int).reshape(len(stretches), 2)
    switched = [s for s, (_, _, needs) in enumerate(stretches) if needs]
    values = PathValues(
        location=jnp.asarray(np.array(locations).reshape(len(locations), 3).T),
        moving_rotation=jnp.asarray(np.stack(moving_rotation, axis=-1) if moving_rotation else np.zeros((3, 3, 0))),
        moving_splines=table(moving_functions),
        conditional_range=jnp.asarray(np.array(conditional_range).reshape(len(conditional), 2).T),
    )
    surfaces, surface_links = compile_surfaces(description, frames)
    all_switches = _switches([needs for _, _, needs in pairs], switchable)
    wraps = compile_wraps(description, pairs, muscles, all_switches, surface_links)
    paths = Paths(
        point_muscle=np.array(muscles, int),
        point_link=links,
        moving=np.array(moving, int),
        moving_coordinate=np.array(moving_coordinate, int).reshape(len(moving), 3).T,
        conditional=np.array(conditional, int),
        conditional_coordinate=np.array(conditional_coordinate, int),
        rigid=np.array(rigid, int).reshape(len(rigid), 2),
        stretches=ends,
        switched=np.array(switched, int),
        switch=_switches([stretches[s][2] for s in switched], switchable),
        crossing=(tree.speed_links[:, links[ends[:, 1]]] - tree.speed_links[:, links[ends[:, 0]]]).T,
        reach=_reach(description, index, frames, tree),
        no_path=tuple(m for m, muscle in enumerate(description.muscles) if not muscle.path.points),
    )
    return values, surfaces, paths, wraps


def _neighbours(points: range, conditional: set[int]) -> list[tuple[int, int, dict[int, int]]]:
    """All pairs of points with nothing but conditional points between them, and what each needs on and off."""
    found = []
    for a in points:
        for b in range(a + 1, points.stop):
            needs = {p: 1 for p in (a, b) if p in conditional} | {p: -1 for p in range(a + 1, b)}
            found.append((a, b, needs))
            if b not in conditional:
                break
    return found


def _switches(needs: list[dict[int, int]], switchable: dict[int, int]) -> np.ndarray:
    """Row per stretch, column per conditional point: on 1, off -1, either 0."""
    switch = np.zeros((len(needs), len(switchable)))
    for row, need in enumerate(needs):
        for point, state in need.items():
            switch[row, switchable[point]] = state
    return switch


def _reach(description: d.ModelDescription, index: dict[str, int], frames: Frames, tree: Tree) -> np.ndarray:
    """[m, c] 1 where a coordinate moves some of a muscle's points or surfaces and not others, or switches or shifts points."""
    reach = np.zeros((len(description.paths()), len(index)))
    for m, muscle in enumerate(description.paths()):
        paths = [point.frame for point in muscle.path.points]
        paths += [wrap.wrap_object.rsplit("/", 1)[0] for wrap in muscle.path.wraps]
        if paths:
            moved = tree.speed_links[:, [frames.on_link(path)[0] for path in paths]]
            reach[m] = moved.max(axis=1) != moved.min(axis=1)
        for point in muscle.path.points:
            if isinstance(point, d.MovingPathPoint):
                reach[m, [index[q] for q in point.coordinates if q]] = 1
            elif isinstance(point, d.ConditionalPathPoint):
                reach[m, index[point.coordinate]] = 1
    return reach
