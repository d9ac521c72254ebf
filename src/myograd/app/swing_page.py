"""What `myograd demo` draws of a swing: a page with the moving leg, its angles, energies and moment arms; and a small picture."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import plotly.graph_objects as go

from myograd.app import svg
from myograd.app.swing import MODEL, SECONDS, STEP, Swing
from myograd.files.atomic import write_text
from myograd.files.page import label, write_page

SKIP = 4  # of the moments that are kept, every fourth is drawn: 25 pictures a second
HEIGHT = 330  # px: two rows fit a laptop's screen

PLAYER = """<p class='wide'><button id='play'>play</button>
<input id='moment' type='range' min='0' max='0' value='0' style='width: 20em; vertical-align: middle'>
<output id='clock'></output></p>"""

# What is shown follows the clock, not the number of pictures drawn: a slow browser draws fewer, and plays no slower.
SCRIPT = """<script>
(() => {
  const moments = MOMENTS, period = PERIOD;  // s
  const leg = document.getElementById("figure-1"), play = document.getElementById("play");
  const slider = document.getElementById("moment"), clock = document.getElementById("clock");
  const last = moments.length - 1;
  let shown = 0, playing = false, begun = 0;  // begun: when the motion was, or would have been, at its start [ms]
  function show(moment) {
    shown = moment;
    slider.value = moment;
    clock.textContent = (moment * period).toFixed(2) + " s";
    Plotly.restyle(leg, moments[moment], [0, 1]);
  }
  function draw(now) {
    if (!playing) return;
    const due = Math.min(Math.floor((now - begun) / (1000 * period) + 1e-6), last);
    if (due !== shown) show(due);
    if (due === last) stop(); else requestAnimationFrame(draw);
  }
  function start() {
    playing = true;
    play.textContent = "pause";
    const from = shown === last ? 0 : shown;
    requestAnimationFrame(now => { begun = now - 1000 * period * from; draw(now); });
  }
  function stop() { playing = false; play.textContent = "play"; }
  play.onclick = () => playing ? stop() : start();
  slider.max = last;
  slider.oninput = () => { stop(); show(Number(slider.value)); };
  show(0);
})();
</script>"""


def write_html(swing: Swing, path: Path) -> None:
    """The moving leg, its angles and energies, and the moment arms at the knee, in one file that needs nothing else."""
    name = swing.model.name
    what = (
        f"The shipped model {MODEL}, released from a bent pose, swings freely for {SECONDS:g} s in steps of {STEP * 1e3:g} ms; "
        f"springs at knee and ankle, no damping. The sum of all energies stays within {swing.drift:.1e} of the greatest "
        "kinetic energy."
    )
    figures = [_leg_figure(swing), _angles(swing), _energies(swing), _arms(swing)]
    for figure in figures:
        figure.update_layout(height=HEIGHT, margin={"l": 60, "r": 20, "t": 40, "b": 45})
    moments = [
        {axis: [line[axis] for line in _leg(swing, i)] for axis in "xy"} for i in range(0, len(swing.time), SKIP)
    ]
    period = swing.time[SKIP] - swing.time[0]
    script = SCRIPT.replace("MOMENTS", json.dumps(moments)).replace("PERIOD", f"{period:g}")
    write_page(path, f"{name}: {SECONDS:g} s of free swing", what, [PLAYER, *figures, script], columns=2)


def _leg(swing: Swing, moment: int) -> list[dict[str, list[float | None]]]:
    """Bones and muscles, as two lines in the sagittal plane [m]; None lifts the pen between two segments."""
    gap = np.full((len(swing.muscles[moment]), 1, 3), np.nan)
    muscles = np.concatenate([swing.muscles[moment], gap], axis=1).reshape(-1, 3)
    return [
        {
            axis: [None if np.isnan(x) else round(float(x), 4) for x in points[:, column]]
            for column, axis in enumerate("xy")
        }
        for points in (swing.bones[moment], muscles)
    ]


def _leg_figure(swing: Swing) -> go.Figure:
    bones, muscles = _leg(swing, 0)
    figure = go.Figure()
    figure.add_scatter(**bones, mode="lines+markers", name="bones", line={"color": "#333", "width": 6})
    figure.add_scatter(**muscles, mode="lines", name="muscles", line={"color": "#c0392b", "width": 2})
    figure.update_xaxes(title="forward [m]", range=[-0.75, 0.95])
    figure.update_yaxes(title="up [m]", range=[-0.1, 1.15], scaleanchor="x")
    return figure.update_layout(title="the swing, from the side")


def _angles(swing: Swing) -> go.Figure:
    figure = go.Figure(layout={"title": "joint angles"})
    for name, angle in zip(swing.model.coordinate_names, np.degrees(swing.angles).T, strict=True):
        figure.add_scatter(x=swing.time, y=angle, name=label(name))
    return figure.update_xaxes(title="time [s]").update_yaxes(title="angle [°]")


def _energies(swing: Swing) -> go.Figure:
    figure = go.Figure(layout={"title": "energies"})
    lowest = swing.gravitational.min()
    energies = {
        "kinetic": swing.kinetic,
        "gravitational": swing.gravitational - lowest,
        "elastic": swing.elastic,
        "total": swing.total - lowest,
    }
    for name, energy in energies.items():
        figure.add_scatter(x=swing.time, y=energy, name=name)
    return figure.update_xaxes(title="time [s]").update_yaxes(title="energy [J]")


def _arms(swing: Swing) -> go.Figure:
    figure = go.Figure(layout={"title": "moment arms at the knee"})
    for muscle, arm in knee_arms(swing).items():
        figure.add_scatter(x=np.degrees(swing.knee), y=arm, name=label(muscle))
    return figure.update_xaxes(title="knee flexion [°]").update_yaxes(title="moment arm [mm]")


def knee_arms(swing: Swing) -> dict[str, np.ndarray]:
    """Moment arms [mm] of the muscles that cross the knee, by name."""
    arms = swing.arms * 1e3
    return {name: arms[:, i] for i, name in enumerate(swing.model.muscle_names) if np.abs(arms[:, i]).max() > 1e-9}


COLORS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2", "#7f7f7f")


def write_picture(swing: Swing, path: Path) -> None:
    """The first half swing as if by a strobe, and the moment arms at the knee, as a small SVG."""
    page = svg.Drawing(900, 400)
    room = svg.Frame(page, (20, 36, 440, 376), (-0.70, 0.60), (0.0, 1.05))
    back = int(np.argmin(swing.angles[: len(swing.time) // 4, swing.model.coordinate_names.index("hip_flexion")]))
    moments = np.linspace(0, back, 9).round().astype(int)
    for k, frame in enumerate(moments):
        clear = 0.15 + 0.85 * (k / (len(moments) - 1)) ** 2
        page.line(room.place(*swing.bones[frame, :, :2].T), "#222", 5, clear)
        for segment in swing.muscles[frame, :, :, :2]:
            if np.isfinite(segment).all():
                page.line(room.place(*segment.T), "#c0392b", 1.5, clear)
    page.words(f"{swing.model.name}: swing, 0 to {swing.time[back]:.2f} s", 230, 20, "middle")

    arms = knee_arms(swing)
    plot = svg.Frame(page, (520, 40, 760, 350), (np.degrees(swing.knee[0]), np.degrees(swing.knee[-1])), (-60, 80))
    plot.axes(range(0, 150, 30), range(-60, 81, 20), "knee flexion [°]", "moment arm at the knee [mm]")
    below = 0.0
    for color, name in zip(COLORS, sorted(arms, key=lambda name: -arms[name][-1]), strict=False):
        points = plot.place(np.degrees(swing.knee), arms[name])
        below = max(points[-1, 1] + 4, below + 14)  # the previous one, that both stay readable
        page.line(points, color, 2)
        page.words(name, 768, below, color=color, size=12)
    write_text(path, page.text())
