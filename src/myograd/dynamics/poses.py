"""Poses by name: one from coordinates in degrees or radians, many from a table of motion."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from math import pi
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ..errors import ModelError, MotionWarning, nearest, quoted, warn
from ..files.motions import table_coordinates
from ..files.tables.formats import read_table
from ..files.tables.table import Table
from ..model.model import Model
from .assembly import assemble, project_speeds
from .guard import checked

deg = pi / 180
"""One degree in radians: `-60 * mg.deg`."""


def pose(
    model: Model,
    values: Mapping[str, Any] | None = None,
    *,
    degrees: bool = False,
    accept: tuple[str, ...] = (),
    **coordinates: Any,
) -> Float[Array, " c"]:
    """Coordinates [rad, m] of the default pose with some of them changed by name, and constraints satisfied.

        mg.pose(model, knee_angle_r=-60 * mg.deg)
        mg.pose(model, {"knee_angle_r": -60, "pelvis_ty": 0.9}, degrees=True)

    `degrees`: angles are in degrees; translations are in metres always. What couplers set follows. Values may be traced.
    `accept`: names of unsupported constraints to leave out. A coordinate that is called `values`, `degrees` or `accept` must be
    among `values`.
    """
    chosen = {**(values or {}), **coordinates}
    q = model.default_pose()
    free = set(model.constraints.free.tolist())
    for name, value in chosen.items():
        if name not in model.coordinate_names:
            raise ModelError(f"{model.name!r} has no coordinate {name!r}{nearest(name, model.coordinate_names)}")
        i = model.coordinate_names.index(name)
        if i not in free:
            raise ModelError(
                f"coordinate {name!r} of {model.name!r} cannot be chosen: a coupler, a lock or a prescribed motion sets it"
            )
        if np.shape(value) != ():
            raise ModelError(f"coordinate {name!r} is one number, not an array of shape {np.shape(value)}")
        q = q.at[i].set(value * deg if degrees and model.names.rotational[i] else value)
    return assemble(model, q, accept=accept)


@dataclass(frozen=True, eq=False)
class Motion:
    """Poses over time."""

    time: np.ndarray
    """[n] s"""
    q: np.ndarray
    """[n, c] rad, m, in the order of `model.coordinate_names`"""
    given: tuple[str, ...]
    """coordinates that the table has; the others are at their defaults, or follow by constraints"""

    def __len__(self) -> int:
        return len(self.time)


def read_motion(model: Model, source: Table | str | os.PathLike[str], accept: tuple[str, ...] = ()) -> Motion:
    """Poses from a table of coordinates over time: OpenSim's `.mot` of inverse kinematics, or a `.sto` of states.

    Degrees or radians as the header says. Columns are named after coordinates, or by OpenSim's path to them. Coordinates
    without a column are at their defaults (a MotionWarning lists them), and constraints are satisfied,
    but for unsupported ones that `accept` names.
    """
    table = source if isinstance(source, Table) else read_table(source)
    what = "the motion" if isinstance(source, Table) else quoted(Path(source))
    found = table_coordinates(model, table, what)
    if not found.given.any():
        first = ", ".join(model.coordinate_names[:4])
        raise ModelError(f"{what} has no column named after a coordinate of {model.name!r} ({first}, ...)")
    bad = np.argwhere(~np.isfinite(found.values))
    if len(bad):
        row, column = bad[0]
        raise ModelError(
            f"{what}: {model.coordinate_names[column]} is not finite at {table.time[row]:g} s; fill the gap, or cut"
        )
    missing = [model.coordinate_names[i] for i in model.constraints.free if not found.given[i]]
    if missing:
        shown = ", ".join(missing[:8]) + (f" and {len(missing) - 8} more" if len(missing) > 8 else "")
        near = {near for name in missing for near in get_close_matches(name, table.names, 1, 0.85)}
        unused = sorted(near - set(model.coordinate_names))
        instead = f". Not used: {', '.join(map(repr, unused))}; misspelt?" if unused else ""
        warn(f"{what} has no column for {shown}: at the default there{instead}", MotionWarning)
    given = tuple(name for name, has in zip(model.coordinate_names, found.given, strict=True) if has)
    return Motion(table.time, assembled(model, found.values, table.time, what, accept), given)


def assembled(
    model: Model, q: np.ndarray, time: np.ndarray, what: str = "the motion", accept: tuple[str, ...] = ()
) -> np.ndarray:
    """Poses [n, c] at times [n] with constraints satisfied (`assemble`); raises at the first time at which they cannot be."""
    return _at_all_times(assemble, model, (q,), time, what, accept)


def projected(
    model: Model, q: np.ndarray, u: np.ndarray, time: np.ndarray, what: str = "the motion", accept: tuple[str, ...] = ()
) -> np.ndarray:
    """Speeds [n, c] at poses and times with constraints satisfied (`project_speeds`); raises as `assembled` does."""
    return _at_all_times(project_speeds, model, (q, u), time, what, accept)


def _at_all_times(
    function: Callable[..., Array],
    model: Model,
    rows: tuple[np.ndarray, ...],
    time: np.ndarray,
    what: str,
    accept: tuple[str, ...],
) -> np.ndarray:
    found, failed = _mapped(function, model, tuple(map(jnp.asarray, rows)), jnp.asarray(time), accept)
    if failed.any():
        row = int(np.argmax(failed))
        try:
            function(model, *(values[row] for values in rows), time[row], accept=accept)
        except ModelError as error:
            raise ModelError(f"{what} at {time[row]:g} s: {error}") from None
        raise AssertionError(
            f"{what} at {time[row]:g} s: a check failed for all times at once, but not for this one alone"
        )
    return np.asarray(found)


@partial(jax.jit, static_argnames=("function", "accept"))
def _mapped(
    function: Callable[..., Array],
    model: Model,
    rows: tuple[Float[Array, "n c"], ...],
    time: Float[Array, " n"],
    accept: tuple[str, ...],
) -> tuple[Float[Array, "n c"], Bool[Array, " n"]]:
    return jax.vmap(lambda time, *row: checked(function)(model, *row, time, accept))(time, *rows)
