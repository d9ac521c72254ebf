"""The wrapping surfaces by the names that OpenSim gives them. Their common interface is in `wrap_common`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from jaxtyping import Array

from . import wrap_cylinder, wrap_ellipsoid, wrap_sphere, wrap_torus
from .wrap_common import Arc, Touch


class Surface(NamedTuple):
    touch: Callable[[Array, Array, Array, Array, Array], Touch]
    wrap: Callable[[Array, Array, Array, Array, Array, Array], Arc]
    along: Callable[[Array, Array, Array, Array, Array], Array]


SURFACES = {
    "WrapCylinder": Surface(wrap_cylinder.touch, wrap_cylinder.wrap, wrap_cylinder.along),
    "WrapSphere": Surface(wrap_sphere.touch, wrap_sphere.wrap, wrap_sphere.along),
    "WrapEllipsoid": Surface(wrap_ellipsoid.touch, wrap_ellipsoid.wrap, wrap_ellipsoid.along),
    "WrapTorus": Surface(wrap_torus.touch, wrap_torus.wrap, wrap_torus.along),
}
