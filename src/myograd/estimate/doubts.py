"""Recordings that cannot identify, told in plain words: before a fit (`check`), and right after it (`doubts`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import jax.numpy as jnp
import numpy as np

from ..errors import MyogradError
from .fit import Fit
from .problem import Problem

STILL = np.deg2rad(3.0)  # range of a coordinate below which it does not count as moving [rad]
SLOW = 0.05  # rad/s
FLAT = 0.005  # deviation of an envelope
UNEXPLAINED = 0.5  # part of the needed torque that a fit may leave
FARTHEST = 1.0  # s that clocks are looked for apart
BETTER = 0.6  # of the unexplained part: a shift that leaves less than this is told


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
            "nothing moves in these recordings (no coordinate by 3 degrees): inertia, and how muscles change with length and "
            "velocity, cannot be told from them. Record movements of all joints"
        )
    if len(still) >= max(1, len(names) - 1):
        moving = [name for name in names if name not in still]
        raise MyogradError(
            f"only {', '.join(moving)} moves in these recordings; {', '.join(still)} stand still. Parameters cannot "
            "be told apart by one axis: record movements of all of them, or lock those that are held"
        )
    for recording in problem.recordings:
        for name in problem.seen.identifiable:
            values = recording.emg[:, recording.channels.index(name)]
            if np.std(values) < FLAT:
                raise MyogradError(
                    f"recording {recording.name!r}: the EMG of {name!r} is flat (deviation {np.std(values):.2g} of maximum): "
                    "nothing about this muscle can be learned. Check the electrode, or leave the muscle's parameters out"
                )
    _check_clocks(problem)


def _check_clocks(problem: Problem) -> None:
    """Envelopes times arms, as a linear model of the needed torque, fit best where clocks agree."""
    for recording, it, data, low_pass in zip(
        problem.recordings, problem.mechanics, problem.data, problem.low_passes, strict=True
    ):
        rows = np.asarray(data.rows)
        moments = np.asarray(problem.parameters.moments(jnp.asarray(problem.parameters.start())))
        N = np.asarray(data.unreached)
        need = np.einsum("tnk,tn->tk", N, it.need[rows] + it.need_per[rows] @ moments)
        arms = np.einsum("tnk,tmn->tkm", N, np.asarray(data.arms))
        emg, last = np.asarray(data.emg), len(recording) - 1
        farthest = int(min(FARTHEST, 0.2 * last * recording.step) / recording.step)
        step = max(1, int(0.02 / recording.step))
        inside = (rows >= farthest) & (rows <= last - farthest)
        if inside.sum() < 10 * arms.shape[2]:
            continue
        left = {}
        if low_pass is not None and len(low_pass.kept(rows[inside])) * N.shape[2] < 4 * arms.shape[2]:
            continue  # too few that are independent, for two columns of each muscle
        smooth = (lambda x: x) if low_pass is None else replace(low_pass, keep=1)
        y = smooth(need[inside]).ravel()
        for shift in range(-farthest, farthest + 1, step):
            X = np.concatenate([arms[inside] * emg[rows[inside] - shift][:, None, :], arms[inside]], axis=2)
            X = smooth(X).reshape(-1, X.shape[2])
            left[shift] = np.mean((y - X @ np.linalg.lstsq(X, y, rcond=1e-8)[0]) ** 2) / np.mean(y**2)
        natural = min(left[s] for s in left if 0 <= s * recording.step <= 0.15)
        best = min(left, key=left.__getitem__)
        if left[best] < BETTER * natural and not -0.05 <= best * recording.step <= 0.2:
            raise MyogradError(
                f"recording {recording.name!r}: EMG fits the motion best if it is taken {abs(best) * recording.step:.2f} s "
                f"{'later' if best > 0 else 'earlier'}; "
                "muscles act 0 to 0.15 s after their EMG. The clocks of motion and EMG seem to be shifted against each other"
            )


def doubts(fit: Fit, torque: float) -> list[str]:
    """What to say of a fit besides its numbers. `torque`: the part of the needed torque that it leaves on its own recordings
    (`Validation.normalised_torque`)."""
    found = []
    if not fit.converged:
        found.append(f"The fit has not converged ({fit.why}); its numbers are not to be used.")
    limits: Sequence[str] = fit.problem.parameters.at_limits(fit.z)
    if limits:
        found.append(
            f"At their limits, so not found: {', '.join(limits)}. Either the limits are too narrow, or something else is wrong."
        )
    if "delay" in limits:
        found.append("The electromechanical delay is at its limit: the clocks of motion and EMG may be shifted.")
    if torque > UNEXPLAINED:
        found.append(
            f"The fit leaves {100 * torque:.0f} % of the torque unexplained: the recordings do not fit this model. Are the "
            "EMG channels in the right order, and the clocks together?"
        )
    return found
