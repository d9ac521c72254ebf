"""The command line, `myograd`. `info`, `check` and `convert` answer at once; only the others load JAX."""

from __future__ import annotations

import gc
import inspect
import logging
import os
import sys
import warnings
from typing import Annotated, NoReturn

import typer

import myograd
from myograd.app.commands.analyze import analyze
from myograd.app.commands.check import check
from myograd.app.commands.convert import convert
from myograd.app.commands.demo import demo
from myograd.app.commands.identify import identify
from myograd.app.commands.info import info
from myograd.app.commands.moment_arms import moment_arms
from myograd.app.commands.simulate import simulate
from myograd.app.commands.study import study
from myograd.app.console import error_line, out, unsupported_line
from myograd.errors import MyogradError, UnsupportedError

CLOSED_PIPE = 128 + 13  # what shells report of a program that a closed pipe has ended (SIGPIPE)

app = typer.Typer(
    help="Differentiable musculoskeletal dynamics: inspect OpenSim models, and compute with them. Commands replace existing "
    "tables and pictures; they replace existing models only with --force.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
COMMANDS = (info, check, convert, moment_arms, analyze, simulate, identify, demo, study)
for command in COMMANDS:
    app.command(command.__name__.replace("_", "-"))(command)


def main() -> None:
    """Run the command line. Anything that Myograd refuses becomes one line on stderr and exit code 2. A reader that closes the
    pipe (`| head`) is no error."""
    warnings.showwarning = _show_warning
    notices = logging.getLogger("myograd")
    notices.handlers = [_Notices()]
    notices.propagate = False
    gc.set_threshold(100_000)  # tracing makes many objects that stay: looking through them took a sixth of the time
    debug = "--debug" in sys.argv
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # here, where a closed pipe can be caught, not while Python ends
    except BrokenPipeError:
        _end_quietly()
    except SystemExit as end:  # as which rich and typer end at a closed pipe
        if isinstance(end.__context__, BrokenPipeError):
            _end_quietly()
        raise
    except (MyogradError, OSError) as error:
        if debug:
            raise
        error_line("error", _told(error))
        sys.exit(2)


def _told(error: Exception) -> str:
    if not isinstance(error, UnsupportedError):
        return str(error)
    called = next((word for word in sys.argv[1:] if not word.startswith("-")), "").replace("-", "_")
    command = next((it for it in COMMANDS if it.__name__ == called), None)
    return unsupported_line(error, command is not None and "accept" in inspect.signature(command).parameters)


def _end_quietly() -> NoReturn:
    """Nobody reads any more: what is still in buffers goes nowhere, or Python would complain of it at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    sys.exit(CLOSED_PIPE)


def _show_warning(message: Warning | str, *_args: object) -> None:
    error_line("warning", str(message), "yellow")


class _Notices(logging.Handler):
    """What the library wants known while it works."""

    def emit(self, record: logging.LogRecord) -> None:
        error_line("note", record.getMessage(), "yellow")


def _print_version(wanted: bool) -> bool:
    if wanted:
        out.print("myograd", myograd.__version__)
        raise typer.Exit
    return wanted


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass  # both options act before any command runs: in main() and in _print_version()


if __name__ == "__main__":
    main()
