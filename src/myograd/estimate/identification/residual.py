"""The residual of paper 000, Eq. 14, and its Jacobian.

The paper: `d = c - A J_s^T f_s` is the acceleration that muscles with EMG leave unexplained (Eqs. 10-12), of which deep muscles
can explain what lies in the columns of `A J_d^T` (Eq. 13); the norm of the rest is the loss. With constraints eliminated,
`A = C Mr^-1 C^T` and `Mr = C^T M C`, that is

    d = C Mr^-1 e,     e = C^T (M udot + b) - C^T J_s^T f_s,     columns:  C Mr^-1 (C^T J_d^T).

With N the null space of `J_d C`, which depends on the geometry only (`identifiability.null_space`), the norm of the rest is

    |r|,   r = L^-1 N^T e,     L L^T = N^T Mr (C^T C)^-1 Mr N.

So no pseudoinverse is needed, its rank cannot change while parameters do, and there are k numbers per sample, not c.
`paper_residual` is the paper's own form, with multipliers; a test holds the two together.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from ...model.model import Model
from ..inverse.mechanics import Mechanics
from ..recording import Recording, select_channels
from . import forces
from .choices import COMMON, MUSCLE, OF_MODEL, FiberSource
from .forces import Fibers, OfAll, OfMuscles
from .parameters import Unknowns


class Data(NamedTuple):
    """One recording, ready for the residual: T samples, of which R have rows in it; m muscles with EMG that can be identified."""

    torque: Float[Array, "R n"]
    torque_regressor: Float[Array, "R n inertial"]
    mass: Float[Array, "R n n"]
    mass_regressor: Float[Array, "R n n inertial"]
    metric: Float[Array, "R n n"]
    """(C^T C)^-1"""
    null_space: Float[Array, "R n k"]
    """N"""
    arms: Float[Array, "R m n"]
    rows: Int[Array, " R"]
    """which samples"""
    emg: Float[Array, "T m"]
    length: Float[Array, "T m"]
    fiber_length: Float[Array, "T m"]
    """recorded; or a guess"""
    fiber_velocity: Float[Array, "T m"]

    def thinned(self, kept: np.ndarray, stride: int) -> Data:
        """Only these of the rows, counted in steps of `stride` samples."""
        few = {name: getattr(self, name)[kept] for name in OF_ROWS}
        return self._replace(**few | {"rows": few["rows"] // stride})


OF_ROWS = ("torque", "torque_regressor", "mass", "mass_regressor", "metric", "null_space", "arms", "rows")
"""What `Data` has of rows; of the signals that make forces all samples are needed."""


class Scheme(NamedTuple):
    """How forces are worked out. Static."""

    fibers: FiberSource
    step: float
    substeps: int
    order: int = 3
    """of the backward differences"""
    stride: int = 1
    """fibres are solved at one sample in so many"""


def data_of(
    model: Model, recording: Recording, it: Mechanics, null_space: np.ndarray, driven: tuple[str, ...], rows: np.ndarray
) -> Data:
    """`rows`: indices of the samples that count."""
    which = [model.muscle_names.index(name) for name in driven]
    length = it.length[:, which]
    none = np.zeros_like(length)
    fiber, velocity = (none if x is None else x[:, which] for x in (recording.fiber_length, recording.fiber_velocity))
    torque, torque_regressor, mass, mass_regressor, C = (x[rows] for x in it.inertial)
    numbers = (
        torque,
        torque_regressor,
        mass,
        mass_regressor,
        np.linalg.inv(np.swapaxes(C, 1, 2) @ C),
        null_space[rows],
        it.arms[rows][:, which],
        rows,
        select_channels(recording, driven),
        length,
        fiber,
        velocity,
    )
    return Data(*map(jnp.asarray, numbers))


def _activation(scheme: Scheme, data: Data, gain: Float[Array, " m"], common: OfAll) -> Float[Array, "T m"]:
    """Of the driven muscles, at the samples at which forces are worked out: all, or one in `scheme.stride`."""
    return forces.activations(data.emg, gain, common, scheme.step, scheme.substeps)[:: scheme.stride]


def _forces(
    driven: Model, scheme: Scheme, data: Data, muscle: OfMuscles, activation: Float[Array, "T m"]
) -> tuple[Float[Array, "R m"], Float[Array, "T m"]]:
    """Forces of the driven muscles [N] at the rows, and their fibre lengths [m] at the samples of the activation."""
    driven, rows = forces.with_muscle_values(driven, muscle), data.rows
    if scheme.fibers is FiberSource.TENDON:
        force = forces.forces_of_tendons(driven, data.length[rows], activation[rows], data.fiber_length[rows])
        return force, data.fiber_length
    fiber, velocity = data.fiber_length, data.fiber_velocity
    if scheme.fibers is FiberSource.SOLVED:
        length, step = data.length[:: scheme.stride], scheme.stride * scheme.step
        fiber = forces.solved_fibers(driven, length, activation, step, fiber, scheme.order)
        velocity = forces.rate_of(fiber, step, scheme.order)
    return forces.forces_of_fibers(driven, activation[rows], fiber[rows], velocity[rows]), fiber


def muscle_forces(
    driven: Model, scheme: Scheme, data: Data, unknowns: Unknowns
) -> tuple[Float[Array, "R m"], Float[Array, "T m"]]:
    """Forces of the driven muscles [N] at the rows, and their fibre lengths [m] at all samples, or one in `scheme.stride`."""
    activation = _activation(scheme, data, unknowns.muscle["emg_gain"], unknowns.common)
    return _forces(driven, scheme, data, unknowns.muscle, activation)


@partial(jax.jit, static_argnums=1)
def fibers_at_rest(driven: Model, scheme: Scheme, data: Data, unknowns: Unknowns) -> Fibers:
    """Where the first search for fibres may start."""
    activation = _activation(scheme, data, unknowns.muscle["emg_gain"], unknowns.common)
    path = data.length[:: scheme.stride]
    return Fibers(forces.resting_fibers(forces.with_muscle_values(driven, unknowns.muscle), path, activation), path)


def _lower(K: Float[Array, "k k"]) -> list[list[Array]]:
    """Cholesky factor, written out: k is small, and LAPACK's would not run on two threads."""
    k = K.shape[0]
    L: list[list[Array]] = [[jnp.zeros(())] * k for _ in range(k)]
    for i in range(k):
        for j in range(i + 1):
            rest = K[i, j] - sum(L[i][p] * L[j][p] for p in range(j))
            L[i][j] = jnp.sqrt(rest) if i == j else rest / L[j][j]
    return L


def _weighted(K: Float[Array, "k k"], s: Float[Array, " k"]) -> Float[Array, " k"]:
    """`L^-1 s` with `L L^T = K`."""
    L = _lower(K)
    x: list[Array] = []
    for i in range(len(L)):
        x.append((s[i] - sum(L[i][j] * x[j] for j in range(i))) / L[i][i])
    return jnp.stack(x)


def _sample(inertial: Array, tau: Array, at: Data) -> Array:
    """[k] r of one sample, from the sample's mechanics; `tau` [n] is what the muscles with EMG supply."""
    N = at.null_space
    left = (at.mass + at.mass_regressor @ inertial) @ N  # Mr N
    return _weighted(left.T @ at.metric @ left, N.T @ (at.torque + at.torque_regressor @ inertial - tau))


_BY_ROW = Data(**{name: 0 if name in OF_ROWS else None for name in Data._fields})  # pyright: ignore[reportArgumentType]


@partial(jax.jit, static_argnums=1)
def residual(driven: Model, scheme: Scheme, data: Data, unknowns: Unknowns) -> tuple[Float[Array, "R k"], Fibers]:
    """r [rad/s^2 for rotations] of every row, and the fibres."""
    force, fiber = muscle_forces(driven, scheme, data, unknowns)
    tau = jnp.einsum("tmn,tm->tn", data.arms, force)
    r = jax.vmap(_sample, (None, 0, _BY_ROW))(unknowns.inertial, tau, data)
    return r, Fibers(fiber, data.length[:: scheme.stride])


class Linear(NamedTuple):
    """The residual and its derivatives by everything in `Unknowns` but other numbers of the model."""

    r: Float[Array, "R k"]
    by_inertial: Float[Array, "R k inertial"]
    by_muscle: dict[str, Float[Array, "R k m"]]
    by_common: dict[str, Float[Array, "R k"]]
    fibers: Fibers


@partial(jax.jit, static_argnums=1)
def linearized(driven: Model, scheme: Scheme, data: Data, unknowns: Unknowns) -> Linear:
    """Forward mode: muscles do not mix, so that one direction serves each kind of number of all muscles. Gain and common numbers
    act through the activation only, the other numbers of muscles do not."""
    muscle, common = unknowns.muscle, unknowns.common
    gain = muscle["emg_gain"]
    activation, slope = jax.linearize(partial(_activation, scheme, data), gain, common)
    # All directions at once: the programs of slopes are long, and take long to compile.
    signals, numbers = 1 + len(COMMON), len(OF_MODEL)
    by_signal = jax.vmap(slope)(
        jnp.zeros((signals, len(gain))).at[0].set(1.0),
        dict(zip(COMMON, jnp.eye(signals)[1:], strict=True)),
    )
    force, slope, fiber = jax.linearize(partial(_forces, driven, scheme, data), muscle, activation, has_aux=True)
    none = jnp.zeros((numbers + signals, len(gain)))
    kinds = {name: none for name in MUSCLE} | {name: none.at[k].set(1.0) for k, name in enumerate(OF_MODEL)}
    directions = jax.vmap(slope)(kinds, jnp.concatenate([jnp.zeros((numbers, *activation.shape)), by_signal]))
    tau = jnp.einsum("tmn,tm->tn", data.arms, force)
    sample = partial(jax.vmap, in_axes=(None, 0, _BY_ROW))
    r = sample(_sample)(unknowns.inertial, tau, data)
    by_inertial, by_tau = sample(jax.jacfwd(_sample, argnums=(0, 1)))(unknowns.inertial, tau, data)
    by_force = jnp.einsum("tkn,tmn->tkm", by_tau, data.arms)
    slopes = dict(zip((*OF_MODEL, "emg_gain", *COMMON), directions, strict=True))  # [R, m] each
    return Linear(
        r,
        by_inertial,
        {name: by_force * slopes[name][:, None, :] for name in MUSCLE},
        {name: jnp.einsum("tkm,tm->tk", by_force, slopes[name]) for name in COMMON},
        Fibers(fiber, data.length[:: scheme.stride]),
    )


@partial(jax.jit, static_argnums=1)
def by_envelope(
    driven: Model, scheme: Scheme, data: Data, unknowns: Unknowns, changes: Float[Array, "d T m"]
) -> tuple[Float[Array, "d R m"], Float[Array, "R k m"]]:
    """What changes of the envelopes do to the muscles' forces, and what these do to the residual."""

    def force(emg: Array) -> Array:
        return muscle_forces(driven, scheme, data._replace(emg=emg), unknowns)[0]

    value, slope = jax.linearize(force, data.emg)
    slopes = lax.map(slope, changes, batch_size=8)
    tau = jnp.einsum("tmn,tm->tn", data.arms, value)
    by_tau = jax.vmap(jax.jacfwd(_sample, argnums=1), (None, 0, _BY_ROW))(unknowns.inertial, tau, data)
    return slopes, jnp.einsum("tkn,tmn->tkm", by_tau, data.arms)


def paper_residual(
    M: Float[Array, "c c"],
    bias: Float[Array, " c"],
    G: Float[Array, "rows c"],
    b: Float[Array, " rows"],
    qdd: Float[Array, " c"],
    superficial: Float[Array, " c"],
    deep: Float[Array, "deep c"],
    cut: float = 1e-6,
) -> Float[Array, " c"]:
    """What deep muscles cannot explain of one sample's acceleration, as the paper writes it: multipliers with the M-weighted
    pseudoinverse (Eqs. 7-10), least-squares deep forces (Eqs. 12-14).

    `superficial`: generalised forces `J_s^T f_s`; `deep`: J_d; `G qdd = b`. `cut`: singular values of `A J_d^T` below this part
    of the largest are zero. Derivatives are right as long as the rank stays.
    """
    inverse = jnp.linalg.inv(M)
    weighted = inverse @ G.T @ jnp.linalg.inv(G @ inverse @ G.T)  # G^M+
    A = (jnp.eye(len(M)) - weighted @ G) @ inverse
    c = qdd + A @ bias - weighted @ b
    d = c - A @ superficial
    reach = A @ deep.T
    return d - reach @ (jnp.linalg.pinv(reach, rtol=cut) @ d)
