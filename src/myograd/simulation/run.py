"""Forward simulation of everything that a model holds: skeleton, activations, fibres, contacts, closed loops.

`simulate` checks what it is given, runs in parts so that progress can be shown and Ctrl-C be heard, and stops with the reason and
with what was computed so far when a number stops being finite. Inside `jit`, `grad` or `vmap` it is one pure function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from .._arrays import as_array
from ..dynamics.constraints import constraint_errors, speed_errors
from ..dynamics.entry import need_constraints
from ..dynamics.guard import quiet
from ..dynamics.kinematics import pose
from ..errors import ModelError, MyogradError
from ..model.model import Model
from ..system.external import ExternalForces, external_wrenches
from ..system.forces import need_forces
from ..system.rates import state_rates
from ..system.reduced import ReducedState, Simulated
from ..system.state import State
from .controls import Constant, ControlSignal, check_signal, check_span, controller
from .initial import initial_state
from .integrators import Method
from .rollout import MOST_STEPS, rollout
from .steps import Progress, advanced, begun
from .trajectory import Trajectory

OUTPUTS_PER_SECOND = 100
ROWS = 64  # that a part has room for
TOLD = 20  # parts at least, where progress is told
STEPS, IMPLICIT_STEPS = 256, 16  # that a part takes at most, so that it lasts less than a second
OVERSHOOT = 1e-3  # of an activation that rises to 1: an integrator's error
ASSEMBLED = 1e-6  # a start whose constraints are off by more is refused


class SimulationStopped(MyogradError):
    """A simulation could not go on. `trajectory` is what was computed until then, None if nothing was."""

    def __init__(self, message: str, trajectory: Trajectory | None):
        super().__init__(message)
        self.trajectory = trajectory


def simulate(
    model: Model,
    initial: State | None = None,
    controls: Any = None,
    duration: float = 1.0,
    *,
    at: Any = None,
    integrator: str = "adams",
    accuracy: float = 1e-6,
    step: float | None = None,
    alpha: float = -0.05,
    wrenches: Any = None,
    torques: Any = None,
    forward_mode: bool = False,
    progress: Callable[[float], None] | None = None,
    accept: tuple[str, ...] = (),
) -> Trajectory:
    """Move a model under its controls, for `duration` [s] from `initial`.

    Args:
        initial: where to start; None for `initial_state(model)`.
        controls: one number for each of `model.control_names` (constant); a `Table` or a `ControlSignal` of them over time; a
            function of time and state; None for none.
        at: times [s] to give states at, from the start's time on; None for every 0.01 s, and the start.
        integrator: `adams` (the default) chooses its steps and is exact in the stiffness of tendons; others are in the
            documentation. accuracy: error allowed in each step, relative and absolute (rad, rad/s, optimal fibre lengths).
            step: length of steps [s] if they are not to be chosen. alpha: numerical damping of `hht`, from -1/3 to 0.
        wrenches: `ExternalForces`, or a function of time and state that gives moment and force on each body.
        torques: generalised forces [N m, N] beside those of the model: one for each of `model.coordinate_names` (constant), a
            `ControlSignal` of them over time, or a function of time and state.
        forward_mode: take derivatives by `jax.jvp` instead of `jax.grad`.
        progress: called with the part of the duration that is done.

    Raises SimulationStopped, with what was computed so far, where a number stops being finite, and on Ctrl-C. Inside `jit`,
    `grad` or `vmap` nothing is raised: states after that are infinite or NaN.
    """
    need_constraints(model, "simulate", accept)
    need_forces(model, "simulate", accept)
    method = jax.tree.map(lambda x: np.asarray(x, float), Method(integrator, accuracy, step, alpha))
    traced = any(
        isinstance(x, Tracer) for x in jax.tree.leaves((model, initial, controls, wrenches, torques, at, duration))
    )
    if initial is None:
        initial = initial_state(model, accept=accept)
    times = _times(initial, duration, at)
    forces = _wrenches(model, wrenches), _torques(model, torques)
    system = Simulated(model, controller(model, controls), *forces, initial)
    asked = 0 if at is None else 1  # the first row that is: before it comes the start
    if traced:
        times = jnp.asarray(times, float)
        rolled = rollout(system, system.reduced(initial), times, method, forward=forward_mode)
        found = Trajectory(times, *_outputs(system, times, rolled.y), rolled.steps, rolled.rejected)
        return found.since(asked)
    _check_start(model, initial)
    _check_shapes(system, initial)
    for what, known in (
        ("controls", getattr(system.controls, "time", None)),
        ("torques", getattr(system.torques, "time", None)),
        ("external forces", getattr(getattr(system.wrenches, "forces", None), "span", None)),
    ):
        if known is not None:
            check_span(what, known, float(times[0]), float(times[-1]))
    return _in_parts(system, np.asarray(times), method, progress, asked)


# Checks ------------------------------------------------------------------------------------------------------


def _times(initial: State, duration: Any, at: Any) -> Any:
    """The start's time, and those that states are asked for at: [n], an array of NumPy's unless something is traced."""
    start = initial.time
    if at is None:
        if isinstance(duration, Tracer) or not np.isfinite(duration) or duration <= 0:
            raise ModelError(f"simulate: duration must be a positive number of seconds, not {duration}")
        rows = max(int(np.ceil(duration * OUTPUTS_PER_SECOND - 1e-9)), 1)
        return start + np.minimum(np.arange(rows + 1) / OUTPUTS_PER_SECOND, duration)
    traced = any(isinstance(x, Tracer) for x in jax.tree.leaves(at))
    times = jnp.asarray(at, float) if traced else np.asarray(at, float)
    if times.ndim != 1 or len(times) < 1:
        raise ModelError(f"simulate: `at` must be a list of times, not of shape {times.shape}")
    if not isinstance(times, Tracer) and not isinstance(start, Tracer):
        numbers = np.asarray(times)
        increase = (np.diff(numbers) > 0).all() and numbers[0] >= float(start) and numbers[-1] > float(start)
        if not np.isfinite(numbers).all() or not increase:
            raise ModelError(
                f"simulate: `at` must be finite times that increase, from the start's time {float(start)} s on to a later one"
            )
        return np.append(float(start), numbers)
    return jnp.concatenate([jnp.reshape(jnp.asarray(start, float), 1), times])


def _check_start(model: Model, initial: State) -> None:
    for name, value in (("q", initial.q), ("u", initial.u)):
        if np.shape(value) != (len(model.coordinate_names),):
            raise ModelError(
                f"simulate: {name} of the start has shape {np.shape(value)}, not ({len(model.coordinate_names)},)"
            )
    for name in ("q", "u", "activation", "fiber_length"):
        bad = np.flatnonzero(~np.isfinite(np.asarray(getattr(initial, name))))
        if len(bad):
            owners = model.coordinate_names if name in ("q", "u") else model.muscle_names
            raise ModelError(f"simulate: {name} of the start is not finite for {owners[bad[0]]!r}")
    a, fiber = np.asarray(initial.activation), np.asarray(initial.fiber_length)
    for bad, what in (
        (a > 1 + OVERSHOOT, "activation is above 1"),  # below 0, a state without excitation sinks by itself
        (fiber < 0, "fibre length is negative"),
    ):
        if bad.any():
            raise ModelError(f"simulate: at the start, {model.muscle_names[int(np.argmax(bad))]}: {what}")
    if not model.constraints.row_names:
        return
    found = _constraint_errors(model, initial)
    for errors, what, cure in (
        (found[0], "is not assembled", "assemble(model, q)"),
        (found[1], "violates its constraints with its speeds", "project_speeds"),
    ):
        worst = int(np.argmax(np.abs(errors)))
        if abs(errors[worst]) > ASSEMBLED:
            raise ModelError(
                f"simulate: the start {what}: {model.constraints.row_names[worst]} is off by {abs(errors[worst]):.3g}; "
                f"use {cure} first, or initial_state"
            )


@eqx.filter_jit
def _constraint_errors(model: Model, state: State) -> tuple[Float[Array, " rows"], Float[Array, " rows"]]:
    """Of places, and of speeds."""
    at = pose(model, state.q)
    return constraint_errors(model, at, state.q, state.time), speed_errors(model, at, state.q, state.u, state.time)


def _check_shapes(system: Simulated, initial: State) -> None:
    """Raise unless functions of time and state give one number for each that they are for."""
    model = system.model
    for what, function, shape in (
        ("controls (control_names)", system.controls, (len(model.control_names),)),
        ("torques (coordinate_names)", system.torques, (len(model.coordinate_names),)),
        ("wrenches (body_names; moment, then force)", system.wrenches, (len(model.body_names), 6)),
    ):
        if function is not None:
            given = np.shape(eqx.filter_eval_shape(function, initial.time, initial))
            if given != shape:
                raise ModelError(f"simulate: {what} have shape {given}, but {shape} is needed")


def _wrenches(model: Model, wrenches: Any) -> Any:
    if isinstance(wrenches, ExternalForces):
        return External(model, wrenches)
    if wrenches is None or callable(wrenches):
        return wrenches
    raise ModelError("simulate: wrenches must be ExternalForces (see external_forces) or a function of time and state")


def _torques(model: Model, torques: Any) -> Any:
    if isinstance(torques, ControlSignal):
        check_signal("torques", torques, model.coordinate_names)
    if torques is None or callable(torques):
        return torques
    values, names = as_array(torques), model.coordinate_names
    if values.shape != (len(names),):
        raise ModelError(
            f"simulate: torques have shape {values.shape}, but need one for each of the {len(names)} coordinates "
            "(coordinate_names)"
        )
    return Constant(values)


class External(eqx.Module):
    """Measured forces as a function of time and state."""

    model: Model
    forces: ExternalForces

    def __call__(self, t: Any, state: State) -> Float[Array, "bodies 6"]:
        within = jnp.clip(t, self.forces.span[0], self.forces.span[1])  # the last step may end a rounding error late
        return external_wrenches(self.model, self.forces, state.q, within)


# Running -----------------------------------------------------------------------------------------------------


def _outputs(system: Simulated, times: Any, y: ReducedState) -> tuple[State, Float[Array, "n k"]]:
    """States and controls."""

    def row(t: Any, y: ReducedState) -> tuple[State, Float[Array, " k"]]:
        state = system.state(t, system.projected(t, y))
        with quiet():  # a check that fails in a feedback controller is told by `_reason`
            return state, system.controls(t, state)

    return jax.vmap(row)(times, y)


@eqx.filter_jit
def _begun(system: Simulated, times: Any, method: Method) -> Progress:
    return begun(system, system.reduced(system.rest), times, method)


@eqx.filter_jit
def _part(
    system: Simulated, at: Progress, end: Any, times: Any, most: Any, method: Method
) -> tuple[Progress, State, Float[Array, "n k"]]:
    at, y = advanced(system, at, end, times, most, method)
    return at, *_outputs(system, jnp.minimum(times, at.time), y)


def _in_parts(
    system: Simulated, times: np.ndarray, method: Method, progress: Callable[[float], None] | None, asked: int
) -> Trajectory:
    """The whole simulation, part by part, so that it can tell how far it is, and keep what it has when it must stop; its rows
    from the `asked` one on."""
    parts: list[tuple[State, np.ndarray]] = []
    at, done, counted, most = None, 0, 0, np.array(IMPLICIT_STEPS if method.implicit else STEPS)
    rows, stopped = min(ROWS, -(-len(times) // TOLD)) if progress else ROWS, ""
    try:
        at = _begun(system, times[[0, -1]], method)
        while done < len(times) and not stopped:
            wanted = times[done : done + rows]
            room = np.pad(wanted, (0, ROWS - len(wanted)), constant_values=np.inf)
            at, *found = jax.block_until_ready(_part(system, at, times[-1], room, most, method))
            passed = int(np.sum(wanted <= np.asarray(at.time)))
            parts.append(jax.tree.map(lambda x, passed=passed: np.asarray(x)[:passed], tuple(found)))
            done += passed
            if progress:
                progress((float(at.time) - times[0]) / (times[-1] - times[0]))
            counted = 0 if passed else counted + int(most)
            if done < len(times):
                stopped = _reason(system, at, counted, method)
    except KeyboardInterrupt:
        stopped = (
            f"interrupted at {float(times[0] if at is None else at.time):.6g} s; what was computed until then is kept"
        )
    done = sum(len(controls) for _, controls in parts)
    if done <= asked:
        raise SimulationStopped(stopped, None)
    state, controls = jax.tree.map(lambda *x: as_array(np.concatenate(x)[asked:]), *parts)
    assert at is not None
    trajectory = Trajectory(as_array(times[asked:done]), state, controls, int(at.steps), int(at.rejected))
    if stopped:
        raise SimulationStopped(stopped, trajectory)
    return trajectory


def _reason(system: Simulated, at: Progress, counted: int, method: Method) -> str:
    """Why a simulation cannot go on: the cause, and when; "" if it can. `counted`: steps since the last output."""
    time, y = float(at.time), at.y
    if at.well:
        many = (
            f"at {time:.6g} s {counted} steps were taken since the last output; use a larger accuracy or longer steps"
        )
        return many if counted >= MOST_STEPS else ""
    rates = system.rates(at.time, y)
    names = _element_names(system)
    change = np.concatenate([np.asarray(part) for part in (rates.q, rates.u, rates.z)])
    value = np.concatenate([np.asarray(part) for part in (y.q, y.u, y.z)])
    bad = np.flatnonzero(~np.isfinite(change))
    if len(bad):
        return f"at {time:.6g} s " + _failure(system, at, f"the rate of change of {names[bad[0]]} is not finite")
    fastest = int(np.argmax(np.abs(change) / (1 + np.abs(value))))
    cause = f"{names[fastest]} changes fastest, by {change[fastest]:.3g} per second at a value of {value[fastest]:.3g}"
    if method.step is not None:
        return f"at {time:.6g} s a step of {method.step:g} s gave no finite state; {cause}. Shorter steps may help"
    return f"at {time:.6g} s no step, however short, was accurate to {method.accuracy:g}; {cause}"


def _failure(system: Simulated, at: Progress, seen: str) -> str:
    """What a check says to rates that are not finite; or else what was seen of them."""
    state = system.state(at.time, at.y)
    try:
        state_rates(system.model, state, *system.applied(at.time, state))  # step by step: raises what is wrong
    except MyogradError as error:
        return str(error)
    return seen


def _element_names(system: Simulated) -> list[str]:
    model = system.model
    free = [model.coordinate_names[i] for i in model.constraints.free]
    return [
        *(f"coordinate {name!r}" for name in free),
        *(f"the speed of {name!r}" for name in free),
        *(f"the activation of {model.muscle_names[i]!r}" for i in system.activated),
        *(f"the fibre length of {model.muscle_names[i]!r} (over its optimal length)" for i in system.elastic),
    ]
