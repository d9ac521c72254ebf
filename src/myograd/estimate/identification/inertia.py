"""Ten inertial parameters of a body: when they are those of some matter; and the motion's needs as a linear function of them.

phi = m, m c (3), I (xx yy zz xy xz yz) about the body's origin, in its axes. Generalised forces and the mass matrix are linear in
phi. A body made of matter has a positive definite pseudo-inertia (Wensing, Kim, Slotine, 2018)

    P = [[second moment, m c], [m c^T, m]],     second moment = tr(I)/2 - I,

and every positive definite P is some body's. The free numbers of a body are the ten of the symmetric Z in `P = S Z S^T`, with
S S^T the pseudo-inertia of the body that the fit starts from: linear in phi, free of units, the identity at the start, and the
body is valid where Z is positive definite. A prior that is infinite elsewhere keeps it so (`divergence`).
"""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...dynamics.inertia import apply_inertia
from ...dynamics.kinematics import accelerations, motion, pose
from ...errors import ModelError
from ...geometry.spatial import force_cross
from ...model.model import Model

NAMES = ("mass", "com_x", "com_y", "com_z", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
"""Mass, mass centre and central inertia: what files state and results are reported in."""
_PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
_ABOVE = np.triu_indices(4, 1)
THINNEST = 0.05  # radius of gyration about the thinnest axis, relative to the thickest, of a body that is made valid


# The ten numbers ---------------------------------------------------------------------------------------------


def _symmetric(six: Float[Array, "6"]) -> Float[Array, "3 3"]:
    xx, yy, zz, xy, xz, yz = six
    return jnp.stack([jnp.stack([xx, xy, xz]), jnp.stack([xy, yy, yz]), jnp.stack([xz, yz, zz])])


def _six(matrix: Float[Array, "3 3"]) -> Float[Array, "6"]:
    return jnp.stack([matrix[a, b] for a, b in _PAIRS])


def moments(stated: Float[Array, "10"]) -> Float[Array, "10"]:
    """phi of `NAMES`."""
    m, c = stated[0], stated[1:4]
    return jnp.concatenate([m[None], m * c, stated[4:] + m * _six(jnp.dot(c, c) * jnp.eye(3) - jnp.outer(c, c))])


def stated(phi: Float[Array, "10"]) -> Float[Array, "10"]:
    """`NAMES` of phi."""
    m, c = phi[0], phi[1:4] / phi[0]
    return jnp.concatenate([m[None], c, phi[4:] - m * _six(jnp.dot(c, c) * jnp.eye(3) - jnp.outer(c, c))])


def pseudo_inertia(phi: Float[Array, "10"]) -> Float[Array, "4 4"]:
    inertia = _symmetric(phi[4:])
    second = jnp.trace(inertia) / 2 * jnp.eye(3) - inertia
    return jnp.concatenate([jnp.concatenate([second, phi[1:4, None]], axis=1), jnp.append(phi[1:4], phi[0])[None]])


def free_matrix(z: np.ndarray) -> np.ndarray:
    """Z of ten free numbers: the diagonal, then what is above it times the square root of 2."""
    Z = np.diag(z[:4])
    Z[_ABOVE] = Z.T[_ABOVE] = z[4:] / np.sqrt(2)
    return Z


def body_map(start: np.ndarray) -> np.ndarray:
    """[10, 10] phi per free numbers, for a body that starts from `start` (`NAMES`)."""
    S = np.linalg.cholesky(np.asarray(pseudo_inertia(moments(jnp.asarray(start)))))
    columns = []
    for unit in np.eye(10):
        P = S @ free_matrix(unit) @ S.T
        inertia = np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]
        columns.append([P[3, 3], *P[:3, 3], *(inertia[a, b] for a, b in _PAIRS)])
    return np.array(columns).T


def _numbers(Z: np.ndarray) -> np.ndarray:
    """The inverse of `free_matrix`."""
    return np.concatenate([np.diag(Z), np.sqrt(2) * Z[_ABOVE]])


def divergence(z: np.ndarray) -> float:
    """How far a body is from where it started: tr Z - log det Z - 4, twice. Like |Z - 1|^2 nearby; infinite for bodies that
    cannot exist (entropic divergence: Lee, Wensing, Park, 2020)."""
    values = np.linalg.eigvalsh(free_matrix(z))
    return float(2 * np.sum(values - np.log(values) - 1)) if values[0] > 0 else np.inf


def divergence_rows(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """b and A with `divergence(z + s) = |A s + b|^2` to second order in s, up to a constant."""
    values, axes = np.linalg.eigh(free_matrix(z))
    root = axes @ np.diag(values**-0.5) @ axes.T
    A = np.array([_numbers(root @ free_matrix(unit) @ root) for unit in np.eye(10)]).T
    return _numbers(free_matrix(z) - np.eye(4)), A


def _spread(stated: np.ndarray) -> np.ndarray:
    """Second moment about the mass centre, per mass [m^2]."""
    inertia = np.asarray(_symmetric(jnp.asarray(stated[4:])))
    return (np.trace(inertia) / 2 * np.eye(3) - inertia) / stated[0]


def valid(stated: np.ndarray) -> np.ndarray:
    """`NAMES` of the nearest body that can exist: the same if it can."""
    values, axes = np.linalg.eigh(_spread(stated))
    if not stated[0] > 0 or not values[-1] > 0:
        raise ModelError(
            f"a body to be identified needs mass and inertia to start from; it has {stated[0]:g} kg and {stated[4:7]} kg m^2"
        )
    least = THINNEST**2 * values[-1]
    if values[0] >= least:
        return np.asarray(stated, float)
    spread = axes @ np.diag(np.maximum(values, least)) @ axes.T
    inertia = stated[0] * (np.trace(spread) * np.eye(3) - spread)
    return np.concatenate([stated[:4], [inertia[a, b] for a, b in _PAIRS]])


def stated_bodies(model: Model, bodies: tuple[str, ...]) -> np.ndarray:
    """[bodies, 10] `NAMES` of the model's own values."""
    which = [model.body_names.index(name) for name in bodies]
    values = model.bodies
    rows = np.concatenate([np.asarray(values.mass)[None], np.asarray(values.mass_center), np.asarray(values.inertia)])
    return rows[:, which].T


def with_stated(model: Model, bodies: tuple[str, ...], rows: np.ndarray) -> Model:
    """The model with other values of these bodies, [bodies, 10] `NAMES`."""
    which = np.array([model.body_names.index(name) for name in bodies], int)
    values = replace(
        model.bodies,
        mass=model.bodies.mass.at[which].set(rows[:, 0]),
        mass_center=model.bodies.mass_center.at[:, which].set(rows[:, 1:4].T),
        inertia=model.bodies.inertia.at[:, which].set(rows[:, 4:].T),
    )
    return replace(model, bodies=values)


# What the motion needs ---------------------------------------------------------------------------------------


def _in_ground(phi: Float[Array, "10"], R: Float[Array, "3 3"], p: Float[Array, "3"]) -> Float[Array, "10"]:
    """Mass, first and second moments about the ground's origin, in its axes; linear in phi."""
    m, h, inertia = phi[0], R @ phi[1:4], R @ _symmetric(phi[4:]) @ R.T
    shift = 2 * jnp.dot(p, h) * jnp.eye(3) - jnp.outer(p, h) - jnp.outer(h, p)
    shift = shift + m * (jnp.dot(p, p) * jnp.eye(3) - jnp.outer(p, p))
    return jnp.concatenate([m[None], h + m * p, _six(inertia + shift)])


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
    need, mass = jax.vmap(of_link)(*parts)
    share = (model.tree.link_body[links] == owners[:, None]) * model.tree.link_share[links]  # [bodies, links]
    return jnp.einsum("bl,lnm->nbm", share, need), jnp.einsum("bl,lijm->ijbm", share, mass)
