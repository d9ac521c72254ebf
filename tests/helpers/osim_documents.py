"""Small `.osim` documents, written for the tests: pieces, and one leg in the spelling of OpenSim 3.0 and of 4.6."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from myograd.errors import FileFormatError
from myograd.files.osim.read import read_osim
from myograd.model.description import ModelDescription


def document(content: str, version: int = 40600, name: str = "small") -> str:
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<OpenSimDocument Version="{version}">
<Model name="{name}">
{content}
</Model>
</OpenSimDocument>
"""


def body(name: str, more: str = "", mass: str = "2") -> str:
    return f"""<Body name="{name}">
<mass>{mass}</mass>
<inertia>0.1 0.2 0.25 0 0 0</inertia>
{more}
</Body>
"""


def joint(
    name: str,
    child: str,
    parent: str = "/ground",
    kind: str = "PinJoint",
    coordinates: str | None = None,
    more: str = "",
) -> str:
    listed = f'<Coordinate name="{name}_angle"/>' if coordinates is None else coordinates
    return f"""<{kind} name="{name}">
<socket_parent_frame>{parent}</socket_parent_frame>
<socket_child_frame>{child}</socket_child_frame>
<coordinates>{listed}</coordinates>
{more}
</{kind}>
"""


def model(
    bodies: str | None = None, joints: str | None = None, more: str = "", version: int = 40600, forces: str = ""
) -> str:
    """A pendulum, unless told otherwise."""
    bodies = body("rod") if bodies is None else bodies
    joints = joint("hinge", "/bodyset/rod") if joints is None else joints
    return document(
        f"""<BodySet><objects>
{bodies}</objects></BodySet>
<JointSet><objects>
{joints}</objects></JointSet>
<ForceSet><objects>
{forces}</objects></ForceSet>
{more}""",
        version,
    )


def custom_joint(transform: str, coordinates: str = '<Coordinate name="q"/>') -> str:
    more = f"<SpatialTransform>{transform}</SpatialTransform>"
    return joint("hinge", "/bodyset/rod", kind="CustomJoint", coordinates=coordinates, more=more)


def axis(function: str, name: str = "rotation1", coordinates: str = "q", direction: str = "1 0 0") -> str:
    return f"""<TransformAxis name="{name}">
<coordinates>{coordinates}</coordinates>
<axis>{direction}</axis>
{function}
</TransformAxis>
"""


def muscle(points: str, more: str = "", name: str = "puller", wraps: str = "") -> str:
    return f"""<Thelen2003Muscle name="{name}">
<GeometryPath name="path">
<PathPointSet><objects>
{points}</objects></PathPointSet>
<PathWrapSet><objects>
{wraps}</objects></PathWrapSet>
</GeometryPath>
{more}
</Thelen2003Muscle>
"""


def point(name: str, frame: str, location: str = "0 0.1 0") -> str:
    return f"""<PathPoint name="{name}">
<socket_parent_frame>{frame}</socket_parent_frame>
<location>{location}</location>
</PathPoint>
"""


TWO_BODIES = body("rod") + body("bob")
TWO_JOINTS = joint("hinge", "/bodyset/rod") + joint("elbow", "/bodyset/bob", "/bodyset/rod")
TWO_POINTS = point("a", "/ground") + point("b", "/bodyset/rod")


def constraint(kind: str, content: str) -> str:
    return f'<ConstraintSet><objects>\n<{kind} name="held">\n{content}\n</{kind}>\n</objects></ConstraintSet>'


def read_text(folder: Path, text: str | bytes) -> ModelDescription:
    path = folder / "model.osim"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_osim(path)


def complaint(folder: Path, text: str | bytes) -> FileFormatError:
    """The error that reading `text` raises; it names the file."""
    with pytest.raises(FileFormatError) as caught:
        read_text(folder, text)
    assert str(folder / "model.osim") in str(caught.value)
    return caught.value


def assert_refused(folder: Path, text: str, where: str, says: str) -> None:
    """Reading `text` raises an error that says `says` and names the line that holds `where`."""
    error = complaint(folder, text)
    assert says in str(error)
    assert error.line > 0
    assert where in text.splitlines()[error.line - 1]


# Not compared between two files of one model: where it was read from, and what is not used (checked on its own).
NOT_CONTENT = {"line", "source", "version", "unsupported", "others", "geometry", "appearance", "properties"}


def content(it: object) -> object:
    """A description as nested tuples, without what differs between two files of one model."""
    if is_dataclass(it):
        return (type(it).__name__, *(content(getattr(it, f.name)) for f in fields(it) if f.name not in NOT_CONTENT))
    if isinstance(it, list | tuple):
        return tuple(map(content, it))
    return it


def vector(it) -> list[float]:
    """A vector of OpenSim as numbers."""
    return [it.get(i) for i in range(it.size())]


# One leg in two spellings ------------------------------------------------------------------------------------

SPLINE = "<x>-2 -1 0 1</x><y>0.01 0.02 0.015 0</y>"
LEG_3_0, LEG_4_6 = ((Path(__file__).parents[1] / "documents" / f"leg_{v}.osim").read_text() for v in ("3_0", "4_6"))
