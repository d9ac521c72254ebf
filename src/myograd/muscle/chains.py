"""Where paths touch surfaces: the points where they land and leave, at rest, and how these move.

Each arc depends on the two points that its lines come from and lead to. Between the same two path points there may be
several surfaces; then these are the ends of neighbouring arcs, and the ends X of all arcs obey X = Phi(X): the path is at
rest when each line is tangent to the surfaces at both of its ends. X is found by iteration, and differentiated by the implicit
function theorem, dX = (1 - dPhi/dX)^-1 dPhi, so derivatives of any order exist and do not depend on the iteration.
"""

from __future__ import annotations

from functools import partial

import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ..geometry.wrap import Arc
from ..model.structure import Wraps
from .wrapping import Scene, in_ground, local, neighbours, touched, wrap

AT_REST = 1e-12  # [m] by which an iteration moves the ends of arcs
MOST = 200  # iterations


class Order(eqx.Module):
    """Which slots are touched, and between what. `k` slots; k itself stands for "none"."""

    engaged: Bool[Array, " k"]
    pair: Int[Array, " k"]
    before: Int[Array, " k"]
    """slot touched before it between the same two points"""
    after: Int[Array, " k"]
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


def pair_points(wraps: Wraps, it: Scene, order: Order) -> tuple[Float[Array, "3 k"], Float[Array, "3 k"]]:
    """The two path points between which each slot lies."""
    pair = jnp.asarray(wraps.pairs)[order.pair]
    return it.points[:, pair[:, 0]], it.points[:, pair[:, 1]]


def ends(wraps: Wraps, it: Scene, at: Contacts) -> tuple[Float[Array, "3 k"], Float[Array, "3 k"]]:
    """The points in ground that the lines of each slot come from and lead to."""
    none = len(wraps.surface)
    a, b = pair_points(wraps, it, at.order)
    if not wraps.rounds:
        return a, b
    every, before, after = np.arange(none), at.order.before, at.order.after
    P, Q = in_ground(it, every, at.P), in_ground(it, every, at.Q)
    return (
        jnp.where(before < none, Q[:, jnp.minimum(before, none - 1)], a),
        jnp.where(after < none, P[:, jnp.minimum(after, none - 1)], b),
    )


def rewrapped(wraps: Wraps, it: Scene, at: Contacts, slots: np.ndarray, where: Bool[Array, " n"]) -> Arc:
    """Phi: the arcs of the slots between the present ends of their lines."""
    p, s = (local(it, slots, x[:, slots]) for x in ends(wraps, it, at))
    return wrap(wraps, it.sizes[:, slots], slots, p, s, where)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def contacts(wraps: Wraps, it: Scene) -> Contacts:
    """Everything that is touched in the scene."""
    none = len(wraps.surface)
    every = np.arange(none)
    state = touched(wraps, it)
    before, after = neighbours(wraps, state)
    engaged = state.engaged[:none]
    order = Order(engaged, state.pair[:none], before, after, state.converged[:none])
    P, Q = (local(it, every, x[:, :none]) for x in (state.P, state.Q))
    return _at_rest(wraps, it, Contacts(P, Q, state.arc[:none], order))


def _shared(wraps: Wraps) -> np.ndarray:
    """Slots that are not alone on their muscle."""
    return np.sort(np.concatenate([step.slots for step in wraps.rounds]))


def _at_rest(wraps: Wraps, it: Scene, start: Contacts) -> Contacts:
    """The contacts with chains of several slots iterated until nothing moves."""
    if not wraps.rounds:
        return start
    none, slots, order = len(wraps.surface), _shared(wraps), start.order
    chained = (order.engaged & ((order.before < none) | (order.after < none)))[slots]
    same_muscle = wraps.muscle[slots][:, None] == wraps.muscle[slots][None, :]

    def body(carry: tuple[Array, Contacts, Array, Array]) -> tuple[Array, Contacts, Array, Array]:
        n, at, moving, _ = carry
        arc = rewrapped(wraps, it, at, slots, moving)
        change = jnp.where(
            moving, jnp.max(jnp.abs(jnp.concatenate([arc.P - at.P[:, slots], arc.Q - at.Q[:, slots]])), axis=0), 0.0
        )
        P, Q, length = (
            old.at[..., slots].set(jnp.where(moving, new, old[..., slots]))
            for old, new in ((at.P, arc.P), (at.Q, arc.Q), (at.arc, arc.length))
        )
        restless = jnp.where(change > AT_REST, 1.0, 0.0) @ same_muscle > 0
        return n + 1, Contacts(P, Q, length, order), moving & restless, arc.converged

    def unsettled(carry: tuple[Array, Contacts, Array, Array]) -> Array:
        n, _, moving, _ = carry
        return (n < MOST) & eqxi.unvmap_any(moving)

    _, at, moving, found = lax.while_loop(
        unsettled, body, (jnp.zeros((), int), start, chained, jnp.ones(len(slots), bool))
    )
    converged = order.converged.at[slots].set(jnp.where(chained, found & ~moving, order.converged[slots]))
    return eqx.tree_at(lambda c: c.order.converged, at, converged)


@contacts.defjvp
def _contacts_jvp(wraps: Wraps, primals: tuple[Scene], tangents: tuple[Scene]) -> tuple[Contacts, Contacts]:
    (it,), (dit,) = primals, tangents
    at = contacts(wraps, it)
    order = at.order
    every = np.arange(len(wraps.surface))

    def phi(it: Scene, P: Array, Q: Array) -> tuple[Array, Array, Array]:
        arc = rewrapped(wraps, it, Contacts(P, Q, at.arc, order), every, order.engaged)
        return arc.P, arc.Q, arc.length

    dP, dQ, darc = jax.jvp(lambda it: phi(it, at.P, at.Q), (it,), (dit,))[1]
    if wraps.rounds:
        # [6, 7, k]: of P, Q and the arc of each slot with the neighbouring ends, one component after the other
        by_Q, by_P = (
            jax.vmap(
                lambda e, seed=seed: jnp.concatenate(
                    _rows(jax.jvp(lambda P, Q: phi(it, P, Q), (at.P, at.Q), seed(e))[1])
                )
            )(jnp.eye(3))
            for seed in (
                lambda e: (jnp.zeros_like(at.P), jnp.broadcast_to(e[:, None], at.Q.shape)),
                lambda e: (jnp.broadcast_to(e[:, None], at.P.shape), jnp.zeros_like(at.Q)),
            )
        )
        dP, dQ, darc = _spread(wraps, order, by_Q, by_P, dP, dQ, darc)
    zero = jax.tree.map(lambda x: np.zeros(x.shape, jax.dtypes.float0), order)
    return at, Contacts(dP, dQ, darc, zero)


def _rows(x: tuple[Array, Array, Array]) -> list[Array]:
    return [x[0], x[1], x[2][None]]


def _spread(
    wraps: Wraps,
    order: Order,
    by_Q: Float[Array, "3 7 k"],
    by_P: Float[Array, "3 7 k"],
    dP: Float[Array, "3 k"],
    dQ: Float[Array, "3 k"],
    darc: Float[Array, " k"],
) -> tuple[Float[Array, "3 k"], Float[Array, "3 k"], Float[Array, " k"]]:
    """(1 - dPhi/dX)^-1 of the changes dP, dQ, darc, muscle by muscle."""
    shared = _shared(wraps)
    muscles = np.unique(wraps.muscle[shared])
    size = max(int(np.sum(wraps.muscle[shared] == m)) for m in muscles)
    none = len(wraps.surface)
    table = np.array(
        [
            np.pad(s, (0, size - len(s)), constant_values=none)
            for m in muscles
            if len(s := shared[wraps.muscle[shared] == m])
        ]
    )

    def padded(x: Array) -> Array:
        return jnp.concatenate([x, jnp.zeros((*x.shape[:-1], 1), x.dtype)], axis=-1)[..., table]  # [..., m, s]

    from_before = padded(order.before)[:, :, None] == table[:, None, :]  # [m, s, s]
    from_after = padded(order.after)[:, :, None] == table[:, None, :]
    real = (table < none)[:, None, :]
    from_before, from_after = ((x & real).astype(float) for x in (from_before, from_after))
    onto = jnp.zeros((len(muscles), size, 7, size, 6))
    onto = onto.at[..., 3:].add(jnp.einsum("iams,mst->msati", padded(by_Q), from_before))
    onto = onto.at[..., :3].add(jnp.einsum("iams,mst->msati", padded(by_P), from_after))
    change = jnp.moveaxis(padded(jnp.concatenate([dP, dQ, darc[None]])), 0, -1)  # [m, s, 7]
    matrix = onto[:, :, :6].reshape(len(muscles), 6 * size, 6 * size)
    x = jnp.linalg.solve(jnp.eye(6 * size) - matrix, change[..., :6].reshape(len(muscles), 6 * size, 1))
    x = x.reshape(len(muscles), size, 6)
    arcs = change[..., 6] + jnp.einsum("msti,mti->ms", onto[:, :, 6], x)
    keep = table < none
    slots = table[keep]
    return (
        dP.at[:, slots].set(x[keep][:, :3].T),
        dQ.at[:, slots].set(x[keep][:, 3:].T),
        darc.at[slots].set(arcs[keep]),
    )
