"""Writes the models of this folder: `python -m myograd.models.build`.

Each `_<name>.py` describes one body in Python and says where its numbers come from; the `.osim` files beside them are
what the writer makes of it, and are what everything else reads.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from myograd.files.osim_write import write_osim
from myograd.model.description import ModelDescription
from myograd.models import _arm, _coupled_mechanism, _double_pendulum, _four_bar, _leg, _planar_leg

DESCRIBE: dict[str, Callable[[], ModelDescription]] = {
    "arm": _arm.describe,
    "coupled_mechanism": _coupled_mechanism.describe,
    "double_pendulum": _double_pendulum.describe,
    "four_bar": _four_bar.describe,
    "leg": _leg.describe,
    "planar_leg": _planar_leg.describe,
}


def main() -> None:
    for name, describe in DESCRIBE.items():
        write_osim(describe(), Path(__file__).with_name(f"{name}.osim"))


if __name__ == "__main__":
    main()
