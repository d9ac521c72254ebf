"""The wrapping surfaces by the names that OpenSim gives them. Their common interface is in `common`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from jaxtyping import Array

from . import cylinder as wrap_cylinder
from . import ellipsoid as wrap_ellipsoid
from . import sphere as wrap_sphere
from . import torus as wrap_torus
from .common import Arc


class Surface(NamedTuple):
    arc: Callable[[Array, Array, Array, Array, Array, Array, Array], Arc]
    along: Callable[[Array, Array, Array, Array, Array], Array]


SURFACES = {
    "WrapCylinder": Surface(wrap_cylinder.arc, wrap_cylinder.along),
    "WrapSphere": Surface(wrap_sphere.arc, wrap_sphere.along),
    "WrapEllipsoid": Surface(wrap_ellipsoid.arc, wrap_ellipsoid.along),
    "WrapTorus": Surface(wrap_torus.arc, wrap_torus.along),
}
