"""Integrators by name. Each is a solver of diffrax, or one of ours made from its parts, in a file of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import diffrax
import equinox as eqx
import optimistix as optx

from ...errors import ModelError, nearest
from .adams import Adams
from .hht import HHT
from .rk4 import RK4
from .sdirk2 import SDIRK2
from .semi_implicit_euler import SemiImplicitEuler
from .wrapped import Projected, Recomputed

SOLVERS: dict[str, type[diffrax.AbstractSolver]] = {
    "adams": Adams,
    "tsit5": diffrax.Tsit5,
    "dopri8": diffrax.Dopri8,
    "kvaerno5": diffrax.Kvaerno5,
    "euler": diffrax.Euler,
    "semi-implicit-euler": SemiImplicitEuler,
    "rk4": RK4,
    "bdf1": diffrax.ImplicitEuler,
    "sdirk2": SDIRK2,
    "hht": HHT,
}
STEPPED = ("euler", "semi-implicit-euler", "rk4")
"""Integrators that cannot choose their steps: one must be given."""
SOLVED_TO = 1e-8
"""Last correction of Newton's method where steps are given; the error that is left is of the order of its square."""


class Method(eqx.Module):
    """How to integrate. Its numbers may be arrays, so that another accuracy needs no other compilation.

    integrator: a name in `SOLVERS`. accuracy: error per step that is allowed, relative and absolute, where steps are chosen.
    step: length of all steps [s], or None to choose them. alpha: of `hht`.
    """

    integrator: str = eqx.field(static=True, default="adams")
    accuracy: Any = 1e-6
    step: Any = None
    alpha: Any = -0.05

    def __check_init__(self) -> None:
        if self.integrator not in SOLVERS:
            raise ModelError(
                f"there is no integrator {self.integrator!r}{nearest(self.integrator, list(SOLVERS))}; "
                f"there are {', '.join(SOLVERS)}"
            )
        if self.step is None and self.integrator in STEPPED:
            raise ModelError(
                f"{self.integrator} takes steps of a fixed length: pass it in seconds, for example step=0.001"
            )
        for name in ("accuracy", "step"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise ModelError(f"{name} of an integrator must be positive, not {value}")
        if not -1 / 3 <= self.alpha <= 0:
            raise ModelError(f"alpha of hht is between -1/3 (most damping) and 0 (none), not {self.alpha}")

    def solver(self, loops: bool, forward: bool) -> diffrax.AbstractSolver:
        """`loops`: whether there are loops to be kept closed; `forward`: whether derivatives are taken forwards."""
        solver = HHT(alpha=self.alpha) if self.integrator == "hht" else SOLVERS[self.integrator]()
        if isinstance(solver, diffrax.AbstractImplicitSolver):
            exact = self.step is not None
            of_steps = replace(solver.root_finder, rtol=self.accuracy, atol=self.accuracy, norm=optx.rms_norm)
            newton = optx.Newton(rtol=SOLVED_TO, atol=SOLVED_TO)
            solver = replace(solver, root_finder=newton if exact else of_steps)
        if forward and isinstance(solver, diffrax.AbstractRungeKutta):
            solver = replace(solver, scan_kind="lax")  # diffrax does so itself, but not within a wrapped solver
        if isinstance(solver, diffrax.AbstractImplicitSolver):
            solver = Recomputed(solver)
        return Projected(solver) if loops and self.integrator != "hht" else solver  # HHT closes them itself

    @property
    def implicit(self) -> bool:
        """Whether each step solves equations."""
        return issubclass(SOLVERS[self.integrator], diffrax.AbstractImplicitSolver)

    @property
    def controller(self) -> diffrax.AbstractStepSizeController:
        if self.step is not None:
            return diffrax.ConstantStepSize()
        return diffrax.PIDController(
            rtol=self.accuracy, atol=self.accuracy, pcoeff=0.2, icoeff=0.4, dtmin=1e-9, force_dtmin=False
        )
