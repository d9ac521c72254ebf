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
    values = _recording(emg, rate, order)
    low, high = band
    if not 0 < low < high:
        raise ModelError(f"emg_envelope: the band is from {low:g} to {high:g} Hz; it must go up from above 0")
    if not high < rate / 2:
        raise ModelError(
            f"emg_envelope: a recording at {rate:g} Hz holds nothing above {rate / 2:g} Hz, but the band goes up to {high:g} Hz; "
            f"check the rate, or give a band below {rate / 2:g} Hz"
        )
    if not 0 < low_pass < low:
        raise ModelError(f"emg_envelope: low_pass is {low_pass:g} Hz; it must be above 0 and below the band")
    for kind, edges in (("bandpass", band), ("lowpass", low_pass)):
        sections = signal.butter(order // 2, edges, kind, fs=rate, output="sos")
        values = signal.sosfiltfilt(sections, values, axis=0)
        if kind == "bandpass":
            values = np.abs(values)
    most = values.max(axis=0) if mvc is None else np.asarray(mvc, float)
    if most.shape not in ((), values.shape[1:]) or not np.all(np.isfinite(most) & (most > 0)):
        raise ModelError(
            f"emg_envelope: mvc must be above 0, one number or one for each of the {values.shape[1:]} channels; it is {most}"
        )
    return np.clip(values / most, 0.0, 1.0)


def _recording(emg: Any, rate: float, order: int) -> np.ndarray:
    if not (rate > 0 and np.isfinite(rate)):
        raise ModelError(f"emg_envelope: the rate is {rate:g} Hz; it must be above 0")
    if order < 2 or order % 2:
        raise ModelError(f"emg_envelope: order is {order}; it counts both runs of the filter, so it is 2, 4, 6, ...")
    values = np.asarray(emg, float)
    if values.ndim == 0 or len(values) < 20 * order:
        raise ModelError(
            f"emg_envelope: the recording has shape {values.shape}; it needs at least {20 * order} samples"
        )
    if not np.isfinite(values).all():
        missing = np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1))
        raise ModelError(
            f"emg_envelope: {len(missing)} sample(s) are missing (not finite), the first at {missing[0] / rate:.3f} s; cut the "
            "recording there, or fill the gap"
        )
    flat = np.ptp(values, axis=0) == 0
    if np.any(flat):
        raise ModelError(f"emg_envelope: channel(s) {np.flatnonzero(flat).tolist()} hold one value only")
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
        if not max(abs(c1), abs(c2)) < FURTHEST:
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

    Between samples the envelope is linear, so that the delay [s] may be any and has a derivative. Before the recording the
    envelope was what it is at its start, and the filter at rest.
    """
    if not isinstance(envelope, Tracer) and not np.isfinite(np.asarray(envelope)).all():
        row = int(np.argwhere(~np.isfinite(np.asarray(envelope)))[0][0])
        raise ModelError(f"emg_to_excitation: the envelope is not finite in row {row}; fill the gap first")
    if not step > 0:
        raise ModelError(f"emg_to_excitation: the step is {step:g} s; it must be above 0")
    if not isinstance(delay, Tracer) and not delay >= 0:
        raise ModelError(f"emg_to_excitation: the delay is {delay:g} s; it must not be negative")
    if not any(isinstance(c, Tracer) for c in (c1, c2)) and not max(abs(c1), abs(c2)) < 1:
        raise ModelError(
            f"emg_to_excitation: c1 and c2 are {c1:g} and {c2:g}; a stable filter has them between -1 and 1"
        )
    envelope = jnp.asarray(envelope, float)
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

    return lax.scan(advance, (envelope[0], envelope[0]), delayed)[1]
