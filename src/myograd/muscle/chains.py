"""Where paths touch surfaces: the points where they land and leave, at rest, and how these move.

Each arc depends on the two points that its lines come from and lead to. Between the same two path points there may be
several surfaces; then these are the ends of neighbouring arcs, and the ends X of all arcs obey X = Phi(X): the path is at
rest when each line is tangent to the surfaces at both of its ends. X is found by iteration, and differentiated by the
implicit function theorem, dX = (1 - dPhi/dX)^-1 dPhi, so derivatives of any order exist and do not depend on the iteration.
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

from ..geometry.spatial import dot
from ..geometry.wrap import Arc
from ..model.structure import Wraps
from .scene import Scene, in_ground, local, replaced, touch, wrap
from .wrapping import State, alone, in_rounds, neighbours

AT_REST = 1e-12  # [m] by which an iteration moves the ends of arcs
NEAR_REST = 1e-6  # [m] when it is time to see whether surfaces are still touched,
PATIENCE = 10  # or after so many iterations
MOST = 100  # iterations


class Order(eqx.Module):
    """Which slots are touched, and between what. `k` slots; k itself stands for "none"."""

    engaged: Bool[Array, " k"]
    pair: Int[Array, " k"]
    place: Int[Array, " k"]
    """how many slots are touched before it between the same two points"""
    before: Int[Array, " k"]
    """the last of them"""
    after: Int[Array, " k"]
    """the next after it there"""
    converged: Bool[Array, " k"]


class Contacts(eqx.Module):
    """Arcs of the touched slots, in the frames of their surfaces."""

    P: Float[Array, "3 k"]
    """where the path lands"""
    Q: Float[Array, "3 k"]
    """where it leaves"""
    arc: Float[Array, " k"]
    """length between them [m]"""
    order: Order


def pair_points(wraps: Wraps, it: Scene, pair: Int[Array, " n"]) -> tuple[Float[Array, "3 n"], Float[Array, "3 n"]]:
    """The two path points of each pair."""
    ends = jnp.asarray(wraps.pairs)[pair]
    return it.points[:, ends[:, 0]], it.points[:, ends[:, 1]]


def ends(wraps: Wraps, it: Scene, at: Contacts) -> tuple[Float[Array, "3 k"], Float[Array, "3 k"]]:
    """The points in ground that the lines of each slot come from and lead to."""
    a, b = pair_points(wraps, it, at.order.pair)
    if len(wraps.shared) == 0:
        return a, b
    shared, none = wraps.shared, len(wraps.surface)
    P, Q = in_ground(it, np.arange(none), at.P), in_ground(it, np.arange(none), at.Q)
    before, after = at.order.before[shared], at.order.after[shared]
    came = jnp.where(before < none, Q[:, jnp.minimum(before, none - 1)], a[:, shared])
    goes = jnp.where(after < none, P[:, jnp.minimum(after, none - 1)], b[:, shared])
    return replaced(a, shared, came), replaced(b, shared, goes)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def contacts(wraps: Wraps, it: Scene) -> Contacts:
    """Everything that is touched in the scene."""
    none = len(wraps.surface)
    parts: list[tuple[np.ndarray, Contacts]] = []
    if len(wraps.alone.slots):
        choice, arc = alone(wraps, it)
        nobody = jnp.full(len(wraps.alone.slots), none)
        order = Order(choice.engaged, choice.pair, 0 * nobody, nobody, nobody, arc.converged)
        parts.append((wraps.alone.slots, Contacts(arc.P, arc.Q, arc.length, order)))
    if len(wraps.shared):
        parts.append((wraps.shared, _at_rest(wraps, it, in_rounds(wraps, it))))
    sorting = np.argsort(np.concatenate([slots for slots, _ in parts]))
    return jax.tree.map(lambda *x: jnp.concatenate(x, axis=-1)[..., sorting], *[part for _, part in parts])


class Search(NamedTuple):
    """The ends X (P above Q, in ground) of the arcs of `n` slots on their way to rest."""

    count: Int[Array, ""]
    X: Float[Array, "6 n"]
    arc: Float[Array, " n"]
    change: Float[Array, "6 n"]
    """by which the last iteration would move X"""
    factor: Float[Array, " n"]
    """of the change that was taken"""
    engaged: Bool[Array, " n"]
    moving: Bool[Array, " n"]
    found: Bool[Array, " n"]
    """whether the arcs themselves were found"""


def _at_rest(wraps: Wraps, it: Scene, state: State) -> Contacts:
    """Contacts of the shared slots, with chains of several of them iterated until nothing moves. A slot that the lines between
    its neighbours no longer touch drops out, for good; so this ends."""
    slots, none = wraps.shared, len(wraps.shared)
    pair = state.pair[:none]
    a, b = pair_points(wraps, it, pair)
    same = wraps.muscle[slots][:, None] == wraps.muscle[slots][None, :]

    def together(flags: Bool[Array, " n"]) -> Bool[Array, " n"]:
        """Whether it holds for any slot of the same muscle."""
        return jnp.where(flags, 1.0, 0.0) @ same > 0

    def lines(X: Float[Array, "6 n"], engaged: Bool[Array, " n"]) -> tuple[Float[Array, "3 n"], Float[Array, "3 n"]]:
        """Where the lines of each slot come from and lead to, in its surface's frame."""
        _, before, after = neighbours(wraps, state._replace(engaged=jnp.append(engaged, False)))
        p = jnp.where(before < none, X[3:, jnp.minimum(before, none - 1)], a)
        s = jnp.where(after < none, X[:3, jnp.minimum(after, none - 1)], b)
        return local(it, slots, p), local(it, slots, s)

    def phi(X: Float[Array, "6 n"], now: Search) -> tuple[Float[Array, "6 n"], Arc]:
        """Phi(X) where it moves, and the arcs."""
        arc = wrap(wraps, it.sizes[:, slots], slots, *lines(X, now.engaged), now.moving)
        new = jnp.concatenate([in_ground(it, slots, arc.P), in_ground(it, slots, arc.Q)])
        return jnp.where(now.moving, new, X), arc

    def body(now: Search) -> Search:
        # Slots react to their neighbours, so after two steps each has reacted to itself.
        after_two, arc = phi(phi(now.X, now)[0], now)
        change = after_two - now.X
        moves = jnp.max(jnp.abs(change), axis=0)
        near = ~together(moves > NEAR_REST) | (now.count >= PATIENCE)
        lost = now.moving & near & ~touch(wraps, it, slots, *lines(after_two, now.engaged)).engaged
        # Irons and Tuck's factor, muscle by muscle: the secant along the slowest mode.
        grown = change - now.change
        down, across = jnp.stack([dot(now.change, grown), dot(grown, grown)]) @ same
        factor = jnp.where(across > 0, -now.factor * down / jnp.where(across > 0, across, 1.0), 1.0)
        factor = jnp.where((now.count > 0) & ~together(lost), jnp.clip(factor, 0.5, 10.0), 1.0)
        restless = together((moves > AT_REST) | lost)
        return Search(
            count=now.count + 1,
            X=jnp.where(restless, now.X + factor * change, after_two),
            arc=jnp.where(now.moving, arc.length, now.arc),
            change=change,
            factor=factor,
            engaged=now.engaged & ~lost,
            moving=now.moving & restless & ~lost,
            found=jnp.where(now.moving, arc.converged, now.found),
        )

    def unsettled(now: Search) -> Array:
        return (now.count < MOST) & eqxi.unvmap_any(now.moving)

    X = jnp.concatenate([state.P, state.Q])[:, :none]
    engaged = state.engaged[:none]
    _, before, after = neighbours(wraps, state)
    chained = engaged & together((before < none) | (after < none) | state.left[:none])
    start = Search(
        jnp.zeros((), int), X, state.arc[:none], 0 * X, jnp.ones(none), engaged, chained, state.converged[:none]
    )
    end = lax.while_loop(unsettled, body, start)
    place, before, after = neighbours(wraps, state._replace(engaged=jnp.append(end.engaged, False)))
    to_slot = jnp.asarray(np.append(slots, len(wraps.surface)))
    order = Order(end.engaged, pair, place, to_slot[before], to_slot[after], end.found & ~end.moving)
    return Contacts(local(it, slots, end.X[:3]), local(it, slots, end.X[3:]), end.arc, order)


@contacts.defjvp
def _contacts_jvp(wraps: Wraps, primals: tuple[Scene], tangents: tuple[Scene]) -> tuple[Contacts, Contacts]:
    (it,), (dit,) = primals, tangents
    at = contacts(wraps, it)
    every = np.arange(len(wraps.surface))

    def phi(it: Scene, P: Array, Q: Array) -> Float[Array, "7 k"]:
        """P, Q and arc of each slot, for the given ones of its neighbours."""
        p, s = (local(it, every, x) for x in ends(wraps, it, Contacts(P, Q, at.arc, at.order)))
        arc = wrap(wraps, it.sizes, every, p, s, at.order.engaged)
        return jnp.concatenate([arc.P, arc.Q, arc.length[None]])

    change = jax.jvp(lambda it: phi(it, at.P, at.Q), (it,), (dit,))[1]
    if len(wraps.shared):
        zero = jnp.zeros_like(at.P)

        def per(P: Array, Q: Array) -> Array:
            """How phi changes when all slots' P or Q move along the same axis of their own frames."""
            return jax.jvp(lambda P, Q: phi(it, P, Q), (at.P, at.Q), (P, Q))[1]

        axes = jnp.broadcast_to(jnp.eye(3)[:, :, None], (3, *zero.shape))
        by_P = jax.vmap(lambda e: per(e, zero))(axes)
        by_Q = jax.vmap(lambda e: per(zero, e))(axes)
        change = _spread(wraps, at.order, by_P, by_Q, change)
    held = jax.tree.map(lambda x: np.zeros(x.shape, jax.dtypes.float0), at.order)
    return at, Contacts(change[:3], change[3:6], change[6], held)


def _spread(
    wraps: Wraps,
    order: Order,
    by_P: Float[Array, "3 7 k"],
    by_Q: Float[Array, "3 7 k"],
    change: Float[Array, "7 k"],
) -> Float[Array, "7 k"]:
    """(1 - dPhi/dX)^-1 of a change of Phi, muscle by muscle. `by_P`: how Phi changes with P of the slot after, `by_Q`: with Q of
    the one before."""
    shared, none = wraps.shared, len(wraps.surface)
    muscles = [shared[wraps.muscle[shared] == m] for m in np.unique(wraps.muscle[shared])]
    size = max(len(slots) for slots in muscles)
    table = np.array([np.pad(slots, (0, size - len(slots)), constant_values=none) for slots in muscles])  # [m, s]

    def gathered(x: Array) -> Array:
        return jnp.concatenate([x, jnp.zeros((*x.shape[:-1], 1), x.dtype)], axis=-1)[..., table]  # [..., m, s]

    def onto(neighbour: Int[Array, " k"]) -> Array:
        """[m, s, s] 1 where the second slot is the neighbour of the first."""
        return (gathered(neighbour)[:, :, None] == np.where(table < none, table, -1)[:, None, :]).astype(float)

    by = jnp.concatenate(  # [m, s, 7, s, 6]
        [
            jnp.einsum("iams,mst->msati", gathered(by_P), onto(order.after)),
            jnp.einsum("iams,mst->msati", gathered(by_Q), onto(order.before)),
        ],
        axis=-1,
    )
    b = jnp.moveaxis(gathered(change), 0, -1)  # [m, s, 7]
    matrix = jnp.eye(6 * size) - by[:, :, :6].reshape(-1, 6 * size, 6 * size)
    x = jnp.linalg.solve(matrix, b[..., :6].reshape(-1, 6 * size, 1)).reshape(-1, size, 6)
    arc = b[..., 6] + jnp.einsum("msti,mti->ms", by[:, :, 6], x)
    known = table < none
    solved = jnp.concatenate([x, arc[..., None]], axis=-1)[known]  # muscle by muscle
    return replaced(change, table[known], solved.T)
