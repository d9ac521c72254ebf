"""What `myograd simulate` shows of a simulation: a table, a sentence, differences from OpenSim, a plot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
from rich.table import Table as View

import myograd
from myograd.app.peer import simulated
from myograd.simulation.trajectory import Trajectory, acting_activations
from myograd.tools.simulation import Simulation


def view(done: Simulation) -> View:
    """Where every independent coordinate began and ended, and how far it went."""
    model, trajectory = done.model, done.trajectory
    shown = View("coordinate", "start", "end", "least", "most", "", box=None, header_style="bold")
    for name in model.independent_coordinates:
        i = model.coordinate_names.index(name)
        turns = model.names.rotational[i]
        values = np.asarray(trajectory.state.q)[:, i] * (180 / np.pi if turns else 1.0)
        numbers = (f"{x:.4g}" for x in (values[0], values[-1], values.min(), values.max()))
        shown.add_row(name, *numbers, "deg" if turns else "m")
    return shown


def sentence(done: Simulation) -> str:
    trajectory = done.trajectory
    time, state, controls = jax.tree.map(
        lambda x: jax.device_put(np.asarray(x)[[0, -1]]), (trajectory.time, trajectory.state, trajectory.controls)
    )
    ends = Trajectory(time, state, controls, trajectory.steps, trajectory.rejected)  # two rows, however long it is
    energy, (begin, end) = np.asarray(myograd.energies(done.model, ends)["total"]), np.asarray(time)
    return (
        f"{begin:g} to {end:g} s in {int(trajectory.steps)} steps "
        f"({int(trajectory.rejected)} rejected); kinetic, gravitational and elastic energy went from {energy[0]:.5g} to "
        f"{energy[-1]:.5g} J"
    )


def against_opensim(done: Simulation, path: Path, accuracy: float) -> str:
    """How far OpenSim's Manager ends up from what was computed, from the same start and under the same controls."""
    model, trajectory = done.model, done.trajectory
    time, start = np.asarray(trajectory.time), trajectory.at(0)
    theirs = simulated(path, start, time - time[0], np.asarray(trajectory.controls), time - time[0], accuracy)
    ours = replace(trajectory.state, activation=acting_activations(model, trajectory))  # as OpenSim's getActivation
    apart = []
    for what, unit in (("q", "rad, m"), ("u", "rad/s, m/s"), ("activation", ""), ("fiber_length", "m")):
        gap = np.abs(np.asarray(getattr(ours, what)) - getattr(theirs, what))
        if np.isfinite(gap).any():
            row, column = np.unravel_index(np.nanargmax(gap), gap.shape)
            names = model.coordinate_names if what in "qu" else model.muscle_names
            apart.append(f"{what} {gap[row, column]:.2g} {unit} ({names[column]}, {time[row]:g} s)".replace("  ", " "))
    return "largest differences from OpenSim's Manager: " + "; ".join(apart)
