"""Where the length of a path is discontinuous as one coordinate runs over its range, and why.

Along poses q(x), a path that changes smoothly has L(b) - L(a) = integral of dL/dx, with dL/dx the virtual work along the way.
Intervals in which the two disagree are halved until next to nothing is left of the integral; what then remains of the
difference is the size of the discontinuity. A rate may be discontinuous (a path that lands on a surface): that difference
vanishes with the interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..dynamics.assembly import assemble
from ..dynamics.guard import plain_errors
from ..dynamics.kinematics import pose
from ..errors import ModelError, nearest, warn
from ..model.model import Model
from ..path.contacts import Order
from ..path.length import known_of, owner
from ..path.posed import posed_path_geometry
from ..path.segments import straight_lengths, switched_on
from ..path.wrapping import wrapping_lengths
from .along import pose_along, values_along

SAMPLES = 181  # poses over the range; between two neighbours, a discontinuity and its reverse go unnoticed
SMALLEST = 1e-5  # [m] disagreement that counts
HALVINGS = 23  # to 1e-9 of the range
MOST = 500  # intervals: where lengths are discontinuous nearly everywhere, they are not halved further


@dataclass(frozen=True)
class Discontinuity:
    """A value of a coordinate at which the length of a muscle jumps."""

    muscle: str
    coordinate: str
    value: float
    """of the coordinate [rad, m, or its own unit]"""
    size: float
    """[m] by which the length changes as the coordinate grows past the value"""
    cause: str
    """what happens to the path there, as the coordinate grows; empty if unknown"""


class Sample(eqx.Module):
    """Poses along the coordinate, and the paths there. As an array over poses, `n` comes first."""

    value: Float[Array, "*n"]
    q: Float[Array, "*n c"]
    """NaN where the constraints do not let the coordinate be"""
    length: Float[Array, "*n m"]
    rate: Float[Array, "*n m"]
    on: Bool[Array, "*n conditional"]
    """which conditional points are on their paths"""
    added: Float[Array, "*n k"]
    """to the length by each path wrap (one surface on one path)"""
    order: Order | None

    def __getitem__(self, which: Any) -> Sample:
        return jax.tree.map(lambda x: x[which], self)


def length_discontinuities(model: Model, coordinate: str) -> list[Discontinuity]:
    """Discontinuities of muscle lengths along the range of an independent coordinate, by value; other coordinates are at their
    defaults, or where constraints put them. Skips poses that the constraints forbid; warns of those without a known length."""
    known = model.independent_coordinates
    if coordinate not in known:
        raise ModelError(f"the model has no independent coordinate {coordinate!r}{nearest(coordinate, known)}")
    column = model.coordinate_names.index(coordinate)
    rest = assemble(model, model.default_pose())

    def samples(values: np.ndarray) -> Sample:
        """In batches of one size, so that one compilation serves all."""
        count = -(-len(values) // SAMPLES) * SAMPLES
        padded = np.append(values, np.repeat(values[-1:], count - len(values)))
        with plain_errors():
            parts = [_samples(model, rest, column, x) for x in padded.reshape(-1, SAMPLES)]
        return jax.tree.map(lambda *x: np.concatenate(x)[: len(values)], *parts)

    all_along = samples(values_along(model, coordinate, SAMPLES))
    lost = (np.isnan(all_along.length) & ~np.isnan(all_along.q).any(axis=1, keepdims=True)).sum(axis=0)
    for m in np.flatnonzero(lost):
        warn(
            f"{model.names.paths[m]}: no path at rest was found at {lost[m]} of {SAMPLES} poses along {coordinate}, where "
            "discontinuities cannot be found",
        )
    low, high = _where(all_along[:-1], all_along[1:])
    for _ in range(HALVINGS):
        if not 0 < len(low.value) <= MOST:
            break
        middle = samples(np.asarray(low.value + high.value) / 2)
        low, high = _where(_both(low, middle), _both(middle, high))
    found = []
    for i in np.argsort(low.value):
        a, b = low[i], high[i]
        if np.abs(b.q - a.q).max() > 1e-6 + 100 * abs(b.value - a.value):
            continue  # a closed loop snaps into another pose
        size = _unexplained(a, b)
        found += [
            Discontinuity(name, coordinate, float(a.value + b.value) / 2, float(size[m]), _cause(model, m, a, b))
            for m, name in enumerate(model.names.paths)
            if abs(size[m]) > SMALLEST
        ]
    return found


@jax.jit
def _samples(model: Model, rest: Float[Array, " c"], column: Int[Array, ""], values: Float[Array, " n"]) -> Sample:
    def at(value: Float[Array, ""]) -> Sample:
        def length(value: Float[Array, ""]) -> tuple[Float[Array, " m"], tuple]:
            q, possible = pose_along(model, rest, column, value)
            here = pose(model, q)
            lengths, added, order = straight_lengths(model, here, q), jnp.zeros(0), None
            if len(model.wraps.surface):
                added, order = wrapping_lengths(model.wraps, posed_path_geometry(model, here, q))
                lengths = (lengths + added @ owner(model)) * known_of(model, order)
            exists = jnp.where(possible, 1.0, jnp.nan)
            return lengths * exists, (q * exists, added, order)

        lengths, rate, (q, added, order) = jax.jvp(length, (value,), (jnp.ones(()),), has_aux=True)
        on = switched_on(model, q, np.eye(len(model.paths.conditional)))
        return Sample(value, q, lengths, rate, on, added, order)

    return jax.vmap(at)(values)


def _unexplained(a: Sample, b: Sample) -> np.ndarray:
    """[..., m] Change of length from a to b less the integral of the rate (trapezoidal rule)."""
    step = np.asarray(b.value - a.value)[..., None]
    return np.asarray(b.length - a.length - (a.rate + b.rate) / 2 * step)


def _where(a: Sample, b: Sample) -> tuple[Sample, Sample]:
    """The intervals in which some length changes otherwise than by its rate."""
    which = (np.abs(_unexplained(a, b)) > SMALLEST).any(axis=-1)
    return a[which], b[which]


def _both(a: Sample, b: Sample) -> Sample:
    return jax.tree.map(lambda x, y: np.concatenate([x, y]), a, b)


def _cause(model: Model, m: int, a: Sample, b: Sample) -> str:
    """What differs between two poses next to each other, for one muscle."""
    paths, wraps, points = model.paths, model.wraps, model.names.points
    switched = [k for k in np.flatnonzero(a.on != b.on) if paths.point_path[paths.conditional[k]] == m]
    if switched:
        states = (f"{points[paths.conditional[k]]} switches {'on' if b.on[k] else 'off'}" for k in switched)
        return f"conditional point {', '.join(states)}"
    own = np.flatnonzero(wraps.path == m)
    if a.order is None or b.order is None or len(own) == 0:
        return ""
    before, after = a.order, b.order
    name = [model.names.surfaces[surface].rpartition("/")[2] for surface in wraps.surface]
    moved = [k for k in own if before.engaged[k] != after.engaged[k]]
    if moved:
        return ", ".join(f"{'lands on' if after.engaged[k] else 'comes off'} {name[k]}" for k in moved)
    shifted = [
        k
        for k in own
        if after.engaged[k]
        and any(x[k] != y[k] for x, y in zip(*((o.pair, o.before, o.after) for o in (before, after)), strict=True))
    ]
    if shifted:
        return f"touches {', '.join(name[k] for k in shifted)} on another segment"
    most = own[np.argmax(np.abs(b.added - a.added)[own])]
    return f"goes round {name[most]} the other way" if abs(b.added[most] - a.added[most]) > SMALLEST else ""
