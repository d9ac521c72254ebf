"""What a gradient through time costs: of a rollout with respect to all excitations over time, by reverse mode.

    python benchmarks/gradients.py [MODEL ...]       prints; `benchmarks/run.py` makes it part of the page

The rollout is `simulate` over 0.5 s, every muscle's excitation given at eleven times; what is differentiated is a weighted sum of
the last state. Each model is measured in a process of its own, so that its peak of memory is known: Python, JAX and the compiler
included.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from table import Grid, aimed, number
from timing import Timing, timed

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
    """of the derivative along one direction, relative to a central difference"""

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
        return jnp.sum(weights * jnp.stack([end.q, end.u])), motion.steps

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
    h = 0.03  # steps are chosen anew each time, so that a difference has the noise of the accuracy over h
    ends = [rollout(excitation + x * h * along)[0] for x in (1, -1, 2, -2)]
    difference = (8 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12 * h)
    error = float(abs(jnp.vdot(slope, along) - difference) / abs(difference))
    return GradientCost(
        name, int(np.prod(shape)), int(steps), alone, with_gradient, compiling, before, peak_memory(), error
    )


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
    header += ["MB before", "MB in all", "compile s", "off differences by"]
    return Grid(f"Gradient of {DURATION} s with respect to all excitations", header, [cells(row) for row in rows])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        print(json.dumps(asdict(measure_here(sys.argv[2], float(sys.argv[3])))))
    else:
        from rich.console import Console

        gradient_grid([gradient_cost(name, 3.0) for name in sys.argv[1:] or MODELS]).print(Console(width=150))
