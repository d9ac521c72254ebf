"""`myograd simulate`: move a model under its controls."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from myograd.app.console import Model, Peer, check_output, err, error_line, find, names_in, out, print_written
from myograd.errors import MyogradError


def simulate(
    model: Model,
    controls: Annotated[
        Path | None,
        typer.Option(
            help="A .sto file: time, and a column for each muscle (0 to 1) and actuator. Without it, none is excited."
        ),
    ] = None,
    target: Annotated[
        Path | None, typer.Option("--out", help="Write (or replace) a .sto file of states, as OpenSim names them.")
    ] = None,
    initial: Annotated[
        Path | None,
        typer.Option(
            help="A .sto or .mot file whose first row is the start. Without it: default pose, at rest, muscles balanced."
        ),
    ] = None,
    duration: Annotated[
        float | None, typer.Option(help="Seconds; without it, as long as the controls last, or 1.")
    ] = None,
    interval: Annotated[float, typer.Option(help="Seconds between the rows of the output.")] = 0.01,
    integrator: Annotated[
        str, typer.Option(help="adams, tsit5, dopri8, kvaerno5; euler, semi-implicit-euler, rk4, bdf1, sdirk2, hht.")
    ] = "adams",
    accuracy: Annotated[float, typer.Option(help="Error allowed in each step that the integrator chooses.")] = 1e-6,
    step: Annotated[
        float | None,
        typer.Option(help="A fixed length of all steps, in seconds; without it, the integrator chooses them."),
    ] = None,
    alpha: Annotated[float, typer.Option(help="Numerical damping of hht, from -1/3 to 0.")] = -0.05,
    loads: Annotated[
        Path | None, typer.Option("--external-loads", help="OpenSim's .xml file of external forces.")
    ] = None,
    controls_out: Annotated[
        Path | None, typer.Option(help="Write (or replace) a .sto file of the controls that were applied.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write (or replace) an .html file with all states over time.")
    ] = None,
    accept: Annotated[
        str, typer.Option(help="Names of unsupported parts of the model to leave out, separated by commas.")
    ] = "",
    against: Annotated[
        Peer | None,
        typer.Option(help="Also simulate with OpenSim, and report the differences (needs: pip install opensim)."),
    ] = None,
) -> None:
    """Move a model under its controls: skeleton, activations, tendons, contacts and constraints together.

    Exit code 0 if the simulation reached its end; 3 if it stopped early: what was computed until then is written.
    """
    for written, ending in ((target, ".sto"), (controls_out, ".sto"), (plot, ".html")):
        check_output(written, ending)
    if against and loads:
        raise MyogradError(
            "--against opensim cannot be combined with --external-loads: OpenSim would not get the loads"
        )
    path = find(model)
    from myograd.app import simulation

    wanted = simulation.Wanted(
        path,
        controls,
        initial,
        loads,
        duration,
        interval,
        integrator,
        accuracy,
        step,
        alpha,
        tuple(names_in(accept)),
    )
    with Progress(*Progress.get_default_columns(), console=err, transient=True) as bar:
        task = bar.add_task("loading and compiling ...", total=1.0)
        done = simulation.run(wanted, lambda part: bar.update(task, completed=part, description="simulating"))
    if done.trajectory is not None:
        out.print(simulation.view(done))
        out.print(simulation.sentence(done))
        for written in simulation.write(done, target, controls_out, plot):
            print_written(written)
        if against is Peer.OPENSIM:
            with err.status("OpenSim simulates ..."):
                differences = simulation.against_opensim(done, path, accuracy)
            out.print(differences)
    if done.stopped:
        error_line("stopped", done.stopped)
        raise typer.Exit(3)
