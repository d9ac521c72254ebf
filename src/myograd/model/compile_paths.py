"""Muscle paths as flat lists of points and of straight stretches between neighbours.

A conditional point that is off the path makes its neighbours neighbours of each other. Every pair of points that can
become neighbours is listed as a stretch once and for all, with the points that must be on and off for it to exist; so the
list is fixed, and only 0/1 weights depend on the pose.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..errors import ModelError
from ..geometry.spatial import rotation_xyz
from . import description as d
from .compile_constraints import find
from .frames import Frames
from .functions import Pieces, pieces, table
from .model import PathValues, Surfaces
from .structure import Paths, Tree


def compile_paths(
    description: d.ModelDescription, frames: Frames, index: dict[str, int], tree: Tree
) -> tuple[PathValues, Surfaces, Paths]:
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
    for m, muscle in enumerate(description.muscles):
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
    surfaces, kinds, surface_links, quadrants, surface_index = _surfaces(description, frames)
    tries = _tries(description, pairs, muscles, surface_index)
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
        surface_kind=tuple(kinds),
        surface_link=np.array(surface_links, int),
        surface_quadrant=np.array(quadrants, int).reshape(len(kinds), 2),
        tries=np.array([(f, pairs[k][0], pairs[k][1]) for f, k in tries], int).reshape(len(tries), 3),
        tries_switch=_switches([pairs[k][2] for _, k in tries], switchable),
        reach=_reach(description, index, frames, tree),
        no_path=tuple(m for m, muscle in enumerate(description.muscles) if not muscle.path.points),
    )
    return values, surfaces, paths


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


def _surfaces(
    description: d.ModelDescription, frames: Frames
) -> tuple[Surfaces, list[str], list[int], list[tuple[int, int]], dict[str, int]]:
    """All wrapping surfaces: values, classes, links, quadrants, and the index of each by its path."""
    kinds, links, quadrants, index = [], [], [], {}
    rotations, translations, sizes = [], [], []
    for path, surface in description.wrap_objects().items():
        link, rotation, origin = frames.on_link(path.rsplit("/", 1)[0])
        index[path] = len(kinds)
        kinds.append(surface.kind)
        links.append(link)
        rotations.append(rotation @ rotation_xyz(np.array(surface.rotation)))
        translations.append(rotation @ np.array(surface.translation) + origin)
        sizes.append(
            {
                "WrapCylinder": (surface.radius, surface.length, 0.0),
                "WrapSphere": (surface.radius, 0.0, 0.0),
                "WrapEllipsoid": surface.dimensions,
                "WrapTorus": (surface.inner_radius, surface.outer_radius, 0.0),
            }[surface.kind]
        )
        side = surface.quadrant.strip().lower()
        sign = 0 if side in ("all", "unassigned", "") else -1 if side.startswith("-") else 1
        quadrants.append(("xyz".index(side[-1]) if sign else 0, sign))
    values = Surfaces(
        rotation=jnp.asarray(np.stack(rotations, axis=-1) if rotations else np.zeros((3, 3, 0))),
        translation=jnp.asarray(np.array(translations).reshape(len(kinds), 3).T),
        sizes=jnp.asarray(np.array(sizes).reshape(len(kinds), 3).T),
    )
    return values, kinds, links, quadrants, index


def _tries(
    description: d.ModelDescription,
    pairs: list[tuple[int, int, dict[int, int]]],
    muscles: list[int],
    surface_index: dict[str, int],
) -> list[tuple[int, int]]:
    """Surface and pair of neighbouring points, for each active surface of each path and each pair in its range."""
    active = {path for path, surface in description.wrap_objects().items() if surface.active}
    first = {m: muscles.index(m) for m in set(muscles)}
    found = []
    for k, (a, b, _) in enumerate(pairs):
        m = muscles[a]
        path = description.muscles[m].path
        for wrap in path.wraps:
            low, high = wrap.range
            start = first[m] + (low - 1 if low >= 1 else 0)
            stop = first[m] + (high - 1 if high >= 1 else len(path.points) - 1)
            if wrap.wrap_object in active and a >= start and b <= stop:
                found.append((surface_index[wrap.wrap_object], k))
    return found


def _reach(description: d.ModelDescription, index: dict[str, int], frames: Frames, tree: Tree) -> np.ndarray:
    """[m, c] 1 where a coordinate moves some of a muscle's points or surfaces and not others, or switches or shifts points."""
    reach = np.zeros((len(description.muscles), len(index)))
    for m, muscle in enumerate(description.muscles):
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
