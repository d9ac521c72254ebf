"""Which surfaces a path touches at a pose, in which order, and between which of its points.

Every slot is touched on one stretch of its path or not at all. Which one is decided as OpenSim 4.6 does it
(GeometryPath::applyWrapObjects, read as facts): surface after surface in the file's order, on the path as the others have
left it; where the straight line runs into the surface it must wrap, else it wraps where that lengthens the path least.
OpenSim goes through the surfaces of a path up to eight times, until the length changes by less than half a millimetre; here
twice, so that each is decided once with all others in place, and `muscle.chains` brings the path to rest. The decision looks
at the pose alone.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ..geometry.wrap import Arc
from ..model.structure import Round, Wraps
from .scene import Scene, in_ground, local, replaced, touch, wrap

TIMES = 2  # that the surfaces of a path are gone through
CLOSED = ("WrapCylinder", "WrapSphere")  # wrapped by formula, not by iteration
_FAR = 1000  # a rank that none has
_MUST = -1e6  # score of candidates that must wrap: before any that may


class Choice(NamedTuple):
    """For each slot of a round: whether it is engaged, on which stretch, and the arc's ends if it is."""

    engaged: Bool[Array, " d"]
    pair: Int[Array, " d"]
    rank: Int[Array, " d"]
    """place among the slots engaged between the same two points, from 1"""
    p: Float[Array, "3 d"]
    """where the stretch begins, in the surface's frame"""
    s: Float[Array, "3 d"]


class State(NamedTuple):
    """What is touched where, of the `n` shared slots. One column more: "none", never engaged."""

    engaged: Bool[Array, " n+1"]
    pair: Int[Array, " n+1"]
    rank: Int[Array, " n+1"]
    P: Float[Array, "3 n+1"]
    """where the path lands, in ground"""
    Q: Float[Array, "3 n+1"]
    """where it leaves"""
    arc: Float[Array, " n+1"]
    converged: Bool[Array, " n+1"]
    left: Bool[Array, " n+1"]
    """it was engaged, and left its stretch: arcs beside it are not yet at rest"""


def alone(wraps: Wraps, it: Scene) -> tuple[Choice, Arc]:
    """The only slots of their muscles."""
    step = wraps.alone
    a, b = _pair_points(wraps, it, step)
    choice = _best(wraps, it, step, a, b, it.on[step.pair], jnp.zeros(len(step.pair), int))
    return choice, wrap(wraps, it.sizes[:, step.slots], step.slots, choice.p, choice.s, choice.engaged)


def _pair_points(wraps: Wraps, it: Scene, step: Round) -> tuple[Float[Array, "3 c"], Float[Array, "3 c"]]:
    return it.points[:, wraps.pairs[step.pair, 0]], it.points[:, wraps.pairs[step.pair, 1]]


def _best(
    wraps: Wraps,
    it: Scene,
    step: Round,
    p: Float[Array, "3 c"],
    s: Float[Array, "3 c"],
    valid: Bool[Array, " c"],
    rank: Int[Array, " c"],
) -> Choice:
    """The best of the stretches p -> s for each slot of a round. `rank`: of what a stretch begins at."""
    p, s = local(it, step.slot, p), local(it, step.slot, s)
    found = touch(wraps, it, step.slot, p, s)
    along_path = step.pair * 64.0 + rank
    score = jnp.where(found.mandatory, _MUST + along_path, found.excess)
    score = jnp.append(jnp.where(valid & found.engaged, score, jnp.inf), jnp.inf)
    scores = score[step.choices]
    engaged = jnp.min(scores, axis=1) < jnp.inf
    best = jnp.asarray(step.choices)[np.arange(len(step.slots)), jnp.argmin(scores, axis=1)]
    best = jnp.where(engaged, best, 0)
    return Choice(engaged, jnp.asarray(step.pair)[best], rank[best] + 1, p[:, best], s[:, best])


def _choose(wraps: Wraps, it: Scene, step: Round, state: State) -> Choice:
    """The best stretch for each slot of a round, on the paths as the other slots have left them."""
    none = len(wraps.shared)
    a, b = _pair_points(wraps, it, step)
    behind = step.start < none  # the stretch begins at another slot, if that is engaged here
    rank = jnp.where(behind, state.rank[step.start], 0)
    valid = it.on[step.pair] & (~behind | (state.engaged[step.start] & (state.pair[step.start] == step.pair)))
    p = jnp.where(behind, state.Q[:, step.start], a)
    ahead = state.engaged[step.ends] & (state.pair[step.ends] == step.pair[:, None])
    ahead_rank = jnp.where(ahead & (state.rank[step.ends] > rank[:, None]), state.rank[step.ends], _FAR)
    end = jnp.asarray(step.ends)[np.arange(len(step.pair)), jnp.argmin(ahead_rank, axis=1)]
    s = jnp.where(jnp.min(ahead_rank, axis=1) < _FAR, state.P[:, end], b)
    return _best(wraps, it, step, p, s, valid, rank)


def _placed(wraps: Wraps, step: Round, state: State, choice: Choice) -> State:
    """The state with the slots of a round on their chosen stretches; slots further along there make room."""
    columns = np.searchsorted(wraps.shared, step.slots)
    turn = np.full(len(wraps.shared) + 1, len(columns))  # for each slot, which slot of its muscle is placed now
    for i, k in enumerate(columns):
        turn[wraps.mates[k]] = i
    turn[-1] = len(columns)
    engaged, pair, rank = (jnp.append(x, jnp.zeros((), x.dtype))[turn] for x in choice[:3])
    pushed = state.engaged & engaged & (state.pair == pair) & (state.rank >= rank)
    gone = state.engaged[columns] & ~(choice.engaged & (choice.pair == state.pair[columns]))
    return state._replace(
        left=replaced(state.left, columns, state.left[columns] | gone),
        engaged=replaced(state.engaged, columns, choice.engaged),
        pair=replaced(state.pair, columns, choice.pair),
        rank=replaced(jnp.where(pushed, state.rank + 1, state.rank), columns, choice.rank),
    )


def _landed(wraps: Wraps, it: Scene, state: State, slots: np.ndarray, arc: Arc, where: Bool[Array, " d"]) -> State:
    """The state with the arcs of the slots where `where` holds."""
    columns = np.searchsorted(wraps.shared, slots)

    def updated(old: Array, new: Array) -> Array:
        return replaced(old, columns, jnp.where(where, new, old[..., columns]))

    return state._replace(
        P=updated(state.P, in_ground(it, slots, arc.P)),
        Q=updated(state.Q, in_ground(it, slots, arc.Q)),
        arc=updated(state.arc, arc.length),
        converged=updated(state.converged, arc.converged),
    )


def in_rounds(wraps: Wraps, it: Scene) -> State:
    """Slots of muscles with several surfaces: one after the other, and again. Arcs without formula are solved outside the
    branches, so that they are compiled once."""
    shared = wraps.shared
    closed = np.array([wraps.kind[k] in CLOSED for k in shared], bool)
    iterated = shared[~closed]
    nothing = jnp.zeros(len(shared) + 1)
    nowhere, never = jnp.zeros((3, len(shared) + 1)), nothing.astype(int)
    state = State(nothing > 0, never, never, nowhere, nowhere, nothing, nothing == 0, nothing > 0)

    def turn(step: Round, state: State) -> tuple[State, Array, Array, Array]:
        choice = _choose(wraps, it, step, state)
        state = _placed(wraps, step, state, choice)
        slots = step.slots[np.isin(step.slots, shared[closed])]
        if len(slots):
            which = np.flatnonzero(np.isin(step.slots, slots))
            p, s, where = choice.p[:, which], choice.s[:, which], choice.engaged[which]
            state = _landed(wraps, it, state, slots, wrap(wraps, it.sizes[:, slots], slots, p, s, where), where)
        source = np.array([np.append(np.flatnonzero(step.slots == k), len(step.slots))[0] for k in iterated], int)
        p, s = (jnp.concatenate([x, jnp.zeros((3, 1))], axis=1)[:, source] for x in (choice.p, choice.s))
        return state, p, s, jnp.append(choice.engaged, False)[source]

    branches = [partial(turn, step) for step in wraps.rounds]

    def body(n: Array, state: State) -> State:
        state, p, s, where = lax.switch(n % len(branches), branches, state)
        if len(iterated):
            arc = wrap(wraps, it.sizes[:, iterated], iterated, p, s, where)
            state = _landed(wraps, it, state, iterated, arc, where)
        return state

    return lax.fori_loop(0, TIMES * len(branches), body, state)


def neighbours(wraps: Wraps, state: State) -> tuple[Int[Array, " n"], Int[Array, " n"], Int[Array, " n"]]:
    """How many shared slots are engaged before each between the same two points, the last of them, and the next after it (n
    for none)."""
    none, mates = len(wraps.shared), wraps.mates
    beside = state.engaged[mates] & (state.pair[mates] == state.pair[:none, None]) & state.engaged[:none, None]
    gap = jnp.where(beside, state.rank[mates] - state.rank[:none, None], 0)

    def nearest(away: Int[Array, "n w"]) -> Int[Array, " n"]:
        away = jnp.where(away > 0, away, _FAR)
        which = jnp.asarray(mates)[np.arange(none), jnp.argmin(away, axis=1)]
        return jnp.where(jnp.min(away, axis=1) < _FAR, which, none)

    return jnp.sum(gap < 0, axis=1), nearest(-gap), nearest(gap)
