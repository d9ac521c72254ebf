"""Moment arms and lengths over the range of a coordinate, as `myograd moment-arms` shows them: table, CSV file, plot.

Poses are those of `diagnostics.along`. NaN means that the constraints do not let the coordinate be there, or that no path at rest
over the muscle's surfaces was found.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

import myograd
from myograd.app.peer import OpenSimModel
from myograd.diagnostics.along import pose_along, values_along
from myograd.dynamics.guard import plain_errors
from myograd.errors import ModelError, nearest
from myograd.files.atomic import write_text

NONE = 1e-12  # m; smaller moment arms are rounding: the muscle does not cross the joint


@dataclass
class Curve:
    """Moment arms and lengths along one coordinate.

    A translation has no moment arm but a share of the tension, a pure number; a coupled coordinate (one that drives
    turns and shifts at once) has a unit of its own.
    """

    coordinate: str
    motion: str  # rotational | translational | coupled
    values: np.ndarray  # [points] rad, m, or the coordinate's own unit
    muscles: tuple[str, ...]
    arms: np.ndarray  # [points, muscles] m/rad, m/m, or m per own unit
    lengths: np.ndarray  # [points, muscles] m
    opensim_arms: np.ndarray | None = None
    opensim_lengths: np.ndarray | None = None

    @property
    def axis(self) -> str:
        return f"{self.coordinate}{ {'rotational': ' [°]', 'translational': ' [m]', 'coupled': ''}[self.motion] }"

    @property
    def arm_unit(self) -> str:
        return "mm/mm" if self.motion == "translational" else "mm"

    @property
    def arm_scale(self) -> float:
        """From SI to `arm_unit`."""
        return 1.0 if self.motion == "translational" else 1e3

    def shown_values(self) -> np.ndarray:
        return np.degrees(self.values) if self.motion == "rotational" else self.values

    def crossing(self) -> list[int]:
        """Indices of the muscles that act on the coordinate, or whose moment arm is not known anywhere."""
        acts = (np.abs(self.arms) > NONE).any(axis=0)
        return np.flatnonzero(acts | np.isnan(self.arms).all(axis=0)).tolist()


def moment_arm_curves(
    path: Path, coordinate: str | None, muscles: Sequence[str] | None, points: int, against_opensim: bool = False
) -> list[Curve]:
    """Sweep one coordinate, or every independent one, of the model at `path`; keep these muscles, or all."""
    peer = OpenSimModel(path) if against_opensim else None
    model = myograd.load_model(path)
    names = model.coordinate_names
    if coordinate in names and coordinate not in model.independent_coordinates:
        raise ModelError(f"{coordinate!r} is locked, prescribed or follows other coordinates: nothing to sweep")
    chosen = _choose(model.independent_coordinates, [coordinate] if coordinate else None, "independent coordinate")
    kept = _choose(model.muscle_names, muscles, "muscle")
    columns = np.array([names.index(name) for name in chosen])
    rows = np.array([model.muscle_names.index(name) for name in kept])
    rest = myograd.assemble(model, model.default_pose())

    @jax.jit
    def sweep(columns: jax.Array, values: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        def at(column: jax.Array, value: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
            q, possible = pose_along(model, rest, column, value)
            arms, lengths = myograd.moment_arms(model, q)[rows, column], myograd.muscle_lengths(model, q)[rows]
            known = jnp.where(possible, 1.0, jnp.nan)
            return q * known, arms * known, lengths * known

        return lax.map(lambda row: jax.vmap(at, (None, 0))(*row), (columns, values))

    grids = np.array([values_along(model, name, points) for name in chosen])
    with plain_errors():
        poses, arms, lengths = map(np.asarray, sweep(jnp.asarray(columns), jnp.asarray(grids)))
    motions = {c.name: c.motion_type for c in model.document.description.coordinates()}
    curves = [Curve(name, motions[name], grids[i], kept, arms[i], lengths[i]) for i, name in enumerate(chosen)]
    if peer:
        for curve, q in zip(curves, poses, strict=True):
            curve.opensim_lengths, curve.opensim_arms = peer.lengths_and_arms(names, q, curve.coordinate, kept)
    return curves


def _choose(known: Sequence[str], wanted: Sequence[str] | None, what: str) -> tuple[str, ...]:
    if not known:
        raise ModelError(f"the model has no {what}")
    if wanted is None:
        wanted = known
    if not wanted:
        raise ModelError(f"no {what} is named")
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ModelError(f"the model has no {what} {' or '.join(map(repr, unknown))}{nearest(unknown[0], known)}")
    return tuple(wanted)


def table(curves: list[Curve]) -> RenderableType:
    """Per coordinate: the muscles that cross it, with their least and greatest moment arm, and how much OpenSim's differ."""
    parts: list[RenderableType] = []
    for curve in curves:
        x, arms = curve.shown_values(), curve.arms * curve.arm_scale
        rows = Table("muscle", title=f"{curve.axis}, {x[0]:.4g} to {x[-1]:.4g}", title_justify="left", box=None)
        rows.add_column(f"least [{curve.arm_unit}]", justify="right")
        rows.add_column(f"greatest [{curve.arm_unit}]", justify="right")
        compared = []
        if curve.opensim_arms is not None and curve.opensim_lengths is not None:
            rows.add_column(f"Δ arm to OpenSim [{curve.arm_unit}]", justify="right")
            rows.add_column("Δ length [mm]", justify="right")
            compared = [
                (curve.opensim_arms - curve.arms) * curve.arm_scale,
                (curve.opensim_lengths - curve.lengths) * 1e3,
            ]
        rows.add_column("")
        for i in curve.crossing():
            known = ~np.isnan(arms[:, i])
            shown = [arms[known, i].min(), arms[known, i].max()] if known.any() else []
            shown += [np.max(np.abs(off[known, i])) for off in compared if known.any()]
            cells = [f"{value:.3f}" for value in shown] or [""] * (2 + len(compared))
            why = f"not known at {np.sum(~known)} of {len(arms)} poses: the pose is impossible, or no path at rest was found"
            rows.add_row(curve.muscles[i], *cells, Text("" if known.all() else why, "yellow"))
        parts.append(rows if rows.row_count else f"{curve.coordinate}: no muscle acts on it")
    if any(curve.opensim_arms is not None for curve in curves):
        parts.append(
            "Over wrapping surfaces and next to moving points OpenSim's moment arms are not the derivatives of its lengths, and "
            "its paths are not always the shortest: docs/wrapping.md says where and why the two differ."
        )
    return Group(*parts)


def write_csv(curves: list[Curve], path: Path) -> None:
    """One line per coordinate value and muscle, at full precision, in radians and metres."""
    lines = io.StringIO()
    rows = csv.writer(lines, lineterminator="\n")
    header = ["coordinate", "value", "muscle", "moment_arm", "length"]
    compared = curves[0].opensim_arms is not None
    rows.writerow(header + (["opensim_moment_arm", "opensim_length"] if compared else []))
    for curve in curves:
        columns = [curve.arms, curve.lengths, curve.opensim_arms, curve.opensim_lengths]
        numbers = np.stack([x for x in columns if x is not None], axis=-1).tolist()
        for value, per_muscle in zip(curve.values.tolist(), numbers, strict=True):
            rows.writerows(
                [curve.coordinate, value, muscle, *x] for muscle, x in zip(curve.muscles, per_muscle, strict=True)
            )
    write_text(path, lines.getvalue())


def write_plot(curves: list[Curve], path: Path) -> None:
    """Moment arms above, lengths below, of the muscles that cross each coordinate, which is chosen from a menu; in an HTML
    file that needs nothing else."""
    from plotly.colors import qualitative
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06)
    owner: list[int] = []  # of each line: the number of its coordinate
    for number, curve in enumerate(curves):
        panels = (
            (1, curve.arms, curve.opensim_arms, curve.arm_scale),
            (2, curve.lengths, curve.opensim_lengths, 1e3),
        )
        for place, i in enumerate(curve.crossing()):
            color = qualitative.D3[place % len(qualitative.D3)]
            for row, ours, opensims, scale in panels:
                for values, dash in ((ours, "solid"), (opensims, "dash")):
                    if values is None:
                        continue
                    figure.add_scatter(
                        x=curve.shown_values(),
                        y=values[:, i] * scale,
                        name=curve.muscles[i] + (" (OpenSim)" if dash == "dash" else ""),
                        mode="lines",
                        line={"color": color, "dash": dash},
                        legendgroup=curve.muscles[i],
                        showlegend=row == 1 and dash == "solid",
                        visible=number == 0,
                        row=row,
                        col=1,
                    )
                    owner.append(number)

    def titles(curve: Curve) -> dict[str, str]:
        return {
            "xaxis2.title.text": curve.axis,
            "yaxis.title.text": f"moment arm [{curve.arm_unit}]",
            "yaxis2.title.text": "length [mm]",
        }

    menu = [
        {
            "label": curve.coordinate,
            "method": "update",
            "args": [{"visible": [number == n for n in owner]}, titles(curve)],
        }
        for number, curve in enumerate(curves)
    ]
    figure.update_layout(
        titles(curves[0]),
        template="plotly_white",
        legend_title_text="dashed: OpenSim" if curves[0].opensim_arms is not None else "",
    )
    if len(curves) > 1:
        figure.update_layout(updatemenus=[{"buttons": menu, "x": 0.0, "xanchor": "left", "y": 1.12}])
    write_text(path, figure.to_html(include_plotlyjs=True))
