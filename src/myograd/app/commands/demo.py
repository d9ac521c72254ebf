"""`myograd demo`: a leg that swings, as a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from myograd.app.console import check_output, err, out, print_written


def demo(
    target: Annotated[Path, typer.Option("--out", help="The .html file to write (or replace).")] = Path("demo.html"),
    picture: Annotated[Path | None, typer.Option(help="Also write (or replace) an .svg picture of the swing.")] = None,
) -> None:
    """Let a shipped leg swing for five seconds; write its motion, energy and moment arms to an HTML file."""
    check_output(target, ".html")
    check_output(picture, ".svg")
    from myograd.app import swing, swing_page

    with err.status("loading JAX ...") as status:
        done = swing.simulate(status.update)
        status.update("drawing ...")
        swing_page.write_html(done, target)
        if picture:
            swing_page.write_picture(done, picture)
    out.print(swing.summary(done))
    print_written(target)
