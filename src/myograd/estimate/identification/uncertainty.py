"""How well a fit knows what it found: standard errors, and combinations that the recording leaves open.

Gauss-Newton: with J the Jacobian of the residual, s its noise and A the prior's rows, `H = J^T J / s^2 + A^T A`, and the
covariance of the parameters is `H^-1 (J^T Omega J / s^4 + A^T A) H^-1`: residuals are correlated in time (motion is filtered,
EMG is smooth), and Omega is the Toeplitz matrix of their own autocovariance; or, where they are systematic, the covariance of
the errors that they point to (`structure`), which is larger. The prior's part is that of numbers whose true values lie about the
prior's center.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import jax
import jax.numpy as jnp
import numpy as np
from scipy import signal

from ..inverse.regressors import NAMES
from ..parameters import default_prior
from .choices import COMMON_NUMBERS
from .fit import Fit
from .problem import Problem
from .structure import WHITE, Rows, Structure, structure

WELL = 0.05  # relative standard error up to which a number counts as well determined ...
NOISE = 0.01  # ... at this white noise of the residual [rad/s^2]
OPEN = 1e-12  # part of the largest singular value below which a combination has no effect
MEMORY = 0.5  # s over which the autocovariance is kept
OF_INTERVAL = 1.959964  # standard errors to either side of a 95 % interval
LEARNED = (
    0.5  # of the prior's variance: where the recording has not taken as much of it away, a number is the model's own
)
TIMING = tuple(number.field for number in COMMON_NUMBERS)


class Verdict(StrEnum):
    """Of a number that was looked for."""

    WELL_DETERMINED = "well determined"
    POORLY_DETERMINED = "poorly determined"
    AT_LIMIT = "at its limit"
    NOT_CONVERGED = "fit not converged"


def relative_errors(problem: Problem, z: np.ndarray, noise: float = NOISE) -> np.ndarray:
    """Relative standard errors of all numbers at z for white residual noise, without a prior; infinite where a combination
    without effect takes part."""
    _, J, _ = problem.linearized(z, problem.guess(z))
    p = problem.parameters
    scale = p.scales()
    per = np.asarray(jax.jacfwd(p.physical)(jnp.asarray(z))) * scale
    _, s, Vt = np.linalg.svd(np.linalg.qr(J * scale, mode="r"))
    clear = s > OPEN * s[0]
    size = np.abs(np.asarray(p.physical(jnp.asarray(z))))
    size = np.where(size > 0, size, np.inf)
    error = noise * np.sqrt(np.sum((per @ (Vt[clear].T / s[clear])) ** 2, axis=1)) / size
    unknown = np.sqrt(np.sum((per @ Vt[~clear].T) ** 2, axis=1)) / size
    return np.where(unknown > 1e-6, np.inf, error)


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Of a fit's numbers, in the order of `parameters.names`."""

    errors: np.ndarray
    """standard errors, in the numbers' own units"""
    covariance: np.ndarray
    learned: np.ndarray
    """from 0 to 1: how much of what was unknown before (the prior's variance) the recording has taken away"""
    noise: float
    """of the residual, root mean square [rad/s^2]"""
    correlation: float
    """how many samples count as one"""
    singular: np.ndarray
    """singular values of the Jacobian, over the noise, in relative parameters"""
    combinations: np.ndarray
    """[values, parameters] the combinations that belong to them"""
    structure: Structure
    """of the residual; the errors account for it"""

    def interval(self, fit: Fit) -> np.ndarray:
        """[2, parameters] 95 % intervals."""
        return fit.physical + OF_INTERVAL * np.array([[-1.0], [1.0]]) * self.errors

    def verdicts(self, fit: Fit) -> list[Verdict]:
        """Of every number. A fit that has not converged determines nothing."""
        p = fit.problem.parameters
        if not fit.converged:
            return [Verdict.NOT_CONVERGED] * len(p.names)
        limits = set(p.near_limits(fit.z))
        return [
            Verdict.AT_LIMIT
            if name in limits
            else Verdict.WELL_DETERMINED
            if learned > LEARNED
            else Verdict.POORLY_DETERMINED
            for name, learned in zip(p.names, self.learned, strict=True)
        ]


def advice(field: str) -> str:
    """What movement would determine a number."""
    if field in NAMES:
        return "needs faster changes of speed about other axes, in more postures"
    return {
        "pennation_angle": "needs fibres that get much longer and shorter while the muscle is active",
        "optimal_fiber_length": "needs a larger range of the muscle's length while it is active",
        "tendon_slack_length": "needs forces from small to large at similar postures",
        "max_contraction_velocity": "needs faster shortening and lengthening while the muscle is active",
        "max_isometric_force": "needs more activity of this muscle alone",
        "emg_gain": "needs strong activity; a gain and a maximum force do nearly the same",
        **dict.fromkeys(TIMING, "needs abrupt changes of EMG"),
    }.get(field, "needs movements on which it has more influence")


def uncertainty(fit: Fit) -> Uncertainty:
    """At the point where a fit has arrived."""
    problem, z = fit.problem, fit.z
    p = problem.parameters
    scale = p.scales()
    r, J, _ = problem.linearized(z, fit.fibers)
    if fit.weights is not None:
        r, J = fit.weights * r, fit.weights[:, None] * J
    J = J * scale
    prior = fit.prior or default_prior(p, z)
    _, A = prior.rows(p, z)
    noise, determined = _noise(r, J, A)
    H = J.T @ J / noise**2 + A.T @ A
    white = noise**2 * (J.T @ J)
    rows = rows_by_equation(problem, r, J)
    found = structure(rows)
    if found.systematic:
        spread = found.spread(rows)
    else:
        spread = sum(_correlated(one.residual, one.slopes, max(1, int(MEMORY / one.step))) for one in rows)
        spread = spread * len(r) / (len(r) - determined)
    inverse = np.linalg.inv(H)
    covariance = inverse @ (spread / noise**4 + A.T @ A) @ inverse
    per = np.asarray(jax.jacfwd(p.physical)(jnp.asarray(z))) * scale
    _, s, Vt = np.linalg.svd(np.linalg.qr(J, mode="r"))
    before = np.sum((per @ np.linalg.inv(A)) ** 2, axis=1)
    after = np.einsum("ij,jk,ik->i", per, covariance, per)
    return Uncertainty(
        np.sqrt(np.maximum(after, 0)),
        per @ covariance @ per.T,
        np.clip(1 - after / before, 0, 1),
        noise,
        float(np.trace(spread) / max(np.trace(white), 1e-300)),
        s / noise,
        Vt,
        found,
    )


def rows_by_equation(problem: Problem, r: np.ndarray, J: np.ndarray) -> list[Rows]:
    """Residual and Jacobian, by recording and equation. Rows adjusted to errors of EMG keep the low-pass's correlation at most:
    the adjustment takes the motion's noise for white, and takes away what EMG makes smooth."""
    k, found = problem.identifiability.equations, []
    for rows, scheme, low_pass, own_r, own_J in zip(
        problem.compared, problem.schemes, problem.low_passes, problem.parts(r), problem.parts(J), strict=True
    ):
        noise = WHITE if low_pass is None else low_pass.noise
        step = scheme.step * float(np.median(np.diff(rows))) if len(rows) > 1 else scheme.step
        found += [Rows(own_r[i::k], own_J[i::k], step, noise) for i in range(k)]
    return found


def _noise(r: np.ndarray, J: np.ndarray, A: np.ndarray) -> tuple[float, float]:
    """The residual's noise, and how many numbers the residual rather than the prior (rows A) determines: each of them takes a
    row's noise away."""
    determined = 0.0
    for _ in range(5):  # one depends on the other, weakly
        noise = float(np.sqrt(r @ r / (len(r) - determined)))
        data = J.T @ J / noise**2
        determined = min(float(np.trace(np.linalg.solve(data + A.T @ A, data))), len(r) - 1.0)
    return noise, determined


def _correlated(r: np.ndarray, J: np.ndarray, lags: int) -> np.ndarray:
    """`J^T Omega J` with Omega the Toeplitz matrix of r's autocovariance, which fades to zero over `lags` samples."""
    n = len(r)
    lags = min(lags, n - 1)
    whole = signal.correlate(r, r, method="fft")[n - 1 : n + lags] / n
    half = whole * (1 - np.arange(lags + 1) / (lags + 1))
    both = np.concatenate([half[:0:-1], half])
    return J.T @ signal.fftconvolve(J, both[:, None], mode="full", axes=0)[lags : lags + n]
