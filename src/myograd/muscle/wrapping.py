"""Which surfaces a path touches at a pose, in which order, and where it lands on them and leaves them.

Every slot (one surface on one muscle's path, see `model.structure.Wraps`) is touched on one stretch of its path or not at
all. Which one is decided as OpenSim 4.6 does it (GeometryPath::applyWrapObjects, read as facts): surface after surface in
the file's order, on the path as the others have left it; where the straight line runs into the surface it must wrap, else it
wraps where that lengthens the path least; in rounds, until the length settles. The decision looks at the pose alone.

With the decision made, the path is the shortest one: all its straight parts are tangent to the surfaces at both ends.
OpenSim stops when its rounds change the length by less than half a millimetre; here several surfaces between the same
two points are brought to rest (`muscle.chains`).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ..dynamics.kinematics import Pose, link_frames, placement
from ..geometry.spatial import dot, matmul, rotate, transposed
from ..geometry.wrap import SURFACES, Arc, Touch
from ..model.model import Model
from ..model.structure import Round, Wraps
from .path import moving_offsets, switched_on, touching

SETTLED = 5e-4  # [m] change of length below which OpenSim ends its rounds
ROUNDS = 8  # and their largest number
CLOSED = ("WrapCylinder", "WrapSphere")  # wrapped by formula, not by iteration
_MUST = -1e6  # of candidates that must wrap, before any that may


class Scene(eqx.Module):
    """Everything that wrapping depends on, in ground."""

    points: Float[Array, "3 p"]
    """path points"""
    rotation: Float[Array, "3 3 k"]
    """of each slot's surface"""
    translation: Float[Array, "3 k"]
    sizes: Float[Array, "3 k"]
    on: Bool[Array, " t"]
    """pairs that are neighbours at this pose"""


class State(NamedTuple):
    """What is touched where, while it is being decided. One column more than slots: "none", never engaged."""

    engaged: Bool[Array, " k+1"]
    pair: Int[Array, " k+1"]
    rank: Int[Array, " k+1"]
    """place among the slots engaged between the same two points, from 1"""
    P: Float[Array, "3 k+1"]
    """landing points in ground"""
    Q: Float[Array, "3 k+1"]
    """leaving points in ground"""
    arc: Float[Array, " k+1"]
    converged: Bool[Array, " k+1"]


def scene(model: Model, at: Pose, q: Float[Array, " c"]) -> Scene:
    wraps, paths, surfaces = model.wraps, model.paths, model.surfaces
    links = len(model.tree.inboard)
    places = placement(paths.point_link[wraps.points], model.path.location[:, wraps.points], links)
    points = link_frames(at) @ places
    if len(paths.moving):
        points = points + moving_offsets(model, at, q) @ touching(paths.moving, wraps.points)
    surface = wraps.surface
    link = wraps.surface_link[surface]
    R = at.rotation[:, :, link]
    return Scene(
        points=points,
        rotation=matmul(R, surfaces.rotation[:, :, surface]),
        translation=rotate(R, surfaces.translation[:, surface]) + at.origin[:, link],
        sizes=surfaces.sizes[:, surface],
        on=switched_on(model, q, wraps.pair_switch),
    )


def local(it: Scene, slot: np.ndarray, x: Float[Array, "3 n"]) -> Float[Array, "3 n"]:
    """Points of ground in the frames of the slots' surfaces."""
    return rotate(transposed(it.rotation[:, :, slot]), x - it.translation[:, slot])


def in_ground(it: Scene, slot: np.ndarray, x: Float[Array, "3 n"]) -> Float[Array, "3 n"]:
    return rotate(it.rotation[:, :, slot], x) + it.translation[:, slot]


def _slices(wraps: Wraps, slots: np.ndarray) -> list[tuple[str, slice]]:
    """Classes of slots that are sorted by class, and where each is."""
    kinds = [wraps.kind[k] for k in slots]
    return [(kind, slice(kinds.index(kind), len(kinds) - kinds[::-1].index(kind))) for kind in dict.fromkeys(kinds)]


def _joined(parts: list) -> object:
    """Results of one class after the other, as one."""
    return jax.tree.map(lambda *x: jnp.concatenate(x, axis=-1), *parts)


def _touch(wraps: Wraps, it: Scene, slots: np.ndarray, p: Float[Array, "3 n"], s: Float[Array, "3 n"]) -> Touch:
    """Whether the segments p -> s, in the surfaces' frames, touch them."""
    parts = [
        SURFACES[kind].touch(p[:, part], s[:, part], it.sizes[:, slots[part]], *wraps.quadrant[slots[part]].T)
        for kind, part in _slices(wraps, slots)
    ]
    return _joined(parts)  # type: ignore[return-value]


def wrap(
    wraps: Wraps,
    sizes: Float[Array, "3 n"],
    slots: np.ndarray,
    p: Float[Array, "3 n"],
    s: Float[Array, "3 n"],
    where: Bool[Array, " n"],
) -> Arc:
    """Arcs of the segments p -> s over the surfaces of `slots` (sorted by class), in their frames."""
    parts = [
        SURFACES[kind].wrap(p[:, part], s[:, part], sizes[:, part], *wraps.quadrant[slots[part]].T, where[part])
        for kind, part in _slices(wraps, slots)
    ]
    return _joined(parts)  # type: ignore[return-value]


class Choice(NamedTuple):
    """For each slot of a round: whether it is engaged, on which stretch, from which point to which."""

    engaged: Bool[Array, " d"]
    pair: Int[Array, " d"]
    rank: Int[Array, " d"]
    p: Float[Array, "3 d"]
    s: Float[Array, "3 d"]


def _choose(wraps: Wraps, it: Scene, step: Round, state: State) -> Choice:
    """The best stretch for each slot of a round; p and s in the surface's frame."""
    none = len(wraps.surface)
    a, b = (it.points[:, wraps.pairs[step.pair, k]] for k in (0, 1))
    p, s = a, b
    valid = it.on[step.pair]
    rank = jnp.zeros(len(step.pair), int)
    if step.ends.shape[1]:
        behind = step.start < none
        rank = jnp.where(behind, state.rank[step.start], 0)
        valid = valid & (~behind | (state.engaged[step.start] & (state.pair[step.start] == step.pair)))
        p = jnp.where(behind, state.Q[:, step.start], a)
        ahead = state.engaged[step.ends] & (state.pair[step.ends] == step.pair[:, None])
        ahead_rank = jnp.where(ahead & (state.rank[step.ends] > rank[:, None]), state.rank[step.ends], 1000)
        nearest = jnp.argmin(ahead_rank, axis=1)
        end = jnp.asarray(step.ends)[np.arange(len(step.pair)), nearest]
        s = jnp.where(jnp.min(ahead_rank, axis=1) < 1000, state.P[:, end], b)
    p, s = local(it, step.slot, p), local(it, step.slot, s)
    found = _touch(wraps, it, step.slot, p, s)
    place = step.pair * 64.0 + rank  # along the path
    score = jnp.where(found.mandatory, _MUST + place, found.excess)
    score = jnp.append(jnp.where(valid & found.engaged, score, jnp.inf), jnp.inf)
    scores = score[step.choices]
    lane = jnp.asarray(step.choices)[np.arange(len(step.slots)), jnp.argmin(scores, axis=1)]
    engaged = jnp.min(scores, axis=1) < jnp.inf
    lane = jnp.where(engaged, lane, 0)
    return Choice(engaged, jnp.asarray(step.pair)[lane], rank[lane] + 1, p[:, lane], s[:, lane])


def _with(old: Array, slots: np.ndarray, new: Array) -> Array:
    """`old` with the columns of `slots` replaced: a gather, which XLA does faster than a scatter."""
    source = np.arange(old.shape[-1])
    source[slots] = old.shape[-1] + np.arange(len(slots))
    return jnp.concatenate([old, new], axis=-1)[..., source]


def _placed(wraps: Wraps, step: Round, state: State, choice: Choice, open_: Bool[Array, " k+1"]) -> State:
    """The state with the slots of a round on their chosen stretches; slots further along there make room."""
    none = len(wraps.surface)
    turn = np.full(none + 1, len(step.slots))  # for each slot, the slot of its muscle that is placed now
    for i, k in enumerate(step.slots):
        turn[wraps.mates[k]] = i
    turn[none] = len(step.slots)
    engaged, pair, rank = (jnp.append(x, jnp.zeros((), x.dtype))[turn] for x in choice[:3])
    pushed = state.engaged & engaged & (state.pair == pair) & (state.rank >= rank)
    fresh = open_[step.slots]
    replaced = [
        _with(old, step.slots, jnp.where(fresh, new, old[step.slots]))
        for old, new in ((state.engaged, choice.engaged), (state.pair, choice.pair))
    ]
    rank = jnp.where(pushed & open_, state.rank + 1, state.rank)
    rank = _with(rank, step.slots, jnp.where(fresh, choice.rank, state.rank[step.slots]))
    return state._replace(engaged=replaced[0], pair=replaced[1], rank=rank)


def _landed(it: Scene, state: State, slots: np.ndarray, arc: Arc, where: Bool[Array, " d"]) -> State:
    """The state with the arcs of the slots where `where` holds."""

    def updated(old: Array, new: Array) -> Array:
        return _with(old, slots, jnp.where(where, new, old[..., slots]))

    return state._replace(
        P=updated(state.P, in_ground(it, slots, arc.P)),
        Q=updated(state.Q, in_ground(it, slots, arc.Q)),
        arc=updated(state.arc, arc.length),
        converged=updated(state.converged, arc.converged),
    )


def _is_closed(wraps: Wraps, slots: np.ndarray) -> np.ndarray:
    return np.array([wraps.kind[k] in CLOSED for k in slots], bool)


def neighbours(wraps: Wraps, state: State) -> tuple[Int[Array, " k"], Int[Array, " k"]]:
    """Slots before and after each slot between the same two points; the number of slots for none."""
    none = len(wraps.surface)
    if wraps.mates.shape[1] == 0:
        nobody = jnp.full(none, none)
        return nobody, nobody
    mates = wraps.mates
    beside = state.engaged[mates] & (state.pair[mates] == state.pair[:none, None]) & state.engaged[:none, None]
    gap = jnp.where(beside, state.rank[mates] - state.rank[:none, None], 0)

    def nearest(distance: Int[Array, "k w"]) -> Int[Array, " k"]:
        distance = jnp.where(distance > 0, distance, 1000)
        which = jnp.asarray(mates)[np.arange(none), jnp.argmin(distance, axis=1)]
        return jnp.where(jnp.min(distance, axis=1) < 1000, which, none)

    return nearest(-gap), nearest(gap)


def _distance(a: Float[Array, "3 n"], b: Float[Array, "3 n"]) -> Float[Array, " n"]:
    square = dot(b - a, b - a)
    apart = square > 0
    return jnp.where(apart, jnp.sqrt(jnp.where(apart, square, 1.0)), 0.0)


def _detours(wraps: Wraps, it: Scene, state: State) -> Float[Array, " k"]:
    """How much each slot adds to the straight path [m]: its arc, the line to it, and, if nothing follows, the line from it; less
    the straight line, if nothing precedes."""
    none = len(wraps.surface)
    before, after = neighbours(wraps, state)
    pair = jnp.asarray(wraps.pairs)[state.pair[:none]]
    a, b = it.points[:, pair[:, 0]], it.points[:, pair[:, 1]]
    P, Q = state.P[:, :none], state.Q[:, :none]
    first, last = before == none, after == none
    came = _distance(jnp.where(first, a, state.Q[:, before]), P)
    added = state.arc[:none] + came + jnp.where(last, _distance(Q, b), 0.0) - jnp.where(first, _distance(a, b), 0.0)
    return jnp.where(state.engaged[:none], added, 0.0)


def touched(wraps: Wraps, it: Scene) -> State:
    """What is touched, after OpenSim's rounds."""
    none = len(wraps.surface)
    nothing, everything = jnp.zeros(none + 1), jnp.ones(none + 1, bool)
    state = State(
        nothing > 0,
        nothing.astype(int),
        nothing.astype(int),
        jnp.zeros((3, none + 1)),
        jnp.zeros((3, none + 1)),
        nothing,
        everything,
    )
    if len(wraps.alone.slots):
        step = wraps.alone
        choice = _choose(wraps, it, step, state)
        state = _placed(wraps, step, state, choice, everything)
        arc = wrap(wraps, it.sizes[:, step.slots], step.slots, choice.p, choice.s, choice.engaged)
        state = _landed(it, state, step.slots, arc, choice.engaged)
    return _in_rounds(wraps, it, state) if wraps.rounds else state


def _in_rounds(wraps: Wraps, it: Scene, state: State) -> State:
    """Slots of muscles with several surfaces: one after the other, again and again."""
    none = len(wraps.surface)
    shared = np.concatenate([step.slots for step in wraps.rounds])
    iterated = np.sort(shared[~_is_closed(wraps, shared)])
    owner = np.zeros((none, len(wraps.muscle) and wraps.muscle.max() + 1))
    owner[shared, wraps.muscle[shared]] = 1
    muscle = np.append(wraps.muscle, 0)

    def turn(step: Round, state: State, open_: Array) -> tuple[State, Array, Array, Array]:
        choice = _choose(wraps, it, step, state)
        state = _placed(wraps, step, state, choice, open_)
        where = choice.engaged & open_[step.slots]
        closed = _is_closed(wraps, step.slots)
        if closed.any():
            slots, c = step.slots[closed], np.flatnonzero(closed)
            arc = wrap(wraps, it.sizes[:, slots], slots, choice.p[:, c], choice.s[:, c], where[c])
            state = _landed(it, state, slots, arc, where[c])
        source = np.full(none + 1, len(step.slots))
        source[step.slots] = np.arange(len(step.slots))
        pick = source[iterated]
        p, s = (jnp.concatenate([x, jnp.zeros((3, 1))], axis=1)[:, pick] for x in (choice.p, choice.s))
        return state, p, s, jnp.append(where, False)[pick]

    def body(carry: tuple) -> tuple:
        n, state, open_, last, seen, P, Q = carry
        i = n % len(wraps.rounds)
        branches = [partial(turn, step) for step in wraps.rounds]
        state, p, s, where = lax.switch(i, branches, state, open_)
        if len(iterated):
            arc = wrap(wraps, it.sizes[:, iterated], iterated, p, s, where)
            state = _landed(it, state, iterated, arc, where)

        def look(_: None) -> tuple[Array, ...]:
            # OpenSim measures with the points of the round in which a surface was first touched (it keeps them cached).
            fresh = state.engaged & ~seen
            at_first = state._replace(P=jnp.where(fresh, state.P, P), Q=jnp.where(fresh, state.Q, Q))
            length = _detours(wraps, it, at_first) @ owner
            return (
                open_ & ~(jnp.abs(length - last) < SETTLED)[muscle],
                length,
                seen | state.engaged,
                at_first.P,
                at_first.Q,
            )

        rest = lax.cond(i == len(wraps.rounds) - 1, look, lambda _: (open_, last, seen, P, Q), None)
        return n + 1, state, *rest

    def unsettled(carry: tuple) -> Array:
        return (carry[0] < ROUNDS * len(wraps.rounds)) & eqxi.unvmap_any(carry[2])

    start = np.append(owner.any(axis=1), False)
    begin = (
        0,
        state,
        jnp.asarray(start),
        jnp.full(owner.shape[1], jnp.inf),
        ~jnp.ones(none + 1, bool),
        state.P,
        state.Q,
    )
    return lax.while_loop(unsettled, body, begin)[1]
