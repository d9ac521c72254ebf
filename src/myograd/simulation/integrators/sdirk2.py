"""The singly diagonally implicit Runge-Kutta method of order 2 with two stages, L-stable (used in paper 001).

    c    A               gamma = 1 - 1/sqrt(2)
    g    g
    1    1-g  g
    b    1-g  g
Reference: Alexander, SIAM J. Numer. Anal. 14 (1977); Hairer, Lubich, Wanner, Geometric Numerical Integration (2006).
"""

from __future__ import annotations

from typing import Any, ClassVar

import diffrax
import jax
import numpy as np
import optimistix as optx

G = 1 - 1 / np.sqrt(2)


class Parabola(diffrax.AbstractLocalInterpolation):
    """Through both ends of a step, with the slope at its end, which is the last stage's."""

    t0: Any
    t1: Any
    y0: Any
    y1: Any
    k: Any

    def evaluate(self, t0: Any, t1: Any | None = None, left: bool = True) -> Any:
        if t1 is not None:
            return jax.tree.map(lambda b, a: b - a, self.evaluate(t1), self.evaluate(t0))
        s = (t0 - self.t0) / (self.t1 - self.t0)
        return jax.tree.map(
            lambda a, b, k: a + s * (2 * (b - a) - k[-1]) + s**2 * (k[-1] - (b - a)), self.y0, self.y1, self.k
        )


class SDIRK2(diffrax.AbstractSDIRK):
    """Order 2; the first-order solution `y + h k_1` that it is compared with lets steps adapt."""

    tableau: ClassVar = diffrax.ButcherTableau(
        a_lower=(np.array([1 - G]),),
        a_diagonal=np.array([G, G]),
        a_predictor=(np.array([1.0]),),
        b_sol=np.array([1 - G, G]),
        b_error=np.array([-G, G]),
        c=np.array([1.0]),
        c1=float(G),
    )
    interpolation_cls: ClassVar = Parabola

    root_finder: optx.AbstractRootFinder = diffrax.with_stepsize_controller_tols(diffrax.VeryChord)()
    root_find_max_steps: int = 10

    def order(self, terms: Any) -> int:
        return 2
