"""What `myograd demo` shows: the shipped planar leg, released, and what can be computed along its motion.

The leg hangs from its hip and is released from a bent pose; springs in knee and ankle stand for the tissues that keep
joints inside their ranges. Nothing damps, so the sum of all energies must stay as it was, and its drift is the error of
the simulation. The spring torque is not written down: it is the derivative of the spring energy.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import plotly.graph_objects as go
from jax import lax
from plotly.subplots import make_subplots

import myograd
from myograd import models
from myograd.app import svg
from myograd.dynamics.bodies import points_in_ground
from myograd.dynamics.kinematics import pose
from myograd.errors import UnsupportedWarning
from myograd.files.atomic import write_text
from myograd.path.segments import segments_at

MODEL = "planar_leg"
KNEE = "knee_flexion"
START = {"hip_flexion": 0.9, "knee_flexion": 0.9, "ankle_dorsiflexion": -0.2}  # rad, from rest
REST = {"hip_flexion": 0.0, "knee_flexion": 0.9, "ankle_dorsiflexion": -0.1}  # rad, where the springs do not pull
STIFFNESS = {"hip_flexion": 0.0, "knee_flexion": 15.0, "ankle_dorsiflexion": 8.0}  # N m/rad
SECONDS, STEP, KEEP = 5.0, 1e-3, 10  # every 10th step of 1 ms is kept

Array = jax.Array
State = tuple[Array, Array]  # coordinates and speeds


@dataclass
class Swing:
    """The simulated motion, at `frames` times, and the moment arms over the knee's range, at `points` angles."""

    model: myograd.Model
    time: np.ndarray  # [frames] s
    angles: np.ndarray  # [frames, coordinates] rad
    kinetic: np.ndarray  # [frames] J
    gravitational: np.ndarray  # [frames] J
    elastic: np.ndarray  # [frames] J
    bones: np.ndarray  # [frames, 6, 3] m: hip, knee, ankle, heel, toe, ankle
    muscles: np.ndarray  # [frames, segments, 2, 3] m, NaN where a segment is not part of its path
    knee: np.ndarray  # [points] rad
    arms: np.ndarray  # [points, muscles] m

    @property
    def total(self) -> np.ndarray:
        return self.kinetic + self.gravitational + self.elastic

    @property
    def drift(self) -> float:
        """Greatest change of the total energy, relative to the greatest kinetic energy."""
        return float(np.abs(self.total - self.total[0]).max() / self.kinetic.max())


def simulate(report: Callable[[str], None] = print) -> Swing:
    """Release the leg, and compute all that is shown; `report` is called with what is being done."""
    report(f"loading {MODEL} ...")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsupportedWarning)  # the muscles' forces: they are idle here
        model = myograd.load_model(models.model_path(MODEL))
    order = model.coordinate_names
    start, rest, stiffness = (jnp.array([table[name] for name in order]) for table in (START, REST, STIFFNESS))

    def elastic(q: Array) -> Array:
        return jnp.sum(stiffness * (q - rest) ** 2) / 2

    def rates(state: State) -> State:
        q, u = state
        return u, myograd.forward_dynamics(model, q, u, tau=-jax.grad(elastic)(q))  # pins and a hinge: qdot = u

    def step(state: State, _: None) -> tuple[State, None]:
        return runge_kutta_4(rates, state, STEP), None

    def keep(state: State, _: None) -> tuple[State, State]:
        return lax.scan(step, state, None, length=KEEP)[0], state

    frames = round(SECONDS / (STEP * KEEP)) + 1
    report("compiling the simulation ...")
    run = jax.jit(lambda state: lax.scan(keep, state, None, length=frames)[1])
    compiled = run.lower((start, jnp.zeros_like(start))).compile()
    report(f"simulating {SECONDS:g} s ...")
    q, u = compiled((start, jnp.zeros_like(start)))

    report("compiling energies, drawings and moment arms ...")
    along = jax.jit(
        jax.vmap(
            lambda q, u: (
                myograd.kinetic_energy(model, q, u),
                myograd.potential_energy(model, q),
                elastic(q),
                bones(model, q),
                path_segments(model, q),
            )
        )
    )
    kinetic, gravitational, spring, drawn_bones, drawn_muscles = along(q, u)
    column = order.index(KNEE)
    low, high = model.coordinates.range[:, column]
    knee = jnp.linspace(low, high, 101)
    arms = jax.jit(jax.vmap(lambda angle: myograd.moment_arms(model, rest.at[column].set(angle))[:, column]))(knee)
    return Swing(
        model=model,
        time=np.arange(frames) * STEP * KEEP,
        angles=np.asarray(q),
        kinetic=np.asarray(kinetic),
        gravitational=np.asarray(gravitational),
        elastic=np.asarray(spring),
        bones=np.asarray(drawn_bones),
        muscles=np.asarray(drawn_muscles),
        knee=np.asarray(knee),
        arms=np.asarray(arms),
    )


def runge_kutta_4(rates: Callable[[State], State], state: State, h: float) -> State:
    """One step of the classical method of fourth order. Its stages are a loop, so that `rates` is compiled once."""

    def stage(carry: tuple[State, State], coefficients: Array) -> tuple[tuple[State, State], None]:
        slope, mean = carry
        ahead, weight = coefficients
        slope = rates(jax.tree.map(lambda x, k: x + h * ahead * k, state, slope))
        return (slope, jax.tree.map(lambda m, k: m + weight * k, mean, slope)), None

    zero = jax.tree.map(jnp.zeros_like, state)
    (_, mean), _ = lax.scan(stage, (zero, zero), jnp.array([[0, 1 / 6], [1 / 2, 1 / 3], [1 / 2, 1 / 3], [1, 1 / 6]]))
    return jax.tree.map(lambda x, k: x + h * k, state, mean)


def bones(model: myograd.Model, q: Array) -> Array:
    """[6, 3] the line through hip, knee, ankle, heel and toe, back to the ankle."""
    _, origins = myograd.body_poses(model, q)
    markers = myograd.marker_positions(model, q)
    hip, knee, ankle = (origins[model.body_names.index(body)] for body in ("thigh", "shank", "foot"))
    heel, toe = (markers[model.marker_names.index(marker)] for marker in ("heel", "toe"))
    return jnp.stack([hip, knee, ankle, heel, toe, ankle])


def path_segments(model: myograd.Model, q: Array) -> Array:
    """[segments, 2, 3] both ends of every straight segment of every muscle, NaN while it is not part of the path."""
    at = pose(model, q)
    between = segments_at(model, at, q)
    on = jnp.where(between.weight > 0, 1.0, jnp.nan)
    moving = jnp.stack([between.start * on, (between.start + between.along) * on])
    within = model.paths.rigid.T  # [2, r] points of segments inside one body
    rigid = jnp.stack(
        [
            points_in_ground(model, at, model.paths.point_link[points], model.path.location[:, points])
            for points in within
        ]
    )
    return jnp.moveaxis(jnp.concatenate([moving, rigid], axis=2), 2, 0)


def summary(swing: Swing) -> str:
    """The result in two lines."""
    low, high = np.degrees(swing.angles.min(axis=0)), np.degrees(swing.angles.max(axis=0))
    ranges = ", ".join(
        f"{name} {a:.0f}° to {b:.0f}°" for name, a, b in zip(swing.model.coordinate_names, low, high, strict=True)
    )
    return (
        f"{swing.time[-1]:g} s of swing in steps of {STEP * 1e3:g} ms: {ranges}\n"
        f"energy drift {swing.drift:.1e} of the greatest kinetic energy ({swing.kinetic.max():.1f} J)"
    )


# Figures -----------------------------------------------------------------------------------------------------


def write_html(swing: Swing, path: Path) -> None:
    """The moving leg, its angles and energies, and the moment arms at the knee, in one file that needs nothing else."""
    figure = make_subplots(
        rows=2,
        cols=2,
        subplot_titles=("the swing (press play)", "joint angles [°]", "energy [J]", "moment arms at the knee [mm]"),
        horizontal_spacing=0.17,
        vertical_spacing=0.12,
    )
    for trace in _leg(swing, 0):
        figure.add_trace(trace, row=1, col=1)
    for name, angle in zip(swing.model.coordinate_names, np.degrees(swing.angles).T, strict=True):
        figure.add_scatter(x=swing.time, y=angle, name=name, legendgroup="angles", row=1, col=2)
    energies = {
        "kinetic": swing.kinetic,
        "gravitational": swing.gravitational - swing.gravitational.min(),
        "elastic": swing.elastic,
        f"total (drift {swing.drift:.1e})": swing.total - swing.gravitational.min(),
    }
    for name, energy in energies.items():
        figure.add_scatter(x=swing.time, y=energy, name=name, legend="legend2", row=2, col=1)
    for muscle, arm in _knee_arms(swing).items():
        figure.add_scatter(x=np.degrees(swing.knee), y=arm, name=muscle, legend="legend3", row=2, col=2)

    skip = 4  # 25 pictures a second
    shown = range(0, len(swing.time), skip)
    figure.frames = [go.Frame(data=_leg(swing, i), traces=[0, 1], name=f"{swing.time[i]:.2f}") for i in shown]
    period = 1e3 * (swing.time[skip] - swing.time[0])
    play = {"frame": {"duration": period, "redraw": False}, "transition": {"duration": 0}, "fromcurrent": True}
    figure.update_layout(
        title=f"{swing.model.name}: {SECONDS:g} s of free swing",
        template="plotly_white",
        height=900,
        updatemenus=[
            {
                "type": "buttons",
                "direction": "left",
                "x": 0.0,
                "y": 1.06,
                "xanchor": "left",
                "buttons": [
                    {"label": "play", "method": "animate", "args": [None, play]},
                    {"label": "pause", "method": "animate", "args": [[None], {"mode": "immediate"}]},
                ],
            }
        ],
        legend={"x": 1.0, "y": 1.0},
        legend2={"x": 0.42, "y": 0.44},
        legend3={"x": 1.0, "y": 0.44},
    )
    figure.update_xaxes(range=[-0.75, 0.95], row=1, col=1)
    figure.update_yaxes(range=[-0.1, 1.15], scaleanchor="x", row=1, col=1)
    figure.update_xaxes(title="time [s]", row=1, col=2)
    figure.update_xaxes(title="time [s]", row=2, col=1)
    figure.update_xaxes(title="knee flexion [°]", row=2, col=2)
    write_text(path, figure.to_html(include_plotlyjs=True))


def _leg(swing: Swing, frame: int) -> list[go.Scatter]:
    """Bones and muscles at one moment, as two lines in the sagittal plane."""
    bone = swing.bones[frame]
    gap = np.full((len(swing.muscles[frame]), 1, 3), np.nan)  # lifts the pen between segments
    muscle = np.concatenate([swing.muscles[frame], gap], axis=1).reshape(-1, 3)
    return [
        go.Scatter(
            x=bone[:, 0], y=bone[:, 1], mode="lines+markers", line={"color": "#333", "width": 6}, showlegend=False
        ),
        go.Scatter(
            x=muscle[:, 0], y=muscle[:, 1], mode="lines", line={"color": "#c0392b", "width": 2}, showlegend=False
        ),
    ]


def _knee_arms(swing: Swing) -> dict[str, np.ndarray]:
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
    page.words(f"swing of a planar leg, 0 to {swing.time[back]:.2f} s", 230, 20, "middle")

    arms = _knee_arms(swing)
    plot = svg.Frame(page, (520, 40, 760, 350), (np.degrees(swing.knee[0]), np.degrees(swing.knee[-1])), (-60, 80))
    plot.axes(range(0, 150, 30), range(-60, 81, 20), "knee flexion [°]", "moment arm [mm]")
    label = 0.0
    for color, name in zip(COLORS, sorted(arms, key=lambda name: -arms[name][-1]), strict=False):
        points = plot.place(np.degrees(swing.knee), arms[name])
        label = max(points[-1, 1] + 4, label + 14)  # below the previous one, that they stay readable
        page.line(points, color, 2)
        page.words(name, 768, label, color=color, size=12)
    write_text(path, page.text())
