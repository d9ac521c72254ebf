"""Where the oracle pack is: public models, and what OpenSim 4.6 computed for them.

`MYOGRAD_ORACLE_PACK` names its folder; without it, `shared/opensim` beside the repository. `scripts/oracle_pack.py` makes one.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np

PACK = Path(os.environ.get("MYOGRAD_ORACLE_PACK", Path(__file__).resolve().parents[3] / "shared" / "opensim"))
NO_PACK = (
    f"the oracle pack (models, and what OpenSim 4.6 computed for them) is not at {PACK}; MYOGRAD_ORACLE_PACK names it"
)

FILES = sorted(PACK.glob("models/*.osim"))
NO_VARIANTS = f"the oracle pack at {PACK} has no models with other muscles (_DGF)" if FILES else NO_PACK
VARIANTS = ("_v46", "_DGF")  # the same models printed by OpenSim 4.6, and with their muscles replaced
MODELS = [path for path in FILES if not path.stem.endswith(VARIANTS)]


def reference(path: Path) -> Path:
    """Where the numbers of a model are; variants that only spell the same model have none of their own."""
    return path.parents[1] / "reference" / f"{path.stem}.npz"


@cache
def reference_names(path: Path, key: str) -> tuple[str, ...]:
    """Names in the reference of a model, none if it has no reference."""
    if not reference(path).exists():
        return ()
    with np.load(reference(path), allow_pickle=False) as data:
        return tuple(str(name) for name in data[key])


@cache
def has_mass(path: Path) -> bool:
    """Whether there is a reference with a mass matrix other than zero."""
    if not reference(path).exists():
        return False
    with np.load(reference(path), allow_pickle=False) as data:
        return bool(data["M"].any())
