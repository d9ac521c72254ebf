"""The unchanging half of a compiled model: tree, index tables, names. Static under JAX, and hashable."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields

import numpy as np

from .description import ModelDescription, Unread


@dataclass(eq=False, frozen=True, repr=False)
class Hashed:
    """Compares and hashes by content, worked out once: JAX asks for it at every call of a compiled function."""

    def __post_init__(self) -> None:
        digest = hashlib.sha256()
        for item in fields(self):
            value = getattr(self, item.name)
            digest.update(item.name.encode())
            digest.update(
                str(value.shape).encode() + value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
            )
        object.__setattr__(self, "_digest", digest.digest())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._digest.hex()})"  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self._digest)  # type: ignore[attr-defined]

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and self._digest == other._digest)  # type: ignore[attr-defined]


@dataclass(eq=False, frozen=True, repr=False)
class Tree(Hashed):
    """The skeleton's topology. Links are bodies in order of level, ground first (index 0).

    Each joint has six slots: three rotations in sequence, after three translations along axes fixed in its parent frame.
    An *axis* is a slot that moves. `n` links, `a` axes, `c` coordinates (= speeds).
    """

    body_link: np.ndarray  # [bodies] link of each body, in file order
    link_body: np.ndarray  # [n] body whose mass each link carries, -1 for ground
    link_share: np.ndarray  # [n] share of that mass
    levels: tuple[tuple[int, int], ...]  # first and last + 1 link of each level, ground's left out
    inboard: np.ndarray  # [n]
    joint_parent: np.ndarray  # [n] link that the joint's own parent frame is fixed to
    reversed: np.ndarray  # [n] bool
    slots: np.ndarray  # [a] slot * n + link of each axis
    fixed_direction: (
        np.ndarray
    )  # [3, n] bool: rotation slots whose speed is about axes of the parent frame (ball joints)
    link_moved: np.ndarray  # [a, n] 1 where the axis moves the link
    carried: np.ndarray  # [a, a] what axis i's motion does to the frame that carries axis j: 1, 0, or -1
    simbody_carried: (
        np.ndarray
    )  # [x, a, c] see `compile_joints.simbody_carriers`; empty unless OpenSim's terms are asked for
    simbody_axes: np.ndarray  # [x] the axes concerned
    speed_links: np.ndarray  # [c, n] 1 where the coordinate's joint moves the link
    spline_coordinate: np.ndarray  # [s] argument of each joint spline
    spline_slot: np.ndarray  # [s] the slot it drives
    spline_axis: np.ndarray  # [s] that slot's axis
    balls: np.ndarray  # [b, 3] coordinates of each ball, free or ellipsoid joint's rotation
    ellipsoids: np.ndarray  # [e, 2] link and index in `balls`


@dataclass(eq=False, frozen=True, repr=False)
class Constraints(Hashed):
    """Which coordinates follow from others, and which points and frames are tied together."""

    locked: np.ndarray  # [k] coordinates held at their default
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

    @property
    def not_independent(self) -> np.ndarray:
        """Coordinates that a coupler, a lock or a prescribed course sets, eliminated or not."""
        return np.concatenate([self.dependent, self.locked, self.prescribed])


@dataclass(eq=False, frozen=True, repr=False)
class Paths(Hashed):
    """Straight stretches between path points, in flat lists. `p` points, `s` stretches, `m` paths (`Names.paths`)."""

    point_muscle: np.ndarray  # [p]
    point_link: np.ndarray  # [p]
    moving: np.ndarray  # [v] points that move in their frame
    moving_coordinate: np.ndarray  # [3, v] argument of each component
    conditional: np.ndarray  # [k] points that are on the path only in a range of a coordinate
    conditional_coordinate: np.ndarray  # [k]
    rigid: np.ndarray  # [r, 2] points of stretches of constant length
    stretches: np.ndarray  # [s, 2] points of all others
    switched: np.ndarray  # [w] stretches that exist only while some points are on or off the path
    switch: np.ndarray  # [w, k] 1: needs the conditional point on, -1: needs it off, 0: does not care
    crossing: np.ndarray  # [s, c] +1 / -1 where the speed moves only the far / near end
    reach: np.ndarray  # [m, c] 1 where the coordinate can change the muscle's path at all, surfaces included
    no_path: tuple[int, ...]  # muscles whose path is of a class that is not read


@dataclass(eq=False, frozen=True, repr=False)
class Wraps(Hashed):
    """Slots: each is one surface on one muscle's path. `k` slots, `t` pairs of path points, `f` surfaces."""

    points: np.ndarray  # [p] the path points concerned
    pairs: np.ndarray  # [t, 2] indices into `points`
    pair_switch: np.ndarray  # [t, conditional points] what it takes for the two to be neighbours, as in `Paths.switch`
    muscle: np.ndarray  # [k]
    surface: np.ndarray  # [k]
    kind: tuple[str, ...]  # [k] class of the surface
    quadrant: np.ndarray  # [k, 2] axis, and sign: 0 for all
    surface_link: np.ndarray  # [f]
    first: np.ndarray  # [m + 1] where the slots of each muscle that has any begin in `slots`
    slots: np.ndarray  # [k] muscle by muscle, in the file's order
    first_pair: np.ndarray  # [k + 1] where each slot's pairs begin in `allowed`
    allowed: np.ndarray  # pairs between which the file lets a slot be touched
    shared: np.ndarray  # slots that may be touched between the same two points as another


@dataclass(eq=False, frozen=True, repr=False)
class Names(Hashed):
    model: str
    bodies: tuple[str, ...]
    links: tuple[str, ...]
    coordinates: tuple[str, ...]
    muscles: tuple[str, ...]
    paths: tuple[str, ...]  # what pulls along a path: the muscles, then other forces
    markers: tuple[str, ...]
    rotational: tuple[bool, ...]  # coordinates measured in radians
    unread: tuple[Unread, ...]


@dataclass(eq=False, frozen=True, repr=False)
class Source(Hashed):
    """The description that a model was made from; saving goes through it."""

    description: ModelDescription
