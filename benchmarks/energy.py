"""How well each integrator keeps the energy of a conservative system: ten seconds of a double pendulum without muscles.

python benchmarks/energy.py       prints the table of docs/simulation.md
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

import myograd as mg
from myograd import models
from myograd.simulation.integrators import SOLVERS, STEPPED

STEP, ACCURACY = 1e-3, 1e-6


def pendulum() -> mg.Model:
    description = mg.read_osim(models.model_path("double_pendulum"))
    description.muscles.clear()
    return mg.compile_model(description)


def drift(model: mg.Model, **method) -> tuple[float, int]:
    """Greatest change of kinetic and gravitational energy, over the greatest kinetic energy; and the number of steps."""
    start = mg.initial_state(model, q=np.array([1.0, 0.5]))
    motion = mg.simulate(model, start, None, at=np.linspace(0, 10, 201), **method)
    energy = mg.energies(model, motion)
    return float(jnp.max(jnp.abs(energy["total"] - energy["total"][0])) / energy["kinetic"].max()), int(motion.steps)


if __name__ == "__main__":
    model = pendulum()
    print("| integrator | 1 ms steps | 0.5 ms steps | steps chosen at accuracy 1e-6 (how many) |\n|---|--:|--:|--:|")
    for name in SOLVERS:
        alpha = {"alpha": 0.0} if name == "hht" else {}
        given = (
            "- | -"
            if name == "adams"
            else " | ".join(f"{drift(model, integrator=name, step=step, **alpha)[0]:.0e}" for step in (STEP, STEP / 2))
        )
        chosen = "-"
        if name not in STEPPED:
            lost, steps = drift(model, integrator=name, accuracy=ACCURACY, **alpha)
            chosen = f"{lost:.0e} ({steps})"
        print(f"| {name}{' (alpha = 0)' if alpha else ''} | {given} | {chosen} |", flush=True)
