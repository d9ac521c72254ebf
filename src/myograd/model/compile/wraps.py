"""Which path may wrap over which surface, and between which of its points.

A *path wrap* is one surface on one path: it may be touched once, on one segment. The tables list, for every path wrap, the
pairs of neighbouring path points between which to look for it.
"""

from __future__ import annotations

import numpy as np

from ..._arrays import as_array
from ...errors import ModelError
from ...geometry.spatial import rotation_xyz
from ...geometry.wrap.surfaces import SURFACES
from .. import description as d
from ..model import Surfaces
from ..structure import PathWraps
from .frames import Frames

KINDS = tuple(SURFACES)
MOST = 60  # path wraps of one path: the search ranks segments by pair and place
Pair = tuple[
    int, int, dict[int, int]
]  # two path points and the conditional points (on 1, off -1) between which nothing is


def compile_surfaces(description: d.ModelDescription, frames: Frames) -> tuple[Surfaces, np.ndarray]:
    """Values of all surfaces, and the link that each is fixed to."""
    links, rotations, translations, sizes = [], [], [], []
    for path, surface in description.wrap_objects().items():
        link, rotation, origin = frames.on_link(path.rsplit("/", 1)[0])
        links.append(link)
        rotations.append(rotation @ rotation_xyz(np.array(surface.rotation)))
        translations.append(rotation @ np.array(surface.translation) + origin)
        sizes.append(_sizes(surface))
    values = Surfaces(
        rotation=as_array(np.stack(rotations, axis=-1) if rotations else np.zeros((3, 3, 0))),
        translation=as_array(np.array(translations).reshape(len(links), 3).T),
        sizes=as_array(np.array(sizes).reshape(len(links), 3).T),
    )
    return values, np.array(links, int)


def _sizes(surface: d.WrapObject) -> tuple[float, float, float]:
    match surface.kind:
        case "WrapCylinder":
            return surface.radius, surface.length, 0.0
        case "WrapSphere":
            return surface.radius, 0.0, 0.0
        case "WrapEllipsoid":
            return surface.dimensions
        case _:
            return surface.inner_radius, surface.outer_radius, 0.0


def _quadrant(surface: d.WrapObject) -> tuple[int, int]:
    """Axis of the side on which paths may wrap, and its sign; sign 0 for all sides."""
    side = surface.quadrant.strip().lower()
    sign = 0 if side in ("all", "unassigned", "") else -1 if side.startswith("-") else 1
    return "xyz".index(side[-1]) if sign else 0, sign


def compile_wraps(
    description: d.ModelDescription, pairs: list[Pair], muscles: list[int], switches: np.ndarray, links: np.ndarray
) -> PathWraps:
    """`pairs` are all points that can become neighbours, `switches` [pairs, conditional points] what each needs; `muscles`: that
    of each point."""
    surfaces = description.wrap_objects()
    index = {path: i for i, path in enumerate(surfaces)}
    path_wraps: list[tuple[int, int, list[int]]] = []  # path, surface, pairs
    for m, muscle in enumerate(description.paths()):
        for wrap in muscle.path.wraps:
            found = _in_range(wrap, muscle.path, m, pairs, muscles)
            if surfaces[wrap.wrap_object].active and found:
                path_wraps.append((m, index[wrap.wrap_object], found))
    kinds = [list(surfaces.values())[surface].kind for _, surface, _ in path_wraps]
    by_kind = sorted(range(len(path_wraps)), key=lambda k: KINDS.index(kinds[k]))
    path_wraps, kinds = [path_wraps[k] for k in by_kind], [kinds[k] for k in by_kind]
    by_path = sorted(range(len(path_wraps)), key=lambda k: by_kind[k])  # and in the file's order
    used = sorted({pair for _, _, where in path_wraps for pair in where})
    new_pair = {pair: i for i, pair in enumerate(used)}
    points = sorted({point for pair in used for point in pairs[pair][:2]})
    new_point = {point: i for i, point in enumerate(points)}
    where = [[new_pair[pair] for pair in allowed] for _, _, allowed in path_wraps]
    owners = np.array([m for m, _, _ in path_wraps], int)
    used_by, counts = np.unique(owners, return_counts=True)
    for m in used_by[counts > MOST]:
        raise ModelError(f"muscle {description.muscles[m].name!r} may wrap over more than {MOST} surfaces")
    return PathWraps(
        points=np.array(points, int),
        pairs=np.array([[new_point[p] for p in pairs[pair][:2]] for pair in used], int).reshape(len(used), 2),
        pair_switch=switches[used] if used else np.zeros((0, switches.shape[1])),
        path=owners,
        surface=np.array([surface for _, surface, _ in path_wraps], int),
        kind=tuple(kinds),
        quadrant=np.array([_quadrant(list(surfaces.values())[s]) for _, s, _ in path_wraps], int).reshape(
            len(path_wraps), 2
        ),
        surface_link=links,
        first=np.concatenate([[0], np.cumsum(counts)]).astype(int),
        by_path=np.array(by_path, int),
        first_pair=np.concatenate([[0], np.cumsum([len(pairs) for pairs in where])]).astype(int),
        allowed=np.array([pair for pairs in where for pair in pairs], int),
        shared=np.flatnonzero([sum(bool(set(one) & set(other)) for other in where) > 1 for one in where]),
    )


def _in_range(wrap: d.PathWrap, path: d.Path, m: int, pairs: list[Pair], muscles: list[int]) -> list[int]:
    """Pairs of neighbours within the range of points that the file allows for the surface."""
    first = muscles.index(m) if m in muscles else 0
    low, high = wrap.range
    start = first + (low - 1 if low >= 1 else 0)
    stop = first + (high - 1 if high >= 1 else len(path.points) - 1)
    return [k for k, (a, b, _) in enumerate(pairs) if muscles[a] == m and a >= start and b <= stop]
