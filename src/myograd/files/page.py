"""Pages of figures, each a single HTML file that needs nothing but a browser: plotly.js is inside, and nothing is fetched.

Names of models, muscles and coordinates come from files and may hold anything. So every text is escaped on its way into a page:
in figures by `label`, elsewhere by `paragraph` and `table`.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from .atomic import write_text

CONFIG = {"displaylogo": False, "responsive": True}
STYLE = """
body { font-family: sans-serif; color: #222; max-width: 1240px; margin: 1em auto; padding: 0 1em; line-height: 1.4 }
h1 { font-size: 1.4em; margin: 0.4em 0 } h2 { font-size: 1.1em; margin: 1.4em 0 0.4em } p { margin: 0.4em 0 }
table { border-collapse: collapse; font-size: 0.9em } th, td { padding: 3px 14px 3px 0; text-align: left; vertical-align: top }
tr + tr { border-top: 1px solid #ddd }
main { display: grid; gap: 0.5em 1em } main > * { min-width: 0 } .wide { grid-column: 1 / -1 }
main > p { margin: 0 } main > h2 { margin-bottom: 0 }
"""


def label(text: str) -> str:
    """A text as plotly shows it unchanged: in texts of figures it obeys a few HTML tags and drops all others."""
    return escape(text, quote=False)


def paragraph(text: str) -> str:
    return f"<p class='wide'>{escape(text)}</p>"


def heading(text: str) -> str:
    return f"<h2 class='wide'>{escape(text)}</h2>"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [_row(header, "th"), *(_row(row, "td") for row in rows)]
    return "<table class='wide'>\n" + "\n".join(lines) + "\n</table>"


def write_page(path: Path, title: str, what: str, parts: Sequence[go.Figure | str], columns: int = 1) -> None:
    """Write a page: its title, a sentence on what was run, and figures and pieces of HTML side by side in `columns`.

    Figures get the ids `figure-1`, `figure-2`, ..., by which scripts among the parts find them.
    """
    body, count = [], 0
    for part in parts:
        if isinstance(part, str):
            body.append(part)
            continue
        count += 1
        part.update_layout(template="plotly_white", hoverlabel_namelength=-1)
        body.append(
            part.to_html(
                full_html=False, include_plotlyjs=False, auto_play=False, config=CONFIG, div_id=f"figure-{count}"
            )
        )
    write_text(
        path,
        (
            "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n",
            f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n<script>{get_plotlyjs()}</script>\n</head>\n",
            f"<body>\n<h1>{escape(title)}</h1>\n{paragraph(what)}\n",
            f"<main style='grid-template-columns: repeat({columns}, minmax(0, 1fr))'>\n",
            "\n".join(body),
            "\n</main>\n</body>\n</html>\n",
        ),
    )


def _row(cells: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
