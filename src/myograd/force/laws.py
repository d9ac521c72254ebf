"""Every class of force that a model may have, in the order in which a model keeps them."""

from __future__ import annotations

from .bushing import Bushings
from .coordinate_actuator import CoordinateActuators
from .coordinate_limit import CoordinateLimits
from .coordinate_spring import CoordinateSprings
from .hunt_crossley import HuntCrossley
from .ligament import Ligaments
from .path_actuator import PathActuators
from .path_spring import PathSprings
from .point_spring import PointSprings
from .smooth_contact import SmoothContacts
from .term import Law

LAWS: tuple[type[Law], ...] = (
    CoordinateActuators,
    PathActuators,
    CoordinateLimits,
    CoordinateSprings,
    PathSprings,
    Ligaments,
    PointSprings,
    Bushings,
    HuntCrossley,
    SmoothContacts,
)
