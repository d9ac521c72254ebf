"""Recordings that cannot identify, in plain words: before a fit (`check`), and right after it (`diagnostics`)."""

from __future__ import annotations

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from scipy import signal

from ...errors import MyogradError
from ..recording import Recording
from .choices import FiberSource
from .fiber_steps import at_shortest
from .fit import Fit
from .forces import with_muscle_values
from .problem import Problem
from .structure import Structure

STILL = np.deg2rad(3.0)  # range of a coordinate below which it does not count as moving [rad]
SLOW = 0.05  # rad/s
FLAT = 0.005  # deviation of an envelope
UNEXPLAINED = 0.5  # part of the inverse-dynamics torque that a fit may leave
FARTHEST = 0.6  # s that clocks are looked for apart ...
LOOK = 0.04  # ... in steps of this
NATURAL = 0.1  # s that they may seem to be apart, as the delay of EMG is not known yet
FASTEST = 15.0  # Hz: above it there is no movement
NOISY = 0.7  # of the accelerations above that: they are noise
OFTEN = 0.05  # part of the samples
BETTER = 0.6  # of the unexplained squares: a shift that leaves less than this is an error


def check(problem: Problem) -> None:
    """Raise if the recordings move too little, an EMG channel is dead, or motion and EMG do not belong together."""
    model = problem.model
    free = model.constraints.free
    names = [model.coordinate_names[i] for i in free]
    q = np.concatenate([r.q[:, free] for r in problem.recordings])
    u = np.concatenate([r.u[:, free] for r in problem.recordings])
    turning = np.array([model.names.rotational[i] for i in free])
    still = [
        name
        for name, reach, speed, turns in zip(
            names, np.ptp(q, axis=0), np.sqrt(np.mean(u**2, axis=0)), turning, strict=True
        )
        if turns and (reach < STILL or speed < SLOW)
    ]
    if len(still) == len(names):
        raise MyogradError(
            "nothing moves in these recordings (no coordinate by 3 degrees): inertia, and how muscles change with length "
            "and velocity, cannot be found from them. Record movements of all joints (or are these radians under a "
            "header of degrees?)"
        )
    if len(still) >= max(1, len(names) - 1):
        moving = [name for name in names if name not in still]
        raise MyogradError(
            f"only {', '.join(moving)} moves in these recordings; {', '.join(still)} stand still. Parameters cannot "
            "be told apart by one axis: record movements of all of them, or lock those that stay as they are"
        )
    for recording in problem.recordings:
        for name in problem.identifiability.identifiable:
            values = recording.emg[:, recording.channels.index(name)]
            if np.std(values) < FLAT:
                raise MyogradError(
                    f"recording {recording.name!r}: the EMG of {name!r} is flat (deviation {np.std(values):.2g} of maximum): "
                    "nothing about this muscle can be learned. Check the electrode, or declare the muscle deep"
                )
        _check_noise(recording, names, free)
    _check_clocks(problem)


def _check_noise(recording: Recording, names: list[str], free: np.ndarray) -> None:
    """Raise where a recording that is taken for exact has accelerations that no muscle makes."""
    if recording.low_pass is not None or 0.5 / recording.step <= FASTEST:
        return
    sections = signal.butter(2, FASTEST, "highpass", fs=1 / recording.step, output="sos")
    udot = recording.udot[:, free]
    fast = np.std(signal.sosfiltfilt(sections, udot, axis=0), axis=0) / np.maximum(np.std(udot, axis=0), 1e-9)
    if fast.max() > NOISY:
        raise MyogradError(
            f"recording {recording.name!r}: the accelerations of {names[int(np.argmax(fast))]} are mostly above {FASTEST:g} Hz, "
            "faster than muscles move a limb: this motion is noisy but is treated as exact. Give a low-pass (--low-pass 6)"
        )


def _check_clocks(problem: Problem) -> None:
    """Raise where the model as it is explains a recording much better with its EMG shifted in time."""
    z = problem.parameters.start()
    shifts = LOOK * np.arange(-int(FARTHEST / LOOK), int(FARTHEST / LOOK) + 1)
    left = np.array([[np.mean(r**2) for r in problem.parts(_shifted(problem, z, by))] for by in shifts])
    now = np.argmin(np.abs(shifts))
    for recording, of_it in zip(problem.recordings, left.T, strict=True):
        if not np.isfinite(of_it).any():
            continue  # fibres that cannot balance: the fit will say of which muscle
        best = float(shifts[np.nanargmin(of_it)])
        if abs(best) > NATURAL and np.nanmin(of_it) < BETTER * of_it[now]:
            raise MyogradError(
                f"recording {recording.name!r}: EMG fits the motion best if shifted {abs(best):.1f} s "
                f"{'later' if best > 0 else 'earlier'}; muscles act 0 to 0.15 s after their EMG. "
                "The clocks of motion and EMG seem to be shifted against each other"
            )


def _shifted(problem: Problem, z: np.ndarray, by: float) -> np.ndarray:
    """The residual with EMG taken `by` seconds later."""
    data = []
    for one, scheme in zip(problem.data, problem.schemes, strict=True):
        last = len(one.emg) - 1
        data.append(one._replace(emg=one.emg[np.clip(np.arange(last + 1) - round(by / scheme.step), 0, last)]))
    there = replace(problem, data=tuple(data))
    return there.residual(z, there.guess(z))[0]


def _often_shortest(fit: Fit) -> list[str]:
    """Muscles whose solved fibres are often at their shortest."""
    problem, held = fit.problem, []
    unknowns = problem.parameters.unknowns(jnp.asarray(fit.z))
    for i, fibers in enumerate(fit.fibers):
        driven, scheme, _ = problem.at(i, unknowns)
        if scheme.fibers is FiberSource.SOLVED:
            driven = with_muscle_values(driven, unknowns.muscle)
            held.append(np.asarray(at_shortest(driven, fibers.length)))
    often = np.concatenate(held).mean(axis=0) > OFTEN if held else []
    return [name for name, it in zip(problem.identifiability.identifiable, often, strict=bool(held)) if it]


def diagnostics(fit: Fit, torque: float, left: Structure) -> list[str]:
    """What to say of a fit besides its numbers. `torque`: the part of the inverse-dynamics torque that it leaves on its own
    recordings (`Validation.normalised_torque`). `left`: of its residual (`Uncertainty.structure`)."""
    found = []
    if not fit.converged:
        found.append(f"The fit has not converged ({fit.outcome}); its numbers are not to be used.")
    if left.systematic:
        found.append(left.text())
    limits = fit.problem.parameters.near_limits(fit.z)
    if limits:
        found.append(
            f"At their limits, so not found: {', '.join(limits)}. Either the limits are too narrow, or something else is wrong."
        )
    if "emg.delay" in limits:
        found.append("The electromechanical delay is at its limit: the clocks of motion and EMG may be shifted.")
    held = _often_shortest(fit)
    if held:
        found.append(
            f"Fibres at their shortest in more than {100 * OFTEN:.0f} % of the samples: {', '.join(held)}. There the "
            "muscles' paths are too short for them, and say nothing of their numbers; are their tendon slack lengths near those "
            "of the subject?"
        )
    if torque > UNEXPLAINED:
        found.append(
            f"The fit leaves {100 * torque:.0f} % of the torque unexplained: the recordings do not fit this model. Are the "
            "EMG channels in the right order, and the clocks together?"
        )
    return found
