"""Levenberg-Marquardt on problems whose answers are known."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy import optimize

from myograd.estimate.least_squares import Iterate, Options, Outcome, arrived, huber_weights, levenberg_marquardt

TIME = np.linspace(0, 3, 60)
TRUE = np.array([2.0, 1.3, 0.4])
START = np.array([1.0, 0.5, 0.0])


@dataclass
class Decay:
    """`a exp(-k t) + c`, measured with noise; known to be about `START`, give or take `spread`."""

    measured: np.ndarray
    spread: float = 1e3
    scales: np.ndarray = field(default_factory=lambda: np.array([1.0, 0.5, 0.1]))
    evaluations: int = 0

    def linearized(self, x: np.ndarray, state: int) -> tuple[np.ndarray, np.ndarray, int]:
        fall = np.exp(-x[1] * TIME)
        J = np.stack([fall, -x[0] * TIME * fall, np.ones_like(TIME)], axis=1)
        return x[0] * fall + x[2] - self.measured, J, state + 1

    def residual(self, x: np.ndarray, near: np.ndarray, state: int) -> tuple[np.ndarray, int]:
        self.evaluations += 1
        return x[0] * np.exp(-x[1] * TIME) + x[2] - self.measured, state

    def prior_rows(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (x - START) / (self.scales * self.spread), np.eye(3) / self.spread

    def penalty(self, x: np.ndarray) -> float:
        return float(np.sum(((x - START) / (self.scales * self.spread)) ** 2)) if x[1] > 0 else np.inf


def noisy(size: float = 0.01) -> np.ndarray:
    clean = TRUE[0] * np.exp(-TRUE[1] * TIME) + TRUE[2]
    return clean + size * np.random.default_rng(0).standard_normal(len(TIME))


def test_the_minimum_is_scipys():
    objective = Decay(noisy())
    end, outcome = levenberg_marquardt(objective, Iterate(START, 0), Options())
    other = optimize.least_squares(lambda x: objective.residual(x, x, 0)[0], START, xtol=1e-14, ftol=1e-14, gtol=1e-14)
    assert outcome is Outcome.CONVERGED and arrived(outcome, end.offset)
    np.testing.assert_allclose(end.x, other.x, atol=1e-5)
    assert end.state == end.count + 1  # one linearisation per iteration, and the last


def test_without_noise_it_ends_at_the_truth():
    end, outcome = levenberg_marquardt(Decay(noisy(0.0)), Iterate(START, 0), Options())
    assert arrived(outcome, end.offset)
    np.testing.assert_allclose(end.x, TRUE, rtol=1e-8)


def test_a_prior_decides_where_the_measurement_does_not():
    """With a prior that is much surer than 60 samples of noise, nothing moves."""
    end, _ = levenberg_marquardt(Decay(noisy(5.0), spread=1e-4), Iterate(START, 0), Options())
    np.testing.assert_allclose(end.x, START, atol=1e-3)


def test_outliers_weigh_less():
    measured = noisy()
    measured[::10] += 1.0
    plain, _ = levenberg_marquardt(Decay(measured), Iterate(START, 0), Options())
    robust, _ = levenberg_marquardt(Decay(measured), Iterate(START, 0), Options(huber=3.0))
    assert np.abs(robust.x - TRUE).max() < 0.2 * np.abs(plain.x - TRUE).max()
    weights = np.broadcast_to(robust.weights, TIME.shape)
    assert weights[::10].max() < 0.5 and np.median(weights) == 1.0


def test_huber_weights_make_squares_hubers_loss():
    r = np.array([0.1, -0.2, 0.1, 10.0])
    edge = 3 * 1.4826 * np.median(np.abs(r))
    np.testing.assert_allclose((huber_weights(r, 3.0) * r) ** 2, [0.01, 0.04, 0.01, edge * 10.0])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (Options(iterations=1), Outcome.NOT_ENOUGH_ITERATIONS),
        (Options(iterations=0), Outcome.NOT_ENOUGH_ITERATIONS),
        (Options(stall=1e9), Outcome.STALLED),
        (Options(unpromising=1e-9), Outcome.UNPROMISING),
    ],
)
def test_it_says_why_it_ended(options: Options, expected: Outcome):
    seen: list[int] = []
    kept: list[int] = []
    end, outcome = levenberg_marquardt(
        Decay(noisy(1e-9)),
        Iterate(np.array([0.2, 6.0, 3.0]), 0),
        options,
        lambda at: seen.append(at.count),
        lambda at: kept.append(at.count),
    )
    assert outcome is expected and not arrived(outcome, end.offset)
    assert kept == list(range(1, end.count + 1)) and seen == list(range(end.count))
    assert str(outcome) == outcome.value


def test_where_no_step_is_better_it_says_so():
    class Wrong(Decay):
        """Whose Jacobian has the wrong sign."""

        def linearized(self, x: np.ndarray, state: int) -> tuple[np.ndarray, np.ndarray, int]:
            r, J, state = super().linearized(x, state)
            return r, -J, state

    end, outcome = levenberg_marquardt(Wrong(noisy()), Iterate(START, 0), Options())
    assert outcome is Outcome.NO_BETTER_STEP
    assert not arrived(outcome, end.offset)
    np.testing.assert_array_equal(end.x, START)
