"""What kind of file a path means, by the ending of its name: for messages when another kind is expected."""

from __future__ import annotations

import os
from pathlib import Path

from myograd.errors import FileFormatError

KINDS = {
    ".osim": "an OpenSim model",
    ".sto": "a table of columns over time",
    ".mot": "a table of columns over time",
    ".trc": "a table of markers",
    ".xml": "an OpenSim setup or loads file",
    ".c3d": "a motion-capture recording",
    ".csv": "a comma-separated file",
    ".html": "a web page",
    ".npz": "a NumPy archive",
    ".vtp": "a mesh",
    ".stl": "a mesh",
    ".obj": "a mesh",
}


NOT_XML = tuple(ending for ending in KINDS if ending not in (".osim", ".xml"))


def need_document(path: str | os.PathLike[str], holding: str) -> None:
    """Raise if the name is not that of an OpenSim document, but ends like a file of another kind."""
    ending = Path(path).suffix.lower()
    if ending in NOT_XML:
        expected = (
            "an OpenSim model (.osim)" if holding == "Model" else f"an OpenSim document that holds <{holding}> (.xml)"
        )
        raise FileFormatError(f"is {KINDS[ending]} ({ending}); expected {expected}", path)
