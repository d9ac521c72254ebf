"""The search for touched surfaces as a part of XLA programs: a handler for all poses of a batch, and the call of it."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numba import carray  # pyright: ignore[reportPrivateImportUsage]

from .. import geometry
from ..errors import ModelError
from ..geometry import native
from ..geometry.native import answers_query, argument, digest_of, flags, floats, registered, result, row, rows, words
from ..geometry.wrap.search import surface
from ..model.structure import PathWraps
from .posed import PosedPathGeometry
from .search import (
    ARC,
    AXIS,
    ENGAGED,
    FIRST,
    FOUND,
    KIND,
    LAST,
    MARKS,
    ON,
    PAIR,
    ROOT,
    ROTATION,
    SIGN,
    SIZES,
    TRANSLATION,
    P,
    Q,
    added,
    at,
    local,
    search_pose,
)


@native.compiled
def _tables(static: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """`marks`, `pairs`, `allowed`, `members` and `first` from one array: their sizes, then one after the other."""
    ends = np.zeros(6, np.int64)
    ends[0] = 5
    for i in range(5):
        ends[i + 1] = ends[i] + static[i]
    return (
        static[ends[0] : ends[1]].copy().reshape(-1, MARKS),
        static[ends[1] : ends[2]].copy().reshape(-1, 4),
        static[ends[2] : ends[3]],
        static[ends[3] : ends[4]],
        static[ends[4] : ends[5]],
    )


def _handler(address):
    """What XLA calls: `search` for all poses of a batch."""
    frame = carray(address, 15)
    if answers_query(frame):
        return 0
    (points_at, points_shape), (rotation_at, rotation_shape) = argument(frame, 0), argument(frame, 1)
    (translation_at, translation_shape), (sizes_at, sizes_shape) = argument(frame, 2), argument(frame, 3)
    (on_at, on_shape), (static_at, static_shape) = argument(frame, 4), argument(frame, 5)
    contacts_at, shape = result(frame, 0)
    order_at, _ = result(frame, 1)
    k, p, t, width = translation_shape[-1], points_shape[-1], on_shape[-1], shape[-2]
    batch = shape[:-2]
    marks, pairs, allowed, members, first = _tables(words(static_at, static_shape[-1]))
    count = rows(shape, 2)
    points, table = np.zeros((p, 3)), np.zeros((k, ROOT + width - 8))
    all_points = floats(points_at, rows(points_shape, 2) * 3 * p).reshape(-1, 3, p)
    all_rotations = floats(rotation_at, rows(rotation_shape, 3) * 9 * k).reshape(-1, 9, k)
    all_translations = floats(translation_at, rows(translation_shape, 2) * 3 * k).reshape(-1, 3, k)
    all_sizes = floats(sizes_at, rows(sizes_shape, 2) * 3 * k).reshape(-1, 3, k)
    all_on = flags(on_at, rows(on_shape, 1) * t).reshape(-1, t)
    contacts = floats(contacts_at, count * width * k).reshape(count, width, k)
    order = words(order_at, count * 6 * k).reshape(count, 6, k)
    for n in range(count):
        its_points = all_points[row(points_shape, batch, n)]
        rotation, translation = (
            all_rotations[row(rotation_shape, batch, n)],
            all_translations[row(translation_shape, batch, n)],
        )
        sizes, on = all_sizes[row(sizes_shape, batch, n)], all_on[row(on_shape, batch, n)]
        for j in range(p):
            points[j, 0], points[j, 1], points[j, 2] = its_points[0, j], its_points[1, j], its_points[2, j]
        for i in range(t):
            pairs[i, ON] = on[i]
        for j in range(k):
            for i in range(9):
                table[j, ROTATION + i] = rotation[i, j]
            for i in range(3):
                table[j, TRANSLATION + i], table[j, SIZES + i] = translation[i, j], sizes[i, j]
        search_pose(points, table, marks, pairs, allowed, members, first)
        contacts[n] = 0.0
        for j in range(k):
            for i in range(6):
                order[n, i, j] = marks[j, i]
            if marks[j, ENGAGED]:
                landed, left = local(table, j, at(table, j, P)), local(table, j, at(table, j, Q))
                for i in range(3):
                    contacts[n, i, j], contacts[n, 3 + i, j] = landed[i], left[i]
                contacts[n, 6, j], contacts[n, 7, j] = table[j, ARC], added(points, table, marks, pairs, j)
                for i in range(surface.ROOTS[marks[j, KIND]]):
                    contacts[n, 8 + i, j] = table[j, ROOT + i]
            else:
                order[n, PAIR, j], order[n, FOUND, j] = allowed[marks[j, FIRST]], 1
    return 0


_GEOMETRY = Path(geometry.__file__).parent
_DIGEST = digest_of(
    [
        *Path(__file__).parent.glob("*search.py"),
        _GEOMETRY / "native.py",
        _GEOMETRY / "wrap" / "ritz.py",
        *_GEOMETRY.glob("wrap/search/*.py"),
    ]
)


def search(wraps: PathWraps, it: PosedPathGeometry) -> tuple[Float[Array, "roots k"], Int[Array, "6 k"]]:
    """Of each path wrap: P and Q in the frame of the surface, length of the arc, what it adds to the straight path, root; and the
    order (rows ENGAGED to FOUND)."""
    values = {"points": it.points, "rotations": it.rotation, "translations": it.translation, "sizes": it.sizes}
    for name, value in values.items():
        if value.dtype != np.float64:
            raise ModelError(f"paths over surfaces are computed in float64; {name} have dtype {value.dtype}")
    if jax.default_backend() != "cpu":
        raise ModelError("paths over surfaces are computed on the CPU: set JAX_PLATFORMS=cpu before Python starts")
    k, r = len(wraps.surface), max(surface.ROOTS[surface.KINDS[kind]] for kind in wraps.kind)
    shapes = jax.ShapeDtypeStruct((8 + r, k), jnp.float64), jax.ShapeDtypeStruct((6, k), jnp.int64)
    call = jax.ffi.ffi_call(registered("myograd_search", _handler, _DIGEST), shapes, vmap_method="expand_dims")
    contacts, order = call(*values.values(), it.on, _static(wraps))
    return contacts, order


def _static(wraps: PathWraps) -> np.ndarray:
    """What does not depend on the pose, as `_tables` reads it."""
    marks = np.zeros((len(wraps.surface), MARKS), int)
    marks[:, KIND] = [surface.KINDS[kind] for kind in wraps.kind]
    marks[:, [AXIS, SIGN]], marks[:, FIRST], marks[:, LAST] = (
        wraps.quadrant,
        wraps.first_pair[:-1],
        wraps.first_pair[1:],
    )
    pairs = np.column_stack([wraps.pairs, np.zeros((len(wraps.pairs), 2), int)])
    tables = [marks, pairs, wraps.allowed, wraps.by_path, wraps.first]
    return np.concatenate([[x.size for x in tables], *[x.ravel() for x in tables]]).astype(np.int64)
