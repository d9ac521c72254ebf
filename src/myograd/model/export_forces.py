"""Values of forces written back into a description, where a document states them as plain numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import description as d
from . import forces as f
from .compile_forces import LIMIT_SIDES, MATERIAL, applied, limit_units
from .force_values import CoordinateSprings, PathSprings, SmoothContacts
from .model import Model


def force_writers(result: d.ModelDescription, model: Model) -> dict[str, Callable[[], None]]:
    """What to do for each leaf of the model's forces that has changed, by the leaf's name."""
    values = model.forces
    limits = applied(result, f.CoordinateLimitForce)
    unit = limit_units(result, limits)
    contacts = applied(result, f.HuntCrossleyForce)
    materials = [material for contact in contacts for material in contact.contact_parameters]
    springs, bushings = applied(result, f.PointToPointSpring), applied(result, f.BushingForce)
    actuators = [*applied(result, f.CoordinateActuator), *applied(result, f.PathActuator)]
    writers: dict[str, Callable[[], None]] = {}

    def write(leaf: str, items: list[Any], attribute: str, numbers: Any) -> None:
        writers[f".forces.{leaf}"] = lambda: _set(items, attribute, np.asarray(numbers))

    def write_all(leaf: str, items: list[Any], names: Any, numbers: Any) -> None:
        for name in names:
            write(f"{leaf}.{name}", items, name, getattr(numbers, name))

    write("actuator_force", actuators, "optimal_force", values.actuator_force)
    write("limits.damping", limits, "damping", values.limits.damping * unit)
    write("limits.transition", limits, "transition", values.limits.transition / unit)
    writers[".forces.limits.limit"] = lambda: _set_sides(limits, "limit", np.asarray(values.limits.limit / unit))
    writers[".forces.limits.stiffness"] = lambda: _set_sides(
        limits, "stiffness", np.asarray(values.limits.stiffness * unit)
    )
    write_all(
        "coordinate_springs",
        applied(result, f.SpringGeneralizedForce),
        CoordinateSprings.__dataclass_fields__,
        values.coordinate_springs,
    )
    write_all("path_springs", applied(result, f.PathSpring), PathSprings.__dataclass_fields__, values.path_springs)
    write_all("ligaments", applied(result, f.Ligament), ("resting_length", "pcsa_force"), values.ligaments)
    write_all("point_springs", springs, ("stiffness", "rest_length"), values.point_springs)
    writers[".forces.point_springs.location"] = lambda: _set_points(springs, np.asarray(values.point_springs.location))
    for name in ("stiffness", "damping"):
        numbers = np.asarray(getattr(values.bushings, name))
        writers[f".forces.bushings.{name}"] = lambda name=name, numbers=numbers: _set_bushings(bushings, name, numbers)
    write_all("hunt_crossley", materials, MATERIAL, values.hunt_crossley)
    write(
        "hunt_crossley.transition_velocity", contacts, "transition_velocity", values.hunt_crossley.transition_velocity
    )
    smooth = applied(result, f.SmoothSphereHalfSpaceForce)
    write_all("smooth_contacts", smooth, SmoothContacts.__dataclass_fields__, values.smooth_contacts)
    writers[".forces.surfaces.size"] = lambda: _set_sizes(result.contacts, np.asarray(values.surfaces.size))
    return writers


def _set(items: list[Any], attribute: str, numbers: np.ndarray) -> None:
    for item, number in zip(items, numbers, strict=True):
        setattr(item, attribute, float(number))


def _set_sides(limits: list[f.CoordinateLimitForce], name: str, numbers: np.ndarray) -> None:
    for side, row in zip(LIMIT_SIDES, numbers, strict=True):
        _set(limits, f"{side}_{name}", row)


def _set_points(springs: list[f.PointToPointSpring], location: np.ndarray) -> None:
    for i, spring in enumerate(springs):
        spring.point1, spring.point2 = (_vec3(point[:, i]) for point in location)


def _set_bushings(bushings: list[f.BushingForce], name: str, numbers: np.ndarray) -> None:
    for bushing, column in zip(bushings, numbers.T, strict=True):
        setattr(bushing, f"rotational_{name}", _vec3(column[:3]))
        setattr(bushing, f"translational_{name}", _vec3(column[3:]))


def _set_sizes(contacts: list[f.ContactGeometry], size: np.ndarray) -> None:
    for contact, column in zip(contacts, size.T, strict=True):
        contact.radius, contact.radii = float(column[0]), _vec3(column)


def _vec3(numbers: np.ndarray) -> d.Vec3:
    x, y, z = map(float, numbers)
    return x, y, z
