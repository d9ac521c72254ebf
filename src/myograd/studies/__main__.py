"""Repeat the experiments of the papers: `python -m myograd.studies [NAME ...]`, or `make studies` for all.

Each writes into a folder of its name in `studies/`. One alone, elsewhere, or in quick: `myograd study NAME [--quick] --out DIR`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from myograd.errors import MyogradError
from myograd.studies import STUDIES, run_study


def main(wanted: list[str]) -> None:
    for name in wanted or STUDIES:
        print(f"== {name}", flush=True)
        run_study(name, Path("studies") / name)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except MyogradError as error:
        sys.exit(f"error: {error}")
