"""Repeat the experiments of the papers: `python -m myograd.studies [NAME ...]`, or `make studies` for all.

Each module in this folder is one paper. Its `main()` runs the experiment and prints the table.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pkgutil import iter_modules

import myograd.studies
from myograd.errors import MyogradError, nearest


def names() -> list[str]:
    return sorted(module.name for module in iter_modules(myograd.studies.__path__) if not module.name.startswith("_"))


def main(wanted: list[str]) -> None:
    for name in wanted:
        if name not in names():
            raise MyogradError(f"there is no study {name!r}{nearest(name, names())}")
    for name in wanted or names():
        print(f"== {name}")
        import_module(f"myograd.studies.{name}").main()
    if not names():
        print("no paper has its study here yet")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except MyogradError as error:
        sys.exit(f"error: {error}")
