"""Which surfaces a path touches at a pose, in which order, between which of its points, and where: compiled by Numba.

Every slot (a surface on a muscle's path) is touched on one stretch of its path or not at all. Which one is decided as
OpenSim 4.6 does it (GeometryPath::applyWrapObjects, read as facts): surface after surface in the file's order, on the path as
the others have left it; where the straight line runs into the surface it must wrap, else it wraps where that lengthens the path
least; and so again, until little changes. Then the path is brought to rest: each arc is found anew
between its neighbours, until nothing moves. All this looks at the pose alone.
"""

from __future__ import annotations

import math
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
from ..geometry.search import surface
from ..geometry.search.vectors import Vector, compiled, dot, minus, norm
from ..model.structure import Wraps
from .scene import Scene

TIMES = 8  # that the surfaces of a path are gone through at most,
STEADY = 5e-4  # [m] or until no arc moves by more
AT_REST = 1e-12  # [m] by which an iteration moves the ends of arcs
NEAR_REST = 1e-6  # [m] when it is time to see whether surfaces are still touched,
PATIENCE = 10  # or after so many iterations
MOST = 200  # iterations
_MUST = -1e6  # score of stretches that must wrap: before any that may


# A pose is held in tables, two of which have a row for each slot. Columns of `slots`, points in ground:
ROTATION, TRANSLATION, SIZES = 0, 9, 12  # of the surface
P, Q = 15, 18  # where the path lands and leaves
CAME, GOES = 21, 24  # what its lines came from and led to when the arc was found
CHANGE = 27  # by which the last iteration would move P and Q
REACH = 33  # how far from its middle the surface can be touched
ARC = 34  # length
ROOT = 35  # and further columns
# Columns of `marks`:
ENGAGED, PAIR, PLACE, BEFORE, AFTER, FOUND = range(6)  # of `muscle.chains.Order`
RANK = 6  # place among the slots engaged between the same points, from 1
KIND, AXIS, SIGN = 7, 8, 9  # class of surface; quadrant
FIRST, LAST = 10, 11  # where the slot's pairs are in `allowed`
MARKS = 12
# Columns of `pairs`: its two points, whether they are neighbours now, and how many slots are engaged between them.
ON, HOLDS = 2, 3


@compiled
def _at(table: np.ndarray, k: int, column: int) -> Vector:
    return table[k, column], table[k, column + 1], table[k, column + 2]


@compiled
def _put(table: np.ndarray, k: int, column: int, v: Vector) -> None:
    table[k, column], table[k, column + 1], table[k, column + 2] = v


@compiled
def _local(slots: np.ndarray, k: int, v: Vector) -> Vector:
    """A point of ground in the frame of slot k's surface."""
    x, y, z = v[0] - slots[k, 9], v[1] - slots[k, 10], v[2] - slots[k, 11]
    return (
        slots[k, 0] * x + slots[k, 3] * y + slots[k, 6] * z,
        slots[k, 1] * x + slots[k, 4] * y + slots[k, 7] * z,
        slots[k, 2] * x + slots[k, 5] * y + slots[k, 8] * z,
    )


@compiled
def _in_ground(slots: np.ndarray, k: int, v: Vector) -> Vector:
    return (
        slots[k, 0] * v[0] + slots[k, 1] * v[1] + slots[k, 2] * v[2] + slots[k, 9],
        slots[k, 3] * v[0] + slots[k, 4] * v[1] + slots[k, 5] * v[2] + slots[k, 10],
        slots[k, 6] * v[0] + slots[k, 7] * v[1] + slots[k, 8] * v[2] + slots[k, 11],
    )


@compiled
def _clear(slots: np.ndarray, k: int, came: Vector, goes: Vector) -> bool:
    """Whether the line keeps so far from the surface's middle that it cannot be touched: true of most, and soon known."""
    along, ahead = minus(goes, came), minus(_at(slots, k, TRANSLATION), came)
    square, nearest, away, far = dot(along, along), dot(ahead, along), dot(ahead, ahead), slots[k, REACH] ** 2
    if nearest <= 0:
        return away > far
    if nearest >= square:
        return away - 2 * nearest + square > far
    return away * square - nearest * nearest > far * square


@compiled
def _touch(slots: np.ndarray, marks: np.ndarray, k: int, came: Vector, goes: Vector) -> tuple[bool, bool, float, float]:
    if _clear(slots, k, came, goes):
        return False, False, 0.0, 0.0
    p, s = _local(slots, k, came), _local(slots, k, goes)
    return surface.touch(marks[k, KIND], p, s, _at(slots, k, SIZES), marks[k, AXIS], marks[k, SIGN])


@compiled
def _find(slots: np.ndarray, marks: np.ndarray, k: int, came: Vector, goes: Vector, warm: bool) -> None:
    p, s = _local(slots, k, came), _local(slots, k, goes)
    landed, left, arc, found = surface.find(
        marks[k, KIND], p, s, _at(slots, k, SIZES), marks[k, AXIS], marks[k, SIGN], slots[k, ROOT:], warm
    )
    _put(slots, k, P, _in_ground(slots, k, landed))
    _put(slots, k, Q, _in_ground(slots, k, left))
    _put(slots, k, CAME, came)
    _put(slots, k, GOES, goes)
    slots[k, ARC] = arc
    marks[k, FOUND] = found


@compiled
def _decide(
    points: np.ndarray,
    slots: np.ndarray,
    marks: np.ndarray,
    pairs: np.ndarray,
    allowed: np.ndarray,
    members: np.ndarray,
    k: int,
) -> tuple[bool, float]:
    """Puts slot k on its best stretch of the path as the other members have left it. Whether it left another one, and how
    far its arc moved."""
    if marks[k, ENGAGED]:
        pairs[marks[k, PAIR], HOLDS] -= 1
    best, best_pair, best_rank, best_side = np.inf, -1, 0, 0.0
    best_came = best_goes = (0.0, 0.0, 0.0)
    for n in range(marks[k, FIRST], marks[k, LAST]):
        pair = allowed[n]
        if not pairs[pair, ON]:
            continue
        rank, came = 0, _at(points, pairs[pair, 0], 0)
        while True:  # the stretch begins at the pair's first point, then behind each slot that is there
            end = _next(marks, members, k, pair, rank) if pairs[pair, HOLDS] else -1
            goes = _at(slots, end, P) if end >= 0 else _at(points, pairs[pair, 1], 0)
            engaged, mandatory, excess, side = _touch(slots, marks, k, came, goes)
            score = _MUST + 64 * pair + rank if mandatory else excess
            if engaged and score < best:
                best, best_pair, best_rank, best_side, best_came, best_goes = score, pair, rank, side, came, goes
            if end < 0:
                break
            rank, came = marks[end, RANK], _at(slots, end, Q)
    was, moved = marks[k, ENGAGED] != 0, 0.0
    left = was and marks[k, PAIR] != best_pair
    marks[k, ENGAGED] = best_pair >= 0
    if best_pair >= 0:
        if pairs[best_pair, HOLDS]:
            _make_room(marks, members, k, best_pair, best_rank)
        marks[k, PAIR], marks[k, RANK] = best_pair, best_rank + 1
        pairs[best_pair, HOLDS] += 1
        if not (was and not left and _at(slots, k, CAME) == best_came and _at(slots, k, GOES) == best_goes):
            landed, leaves = _at(slots, k, P), _at(slots, k, Q)
            slots[k, ROOT] = best_side
            _find(slots, marks, k, best_came, best_goes, False)
            if was and not left:
                moved = max(norm(minus(_at(slots, k, P), landed)), norm(minus(_at(slots, k, Q), leaves)))
            else:
                moved = np.inf
    elif was:
        moved = np.inf
    return left, moved


@compiled
def _next(marks: np.ndarray, members: np.ndarray, k: int, pair: int, rank: int) -> int:
    """The slot that follows the given rank between the two points, leaving out k; -1 if none does."""
    found, lowest = -1, 1000
    for other in members:
        if other != k and marks[other, ENGAGED] and marks[other, PAIR] == pair and rank < marks[other, RANK] < lowest:
            found, lowest = other, marks[other, RANK]
    return found


@compiled
def _make_room(marks: np.ndarray, members: np.ndarray, k: int, pair: int, rank: int) -> None:
    """Moves the slots that follow the given rank between the two points one further."""
    for other in members:
        if other != k and marks[other, ENGAGED] and marks[other, PAIR] == pair and marks[other, RANK] > rank:
            marks[other, RANK] += 1


@compiled
def _neighbours(marks: np.ndarray, members: np.ndarray) -> bool:
    """Says of each member which ones are before and after it (as many as there are slots for none). Whether any has such."""
    none, chained = len(marks), False
    for k in members:
        marks[k, PLACE], marks[k, BEFORE], marks[k, AFTER] = 0, none, none
        for other in members:
            if other == k or not marks[k, ENGAGED] or not marks[other, ENGAGED] or marks[other, PAIR] != marks[k, PAIR]:
                continue
            chained = True
            if marks[other, RANK] < marks[k, RANK]:
                marks[k, PLACE] += 1
                if marks[k, BEFORE] == none or marks[other, RANK] > marks[marks[k, BEFORE], RANK]:
                    marks[k, BEFORE] = other
            elif marks[k, AFTER] == none or marks[other, RANK] < marks[marks[k, AFTER], RANK]:
                marks[k, AFTER] = other
    return chained


@compiled
def _ends(points: np.ndarray, slots: np.ndarray, marks: np.ndarray, pairs: np.ndarray, k: int) -> tuple[Vector, Vector]:
    """What the lines of slot k come from and lead to."""
    before, after, pair = marks[k, BEFORE], marks[k, AFTER], marks[k, PAIR]
    came = _at(slots, before, Q) if before < len(slots) else _at(points, pairs[pair, 0], 0)
    goes = _at(slots, after, P) if after < len(slots) else _at(points, pairs[pair, 1], 0)
    return came, goes


@compiled
def _added(points: np.ndarray, slots: np.ndarray, marks: np.ndarray, pairs: np.ndarray, k: int) -> float:
    """What slot k adds to the straight path, see `muscle.detours.added_length`."""
    came, goes = _ends(points, slots, marks, pairs, k)
    added = slots[k, ARC] + norm(minus(_at(slots, k, P), came))
    if marks[k, AFTER] == len(slots):
        added += norm(minus(goes, _at(slots, k, Q)))
    if marks[k, BEFORE] == len(slots):
        pair = marks[k, PAIR]
        added -= norm(minus(_at(points, pairs[pair, 1], 0), _at(points, pairs[pair, 0], 0)))
    return added


@compiled
def _rest(points: np.ndarray, slots: np.ndarray, marks: np.ndarray, pairs: np.ndarray, members: np.ndarray) -> None:
    """Brings the arcs of a muscle to rest. A slot that the lines between its neighbours no longer touch drops out, for good; so
    this ends. Steps are lengthened by Irons and Tuck's factor: the secant along the slowest mode."""
    factor = 1.0
    for k in members:
        slots[k, CHANGE : CHANGE + 6] = 0.0
    for count in range(MOST):
        largest, down, across = 0.0, 0.0, 0.0
        for k in members:
            if not marks[k, ENGAGED]:
                continue
            old = _at(slots, k, P), _at(slots, k, Q)
            came, goes = _ends(points, slots, marks, pairs, k)
            _find(slots, marks, k, came, goes, True)
            for end in range(2):
                for i in range(3):
                    column = CHANGE + 3 * end + i
                    moved = slots[k, P + 3 * end + i] - old[end][i]
                    grown = moved - slots[k, column]
                    down += slots[k, column] * grown
                    across += grown * grown
                    largest = max(largest, abs(moved))
                    slots[k, column] = moved
        lost = False
        if largest <= NEAR_REST or count >= PATIENCE:
            for k in members:
                if marks[k, ENGAGED]:
                    came, goes = _ends(points, slots, marks, pairs, k)
                    if not _touch(slots, marks, k, came, goes)[0]:
                        marks[k, ENGAGED] = 0
                        lost = True
            if lost:
                _neighbours(marks, members)
        if largest <= AT_REST and not lost:
            return
        factor = min(max(-factor * down / across, 0.5), 10.0) if count > 0 and across > 0 and not lost else 1.0
        for k in members:
            if marks[k, ENGAGED]:
                for i in range(6):
                    slots[k, P + i] += (factor - 1) * slots[k, CHANGE + i]
    for k in members:
        marks[k, FOUND] = 0


@compiled
def _all_known(slots: np.ndarray, marks: np.ndarray, members: np.ndarray) -> bool:
    """Whether surfaces are where numbers say, and of sizes that exist: none negative, zero for those never touched."""
    total = 0.0  # not finite unless all numbers are
    for k in members:
        for i in range(SIZES):
            total += abs(slots[k, i])
        for i in range(SIZES, SIZES + surface.SIZES[marks[k, KIND]]):
            total += slots[k, i]
            if slots[k, i] < 0:
                return False
    return math.isfinite(total)


@compiled
def search_pose(
    points: np.ndarray,
    slots: np.ndarray,
    marks: np.ndarray,
    pairs: np.ndarray,
    allowed: np.ndarray,
    members: np.ndarray,
    first: np.ndarray,
) -> None:
    """All muscles at one pose; `members[first[m]:first[m + 1]]` are the slots of one, in the file's order."""
    for k in range(len(marks)):
        marks[k, ENGAGED], marks[k, FOUND] = 0, 1
        slots[k, REACH] = surface.reach(marks[k, KIND], _at(slots, k, SIZES))
    pairs[:, HOLDS] = 0
    for muscle in range(len(first) - 1):
        own = members[first[muscle] : first[muscle + 1]]
        if not _all_known(slots, marks, own):
            for k in own:
                marks[k, ENGAGED], marks[k, FOUND], marks[k, PAIR] = 1, 0, allowed[marks[k, FIRST]]
                marks[k, PLACE], marks[k, BEFORE], marks[k, AFTER] = 0, len(marks), len(marks)
            continue
        any_left, largest, still = False, 0.0, 0
        for turn in range(TIMES * len(own) if len(own) > 1 else 1):
            left, moved = _decide(points, slots, marks, pairs, allowed, own, own[turn % len(own)])
            any_left, largest = any_left or left, max(largest, moved)
            # A slot whose turn comes when all others have stayed where they were at its last turn would stay, too.
            still = still + 1 if moved == 0 else 0
            if still >= len(own) - 1 and turn >= len(own) - 1:
                break
            if (turn + 1) % len(own) == 0:
                if largest < STEADY:
                    break
                largest = 0.0
        if _neighbours(marks, own) or any_left:
            _rest(points, slots, marks, pairs, own)


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
    points, slots = np.zeros((p, 3)), np.zeros((k, ROOT + width - 8))
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
                slots[j, ROTATION + i] = rotation[i, j]
            for i in range(3):
                slots[j, TRANSLATION + i], slots[j, SIZES + i] = translation[i, j], sizes[i, j]
        search_pose(points, slots, marks, pairs, allowed, members, first)
        contacts[n] = 0.0
        for j in range(k):
            for i in range(6):
                order[n, i, j] = marks[j, i]
            if marks[j, ENGAGED]:
                landed, left = _local(slots, j, _at(slots, j, P)), _local(slots, j, _at(slots, j, Q))
                for i in range(3):
                    contacts[n, i, j], contacts[n, 3 + i, j] = landed[i], left[i]
                contacts[n, 6, j], contacts[n, 7, j] = slots[j, ARC], _added(points, slots, marks, pairs, j)
                for i in range(surface.ROOTS[marks[j, KIND]]):
                    contacts[n, 8 + i, j] = slots[j, ROOT + i]
            else:
                order[n, PAIR, j], order[n, FOUND, j] = allowed[marks[j, FIRST]], 1
    return 0


_GEOMETRY = Path(geometry.__file__).parent
_DIGEST = digest_of([Path(__file__), _GEOMETRY / "native.py", _GEOMETRY / "ritz.py", *_GEOMETRY.glob("search/*.py")])


def search(wraps: Wraps, it: Scene) -> tuple[Float[Array, "8+r k"], Int[Array, "6 k"]]:
    """Of each slot: P and Q in the frame of the surface, length of the arc, what it adds to the straight path, root; and the
    order (rows ENGAGED to FOUND)."""
    values = {"points": it.points, "rotations": it.rotation, "translations": it.translation, "sizes": it.sizes}
    for name, value in values.items():
        if value.dtype != np.float64:
            raise ModelError(f"paths over surfaces are found in float64; {name} are {value.dtype}")
    if jax.default_backend() != "cpu":
        raise ModelError("paths over surfaces are found on the CPU: set JAX_PLATFORMS=cpu before Python starts")
    k, r = len(wraps.surface), max(surface.ROOTS[surface.KINDS[kind]] for kind in wraps.kind)
    shapes = jax.ShapeDtypeStruct((8 + r, k), jnp.float64), jax.ShapeDtypeStruct((6, k), jnp.int64)
    call = jax.ffi.ffi_call(registered("myograd_search", _handler, _DIGEST), shapes, vmap_method="expand_dims")
    contacts, order = call(*values.values(), it.on, _static(wraps))
    return contacts, order


def _static(wraps: Wraps) -> np.ndarray:
    """What does not depend on the pose, as `_tables` reads it."""
    marks = np.zeros((len(wraps.surface), MARKS), int)
    marks[:, KIND] = [surface.KINDS[kind] for kind in wraps.kind]
    marks[:, [AXIS, SIGN]], marks[:, FIRST], marks[:, LAST] = (
        wraps.quadrant,
        wraps.first_pair[:-1],
        wraps.first_pair[1:],
    )
    pairs = np.column_stack([wraps.pairs, np.zeros((len(wraps.pairs), 2), int)])
    tables = [marks, pairs, wraps.allowed, wraps.slots, wraps.first]
    return np.concatenate([[x.size for x in tables], *[x.ravel() for x in tables]]).astype(np.int64)
