"""Mass, momentum, energy, and the mass matrix.

A link's inertia about the ground origin is ten numbers that add: mass m, first moment h = m c, second moment I. Composite
inertias of all subtrees are then one product with a 0/1 matrix, and `M_ij = S_i . I_subtree(j) S_j` for i inboard of j.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..geometry.frames import Pose
from ..geometry.spatial import cross, dot, materialized, rotate
from ..model.model import Model

_PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # order of the six second moments


def link_inertia(model: Model, at: Pose) -> Float[Array, "10 n"]:
    """m, h (3), I (xx yy zz xy xz yz) of every link about the ground origin, in ground axes."""
    bodies, tree = model.bodies, model.tree
    body = np.maximum(tree.link_body, 0)
    share = np.where(tree.link_body >= 0, tree.link_share, 0.0)  # ground has none
    m = bodies.mass[body] * share
    R = at.rotation
    c = rotate(R, bodies.mass_center[:, body]) + at.origin
    # A body without mass has no inertia either, whatever the file says (as in OpenSim).
    i = jnp.where(m > 0, bodies.inertia[:, body] * share, 0.0)
    central = [[i[0], i[3], i[4]], [i[3], i[1], i[5]], [i[4], i[5], i[2]]]
    by_link = jnp.moveaxis(R, 2, 0)
    central = by_link @ jnp.moveaxis(jnp.stack([jnp.stack(row) for row in central]), 2, 0) @ by_link.mT
    cc = dot(c, c)
    second = [central[:, a, b] + m * ((cc if a == b else 0.0) - c[a] * c[b]) for a, b in _PAIRS]
    return materialized(jnp.stack([m, *(m * c), *second]))


def apply_inertia(inertia: Float[Array, "10 n"], V: Float[Array, "6 n"]) -> Float[Array, "6 n"]:
    """Momentum (angular about the ground origin above linear) of spatial velocities V, or `I A` of accelerations."""
    m, h = inertia[0], inertia[1:4]
    xx, yy, zz, xy, xz, yz = jnp.unstack(inertia[4:])
    w, v = V[:3], V[3:]
    x, y, z = jnp.unstack(w)
    turning = jnp.stack([xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z])
    return jnp.concatenate([turning + cross(h, v), m * v + cross(w, h)])


def joint_space_inertia(
    model: Model, at: Pose, inertia: Float[Array, "10 n"], which: np.ndarray | None = None
) -> Float[Array, "k k"]:
    """M(q), or its rows and columns of the coordinates `which`, by composite rigid bodies."""
    links, S = model.tree.speed_links, at.screws
    if which is not None:
        links, S = links[which], S[:, which]
    F, S = materialized((apply_inertia(inertia @ links.T, S), S))
    common = links @ links.T
    inboard = common == links.sum(axis=1)  # [i, j]: everything that j moves, i moves too
    apart = common == 0
    # Written out: a batch of small matrix products is several times slower on CPU.
    upper = sum(S[k][:, None] * F[k][None, :] for k in range(6))
    lower = sum(F[k][:, None] * S[k][None, :] for k in range(6))
    return jnp.where(inboard, upper, jnp.where(apart, 0.0, lower))
