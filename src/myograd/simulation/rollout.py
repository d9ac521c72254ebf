"""A motion from its start to the times asked for, as one pure function: what derivatives are taken of.

Steps are remembered so that derivatives can be taken backwards in time: `CHECKPOINTS` of them, and what lies between is computed
again (Griewank's treeverse, in diffrax), so memory is bounded however long the motion is. What is computed again is rounded
otherwise; where steps are chosen at an accuracy near rounding, that can accept a step which was rejected, and gradients of more
steps than are remembered are then off.
"""

from __future__ import annotations

import diffrax
import equinox as eqx
from jaxtyping import Array, Float, Int

from ..dynamics.guard import quiet
from ..system.reduced import ReducedState, System
from .integrators import Method

CHECKPOINTS = 1024
ODE = diffrax.ODETerm(lambda t, y, system: eqx.filter_checkpoint(system.rates)(t, y))
FIRST_STEP = 1e-5  # [s] where steps are chosen
MOST_STEPS = 1_000_000


class Rolled(eqx.Module):
    """What a rollout gives."""

    y: ReducedState
    """at the times asked for; infinite after a failure"""
    end: ReducedState
    steps: Int[Array, ""]
    rejected: Int[Array, ""]
    result: diffrax.RESULTS


def rollout(
    system: System,
    y0: ReducedState,
    times: Float[Array, " n"],
    method: Method,
    forward: bool = False,
) -> Rolled:
    """Reduced states at `times`, the first of which is the start. Nothing is raised: after a failure, states are infinite or NaN.

    `forward`: whether derivatives are taken forwards (`jax.jvp`) instead of backwards (`jax.grad`).
    """
    adjoint = diffrax.ForwardMode() if forward else diffrax.RecursiveCheckpointAdjoint(checkpoints=CHECKPOINTS)
    with quiet():
        solution = diffrax.diffeqsolve(
            ODE,
            method.solver(system.closure(times[0], y0.q).size > 0, forward),
            times[0],
            times[-1],
            FIRST_STEP if method.step is None else method.step,
            y0,
            system,
            saveat=diffrax.SaveAt(subs=[diffrax.SubSaveAt(ts=times), diffrax.SubSaveAt(t1=True)]),
            stepsize_controller=method.controller,
            adjoint=adjoint,
            max_steps=MOST_STEPS,
            throw=False,
        )
    assert solution.ys is not None
    saved, last = solution.ys
    end, stats = ReducedState(last.q[-1], last.u[-1], last.z[-1]), solution.stats
    return Rolled(saved, end, stats["num_accepted_steps"], stats["num_rejected_steps"], solution.result)
