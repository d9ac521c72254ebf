"""Any integrator, with loops closed again after each of its steps."""

from __future__ import annotations

from typing import Any

import diffrax


class Projected(diffrax.AbstractWrappedSolver):
    """`solver`, followed by `args.projected(t, y)`. What it moves y by is part of a step's error, and as small."""

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
        return self.solver.root_finder  # type: ignore[attr-defined]

    @property
    def root_find_max_steps(self) -> Any:
        return self.solver.root_find_max_steps  # type: ignore[attr-defined]

    def order(self, terms: Any) -> Any:
        return self.solver.order(terms)

    def error_order(self, terms: Any) -> Any:
        return self.solver.error_order(terms)

    def init(self, terms: Any, t0: Any, t1: Any, y0: Any, args: Any) -> Any:
        return self.solver.init(terms, t0, t1, y0, args)

    def func(self, terms: Any, t0: Any, y0: Any, args: Any) -> Any:
        return self.solver.func(terms, t0, y0, args)

    def step(self, terms: Any, t0: Any, t1: Any, y0: Any, args: Any, solver_state: Any, made_jump: Any) -> Any:
        y1, error, dense, solver_state, result = self.solver.step(terms, t0, t1, y0, args, solver_state, made_jump)
        return args.projected(t1, y1), error, dense, solver_state, result
