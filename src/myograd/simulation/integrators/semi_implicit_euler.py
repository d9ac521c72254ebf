"""Semi-implicit Euler steps: speeds first, then positions with the new speeds.

    u_n+1 = u_n + h udot(q_n, u_n),   q_n+1 = q_n + h N(q_n) u_n+1
The energy of a conservative system oscillates instead of growing, at the price of an Euler step. What is neither position nor
speed takes a forward Euler step.
"""

from __future__ import annotations

from typing import Any, ClassVar

import diffrax
import equinox as eqx


class SemiImplicitEuler(diffrax.AbstractSolver[None]):
    """Order 1. `args` must be a `System`. (diffrax's own needs `qdot` and `udot` that depend on the other half alone.)"""

    term_structure: ClassVar = diffrax.ODETerm
    interpolation_cls: ClassVar = diffrax.LocalLinearInterpolation

    def order(self, terms: Any) -> int:
        return 1

    def init(self, terms: Any, t0: Any, t1: Any, y0: Any, args: Any) -> None:
        return None

    def func(self, terms: Any, t0: Any, y0: Any, args: Any) -> Any:
        return terms.vf(t0, y0, args)

    def step(self, terms: Any, t0: Any, t1: Any, y0: Any, args: Any, solver_state: None, made_jump: Any) -> Any:
        h = t1 - t0
        rate = terms.vf(t0, y0, args)
        faster = eqx.tree_at(lambda y: (y.u, y.z), y0, (y0.u + h * rate.u, y0.z + h * rate.z))
        y1 = eqx.tree_at(lambda y: y.q, faster, y0.q + h * args.coordinate_rates(t0, faster))
        return y1, None, dict(y0=y0, y1=y1), None, diffrax.RESULTS.successful
