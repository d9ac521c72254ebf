"""The compiled model: a few large arrays (JAX leaves, any of which can be a parameter) and a static structure.

Layout: components first, elements last (see `geometry.spatial`). Links and bodies: see `structure.Tree`.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..geometry.piecewise import PiecewisePolynomials
from .force_values import ForceParts, ForceValues
from .muscle_kinds import MuscleKinds
from .structure import Constraints, Names, Paths, Source, Tree, Wraps


class Bodies(eqx.Module):
    mass: Float[Array, " bodies"]
    """[kg]"""
    mass_center: Float[Array, "3 bodies"]
    """in the body frame [m]"""
    inertia: Float[Array, "6 bodies"]
    """xx yy zz xy xz yz about the mass centre, in the body frame [kg m^2]"""


class Joints(eqx.Module):
    """Link k hangs on joint k; ground's entries (k = 0) are unused.

    Slot amounts are `y = slopes q + offsets + splines(q)`, rotations [rad] about and translations [m] along `axes`.
    """

    parent_rotation: Float[Array, "3 3 n"]
    parent_translation: Float[Array, "3 n"]
    child_rotation: Float[Array, "3 3 n"]
    child_translation: Float[Array, "3 n"]
    axes: Float[Array, "6 3 n"]
    slopes: Float[Array, "6n c"]
    offsets: Float[Array, " 6n"]
    splines: PiecewisePolynomials
    radii: Float[Array, "3 e"]


class Coordinates(eqx.Module):
    default: Float[Array, " c"]
    default_speed: Float[Array, " c"]
    range: Float[Array, "2 c"]


class Ties(eqx.Module):
    """Values of the constraints; which coordinates and links they tie is in `structure.Constraints`."""

    coupler_slopes: Float[Array, "d c"]
    coupler_offsets: Float[Array, " d"]
    coupler_splines: PiecewisePolynomials
    prescribed: PiecewisePolynomials
    weld_rotation: Float[Array, "2 3 3 w"]
    weld_location: Float[Array, "2 3 w"]
    point_location: Float[Array, "2 3 o"]
    distance_location: Float[Array, "2 3 x"]
    distance: Float[Array, " x"]


class PathValues(eqx.Module):
    location: Float[Array, "3 p"]
    """of fixed points in their body, of moving points' frames in theirs [m]"""
    moving_rotation: Float[Array, "3 3 v"]
    """of moving points' frames in their body"""
    moving_splines: PiecewisePolynomials
    """x, y, z of each moving point, one after the other: 3 v functions"""
    conditional_range: Float[Array, "2 k"]


class Surfaces(eqx.Module):
    """Wrapping surfaces."""

    rotation: Float[Array, "3 3 f"]
    """in the link"""
    translation: Float[Array, "3 f"]
    sizes: Float[Array, "3 f"]
    """cylinder: radius, length; sphere: radius; ellipsoid: half axes; torus: inner and outer radius [m]"""


class MuscleValues(eqx.Module):
    """One number per muscle. The last four are zero, and not used, for classes that have no such number."""

    max_isometric_force: Float[Array, " m"]
    """[N]"""
    optimal_fiber_length: Float[Array, " m"]
    """[m]"""
    tendon_slack_length: Float[Array, " m"]
    """[m]"""
    pennation_angle: Float[Array, " m"]
    """at optimal fibre length [rad]"""
    max_contraction_velocity: Float[Array, " m"]
    """[optimal fibre lengths / s]"""
    activation_time_constant: Float[Array, " m"]
    """[s]"""
    deactivation_time_constant: Float[Array, " m"]
    """[s]"""
    fiber_damping: Float[Array, " m"]
    """force at the maximum velocity, per maximum isometric force"""
    tendon_strain_at_one_norm_force: Float[Array, " m"]


class Model(eqx.Module):
    """A body ready to be computed with. Made by `load_model` or `compile_model`; saved by `save_model`."""

    gravity: Float[Array, "3"]
    bodies: Bodies
    joints: Joints
    coordinates: Coordinates
    ties: Ties
    marker_location: Float[Array, "3 markers"]
    """in the base body's frame [m]"""
    path: PathValues
    surfaces: Surfaces
    muscles: MuscleValues
    forces: ForceValues
    tree: Tree = eqx.field(static=True)
    constraints: Constraints = eqx.field(static=True)
    paths: Paths = eqx.field(static=True)
    muscle_kinds: MuscleKinds = eqx.field(static=True)
    wraps: Wraps = eqx.field(static=True)
    force_parts: ForceParts = eqx.field(static=True)
    marker_link: tuple[int, ...] = eqx.field(static=True)
    names: Names = eqx.field(static=True)
    source: Source = eqx.field(static=True)

    @property
    def body_names(self) -> tuple[str, ...]:
        return self.names.bodies

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        return self.names.coordinates

    @property
    def speed_names(self) -> tuple[str, ...]:
        """One speed per coordinate, under its name; not its rate in ball, free and ellipsoid joints."""
        return self.names.coordinates

    @property
    def muscle_names(self) -> tuple[str, ...]:
        return self.names.muscles

    @property
    def control_names(self) -> tuple[str, ...]:
        """Muscles and actuators in the order of the file: what controls are given for."""
        return self.force_parts.controls

    @property
    def marker_names(self) -> tuple[str, ...]:
        return self.names.markers

    @property
    def independent_coordinates(self) -> tuple[str, ...]:
        """Coordinates that no coupler, lock or prescribed course sets."""
        given = set(self.constraints.not_independent.tolist())
        return tuple(name for i, name in enumerate(self.names.coordinates) if i not in given)

    def default_pose(self) -> Float[Array, " c"]:
        """The file's default coordinate values; `assemble` makes them satisfy the constraints."""
        return jnp.asarray(self.coordinates.default)

    def __repr__(self) -> str:
        n = self.names
        return (
            f"Model({n.model!r}: {len(n.bodies)} bodies, {len(n.coordinates)} coordinates, {len(n.muscles)} muscles, "
            f"{len(n.markers)} markers, {len(self.constraints.row_names)} constraint equations)"
        )
