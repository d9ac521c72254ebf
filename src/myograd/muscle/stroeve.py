"""Muscle tension from EMG without tendons: paper 002, Appendix A, after Stroeve (1999) and Hill (1938).

    f = a F_l(l) F_v(v) F_max,   da/dt = (u - a) / (tau_ac if u >= a else tau_da),   u = u_EMG / u_MVC      (A1-A4)

The paper's f is negative where a muscle pulls; here tension is positive, as everywhere in Myograd. The paper names the curves
but does not give their constants: the defaults are those usual with this model (Winters and Stark 1985), and arguments.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jaxtyping import Array, Float

from ..errors import ModelError
from .activation import check_step, in_unit_range, starting_activation
from .state import clamped

Vector = Float[Array, "*m"]


def gaussian_force_length(norm_length: Vector, width: float = 0.45) -> Vector:
    """F_l: `exp(-((l - 1) / width)^2)`, l over the optimal length."""
    return jnp.exp(-(((norm_length - 1) / width) ** 2))


def hill_force_velocity(
    norm_velocity: Vector, shortening: float = 0.3, lengthening: float = 0.5, most: float = 1.3
) -> Vector:
    """F_v of a velocity over the maximum one, positive where the muscle lengthens.

    Hill's hyperbola `s (1 + v) / (s - v)` in shortening, zero from the maximum velocity on; in lengthening
    `(s r + most v) / (s r + v)`, which approaches `most`. s is `shortening`, r is `lengthening`.
    """
    slow, fast = clamped(norm_velocity, -1.0, 0.0), jnp.where(norm_velocity > 0, norm_velocity, 0.0)
    concentric = shortening * (1 + slow) / (shortening - slow)
    eccentric = (shortening * lengthening + most * fast) / (shortening * lengthening + fast)
    return jnp.where(norm_velocity <= 0, concentric, eccentric)


def first_order_activation(
    excitation: Float[Array, "t *m"] | np.ndarray,
    step: float,
    activation_time: float = 0.010,
    deactivation_time: float = 0.040,
    initial: Float[Array, "*m"] | float = 0.0,
) -> Float[Array, "t *m"]:
    """Activation at the samples of an excitation given every `step` seconds (A2-A3).

    The excitation, from 0 to 1, is constant from one sample to the next; over such a step the equation has an exact solution.
    """
    check_step("first_order_activation", step)
    excitation = in_unit_range("first_order_activation", "excitation", excitation)
    if not (activation_time > 0 and deactivation_time > 0):
        raise ModelError("first_order_activation: time constants must be above 0")
    start = starting_activation("first_order_activation", initial, excitation.shape[1:])

    def advance(a: Array, u: Array) -> tuple[Array, Array]:
        kept = jnp.where(u >= a, jnp.exp(-step / activation_time), jnp.exp(-step / deactivation_time))
        a = u + (a - u) * kept
        return a, a

    rest = lax.scan(advance, start, excitation[:-1])[1]
    return jnp.concatenate([start[None], rest])


def stroeve_tension(
    activation: Vector | float,
    norm_length: Vector,
    norm_velocity: Vector,
    max_isometric_force: Vector | float,
    width: float = 0.45,
    shortening: float = 0.3,
    lengthening: float = 0.5,
    most: float = 1.3,
) -> Vector:
    """Tension [N] (A1), positive. The constants are those of `gaussian_force_length` and `hill_force_velocity`."""
    limits = {
        "activation": (activation, 0.0, 1.0),
        "norm_length": (norm_length, 0.0, np.inf),
        "norm_velocity": (norm_velocity, -np.inf, np.inf),
        "max_isometric_force": (max_isometric_force, 0.0, np.inf),
    }
    for name, (value, low, high) in limits.items():
        if not isinstance(value, Tracer) and not np.all(np.isfinite(value) & (value >= low) & (value <= high)):
            raise ModelError(f"stroeve_tension: {name} must be finite, and from {low:g} to {high:g}")
    force_length = gaussian_force_length(norm_length, width)
    force_velocity = hill_force_velocity(norm_velocity, shortening, lengthening, most)
    return activation * force_length * force_velocity * max_isometric_force
