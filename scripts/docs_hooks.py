"""What MkDocs runs while it builds the pages: public names are written as people use them, and found where they are defined.

The names of `myograd` are imported when first used (`myograd/__init__.py`), which mkdocstrings, reading sources without running
them, does not see. So `::: myograd.mass_matrix` on a page becomes the object's home, shown under the public name.
"""

from __future__ import annotations

import re
from typing import Any

import myograd

DIRECTIVE = re.compile(r"^::: myograd\.(\w+)$", re.MULTILINE)


def at_home(match: re.Match[str]) -> str:
    name = match[1]
    if name not in myograd._HOME:
        raise KeyError(f"{match[0]!r}: myograd has no public name {name!r}")
    home = f"myograd.{myograd._HOME[name]}.{name}"
    return (
        f"[](){{#myograd.{name}}}\n\n::: {home}\n    options:\n      heading: myograd.{name}\n      toc_label: {name}"
    )


def on_page_markdown(markdown: str, **_: Any) -> str:
    return DIRECTIVE.sub(at_home, markdown)
