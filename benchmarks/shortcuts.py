"""What the muscles' own shortcuts are worth: exact force curves against paper 000's fits, recordings integrated in parallel.

    python benchmarks/shortcuts.py

Paper 000 fits each force curve by 8 to 15 polynomials joined C1, because OpenSim's Bézier curves need an iteration. Myograd
solves them exactly, in a fixed number of steps (`muscle/curves/bezier.py`). Here are both: fits by least squares with knots
that are moved until the errors of all pieces are alike, each with the lowest degree and the fewest pieces that reach 1e-4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.polynomial import Polynomial
from ours import runner
from timing import timed

from myograd.model.description.muscle_properties import MILLARD_CURVES
from myograd.muscle.activation import integrate_activation
from myograd.muscle.curves.bezier import BezierCurve, value_at
from myograd.muscle.curves.millard import curve_of
from myograd.muscle.curves.millard import fitted as left_to_the_class

ENOUGH = 1e-4  # error that the fits may have


class Curve:
    """One of Millard's curves, with his own numbers, for any number of muscles."""

    def __init__(self, name: str, muscles: int):
        known = {key: number for key, number in MILLARD_CURVES[name].items() if number is not None}
        numbers = left_to_the_class(name, known) | known
        self.each: BezierCurve = curve_of(name, {key: jnp.full(muscles, x) for key, x in numbers.items()})
        self._one = curve_of(name, {key: jnp.array([x]) for key, x in numbers.items()})
        self.knots, self.slopes = np.asarray(self._one.knots)[:, 0], np.asarray(self._one.slopes)[:, 0]

    def __call__(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Value, slope and curvature."""

        def slope(x: jax.Array) -> jax.Array:
            return jax.jvp(lambda x: value_at(self._one, x), (x,), (jnp.ones_like(x),))[1]

        at = jnp.asarray(x)
        bend = jax.jvp(slope, (at,), (jnp.ones_like(at),))[1]
        return np.asarray(value_at(self._one, at)), np.asarray(slope(at)), np.asarray(bend)


class Fit(NamedTuple):
    """C1 polynomials on neighbouring pieces, straight lines beyond both ends."""

    knots: np.ndarray
    rows: np.ndarray  # [pieces + 2, degree + 2] left end, and coefficients of ascending powers from there
    error: float


def best_fit(curve: Curve) -> Fit:
    """With the lowest degree, and then the fewest of 8 to 15 pieces, that come as close as ENOUGH."""
    return next(
        fit
        for degree in (3, 4, 5, 6, 7)
        for pieces in range(8, 16)
        if (fit := least_squares_fit(curve, pieces, degree)).error <= ENOUGH
    )


def least_squares_fit(curve: Curve, pieces: int, degree: int, rounds: int = 60) -> Fit:
    """Least squares over values and slopes at the knots, which neighbours share, and over what the degree leaves free. Value and
    slope at both ends are the curve's. Knots move until the largest errors of all pieces are alike."""
    low, high = curve.knots[[0, -1]]
    fine = np.linspace(low, high, 4001)
    bend = np.abs(np.gradient(curve(fine)[2], fine)) ** (1 / (degree + 1)) + 1e-3
    share = np.concatenate([[0.0], np.cumsum(bend[1:] + bend[:-1])])
    knots = np.interp(np.linspace(0.0, share[-1], pieces + 1), share, fine)
    best = Fit(knots, knots, np.inf)
    for _ in range(rounds):
        rows, errors = _solve(curve, knots, degree)
        if errors.max() < best.error:
            best = Fit(knots, rows, float(errors.max()))
        grown = np.diff(knots) * np.clip(errors / np.exp(np.log(errors).mean()), 0.1, 10.0) ** (-0.5 / (degree + 1))
        knots = low + (high - low) * np.concatenate([[0.0], np.cumsum(grown)]) / grown.sum()
        knots[-1] = high
    return best


def _solve(curve: Curve, knots: np.ndarray, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and the largest error on each piece, for given knots."""
    pieces, samples = len(knots) - 1, 30
    s = 0.5 - 0.5 * np.cos(np.pi * (np.arange(samples) + 0.5) / samples)
    width = np.diff(knots)
    # Of s from 0 to 1: Hermite's cubics for values and slopes at both ends, and polynomials that vanish there with their slopes.
    shapes = [Polynomial(c) for c in ([1, 0, -3, 2], [0, 0, 3, -2], [0, 1, -2, 1], [0, 0, -1, 1])]
    shapes += [Polynomial([0, 0, 1, -2, 1]) * Polynomial([0, 1]) ** k for k in range(degree - 3)]
    used = np.zeros((pieces, len(shapes)), int)  # which unknown each shape of a piece is scaled by
    count = 2 * (pieces + 1)
    for i in range(pieces):
        used[i] = [i, i + 1, pieces + 1 + i, pieces + 2 + i, *range(count, count + degree - 3)]
        count += degree - 3
    scale = np.ones((pieces, len(shapes)))
    scale[:, 2:4] = width[:, None]  # slopes are per x
    system = np.zeros((pieces, samples, count))
    for i in range(pieces):
        system[i][:, used[i]] = np.stack([f(s) for f in shapes], axis=1) * scale[i]
    x = knots[:-1, None] + width[:, None] * s
    y = curve(x.ravel())[0]
    ends = [0, pieces, pieces + 1, 2 * pieces + 1]
    known = np.array([*curve(knots[[0, -1]])[0], *curve.slopes])
    matrix = system.reshape(-1, count)
    free = np.setdiff1d(np.arange(count), ends)
    unknown = np.zeros(count)
    unknown[ends] = known
    unknown[free] = np.linalg.lstsq(matrix[:, free], y - matrix[:, ends] @ known, rcond=None)[0]
    errors = np.abs(matrix @ unknown - y).reshape(pieces, samples).max(axis=1)
    rows = np.zeros((pieces + 2, degree + 2))
    rows[:, 0] = [knots[0], *knots]
    for i in range(pieces):
        together = sum((f * (scale[i, k] * unknown[used[i, k]]) for k, f in enumerate(shapes)), Polynomial([0.0]))
        rows[i + 1, 1 : 1 + len(together.coef)] = together.coef / width[i] ** np.arange(len(together.coef))
    rows[[0, -1], 1], rows[[0, -1], 2] = known[:2], known[2:]
    return rows, errors + 1e-18


def fitted(fit: Fit) -> Callable[[jax.Array], jax.Array]:
    def value(x: jax.Array) -> jax.Array:
        piece = jnp.sum((x >= fit.knots[:, None]).astype(jnp.int32), axis=0)
        c = jnp.moveaxis(jnp.asarray(fit.rows).at[piece].get(mode="promise_in_bounds"), -1, 0)
        s = x - c[0]
        y = c[-1]
        for coefficient in c[-2:0:-1]:
            y = y * s + coefficient
        return y

    return value


def nanoseconds(function: Callable[[Any], Any], x: Any, per: int, steps: int = 200) -> float:
    """Of one evaluation inside a compiled loop, per element."""

    def body(x: Any, _: None) -> tuple[Any, None]:
        return jax.tree.map(lambda a, b: 0.999 * a + 1e-3 * b, x, function(x)), None

    program = jax.jit(lambda x: jax.lax.scan(body, x, None, length=steps)[0])
    return 1e3 * timed(runner(program, x), steps * per, 0.0, least=25).best


def compare_curves(muscles: int = 80) -> None:
    random = np.random.default_rng(0)
    ranges = ((0.5, 1.7), (-0.9, 0.9), (1.0, 1.6), (1.0, 1.05))
    print(f"one curve, ns per muscle ({muscles} muscles)   exact   fit   pieces  degree  largest error: value   slope")
    for name, (low, high) in zip(MILLARD_CURVES, ranges, strict=True):
        curve = Curve(name, muscles)
        fit = best_fit(curve)
        polynomial = fitted(fit)
        grid = np.linspace(low - 0.3, high + 0.3, 20001)
        value, slope = jax.vmap(jax.value_and_grad(lambda x, f=polynomial: f(x[None])[0]))(jnp.asarray(grid))
        off = [float(np.abs(np.asarray(a) - b).max()) for a, b in zip((value, slope), curve(grid), strict=False)]
        x = jnp.asarray(random.uniform(low, high, muscles))
        times = [nanoseconds(f, x, muscles) for f in (lambda x, c=curve.each: value_at(c, x), polynomial)]
        pieces, degree = len(fit.knots) - 1, fit.rows.shape[1] - 2
        print(f"  {name:<40} {times[0]:6.1f} {times[1]:6.1f} {pieces:7d} {degree:7d} {off[0]:21.1e} {off[1]:8.1e}")


def compare_activation(samples: int = 60_000, rate: float = 1000.0) -> None:
    random = np.random.default_rng(2)
    print(f"activation of {samples} samples, ms   one after the other   in parallel   largest difference")
    for muscles in (1, 4, 8, 16):
        walk = np.cumsum(random.normal(size=(samples, muscles)), axis=0)
        excitation = jnp.asarray(np.abs(0.02 * walk % 2 - 1))

        def total(times: jax.Array, parallel: bool, excitation: jax.Array = excitation) -> jax.Array:
            a = integrate_activation(
                excitation, 1 / rate, times[0], times[1], parallel=parallel, settle=2.0, substeps=1
            )
            return jnp.sum(jnp.sin(a))

        plain = [jax.jit(lambda e, p=p: integrate_activation(e, 1 / rate, parallel=p)) for p in (False, True)]
        results = [np.asarray(f(excitation)) for f in plain]
        gap = np.abs(results[0] - results[1]).max()
        times = [milliseconds(f, excitation) for f in plain]
        print(f"  {muscles:3d} muscle(s)            {times[0]:8.1f} {times[1]:20.1f} {gap:20.1e}")
        gradients = [jax.jit(jax.grad(lambda t, p=p: total(t, p))) for p in (False, True)]
        times = [milliseconds(f, jnp.array([0.01, 0.04])) for f in gradients]
        print(f"      with gradient        {times[0]:8.1f} {times[1]:20.1f}")


def milliseconds(function: Callable[[Any], Any], x: Any) -> float:
    return 1e-3 * timed(runner(function, x), 1, 0.0, least=4).best


if __name__ == "__main__":
    compare_curves()
    compare_activation()
