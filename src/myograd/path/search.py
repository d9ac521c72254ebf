"""Which surfaces a path touches at a pose, in which order, between which of its points, and where: compiled by Numba.

Every path wrap (a surface on a muscle's path) is touched on one segment of its path or not at all. Which one is decided as
OpenSim 4.6 does it (GeometryPath::applyWrapObjects, read as facts): surface after surface in the file's order, on the path as
the others have left it; where the straight line runs into the surface it must wrap, else it wraps where that lengthens the path
least; and so again, until little changes. Then the path is brought to rest: each arc is found anew
between its neighbours, until nothing moves. All this depends on the pose alone.
"""

from __future__ import annotations

import math

import numpy as np

from ..geometry.wrap.search import surface
from ..geometry.wrap.search.vectors import Vector, compiled, dot, minus, norm

TIMES = 8  # that the surfaces of a path are gone through at most,
STEADY = 5e-4  # [m] or until no arc moves by more
AT_REST = 1e-12  # [m] by which an iteration moves the ends of arcs
NEAR_REST = 1e-6  # [m] when it is time to see whether surfaces are still touched,
PATIENCE = 10  # or after so many iterations
MOST = 200  # iterations
_MUST = -1e6  # score of segments that must wrap: before any that may


# A pose is stored in tables, two of which have a row for each path wrap. Columns of `table`, points in ground:
ROTATION, TRANSLATION, SIZES = 0, 9, 12  # of the surface
P, Q = 15, 18  # where the path lands and leaves
CAME, GOES = 21, 24  # what its lines came from and led to when the arc was found
CHANGE = 27  # by which the last iteration would move P and Q
REACH = 33  # how far from its middle the surface can be touched
ARC = 34  # length
ROOT = 35  # and further columns
# Columns of `marks`:
ENGAGED, PAIR, PLACE, BEFORE, AFTER, FOUND = range(6)  # of `contacts.Order`
RANK = 6  # place among the path wraps engaged between the same points, from 1
KIND, AXIS, SIGN = 7, 8, 9  # class of surface; quadrant
FIRST, LAST = 10, 11  # where the path wrap's pairs are in `allowed`
MARKS = 12
# Columns of `pairs`: its two points, whether they are neighbours now, and how many path wraps are engaged between them.
ON, HOLDS = 2, 3


@compiled
def at(table: np.ndarray, k: int, column: int) -> Vector:
    return table[k, column], table[k, column + 1], table[k, column + 2]


@compiled
def _put(table: np.ndarray, k: int, column: int, v: Vector) -> None:
    table[k, column], table[k, column + 1], table[k, column + 2] = v


@compiled
def local(table: np.ndarray, k: int, v: Vector) -> Vector:
    """A point of ground in the frame of path wrap k's surface."""
    x, y, z = v[0] - table[k, 9], v[1] - table[k, 10], v[2] - table[k, 11]
    return (
        table[k, 0] * x + table[k, 3] * y + table[k, 6] * z,
        table[k, 1] * x + table[k, 4] * y + table[k, 7] * z,
        table[k, 2] * x + table[k, 5] * y + table[k, 8] * z,
    )


@compiled
def _in_ground(table: np.ndarray, k: int, v: Vector) -> Vector:
    return (
        table[k, 0] * v[0] + table[k, 1] * v[1] + table[k, 2] * v[2] + table[k, 9],
        table[k, 3] * v[0] + table[k, 4] * v[1] + table[k, 5] * v[2] + table[k, 10],
        table[k, 6] * v[0] + table[k, 7] * v[1] + table[k, 8] * v[2] + table[k, 11],
    )


@compiled
def _clear(table: np.ndarray, k: int, came: Vector, goes: Vector) -> bool:
    """Whether the line keeps so far from the surface's middle that it cannot be touched: true of most, and soon known."""
    along, ahead = minus(goes, came), minus(at(table, k, TRANSLATION), came)
    square, nearest, away, far = dot(along, along), dot(ahead, along), dot(ahead, ahead), table[k, REACH] ** 2
    if nearest <= 0:
        return away > far
    if nearest >= square:
        return away - 2 * nearest + square > far
    return away * square - nearest * nearest > far * square


@compiled
def _touch(table: np.ndarray, marks: np.ndarray, k: int, came: Vector, goes: Vector) -> tuple[bool, bool, float, float]:
    if _clear(table, k, came, goes):
        return False, False, 0.0, 0.0
    p, s = local(table, k, came), local(table, k, goes)
    return surface.touch(marks[k, KIND], p, s, at(table, k, SIZES), marks[k, AXIS], marks[k, SIGN])


@compiled
def _find(table: np.ndarray, marks: np.ndarray, k: int, came: Vector, goes: Vector, warm: bool) -> None:
    p, s = local(table, k, came), local(table, k, goes)
    landed, left, arc, found = surface.find(
        marks[k, KIND], p, s, at(table, k, SIZES), marks[k, AXIS], marks[k, SIGN], table[k, ROOT:], warm
    )
    _put(table, k, P, _in_ground(table, k, landed))
    _put(table, k, Q, _in_ground(table, k, left))
    _put(table, k, CAME, came)
    _put(table, k, GOES, goes)
    table[k, ARC] = arc
    marks[k, FOUND] = found


@compiled
def _decide(
    points: np.ndarray,
    table: np.ndarray,
    marks: np.ndarray,
    pairs: np.ndarray,
    allowed: np.ndarray,
    members: np.ndarray,
    k: int,
) -> tuple[bool, float]:
    """Puts path wrap k on its best segment of the path as the other members have left it. Whether it left another one, and how
    far its arc moved."""
    if marks[k, ENGAGED]:
        pairs[marks[k, PAIR], HOLDS] -= 1
    best, best_pair, best_rank, best_side = np.inf, -1, 0, 0.0
    best_came = best_goes = (0.0, 0.0, 0.0)
    for n in range(marks[k, FIRST], marks[k, LAST]):
        pair = allowed[n]
        if not pairs[pair, ON]:
            continue
        rank, came = 0, at(points, pairs[pair, 0], 0)
        while True:  # the segment begins at the pair's first point, then behind each path wrap that is there
            end = _next(marks, members, k, pair, rank) if pairs[pair, HOLDS] else -1
            goes = at(table, end, P) if end >= 0 else at(points, pairs[pair, 1], 0)
            engaged, mandatory, excess, side = _touch(table, marks, k, came, goes)
            score = _MUST + 64 * pair + rank if mandatory else excess
            if engaged and score < best:
                best, best_pair, best_rank, best_side, best_came, best_goes = score, pair, rank, side, came, goes
            if end < 0:
                break
            rank, came = marks[end, RANK], at(table, end, Q)
    was, moved = marks[k, ENGAGED] != 0, 0.0
    left = was and marks[k, PAIR] != best_pair
    marks[k, ENGAGED] = best_pair >= 0
    if best_pair >= 0:
        if pairs[best_pair, HOLDS]:
            _make_room(marks, members, k, best_pair, best_rank)
        marks[k, PAIR], marks[k, RANK] = best_pair, best_rank + 1
        pairs[best_pair, HOLDS] += 1
        if not (was and not left and at(table, k, CAME) == best_came and at(table, k, GOES) == best_goes):
            landed, leaves = at(table, k, P), at(table, k, Q)
            table[k, ROOT] = best_side
            _find(table, marks, k, best_came, best_goes, False)
            if was and not left:
                moved = max(norm(minus(at(table, k, P), landed)), norm(minus(at(table, k, Q), leaves)))
            else:
                moved = np.inf
    elif was:
        moved = np.inf
    return left, moved


@compiled
def _next(marks: np.ndarray, members: np.ndarray, k: int, pair: int, rank: int) -> int:
    """The path wrap that follows the given rank between the two points, leaving out k; -1 if none does."""
    found, lowest = -1, 1000
    for other in members:
        if other != k and marks[other, ENGAGED] and marks[other, PAIR] == pair and rank < marks[other, RANK] < lowest:
            found, lowest = other, marks[other, RANK]
    return found


@compiled
def _make_room(marks: np.ndarray, members: np.ndarray, k: int, pair: int, rank: int) -> None:
    """Moves the path wraps that follow the given rank between the two points one further."""
    for other in members:
        if other != k and marks[other, ENGAGED] and marks[other, PAIR] == pair and marks[other, RANK] > rank:
            marks[other, RANK] += 1


@compiled
def _neighbours(marks: np.ndarray, members: np.ndarray) -> bool:
    """Says of each member which ones are before and after it (as many as there are path wraps for none). Whether any has such."""
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
def _ends(points: np.ndarray, table: np.ndarray, marks: np.ndarray, pairs: np.ndarray, k: int) -> tuple[Vector, Vector]:
    """What the lines of path wrap k come from and lead to."""
    before, after, pair = marks[k, BEFORE], marks[k, AFTER], marks[k, PAIR]
    came = at(table, before, Q) if before < len(table) else at(points, pairs[pair, 0], 0)
    goes = at(table, after, P) if after < len(table) else at(points, pairs[pair, 1], 0)
    return came, goes


@compiled
def added(points: np.ndarray, table: np.ndarray, marks: np.ndarray, pairs: np.ndarray, k: int) -> float:
    """What path wrap k adds to the straight path, see `path.wrapping.added_length`."""
    came, goes = _ends(points, table, marks, pairs, k)
    added = table[k, ARC] + norm(minus(at(table, k, P), came))
    if marks[k, AFTER] == len(table):
        added += norm(minus(goes, at(table, k, Q)))
    if marks[k, BEFORE] == len(table):
        pair = marks[k, PAIR]
        added -= norm(minus(at(points, pairs[pair, 1], 0), at(points, pairs[pair, 0], 0)))
    return added


@compiled
def _rest(points: np.ndarray, table: np.ndarray, marks: np.ndarray, pairs: np.ndarray, members: np.ndarray) -> None:
    """Brings the arcs of a muscle to rest. A path wrap that the lines between its neighbours no longer touch drops out, for
    good; so this ends. Steps are lengthened by Irons and Tuck's factor: the secant along the slowest mode."""
    factor = 1.0
    for k in members:
        table[k, CHANGE : CHANGE + 6] = 0.0
    for count in range(MOST):
        largest, down, across = 0.0, 0.0, 0.0
        for k in members:
            if not marks[k, ENGAGED]:
                continue
            old = at(table, k, P), at(table, k, Q)
            came, goes = _ends(points, table, marks, pairs, k)
            _find(table, marks, k, came, goes, True)
            for end in range(2):
                for i in range(3):
                    column = CHANGE + 3 * end + i
                    moved = table[k, P + 3 * end + i] - old[end][i]
                    grown = moved - table[k, column]
                    down += table[k, column] * grown
                    across += grown * grown
                    largest = max(largest, abs(moved))
                    table[k, column] = moved
        lost = False
        if largest <= NEAR_REST or count >= PATIENCE:
            for k in members:
                if marks[k, ENGAGED]:
                    came, goes = _ends(points, table, marks, pairs, k)
                    if not _touch(table, marks, k, came, goes)[0]:
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
                    table[k, P + i] += (factor - 1) * table[k, CHANGE + i]
    for k in members:
        marks[k, FOUND] = 0


@compiled
def _all_known(table: np.ndarray, marks: np.ndarray, members: np.ndarray) -> bool:
    """Whether surfaces are where numbers say, and of sizes that exist: none negative, zero for those never touched."""
    total = 0.0  # not finite unless all numbers are
    for k in members:
        for i in range(SIZES):
            total += abs(table[k, i])
        for i in range(SIZES, SIZES + surface.SIZES[marks[k, KIND]]):
            total += table[k, i]
            if table[k, i] < 0:
                return False
    return math.isfinite(total)


@compiled
def search_pose(
    points: np.ndarray,
    table: np.ndarray,
    marks: np.ndarray,
    pairs: np.ndarray,
    allowed: np.ndarray,
    members: np.ndarray,
    first: np.ndarray,
) -> None:
    """All muscles at one pose; `members[first[m]:first[m + 1]]` are the path wraps of one, in the file's order."""
    for k in range(len(marks)):
        marks[k, ENGAGED], marks[k, FOUND] = 0, 1
        table[k, REACH] = surface.reach(marks[k, KIND], at(table, k, SIZES))
    pairs[:, HOLDS] = 0
    for muscle in range(len(first) - 1):
        own = members[first[muscle] : first[muscle + 1]]
        if not _all_known(table, marks, own):
            for k in own:
                marks[k, ENGAGED], marks[k, FOUND], marks[k, PAIR] = 1, 0, allowed[marks[k, FIRST]]
                marks[k, PLACE], marks[k, BEFORE], marks[k, AFTER] = 0, len(marks), len(marks)
            continue
        any_left, largest, still = False, 0.0, 0
        for turn in range(TIMES * len(own) if len(own) > 1 else 1):
            left, moved = _decide(points, table, marks, pairs, allowed, own, own[turn % len(own)])
            any_left, largest = any_left or left, max(largest, moved)
            # A path wrap whose turn comes when all others have stayed where they were at its last turn would stay, too.
            still = still + 1 if moved == 0 else 0
            if still >= len(own) - 1 and turn >= len(own) - 1:
                break
            if (turn + 1) % len(own) == 0:
                if largest < STEADY:
                    break
                largest = 0.0
        if _neighbours(marks, own) or any_left:
            _rest(points, table, marks, pairs, own)
