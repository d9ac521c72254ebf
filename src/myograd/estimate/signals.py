"""What is compared of a noisy recording: accelerations and forces, both low-passed, at samples that this leaves independent.

Angles that are low-passed before they are differentiated lose what quick movements have above the cut-off, and forces from EMG
do not: the fit would bend the parameters to make up for it. So angles keep three times the band (`recording.smooth_motion`),
and the residual, the difference of the motion's torques and the muscles', is low-passed as a whole. That is a weighting of
its rows, and distorts nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import signal

FINE = 16  # rows per period of the cut-off, before it
COARSE = 3  # and after it: more would repeat each other
EDGE = 1.5  # periods of the cut-off at either end, where the filter would need what was not recorded


@dataclass(frozen=True, eq=False)
class LowPass:
    """A Butterworth filter of order 4 (both ways together) on the rows of one recording, of which one in `keep` is kept."""

    kernel: np.ndarray
    """[2 K + 1] its impulse response"""
    edge: int
    """rows without a result, at either end"""
    keep: int

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """[R, ...] -> [kept, ...]"""
        kernel = self.kernel.reshape(-1, *(1,) * (x.ndim - 1))
        return self.kept(signal.fftconvolve(x, kernel, mode="same", axes=0))

    @property
    def noise(self) -> np.ndarray:
        """Autocorrelation of what it makes of white noise, by rows apart that are kept."""
        found = signal.correlate(self.kernel, self.kernel)[len(self.kernel) - 1 :: self.keep]
        return found / found[0]

    def kept(self, x: np.ndarray) -> np.ndarray:
        """Of R rows, those that are left."""
        return x[self.edge : len(x) - self.edge : self.keep]


def rows_apart(low_pass: float, step: float) -> int:
    """Samples between two rows that are to be low-passed [Hz]; an even number, so that every other sample has all rows."""
    most = int(1 / (FINE * low_pass * step))
    return max(1, most - most % 2)


def low_pass_of(low_pass: float, step: float) -> LowPass:
    """For rows `step` seconds apart."""
    edge = int(np.ceil(EDGE / low_pass / step))
    impulse = np.zeros(8 * edge + 1)
    impulse[4 * edge] = 1.0
    sections = signal.butter(2, low_pass, fs=1 / step, output="sos")
    response = signal.sosfiltfilt(sections, impulse, padlen=0)[2 * edge : -2 * edge]
    return LowPass(response / response.sum(), edge, max(1, int(1 / (COARSE * low_pass * step))))
