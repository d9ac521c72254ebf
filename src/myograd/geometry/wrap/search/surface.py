"""The wrapping surfaces by number: whether a segment touches one, and the root that says how it goes over it."""

from __future__ import annotations

import numpy as np

from ..ritz import TERMS
from . import cylinder, ellipsoid, sphere, torus
from .vectors import Vector, compiled

CYLINDER, SPHERE, ELLIPSOID, TORUS = 0, 1, 2, 3
KINDS = {"WrapCylinder": CYLINDER, "WrapSphere": SPHERE, "WrapEllipsoid": ELLIPSOID, "WrapTorus": TORUS}
SIZES = (2, 1, 3, 2)  # how many each has
ROOTS = (1, 1, TERMS + 9, 2)
"""How many numbers a root has: the side; the way; the series and the frame; two azimuths."""


@compiled
def reach(kind: int, sizes: Vector) -> float:
    """Lines that keep further than this from the surface's middle do not touch it."""
    if kind == SPHERE:
        return sizes[0]
    if kind == ELLIPSOID:
        return max(sizes[0], sizes[1], sizes[2])
    return np.inf  # cylinders are long, and turn lines that pass on the wrong side; rings, those that pass outside


@compiled
def touch(kind: int, p: Vector, s: Vector, sizes: Vector, axis: int, sign: int) -> tuple[bool, bool, float, float]:
    """Engaged, mandatory, excess over the straight line (0 where always mandatory), and the side."""
    if kind == CYLINDER:
        return cylinder.touch(p, s, sizes, axis, sign)
    if kind == SPHERE:
        return sphere.touch(p, s, sizes, axis, sign)
    if kind == ELLIPSOID:
        return ellipsoid.touch(p, s, sizes, axis, sign)
    return torus.touch(p, s, sizes, axis, sign)


@compiled
def find(
    kind: int, p: Vector, s: Vector, sizes: Vector, axis: int, sign: int, root: np.ndarray, warm: bool
) -> tuple[Vector, Vector, float, bool]:
    """Where the path lands on the surface and leaves it, the length of the arc, and whether it was found. `root` receives the
    root; it holds the side at first, and with `warm` the root of a segment nearby."""
    if kind == CYLINDER:
        P, Q, arc = cylinder.find(p, s, sizes, root[0])
        return P, Q, arc, True
    if kind == SPHERE:
        P, Q, arc = sphere.find(p, s, sizes, axis, sign, root[0])
        return P, Q, arc, True
    if kind == ELLIPSOID:
        z, frame = root[:TERMS], root[TERMS : TERMS + 9].reshape(3, 3)
        P, Q, arc, found = ellipsoid.find(p, s, sizes, axis, sign, z, frame, warm)
        if warm and not found:
            P, Q, arc, found = ellipsoid.find(p, s, sizes, axis, sign, z, frame, False)
        return P, Q, arc, found
    return torus.arc(p, s, sizes, root, warm)
