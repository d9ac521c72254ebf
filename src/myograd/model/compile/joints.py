"""Joints as six transform axes each: three translations along axes fixed in the parent frame, then three body-fixed rotations.

Every rigid joint of OpenSim has this form (its SpatialTransform). The amount by which a transform axis turns or slides is
`y = slopes q + offsets + splines(q)`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ..._arrays import as_array
from ...errors import ModelError, nearest
from .. import description as d
from ..model import Joints
from ..structure import Tree
from .frames import Frames
from .functions import Pieces, pieces, table
from .tree import Link

X, Y, Z = np.eye(3)
ROTATIONS, TRANSLATIONS = (0, 1, 2), (3, 4, 5)

# Number and direction of the transform axis of each coordinate, in the order of the joint's coordinates.
SIMPLE: dict[str, list[tuple[int, np.ndarray]]] = {
    "WeldJoint": [],
    "PinJoint": [(0, Z)],
    "SliderJoint": [(3, X)],
    "UniversalJoint": [(0, X), (1, Y)],
    "GimbalJoint": [(0, X), (1, Y), (2, Z)],
    "BallJoint": [(0, X), (1, Y), (2, Z)],
    "EllipsoidJoint": [(0, X), (1, Y), (2, Z)],
    "FreeJoint": [(0, X), (1, Y), (2, Z), (3, X), (4, Y), (5, Z)],
    "PlanarJoint": [(0, Z), (3, X), (4, Y)],
}
BALLS = ("BallJoint", "EllipsoidJoint", "FreeJoint")  # speeds are angular velocities, not rates of the angles


@dataclass
class _SpatialTransforms:
    """Filled joint by joint; index `number * n + link` as in `Tree.transform_axes`."""

    axes: np.ndarray  # [6, 3, n]
    slopes: np.ndarray  # [6n, c]
    offsets: np.ndarray  # [6n]
    moving: set[int] = field(default_factory=set)
    splines: list[tuple[int, int, Pieces]] = field(default_factory=list)  # index, coordinate, function


def compile_joints(
    description: d.ModelDescription, links: list[Link], frames: Frames, index: dict[str, int], opensim_coriolis: bool
) -> tuple[Joints, Tree]:
    n, c = len(links), len(index)
    transforms = _SpatialTransforms(np.zeros((6, 3, n)), np.zeros((6 * n, c)), np.zeros(6 * n))
    parent, child = np.zeros((2, 3, 4, n))
    parent[:, :3] = child[:, :3] = np.eye(3)[:, :, None]
    ball = np.zeros(n, bool)
    balls: list[list[int]] = []
    ellipsoids: list[tuple[int, int]] = []
    radii: list[d.Vec3] = []
    for k, link in enumerate(links):
        joint = link.joint
        if joint is None:
            continue
        for side, path in ((parent, joint.parent_frame), (child, joint.child_frame)):
            _, side[:, :3, k], side[:, 3, k] = frames.on_link(path)
        if joint.kind == "CustomJoint":
            _fill_custom(transforms, joint, k, n, index)
            continue
        if joint.kind not in SIMPLE:
            raise ModelError(
                f"joint {joint.name!r}: the class {joint.kind} is not supported{nearest(joint.kind, SIMPLE)}"
            )
        layout = SIMPLE[joint.kind]
        if len(joint.coordinates) != len(layout):
            raise ModelError(
                f"joint {joint.name!r}: a {joint.kind} has {len(layout)} coordinates, this one {len(joint.coordinates)}"
            )
        for (number, axis), coordinate in zip(layout, joint.coordinates, strict=True):
            transforms.axes[number, :, k] = axis
            transforms.slopes[number * n + k, index[coordinate.name]] = 1.0
            transforms.moving.add(number * n + k)
        if joint.kind in BALLS:
            ball[k] = True
            balls.append([index[coordinate.name] for coordinate in joint.coordinates[:3]])
        if joint.kind == "EllipsoidJoint":
            ellipsoids.append((k, len(balls) - 1))
            radii.append(joint.radii)
            transforms.axes[3:, :, k] = np.eye(3)
            transforms.moving |= {number * n + k for number in TRANSLATIONS}
    joints = Joints(
        parent_rotation=as_array(parent[:, :3]),
        parent_translation=as_array(parent[:, 3]),
        child_rotation=as_array(child[:, :3]),
        child_translation=as_array(child[:, 3]),
        axes=as_array(transforms.axes),
        slopes=as_array(transforms.slopes),
        offsets=as_array(transforms.offsets),
        splines=table([f for _, _, f in transforms.splines]),
        radii=as_array(np.array(radii).reshape(len(radii), 3).T),
    )
    return joints, _tree(description, links, transforms, index, ball, balls, ellipsoids, opensim_coriolis)


def _fill_custom(transforms: _SpatialTransforms, joint: d.Joint, k: int, n: int, index: dict[str, int]) -> None:
    own = [coordinate.name for coordinate in joint.coordinates]
    for number, axis in enumerate(joint.transform):
        at, owner = number * n + k, f"joint {joint.name!r}, {axis.name or f'axis {number + 1}'}"
        for name in axis.coordinates:
            if name not in own:
                raise ModelError(f"{owner}: {name!r} is not a coordinate of this joint{nearest(name, own)}")
        direction = np.array(axis.axis, float)
        length = np.linalg.norm(direction)
        if length == 0:
            raise ModelError(f"{owner}: the axis has zero length")
        transforms.axes[number, :, k] = direction / length
        arguments = [index[name] for name in axis.coordinates]
        linear = multilinear(axis.function)
        if linear is not None and len(arguments) == len(linear) - 1:
            transforms.slopes[at, arguments] = linear[:-1]
            transforms.offsets[at] = linear[-1]
        elif len(arguments) <= 1:
            function = pieces(axis.function, owner)
            if function.is_linear:
                transforms.offsets[at], slope = function.line
                transforms.slopes[at, arguments] = slope
            elif arguments:
                transforms.splines.append((at, arguments[0], function))
            else:
                raise ModelError(f"{owner}: its function needs a coordinate, and none is named")
        else:
            raise ModelError(
                f"{owner}: a {type(axis.function).__name__} of {len(arguments)} coordinates is not supported"
            )
        if arguments:
            transforms.moving.add(at)
    if not any(axis.coordinates for axis in joint.transform[:3]):
        return
    rotations = transforms.axes[:3, :, k]
    if abs(np.linalg.det(rotations)) < 1e-8:
        raise ModelError(
            f"joint {joint.name!r}: its three rotation axes lie in one plane; OpenSim requires them to span space"
        )


def multilinear(function: d.Function) -> tuple[float, ...] | None:
    """Coefficients of a (scaled) LinearFunction, constant last."""
    if isinstance(function, d.LinearFunction):
        return function.coefficients
    if isinstance(function, d.MultiplierFunction) and (inner := multilinear(function.function)) is not None:
        return tuple(function.scale * c for c in inner)
    return None


def _tree(
    description: d.ModelDescription,
    links: list[Link],
    transforms: _SpatialTransforms,
    index: dict[str, int],
    ball: np.ndarray,
    balls: list[list[int]],
    ellipsoids: list[tuple[int, int]],
    opensim_coriolis: bool,
) -> Tree:
    n, c = len(links), len(index)
    inboard = np.array([link.inboard for link in links])
    outboard = np.zeros((n, n))  # [k, j] 1 where link j hangs on joint k, directly or not
    for j in range(1, n):
        at = j
        while at > 0:
            outboard[at, j] = 1
            at = inboard[at]
    transform_axes = np.array(sorted(transforms.moving), int)
    number, link = transform_axes // n, transform_axes % n
    joint_parent = np.array([item.joint_parent for item in links])
    is_reversed = np.array([item.reversed for item in links])
    carried = _carried(outboard[link][:, joint_parent[link]], number, link, ball, is_reversed)
    simbody_axes, simbody_carried = simbody_carriers(links, transform_axes, index) if opensim_coriolis else ([], [])
    for j in simbody_axes:  # what stays is the motion of the parent body, which a reversed joint's own axes move
        carried[(link == link[j]) & (number < 3), j] = is_reversed[link[j]]
    coordinate_link = np.zeros(c, int)
    for k, item in enumerate(links):
        for coordinate in item.joint.coordinates if item.joint else ():
            coordinate_link[index[coordinate.name]] = k
    spline_transform_axis = np.array([s for s, _, _ in transforms.splines], int)
    counts = np.bincount([item.level for item in links])
    starts = np.concatenate([[0], np.cumsum(counts)])
    return Tree(
        body_link=np.array([_first_link(links, i) for i in range(len(description.bodies))], int),
        link_body=np.array([item.source for item in links]),
        link_share=np.array([item.share for item in links]),
        levels=tuple((int(a), int(b)) for a, b in pairwise(starts[1:])),
        inboard=inboard,
        joint_parent=joint_parent,
        reversed=is_reversed,
        transform_axes=transform_axes,
        ball=ball,
        link_moved=outboard[link],
        carried=carried,
        simbody_carried=np.array(simbody_carried).reshape(len(simbody_axes), len(transform_axes), c),
        simbody_axes=np.array(simbody_axes, int),
        speed_links=outboard[coordinate_link],
        spline_coordinate=np.array([q for _, q, _ in transforms.splines], int),
        spline_transform_axis=spline_transform_axis,
        spline_axis=np.searchsorted(transform_axes, spline_transform_axis),
        balls=np.array(balls, int).reshape(len(balls), 3),
        ellipsoids=np.array(ellipsoids, int).reshape(len(ellipsoids), 2),
    )


def _carried(
    by_links: np.ndarray, number: np.ndarray, link: np.ndarray, ball: np.ndarray, is_reversed: np.ndarray
) -> np.ndarray:
    """[a, a] what axis i's motion does to the frame that carries axis j. `by_links`: as far as other joints are concerned.

    Axis j rides on its joint's parent frame, moved on by those axes of the same joint that come before it: translations before
    rotations, rotations in sequence; but a ball joint's speeds are all about parent-frame axes.
    """
    carried = by_links.copy()
    for j in range(len(number)):
        for i in np.flatnonzero(link == link[j]):
            if number[j] < 3 and (number[i] >= 3 or (number[i] < number[j] and not ball[link[j]])):
                # A reversed joint's axes are stored turned round (they move the parent), hence the sign.
                carried[i, j] += -1 if is_reversed[link[j]] else 1
    return carried


def simbody_carriers(
    links: list[Link], transform_axes: np.ndarray, index: dict[str, int]
) -> tuple[list[int], list[np.ndarray]]:
    """What Simbody takes for the motion of the frames that carry the second and third rotation axis of a CustomJoint.

    It counts all rotations due to the joint's first coordinate (for the second axis) or first two coordinates (for the
    third), instead of the rotations that come before the axis. The same when coordinate k drives rotation k alone; not
    when one coordinate drives several rotations, as in knees with spline-driven rotations. Returns the axes, and for
    each a mask [a, c] of the rotations and coordinates counted.
    """
    axes, masks = [], []
    number, link = transform_axes // len(links), transform_axes % len(links)
    for j in np.flatnonzero((number == 1) | (number == 2)):
        joint = links[link[j]].joint
        if joint is None or joint.kind != "CustomJoint":
            continue
        mask = np.zeros((len(transform_axes), len(index)))
        counted = [index[coordinate.name] for coordinate in joint.coordinates[: number[j]]]
        mask[np.ix_((link == link[j]) & (number < 3), counted)] = -1.0 if links[link[j]].reversed else 1.0
        axes.append(int(j))
        masks.append(mask)
    return axes, masks


def _first_link(links: list[Link], body: int) -> int:
    return next(k for k, link in enumerate(links) if link.source == body and link.copy_of < 0)
