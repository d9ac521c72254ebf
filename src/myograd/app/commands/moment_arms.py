"""`myograd moment-arms`: moment arms and lengths over the range of a coordinate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from myograd.app.console import Model, Peer, check_output, err, find, names_in, out, print_written


def moment_arms(
    model: Model,
    coordinate: Annotated[
        str | None, typer.Option(help="Sweep this coordinate; without it, every independent one in turn.")
    ] = None,
    muscles: Annotated[str | None, typer.Option(help="Names of muscles, separated by commas; without it, all.")] = None,
    target: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Write (or replace) a .csv file: coordinate, value, muscle, moment arm, length, units."
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write (or replace) an .html file with the curves of moment arm and length.")
    ] = None,
    points: Annotated[
        int, typer.Option(min=2, help="Number of values of the coordinate, evenly spaced over its range.")
    ] = 51,
    against: Annotated[
        Peer | None, typer.Option(help="Add OpenSim's results at the same poses (needs: pip install opensim).")
    ] = None,
) -> None:
    """Compute moment arms and lengths over the range of a coordinate, others at their defaults, constraints satisfied."""
    check_output(target, ".csv")
    check_output(plot, ".html")
    path = find(model)
    from myograd.app import sweep

    with err.status("loading JAX and compiling ..."):
        curves = sweep.moment_arm_curves(
            path,
            coordinate,
            names_in(muscles) if muscles else None,
            points,
            against is Peer.OPENSIM,
        )
    out.print(sweep.table(curves))
    if target:
        sweep.write_csv(curves, target)
        print_written(target)
    if plot:
        from myograd.app.sweep_page import write_plot

        write_plot(curves, plot)
        print_written(plot)
