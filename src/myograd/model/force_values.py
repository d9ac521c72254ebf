"""Forces other than muscles in compiled form: values as leaves, one module per kind; which parts they act on as structure.

Only forces that apply are here; the orders are those of the file. Everything is in SI units and radians.
"""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from ..geometry.piecewise import PiecewisePolynomials
from .structure import Hashed


class Limits(eqx.Module):
    """CoordinateLimitForces; lower limit, then upper."""

    limit: Float[Array, "2 l"]
    stiffness: Float[Array, "2 l"]
    damping: Float[Array, " l"]
    transition: Float[Array, " l"]


class CoordinateSprings(eqx.Module):
    """SpringGeneralizedForces."""

    stiffness: Float[Array, " g"]
    rest_length: Float[Array, " g"]
    viscosity: Float[Array, " g"]


class PathSprings(eqx.Module):
    resting_length: Float[Array, " s"]
    stiffness: Float[Array, " s"]
    dissipation: Float[Array, " s"]


class Ligaments(eqx.Module):
    resting_length: Float[Array, " i"]
    pcsa_force: Float[Array, " i"]
    curve: PiecewisePolynomials


class PointSprings(eqx.Module):
    """PointToPointSprings."""

    location: Float[Array, "2 3 p"]
    """in the two links"""
    stiffness: Float[Array, " p"]
    rest_length: Float[Array, " p"]


class Bushings(eqx.Module):
    rotation: Float[Array, "2 3 3 b"]
    """of the two frames in their links"""
    location: Float[Array, "2 3 b"]
    stiffness: Float[Array, "6 b"]
    """of the three angles, then of the displacement"""
    damping: Float[Array, "6 b"]


class ContactSurfaces(eqx.Module):
    rotation: Float[Array, "3 3 f"]
    """in the link"""
    location: Float[Array, "3 f"]
    size: Float[Array, "3 f"]
    """ellipsoid: half axes; sphere: radius, three times"""


class HuntCrossley(eqx.Module):
    """Materials of surfaces in HuntCrossleyForces; `k` sets of parameters, `h` forces."""

    stiffness: Float[Array, " k"]
    dissipation: Float[Array, " k"]
    static_friction: Float[Array, " k"]
    dynamic_friction: Float[Array, " k"]
    viscous_friction: Float[Array, " k"]
    transition_velocity: Float[Array, " h"]


class SmoothContacts(eqx.Module):
    """SmoothSphereHalfSpaceForces."""

    stiffness: Float[Array, " z"]
    dissipation: Float[Array, " z"]
    static_friction: Float[Array, " z"]
    dynamic_friction: Float[Array, " z"]
    viscous_friction: Float[Array, " z"]
    transition_velocity: Float[Array, " z"]
    constant_contact_force: Float[Array, " z"]
    hertz_smoothing: Float[Array, " z"]
    hunt_crossley_smoothing: Float[Array, " z"]


class ForceValues(eqx.Module):
    actuator_force: Float[Array, " a"]
    """force at full control: of coordinate actuators, then of path actuators [N m, N]"""
    limits: Limits
    coordinate_springs: CoordinateSprings
    path_springs: PathSprings
    ligaments: Ligaments
    point_springs: PointSprings
    bushings: Bushings
    surfaces: ContactSurfaces
    hunt_crossley: HuntCrossley
    smooth_contacts: SmoothContacts


@dataclass(eq=False, frozen=True, repr=False)
class ForceParts(Hashed):
    """What each force acts on. Paths are counted as in `names.paths`, surfaces as in `ForceValues.surfaces`."""

    controls: tuple[str, ...]  # muscles and actuators in the file's order: what controls are given for
    muscle_control: np.ndarray  # [m] control of each muscle
    muscle_on: np.ndarray  # [m] bool: its force is applied
    actuator_control: np.ndarray  # [a] control of each actuator
    actuated_coordinate: np.ndarray  # of the first actuators
    actuated_path: np.ndarray  # of the others
    limited: np.ndarray  # [l] coordinates
    sprung: np.ndarray  # [g] coordinates
    spring_path: np.ndarray  # [s]
    ligament_path: np.ndarray  # [i]
    spring_link: np.ndarray  # [p, 2]
    bushing_link: np.ndarray  # [b, 2]
    surface_link: np.ndarray  # [f]
    pairs: tuple[tuple[str, str], ...]  # [n] classes of two surfaces that may touch by Hunt and Crossley's law
    pair_surface: np.ndarray  # [n, 2] sorted by `pairs`
    pair_material: np.ndarray  # [n, 2] of each
    pair_force: np.ndarray  # [n]
    smooth_surface: np.ndarray  # [z, 2] sphere and half space
