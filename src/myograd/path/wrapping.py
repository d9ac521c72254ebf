"""What touching surfaces adds to the lengths of paths, and to how speeds change them.

A path at rest is stationary: its length changes with the points and surfaces that hold it, not with where it touches them (first
variation). So at fixed contacts in the surfaces' own frames, plain differentiation of the lines' lengths gives the exact
rate, and each surface feels the pull of the two lines that end on it.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float

from ..geometry.frames import Pose
from ..geometry.spatial import cross, norm
from ..model.model import Model
from ..model.structure import PathWraps
from .contacts import Contacts, Order, contacts, ends, pair_points, searched
from .posed import PosedPathGeometry, arcs, in_ground, local


def direction(a: Float[Array, "3 n"], b: Float[Array, "3 n"]) -> Float[Array, "3 n"]:
    length = norm(b - a)
    return (b - a) / jnp.where(length > 0, length, 1.0)


def added_length(wraps: PathWraps, it: PosedPathGeometry, at: Contacts) -> Float[Array, " k"]:
    """How much each path wrap adds to the straight path [m]: its arc, the line to it and, if nothing follows, the line from
    it; less the straight line between the two path points, if nothing precedes."""
    none, every, order = len(wraps.surface), np.arange(len(wraps.surface)), at.order
    a, b = pair_points(wraps, it, order.pair)
    came, _ = ends(wraps, it, at)
    P, Q = in_ground(it, every, at.P), in_ground(it, every, at.Q)
    first, last = order.before == none, order.after == none
    straight = jnp.where(first, norm(b - a), 0.0)
    added = at.arc + norm(P - came) + jnp.where(last, norm(b - Q), 0.0) - straight
    return jnp.where(order.engaged, added, 0.0)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def wrapping_lengths(wraps: PathWraps, it: PosedPathGeometry) -> tuple[Float[Array, " k"], Order]:
    """How much each path wrap adds to the straight path [m], and what is touched."""
    at, added = searched(wraps, it)
    return added, at.order


def _wrapping_lengths_jvp(
    wraps: PathWraps, primals: tuple[PosedPathGeometry], tangents: tuple[PosedPathGeometry]
) -> tuple:
    (it,), (dit,) = primals, tangents
    at = contacts(wraps, it)
    fixed = jax.tree.map(
        lambda x, d: _zero(x) if isinstance(d, SymbolicZero) else d,
        it,
        dit,
        is_leaf=lambda d: isinstance(d, SymbolicZero),
    )
    added, change = jax.jvp(lambda it: added_length(wraps, it, at), (it,), (fixed,))
    if not isinstance(dit.sizes, SymbolicZero):
        change = change + jax.jvp(partial(_over, wraps, it, at), (it.sizes,), (dit.sizes,))[1]
    return (added, at.order), (change, jax.tree.map(_zero, at.order))


wrapping_lengths.defjvp(_wrapping_lengths_jvp, symbolic_zeros=True)


def _over(wraps: PathWraps, it: PosedPathGeometry, at: Contacts, sizes: Float[Array, "3 k"]) -> Float[Array, " k"]:
    """Lengths of the lines and arcs between the same ends, over surfaces of other sizes."""
    every = np.arange(len(wraps.surface))
    p, s = (local(it, every, x) for x in ends(wraps, it, at))
    arc = arcs(wraps, sizes, p, s, at.root, at.order.engaged)
    return jnp.where(at.order.engaged, norm(arc.P - p) + arc.length + norm(s - arc.Q), 0.0)


def _zero(x: Array) -> Array | np.ndarray:
    """The zero tangent of x."""
    return (
        jnp.zeros(x.shape, x.dtype) if jnp.issubdtype(x.dtype, jnp.floating) else np.zeros(x.shape, jax.dtypes.float0)
    )


def wrapping_gradient(
    model: Model, at_pose: Pose, it: PosedPathGeometry, at: Contacts
) -> tuple[Float[Array, "m c"], Float[Array, "3 v"]]:
    """Rate of the wrapping_lengths per unit speed, and the pull that they add on moving points.

    The line that lands on a path wrap's surface pulls there, the one that leaves pulls there too; the two path points feel the
    lines to their neighbours instead of the straight one.
    """
    wraps, paths, tree = model.wraps, model.paths, model.tree
    none, every, order = len(wraps.surface), np.arange(len(wraps.surface)), at.order
    a, b = pair_points(wraps, it, order.pair)
    came, goes = ends(wraps, it, at)
    P, Q = in_ground(it, every, at.P), in_ground(it, every, at.Q)
    on = jnp.where(order.engaged, 1.0, 0.0)
    landing, leaving, straight = direction(came, P) * on, direction(Q, goes) * on, direction(a, b) * on
    first, last = order.before == none, order.after == none
    at_a = jnp.where(first, straight - landing, 0.0)  # what lengthens the path when the point moves along it
    at_b = jnp.where(last, leaving - straight, 0.0)
    points = wraps.points[wraps.pairs]
    pair_link = jnp.asarray(paths.point_link[points])[order.pair]
    wrenches = (
        (jnp.concatenate([cross(a, at_a), at_a]), pair_link[:, 0]),
        (jnp.concatenate([cross(b, at_b), at_b]), pair_link[:, 1]),
        (
            jnp.concatenate([cross(P, landing) - cross(Q, leaving), landing - leaving]),
            wraps.surface_link[wraps.surface],
        ),
    )
    moved = jnp.asarray(tree.speed_links.T)
    per_wrap = sum((w.T @ at_pose.screws) * moved[link] for w, link in wrenches)
    owner = np.eye(len(model.names.paths))[wraps.path]
    gradient = jnp.asarray(owner.T) @ per_wrap
    index = jnp.asarray(points)[order.pair]
    on_moving = [(index[:, k, None] == paths.moving[None, :]).astype(float) for k in (0, 1)]
    return gradient, at_a @ on_moving[0] + at_b @ on_moving[1]
