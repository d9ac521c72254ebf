"""Steps of an integrator, a few at a time: how far a simulation has come, and its states at the times passed on the way.

One program takes every part of every simulation, whichever its length: it goes on from where the last part ended, with the
same steps as if it had not stopped. Nothing in it calls Python, so that JAX keeps it on disk; `diffrax.diffeqsolve` does, to
check its arguments, and starts with a short step wherever it is told to go on. Derivatives are taken of `rollout` instead.
"""

from __future__ import annotations

from typing import Any, cast

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ..system.reduced import ReducedState, System
from .integrators import Method
from .rollout import FIRST_STEP, ODE

NEARLY = 1e-14  # a step that ends this close to the end, relative to its time, ends there


class Progress(eqx.Module):
    """Where an integrator stands."""

    time: Float[Array, ""]
    y: ReducedState
    next: Float[Array, ""]
    """where the next step is to end"""
    solver: Any
    controller: Any
    since: Float[Array, ""]
    """where the last step that was kept began"""
    dense: Any
    """that step, for what lies within"""
    steps: Int[Array, ""]
    rejected: Int[Array, ""]
    well: Bool[Array, ""]
    """whether it can go on: if not, y is what it was before the step that could not be taken"""


def begun(system: System, y: ReducedState, times: Float[Array, " 2"], method: Method) -> Progress:
    """Before the first step from `times[0]` towards `times[1]`."""
    solver, controller = _solver(system, y, times[0], method), method.controller
    dt = FIRST_STEP if method.step is None else method.step
    first = controller.init(ODE, times[0], times[1], y, dt, system, solver.func, solver.error_order(ODE))
    end = jnp.minimum(first[0], times[1])
    inner = solver.init(ODE, times[0], end, y, system)
    dense = eqx.filter_eval_shape(lambda: solver.step(ODE, times[0], end, y, system, inner, False)[2])
    dense = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), dense)
    none, controlled = jnp.zeros((), int), jax.tree.map(jnp.asarray, first[1])
    return Progress(times[0], y, end, inner, controlled, times[0], dense, none, none, jnp.array(True))


def advanced(
    system: System,
    at: Progress,
    end: Float[Array, ""],
    times: Float[Array, " n"],
    most: Int[Array, ""],
    method: Method,
) -> tuple[Progress, ReducedState]:
    """After `most` steps, or once all `times` are passed or `end` is reached; and the states at those times that were passed.

    Times increase, are not before the beginning of the last step, and end with as many infinite ones as wanted; rows of times
    that were not passed hold the last state."""
    solver, controller = _solver(system, at.y, at.time, method), method.controller
    last = jnp.max(jnp.where(jnp.isfinite(times), times, -jnp.inf))
    floor = end - NEARLY * jnp.abs(end)

    def filled(rows: ReducedState, dense: Any, start: Array, stop: Array, kept: Array) -> ReducedState:
        inside = kept & (times > start) & (times <= stop)
        step = solver.interpolation_cls(t0=start, t1=stop, **dense)
        found = jax.vmap(step.evaluate)(jnp.clip(times, start, stop))
        return jax.tree.map(lambda new, old: jnp.where(inside[:, None], new, old), found, rows)

    def goes_on(state: tuple[Progress, ReducedState, Array]) -> Array:
        at, _, taken = state
        return at.well & (at.time < end) & (at.time < last) & (taken < most)

    def step(state: tuple[Progress, ReducedState, Array]) -> tuple[Progress, ReducedState, Array]:
        at, rows, taken = state
        y, error, dense, inner, result = solver.step(ODE, at.time, at.next, at.y, system, at.solver, False)
        finite = jnp.stack([jnp.isfinite(x).all() for x in jax.tree.leaves((y, error))]).all()
        # A step beyond what is possible is one with a large error. The controller divides by states: inf / inf would make
        # the next step a NaN.
        error = jax.tree.map(lambda x: jnp.where(finite, x, jnp.inf), error)
        tried = jax.tree.map(lambda new, old: jnp.where(finite, new, old), y, at.y)
        keep, time, following, _, controlled, trouble = controller.adapt_step_size(
            at.time, at.next, at.y, tried, system, error, cast(float, solver.error_order(ODE)), at.controller
        )
        keep = jnp.asarray(keep)  # where steps are given: a plain True
        solved = (result == diffrax.RESULTS.successful) & finite
        kept = keep & solved

        def chosen(new: Any, old: Any) -> Any:
            return jax.tree.map(lambda a, b: jnp.where(kept, a, b), new, old)

        time = jnp.where(kept, jnp.minimum(time, end), at.time)
        short = jnp.where(keep, end, time + 0.5 * (end - time))
        after = Progress(
            time,
            chosen(y, at.y),
            jnp.where(following > floor, short, following),
            chosen(inner, at.solver),
            controlled,
            jnp.where(kept, at.time, at.since),
            chosen(dense, at.dense),
            at.steps + kept,
            at.rejected + ~keep,
            (solved | ~keep) & (trouble == diffrax.RESULTS.successful),
        )
        return after, filled(rows, dense, at.time, at.next, kept), taken + 1

    rows = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(times), *x.shape)), at.y)
    # The last step of the part before may have passed more times than that part had room for.
    rows = filled(rows, at.dense, at.since, at.time, at.since < at.time)
    at, rows, _ = lax.while_loop(goes_on, step, (at, rows, jnp.array(0)))
    passed = times <= at.time
    return at, jax.tree.map(lambda rows, y: jnp.where(passed[:, None], rows, y), rows, at.y)


def _solver(system: System, y: ReducedState, time: Any, method: Method) -> diffrax.AbstractSolver:
    return method.solver(system.closure(time, y.q).size > 0, forward=True)
