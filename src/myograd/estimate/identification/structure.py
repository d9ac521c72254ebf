"""Whether what a fit leaves is noise, or has structure that no noise has; and how large a systematic error may then be.

Geometry that is not the person's, a muscle that is missing, or steps that are too long leave a residual that varies smoothly
in time. Parameters absorb most of such an error, so what is left of it says too little: intervals made from it alone are too
narrow. Here the error at the true parameters is white noise plus a smooth random function of time, with covariance

    S = white^2 C + smooth^2 K,       K_ij = Matern's (5/2) of |t_i - t_j| / lasting,

K zero between recordings and between equations; C the correlation that a recording's low-pass gives white noise
(`signals.LowPass`), the identity without one. Rows are made white by the inverse of C's Cholesky factor. The three numbers are
the most likely ones for the part of the residual that no change of the parameters can reach: its projection beyond the columns
of the Jacobian (restricted maximum likelihood: Patterson and Thompson, Biometrika 58, 1971; for models that are wrong, Kennedy
and O'Hagan, J. R. Statist. Soc. B 63, 2001). The residual has structure where S is far more likely than noise alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize, signal
from threadpoolctl import threadpool_limits

MOST = 600  # rows that the likelihood is worked out for
LASTING = (0.01, 1.0)  # s, within which `lasting` is looked for ...
TRIED = 7  # ... at so many values first, then about the best of them
LEAST_WHITE = 1e-7  # of the smooth part's variance
LIKELIER = 16.0  # twice the logarithm of the ratio of likelihoods above which noise is not the explanation
MARGIN = 1.5  # times the estimate: systematic errors are not alike at all times, as K has them; one that was known was larger
SHARE = 0.1  # of the errors' variance: a smooth part below this is not worth a word
WHITE = np.ones(1)
JITTER = 1e-6  # of the noise's variance: where the low-pass leaves nothing of it, there is nothing to divide by


class Rows(NamedTuple):
    """One equation of one recording, n rows at equal steps."""

    residual: np.ndarray
    """[n]"""
    slopes: np.ndarray
    """[n, parameters]"""
    step: float
    """[s]"""
    noise: np.ndarray = WHITE
    """autocorrelation of the noise, by rows apart; zero beyond"""

    @property
    def noise_correlation(self) -> np.ndarray:
        """[n] by rows apart"""
        known = self.noise[: len(self.residual)]
        return np.pad(known, (0, len(self.residual) - len(known)))


@dataclass(frozen=True)
class Structure:
    """Of the errors that a residual has at the true parameters."""

    systematic: bool
    """whether noise cannot explain the residual"""
    likelier: float
    """twice the logarithm of the ratio of the two likelihoods"""
    white: float
    """standard deviation of the noise, in the residual's unit"""
    smooth: float
    """of the smooth part"""
    lasting: float
    """[s] over which that changes"""

    @property
    def allowed(self) -> float:
        """Size of smooth errors that intervals allow for."""
        return MARGIN * self.smooth

    def spread(self, rows: Sequence[Rows]) -> np.ndarray:
        """`J^T S J` [parameters, parameters], with the errors that are allowed for."""
        found = np.zeros((rows[0].slopes.shape[1],) * 2)
        for one in rows:
            n = len(one.residual)
            smooth = self.allowed**2 * matern(one.step * np.arange(n), self.lasting)
            half = smooth + self.white**2 * one.noise_correlation
            both = np.concatenate([half[:0:-1], half])
            found += one.slopes.T @ signal.fftconvolve(one.slopes, both[:, None], axes=0)[n - 1 : 2 * n - 1]
        return found

    def text(self) -> str:
        """In words; for a residual with structure."""
        return (
            f"What the fit leaves is systematic, not noise: it varies smoothly, over about {self.lasting:.2g} s. So the model "
            "does not describe these recordings exactly: the geometry of its muscles may not be the person's, or, without "
            f"noise, samples may be too far apart. The intervals allow for smooth errors of {self.allowed:.2g} rad/s², which "
            "include what the parameters are likely to have absorbed."
        )


def matern(apart: np.ndarray, lasting: float) -> np.ndarray:
    """Correlation of a function that can be differentiated twice, over times `apart` [s]."""
    x = np.sqrt(5) * apart / lasting
    return (1 + x + x**2 / 3) * np.exp(-x)


@threadpool_limits.wrap(limits=1, user_api="blas")  # many small decompositions: threads would wait for each other
def structure(rows: Sequence[Rows]) -> Structure:
    """Of all equations and recordings together."""
    count = sum(len(one.residual) for one in rows)
    rows = [_thinned(one, -(-count // MOST)) for one in rows]
    factors = [
        linalg.cholesky(linalg.toeplitz(one.noise_correlation) + JITTER * np.eye(len(one.residual)), lower=True)
        for one in rows
    ]
    r = np.concatenate([_whitened(factor, one.residual) for factor, one in zip(factors, rows, strict=True)])
    J = np.concatenate([_whitened(factor, one.slopes) for factor, one in zip(factors, rows, strict=True)])
    beyond = _beyond(J)
    y = beyond.T @ r
    size = float(np.mean(y**2)) if len(y) else 0.0
    if len(y) < 3 or size == 0:
        return Structure(False, 0.0, float(np.sqrt(size)), 0.0, LASTING[0])
    as_noise = len(y) * (1 + np.log(size))

    def tried(log: float) -> tuple[float, float, float]:
        blocks = []
        for factor, one in zip(factors, rows, strict=True):
            K = linalg.toeplitz(matern(one.step * np.arange(len(one.residual)), np.exp(log)))
            blocks.append(_whitened(factor, _whitened(factor, K).T))
        values, vectors = linalg.eigh(beyond.T @ linalg.block_diag(*blocks) @ beyond)
        return _most_likely(np.maximum(values, 0.0), (vectors.T @ y) ** 2)

    grid = np.linspace(np.log(LASTING[0]), np.log(LASTING[1]), TRIED)
    at = int(np.argmin([tried(log)[0] for log in grid]))
    between = grid[max(at - 1, 0)], grid[min(at + 1, TRIED - 1)]
    log = float(np.asarray(optimize.fminbound(lambda log: tried(log)[0], *between, xtol=0.05)))
    least, white_variance, smooth_variance = tried(log)
    likelier = float(as_noise - least)
    systematic = likelier > LIKELIER and smooth_variance > SHARE * (smooth_variance + white_variance)
    white, smooth = float(np.sqrt(white_variance)), float(np.sqrt(smooth_variance))
    return Structure(systematic, likelier, white, smooth, float(np.exp(log)))


def _thinned(rows: Rows, every: int) -> Rows:
    return Rows(rows.residual[::every], rows.slopes[::every], every * rows.step, rows.noise[::every])


def _whitened(factor: np.ndarray, x: np.ndarray) -> np.ndarray:
    return linalg.solve_triangular(factor, x, lower=True)


def _beyond(J: np.ndarray) -> np.ndarray:
    """[rows, rest] orthonormal directions that no change of the parameters reaches."""
    size = np.linalg.norm(J, axis=0)
    J = J[:, size > 0] / size[size > 0]
    return np.linalg.qr(J, mode="complete")[0][:, J.shape[1] :]


def _most_likely(values: np.ndarray, squares: np.ndarray) -> tuple[float, float, float]:
    """-2 log likelihood, and the variances of noise and of the smooth part that make it smallest. `values`: eigenvalues of K;
    `squares`: of the residual along its eigenvectors."""

    def smooth_of(log: float) -> tuple[np.ndarray, float]:
        variances = values + np.exp(log)
        return variances, float(np.mean(squares / variances))

    def unlikely(log: float) -> float:
        variances, smooth = smooth_of(log)
        return float(np.sum(np.log(variances)) + len(values) * (1 + np.log(smooth)))

    grid = np.linspace(np.log(LEAST_WHITE), np.log(1e4), 26)
    at = int(np.argmin([unlikely(log) for log in grid]))
    low, high = grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]
    log = float(np.asarray(optimize.fminbound(unlikely, low, high, xtol=1e-3)))
    smooth = smooth_of(log)[1]
    return unlikely(log), smooth * float(np.exp(log)), smooth
