"""From the voltage of a muscle to its excitation.

Two steps. `emg_envelope` (NumPy, once per recording): band-pass, rectify, low-pass, without shift in time, over the muscle's
maximum voluntary contraction. `emg_to_excitation` (JAX, differentiable): the recursive filter of Lloyd and Besier (2003) that
stands for the twitch and the electromechanical delay, with paper 000's continuous delay (Eqs. 19-21).
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax, nn
from jax.core import Tracer
from jaxtyping import Array, Float
from scipy import signal

from ..errors import ModelError
from .activation import check_step, in_unit_range
from .state import clamped

LONGEST_DELAY = 1.0  # [s] muscles take 0.01 to 0.15: more was given in other units
FURTHEST = 1 - 1e-6  # of the free poles from zero: tanh of a large number rounds to 1


def emg_envelope(
    emg: Any,
    rate: float,
    mvc: Any = None,
    band: tuple[float, float] = (20.0, 400.0),
    low_pass: float = 6.0,
    order: int = 4,
) -> np.ndarray:
    """Envelope of raw EMG [samples, *channels] recorded at `rate` [Hz], from 0 to 1.

    Band-pass (`band`, Hz), rectified, low-pass (`low_pass`, Hz): Butterworth filters run forward and backward, so that nothing
    is delayed; `order` is that of the two runs together. Divided by `mvc`, the envelope of a maximum voluntary contraction in
    each channel: a number or one per channel, as `emg_envelope(..., mvc=1).max(axis=0)` of that recording gives it. Without,
    the channel's own maximum. Values above 1 (more than was thought to be the maximum) become 1, what the low-pass leaves
    below 0 becomes 0.
    """
    rate, low_pass = _number("rate", rate, "Hz"), _number("low_pass", low_pass, "Hz")
    if np.shape(band) != (2,):
        raise ModelError(f"emg_envelope: the band is {band!r}; it is two frequencies, (low, high) in Hz")
    low, high = (_number("band", edge, "Hz") for edge in band)
    if not 0 < low < high:
        raise ModelError(f"emg_envelope: the band is from {low:g} to {high:g} Hz; it must go up from above 0")
    if not high < rate / 2:
        raise ModelError(
            f"emg_envelope: a recording at {rate:g} Hz contains nothing above {rate / 2:g} Hz, but the band goes up to {high:g} "
            f"Hz; check the rate, or give a band below {rate / 2:g} Hz"
        )
    if not 0 < low_pass < low:
        raise ModelError(f"emg_envelope: low_pass is {low_pass:g} Hz; it must be above 0 and below the band")
    values = _recording(emg, rate, low_pass, order)
    for kind, edges in (("bandpass", band), ("lowpass", low_pass)):
        sections = signal.butter(order // 2, edges, kind, fs=rate, output="sos")
        values = signal.sosfiltfilt(sections, values, axis=0)
        if kind == "bandpass":
            values = np.abs(values)
    most = values.max(axis=0) if mvc is None else _array("mvc", mvc)
    if most.shape not in ((), values.shape[1:]) or not np.all(np.isfinite(most) & (most > 0)):
        raise ModelError(
            f"emg_envelope: mvc must be above 0, one number or one for each of the {values.shape[1:]} channels; it is {most}"
        )
    return np.clip(values / most, 0.0, 1.0)


def _number(name: str, value: Any, unit: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ModelError(f"emg_envelope: {name} is one number in {unit}, not {value!r}"[:200]) from None
    if not (number > 0 and np.isfinite(number)):
        raise ModelError(f"emg_envelope: the {name} is {number:g} {unit}; it must be above 0")
    return number


def _array(name: str, value: Any) -> np.ndarray:
    try:
        if np.iscomplexobj(value):
            raise TypeError
        return np.asarray(value, float)
    except (TypeError, ValueError):
        raise ModelError(f"emg_envelope: {name} must be numbers, not {value!r}"[:200]) from None


def _recording(emg: Any, rate: float, low_pass: float, order: Any) -> np.ndarray:
    if not isinstance(order, int) or order < 2 or order % 2:
        raise ModelError(f"emg_envelope: order is {order}; it counts both runs of the filter, so it is 2, 4, 6, ...")
    values = _array("emg", emg)
    enough = max(20 * order, int(np.ceil(rate / low_pass)))  # a period of what is left: less is all edge
    if values.ndim == 0 or len(values) < enough:
        turned = "; samples are rows: is it transposed?" if values.ndim == 2 and values.shape[1] >= enough else ""
        raise ModelError(
            f"emg_envelope: the recording has shape {values.shape}; at {rate:g} Hz it needs at least {enough} samples{turned}"
        )
    if not np.isfinite(values).all():
        missing = np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1))
        raise ModelError(
            f"emg_envelope: {len(missing)} sample(s) are missing (not finite), the first at {missing[0] / rate:.3f} s; cut the "
            "recording there, or fill the gap"
        )
    flat = np.ptp(values, axis=0) == 0
    if np.any(flat):
        raise ModelError(f"emg_envelope: channel(s) {np.flatnonzero(flat).tolist()} are constant")
    return values


class ExcitationFilter(eqx.Module):
    """Delay and poles of `emg_to_excitation`, as free numbers: any values of the leaves give a stable filter of unit gain."""

    free_delay: Float[Array, ""]
    free_poles: Float[Array, "2"]

    @classmethod
    def of(cls, delay: float, c1: float, c2: float) -> ExcitationFilter:
        """From a delay [s] above 0, and c1, c2 between -1 and 1."""
        if not delay > 0:
            raise ModelError(f"ExcitationFilter: the delay is {delay:g} s; it must be above 0")
        if not (abs(c1) < FURTHEST and abs(c2) < FURTHEST):
            raise ModelError(
                f"ExcitationFilter: c1 and c2 are {c1:g} and {c2:g}; a stable filter has them between -1 and 1"
            )
        # The inverse of softplus in units of 10 ms, without overflow; of tanh.
        free = delay / 0.01
        return cls(jnp.array(free + np.log(-np.expm1(-free))), jnp.arctanh(jnp.array([c1, c2]) / FURTHEST))

    @property
    def delay(self) -> Float[Array, ""]:
        """[s]"""
        return 0.01 * nn.softplus(self.free_delay)

    @property
    def poles(self) -> Float[Array, "2"]:
        """c1 and c2 of Eq. 20."""
        return FURTHEST * jnp.tanh(self.free_poles)

    def __call__(self, envelope: Float[Array, "t *m"], step: float) -> Float[Array, "t *m"]:
        c1, c2 = self.poles
        return emg_to_excitation(envelope, step, self.delay, c1, c2)


def emg_to_excitation(
    envelope: Float[Array, "t *m"] | np.ndarray,
    step: float,
    delay: Float[Array, ""] | float,
    c1: Float[Array, ""] | float,
    c2: Float[Array, ""] | float,
) -> Float[Array, "t *m"]:
    """[t, *m] Excitation at the samples of an envelope recorded every `step` seconds (Eqs. 19-21).

        u(t) = alpha e(t - delay) - beta1 u(t - 1) - beta2 u(t - 2),
        alpha = 1 + beta1 + beta2,  beta1 = c1 + c2,  beta2 = c1 c2,  |c1|, |c2| < 1

    Between samples the envelope, from 0 to 1, is linear, so that the delay [s] may be any and has a derivative. Before the
    recording the envelope was what it is at its start, and the filter at rest. Where a positive c1 or c2 lets the filter
    overshoot, the excitation is clamped between 0 and 1. Delay and poles are the same for all muscles; `jax.vmap` gives each
    its own.
    """
    for name, value in (("delay", delay), ("c1", c1), ("c2", c2)):
        if np.ndim(value):
            raise ModelError(f"emg_to_excitation: {name} is one number, not an array of shape {np.shape(value)}")
    check_step("emg_to_excitation", step)
    envelope = in_unit_range("emg_to_excitation", "envelope", envelope)
    if not isinstance(delay, Tracer) and not 0 <= delay <= LONGEST_DELAY:
        raise ModelError(f"emg_to_excitation: the delay is {delay:g} s; it must be from 0 to {LONGEST_DELAY:g} s")
    if not all(isinstance(c, Tracer) or abs(c) < 1 for c in (c1, c2)):
        raise ModelError(
            f"emg_to_excitation: c1 and c2 are {c1:g} and {c2:g}; a stable filter has them between -1 and 1"
        )
    samples = jnp.asarray(delay, envelope.dtype) / step
    whole = jnp.floor(samples)
    gamma = 1 - (samples - whole)
    last = envelope.shape[0] - 1
    at = jnp.arange(last + 1) - whole.astype(int)
    delayed = gamma * envelope[jnp.clip(at, 0, last)] + (1 - gamma) * envelope[jnp.clip(at - 1, 0, last)]
    beta1, beta2 = c1 + c2, c1 * c2
    alpha = 1 + beta1 + beta2

    def advance(before: tuple[Array, Array], now: Array) -> tuple[tuple[Array, Array], Array]:
        u = alpha * now - beta1 * before[0] - beta2 * before[1]
        return (u, before[0]), u

    return clamped(lax.scan(advance, (envelope[0], envelope[0]), delayed)[1], 0.0, 1.0)
