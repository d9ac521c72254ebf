"""Moment arms over the range of a coordinate, as `myograd moment-arms` shows them: table, CSV file, plot.

One coordinate runs over its range; the others stay at their defaults, except for those that constraints make follow.
Where the constraints do not let the coordinate be, or where a muscle touches a wrapping surface, moment arms are NaN.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import plotly.graph_objects as go
from jax import lax
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

import myograd
from myograd.dynamics.guard import plain_errors
from myograd.errors import ModelError, nearest
from myograd.files.atomic import write_text
from myograd.model.description import Coordinate

NONE = 1e-12  # m; smaller moment arms are rounding: the muscle does not cross the joint


@dataclass
class Curve:
    """Moment arms along one coordinate.

    A translation has no moment arm but a share of the tension, a pure number; a coupled coordinate (one that drives
    turns and shifts at once) has a unit of its own.
    """

    coordinate: str
    motion: str  # rotational | translational | coupled
    values: np.ndarray  # [points] rad, m, or the coordinate's own unit
    muscles: tuple[str, ...]
    arms: np.ndarray  # [points, muscles] m/rad, m/m, or m per own unit

    @property
    def axis(self) -> str:
        return f"{self.coordinate}{ {'rotational': ' [°]', 'translational': ' [m]', 'coupled': ''}[self.motion] }"

    @property
    def arm_unit(self) -> str:
        return "mm/mm" if self.motion == "translational" else "mm"

    def shown_values(self) -> np.ndarray:
        return np.degrees(self.values) if self.motion == "rotational" else self.values

    def shown_arms(self) -> np.ndarray:
        return self.arms * (1.0 if self.motion == "translational" else 1e3)

    def crossing(self) -> list[int]:
        """Indices of the muscles that act on the coordinate, or whose moment arm is not known anywhere."""
        acts = (np.abs(self.arms) > NONE).any(axis=0)
        return np.flatnonzero(acts | np.isnan(self.arms).all(axis=0)).tolist()


def moment_arm_curves(path: Path, coordinate: str | None, muscles: Sequence[str] | None, points: int) -> list[Curve]:
    """Sweep one coordinate, or every independent one, of the model at `path`; keep these muscles, or all."""
    model = myograd.load_model(path)
    names = model.coordinate_names
    chosen = _choose(model.independent_coordinates, [coordinate] if coordinate else None, "independent coordinate")
    kept = _choose(model.muscle_names, muscles, "muscle")
    columns = np.array([names.index(name) for name in chosen])
    rows = np.array([model.muscle_names.index(name) for name in kept])
    default = myograd.assemble(model, model.default_pose())

    @jax.jit
    def sweep(columns: jax.Array, values: jax.Array) -> jax.Array:
        def at(column: jax.Array, value: jax.Array) -> jax.Array:
            q, possible = _pose(model, default.at[column].set(value), column)
            return jnp.where(possible, myograd.moment_arms(model, q)[rows, column], jnp.nan)

        return jax.vmap(jax.vmap(at, (None, 0)))(columns, values)

    description = {c.name: c for c in model.source.description.coordinates()}
    grids = np.array([_grid(description[name], points) for name in chosen])
    with plain_errors():
        arms = np.asarray(sweep(jnp.asarray(columns), jnp.asarray(grids)))
    motions = [description[name].motion_type for name in chosen]
    return [Curve(name, motions[i], grids[i], kept, arms[i]) for i, name in enumerate(chosen)]


def _pose(model: myograd.Model, q: jax.Array, column: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A pose near q that satisfies the constraints with the coordinate at `column` as it is; and whether there is one.

    `assemble` sets what follows from couplers, but closes loops by moving every coordinate. There, Newton's method with
    the one column of the constraint Jacobian left out.
    """
    if len(model.constraints.implicit_rows) == 0:
        return myograd.assemble(model, q), jnp.array(True)

    def closer(_: int, q: jax.Array) -> jax.Array:
        G = myograd.constraint_jacobian(model, q).at[:, column].set(0.0)
        speeds = jnp.linalg.pinv(G, rtol=1e-9) @ myograd.constraint_errors(model, q)
        return q - myograd.coordinate_rates(model, q, speeds)

    q = lax.fori_loop(0, 30, closer, q)
    return q, jnp.max(jnp.abs(myograd.constraint_errors(model, q))) < 1e-9


def _choose(known: Sequence[str], wanted: Sequence[str] | None, what: str) -> tuple[str, ...]:
    if wanted is None:
        wanted = known
    if not wanted:
        raise ModelError(f"the model has no {what}")
    for name in wanted:
        if name not in known:
            raise ModelError(f"the model has no {what} {name!r}{nearest(name, known)}")
    return tuple(wanted)


def _grid(coordinate: Coordinate, points: int) -> np.ndarray:
    """Values over the range, or to 180° (1 m) from the default where a limit is more than a turn (10 m) from zero."""
    far, reach = (10.0, 1.0) if coordinate.motion_type == "translational" else (2 * math.pi, math.pi)
    low, high = (
        limit if abs(limit) <= far else coordinate.default_value + sign * reach
        for sign, limit in zip((-1, 1), coordinate.range, strict=True)
    )
    return np.linspace(low, high, points)


def table(curves: list[Curve]) -> RenderableType:
    """Per coordinate: the muscles that cross it, with their least and greatest moment arm."""
    parts: list[RenderableType] = []
    for curve in curves:
        x, arms = curve.shown_values(), curve.shown_arms()
        rows = Table("muscle", title=f"{curve.axis}, {x[0]:.4g} to {x[-1]:.4g}", title_justify="left", box=None)
        rows.add_column(f"least [{curve.arm_unit}]", justify="right")
        rows.add_column(f"greatest [{curve.arm_unit}]", justify="right")
        rows.add_column("")
        for i in curve.crossing():
            known = arms[~np.isnan(arms[:, i]), i]
            least, greatest = (f"{known.min():.3f}", f"{known.max():.3f}") if len(known) else ("", "")
            gap = len(arms) - len(known)
            why = f"not known at {gap} of {len(arms)} poses: touches a wrapping surface, or the pose is impossible"
            rows.add_row(curve.muscles[i], least, greatest, Text(why if gap else "", "yellow"))
        parts.append(rows if rows.row_count else f"{curve.coordinate}: no muscle acts on it")
    return Group(*parts)


def write_csv(curves: list[Curve], path: Path) -> None:
    """One line per coordinate value and muscle, at full precision, in radians and metres."""
    lines = io.StringIO()
    rows = csv.writer(lines, lineterminator="\n")
    rows.writerow(["coordinate", "value", "muscle", "moment_arm"])
    for curve in curves:
        for value, arms in zip(curve.values.tolist(), curve.arms.tolist(), strict=True):
            rows.writerows(
                [curve.coordinate, value, muscle, arm] for muscle, arm in zip(curve.muscles, arms, strict=True)
            )
    write_text(path, lines.getvalue())


def write_plot(curves: list[Curve], path: Path) -> None:
    """Curves of the muscles that cross each coordinate, chosen from a menu, in an HTML file that needs nothing else."""
    figure = go.Figure()
    owner: list[int] = []  # of each line: the number of its coordinate
    for number, curve in enumerate(curves):
        x, arms = curve.shown_values(), curve.shown_arms()
        for i in curve.crossing():
            figure.add_scatter(x=x, y=arms[:, i], name=curve.muscles[i], mode="lines", visible=number == 0)
            owner.append(number)
    menu = [
        {
            "label": curve.coordinate,
            "method": "update",
            "args": [
                {"visible": [number == n for n in owner]},
                {"xaxis.title.text": curve.axis, "yaxis.title.text": f"moment arm [{curve.arm_unit}]"},
            ],
        }
        for number, curve in enumerate(curves)
    ]
    first = curves[0]
    figure.update_layout(template="plotly_white", xaxis_title=first.axis, yaxis_title=f"moment arm [{first.arm_unit}]")
    if len(curves) > 1:
        figure.update_layout(updatemenus=[{"buttons": menu, "x": 0.0, "xanchor": "left", "y": 1.12}])
    write_text(path, figure.to_html(include_plotlyjs=True))
