"""From excitation to activation: how fast calcium comes and goes.

Paper 000 (Eqs. 17-18) and OpenSim's Millard2012EquilibriumMuscle and Thelen2003Muscle:

    da/dt = (u - a) / t(u, a),   t = t_act (0.5 + 1.5 a)  if u > a,   t_de / (0.5 + 1.5 a)  otherwise

The difference of two solutions with the same excitation shrinks at least as fast as exp(-rate t), with
`rate = min(1 / (2 t_act), 1 / (2 t_de))`: whatever activation a section of a recording is started with is soon forgotten. So
the sections of a long recording can be integrated in parallel, and only their beginnings are repeated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jaxtyping import Array, Float

from .._arrays import ArrayLike
from ..errors import ModelError
from .state import clamped

FORGOTTEN = 1e-10  # what is left of the difference between two starts before they count as one
SECTIONS = 16  # at most: more do not fill the processor better
FEW = 4  # muscles: up to here sections in parallel are faster than a sequence (docs/muscles.md)
SUBSTEP = 0.1  # of the shortest time constant: da/dt changes with a by up to 8 / t_act (a = 0, u = 1)
LONGEST_STEP = 1.0  # [s] between samples: more is a rate that was given for a step
LONGEST = 100.0  # of the shortest time constant, between samples: more is a mistake in the units


def activation_rate(
    excitation: ArrayLike, activation: ArrayLike, activation_time: ArrayLike, deactivation_time: ArrayLike
) -> Float[Array, "*m"]:
    """da/dt [1/s] of Eqs. 17-18; time constants in s."""
    excitation, activation, activation_time, deactivation_time = (
        jnp.asarray(x, float) for x in (excitation, activation, activation_time, deactivation_time)
    )
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
    excitation: ArrayLike,
    step: float,
    activation_time: ArrayLike = 0.010,
    deactivation_time: ArrayLike = 0.040,
    initial: ArrayLike = 0.0,
    parallel: bool | None = None,
    settle: float | None = None,
    substeps: int | None = None,
) -> Float[Array, "t *m"]:
    """Activation at the samples of an excitation recorded every `step` seconds, starting from `initial`.

    Classical Runge-Kutta, `substeps` steps per sample, the excitation linear in between. `parallel`: sections of the recording
    are integrated at once from zero, and their beginnings again from where the section before has ended (paper 000, III-F.2);
    the result is that of the sequential integration to 1e-9. By default, up to four muscles are.

    `settle` [s] is how long a beginning is. It and `substeps` follow from the time constants where these are plain numbers, and
    have to be given where they are traced: about 25 times the larger one, and 10 steps per shorter one.
    """
    check_step("integrate_activation", step)
    excitation = in_unit_range("integrate_activation", "excitation", excitation)
    _check_times(excitation.shape[1:], step, activation_time, deactivation_time)
    if substeps is None:
        substeps = _substeps(step, activation_time, deactivation_time)
    elif not isinstance(substeps, int) or substeps < 1:
        raise ModelError(f"integrate_activation: substeps is {substeps}; it must be a whole number, at least 1")
    if settle is not None and not 0 < settle < math.inf:
        raise ModelError(f"integrate_activation: settle is {settle} s; it must be above 0")
    if parallel is None:
        parallel = math.prod(excitation.shape[1:]) <= FEW
    initial = starting_activation("integrate_activation", initial, excitation.shape[1:])
    if substeps > 1:
        part = jnp.arange(substeps).reshape(1, -1, *[1] * initial.ndim) / substeps
        between = excitation[:-1, None] + part * (excitation[1:] - excitation[:-1])[:, None]
        excitation = jnp.concatenate([between.reshape(-1, *initial.shape), excitation[-1:]])
    short = step / substeps
    beginning = _beginning(short, activation_time, deactivation_time, settle) if parallel else None
    return _integrated(excitation, short, activation_time, deactivation_time, initial, beginning)[::substeps]


def _integrated(
    excitation: Array, step: float, activation_time: Any, deactivation_time: Any, initial: Array, beginning: int | None
) -> Array:
    """One Runge-Kutta step per sample; in sections if their `beginning`, in steps, is given and worth it."""
    steps = excitation.shape[0] - 1
    if beginning is None or steps < 4 * beginning:
        return _one_after_the_other(excitation, step, activation_time, deactivation_time, initial)
    advance = _steps(step, activation_time, deactivation_time)
    count = max(2, min(SECTIONS, steps // (2 * beginning)))
    size = -(-steps // count)
    # [size, sections, *m]: what each section sees at its first step, its second, ...; the last one is padded with its end
    shape = (count, size, *initial.shape)
    padded = jnp.concatenate([excitation, jnp.broadcast_to(excitation[-1], (count * size - steps, *initial.shape))])
    before, after = (jnp.moveaxis(padded[i : i + count * size].reshape(shape), 1, 0) for i in (0, 1))
    zero = jnp.zeros((count - 1, *initial.shape), excitation.dtype)
    ends, rest = lax.scan(advance, jnp.concatenate([initial[None], zero]), (before, after))
    start = jnp.concatenate([initial[None], ends[:-1]])
    again = lax.scan(advance, start, (before[:beginning], after[:beginning]))[1]
    rest = jnp.concatenate([again, rest[beginning:]])
    rest = jnp.moveaxis(rest, 0, 1).reshape(count * size, *initial.shape)[:steps]
    return jnp.concatenate([initial[None], rest])


def _advanced(
    a: Array, before: Array, after: Array, step: float, activation_time: Any, deactivation_time: Any
) -> Array:
    """Activation after one Runge-Kutta step, over which the excitation goes from `before` to `after`."""
    between = (before + after) / 2

    def rate(a: Array, u: Array) -> Array:
        return activation_rate(u, a, activation_time, deactivation_time)

    k1 = rate(a, before)
    k2 = rate(a + step / 2 * k1, between)
    k3 = rate(a + step / 2 * k2, between)
    k4 = rate(a + step * k3, after)
    return a + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def _steps(step: float, activation_time: Any, deactivation_time: Any) -> Callable[[Array, Any], tuple[Array, Array]]:
    """One such step after the other, for `lax.scan` over pairs of excitations."""

    def advance(a: Array, pair: tuple[Array, Array]) -> tuple[Array, Array]:
        a = _advanced(a, *pair, step, activation_time, deactivation_time)
        return a, a

    return advance


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def _one_after_the_other(
    excitation: Array, step: float, activation_time: Any, deactivation_time: Any, initial: Array
) -> Array:
    advance = _steps(step, activation_time, deactivation_time)
    return jnp.concatenate([initial[None], lax.scan(advance, initial, (excitation[:-1], excitation[1:]))[1]])


@_one_after_the_other.defjvp
def _slope(step: float, primals: Any, tangents: Any) -> tuple[Array, Array]:
    """The steps' slopes are computed in parallel, so that only a linear recurrence is left to go one after the other."""
    excitation, activation_time, deactivation_time, initial = primals
    by_excitation, by_activation_time, by_deactivation_time, by_initial = tangents
    a = _one_after_the_other(excitation, step, activation_time, deactivation_time, initial)

    def advanced(a: Array, before: Array, after: Array, activation_time: Any, deactivation_time: Any) -> Array:
        return _advanced(a, before, after, step, activation_time, deactivation_time)

    at = (a[:-1], excitation[:-1], excitation[1:], activation_time, deactivation_time)
    passed_on = jax.jvp(lambda a: advanced(a, *at[1:]), at[:1], (jnp.ones_like(at[0]),))[1]
    others = (by_excitation[:-1], by_excitation[1:], by_activation_time, by_deactivation_time)
    added = jax.jvp(lambda *others: advanced(at[0], *others), at[1:], others)[1]

    def advance(x: Array, pair: tuple[Array, Array]) -> tuple[Array, Array]:
        x = pair[0] * x + pair[1]
        return x, x

    return a, jnp.concatenate([by_initial[None], lax.scan(advance, by_initial, (passed_on, added))[1]])


def _beginning(step: float, activation_time: Any, deactivation_time: Any, settle: float | None) -> int:
    """Steps after which the start of a section is forgotten."""
    if settle is None:
        if any(isinstance(t, Tracer) for t in (activation_time, deactivation_time)):
            raise ModelError(
                "integrate_activation: the time constants are traced, so that the time after which a start is forgotten is not "
                "known; give settle (in seconds, about 25 times the larger time constant), or parallel=False"
            )
        slowest = 2 * max(float(np.max(activation_time)), float(np.max(deactivation_time)))
        settle = -math.log(FORGOTTEN) * slowest
    return max(1, math.ceil(settle / step))


def _substeps(step: float, activation_time: Any, deactivation_time: Any) -> int:
    """Runge-Kutta steps from one sample to the next."""
    if any(isinstance(t, Tracer) for t in (activation_time, deactivation_time)):
        raise ModelError(
            "integrate_activation: the time constants are traced, so that the steps they need are not known; give substeps (per "
            "sample: about 10 times the step over the smallest time constant, and at least 1)"
        )
    shortest = min(float(np.min(activation_time)), float(np.min(deactivation_time)))
    return max(1, math.ceil(step / (SUBSTEP * shortest) - 1e-9))


def starting_activation(function: str, initial: Any, shape: tuple[int, ...]) -> Array:
    """`initial` for each muscle, from 0 to 1."""
    start = jnp.asarray(initial, float)
    if start.shape not in ((), shape):
        raise ModelError(f"{function}: initial has shape {start.shape}; it is one number, or one per muscle, {shape}")
    if not isinstance(start, Tracer) and not np.all((np.asarray(start) >= 0) & (np.asarray(start) <= 1)):
        raise ModelError(f"{function}: initial is {initial}; activation is from 0 to 1")
    return jnp.broadcast_to(start, shape)


def check_step(function: str, step: float) -> None:
    """Raise unless samples are a plausible time apart."""
    if not 0 < step < math.inf:
        raise ModelError(f"{function}: the step is {step:g} s; it must be above 0")
    if step > LONGEST_STEP:
        raise ModelError(f"{function}: the step is {step:g} s; it is the time between two samples, 1 / rate")


def in_unit_range(function: str, what: str, values: Any) -> Array:
    """Samples of numbers from 0 to 1, as float64. Others raise; while traced, they count as 0 or 1."""
    if isinstance(values, Tracer):
        numbers: Any = jnp.asarray(values, float)
    else:
        try:
            numbers = np.asarray(values, float)
        except (TypeError, ValueError):
            raise ModelError(f"{function}: {what} must be numbers, not {values!r}"[:200]) from None
    if numbers.ndim == 0 or numbers.shape[0] < 1:
        raise ModelError(f"{function}: {what} needs a row per sample")
    if isinstance(numbers, Tracer):
        return clamped(numbers, 0.0, 1.0)
    for bad, how in ((~np.isfinite(numbers), "is not finite"), ((numbers < 0) | (numbers > 1), "is not from 0 to 1")):
        if bad.any():
            row = int(np.argwhere(bad)[0][0])
            raise ModelError(f"{function}: {what} {how} in row {row} ({bad.sum()} of {bad.size} samples)")
    return jnp.asarray(numbers)


def _check_times(shape: tuple[int, ...], step: float, *times: Any) -> None:
    for time in times:
        if np.shape(time) not in ((), shape):
            raise ModelError(
                f"integrate_activation: a time constant has shape {np.shape(time)}; it is one number, or one per muscle, {shape}"
            )
        if not isinstance(time, Tracer):
            shortest = float(np.min(time))
            if not 0 < shortest < math.inf:
                raise ModelError(f"integrate_activation: a time constant is {shortest:g} s; it must be above 0")
            if step > LONGEST * shortest:
                raise ModelError(
                    f"integrate_activation: steps of {step:g} s are too long for a time constant of {shortest:g} s; give the "
                    f"excitation at least every {LONGEST * shortest:.2g} s"
                )
