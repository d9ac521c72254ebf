"""A fit that knows that EMG has errors, not only motion.

Errors of EMG make forces wrong, and a fit that takes EMG for exact finds what hides them: slower activation, weaker muscles
(attenuation). Here the true envelope of a muscle is `(1 + e(t))` times the recorded one, with e a cubic spline whose
coefficients x are as large as the EMG's relative noise, and

    r(z, x) = motion's noise,       minimise |r(z, x)|^2 / s^2 + |x|^2 / noise^2 + prior(z).

As r is nearly linear in x, these are eliminated: with `R = dr/dx` about the present x0, `r(z, x0) - R x0` has the covariance
`S = s^2 I + noise^2 R R^T`, and x follows as `-noise^2 R^T S^-1 (r - R x0)`. Parameters, then errors and S, and again, until
nothing moves: three or four rounds. (Britt and Luecke, The estimation of parameters in nonlinear, implicit models, Technometrics
15, 1973.) The motion's noise s is what makes the residual most likely. The EMG's cannot be found in the same way: estimates
were anywhere from 0 to 3 % where 5 % were true. So the caller has to say it.

It starts from a `fit`, and stays in its minimum: a `search` before it made no difference that four trials could show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np
from scipy import interpolate, linalg, optimize
from threadpoolctl import threadpool_limits

from ...errors import MyogradError
from ..least_squares import Options, Outcome
from .fit import Fit, Progress, fit, loss_of
from .problem import Adjusted, Problem
from .residual import by_envelope

MEMORY = 0.6  # s after which a muscle has forgotten a moment of EMG
SPACING = 0.28  # periods of the envelope's cut-off between knots: the spline's spectrum falls to a half where the filter's does
VARIANCE = 0.479  # of a cubic spline with coefficients of variance one
ROUNDS, ITERATIONS = 20, 40
LOWEST = 8.0  # e-folds below the residual in which the motion's noise is looked for
AT_REST = 1e-2  # relative change of every number in a round: intervals under noise are some percent wide, and the delay has kinks


@dataclass(frozen=True)
class EmgNoise:
    """What is known of the errors of EMG envelopes."""

    relative: float = 0.05
    """standard deviation, over the envelope itself"""
    cutoff: float = 6.0
    """[Hz] of the low-pass that made the envelopes; errors are as slow"""

    def __post_init__(self) -> None:
        if not 0 <= self.relative < 1:
            raise MyogradError(f"the noise of EMG is a part of the envelope, from 0 to 1, not {self.relative:g}")
        if not 0 < self.cutoff < np.inf:
            raise MyogradError(f"the cut-off of EMG envelopes is a frequency above 0 Hz, not {self.cutoff:g}")


@dataclass(frozen=True, eq=False)
class Splines:
    """Cubic B-splines over one recording, of unit variance."""

    values: np.ndarray
    """[T, n]"""
    starts: np.ndarray
    """[n] s: before it a spline is zero"""
    lasting: float
    """[s] for which a muscle remembers it"""


def splines(samples: int, step: float, cutoff: float) -> Splines:
    spacing = SPACING / cutoff
    count = int(np.ceil((samples - 1) * step / spacing)) + 3
    knots = spacing * (np.arange(count + 4) - 3)
    at = np.minimum(step * np.arange(samples), knots[count] * (1 - 1e-12))
    values = interpolate.BSpline.design_matrix(at, knots, 3).toarray()
    return Splines(values / np.sqrt(VARIANCE), knots[:count], 4 * spacing + MEMORY)


# One thread for BLAS, of the whole process: idle threads of BLAS would keep JAX's waiting.
@threadpool_limits.wrap(limits=1, user_api="blas")
def refine(found: Fit, noise: EmgNoise, report: Callable[[Progress], None] = lambda _: None) -> Fit:
    """A fit, from where another one has arrived that took EMG for exact. Its problem is about corrected EMG, and its
    rows are weighed by their covariance; its loss is that of the EMG as it was recorded."""
    problem = found.problem
    if noise.relative == 0:
        return found
    need_noise(problem, noise)
    if found.weights is not None:
        raise MyogradError(
            "a robust loss and noise of EMG exclude each other: errors are eliminated from all samples alike"
        )
    basis = [
        splines(len(data.emg), scheme.step, noise.cutoff)
        for data, scheme in zip(problem.data, problem.schemes, strict=True)
    ]
    errors = [np.zeros((it.values.shape[1], data.emg.shape[1])) for it, data in zip(basis, problem.data, strict=True)]
    now, present, history, at_rest = found, problem, list(found.history), False
    for count in range(ROUNDS):
        before = now.z
        present, errors = _adjusted(problem, present, now, basis, errors, noise.relative)
        now = fit(present, before, Options(ITERATIONS), found.prior, report)
        history += now.history[1:]
        moved = np.max(np.abs(now.z - before) / problem.parameters.scales())
        at_rest = count > 0 and now.converged and bool(moved < AT_REST)
        if at_rest:
            break
    failed = Outcome.ALTERNATION if now.converged else now.outcome
    return replace(
        now,
        loss=loss_of(problem, problem.residual(now.z, now.fibers)[0]),
        converged=at_rest,
        outcome=Outcome.CONVERGED if at_rest else failed,
        iterations=len(history) - 1,
        history=history,
    )


def need_noise(problem: Problem, noise: EmgNoise) -> None:
    """Raise where recordings cannot have such noise."""
    if None in problem.low_passes:
        raise MyogradError(
            "EMG and motion errors can only be separated below a cut-off frequency: give the recordings a low_pass, or no noise "
            "of EMG"
        )
    rate = min(1 / scheme.step for scheme in problem.schemes)
    if noise.cutoff >= rate / 2:
        raise MyogradError(f"EMG of {rate:.4g} samples a second has no envelopes up to {noise.cutoff:g} Hz")


def _adjusted(
    measured: Problem, present: Problem, now: Fit, basis: list[Splines], errors: list[np.ndarray], relative: float
) -> tuple[Problem, list[np.ndarray]]:
    """The problem about EMG as it is corrected from where a fit is; and the coefficients of its errors [n, m]."""
    z = now.z
    plain = replace(present, adjusted=None)
    parts = []
    for i, r in enumerate(plain.parts(plain.residual(z, now.fibers)[0])):
        R = _slopes(measured, plain, i, now, basis[i])
        parts.append((R, r - R @ errors[i].T.ravel()))
    spread = motion_noise(parts, relative)
    covariances = [relative**2 * R @ R.T + spread**2 * np.eye(len(R)) for R, _ in parts]
    scale = np.sqrt(np.mean(np.concatenate([np.diag(S) for S in covariances])))
    data, adjusted, corrected = [], [], []
    for S, (R, left), it, of in zip(covariances, parts, basis, measured.data, strict=True):
        factor = np.linalg.cholesky(S)
        x = -(relative**2) * R.T @ linalg.cho_solve((factor, True), left)
        corrected.append(x.reshape(of.emg.shape[1], -1).T)
        adjusted.append(Adjusted(R @ x, factor / scale))
        data.append(of._replace(emg=jnp.maximum(of.emg * (1 + it.values @ corrected[-1]), 0.0)))
    return replace(measured, data=tuple(data), adjusted=tuple(adjusted)), corrected


def _slopes(measured: Problem, plain: Problem, of: int, now: Fit, basis: Splines) -> np.ndarray:
    """[rows, m n] R of one recording. A muscle forgets, so that splines further apart than that are tried out together."""
    unknowns = plain.parameters.unknowns(jnp.asarray(now.z))
    driven, scheme, data = plain.at(of, unknowns, now.fibers[of])
    n = basis.values.shape[1]
    apart = int(np.ceil(basis.lasting / (basis.starts[1] - basis.starts[0])))
    together = np.array([basis.values[:, k::apart].sum(axis=1) for k in range(min(apart, n))])
    changes = together[:, :, None] * np.asarray(measured.data[of].emg)
    by_error, by_force = map(np.asarray, by_envelope(driven, scheme, data, unknowns, jnp.asarray(changes)))
    time = np.asarray(data.rows) * scheme.step * scheme.stride
    own = [slice(*np.searchsorted(time, [start - 1e-9, start + basis.lasting - 1e-9])) for start in basis.starts]
    low_pass = plain.low_passes[of]
    assert low_pass is not None
    compared = []
    for m in range(by_force.shape[2]):  # one at a time: before they are thinned, rows take much memory
        R = np.zeros((*by_force.shape[:2], n))
        for j, rows in enumerate(own):
            R[rows, :, j] = by_force[rows, :, m] * by_error[j % apart, rows, m][:, None]
        compared.append(low_pass(R).reshape(-1, n))
    return np.concatenate(compared, axis=1)


def motion_noise(parts: list[tuple[np.ndarray, np.ndarray]], relative: float) -> float:
    """s that makes the residuals most likely, beside what errors of EMG explain. `parts`: of each recording R and `r - R x0`."""
    eigen = [linalg.eigh(R @ R.T) for R, _ in parts]
    of_emg = relative**2 * np.concatenate([np.maximum(values, 0) for values, _ in eigen])
    squares = np.concatenate([(V.T @ left) ** 2 for (_, V), (_, left) in zip(eigen, parts, strict=True)])

    def unlikely(log: float) -> float:
        variance = np.exp(2 * log) + of_emg
        return float(np.sum(np.log(variance) + squares / variance))

    most = np.log(np.sqrt(np.mean(squares))) + 1
    return float(np.exp(optimize.fminbound(unlikely, most - LOWEST, most)))
