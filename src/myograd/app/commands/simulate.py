"""`myograd simulate`: move a model under its controls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress

from myograd.app.console import (
    Accept,
    Model,
    Peer,
    accepted_in,
    check_folder,
    check_output,
    err,
    error_line,
    find,
    heard_interrupts,
    need_peer,
    out,
    print_written,
)
from myograd.errors import MyogradError

if TYPE_CHECKING:
    from myograd.files.tables.table import Table
    from myograd.tools.simulation import Simulation


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
    accuracy: Annotated[
        float, typer.Option(help="The error that each step may have, where the integrator chooses steps.")
    ] = 1e-6,
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
    forces_out: Annotated[
        Path | None,
        typer.Option(
            "--forces",
            help="Write (or replace) a .sto file of the forces of muscles, actuators, springs and limits, as OpenSim's "
            "ForceReporter.",
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            help="A folder for everything, as OpenSim's forward tool writes it: MODEL_states.sto, MODEL_controls.sto, "
            "MODEL_ForceReporter_forces.sto, MODEL_MuscleAnalysis_....sto. Made if it does not exist."
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write (or replace) an .html file with all states over time.")
    ] = None,
    accept: Accept = "",
    against: Annotated[
        Peer | None,
        typer.Option(help="Also simulate with OpenSim, and report the differences (needs: pip install opensim)."),
    ] = None,
) -> None:
    """Move a model under its controls: skeleton, activations, tendons, contacts and constraints together.

    Exit code 0 if the simulation reached its end; 3 if it stopped early: what was computed until then is written.
    """
    for written, ending in ((target, ".sto"), (controls_out, ".sto"), (forces_out, ".sto"), (plot, ".html")):
        check_output(written, ending)
    if results:
        check_folder(results)
    if against and loads:
        raise MyogradError(
            "--against opensim cannot be combined with --external-loads: OpenSim would not get the loads"
        )
    lengths = {"--interval": interval, "--duration": duration, "--step": step, "--accuracy": accuracy}
    for option, value in lengths.items():
        if value is not None and not 0 < value < float("inf"):
            raise MyogradError(f"{option} must be a positive number, not {value:g}")
    path = find(model)
    if against:
        need_peer()
    import myograd
    from myograd.app import simulation
    from myograd.simulation.integrators import STEPPED

    if integrator in STEPPED and step is None:
        raise MyogradError(
            f"--integrator {integrator} takes steps of a fixed length: give it in seconds, for example --step 0.001"
        )
    shown = Progress(*Progress.get_default_columns(), console=err, transient=True, disable=not err.is_terminal)
    with heard_interrupts() as interrupt, shown as bar:
        task = bar.add_task("loading and compiling ...", total=1.0)
        try:
            loaded = myograd.load_model(path)
            done = myograd.tools.simulate(
                loaded,
                controls,
                initial=initial,
                external_loads=loads,
                duration=duration,
                interval=interval,
                integrator=integrator,
                accuracy=accuracy,
                step=step,
                alpha=alpha,
                progress=lambda part: interrupt() or bar.update(task, completed=part, description="simulating"),
                accept=accepted_in(accept, loaded),
            )
        except myograd.SimulationStopped as stop:  # before anything was computed
            error_line("stopped", str(stop))
            raise typer.Exit(3) from None
    tables = ((target, done.states), (controls_out, done.controls), (forces_out, done.forces))
    written = _save(done, tables, plot)  # before anything is printed: whoever reads it may stop
    saved = done.save(results, f"{done.model.name}_") if results else []
    out.print(simulation.view(done))
    out.print(simulation.sentence(done))
    for file in written:
        print_written(file)
    if results:
        out.print(f"wrote {len(saved)} files into {results.resolve()}", soft_wrap=True)
    if against is Peer.OPENSIM:
        with err.status("OpenSim simulates ..."):
            differences = simulation.against_opensim(done, path, accuracy)
        out.print(differences)
    if done.stopped:
        error_line("stopped", done.stopped)
        raise typer.Exit(3)


def _save(done: Simulation, tables: Sequence[tuple[Path | None, Callable[[], Table]]], plot: Path | None) -> list[Path]:
    """Write the files that were asked for, and return their paths."""
    import myograd

    for path, table in tables:
        if path:
            myograd.write_table(table(), path)
    if plot:
        from myograd.app.simulation_plot import write_plot

        write_plot(done.model, done.trajectory, plot)
    return [path for path in (*(path for path, _ in tables), plot) if path]
