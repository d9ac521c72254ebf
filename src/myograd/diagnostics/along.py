"""Poses along one coordinate: it runs over its range, the others stay at their defaults, but for those that constraints
make follow."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ..dynamics.assembly import assemble, constraint_errors, constraint_jacobian
from ..dynamics.bodies import coordinate_rates
from ..model.model import Model

Vector = Float[Array, " c"]


def values_along(model: Model, coordinate: str, points: int) -> np.ndarray:
    """Values over the range, or to 180° (1 m) from the default where a limit is more than a turn (10 m) from zero."""
    i = model.coordinate_names.index(coordinate)
    far, reach = (2 * math.pi, math.pi) if model.names.rotational[i] else (10.0, 1.0)
    limits, default = np.asarray(model.coordinates.range)[:, i], float(model.coordinates.default[i])
    low, high = (
        limit if abs(limit) <= far else default + sign * reach for sign, limit in zip((-1, 1), limits, strict=True)
    )
    return np.linspace(low, high, points)


def pose_along(
    model: Model, rest: Vector, column: Int[Array, ""], value: Float[Array, ""]
) -> tuple[Vector, Bool[Array, ""]]:
    """A pose near `rest` that satisfies the constraints with the coordinate at `column` at `value`; and whether there is one.

    `assemble` sets what follows from couplers, but closes loops by moving every coordinate. There, Newton's method with
    the one column of the constraint Jacobian left out.
    """
    q = rest.at[column].set(value)
    if len(model.constraints.implicit_rows) == 0:
        return assemble(model, q), jnp.array(True)

    def closer(_: Any, q: Vector) -> Vector:
        G = constraint_jacobian(model, q).at[:, column].set(0.0)
        speeds = jnp.linalg.pinv(G, rtol=1e-9) @ constraint_errors(model, q)
        return q - coordinate_rates(model, q, speeds)

    q = lax.fori_loop(0, 30, closer, q)
    return q, jnp.max(jnp.abs(constraint_errors(model, q))) < 1e-9
