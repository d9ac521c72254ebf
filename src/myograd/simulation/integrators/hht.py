"""The method of Hilber, Hughes and Taylor: implicit, of order 2, with damping of high frequencies that alpha chooses.

    M a_n+1 = (1 + alpha) F_n+1 - alpha F_n
    v_n+1 = v_n + h ((1 - gamma) a_n + gamma a_n+1)                                                (Eq. A-1 of paper 003)
    q_n+1 = q_n + h v_n + h^2/2 ((1 - 2 beta) a_n + 2 beta a_n+1)
with v = qdot, a = qddot, gamma = (1 - 2 alpha)/2, beta = (1 - alpha)^2/4, alpha from -1/3 to 0 (undamped: trapezoidal rule).
Closed loops are enforced at positions, with multipliers among the forces F (index 3):

    closure(q_n+1) = 0                                                     (Negrut, Rampalli, Ottarsson, Sajdak 2007)
Muscle states, with zdot = g(t, q, u, z), take the rules of the speeds: w_n+1 = (1 + alpha) g_n+1 - alpha g_n, z_n+1 = z_n +
h ((1 - gamma) w_n + gamma w_n+1). As a, w belongs to the time t + alpha h, which gamma makes up for. Unknowns are a, w and the
multipliers at the step's end, found by Newton's method with Jacobians by automatic differentiation.
"""

from __future__ import annotations

from typing import Any, ClassVar

import diffrax
import equinox as eqx
import jax.numpy as jnp
import optimistix as optx
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from ...system.reduced import ReducedState


class Ends(eqx.Module):
    """What a step must know of the end of the last one."""

    a: Float[Array, " f"]
    w: Float[Array, " k"]
    multipliers: Float[Array, " rows"]
    force: Float[Array, " f"]
    """F, multipliers' forces included"""
    inner: Float[Array, " k"]
    """g"""
    change: tuple[Float[Array, " f"], Float[Array, " k"]]
    """by how much a and w changed"""


class HHT(diffrax.AbstractImplicitSolver, diffrax.AbstractAdaptiveSolver):
    """Order 2. `args` must be a `System`. alpha: from -1/3, most damping, to 0."""

    alpha: Any = -0.05
    root_finder: optx.AbstractRootFinder = diffrax.with_stepsize_controller_tols(optx.Chord)()
    root_find_max_steps: int = 20

    term_structure: ClassVar = diffrax.ODETerm
    interpolation_cls: ClassVar = diffrax.ThirdOrderHermitePolynomialInterpolation

    def order(self, terms: Any) -> int:
        return 2

    def func(self, terms: Any, t0: Any, y0: Any, args: Any) -> Any:
        return terms.vf(t0, y0, args)

    def init(self, terms: Any, t0: Any, t1: Any, y0: Any, args: Any) -> Ends:
        rates = terms.vf(t0, y0, args)
        a = args.second_rates(t0, y0, rates)
        multipliers = jnp.zeros_like(args.closure(t0, y0.q))
        inertial = args.balance(t0, y0, a, multipliers).inertial
        still = (jnp.zeros_like(a), jnp.zeros_like(rates.z))
        return Ends(
            a, rates.z, multipliers, inertial, rates.z, still
        )  # at the start, motion and forces balance: M a = F

    def step(self, terms: Any, t0: Any, t1: Any, y0: Any, args: Any, solver_state: Ends, made_jump: Any) -> Any:
        past, h, alpha = solver_state, t1 - t0, self.alpha
        gamma, beta = (1 - 2 * alpha) / 2, (1 - alpha) ** 2 / 4
        v0 = args.coordinate_rates(t0, y0)
        guess, unravel = ravel_pytree((past.a, past.w, past.multipliers))

        def end(a: Array, w: Array) -> ReducedState:
            v = v0 + h * ((1 - gamma) * past.a + gamma * a)
            q = y0.q + h * v0 + h**2 / 2 * ((1 - 2 * beta) * past.a + 2 * beta * a)
            return ReducedState(q, args.speeds(t1, q, v), y0.z + h * ((1 - gamma) * past.w + gamma * w))

        def residual(unknown: Array, _: None) -> Array:
            a, w, multipliers = unravel(unknown)
            y = end(a, w)
            inertial, force, inner = args.balance(t1, y, a, multipliers)
            balanced = inertial - (1 + alpha) * force + alpha * past.force
            closed = args.closure(t1, y.q) / (beta * h)  # by h once: rounding errors over h^2 would not let Newton end
            return jnp.concatenate([balanced, w - (1 + alpha) * inner + alpha * past.inner, closed])

        found = optx.root_find(residual, self.root_finder, guess, None, throw=False, max_steps=self.root_find_max_steps)
        a, w, multipliers = unravel(found.value)
        y1, inner = end(a, w), (w + alpha * past.inner) / (1 + alpha)
        force = args.balance(t1, y1, a, multipliers).force
        # What the formulas leave out of Taylor's series, derivatives of a and w by differences
        change = (a - past.a, w - past.w)
        slope = [h * (new - old) / 12 for new, old in zip(change, past.change, strict=True)]
        error = ReducedState(h**2 * (beta - 1 / 6) * change[0], slope[0], slope[1])
        k0 = ReducedState(h * v0, h * args.accelerations(t0, y0, past.a), h * past.inner)
        k1 = ReducedState(h * args.coordinate_rates(t1, y1), h * args.accelerations(t1, y1, a), h * inner)
        dense = dict(y0=y0, y1=y1, k0=k0, k1=k1)
        ends = Ends(a, w, multipliers, force, inner, change)
        return y1, error, dense, ends, diffrax.RESULTS.promote(found.result)
