"""Where the oracle pack is: public models, and what OpenSim 4.6 computed for them.

`MYOGRAD_ORACLE_PACK` names its folder; without it, `shared/opensim` beside the repository. `scripts/oracle_pack.py` makes one.
"""

from __future__ import annotations

import os
from pathlib import Path

PACK = Path(os.environ.get("MYOGRAD_ORACLE_PACK", Path(__file__).resolve().parents[3] / "shared" / "opensim"))
NO_PACK = (
    f"the oracle pack (models, and what OpenSim 4.6 computed for them) is not at {PACK}; MYOGRAD_ORACLE_PACK names it"
)

FILES = sorted(PACK.glob("models/*.osim"))
VARIANTS = ("_v46", "_DGF")  # the same models printed by OpenSim 4.6, and with their muscles replaced
MODELS = [path for path in FILES if not path.stem.endswith(VARIANTS)]
