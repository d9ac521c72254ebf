"""Any integrator, with loops closed after each step, or with steps that are computed again where derivatives go backwards."""

from __future__ import annotations

from typing import Any

import diffrax
import equinox as eqx


class Wrapped(diffrax.AbstractWrappedSolver):
    """`solver`, with all that diffrax looks for in one."""

    solver: diffrax.AbstractSolver

    @property
    def term_structure(self) -> Any:
        return self.solver.term_structure

    @property
    def interpolation_cls(self) -> Any:
        return self.solver.interpolation_cls

    @property
    def root_finder(self) -> Any:
        """Where diffrax looks for it in an implicit solver."""
        return self.solver.root_finder  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def scan_kind(self) -> Any:
        """Where diffrax looks for it in a Runge-Kutta method."""
        return self.solver.scan_kind  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def root_find_max_steps(self) -> Any:
        return self.solver.root_find_max_steps  # pyright: ignore[reportAttributeAccessIssue]

    def order(self, terms: Any) -> Any:
        return self.solver.order(terms)

    def error_order(self, terms: Any) -> Any:
        return self.solver.error_order(terms)

    def init(self, terms: Any, t0: Any, t1: Any, y0: Any, args: Any) -> Any:
        return self.solver.init(terms, t0, t1, y0, args)

    def func(self, terms: Any, t0: Any, y0: Any, args: Any) -> Any:
        return self.solver.func(terms, t0, y0, args)


class Recomputed(Wrapped):
    """Of each step, only its start is kept for derivatives backwards in time.

    An implicit step has thousands of intermediate results: to compute them again takes less time than to store them.
    """

    def step(self, terms: Any, t0: Any, t1: Any, y0: Any, args: Any, solver_state: Any, made_jump: Any) -> Any:
        return eqx.filter_checkpoint(self.solver.step)(terms, t0, t1, y0, args, solver_state, made_jump)


class Projected(Wrapped):
    """Followed by `args.projected(t, y)`. What it moves y by is part of a step's error, and as small."""

    def step(self, terms: Any, t0: Any, t1: Any, y0: Any, args: Any, solver_state: Any, made_jump: Any) -> Any:
        y1, error, dense, solver_state, result = self.solver.step(terms, t0, t1, y0, args, solver_state, made_jump)
        return eqx.filter_checkpoint(args.projected)(t1, y1), error, dense, solver_state, result
