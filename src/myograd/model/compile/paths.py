"""Muscle paths as flat lists of points and of straight segments between neighbours.

A conditional point that is off the path makes its neighbours neighbours of each other. Every pair of points that can
become neighbours is listed as a segment once and for all, with the points that must be on and off for it to exist; so the
list is fixed, and only 0/1 weights depend on the pose.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..._arrays import as_array
from ...errors import ModelError
from .. import description as d
from ..model import PathValues, Surfaces
from ..structure import Paths, PathWraps, Tree
from .frames import Frames
from .functions import Pieces, pieces, table
from .places import find
from .wraps import compile_surfaces, compile_wraps

Pair = tuple[
    int, int, dict[int, int]
]  # two points, and the conditional points (on 1, off -1) that make them neighbours


@dataclass
class _Points:
    """The points of all paths, one after the other; filled path by path."""

    frames: Frames
    index: dict[str, int]
    path: list[int] = field(default_factory=list)
    link: list[int] = field(default_factory=list)
    location: list[np.ndarray] = field(default_factory=list)
    moving: list[int] = field(default_factory=list)
    moving_rotation: list[np.ndarray] = field(default_factory=list)
    moving_coordinate: list[list[int]] = field(default_factory=list)
    moving_functions: list[Pieces] = field(default_factory=list)
    conditional: list[int] = field(default_factory=list)
    conditional_coordinate: list[int] = field(default_factory=list)
    conditional_range: list[tuple[float, float]] = field(default_factory=list)

    def add(self, m: int, point: d.AnyPathPoint, owner: str) -> None:
        at = len(self.path)
        if isinstance(point, d.MovingPathPoint):
            link, rotation, location = self.frames.on_link(point.frame)
            self.moving.append(at)
            self.moving_rotation.append(rotation)
            self._add_functions(point, owner)
        else:
            link, location = self.frames.place(point.frame, point.location)
        if isinstance(point, d.ConditionalPathPoint):
            self.conditional.append(at)
            self.conditional_coordinate.append(find(self.index, point.coordinate, owner))
            self.conditional_range.append(point.range)
        self.path.append(m)
        self.link.append(link)
        self.location.append(location)

    def _add_functions(self, point: d.MovingPathPoint, owner: str) -> None:
        functions = [pieces(f, owner) for f in point.functions]
        for q, f in zip(point.coordinates, functions, strict=True):
            if not q and not (f.is_linear and f.line[1] == 0):
                raise ModelError(f"{owner}: a location that is not constant needs a coordinate")
        self.moving_coordinate.append([find(self.index, q, owner) if q else 0 for q in point.coordinates])
        self.moving_functions += functions

    def values(self) -> PathValues:
        turned = np.stack(self.moving_rotation, axis=-1) if self.moving_rotation else np.zeros((3, 3, 0))
        return PathValues(
            location=as_array(np.array(self.location).reshape(len(self.location), 3).T),
            moving_rotation=as_array(turned),
            moving_splines=table(self.moving_functions),
            conditional_range=as_array(np.array(self.conditional_range).reshape(len(self.conditional), 2).T),
        )


def compile_paths(
    description: d.ModelDescription, frames: Frames, index: dict[str, int], tree: Tree
) -> tuple[PathValues, Surfaces, Paths, PathWraps]:
    points = _Points(frames, index)
    pairs: list[Pair] = []
    for m, owner in enumerate(description.paths()):
        first = len(points.path)
        for point in owner.path.points:
            points.add(m, point, f"muscle {owner.name!r}, point {point.name!r}")
        count = len(points.path) - first
        if count == 1:
            raise ModelError(f"muscle {owner.name!r}: a path needs at least two points, this one has 1")
        pairs += _neighbours(range(first, first + count), set(points.conditional))
    surfaces, surface_links = compile_surfaces(description, frames)
    all_switches = _switches([needs for _, _, needs in pairs], points.conditional)
    wraps = compile_wraps(description, pairs, points.path, all_switches, surface_links)
    return points.values(), surfaces, _structure(description, points, pairs, tree), wraps


def _structure(description: d.ModelDescription, points: _Points, pairs: list[Pair], tree: Tree) -> Paths:
    links, moves = np.array(points.link, int), set(points.moving)
    rigid = [(a, b) for a, b, needs in pairs if links[a] == links[b] and not needs and not {a, b} & moves]
    constant = set(rigid)
    segments = [pair for pair in pairs if (pair[0], pair[1]) not in constant]
    ends = np.array([(a, b) for a, b, _ in segments], int).reshape(len(segments), 2)
    switched = [s for s, (_, _, needs) in enumerate(segments) if needs]
    return Paths(
        point_path=np.array(points.path, int),
        point_link=links,
        moving=np.array(points.moving, int),
        moving_coordinate=np.array(points.moving_coordinate, int).reshape(len(points.moving), 3).T,
        conditional=np.array(points.conditional, int),
        conditional_coordinate=np.array(points.conditional_coordinate, int),
        rigid=np.array(rigid, int).reshape(len(rigid), 2),
        segments=ends,
        switched=np.array(switched, int),
        switch=_switches([segments[s][2] for s in switched], points.conditional),
        crossing=(tree.speed_links[:, links[ends[:, 1]]] - tree.speed_links[:, links[ends[:, 0]]]).T,
        reach=_reach(description, points.index, points.frames, tree),
        no_path=tuple(m for m, muscle in enumerate(description.muscles) if not muscle.path.points),
    )


def _neighbours(points: range, conditional: set[int]) -> list[Pair]:
    """All pairs of points with nothing but conditional points between them, and what each needs on and off."""
    found = []
    for a in points:
        for b in range(a + 1, points.stop):
            needs = {p: 1 for p in (a, b) if p in conditional} | {p: -1 for p in range(a + 1, b)}
            found.append((a, b, needs))
            if b not in conditional:
                break
    return found


def _switches(needs: list[dict[int, int]], conditional: list[int]) -> np.ndarray:
    """Row per segment, column per conditional point: on 1, off -1, either 0."""
    switch = np.zeros((len(needs), len(conditional)))
    for row, need in enumerate(needs):
        for point, state in need.items():
            switch[row, conditional.index(point)] = state
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
