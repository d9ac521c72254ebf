"""The command line, `myograd`. `info`, `check` and `convert` answer at once; only the others load JAX."""

from __future__ import annotations

import json
import sys
import warnings
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.text import Text

import myograd
from myograd import models
from myograd.app import views
from myograd.errors import MyogradError
from myograd.files.osim.read import read_osim
from myograd.files.osim.write import write_osim
from myograd.model.description import ModelDescription
from myograd.studies import STUDIES, run_study

if TYPE_CHECKING:
    from myograd.diagnostics.discontinuities import Discontinuity

app = typer.Typer(
    help="Differentiable musculoskeletal dynamics: look at OpenSim models, and compute with them. Tables and pictures that a "
    "command writes replace what had their name; models do only with --force.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
# Names from files are shown as they are, whatever brackets they hold; tables keep their lines in a pipe.
out = Console(markup=False, emoji=False, highlight=False, width=None if sys.stdout.isatty() else 160)
err = Console(markup=False, emoji=False, highlight=False, stderr=True)

Model = Annotated[
    str, typer.Argument(metavar="MODEL", help="An .osim file, or the name of a model that ships with myograd.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, in SI units and radians.")]


class Peer(StrEnum):
    """Programs that results can be compared with."""

    OPENSIM = "opensim"


def main() -> None:
    """Run the command line. Anything that Myograd refuses becomes one line on stderr and exit code 2."""
    warnings.showwarning = _show_warning
    debug = "--debug" in sys.argv
    try:
        app()
    except (MyogradError, OSError) as error:
        if debug:
            raise
        _line("error", str(error), "red")
        sys.exit(2)


def _show_warning(message: Warning | str, *_args: object) -> None:
    _line("warning", str(message), "yellow")


def _line(kind: str, message: str, style: str) -> None:
    err.print(Text(f"{kind}: {' '.join(message.split())}", style=style), soft_wrap=True)


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print("myograd", myograd.__version__)
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass  # both options act before any command runs: in main() and in _print_version()


def find(model: str) -> Path:
    """The file that MODEL means."""
    path = models.find(model)
    if path.is_dir():
        raise MyogradError(f"{model} is a folder, not an .osim file")
    if not path.is_file():
        raise MyogradError(f"there is no file {model}; shipped models are: {', '.join(models.names())}")
    return path


def _fit(path: Path | None, ending: str) -> None:
    """Raise before any work is done if a file with this ending could not be written there."""
    if path and path.suffix.lower() != ending:
        raise MyogradError(f"the file to write must end in {ending}, and {path} does not")
    if path and not path.resolve().parent.is_dir():
        raise MyogradError(f"there is no folder {path.resolve().parent} to write {path.name} into")


def _wrote(path: Path) -> None:
    out.print(f"wrote {path.resolve()}", soft_wrap=True)


def _print_json(data: object) -> None:
    print(json.dumps(data, indent=2, allow_nan=False))


@app.command()
def info(
    model: Model,
    muscles: Annotated[
        bool, typer.Option("--muscles", help="List each muscle: class, strength, lengths, pennation, path, wraps.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Say what a model consists of: joints and coordinates, mass, constraints, muscles.

    JSON with --muscles has the list `each_muscle`, too.
    """
    description = read_osim(find(model))
    if as_json:
        each = {"each_muscle": views.muscles_data(description)} if muscles else {}
        _print_json(views.info_data(description) | each)
    else:
        out.print(views.info_view(description, muscles))
        if description.muscles and not muscles:
            out.print(f"`myograd info {model} --muscles` lists each muscle.", soft_wrap=True)


@app.command()
def check(
    model: Model,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if something that changes motion or force is not used.")
    ] = False,
    jumps: Annotated[
        bool,
        typer.Option("--jumps", help="Also look for poses at which a muscle's length jumps, and say why. Loads JAX."),
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="List what changes no number, too: looks, names of groups, unused defaults.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List what a file holds and myograd does not use, most important first.

    Exit code 0 if the file could be read (see --strict), 2 if not. JSON is a list of these elements; with --jumps, an object
    with the lists `unread` and `jumps`.
    """
    description = read_osim(find(model))
    if as_json:
        unread = views.check_data(description)
        found = views.jumps_data(description, _find_jumps(description)) if jumps else []
        _print_json({"unread": unread, "jumps": found} if jumps else unread)
    else:
        out.print(views.check_view(description, everything))  # before the search, which takes its time
        if jumps:
            out.print()
            out.print(views.jumps_view(description, _find_jumps(description)))
        elif views.may_jump(description):
            out.print(
                f"Do lengths of muscles jump at some pose? `myograd check {model} --jumps` looks.", soft_wrap=True
            )
    if strict and any(element.severity in ("motion", "force") for element in description.unsupported):
        raise typer.Exit(1)


def _find_jumps(description: ModelDescription) -> list[Discontinuity]:
    found: list[Discontinuity] = []
    with err.status("loading JAX ...") as status:
        model = myograd.compile_model(description)
        names = model.independent_coordinates
        for number, name in enumerate(names, 1):
            status.update(f"looking for jumps along {name}, {number} of {len(names)}; {len(found)} so far ...")
            found += myograd.length_discontinuities(model, name)
    return found


@app.command()
def convert(
    model: Model,
    target: Annotated[Path, typer.Argument(metavar="OUT.osim", help="The file to write.")],
    force: Annotated[bool, typer.Option("--force", help="Replace OUT.osim if it exists.")] = False,
) -> None:
    """Write a model, of any version that can be read, as an OpenSim 4.6 document."""
    _fit(target, ".osim")
    if target.exists() and not force:
        raise MyogradError(f"{target} exists already; --force replaces it")
    description = read_osim(find(model))
    write_osim(description, target)
    _wrote(target)


@app.command("moment-arms")
def moment_arms(
    model: Model,
    coordinate: Annotated[
        str | None, typer.Option(help="Sweep this coordinate; without it, every independent one in turn.")
    ] = None,
    muscles: Annotated[str | None, typer.Option(help="Names of muscles, with commas; without it, all.")] = None,
    target: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Write (or replace) a .csv file: coordinate, value, muscle, moment arm, length; in SI."
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write (or replace) an .html file with the curves of moment arm and length.")
    ] = None,
    points: Annotated[int, typer.Option(min=2, help="Values of the coordinate, evenly over its range.")] = 51,
    against: Annotated[
        Peer | None, typer.Option(help="Add what OpenSim says at the same poses (needs: pip install opensim).")
    ] = None,
) -> None:
    """Compute moment arms and lengths over the range of a coordinate, others at their defaults, constraints satisfied."""
    _fit(target, ".csv")
    _fit(plot, ".html")
    path = find(model)
    from myograd.app import sweep

    with err.status("loading JAX and compiling ..."):
        curves = sweep.moment_arm_curves(
            path,
            coordinate,
            [name.strip() for name in muscles.split(",")] if muscles else None,
            points,
            against is Peer.OPENSIM,
        )
    out.print(sweep.table(curves))
    if target:
        sweep.write_csv(curves, target)
        _wrote(target)
    if plot:
        sweep.write_plot(curves, plot)
        _wrote(plot)


@app.command()
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
        float | None, typer.Option(help="Seconds; as long as the controls last, or 1, without it.")
    ] = None,
    interval: Annotated[float, typer.Option(help="Seconds between rows that are written.")] = 0.01,
    integrator: Annotated[
        str, typer.Option(help="adams, tsit5, dopri8, kvaerno5; euler, semi-implicit-euler, rk4, bdf1, sdirk2, hht.")
    ] = "adams",
    accuracy: Annotated[float, typer.Option(help="Error allowed in each step that the integrator chooses.")] = 1e-6,
    step: Annotated[
        float | None, typer.Option(help="Length of all steps, in seconds, if they are not to be chosen.")
    ] = None,
    alpha: Annotated[float, typer.Option(help="Numerical damping of hht, from -1/3 to 0.")] = -0.05,
    loads: Annotated[
        Path | None, typer.Option("--external-loads", help="OpenSim's .xml file of external forces.")
    ] = None,
    controls_out: Annotated[
        Path | None, typer.Option(help="Write (or replace) a .sto file of the controls in use.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write (or replace) an .html file with all states over time.")
    ] = None,
    accept: Annotated[
        str, typer.Option(help="Names of parts of the model that are not computed, to do without, with commas.")
    ] = "",
    against: Annotated[
        Peer | None,
        typer.Option(help="Simulate it with OpenSim too, and say how far apart they are (pip install opensim)."),
    ] = None,
) -> None:
    """Move a model under its controls: skeleton, activations, tendons, contacts and constraints together.

    Exit code 0 if the simulation reached its end; 3 if it had to stop: what was computed until then is written.
    """
    for written, ending in ((target, ".sto"), (controls_out, ".sto"), (plot, ".html")):
        _fit(written, ending)
    if against and loads:
        raise MyogradError("--against opensim does not apply external loads there: leave out one of the two")
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
        tuple(_names(accept)),
    )
    with Progress(*Progress.get_default_columns(), console=err, transient=True) as bar:
        task = bar.add_task("loading and compiling ...", total=1.0)
        done = simulation.run(wanted, lambda part: bar.update(task, completed=part, description="simulating"))
    if done.trajectory is not None:
        out.print(simulation.view(done))
        out.print(simulation.sentence(done))
        for written in simulation.write(done, target, controls_out, plot):
            _wrote(written)
        if against is Peer.OPENSIM:
            with err.status("OpenSim simulates ..."):
                told = simulation.against_opensim(done, path, accuracy)
            out.print(told)
    if done.stopped:
        _line("stopped", done.stopped, "red")
        raise typer.Exit(3)


@app.command()
def identify(
    model: Model,
    target: Annotated[Path, typer.Option("--out", help="The .osim file to write: the personal model.")],
    motion: Annotated[
        list[Path] | None, typer.Option(help="Joint angles over time (.sto, .mot); once per recording.")
    ] = None,
    emg: Annotated[
        list[Path] | None, typer.Option(help="EMG envelopes, columns named after muscles; in the order of --motion.")
    ] = None,
    shipped: Annotated[
        bool, typer.Option("--shipped", help="Use the recordings that come with myograd, of its `arm`.")
    ] = False,
    deep: Annotated[str, typer.Option(help="Muscles without EMG, with commas; their forces are unknowns.")] = "",
    bodies: Annotated[str, typer.Option(help="Bodies whose ten inertial parameters are identified, with commas.")] = "",
    also: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LOW:HIGH",
            help="Any other number of the model, and its limits; NAME=LOW:HIGH:CENTER:SPREAD with a prior. Once per number.",
        ),
    ] = None,
    unseen_motion: Annotated[
        list[Path] | None, typer.Option(help="A movement to judge the fit by; not fitted.")
    ] = None,
    unseen_emg: Annotated[list[Path] | None, typer.Option(help="Its EMG.")] = None,
    low_pass: Annotated[
        float, typer.Option(help="Motion and forces are compared below it, Hz; 0 for motion without noise.")
    ] = 6.0,
    emg_noise: Annotated[
        float | None,
        typer.Option(
            help="Errors of the EMG envelopes, in percent of themselves; 5 where motion is noisy.", min=0, max=50
        ),
    ] = None,
    emg_low_pass: Annotated[float, typer.Option(help="Of the EMG envelopes, Hz: their errors are as slow.")] = 6.0,
    mvc: Annotated[float, typer.Option(help="EMG is divided by this: 100 if it is in percent.")] = 1.0,
    gains: Annotated[bool, typer.Option("--gains", help="Identify a gain of each EMG channel, too.")] = False,
    robust: Annotated[bool, typer.Option("--robust", help="Let samples that do not fit weigh less.")] = False,
    every: Annotated[
        int, typer.Option(min=1, help="Use one sample in so many; noisy motion is thinned by its low-pass instead.")
    ] = 1,
    table: Annotated[Path | None, typer.Option(help="Write (or replace) a .csv file of all parameters.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write (or replace) an .html report.")] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="An .npz file to go on from after an interruption.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace --out if it exists.")] = False,
) -> None:
    """Identify a person's bones and muscles from motion and EMG, without EMG of deep muscles."""
    for path, ending in ((target, ".osim"), (table, ".csv"), (report, ".html"), (checkpoint, ".npz")):
        _fit(path, ending)
    if target.exists() and not force:
        raise MyogradError(f"{target} exists already; --force replaces it")
    path = find(model)
    from myograd.app import identify as work
    from myograd.estimate.identification.noise import EmgNoise

    with err.status("loading JAX ...") as status:
        loaded = myograd.load_model(path)
        filtered = low_pass or None
        exact = shipped or not filtered
        if emg_noise and exact:
            raise MyogradError("--emg-noise is for noisy motion: not with --shipped or --low-pass 0")
        relative = EmgNoise.relative if emg_noise is None else emg_noise / 100
        noise = None if exact or relative == 0 else EmgNoise(relative, emg_low_pass)
        if shipped:
            recordings, unseen, hidden, asked = work.shipped_recordings(loaded)
        else:
            recordings = work.read_recordings(loaded, motion or [], emg or [], filtered, mvc)
            judging = unseen_motion or unseen_emg
            unseen = (
                work.read_recordings(loaded, unseen_motion or [], unseen_emg or [], filtered, mvc) if judging else []
            )
            hidden, asked = _names(deep), _names(bodies)
        try:
            others = work.read_bounds(also or [])
            result = work.identify(
                loaded,
                recordings,
                hidden,
                asked,
                unseen,
                noise,
                gains,
                robust,
                every,
                checkpoint,
                status.update,
                others,
            )
        except KeyboardInterrupt:
            kept = checkpoint is not None and checkpoint.exists()
            how = f"the same command goes on from {checkpoint}" if kept else "nothing was kept; --checkpoint would"
            _line("interrupted", how, "red")
            raise typer.Exit(130) from None
    out.print(work.view(result))
    for line in [*result.problem.identifiability.text().splitlines(), *work.sentences(result)]:
        out.print(line, soft_wrap=True)
    if table:
        work.write_table(result, table)
        _wrote(table)
    if report:
        work.write_report(result, report)
        _wrote(report)
    if not result.fit.converged:
        raise MyogradError(f"{target} was not written: the fit has not converged ({result.fit.outcome})")
    myograd.save_model(work.personal_model(result), target)
    _wrote(target)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


@app.command()
def demo(
    target: Annotated[Path, typer.Option("--out", help="The .html file to write (or replace).")] = Path("demo.html"),
    picture: Annotated[Path | None, typer.Option(help="Also write (or replace) an .svg picture of the swing.")] = None,
) -> None:
    """Let a shipped leg swing for five seconds; write its motion, energy and moment arms to an HTML file."""
    _fit(target, ".html")
    _fit(picture, ".svg")
    from myograd.app import demo

    with err.status("loading JAX ...") as status:
        swing = demo.simulate(status.update)
        status.update("drawing ...")
        demo.write_html(swing, target)
        if picture:
            demo.write_picture(swing, picture)
    out.print(demo.summary(swing))
    _wrote(target)


@app.command()
def study(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of: {', '.join(STUDIES)}.")],
    target: Annotated[Path, typer.Option("--out", help="The folder to write into; it is made if it is not there.")],
    quick: Annotated[bool, typer.Option("--quick", help="Smaller: for a first look.")] = False,
    parts: Annotated[str, typer.Option(help="Only these parts of it, with commas.")] = "",
) -> None:
    """Repeat an experiment of a paper: numbers (summary.json), tables (.csv) and figures (.html)."""
    with err.status(f"running the study {name} ..."):
        run_study(name, target, quick, tuple(_names(parts)))
    _wrote(target / "summary.json")


if __name__ == "__main__":
    main()
