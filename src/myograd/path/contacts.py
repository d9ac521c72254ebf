"""Where paths touch surfaces: the points where they land and leave, at rest, and how these move.

Each arc depends on the two points that its lines come from and lead to. Between the same two path points there may be
several surfaces; then these are the ends of neighbouring arcs, and the ends X of all arcs obey X = Phi(X): the path is at
rest when each line is tangent to the surfaces at both of its ends. X is found by `path.search`, and differentiated by the
implicit function theorem, dX = (1 - dPhi/dX)^-1 dPhi, so derivatives of any order exist and do not depend on the iteration.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ..model.structure import PathWraps
from .native_search import search
from .posed import PosedPathGeometry, arcs, in_ground, local, replaced


class Order(eqx.Module):
    """Which path wraps are touched, and between what. `k` path wraps; k itself stands for "none"."""

    engaged: Bool[Array, " k"]
    pair: Int[Array, " k"]
    place: Int[Array, " k"]
    """how many path wraps are touched before it between the same two points"""
    before: Int[Array, " k"]
    """the last of them"""
    after: Int[Array, " k"]
    """the next after it there"""
    converged: Bool[Array, " k"]


class Contacts(eqx.Module):
    """Arcs of the touched path wraps, in the frames of their surfaces."""

    P: Float[Array, "3 k"]
    """where the path lands"""
    Q: Float[Array, "3 k"]
    """where it leaves"""
    arc: Float[Array, " k"]
    """length between them [m]"""
    root: Float[Array, "r k"]
    """what the search found: how the arc runs. Constant in derivatives, which follow from its equations"""
    order: Order


def pair_points(
    wraps: PathWraps, it: PosedPathGeometry, pair: Int[Array, " n"]
) -> tuple[Float[Array, "3 n"], Float[Array, "3 n"]]:
    """The two path points of each pair."""
    ends = jnp.asarray(wraps.pairs)[pair]
    return it.points[:, ends[:, 0]], it.points[:, ends[:, 1]]


def ends(wraps: PathWraps, it: PosedPathGeometry, at: Contacts) -> tuple[Float[Array, "3 k"], Float[Array, "3 k"]]:
    """The points in ground that the lines of each path wrap come from and lead to."""
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
def contacts(wraps: PathWraps, it: PosedPathGeometry) -> Contacts:
    """Everything that is touched in the posed paths."""
    return searched(wraps, it)[0]


def searched(wraps: PathWraps, it: PosedPathGeometry) -> tuple[Contacts, Float[Array, " k"]]:
    """The same and what each path wrap adds to the straight path [m], without derivatives."""
    found, (engaged, pair, place, before, after, converged) = search(wraps, it)
    order = Order(engaged > 0, pair, place, before, after, converged > 0)
    return Contacts(found[:3], found[3:6], found[6], found[8:], order), found[7]


@contacts.defjvp
def _contacts_jvp(
    wraps: PathWraps, primals: tuple[PosedPathGeometry], tangents: tuple[PosedPathGeometry]
) -> tuple[Contacts, Contacts]:
    (it,), (dit,) = primals, tangents
    at = contacts(wraps, it)
    every, root = np.arange(len(wraps.surface)), lax.stop_gradient(at.root)

    def phi(it: PosedPathGeometry, P: Array, Q: Array) -> Float[Array, "7 k"]:
        """P, Q and arc of each path wrap, for the given ones of its neighbours."""
        p, s = (local(it, every, x) for x in ends(wraps, it, replace(at, P=P, Q=Q)))
        arc = arcs(wraps, it.sizes, p, s, root, at.order.engaged)
        return jnp.concatenate([arc.P, arc.Q, arc.length[None]])

    change = jax.jvp(lambda it: phi(it, at.P, at.Q), (it,), (dit,))[1]
    if len(wraps.shared):
        zero = jnp.zeros_like(at.P)

        def per(P: Array, Q: Array) -> Array:
            """How phi changes when all path wraps' P or Q move along the same axis of their own frames."""
            return jax.jvp(lambda P, Q: phi(it, P, Q), (at.P, at.Q), (P, Q))[1]

        axes = jnp.broadcast_to(jnp.eye(3)[:, :, None], (3, *zero.shape))
        by_P = jax.vmap(lambda e: per(e, zero))(axes)
        by_Q = jax.vmap(lambda e: per(zero, e))(axes)
        change = _spread(wraps, at.order, by_P, by_Q, change)
    change = jnp.where(at.order.engaged, change, 0.0)
    unchanged = jax.tree.map(lambda x: np.zeros(x.shape, jax.dtypes.float0), at.order)
    return at, Contacts(change[:3], change[3:6], change[6], jnp.zeros_like(at.root), unchanged)


def _spread(
    wraps: PathWraps,
    order: Order,
    by_P: Float[Array, "3 7 k"],
    by_Q: Float[Array, "3 7 k"],
    change: Float[Array, "7 k"],
) -> Float[Array, "7 k"]:
    """(1 - dPhi/dX)^-1 of a change of Phi, muscle by muscle. `by_P`: how Phi changes with P of the path wrap after, `by_Q`:
    with Q of the one before."""
    shared, none = wraps.shared, len(wraps.surface)
    muscles = [shared[wraps.path[shared] == m] for m in np.unique(wraps.path[shared])]
    size = max(len(own) for own in muscles)
    table = np.array([np.pad(own, (0, size - len(own)), constant_values=none) for own in muscles])  # [m, s]

    def gathered(x: Array) -> Array:
        return jnp.concatenate([x, jnp.zeros((*x.shape[:-1], 1), x.dtype)], axis=-1)[..., table]  # [..., m, s]

    def onto(neighbour: Int[Array, " k"]) -> Array:
        """[m, s, s] 1 where the second path wrap is the neighbour of the first."""
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
