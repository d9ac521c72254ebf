"""What `myograd moment-arms --plot` draws of its curves: a page with moment arms and lengths over a coordinate's range."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from plotly.colors import qualitative
from plotly.subplots import make_subplots

from myograd.app.sweep import Curve
from myograd.files.page import label, paragraph, write_page


def write_plot(curves: list[Curve], path: Path) -> None:
    """Moment arms above, lengths below, of the muscles that cross each coordinate, which is chosen from a menu."""
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06)
    owner: list[int] = []  # of each line: the number of its coordinate
    for number, curve in enumerate(curves):
        lines = _lines(curve, visible=number == 0)
        figure.add_traces(lines)
        owner += [number] * len(lines)
    menu = [
        {
            "label": label(curve.coordinate),
            "method": "update",
            "args": [{"visible": [number == n for n in owner]}, _titles(curve)],
        }
        for number, curve in enumerate(curves)
    ]
    compared = curves[0].opensim_arms is not None
    figure.update_layout(
        _titles(curves[0]), height=640, margin={"t": 60}, legend_title_text="dashed: OpenSim" if compared else ""
    )
    if len(curves) > 1:
        figure.update_layout(updatemenus=[{"buttons": menu, "x": 0.5, "xanchor": "center", "y": 1.12}])
    what = (
        f"{len(curves[0].values)} values over the range of {'each coordinate' if len(curves) > 1 else curves[0].coordinate}, "
        "others at their defaults, constraints satisfied; the muscles that act on it."
    )
    write_page(path, f"{curves[0].model}: moment arms and lengths", what, [figure, *map(paragraph, _missing(curves))])


def _lines(curve: Curve, visible: bool) -> list[go.Scatter]:
    """Arm and length of each muscle whose arm is known somewhere; OpenSim's dashed."""
    panels = (("", curve.arms, curve.opensim_arms, curve.arm_scale), ("2", curve.lengths, curve.opensim_lengths, 1e3))
    found = []
    for place, i in enumerate(_drawn(curve)):
        for axis, ours, opensims, scale in panels:
            for values, dash in ((ours, "solid"), (opensims, "dash")):
                if values is None:
                    continue
                found.append(
                    go.Scatter(
                        x=curve.shown_values(),
                        y=values[:, i] * scale,
                        name=label(curve.muscles[i]) + (" (OpenSim)" if dash == "dash" else ""),
                        mode="lines",
                        line={"color": qualitative.Dark24[place % len(qualitative.Dark24)], "dash": dash},
                        legendgroup=curve.muscles[i],
                        showlegend=axis == "" and dash == "solid",
                        visible=visible,
                        xaxis=f"x{axis}",
                        yaxis=f"y{axis}",
                    )
                )
    return found


def _titles(curve: Curve) -> dict[str, str]:
    x = curve.shown_values()
    return {
        "title.text": f"{label(curve.axis)}, {x[0]:.4g} to {x[-1]:.4g}"
        + ("" if _drawn(curve) else ": no muscle acts on it"),
        "xaxis2.title.text": label(curve.axis),
        "yaxis.title.text": f"moment arm [{curve.arm_unit}]",
        "yaxis2.title.text": "length [mm]",
    }


def _drawn(curve: Curve) -> list[int]:
    return [i for i in curve.crossing() if not np.isnan(curve.arms[:, i]).all()]


def _missing(curves: list[Curve]) -> list[str]:
    """Which curves are not there, or have gaps."""
    said = []
    for curve in curves:
        gaps = [curve.muscles[i] for i in curve.crossing() if np.isnan(curve.arms[:, i]).any()]
        if gaps:
            said.append(
                f"Not known at some values of {curve.coordinate}, where the pose is impossible or no path at rest was found: "
                f"{', '.join(gaps)}."
            )
    return said
