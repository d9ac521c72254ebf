"""External loads: an `.xml` file that says which columns of a table are forces on which bodies, and that table.

<ExternalLoads> <objects> <ExternalForce> ... </ExternalForce> </objects> <datafile>grf.mot</datafile> </ExternalLoads>
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from myograd.errors import FileFormatError, ModelError, nearest
from myograd.files.atomic import write_text
from myograd.files.osim.fields import Fields, Source
from myograd.files.osim.write import document_text
from myograd.files.osim.write_values import flag, leaf
from myograd.files.osim.xml import objects, read_document
from myograd.files.tables.formats import read_table
from myograd.files.tables.table import Table
from myograd.model.description import Node

UNASSIGNED = ("", "Unassigned")
_TEXTS = (
    "applied_to_body",
    "force_expressed_in_body",
    "point_expressed_in_body",
    "force_identifier",
    "point_identifier",
    "torque_identifier",
)


@dataclass
class ExternalForce:
    """A measured force, its point and a torque on a body. Identifiers are what the names of three columns begin with; "" for
    none. Without a point, the force acts at the origin of the body."""

    name: str
    applied_to_body: str
    force_expressed_in_body: str = "ground"
    point_expressed_in_body: str = "ground"
    force_identifier: str = ""
    point_identifier: str = ""
    torque_identifier: str = ""
    applies_force: bool = True


@dataclass
class ExternalLoads:
    """Measured forces on a model over time, as an `.xml` file of OpenSim names them, and the table that holds them."""

    forces: list[ExternalForce]
    table: Table
    name: str = "externalloads"
    datafile: str = ""  # as the file says it, relative to the file
    source: str = field(default="", compare=False)

    def columns(self, force: ExternalForce, identifier: str) -> NDArray[np.float64]:
        """[n, 3] the three columns whose names begin with `identifier`."""
        found = [i for i, name in enumerate(self.table.names) if name.startswith(identifier)]
        if len(found) != 3:
            raise ModelError(
                f"ExternalForce {force.name!r}: {len(found)} columns of {self.datafile or 'the table'} begin with "
                f"{identifier!r}, not 3{nearest(identifier, self.table.names) if not found else ''}"
            )
        values = self.table.data[:, found]
        if not np.isfinite(values).all():
            row, column = np.argwhere(~np.isfinite(values))[0]
            raise ModelError(
                f"ExternalForce {force.name!r}: {self.table.names[found[column]]} of {self.datafile or 'the table'} is not a "
                f"finite number at {self.table.time[row]:g} s"
            )
        return values


def read_external_loads(path: str | os.PathLike[str]) -> ExternalLoads:
    """The loads of an `.xml` file, with the table that it names."""
    node, _ = read_document(path, "ExternalLoads", oldest=0)
    source = Source(path)
    forces = [_read_force(source, child) for child in objects(node)]
    if not forces:
        raise source.error(node, "holds no <ExternalForce>")
    datafile = node.find("datafile")
    name = datafile.text.strip() if datafile else ""
    if name in UNASSIGNED:
        raise source.error(node, "has no <datafile> for the forces")
    table_path = Path(path).parent / name
    if not table_path.is_file():
        line = datafile.line if datafile else node.line
        raise FileFormatError(f"the datafile {name!r} is not at {table_path}", path, line)
    return ExternalLoads(forces, read_table(table_path), node.attributes.get("name", ""), name, os.fspath(path))


def _read_force(source: Source, node: Node) -> ExternalForce:
    fields = Fields(source, node)
    if node.tag != "ExternalForce":
        raise fields.error("should be an <ExternalForce>")
    off = fields.flag("isDisabled", False)  # before version 30509
    texts = {tag: fields.text(tag, "ground" if "expressed" in tag else "") for tag in _TEXTS}
    texts = {tag: "" if text in UNASSIGNED else text for tag, text in texts.items()}
    force = ExternalForce(fields.name(), **texts, applies_force=fields.flag("appliesForce", not off))
    if not force.applied_to_body:
        raise fields.error("does not say what body it is applied to (applied_to_body)")
    if not (force.force_identifier or force.torque_identifier):
        raise fields.error("names neither a force nor a torque (force_identifier, torque_identifier)")
    return force


def write_external_loads(loads: ExternalLoads, path: str | os.PathLike[str]) -> None:
    """Write the `.xml` file; its table is written by `write_table`, to where `loads.datafile` says."""
    if not loads.datafile:
        raise ModelError("external loads need a datafile: the name of the table, relative to the file")
    forces = [
        Node(
            "ExternalForce",
            {"name": force.name},
            children=[
                flag("appliesForce", force.applies_force),
                *(leaf(tag, getattr(force, tag)) for tag in _TEXTS if getattr(force, tag)),
            ],
        )
        for force in loads.forces
    ]
    content = [Node("objects", children=forces), leaf("datafile", loads.datafile)]
    write_text(path, document_text(Node("ExternalLoads", {"name": loads.name}, children=content)))
