"""What the muscles' own shortcuts are worth: tables of force curves against paper 000's fits, recordings integrated in parallel.

    python benchmarks/shortcuts.py

Paper 000 fits each force curve by 8 to 15 polynomials joined C1, because OpenSim's Bézier curves need an iteration. Myograd
tabulates them instead (`muscle/table.py`), to 1e-12. Here are both, on their own and within the whole contraction dynamics.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from ours import runner
from timing import timed

from myograd.model.compile import compile_model
from myograd.model.description import ModelDescription, Muscle, Path
from myograd.model.muscle_properties import MILLARD, MILLARD_CURVES, curve_numbers
from myograd.muscle import millard
from myograd.muscle.activation import integrate_activation
from myograd.muscle.bezier import BezierCurve
from myograd.muscle.contraction import muscle_states
from myograd.muscle.curves import active_force_length, force_velocity, passive_force_length, tendon_force_length
from myograd.muscle.table import look_up, tabulate

MAKERS = (active_force_length, force_velocity, passive_force_length, tendon_force_length)


def curves() -> dict[str, BezierCurve]:
    plain = Muscle(MILLARD, "plain", Path())
    return {name: make(curve_numbers(plain, name)) for make, name in zip(MAKERS, MILLARD_CURVES, strict=True)}


def fit(curve: BezierCurve, pieces: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Knots, left ends and cubic coefficients of a C1 fit: values and slopes of the curve at the knots, which are put where
    the error is largest; straight lines beyond the ends."""
    knots = list(curve.knots)

    def error(a: float, b: float) -> float:
        x = np.linspace(a, b, 41)
        c = hermite(a, b)
        return float(np.abs(sum(c[j] * (x - a) ** j for j in range(4)) - curve(x)[0]).max())

    def hermite(a: float, b: float) -> np.ndarray:
        (y0, y1), (s0, s1), _ = curve(np.array([a, b]))
        h = b - a
        return np.array([y0, s0, (3 * (y1 - y0) / h - 2 * s0 - s1) / h, (2 * (y0 - y1) / h + s0 + s1) / h**2])

    while len(knots) < pieces - 1:
        k = int(np.argmax([error(a, b) for a, b in pairwise(knots)]))
        knots.insert(k + 1, (knots[k] + knots[k + 1]) / 2)
    rows = [np.array([curve(np.array(knots[0]))[0], curve.slopes[0], 0, 0])]
    rows += [hermite(a, b) for a, b in pairwise(knots)]
    rows += [np.array([curve(np.array(knots[-1]))[0], curve.slopes[1], 0, 0])]
    return np.array(knots), np.array([knots[0], *knots]), np.array(rows)


def fitted(curve: BezierCurve, pieces: int) -> Callable[[jax.Array], jax.Array]:
    knots, origins, rows = fit(curve, pieces)
    table = np.column_stack([origins, rows])

    def value(x: jax.Array) -> jax.Array:
        piece = jnp.sum((x >= knots[:, None]).astype(jnp.int32), axis=0)
        c = jnp.moveaxis(jnp.asarray(table).at[piece].get(mode="promise_in_bounds"), -1, 0)
        s = x - c[0]
        return ((c[4] * s + c[3]) * s + c[2]) * s + c[1]

    return value


def nanoseconds(function: Callable[[Any], Any], x: Any, per: int, steps: int = 200) -> float:
    """Of one evaluation inside a compiled loop, per element."""

    def body(x: Any, _: None) -> tuple[Any, None]:
        return jax.tree.map(lambda a, b: 0.999 * a + 1e-3 * b, x, function(x)), None

    program = jax.jit(lambda x: jax.lax.scan(body, x, None, length=steps)[0])
    return 1e3 * timed(runner(program, x), steps * per, 0.0, least=25).best


def compare_curves(muscles: int = 80, pieces: int = 15) -> None:
    random = np.random.default_rng(0)
    ranges = ((0.5, 1.7), (-0.9, 0.9), (1.0, 1.6), (1.0, 1.05))
    print(f"one curve, ns per muscle ({muscles} muscles)   table   fit   error of the fit with {pieces} pieces")
    for (name, curve), (low, high) in zip(curves().items(), ranges, strict=True):
        table, polynomial = tabulate([curve]), fitted(curve, pieces)
        x = jnp.asarray(random.uniform(low, high, muscles))
        grid = np.linspace(low - 0.3, high + 0.3, 20001)
        error = np.abs(np.asarray(polynomial(jnp.asarray(grid))) - curve(grid)[0]).max()
        times = [nanoseconds(f, x, muscles) for f in (lambda x, t=table: look_up(t, x), polynomial)]
        print(f"  {name:<40} {times[0]:6.1f} {times[1]:6.1f}   {error:.1e}")


def compare_contraction(muscles: int = 80, pieces: int = 15) -> None:
    """The whole of `muscle_states` of damped Millard muscles, with either form of the curves."""
    description = ModelDescription(muscles=[Muscle(MILLARD, f"m{i}", Path()) for i in range(muscles)])
    model = compile_model(description)
    random = np.random.default_rng(1)
    shape = (64, muscles)
    state = tuple(
        jnp.asarray(x)
        for x in (random.uniform(0.29, 0.33, shape), random.uniform(0.1, 1.0, shape), random.uniform(0.08, 0.12, shape))
    )

    def step(state: Any) -> Any:
        def one(length: jax.Array, activation: jax.Array, fiber: jax.Array) -> Any:
            found = muscle_states(model, length, jnp.zeros_like(length), activation, fiber)
            return length, activation, fiber + 1e-4 * found.fiber_velocity + 1e-9 * found.tendon_force

        return jax.vmap(one)(*state)

    exact = nanoseconds(step, state, 64 * muscles, steps=20)
    polynomials = {name: fitted(curve, pieces) for name, curve in curves().items()}
    shape_of = millard.shape(model.muscle_kinds, list(range(muscles)))
    names = {
        id(shape_of.active): "ActiveForceLengthCurve",
        id(shape_of.passive): "FiberForceLengthCurve",
        id(shape_of.tendon): "TendonForceLengthCurve",
    }
    original = millard.look_up
    millard.look_up = lambda table, x: polynomials[names[id(table)]](x)  # for the length of this measurement
    try:

        def fitted_step(state: Any) -> Any:
            def one(length: jax.Array, activation: jax.Array, fiber: jax.Array) -> Any:
                still = jnp.zeros_like(length)
                found = millard.dynamics(model.muscles, shape_of, length, still, activation, fiber)
                return length, activation, fiber + 1e-4 * found.fiber_velocity + 1e-9 * found.tendon_force

            return jax.vmap(one)(*state)

        fast = nanoseconds(fitted_step, state, 64 * muscles, steps=20)
    finally:
        millard.look_up = original
    print(f"contraction dynamics, ns per muscle: tables {exact:.0f}, fits {fast:.0f}")


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
    compare_contraction()
    compare_activation()
