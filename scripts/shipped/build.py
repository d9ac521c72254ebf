"""Writes the models that ship with Myograd, `src/myograd/models/*.osim`: `python scripts/shipped/build.py`.

Each `<name>.py` beside this file describes one body in Python and says where its numbers come from; the `.osim` files are what
the writer makes of it, and are what everything else reads.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from myograd import models
from myograd.files.osim.write import write_osim
from myograd.model.description import ModelDescription
from shipped import arm, coupled_mechanism, double_pendulum, four_bar, leg, planar_leg

DESCRIBE: dict[str, Callable[[], ModelDescription]] = {
    "arm": arm.describe,
    "coupled_mechanism": coupled_mechanism.describe,
    "double_pendulum": double_pendulum.describe,
    "four_bar": four_bar.describe,
    "leg": leg.describe,
    "planar_leg": planar_leg.describe,
}


def main() -> None:
    for name, describe in DESCRIBE.items():
        write_osim(describe(), Path(models.__file__).with_name(f"{name}.osim"))


if __name__ == "__main__":
    main()
