"""`myograd analyze`: what the muscles do along a motion."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from myograd.app.console import Accept, Model, accepted_in, check_folder, err, find, out
from myograd.errors import MyogradError


def analyze(
    model: Model,
    target: Annotated[Path, typer.Option("--out", help="The folder to write the .sto files into.")],
    motion: Annotated[
        Path | None, typer.Option(help="Coordinates over time (.mot, .sto); muscles are in equilibrium along it.")
    ] = None,
    states: Annotated[
        Path | None,
        typer.Option(help="States over time (.sto), as `simulate` and OpenSim write them, instead of a motion."),
    ] = None,
    activation: Annotated[
        float | None, typer.Option(help="Of all muscles along a motion; without it, the model's default.", min=0, max=1)
    ] = None,
    name: Annotated[str, typer.Option(help="What file names start with; without it, the model's name.")] = "",
    accept: Accept = "",
) -> None:
    """Lengths, velocities, forces, powers and moment arms of all muscles along a motion, as OpenSim's MuscleAnalysis."""
    if (motion is None) == (states is None):
        raise MyogradError("give either --motion or --states")
    if states and activation is not None:
        raise MyogradError("--states bring their own activations: leave out --activation")
    check_folder(target)
    path = find(model)
    import myograd

    with err.status("loading and compiling ..."):
        loaded = myograd.load_model(path)
        found = myograd.tools.analyze(
            loaded, motion, states=states, activation=activation, accept=accepted_in(accept, loaded)
        )
    written = found.save(target, f"{name or loaded.name}_MuscleAnalysis_")
    out.print(
        f"{len(loaded.muscle_names)} muscles at {len(found.time)} times, {found.time[0]:g} to {found.time[-1]:g} s: "
        f"wrote {len(written)} files into {target.resolve()}",
        soft_wrap=True,
    )
    for message in found.messages:
        out.print(message, soft_wrap=True)
