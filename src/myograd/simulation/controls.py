"""Controls over time: what `simulate` accepts, made into functions of time and state.

A table's columns are joined by straight lines, as OpenSim's PrescribedController does with its default functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from .._arrays import as_array
from ..errors import ControlWarning, ModelError, nearest, warn
from ..files.tables.table import Table, need_numbers
from ..model.model import Model
from ..system.state import State

Controller = Callable[[Any, State], Float[Array, " k"]]


class ControlSignal(eqx.Module):
    """Controls at given times, straight lines between, constant before the first and after the last."""

    time: Float[Array, " n"] = eqx.field(converter=as_array)
    """[s]"""
    values: Float[Array, "n k"] = eqx.field(converter=as_array)
    """one column per muscle and actuator (`model.control_names`)"""

    def __call__(self, t: Any, state: State) -> Float[Array, " k"]:
        i = jnp.clip(jnp.searchsorted(self.time, t, side="right"), 1, len(self.time) - 1)
        span = self.time[i] - self.time[i - 1]
        along = jnp.clip((t - self.time[i - 1]) / span, 0.0, 1.0)
        return self.values[i - 1] + along * (self.values[i] - self.values[i - 1])


class Constant(eqx.Module):
    values: Float[Array, " k"]

    def __call__(self, t: Any, state: State) -> Float[Array, " k"]:
        return self.values


def controller(model: Model, controls: Any) -> Any:
    """A function of time and state from whatever `simulate` accepts as controls."""
    if isinstance(controls, Table):
        return signal_of(model, controls)
    if isinstance(controls, ControlSignal):
        _check_signal(model, controls)
        return controls
    if callable(controls):
        return controls
    values = as_array(np.zeros(len(model.control_names)) if controls is None else controls)
    if values.shape != (len(model.control_names),):
        raise ModelError(
            f"constant controls have shape {values.shape}, but {model.name!r} needs one for each of its "
            f"{len(model.control_names)} muscles and actuators (control_names)"
        )
    _check_range(model, values if isinstance(values, Tracer) else np.asarray(values)[None], None)
    return Constant(values)


def signal_of(model: Model, table: Table) -> ControlSignal:
    """A table's columns as controls of a model.

    A column is called as the muscle or actuator, or by OpenSim's path to it (`/forceset/NAME`). What has no column is not
    excited, as in OpenSim, and told by a ControlWarning; a column of anything else is an error.
    """
    need_numbers(table, "controls")
    if not table.names:
        raise ModelError("controls: the table has no columns but time")
    short = [name.removesuffix("/excitation").rsplit("/", 1)[-1] for name in table.names]
    unknown = [plain for plain in short if plain not in model.control_names]
    if unknown:
        whose = f"not a muscle or actuator of {model.name!r}{nearest(unknown[0], model.control_names)}"
        if len(unknown) == 1:
            raise ModelError(f"controls: column {unknown[0]!r} is {whose}")
        raise ModelError(
            f"controls: {len(unknown)} columns ({', '.join(unknown)}) have no counterpart: {unknown[0]!r} is {whose}"
        )
    for plain in short:
        if short.count(plain) > 1:
            raise ModelError(f"controls: there are {short.count(plain)} columns for {plain!r}")
    missing = [name for name in model.control_names if name not in short]
    if missing:
        warn(
            f"controls: {len(missing)} of the {len(model.control_names)} muscles and actuators of {model.name!r} have no column, "
            f"and are not excited: {', '.join(missing[:8])}{', ...' if len(missing) > 8 else ''}",
            ControlWarning,
        )
    values = np.zeros((len(table), len(model.control_names)))
    for column, name in enumerate(short):
        values[:, model.control_names.index(name)] = table.data[:, column]
    found = ControlSignal(table.time, values)
    _check_signal(model, found)
    return found


def _check_signal(model: Model, signal: ControlSignal) -> None:
    check_signal("controls", signal, model.control_names)
    if not isinstance(signal.time, Tracer):
        _check_range(model, signal.values, np.asarray(signal.time))


def check_signal(what: str, signal: ControlSignal, names: tuple[str, ...]) -> None:
    """Raise unless there is a finite number for each name at each of several times that increase."""
    k = len(names)
    if signal.time.ndim != 1 or signal.values.shape != (*signal.time.shape, k):
        raise ModelError(
            f"{what} over time need times [n] and values [n, {k}], not {signal.time.shape} and {signal.values.shape}"
        )
    if len(signal.time) < 2:
        raise ModelError(f"{what} over time need at least two times, not {len(signal.time)}")
    if isinstance(signal.time, Tracer):
        return
    time = np.asarray(signal.time)
    backwards = np.flatnonzero(~(np.diff(time) > 0))
    if len(backwards):
        raise ModelError(f"{what}: time must increase: {time[backwards[0] + 1]} s comes after {time[backwards[0]]} s")
    if not isinstance(signal.values, Tracer) and not np.isfinite(signal.values).all():
        row, column = np.argwhere(~np.isfinite(np.asarray(signal.values)))[0]
        raise ModelError(
            f"{what}: {names[column]} is {signal.values[row, column]} at {time[row]:g} s, which is not finite"
        )


def check_span(what: str, known: Any, first: float, last: float) -> None:
    """Raise unless what is known at times from `known[0]` to `known[-1]` covers a simulation from `first` to `last` [s]."""
    if known[0] > first + 1e-9 or known[-1] < last - 1e-9:
        raise ModelError(
            f"{what} are given from {known[0]:g} to {known[-1]:g} s, but the simulation goes from {first:g} to {last:g} s"
        )


def _check_range(model: Model, values: Any, time: np.ndarray | None) -> None:
    """Raise if a control [n, k] is not finite, or a muscle's not between 0 and 1."""
    if isinstance(values, Tracer):
        return
    numbers = np.asarray(values)
    muscles = np.isin(np.arange(numbers.shape[1]), np.array(model.muscle_classes.control, int))
    for bad, what in (
        (~np.isfinite(numbers), "finite"),
        (muscles & ((numbers < 0) | (numbers > 1)), "an excitation between 0 and 1"),
    ):
        if bad.any():
            row, column = np.argwhere(bad)[0]
            when = "" if time is None else f" at {time[row]:g} s"
            raise ModelError(
                f"controls: {model.control_names[column]} is {numbers[row, column]:g}{when}, which is not {what}"
            )
