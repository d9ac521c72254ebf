"""What a gradient through time costs: of a rollout with respect to all excitations over time, by reverse mode.

    python benchmarks/gradients.py [MODEL ...]       prints; `benchmarks/run.py` makes it part of the page

The rollout is `simulate` over 0.5 s, every muscle's excitation given at eleven times; what is differentiated is a weighted sum of
the last state. The gradient is compared with central differences over the very steps that were taken: steps that are chosen anew
for each value make differences as rough as the accuracy over their length. Each model is measured in a process of its own, so
that its peak of memory is known: Python, JAX and the compiler included.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from table import Grid, aimed, number
from timing import Timing, agree, timed

MODELS = ("double_pendulum", "arm")
DURATION, KNOTS = 0.5, 11
COST_TARGET = 8.0  # rollouts
MEMORY_TARGET = 2000.0  # MB
TARGET_MODEL = "arm"


@dataclass(frozen=True)
class GradientCost:
    """One model. Times in microseconds, memory in MB."""

    model: str
    excitations: int
    steps: int
    rollout: Timing
    gradient: Timing
    compile_seconds: float
    """of the gradient"""
    memory_before: float
    """peak until the rollout had run, before the gradient was compiled"""
    memory: float
    error: float
    """of the derivative along one direction, relative to a central difference over the same steps"""

    @property
    def cost(self) -> float:
        return self.gradient.median / self.rollout.median


def peak_memory() -> float:
    """[MB] of this process so far. (Linux hands `ru_maxrss` on from the process that started it.)"""
    status = Path("/proc/self/status")
    if status.exists():
        return (
            float(next(line for line in status.read_text().splitlines() if line.startswith("VmHWM")).split()[1]) / 1e3
        )
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def measure_here(name: str, seconds: float) -> GradientCost:
    """Measure in this process, which should have done nothing before."""
    import jax
    import jax.numpy as jnp

    import myograd as mg
    from myograd.models import model_path

    jax.config.update("jax_enable_compilation_cache", False)
    model = mg.load_model(model_path(name))
    start = mg.initial_state(model, activation=0.05)
    knots = jnp.linspace(0.0, DURATION, KNOTS)
    random = np.random.default_rng(1)
    shape = (KNOTS, len(model.control_names))
    excitation = jnp.asarray(random.uniform(0.05, 0.3, shape))
    weights = jnp.asarray(random.normal(size=(2, len(model.coordinate_names))))

    def last(excitation: jax.Array) -> tuple[jax.Array, jax.Array]:
        motion = mg.simulate(model, start, mg.ControlSignal(knots, excitation), at=[DURATION])
        end = motion.at(-1)
        return jnp.sum(weights * jnp.stack([end.q, end.u])), jnp.asarray(motion.steps)

    rollout, gradient = jax.jit(last), jax.jit(jax.value_and_grad(last, has_aux=True))
    _, steps = jax.block_until_ready(rollout(excitation))
    before = peak_memory()
    begun = time.perf_counter()
    (_, slope) = jax.block_until_ready(gradient(excitation))
    compiling = time.perf_counter() - begun
    alone, with_gradient = (
        timed(lambda f=f: jax.block_until_ready(f(excitation)), 1, seconds) for f in (rollout, gradient)
    )
    along = 0.1 * excitation * jnp.asarray(random.normal(size=shape))
    value, difference = over_same_steps(model, start, knots, excitation, along, weights)
    agree("the motion over given steps", np.array([value]), np.asarray(rollout(excitation)[0])[None], 1e-9)
    error = float(abs(jnp.vdot(slope, along) - difference) / abs(difference))
    return GradientCost(
        name, int(np.prod(shape)), int(steps), alone, with_gradient, compiling, before, peak_memory(), error
    )


def over_same_steps(
    model: Any, start: Any, knots: Any, excitation: Any, along: Any, weights: Any, h: float = 1e-3
) -> tuple[float, float]:
    """The weighted sum, and its derivative along a direction by differences of fourth order, over the steps that `simulate`
    chooses for `excitation`."""
    import diffrax
    import jax
    import jax.numpy as jnp

    import myograd as mg
    from myograd.simulation.integrators import Method
    from myograd.simulation.rollout import FIRST_STEP
    from myograd.system.reduced import Simulated

    method, most = Method(), 100_000

    def solved(x: Any, controller: Any, first: float | None, saved: Any) -> tuple[Simulated, diffrax.Solution]:
        system = Simulated(model, mg.ControlSignal(knots, excitation + x * along), None, None, start)
        terms, solver = diffrax.ODETerm(lambda t, y, system: system.rates(t, y)), method.solver(False, False)
        span = (0.0, DURATION, first, system.reduced(start), system)
        return system, diffrax.diffeqsolve(
            terms, solver, *span, saveat=saved, stepsize_controller=controller, max_steps=most
        )

    steps = diffrax.SaveAt(t0=True, steps=True)
    times = np.asarray(jax.jit(lambda: solved(0.0, method.controller, FIRST_STEP, steps)[1].ts)())
    times = jnp.asarray(times[np.isfinite(times)])

    @jax.jit
    def value(x: Any) -> Any:
        system, solution = solved(x, diffrax.StepTo(times), None, diffrax.SaveAt(t1=True))
        end = system.state(DURATION, jax.tree.map(lambda part: part[0], solution.ys))
        return jnp.sum(weights * jnp.stack([end.q, end.u]))

    ahead, behind, far_ahead, far_behind = (float(value(k * h)) for k in (1.0, -1.0, 2.0, -2.0))
    return float(value(0.0)), (8 * (ahead - behind) - (far_ahead - far_behind)) / (12 * h)


def gradient_cost(name: str, seconds: float) -> GradientCost:
    """Measure in a process of its own."""
    run = subprocess.run([sys.executable, __file__, "--here", name, str(seconds)], stdout=subprocess.PIPE, check=True)
    data = json.loads(run.stdout)
    return GradientCost(**data | {part: Timing(**data[part]) for part in ("rollout", "gradient")})


def gradient_grid(rows: list[GradientCost]) -> Grid:
    def cells(row: GradientCost) -> list[str]:
        judged = row.model == TARGET_MODEL
        return [
            row.model,
            number(row.excitations),
            number(row.steps),
            number(row.rollout.median / 1e3),
            number(row.gradient.median / 1e3),
            aimed(row.cost, "", "≤", COST_TARGET if judged else None),
            number(row.memory_before),
            aimed(row.memory, "", "≤", MEMORY_TARGET if judged else None),
            number(row.compile_seconds),
            f"{row.error:.0e}",
        ]

    header = ["model", "excitations", "steps", "rollout ms", "gradient ms", "cost in rollouts"]
    header += ["MB before", "MB in all", "compile s", "off differences over the same steps by"]
    return Grid(f"Gradient of {DURATION} s with respect to all excitations", header, [cells(row) for row in rows])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        print(json.dumps(asdict(measure_here(sys.argv[2], float(sys.argv[3])))))
    else:
        from rich.console import Console

        gradient_grid([gradient_cost(name, 3.0) for name in sys.argv[1:] or MODELS]).print(Console(width=150))
