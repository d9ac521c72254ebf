"""Adams steps of variable length, exact in the muscles' own stiffness.

A stiff tendon pulls its fibre to equilibrium within microseconds, and an explicit method must follow it. But that stiffness is
diagonal: a fibre's rate depends on its own length and on no other muscle's. With D = diag(dzdot_i / dz_i) at the beginning
of a step (zero for q and u),

    ydot = D (y - y_n) + g(t),    y_n+1 = y_n + int_0^h exp((h - s) D) g(s) ds,    g = f(t, y) - D (y - y_n),
and g is interpolated by a polynomial through the last steps: evaluate, predict, evaluate, correct. Two evaluations of f a step,
whatever the order; where D = 0 these are the formulas of Adams, Bashforth and Moulton. The stiffness need not be exact: the
order does not depend on it.

References: Shampine and Gordon, Computer Solution of Ordinary Differential Equations (1975); Hochbruck and Ostermann,
Exponential multistep methods of Adams-type, BIT 51 (2011).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

KEPT = 4  # steps that the prediction uses, the present one included: its order; the correction has one more
FACTORIALS = np.array([math.factorial(j) for j in range(KEPT + 2)])


class Past(eqx.Module):
    """Steps before the present one, newest first."""

    time: Float[Array, " kept"]
    y: Float[Array, "kept n"]
    rate: Float[Array, "kept n"]
    known: Int[Array, ""]


def phi(x: Float[Array, " n"], count: int) -> list[Float[Array, " n"]]:
    """phi_1 to phi_count of x: `phi_0 = exp, phi_k+1(x) = (phi_k(x) - 1/k!) / x`."""
    small = jnp.abs(x) < 1
    near = jnp.where(small, x, 0.0)
    last = sum(near**j / math.factorial(count + j) for j in range(14))
    series = [last]
    for k in range(count - 1, 0, -1):
        series.insert(0, near * series[0] + 1 / math.factorial(k))
    away = jnp.where(small, 1.0, x)
    value, found = jnp.exp(away), []
    for k in range(count):
        value = (value - 1 / math.factorial(k)) / away
        found.append(value)
    return [jnp.where(small, a, b) for a, b in zip(series, found, strict=True)]


def newton_basis(nodes: Float[Array, " k"]) -> Float[Array, "rows columns"]:
    """Coefficients of `1, (s - s_0), (s - s_0)(s - s_1), ...` by powers of s."""
    row = jnp.zeros(len(nodes) + 2).at[0].set(1.0)
    rows = [row]
    for node in nodes:
        row = jnp.roll(row, 1) - node * row
        rows.append(row)
    return jnp.stack(rows)


def divided_differences(nodes: Float[Array, " k"], values: Float[Array, "k n"]) -> Float[Array, "k n"]:
    table = list(values)
    for order in range(1, len(table)):
        for i in range(len(table) - 1, order - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (nodes[i] - nodes[i - order])
    return jnp.stack(table)


class Adams(diffrax.AbstractAdaptiveSolver[Past]):
    """Order 4, corrected to 5. `args` must have `rates_and_stiffness(t, y)`."""

    term_structure: ClassVar = diffrax.ODETerm
    interpolation_cls: ClassVar = diffrax.ThirdOrderHermitePolynomialInterpolation

    def order(self, terms: Any) -> int:
        return KEPT

    def init(self, terms: Any, t0: Any, t1: Any, y0: Any, args: Any) -> Past:
        n = sum(jnp.size(part) for part in jax.tree.leaves(y0))
        return Past(jnp.zeros(KEPT - 1), jnp.zeros((KEPT - 1, n)), jnp.zeros((KEPT - 1, n)), jnp.array(0))

    def func(self, terms: Any, t0: Any, y0: Any, args: Any) -> Any:
        return terms.vf(t0, y0, args)

    def step(self, terms: Any, t0: Any, t1: Any, y0: Any, args: Any, solver_state: Past, made_jump: Any) -> Any:
        past, h = solver_state, t1 - t0
        start, unravel = ravel_pytree(y0)
        known = past.known + 1
        time = jnp.concatenate([t0[None], past.time])
        valid = np.arange(KEPT) < known
        nodes = jnp.where(valid, (time - t0) / h, -np.arange(KEPT))
        basis = newton_basis(nodes)
        y = jnp.concatenate([start[None], past.y])

        def predicted(rate: Array, D: Array) -> tuple[Array, Array, Array]:
            """y at the step's end, the differences it is made from, and `int_0^h exp((h - s) D) (s/h)^j ds` for each j."""
            g = jnp.concatenate([rate[None], past.rate]) - D * (y - start)
            differences = jnp.where(valid[:, None], divided_differences(nodes, g), 0.0)
            powers = h * FACTORIALS[:, None] * jnp.stack(phi(h * D, KEPT + 2))
            return start + jnp.sum(differences * (basis[:KEPT] @ powers), axis=0), differences, powers

        def evaluated(point: tuple[Array, Array], _: None) -> Any:
            t, y = point
            # Backwards in time, evaluating again is cheaper than keeping hundreds of intermediate results of each.
            rates, stiffness = eqx.filter_checkpoint(args.rates_and_stiffness)(t, unravel(y))
            rate = ravel_pytree(rates)[0]
            D = jnp.zeros_like(rate).at[len(rate) - len(stiffness) :].set(jnp.minimum(stiffness, 0.0))
            return (t1, predicted(rate, D)[0]), (rate, D)

        # At the start, then at the prediction: a loop, so that the model is compiled once.
        _, ((rate, f), (D, _)) = jax.lax.scan(evaluated, (t0, start), None, length=2)
        end, differences, powers = predicted(rate, D)
        # Newton's polynomial through the known nodes and s = 1, which comes last.
        last, lower = basis[known], basis[known - 1]
        g = f - D * (end - start)
        gap = (g - jnp.sum(differences * jnp.sum(basis[:KEPT], axis=1)[:, None], axis=0)) / jnp.sum(last)
        end = end + gap * (last @ powers)
        error = gap * ((jnp.roll(lower, 1) - lower) @ powers)
        new = Past(time[:-1], y[:-1], jnp.concatenate([rate[None], past.rate])[:-1], jnp.minimum(known, KEPT - 1))
        y1 = unravel(end)
        dense = dict(y0=y0, y1=y1, k0=unravel(h * rate), k1=unravel(h * f))
        return y1, unravel(error), dense, new, diffrax.RESULTS.successful
