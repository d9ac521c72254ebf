"""From excitation to activation: how fast calcium comes and goes.

Paper 000 (Eqs. 17-18) and OpenSim's Millard2012EquilibriumMuscle and Thelen2003Muscle:

    da/dt = (u - a) / t(u, a),   t = t_act (0.5 + 1.5 a)  if u > a,   t_de / (0.5 + 1.5 a)  otherwise

The difference of two solutions with the same excitation shrinks at least as fast as exp(-rate t), with
`rate = min(1 / (2 t_act), 1 / (2 t_de))`: whatever activation a stretch of a recording is started with is soon forgotten. So
the stretches of a long recording can be integrated side by side, and only their beginnings are done again.
"""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jaxtyping import Array, Float

from ..errors import ModelError

FORGOTTEN = 1e-10  # what is left of the difference between two starts before they count as one
STRETCHES = 16  # at most: more do not fill the processor better
LARGEST_STEP = 2.5  # of the shortest time constant: about where explicit Runge-Kutta of order four becomes unstable


def activation_rate(
    excitation: Float[Array, "*m"],
    activation: Float[Array, "*m"],
    activation_time: Float[Array, "*m"] | float,
    deactivation_time: Float[Array, "*m"] | float,
) -> Float[Array, "*m"]:
    """da/dt [1/s] of Eqs. 17-18; time constants in s."""
    slowing = 0.5 + 1.5 * activation
    # One division per call: the slow part of it.
    scaled = jnp.where(excitation > activation, 1 / activation_time, slowing**2 * (1 / deactivation_time))
    return (excitation - activation) * scaled / slowing


def smoothed_activation_rate(
    excitation: Float[Array, "*m"],
    activation: Float[Array, "*m"],
    activation_time: Float[Array, "*m"] | float,
    deactivation_time: Float[Array, "*m"] | float,
    smoothing: Float[Array, "*m"] | float,
) -> Float[Array, "*m"]:
    """da/dt of DeGrooteFregly2016Muscle: the two rates blended by `0.5 + 0.5 tanh(smoothing (u - a))`."""
    slowing = 0.5 + 1.5 * activation
    rising = 0.5 + 0.5 * jnp.tanh(smoothing * (excitation - activation))
    rate = rising / (activation_time * slowing) + (1 - rising) * slowing / deactivation_time
    return (excitation - activation) * rate


def integrate_activation(
    excitation: Float[Array, "t *m"] | np.ndarray,
    step: float,
    activation_time: Float[Array, "*m"] | float = 0.010,
    deactivation_time: Float[Array, "*m"] | float = 0.040,
    initial: Float[Array, "*m"] | float = 0.0,
    parallel: bool = True,
    settle: float | None = None,
) -> Float[Array, "t *m"]:
    """Activation at the samples of an excitation recorded every `step` seconds, starting from `initial`.

    Classical Runge-Kutta, one step per sample, the excitation linear in between. `parallel`: stretches of the recording are
    integrated at once from zero, and their beginnings again from where the stretch before has ended (paper 000, III-F.2); the
    result is that of the sequential integration to 1e-9. `settle` [s] is how long a beginning is; it follows from the time
    constants where they are plain numbers, and has to be given where they are traced (about 25 times the larger one).
    """
    excitation = jnp.asarray(excitation)
    _check(excitation, step, activation_time, deactivation_time)
    initial = jnp.broadcast_to(jnp.asarray(initial, excitation.dtype), excitation.shape[1:])

    def advance(a: Array, pair: tuple[Array, Array]) -> tuple[Array, Array]:
        before, after = pair
        between = (before + after) / 2

        def rate(a: Array, u: Array) -> Array:
            return activation_rate(u, a, activation_time, deactivation_time)

        k1 = rate(a, before)
        k2 = rate(a + step / 2 * k1, between)
        k3 = rate(a + step / 2 * k2, between)
        k4 = rate(a + step * k3, after)
        a = a + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return a, a

    steps = excitation.shape[0] - 1
    beginning = _beginning(step, activation_time, deactivation_time, settle) if parallel else steps
    if steps < 4 * beginning:
        rest = lax.scan(advance, initial, (excitation[:-1], excitation[1:]))[1]
        return jnp.concatenate([initial[None], rest])
    count = max(2, min(STRETCHES, steps // (2 * beginning)))
    size = -(-steps // count)
    # [size, stretches, *m]: what each stretch sees at its first step, its second, ...; the last one holds its end
    shape = (count, size, *initial.shape)
    held = jnp.concatenate([excitation, jnp.broadcast_to(excitation[-1], (count * size - steps, *initial.shape))])
    before, after = (jnp.moveaxis(held[i : i + count * size].reshape(shape), 1, 0) for i in (0, 1))
    zero = jnp.zeros((count - 1, *initial.shape), excitation.dtype)
    ends, rest = lax.scan(advance, jnp.concatenate([initial[None], zero]), (before, after))
    start = jnp.concatenate([initial[None], ends[:-1]])
    again = lax.scan(advance, start, (before[:beginning], after[:beginning]))[1]
    rest = jnp.concatenate([again, rest[beginning:]])
    rest = jnp.moveaxis(rest, 0, 1).reshape(count * size, *initial.shape)[:steps]
    return jnp.concatenate([initial[None], rest])


def _beginning(step: float, activation_time: Any, deactivation_time: Any, settle: float | None) -> int:
    """Steps after which the start of a stretch is forgotten."""
    if settle is None:
        if any(isinstance(t, Tracer) for t in (activation_time, deactivation_time)):
            raise ModelError(
                "integrate_activation: the time constants are traced, so that the time after which a start is forgotten is not "
                "known; give settle (in seconds, about 25 times the larger time constant), or parallel=False"
            )
        slowest = 2 * max(float(np.max(activation_time)), float(np.max(deactivation_time)))
        settle = -math.log(FORGOTTEN) * slowest
    return max(1, math.ceil(settle / step))


def _check(excitation: Array, step: float, *times: Any) -> None:
    if excitation.ndim == 0 or excitation.shape[0] < 1:
        raise ModelError("integrate_activation: excitation needs a row per sample")
    if not step > 0:
        raise ModelError(f"integrate_activation: the step is {step:g} s; it must be above 0")
    if not isinstance(excitation, Tracer):
        values = np.asarray(excitation)
        if not np.isfinite(values).all():
            row = int(np.argwhere(~np.isfinite(values))[0][0])
            raise ModelError(f"integrate_activation: excitation is not finite in row {row}")
        if values.min() < 0 or values.max() > 1:
            row = int(np.argwhere((values < 0) | (values > 1))[0][0])
            raise ModelError(f"integrate_activation: excitation must be from 0 to 1, and is not in row {row}")
    for time in times:
        if not isinstance(time, Tracer):
            shortest = float(np.min(time))
            if not shortest > 0:
                raise ModelError(f"integrate_activation: a time constant is {shortest:g} s; it must be above 0")
            if step > LARGEST_STEP * 0.5 * shortest:
                raise ModelError(
                    f"integrate_activation: steps of {step:g} s are too long for a time constant of {shortest:g} s; give the "
                    f"excitation at least every {LARGEST_STEP * 0.5 * shortest:.2g} s"
                )
