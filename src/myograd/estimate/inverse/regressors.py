"""Inverse dynamics as a linear function of the ten inertial parameters of each body.

phi = m, m c (3), I (xx yy zz xy xz yz) about the body's origin, in its axes. Generalised forces and the mass matrix are linear in
phi. Files state, and results are reported in, mass, mass centre and central inertia instead (`NAMES`).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...dynamics.inertia import apply_inertia
from ...dynamics.kinematics import accelerations, motion, pose
from ...geometry.spatial import force_cross
from ...model.model import Model

NAMES = (
    "mass",
    *(f"mass_center.{axis}" for axis in ("x", "y", "z")),
    *(f"inertia.{axes}" for axes in ("xx", "yy", "zz", "xy", "xz", "yz")),
)
"""Mass, mass centre and central inertia of a body, as `model.parameters` names them."""
PHI = ("mass", *(f"first_moment.{axis}" for axis in "xyz"), *(f"origin_{name}" for name in NAMES[4:]))
"""The inertial parameters phi."""
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def symmetric(six: Float[Array, "6"]) -> Float[Array, "3 3"]:
    """From xx yy zz xy xz yz."""
    xx, yy, zz, xy, xz, yz = six
    return jnp.stack([jnp.stack([xx, xy, xz]), jnp.stack([xy, yy, yz]), jnp.stack([xz, yz, zz])])


def six_of(matrix: Float[Array, "3 3"]) -> Float[Array, "6"]:
    return jnp.stack([matrix[a, b] for a, b in PAIRS])


def inertial_parameters(stated: Float[Array, "10"]) -> Float[Array, "10"]:
    """phi of `NAMES`."""
    m, c = stated[0], stated[1:4]
    return jnp.concatenate([m[None], m * c, stated[4:] + m * six_of(jnp.dot(c, c) * jnp.eye(3) - jnp.outer(c, c))])


def stated(phi: Float[Array, "10"]) -> Float[Array, "10"]:
    """`NAMES` of phi."""
    m, c = phi[0], phi[1:4] / phi[0]
    return jnp.concatenate([m[None], c, phi[4:] - m * six_of(jnp.dot(c, c) * jnp.eye(3) - jnp.outer(c, c))])


def stated_bodies(model: Model, bodies: tuple[str, ...]) -> np.ndarray:
    """[bodies, 10] `NAMES` of the model's own values."""
    which = [model.body_names.index(name) for name in bodies]
    values = model.bodies
    rows = np.concatenate([np.asarray(values.mass)[None], np.asarray(values.mass_center), np.asarray(values.inertia)])
    return rows[:, which].T


def _in_ground(phi: Float[Array, "10"], R: Float[Array, "3 3"], p: Float[Array, "3"]) -> Float[Array, "10"]:
    """Mass, first and second moments about the ground's origin, in its axes; linear in phi."""
    m, h, inertia = phi[0], R @ phi[1:4], R @ symmetric(phi[4:]) @ R.T
    shift = 2 * jnp.dot(p, h) * jnp.eye(3) - jnp.outer(p, h) - jnp.outer(h, p)
    shift = shift + m * (jnp.dot(p, p) * jnp.eye(3) - jnp.outer(p, p))
    return jnp.concatenate([m[None], h + m * p, six_of(inertia + shift)])


def regressors(
    model: Model,
    q: Float[Array, " c"],
    u: Float[Array, " c"],
    udot: Float[Array, " c"],
    C: Float[Array, "c n"],
    bodies: tuple[str, ...],
) -> tuple[Float[Array, "n bodies 10"], Float[Array, "n n bodies 10"]]:
    """`C^T (M udot + b)` and `C^T M C` of the given bodies, per unit of each of their phi."""
    at = pose(model, q)
    moving = motion(model, q, u, at)
    lifted = accelerations(model, at, moving, udot) - jnp.concatenate([jnp.zeros(3), model.gravity])[:, None]
    owners = np.array([model.body_names.index(name) for name in bodies], int)
    links = np.flatnonzero(np.isin(model.tree.link_body, owners))  # a body that closes a loop has two
    J = jnp.einsum("kc,cl,cn->lkn", at.screws, model.tree.speed_links[:, links], C)

    def of_link(R: Array, p: Array, J: Array, A: Array, V: Array) -> tuple[Array, Array]:
        def of(phi: Array) -> tuple[Array, Array]:
            inertia = _in_ground(phi, R, p)[:, None]
            wrench = apply_inertia(inertia, A[:, None]) + force_cross(V[:, None], apply_inertia(inertia, V[:, None]))
            return J.T @ wrench[:, 0], J.T @ apply_inertia(jnp.broadcast_to(inertia, (10, J.shape[1])), J)

        return jax.vmap(of, out_axes=-1)(jnp.eye(10))

    parts = (
        jnp.moveaxis(at.rotation[:, :, links], 2, 0),
        at.origin[:, links].T,
        J,
        lifted[:, links].T,
        moving.velocity[:, links].T,
    )
    torque, mass = jax.vmap(of_link)(*parts)
    share = (model.tree.link_body[links] == owners[:, None]) * model.tree.link_share[links]  # [bodies, links]
    return jnp.einsum("bl,lnm->nbm", share, torque), jnp.einsum("bl,lijm->ijbm", share, mass)
