"""The unchanging half of a compiled model: tree, index tables, names. Static under JAX, hashable, and compared by value: two
people scaled from one template have equal structures."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from typing import Any

import jax
import numpy as np

from .description import Severity


def _content(value: Any, name: str) -> bytes:
    """All that tells a value from others. Arrays are made read-only: their content is taken once."""
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
        return f"{value.dtype.str} {value.shape} ".encode() + value.tobytes()
    if any(isinstance(part, np.ndarray) for part in jax.tree.leaves(value)):
        raise TypeError(
            f"{name} is a {type(value).__name__} that holds arrays; it can be an array, or hold plain values"
        )
    return repr(value).encode()


@dataclass(eq=False, frozen=True, repr=False)
class Hashed:
    """Compares and hashes by content, computed once: JAX asks for it at every call of a compiled function."""

    def __post_init__(self) -> None:
        digest = hashlib.sha256()
        for item in fields(self):
            content = _content(getattr(self, item.name), f"{type(self).__name__}.{item.name}")
            digest.update(f"{item.name} {len(content)} ".encode() + content)
        object.__setattr__(self, "_digest", digest.digest())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._digest.hex()})"  # pyright: ignore[reportAttributeAccessIssue]

    def __hash__(self) -> int:
        return hash(self._digest)  # pyright: ignore[reportAttributeAccessIssue]

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and self._digest == other._digest)  # pyright: ignore[reportAttributeAccessIssue]


@dataclass(eq=False, frozen=True, repr=False)
class Tree(Hashed):
    """The skeleton's topology. Links are bodies in order of level, ground first (index 0).

    Each joint has six transform axes, as OpenSim's SpatialTransform: three for rotations in sequence (0 to 2), after three for
    translations, fixed in its parent frame (3 to 5). An *axis* is one that moves. `n` links, `a` axes, `c` coordinates
    (= speeds).
    """

    body_link: np.ndarray  # [bodies] link of each body, in file order
    link_body: np.ndarray  # [n] body whose mass each link carries, -1 for ground
    link_share: np.ndarray  # [n] share of that mass
    levels: tuple[tuple[int, int], ...]  # first and last + 1 link of each level, ground's left out
    inboard: np.ndarray  # [n]
    joint_parent: np.ndarray  # [n] link that the joint's own parent frame is fixed to
    reversed: np.ndarray  # [n] bool
    transform_axes: np.ndarray  # [a] number (0 to 5) * n + link of each axis
    ball: np.ndarray  # [n] bool: joints whose rotational speeds are about axes of the parent frame
    link_moved: np.ndarray  # [a, n] 1 where the axis moves the link
    carried: np.ndarray  # [a, a] what axis i's motion does to the frame that carries axis j: 1, 0, or -1
    simbody_carried: np.ndarray  # [x, a, c] see `compile.joints.simbody_carriers`; empty unless asked for
    simbody_axes: np.ndarray  # [x] the axes concerned
    speed_links: np.ndarray  # [c, n] 1 where the coordinate's joint moves the link
    spline_coordinate: np.ndarray  # [s] argument of each joint spline
    spline_transform_axis: np.ndarray  # [s] the one it drives, as in `transform_axes`
    spline_axis: np.ndarray  # [s] its place there
    balls: np.ndarray  # [b, 3] coordinates of each ball, free or ellipsoid joint's rotation
    ellipsoids: np.ndarray  # [e, 2] link and index in `balls`


@dataclass(eq=False, frozen=True, repr=False)
class Constraints(Hashed):
    """Which coordinates follow from others, and which points and frames are tied together."""

    locked: np.ndarray  # [k] coordinates that stay at their default
    prescribed: np.ndarray  # [p] coordinates that follow a function of time
    dependent: np.ndarray  # [d] coordinate set by each coupler
    arguments: np.ndarray  # [d, c] 1 where the coupler depends on the coordinate
    coupler_spline: np.ndarray  # [t] coupler of each spline term
    coupler_coordinate: np.ndarray  # [t] its argument
    welds: np.ndarray  # [w, 2] links
    points: np.ndarray  # [o, 2] links
    distances: np.ndarray  # [x, 2] links
    free: np.ndarray  # [f] coordinates that are not eliminated
    explicit: np.ndarray  # [h] eliminated coordinates, each after the ones it depends on
    explicit_depth: int  # length of the longest chain of couplers
    explicit_coupler: np.ndarray  # [h] coupler that sets it; -1: locked, -2 - i: prescribed i
    implicit_rows: np.ndarray  # rows of the constraint Jacobian that elimination does not use up
    row_names: tuple[str, ...]  # what each row of the constraint Jacobian ties
    names: tuple[tuple[str, ...], ...]  # of couplers, welds, points and distances

    @property
    def not_independent(self) -> np.ndarray:
        """Coordinates that a coupler, a lock or a prescribed motion sets, eliminated or not."""
        return np.concatenate([self.dependent, self.locked, self.prescribed])


@dataclass(eq=False, frozen=True, repr=False)
class Paths(Hashed):
    """Straight segments between path points, in flat lists. `p` points, `s` segments, `m` paths (`Names.paths`)."""

    point_path: np.ndarray  # [p]
    point_link: np.ndarray  # [p]
    moving: np.ndarray  # [v] points that move in their frame
    moving_coordinate: np.ndarray  # [3, v] argument of each component
    conditional: np.ndarray  # [k] points that are on the path only in a range of a coordinate
    conditional_coordinate: np.ndarray  # [k]
    rigid: np.ndarray  # [r, 2] points of segments of constant length
    segments: np.ndarray  # [s, 2] points of all others
    switched: np.ndarray  # [w] segments that exist only while some points are on or off the path
    switch: np.ndarray  # [w, k] 1: needs the conditional point on, -1: needs it off, 0: does not care
    crossing: np.ndarray  # [s, c] +1 / -1 where the speed moves only the far / near end
    reach: np.ndarray  # [m, c] 1 where the coordinate can change the path at all, surfaces included
    no_path: tuple[int, ...]  # muscles whose path is of an unsupported class


@dataclass(eq=False, frozen=True, repr=False)
class PathWraps(Hashed):
    """A path wrap is one surface on one path. `k` path wraps, sorted by class of surface, `t` pairs of path points, `f`
    surfaces."""

    points: np.ndarray  # [p] the path points concerned
    pairs: np.ndarray  # [t, 2] indices into `points`
    pair_switch: np.ndarray  # [t, conditional points] what it takes for the two to be neighbours, as in `Paths.switch`
    path: np.ndarray  # [k]
    surface: np.ndarray  # [k]
    kind: tuple[str, ...]  # [k] class of the surface
    quadrant: np.ndarray  # [k, 2] axis, and sign: 0 for all
    surface_link: np.ndarray  # [f]
    first: np.ndarray  # [m + 1] where the path wraps of each path that has any begin in `by_path`
    by_path: np.ndarray  # [k] path by path, in the file's order
    first_pair: np.ndarray  # [k + 1] where each path wrap's pairs begin in `allowed`
    allowed: np.ndarray  # pairs between which the file lets a path wrap be touched
    shared: np.ndarray  # path wraps that may be touched between the same two points as another


@dataclass(eq=False, frozen=True, repr=False)
class Muscles(Hashed):
    """Classes and options of the muscles, one entry per muscle."""

    kind: tuple[str, ...]  # OpenSim's class
    problem: tuple[str, ...]  # why its contraction cannot be computed, or ""
    variant: tuple[str, ...]  # of its class: which equations hold
    rigid_tendon: tuple[bool, ...]
    immediate_activation: tuple[bool, ...]  # activation is excitation: there is no such state
    passive_force: tuple[bool, ...]  # DeGrooteFregly2016Muscle may do without
    stated: tuple[tuple[str, ...], ...]  # optional numbers and curves that its file states
    control: tuple[int, ...]  # which of `Names.controls`
    applied: tuple[bool, ...]  # its force acts


@dataclass(eq=False, frozen=True, repr=False)
class Names(Hashed):
    bodies: tuple[str, ...]
    links: tuple[str, ...]
    coordinates: tuple[str, ...]
    coordinate_joints: tuple[str, ...]
    rotational: tuple[bool, ...]  # coordinates measured in radians
    muscles: tuple[str, ...]
    paths: tuple[str, ...]  # what pulls along a path: the muscles, then other forces
    points: tuple[str, ...]  # of all paths, one after the other
    surfaces: tuple[str, ...]  # that paths wrap over, with the frame that owns each: femur_r/gastroc
    surface_kinds: tuple[str, ...]
    markers: tuple[str, ...]
    joints: tuple[str, ...]  # of each link; "" for ground
    controls: tuple[str, ...]  # muscles and actuators in the file's order: what controls are given for
    unsupported: tuple[
        tuple[Severity, str, str], ...
    ]  # severity, class and name of what the file holds and is not used
