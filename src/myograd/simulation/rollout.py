"""A motion from its start to the times asked for: the compiled core of every simulation.

Steps are remembered so that derivatives can be taken backwards in time: `CHECKPOINTS` of them, and what lies between is computed
again (Griewank's treeverse, in diffrax), so memory is bounded however long the motion is. What is computed again is rounded
otherwise; where steps are chosen at an accuracy near rounding, that can accept a step which was rejected, and gradients of more
steps than are remembered are then off.
"""

from __future__ import annotations

from typing import Any

import diffrax
import equinox as eqx
from jaxtyping import Array, Float, Int

from ..system.reduced import ReducedState, System
from .integrators import Method

CHECKPOINTS = 1024
FIRST_STEP = 1e-5  # [s] where steps are chosen
MOST_STEPS = 1_000_000


class Carry(eqx.Module):
    """Where an integrator stands, to go on from."""

    time: Float[Array, ""]
    y: ReducedState
    solver: Any
    controller: Any


class Rolled(eqx.Module):
    """What a rollout gives."""

    y: ReducedState
    """at the times asked for; infinite after a failure"""
    end: Carry
    steps: Int[Array, ""]
    rejected: Int[Array, ""]
    result: diffrax.RESULTS


def rollout(
    system: System,
    y0: ReducedState,
    times: Float[Array, " n"],
    method: Method,
    carry: Carry | None = None,
    forward: bool = False,
) -> Rolled:
    """Reduced states at `times`, the first of which is the start; `carry` of an earlier part goes on as if it had not stopped.

    `forward`: whether derivatives are taken forwards (`jax.jvp`) instead of backwards (`jax.grad`).
    """
    adjoint = diffrax.ForwardMode() if forward else diffrax.RecursiveCheckpointAdjoint(checkpoints=CHECKPOINTS)
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(_rates),
        method.solver(system.closure(times[0], y0.q).size > 0, forward),
        times[0],
        times[-1],
        FIRST_STEP if method.step is None else method.step,
        y0,
        system,
        saveat=diffrax.SaveAt(
            subs=[diffrax.SubSaveAt(ts=times), diffrax.SubSaveAt(t1=True)], solver_state=True, controller_state=True
        ),
        stepsize_controller=method.controller,
        adjoint=adjoint,
        max_steps=MOST_STEPS,
        throw=False,
        solver_state=None if carry is None else carry.solver,
        controller_state=None if carry is None else carry.controller,
        made_jump=None if carry is None else False,
    )
    assert solution.ys is not None and solution.ts is not None
    saved, last = solution.ys
    end = Carry(
        solution.ts[1][-1],
        ReducedState(last.q[-1], last.u[-1], last.z[-1]),
        solution.solver_state,
        solution.controller_state,
    )
    stats = solution.stats
    return Rolled(saved, end, stats["num_accepted_steps"], stats["num_rejected_steps"], solution.result)


def _rates(t: Any, y: ReducedState, system: System) -> ReducedState:
    return eqx.filter_checkpoint(system.rates)(t, y)
