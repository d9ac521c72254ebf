"""`myograd identify`: a person's bones and muscles from tables of motion and EMG."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

import myograd
from myograd.app.console import (
    Model,
    check_new_model,
    check_output,
    err,
    error_line,
    find,
    names_in,
    out,
    print_written,
)
from myograd.errors import MyogradError

if TYPE_CHECKING:
    from myograd.estimate.identification.noise import EmgNoise
    from myograd.estimate.parameters import Bounds
    from myograd.estimate.recording import Recording
    from myograd.tools.identification import Identification


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
        bool, typer.Option("--shipped", help="Use the recordings of the model `arm` that ship with myograd.")
    ] = False,
    deep: Annotated[str, typer.Option(help="Muscles without EMG, separated by commas; their forces are unknown.")] = "",
    bodies: Annotated[
        str, typer.Option(help="Bodies whose ten inertial parameters are identified, separated by commas.")
    ] = "",
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
        float, typer.Option(help="Compare motion and forces below this frequency, in Hz; 0 for motion without noise.")
    ] = 6.0,
    emg_noise: Annotated[
        float | None,
        typer.Option(
            help="Errors of the EMG envelopes, in percent of their values; 5 by default if motion is noisy.",
            min=0,
            max=50,
        ),
    ] = None,
    emg_low_pass: Annotated[
        float, typer.Option(help="Cut-off frequency of the EMG envelopes, in Hz; their errors lie below it.")
    ] = 6.0,
    mvc: Annotated[float, typer.Option(help="Divide the EMG by this: 100 if it is in percent.")] = 1.0,
    gains: Annotated[bool, typer.Option("--gains", help="Also identify a gain of each EMG channel.")] = False,
    robust: Annotated[bool, typer.Option("--robust", help="Give less weight to samples that do not fit.")] = False,
    every: Annotated[
        int, typer.Option(min=1, help="Use every n-th sample; noisy motion is thinned according to --low-pass instead.")
    ] = 1,
    table: Annotated[Path | None, typer.Option(help="Write (or replace) a .csv file of all parameters.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write (or replace) an .html report.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="An .npz file from which an interrupted fit continues.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace --out if it exists.")] = False,
) -> None:
    """Identify a person's bones and muscles from motion and EMG, without EMG of deep muscles."""
    check_new_model(target, force)
    brought = {"--motion": motion, "--emg": emg, "--deep": deep, "--bodies": bodies}
    brought |= {"--unseen-motion": unseen_motion, "--unseen-emg": unseen_emg}
    given_too = [option for option, value in brought.items() if value]
    if shipped and given_too:
        raise MyogradError(f"--shipped brings its own recordings, deep muscles and bodies: leave out {given_too[0]}")
    for path, ending in ((table, ".csv"), (report, ".html"), (checkpoint, ".npz")):
        check_output(path, ending)
    path = find(model)
    from myograd.app import identification as show
    from myograd.tools.identification import identify as run

    begun = time.perf_counter()
    with err.status("loading JAX ...") as status:
        loaded = myograd.load_model(path)
        noise = _noise(emg_noise, emg_low_pass, exact=shipped or not low_pass)
        if robust and noise:
            raise MyogradError(
                "--robust treats samples that do not fit as outliers, --emg-noise treats them as noise; "
                "give --emg-noise 0 with --robust"
            )
        if shipped:
            given = _shipped(loaded)  # which brings its deep muscles and bodies
        else:
            fitted = _read(loaded, motion or [], emg or [], low_pass or None, mvc)
            judging = unseen_motion or unseen_emg
            unseen = _read(loaded, unseen_motion or [], unseen_emg or [], low_pass or None, mvc) if judging else []
            given = Given(fitted, unseen, names_in(deep), names_in(bodies))
        try:
            result = run(
                loaded,
                given.fitted,
                given.deep,
                given.bodies,
                unseen=given.unseen,
                noise=noise,
                gains=gains,
                robust=robust,
                every=every,
                also=read_bounds(also or []),
                checkpoint=checkpoint,
                say=status.update,
                report=show.Reporter(status.update),
            )
        except KeyboardInterrupt:
            kept = checkpoint is not None and checkpoint.exists()
            how = (
                f"the same command continues from {checkpoint}"
                if kept
                else "nothing was saved, as --checkpoint is missing"
            )
            error_line("interrupted", how)
            raise typer.Exit(130) from None
    seconds = time.perf_counter() - begun
    written = _save(result, target, table, report, seconds)  # before anything is printed: whoever reads it may stop
    out.print(show.view(result))
    for line in [*show.sentences(result, seconds), *result.problem.identifiability.text().splitlines()]:
        out.print(line, soft_wrap=True)
    for path in written:
        print_written(path)
    if not result.fit.converged:
        raise MyogradError(f"{target} was not written: the fit has not converged ({result.fit.outcome})")


def _save(result: Identification, target: Path, table: Path | None, report: Path | None, seconds: float) -> list[Path]:
    """Write what was asked for, and return its paths; no model of a fit that has not converged."""
    from myograd.app import identification as show

    if table:
        show.write_table(result, table)
    if report:
        from myograd.app.identification_report import report_of, write_report

        write_report(report_of(result, seconds), report)
    if result.fit.converged:
        myograd.save_model(result.model(), target)
    return [path for path in (table, report, target if result.fit.converged else None) if path]


def read_bounds(texts: Sequence[str]) -> dict[str, Bounds]:
    """Names and limits, `NAME=LOW:HIGH`, or with a prior, `NAME=LOW:HIGH:CENTER:SPREAD`."""
    from myograd.estimate.parameters import Bounds

    found: dict[str, Bounds] = {}
    for text in texts:
        name, _, given = text.rpartition("=")
        try:
            limits = [float(x) for x in given.split(":")]
        except ValueError:
            limits = []
        if not name or len(limits) not in (2, 4):
            raise MyogradError(
                f"--also {text}: give NAME=LOW:HIGH, or NAME=LOW:HIGH:CENTER:SPREAD with a prior, in SI units"
            )
        if name in found:
            raise MyogradError(f"--also names {name!r} twice")
        found[name] = Bounds(*limits)
    return found


class Given(NamedTuple):
    """What to identify from: recordings to fit and to judge by, muscles without EMG, bodies whose inertia is unknown."""

    fitted: Sequence[Recording]
    unseen: Sequence[Recording]
    deep: Sequence[str]
    bodies: Sequence[str]


def _noise(percent: float | None, cutoff: float, exact: bool) -> EmgNoise | None:
    """The errors of the EMG: as given, or the usual ones where motion is noisy; none if `exact`."""
    from myograd.estimate.identification.noise import EmgNoise

    if percent and exact:
        raise MyogradError("--emg-noise is for noisy motion and cannot be combined with --shipped or --low-pass 0")
    relative = EmgNoise.relative if percent is None else percent / 100
    return None if exact or relative == 0 else EmgNoise(relative, cutoff)


def _read(
    model: myograd.Model, motions: Sequence[Path], emgs: Sequence[Path], low_pass: float | None, mvc: float
) -> list[Recording]:
    """Pairs of files; one EMG file may also hold the motion, and then be given twice."""
    from myograd.files.tables.table import Table

    if len(motions) != len(emgs) or not motions:
        raise MyogradError(
            f"every --motion needs an --emg, in the same order; got {len(motions)} --motion and {len(emgs)} --emg"
        )
    if not 0 < mvc < float("inf"):
        raise MyogradError(f"--mvc divides the EMG and must be a positive number, not {mvc:g}")
    found = []
    for motion, emg in zip(motions, emgs, strict=True):
        signals = myograd.read_table(emg)
        scaled = Table(
            signals.time, signals.data / mvc, signals.names, signals.in_degrees, signals.units, signals.metadata
        )
        found.append(myograd.read_recording(model, myograd.read_table(motion), scaled, motion.stem, low_pass))
    return found


def _shipped(model: myograd.Model) -> Given:
    """What comes with Myograd: two movements, an unseen one, the deep muscles, and the bodies whose inertia differs."""
    from myograd.estimate.identification.shipped import shipped_bodies, shipped_deep, shipped_recording

    if model.name != "arm":
        raise MyogradError(f"the shipped recordings are of the shipped model 'arm', not of {model.name!r}")
    fitted = [shipped_recording(name, model, fibers=False) for name in ("move1", "move2")]
    return Given(fitted, [shipped_recording("move3", model, fibers=False)], shipped_deep(), shipped_bodies())
