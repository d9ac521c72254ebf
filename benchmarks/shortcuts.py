"""What the muscles' own shortcuts are worth: tables of force curves against paper 000's fits, recordings integrated in parallel.

    python benchmarks/shortcuts.py

Paper 000 fits each force curve by 8 to 15 polynomials joined C1, because OpenSim's Bézier curves need an iteration. Myograd
tabulates them instead (`muscle/table.py`), to 1e-12. Here are both, on their own and within the whole contraction: fits by least
squares with knots that are moved until the errors of all pieces are alike, each with the lowest degree and the fewest pieces that
reach 1e-4.
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

from myograd.model.compile import compile_model
from myograd.model.description import ModelDescription, Muscle, Path
from myograd.model.model import Model
from myograd.model.muscle_properties import MILLARD, MILLARD_CURVES, curve_numbers
from myograd.muscle import millard
from myograd.muscle.activation import integrate_activation
from myograd.muscle.bezier import BezierCurve
from myograd.muscle.curves import active_force_length, force_velocity, passive_force_length, tendon_force_length
from myograd.muscle.table import look_up, tabulate

ENOUGH = 1e-4  # error that the fits may have
MAKERS = (active_force_length, force_velocity, passive_force_length, tendon_force_length)


def curves() -> dict[str, BezierCurve]:
    plain = Muscle(MILLARD, "plain", Path())
    return {name: make(curve_numbers(plain, name)) for make, name in zip(MAKERS, MILLARD_CURVES, strict=True)}


class Fit(NamedTuple):
    """C1 polynomials on neighbouring pieces, straight lines beyond both ends."""

    knots: np.ndarray
    rows: np.ndarray  # [pieces + 2, degree + 2] left end, and coefficients of ascending powers from there
    error: float


def best_fit(curve: BezierCurve) -> Fit:
    """With the lowest degree, and then the fewest of 8 to 15 pieces, that come as close as ENOUGH."""
    return next(
        fit
        for degree in (3, 4, 5, 6, 7)
        for pieces in range(8, 16)
        if (fit := least_squares_fit(curve, pieces, degree)).error <= ENOUGH
    )


def least_squares_fit(curve: BezierCurve, pieces: int, degree: int, rounds: int = 60) -> Fit:
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


def _solve(curve: BezierCurve, knots: np.ndarray, degree: int) -> tuple[np.ndarray, np.ndarray]:
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


def compare_curves(fits: dict[str, Fit], muscles: int = 80) -> None:
    random = np.random.default_rng(0)
    ranges = ((0.5, 1.7), (-0.9, 0.9), (1.0, 1.6), (1.0, 1.05))
    print(f"one curve, ns per muscle ({muscles} muscles)   table   fit   pieces  degree  largest error: value   slope")
    for (name, curve), (low, high) in zip(curves().items(), ranges, strict=True):
        table, polynomial = tabulate([curve]), fitted(fits[name])
        grid = np.linspace(low - 0.3, high + 0.3, 20001)
        value, slope = jax.vmap(jax.value_and_grad(lambda x, f=polynomial: f(x[None])[0]))(jnp.asarray(grid))
        off = [float(np.abs(np.asarray(a) - b).max()) for a, b in zip((value, slope), curve(grid), strict=False)]
        x = jnp.asarray(random.uniform(low, high, muscles))
        times = [nanoseconds(f, x, muscles) for f in (lambda x, t=table: look_up(t, x), polynomial)]
        pieces, degree = len(fits[name].knots) - 1, fits[name].rows.shape[1] - 2
        print(f"  {name:<40} {times[0]:6.1f} {times[1]:6.1f} {pieces:7d} {degree:7d} {off[0]:21.1e} {off[1]:8.1e}")


def compare_contraction(fits: dict[str, Fit], muscles: int = 80) -> None:
    """Dynamics and equilibrium of damped Millard muscles, with either form of curves. Where the line of a damped fibre crosses
    the force-velocity curve is found on the Bézier curve itself, either way."""
    description = ModelDescription(muscles=[Muscle(MILLARD, f"m{i}", Path()) for i in range(muscles)])
    model = compile_model(description)
    shape = millard.shape(model.muscle_kinds, list(range(muscles)))
    random = np.random.default_rng(1)
    size = (64, muscles)
    state = tuple(
        jnp.asarray(x)
        for x in (random.uniform(0.29, 0.33, size), random.uniform(0.1, 1.0, size), random.uniform(0.08, 0.12, size))
    )
    polynomials = {
        id(shape.active): fitted(fits["ActiveForceLengthCurve"]),
        id(shape.passive): fitted(fits["FiberForceLengthCurve"]),
        id(shape.tendon): fitted(fits["TendonForceLengthCurve"]),
        id(shape.velocity): fitted(fits["ForceVelocityCurve"]),
    }

    def moving(length: jax.Array, activation: jax.Array, fiber: jax.Array) -> Any:
        found = millard.dynamics(model.muscles, shape, length, jnp.zeros_like(length), activation, fiber)
        return length, activation, fiber + 1e-4 * found.fiber_velocity + 1e-9 * found.tendon_force

    def resting(length: jax.Array, activation: jax.Array, fiber: jax.Array) -> Any:
        found = millard.equilibrium(model.muscles, shape, length, jnp.zeros_like(length), activation)
        return length, activation, found

    exact = millard.look_up
    print(
        "contraction of damped Millard muscles, ns per muscle   tables   fits   largest difference of tendon force / strength"
    )
    for name, compute in (("dynamics", moving), ("equilibrium", resting)):
        times, forces = [], []
        for look in (exact, lambda table, x: polynomials[id(table)](x)):
            millard.look_up = look  # for the length of this measurement
            try:
                # Anew each time: what is compiled for one look-up is not for the other.
                times.append(
                    nanoseconds(lambda x, f=compute: jax.vmap(lambda *row: f(*row))(*x), state, 64 * muscles, 20)
                )
                forces.append(_tendon_force(model, shape, state, at_rest=name == "equilibrium"))
            finally:
                millard.look_up = exact
        gap = np.abs(forces[0] - forces[1]).max()
        print(f"  {name:<50} {times[0]:8.0f} {times[1]:6.0f} {gap:12.1e}")


def _tendon_force(model: Model, shape: millard.MillardShape, state: tuple[jax.Array, ...], at_rest: bool) -> np.ndarray:
    """Over the strength, [64, muscles]."""

    def one(length: jax.Array, activation: jax.Array, fiber: jax.Array) -> jax.Array:
        still = jnp.zeros_like(length)
        if at_rest:
            fiber = millard.equilibrium(model.muscles, shape, length, still, activation)
        found = millard.dynamics(model.muscles, shape, length, still, activation, fiber)
        return found.tendon_force / model.muscles.max_isometric_force

    return np.asarray(jax.jit(jax.vmap(one))(*state))


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
    fits = {name: best_fit(curve) for name, curve in curves().items()}
    compare_curves(fits)
    compare_contraction(fits)
    compare_activation()
