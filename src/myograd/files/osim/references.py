"""Resolves references between elements: sockets to paths of frames, names to coordinates and wrapping surfaces.

A socket holds a path, absolute (`/bodyset/femur_r`) or relative to the component that has the socket (`../../ground`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from myograd.errors import FileFormatError, nearest
from myograd.files.osim.components import absolute
from myograd.model.description import (
    Body,
    BushingForce,
    ConditionalPathPoint,
    CoordinateActuator,
    CoordinateCoupler,
    CoordinateLimitForce,
    Force,
    ModelDescription,
    MovingPathPoint,
    Muscle,
    OffsetFrame,
    PathForce,
    PointToPointSpring,
    SmoothSphereHalfSpaceForce,
    SpringGeneralizedForce,
    WeldConstraint,
)


def resolve(description: ModelDescription, path: str | os.PathLike[str]) -> None:
    """Replace every reference of the description, which was read from the file at `path`, in place."""
    here = _Resolver(description, path)
    for frame_path, frame in here.frames.items():
        if isinstance(frame, OffsetFrame):
            frame.parent = here.frame(frame.parent, frame_path, f"frame {frame.name!r}", frame.line)
    here.check_frames()
    for joint in description.joints:
        owner, what = f"/jointset/{joint.name}", f"joint {joint.name!r}"
        joint.parent_frame = here.frame(joint.parent_frame, owner, what, joint.line)
        joint.child_frame = here.frame(joint.child_frame, owner, what, joint.line)
        if here.base(joint.parent_frame) == here.base(joint.child_frame):
            raise here.error(f"{what} connects {here.base(joint.parent_frame)} with itself", joint.line)
    for constraint in description.constraints:
        owner, what = f"/constraintset/{constraint.name}", f"constraint {constraint.name!r}"
        if isinstance(constraint, CoordinateCoupler):
            for name in (*constraint.independent, constraint.dependent):
                here.coordinate_named(name, what, constraint.line)
            if constraint.dependent in constraint.independent:
                raise here.error(f"{what} makes {constraint.dependent!r} depend on itself", constraint.line)
        else:
            constraint.frame1 = here.frame(constraint.frame1, owner, what, constraint.line)
            constraint.frame2 = here.frame(constraint.frame2, owner, what, constraint.line)
            if constraint.enforced and here.base(constraint.frame1) == here.base(constraint.frame2):
                kind = "welds" if isinstance(constraint, WeldConstraint) else "connects"
                raise here.error(f"{what} {kind} {here.base(constraint.frame1)} to itself", constraint.line)
    for marker in description.markers:
        owner = f"/markerset/{marker.name}"
        marker.frame = here.frame(marker.frame, owner, f"marker {marker.name!r}", marker.line)
    for contact in description.contacts:
        owner, what = f"/contactgeometryset/{contact.name}", f"contact geometry {contact.name!r}"
        contact.frame = here.frame(contact.frame, owner, what, contact.line)
    for puller in description.paths():
        _resolve_path(here, puller)
    for force in description.forces:
        _resolve_force(here, force)


def _resolve_force(here: _Resolver, force: Force) -> None:
    owner, what = f"/forceset/{force.name}", f"{type(force).__name__} {force.name!r}"
    if isinstance(force, CoordinateActuator | CoordinateLimitForce | SpringGeneralizedForce):
        force.coordinate = force.coordinate.rpartition("/")[2]
        if force.coordinate not in here.coordinate_names:
            known = nearest(force.coordinate, here.coordinate_names)
            raise here.error(f"{what} acts on {force.coordinate!r}, which is not a coordinate{known}", force.line)
    elif isinstance(force, PointToPointSpring | BushingForce):
        force.frame1 = here.frame(force.frame1, owner, what, force.line)
        force.frame2 = here.frame(force.frame2, owner, what, force.line)
        if here.base(force.frame1) == here.base(force.frame2):
            raise here.error(f"{what} connects {here.base(force.frame1)} to itself", force.line)
    elif isinstance(force, SmoothSphereHalfSpaceForce):
        force.sphere = here.contact(force.sphere, "ContactSphere", what, force.line)
        force.half_space = here.contact(force.half_space, "ContactHalfSpace", what, force.line)


def _resolve_path(here: _Resolver, puller: Muscle | PathForce) -> None:
    kind = "muscle" if isinstance(puller, Muscle) else type(puller).__name__
    for point in puller.path.points:
        owner = f"/forceset/{puller.name}/path/{point.name}"
        what = f"path point {point.name!r} of {kind} {puller.name!r}"
        point.frame = here.frame(point.frame, owner, what, point.line)
        if isinstance(point, ConditionalPathPoint):
            point.coordinate = here.coordinate(point.coordinate, owner, what, point.line)
        elif isinstance(point, MovingPathPoint):
            x, y, z = (here.coordinate(name, owner, what, point.line) for name in point.coordinates)
            if not x == y == z:
                raise here.error(
                    f"{what} depends on {x!r}, {y!r} and {z!r}; x, y and z must depend on the same coordinate",
                    point.line,
                )
            point.coordinates = (x, y, z)
    for wrap in puller.path.wraps:
        what = f"{kind} {puller.name!r}"
        if wrap.wrap_object not in here.surfaces:
            known = nearest(wrap.wrap_object, here.surfaces)
            raise here.error(f"{what} wraps over {wrap.wrap_object!r}, which does not exist{known}", wrap.line)
        wrap.wrap_object = here.surfaces[wrap.wrap_object]


@dataclass
class _Resolver:
    description: ModelDescription
    path: str | os.PathLike[str]

    def __post_init__(self) -> None:
        self.frames: dict[str, Body | OffsetFrame] = self.description.frames()
        joints = self.description.joints
        self.coordinates = {f"/jointset/{j.name}/{c.name}": c.name for j in joints for c in j.coordinates}
        self.coordinate_names = set(self.coordinates.values())
        self.surfaces: dict[str, str] = {}  # by bare name; as in OpenSim, the first frame that has the name counts
        for surface_path, wrap in self.description.wrap_objects().items():
            self.surfaces.setdefault(wrap.name, surface_path)
        self.bases: dict[str, str] = {}
        self.unsupported = dict(self._unsupported())

    def _unsupported(self) -> Iterator[tuple[str, str]]:
        """Paths of components that are carried along, with their classes: they may be frames, but are not known."""
        for part in self.description.others:
            if part.kind == "components":
                yield from ((f"/{node.attributes['name']}", node.tag) for node in part.node.children)
            yield f"{'/componentset' if part.group == 'ComponentSet' else part.group}/{part.name}", part.kind

    def error(self, message: str, line: int) -> FileFormatError:
        return FileFormatError(message, self.path, line)

    def frame(self, socket: str, owner: str, what: str, line: int) -> str:
        """The path of the frame that a socket of the component at `owner` names."""
        if not socket:
            raise self.error(f"{what} does not say which frame it is on", line)
        found = absolute(socket, owner)
        if found in self.unsupported:
            raise self.error(f"{what} is on {socket!r}, but a {self.unsupported[found]} is not supported", line)
        if found not in self.frames:
            raise self.error(f"{what} is on {socket!r}, which is not a frame{nearest(found, self.frames)}", line)
        return found

    def coordinate(self, socket: str, owner: str, what: str, line: int) -> str:
        """The name of the coordinate that a socket of the component at `owner` names."""
        if not socket:
            raise self.error(f"{what} does not say on which coordinate it depends", line)
        found = absolute(socket, owner)
        if found not in self.coordinates:
            known = nearest(socket.rpartition("/")[2], self.coordinate_names)
            raise self.error(f"{what} depends on {socket!r}, which is not a coordinate{known}", line)
        return self.coordinates[found]

    def coordinate_named(self, name: str, what: str, line: int) -> None:
        if name not in self.coordinate_names:
            known = nearest(name, self.coordinate_names)
            raise self.error(f"{what} couples {name!r}, which is not a coordinate{known}", line)

    def contact(self, socket: str, kind: str, what: str, line: int) -> str:
        """The name of the contact geometry of this class that a socket names."""
        name = socket.rpartition("/")[2]
        known = [contact.name for contact in self.description.contacts if contact.kind == kind]
        if name not in known:
            raise self.error(f"{what} touches {socket!r}, which is not a {kind}{nearest(name, known)}", line)
        return name

    def check_frames(self) -> None:
        """No frame may hang on itself. Also finds the body, or ground, that each frame is fixed to."""
        for start in self.frames:
            chain = [start]
            while chain[-1] not in self.bases:
                frame = self.frames[chain[-1]]
                if not isinstance(frame, OffsetFrame):
                    self.bases[chain[-1]] = chain[-1]
                elif frame.parent in chain:
                    loop = " -> ".join([*chain[chain.index(frame.parent) :], frame.parent])
                    raise self.error(f"frames are fixed to each other in a circle: {loop}", frame.line)
                else:
                    chain.append(frame.parent)
            for path in chain:
                self.bases[path] = self.bases[chain[-1]]

    def base(self, path: str) -> str:
        return self.bases[path]
