"""What was recorded of a movement: joint motion, EMG, and, where known, fibre states and muscle geometry.

A laboratory has joint angles and EMG. Speeds and accelerations are then those of a spline through the low-passed angles
(`smooth_motion`). Fibre lengths and velocities, as paper 000 takes them from its simulator, and muscle geometry that another
program obeys, are optional.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np
from scipy import interpolate, signal

from ..errors import ActivationWarning, MyogradError, nearest, warn
from ..files.motions import table_coordinates
from ..files.tables.table import Table
from ..model.model import Model
from .motions import obeying

UNEVEN = 1e-3  # largest difference of two steps in time, relative
SHORTEST = 0.5  # s
WIDER = 3.0  # cut-off of angles, over the one below which motion and forces are compared
NARROWEST = 2.0  # the least of that
HIGHEST = 0.45  # of the rate
UNDERSHOOT = 0.01  # of the maximum: filters that make envelopes swing below zero by less than this


@dataclass(frozen=True, eq=False)
class Recording:
    """One movement, T samples at equal steps. Coordinates and muscles in the order of the model."""

    name: str
    time: np.ndarray
    """[T] s"""
    q: np.ndarray
    """[T, c]; mechanics take those that couplers, locks and prescribed motions set from the model, not from here"""
    u: np.ndarray
    udot: np.ndarray
    emg: np.ndarray
    """[T, channels] envelopes, from 0 to 1"""
    channels: tuple[str, ...]
    """the muscle of each channel"""
    fiber_length: np.ndarray | None = None
    """[T, muscles] m, and their rates; paper 000's mode"""
    fiber_velocity: np.ndarray | None = None
    length: np.ndarray | None = None
    """[T, muscles] m, lengths of the paths, if not from the model"""
    pull: np.ndarray | None = None
    """[T, muscles, c] generalised forces of unit tensions (`-muscle_gradients`), if not from the model"""
    low_pass: float | None = None
    """[Hz] of noisy motion: motion and forces are compared below it (`signals`)"""

    @property
    def step(self) -> float:
        """[s]"""
        return float((self.time[-1] - self.time[0]) / (len(self.time) - 1))

    def __len__(self) -> int:
        return len(self.time)

    def part(self, keep: slice) -> Recording:
        """Some of the samples, such as `slice(100, 900)` or `slice(None, None, 5)`."""
        arrays = {
            name: value[keep] for name, value in vars(self).items() if isinstance(value, np.ndarray) and value.ndim > 0
        }
        return replace(self, **arrays)


def check_recording(model: Model, recording: Recording) -> None:
    """Raise unless the recording's arrays fit together and the model."""
    it, T = recording, len(recording.time)
    c, m = len(model.coordinate_names), len(model.muscle_names)
    shapes = {
        "q": (T, c),
        "u": (T, c),
        "udot": (T, c),
        "emg": (T, len(it.channels)),
        "fiber_length": (T, m),
        "fiber_velocity": (T, m),
        "length": (T, m),
        "pull": (T, m, c),
    }
    if T < 20:
        raise MyogradError(
            f"recording {it.name!r}: {T} samples are too few; an identification needs seconds of movement"
        )
    steps = np.diff(it.time)
    if not np.all(steps > 0) or np.ptp(steps) > UNEVEN * steps.mean():
        raise MyogradError(
            f"recording {it.name!r}: samples are from {steps.min():.4g} to {steps.max():.4g} s apart; resample at equal steps"
        )
    for name, shape in shapes.items():
        value = getattr(it, name)
        if value is None:
            continue
        if value.shape != shape:
            raise MyogradError(f"recording {it.name!r}: {name} has shape {value.shape}; the model needs {shape}")
        if not np.isfinite(value).all():
            row, column = (int(i) for i in np.argwhere(~np.isfinite(value))[0][:2])
            owner = f" of {it.channels[column]!r}" if name == "emg" else ""
            raise MyogradError(
                f"recording {it.name!r}: {name}{owner} is not finite at {it.time[row]:.4g} s; fill the gap, or cut"
            )
    for name in it.channels:
        if name not in model.muscle_names:
            raise MyogradError(
                f"recording {it.name!r}: EMG channel {name!r} is of no muscle{nearest(name, model.muscle_names)}"
            )
    twice = [name for name in set(it.channels) if it.channels.count(name) > 1]
    if twice:
        raise MyogradError(f"recording {it.name!r}: EMG of {twice[0]!r} is given twice")
    outside = np.argwhere((it.emg < 0) | (it.emg > 1))
    if len(outside):
        row, column = (int(i) for i in outside[0])
        raise MyogradError(
            f"recording {it.name!r}: EMG of {it.channels[column]!r} is {it.emg[row, column]:g} at {it.time[row]:.4g} s; "
            "envelopes are from 0 to 1 of the maximum voluntary contraction (emg_envelope makes them from raw EMG, which has "
            "both signs; --mvc 100 if they are in percent)"
        )
    if it.low_pass is not None and not 0 < it.low_pass < 0.25 / it.step:
        raise MyogradError(
            f"recording {it.name!r}: a low-pass at {it.low_pass:g} Hz; of {1 / it.step:.4g} samples a second it must be above 0 "
            f"and below {0.25 / it.step:.4g} Hz"
        )
    if (it.fiber_length is None) != (it.fiber_velocity is None):
        raise MyogradError(f"recording {it.name!r}: fibre lengths and fibre velocities belong together; one is missing")


# From tables -------------------------------------------------------------------------------------------------


def read_recording(
    model: Model,
    motion: Table,
    emg: Table,
    name: str = "recording",
    low_pass: float | None = 6.0,
    step: float | None = None,
) -> Recording:
    """From a table of joint angles (columns named after coordinates, as a .mot of OpenSim's inverse kinematics) and one of EMG
    envelopes (columns named after muscles, `emg_` before them or not).

    Angles are smoothed and differentiated, and motion and forces are compared below `low_pass` (Hz; None for motion without
    noise); both tables are brought to the finer of their two steps, or to `step` seconds, over the time that both cover.
    """
    for table, what in ((motion, "motion"), (emg, "EMG")):
        _check_even(table, f"recording {name!r}: the {what}")
    rate = 1 / np.median(np.diff(motion.time))
    found = table_coordinates(model, motion, f"recording {name!r}: the motion")
    found.need(model, motion, f"recording {name!r}: the motion")
    channels = _channels(model, emg, name)
    start, end = max(motion.time[0], emg.time[0]), min(motion.time[-1], emg.time[-1])
    if end - start < SHORTEST:
        raise MyogradError(
            f"recording {name!r}: motion ({motion.time[0]:.3f} to {motion.time[-1]:.3f} s) and EMG ({emg.time[0]:.3f} to "
            f"{emg.time[-1]:.3f} s) overlap by {max(end - start, 0):.2f} s; at least {SHORTEST} s are needed. Is a table too "
            "short, or are their clocks shifted?"
        )
    if step is None:
        step = min(float(np.median(np.diff(table.time))) for table in (motion, emg))
    time = start + step * np.arange(int((end - start) / step + 1e-6) + 1)
    q, u, udot = smooth_motion(model, motion.time, found.values, time, rate, low_pass)
    values = np.column_stack([np.interp(time, emg.time, emg[column]) for column in channels.values()])
    values = _without_undershoot(values, tuple(channels), name)
    return Recording(name, time, q, u, udot, values, tuple(channels), low_pass=low_pass)


def _without_undershoot(values: np.ndarray, channels: tuple[str, ...], name: str) -> np.ndarray:
    """Envelopes [T, channels] with what filters leave below zero set to zero, and a warning. What is clearly negative stays:
    it is no envelope, and is refused with the recording (`check_recording`)."""
    least = values.min(axis=0)
    clipped = np.flatnonzero((least < 0) & (least >= -UNDERSHOOT))
    if not len(clipped):
        return values
    said = ", ".join(f"{channels[i]} (down to {least[i]:.2g})" for i in clipped)
    warn(
        f"recording {name!r}: EMG a little below zero, as filters leave it, was set to zero: {said}", ActivationWarning
    )
    values[:, clipped] = np.maximum(values[:, clipped], 0.0)
    return values


def _check_even(table: Table, what: str) -> None:
    """Raise where samples are missing: filters and splines would bridge the gap with numbers of their own."""
    if len(table) < 3:
        raise MyogradError(f"{what} has {len(table)} rows: too few for a recording")
    steps = np.diff(table.time)
    usual = np.median(steps)
    gap = int(np.argmax(steps))
    if steps[gap] > 1.5 * usual:
        raise MyogradError(
            f"{what} has a gap: {table.time[gap]:.4g} s is followed by {table.time[gap + 1]:.4g} s, where the usual step is "
            f"{usual:.4g} s; fill the gap, or cut"
        )


def _channels(model: Model, emg: Table, name: str) -> dict[str, str]:
    """Column of each muscle that has one. EMG columns of unknown names are refused, so that none is lost by a typing error."""
    found: dict[str, str] = {}
    for column in emg.names:
        muscle = column.rpartition("/")[2].removeprefix("emg_")
        if muscle in model.muscle_names:
            found[muscle] = column
        elif column in model.coordinate_names or column.startswith(("speed_", "/jointset")) or "/value" in column:
            continue  # a table that holds motion as well
        elif column.startswith("emg_") or muscle not in model.coordinate_names:
            raise MyogradError(
                f"recording {name!r}: EMG column {column!r} names no muscle of the model{nearest(muscle, model.muscle_names)}"
            )
    if not found:
        raise MyogradError(f"recording {name!r}: the EMG table has no column named after a muscle of the model")
    return found


def smooth_motion(
    model: Model, time: np.ndarray, angles: np.ndarray, at: np.ndarray, rate: float, low_pass: float | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """[len(at), c] coordinates, speeds and accelerations at the times `at`.

    Free coordinates: a Butterworth low-pass of order 4 (both ways together) well above `low_pass`, below which motion and
    forces are to be compared, then a quintic spline; the others follow from them by the constraints.
    """
    if low_pass is not None:
        if not low_pass > 0:
            raise MyogradError(f"a low-pass is at a frequency above 0 Hz, not at {low_pass:g} Hz")
        if not NARROWEST * low_pass <= HIGHEST * rate:
            raise MyogradError(
                f"a low-pass at {low_pass:g} Hz needs motion recorded at {NARROWEST * low_pass / HIGHEST:.3g} Hz or more, not at "
                f"{rate:.4g} Hz: angles have to keep more than what is compared"
            )
        sections = signal.butter(2, min(WIDER * low_pass, HIGHEST * rate), fs=rate, output="sos")
        angles = signal.sosfiltfilt(sections, angles, axis=0, padlen=min(len(angles) - 1, int(rate)))
    curve = interpolate.make_interp_spline(time, angles, k=5, axis=0)
    q, qdot, qddot = (np.asarray(curve(at, order)) for order in (0, 1, 2))
    return follow(model, at, q, qdot, qddot)


def follow(
    model: Model, time: np.ndarray, q: np.ndarray, qdot: np.ndarray, qddot: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Motions over time [T] with the coordinates that constraints set replaced by what the free ones make them."""
    if len(model.tree.balls):
        raise MyogradError(
            "identification of models with ball or free joints is not done yet: their speeds are not rates"
        )
    q, u, udot = (np.asarray(part) for part in obeying(model, *map(jnp.asarray, (time, q, qdot, qddot))))
    return q, u, udot


def select_channels(recording: Recording, names: Sequence[str]) -> np.ndarray:
    """[T, names] EMG of these muscles; raises for one that was not recorded."""
    for name in names:
        if name not in recording.channels:
            raise MyogradError(
                f"recording {recording.name!r} has no EMG of {name!r}{nearest(name, recording.channels)}; record it, or declare "
                "the muscle deep"
            )
    return recording.emg[:, [recording.channels.index(name) for name in names]]
