"""The whole document, and what of it is not used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from ..._deprecated import old_attribute
from .basic import Node, Vec3
from .constraints import Constraint, CoordinateCoupler
from .forces import ContactGeometry, Force, PathForce
from .muscles import Muscle
from .skeleton import Body, Coordinate, Joint, Marker, OffsetFrame
from .surfaces import WrapObject


@dataclass
class Part:
    """An element that the library keeps and saves but does not use: a force, a controller, contact geometry, ...

    `group` says where it goes back to: a set (`ForceSet`, `ContactGeometrySet`, `ControllerSet`, `ConstraintSet`, ...),
    the named groups of a set (`ForceSet/groups`), the model itself (`Model`: `assembly_accuracy`, ...), or the
    components that a frame, joint or constraint owns (its path, `/bodyset/femur_r`).
    """

    group: str
    kind: str
    name: str
    node: Node
    line: int = 0


class Severity(StrEnum):
    """What is missing where an element is not used: from the skeleton's motion to only its appearance."""

    MOTION = "motion"
    """poses and accelerations: a constraint"""
    FORCE = "force"
    """muscle-driven accelerations"""
    CONTROL = "control"
    """controllers, probes, analyses"""
    UNKNOWN = "unknown"
    """what OpenSim 4.6 does not know either, and ignores"""
    BOOKKEEPING = "bookkeeping"
    """names of groups, defaults that nothing uses"""
    APPEARANCE = "appearance"
    """meshes, colours"""


SEVERITIES = tuple(Severity)
"""In the order of importance."""
NO_NUMBERS = (Severity.BOOKKEEPING, Severity.APPEARANCE)
"""Those that change no number that OpenSim computes."""


@dataclass(frozen=True)
class Unsupported:
    """Something the file holds and the library does not use."""

    severity: Severity
    kind: str
    name: str
    line: int
    reason: str


@dataclass
class ModelDescription:
    """All that a model file says, as plain data in the form of OpenSim 4.6: to be looked at, edited, compiled and written."""

    name: str = "model"
    source: str = ""  # the file it was read from
    version: int = 40600  # of that file
    gravity: Vec3 = (0.0, -9.80665, 0.0)
    credits: str = ""
    publications: str = ""
    length_units: str = "meters"
    force_units: str = "N"
    ground: Body = field(default_factory=lambda: Body("ground"))  # no mass: only frames, surfaces, geometry
    bodies: list[Body] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    markers: list[Marker] = field(default_factory=list)
    muscles: list[Muscle] = field(default_factory=list)
    forces: list[Force] = field(default_factory=list)  # all others
    contacts: list[ContactGeometry] = field(default_factory=list)
    frames_extra: list[OffsetFrame] = field(default_factory=list)  # of the model's ComponentSet
    others: list[Part] = field(default_factory=list)
    unsupported: list[Unsupported] = field(default_factory=list)

    unread = old_attribute("ModelDescription.unread")

    def coordinates(self) -> list[Coordinate]:
        """All coordinates in the order of their joints in the file (OpenSim's CoordinateSet order)."""
        return [coordinate for joint in self.joints for coordinate in joint.coordinates]

    def frames(self) -> dict[str, Body | OffsetFrame]:
        """Every frame by its absolute path."""
        return dict(self._walk_frames())

    def _walk_frames(self) -> Iterator[tuple[str, Body | OffsetFrame]]:
        def below(path: str, frames: list[OffsetFrame]) -> Iterator[tuple[str, OffsetFrame]]:
            for frame in frames:
                yield f"{path}/{frame.name}", frame
                yield from below(f"{path}/{frame.name}", frame.frames)

        yield "/ground", self.ground
        yield from below("/ground", self.ground.frames)
        for body in self.bodies:
            yield f"/bodyset/{body.name}", body
            yield from below(f"/bodyset/{body.name}", body.frames)
        for joint in self.joints:
            yield from below(f"/jointset/{joint.name}", joint.frames)
        for constraint in self.constraints:
            if not isinstance(constraint, CoordinateCoupler):
                yield from below(f"/constraintset/{constraint.name}", constraint.frames)
        for force in self.forces:
            yield from below(f"/forceset/{force.name}", getattr(force, "frames", []))
        yield from below("/componentset", self.frames_extra)

    def paths(self) -> list[Muscle | PathForce]:
        """Everything that pulls along a path: the muscles, then the other forces that do."""
        return [*self.muscles, *(force for force in self.forces if hasattr(force, "path"))]  # pyright: ignore[reportReturnType]

    def wrap_objects(self) -> dict[str, WrapObject]:
        """Every wrapping surface by the path of its frame and its name."""
        return {f"{path}/{wrap.name}": wrap for path, frame in self.frames().items() for wrap in frame.wraps}
