"""Forces other than muscles made into arrays."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any, TypeVar

import jax.numpy as jnp
import numpy as np

from ..errors import ModelError, nearest
from ..geometry.spatial import rotation_xyz
from . import description as d
from . import forces as f
from .compile_constraints import find
from .force_values import (
    Bushings,
    ContactSurfaces,
    CoordinateSprings,
    ForceParts,
    ForceValues,
    HuntCrossley,
    Ligaments,
    Limits,
    PathSprings,
    PointSprings,
    SmoothContacts,
)
from .frames import Frames
from .functions import pieces, table

Kind = TypeVar("Kind")
SHAPES = ("ContactHalfSpace", "ContactSphere", "ContactEllipsoid")  # the first of a pair is the first of these
MATERIAL = ("stiffness", "dissipation", "static_friction", "dynamic_friction", "viscous_friction")
LIMIT_SIDES = ("lower", "upper")


def applied(description: d.ModelDescription, kind: type[Kind]) -> list[Kind]:
    """The forces of one class that the file has switched on."""
    return [force for force in description.forces if isinstance(force, kind) and force.applies_force]


def compile_forces(
    description: d.ModelDescription, frames: Frames, index: dict[str, int]
) -> tuple[ForceValues, ForceParts]:
    def on_coordinates(forces: list[Any]) -> np.ndarray:
        return np.array([find(index, x.coordinate, f"{type(x).__name__} {x.name!r}") for x in forces], int)

    path_of = {id(owner): i for i, owner in enumerate(description.paths())}

    def on_paths(forces: list[Any]) -> np.ndarray:
        return np.array([path_of[id(x)] for x in forces], int)

    def column(forces: list[Any], name: str) -> Any:
        return jnp.array([getattr(x, name) for x in forces], float)

    rotators, pullers = applied(description, f.CoordinateActuator), applied(description, f.PathActuator)
    actuators = [*rotators, *pullers]
    order = f.in_file_order(
        description.muscles,
        [x for x in description.forces if isinstance(x, f.CoordinateActuator | f.PathActuator)],
    )
    controls = tuple(x.name for x in order)
    limits, springs = applied(description, f.CoordinateLimitForce), applied(description, f.SpringGeneralizedForce)
    path_springs, ligaments = applied(description, f.PathSpring), applied(description, f.Ligament)
    point_springs, bushings = applied(description, f.PointToPointSpring), applied(description, f.BushingForce)
    contacts, smooth = applied(description, f.HuntCrossleyForce), applied(description, f.SmoothSphereHalfSpaceForce)
    for x in smooth:  # whose slip is sqrt(v_t^2 + it), and its derivative at rest one over the root of it
        if not x.constant_contact_force > 0:
            raise ModelError(
                f"SmoothSphereHalfSpaceForce {x.name!r}: constant_contact_force is {x.constant_contact_force:g}; it must be "
                "above 0"
            )
    surfaces, surface_link = _surfaces(description, frames)
    materials = [material for contact in contacts for material in contact.contact_parameters]
    pairs = _pairs(description, contacts)
    spring_places = [
        [(frames.on_link(path)[0], point) for path, point in ((x.frame1, x.point1), (x.frame2, x.point2))]
        for x in point_springs
    ]
    bushing_places = [[frames.on_link(path) for path in (x.frame1, x.frame2)] for x in bushings]
    values = ForceValues(
        actuator_force=column(actuators, "optimal_force"),
        limits=_limits(description, limits),
        coordinate_springs=CoordinateSprings(
            *(column(springs, name) for name in ("stiffness", "rest_length", "viscosity"))
        ),
        path_springs=PathSprings(
            *(column(path_springs, name) for name in ("resting_length", "stiffness", "dissipation"))
        ),
        ligaments=Ligaments(
            *(column(ligaments, name) for name in ("resting_length", "pcsa_force")),
            curve=table([pieces(x.force_length_curve, f"Ligament {x.name!r}") for x in ligaments]),
        ),
        point_springs=PointSprings(
            _last([[point for _, point in both] for both in spring_places], (2, 3)),
            column(point_springs, "stiffness"),
            column(point_springs, "rest_length"),
        ),
        bushings=Bushings(
            _last([[R for _, R, _ in both] for both in bushing_places], (2, 3, 3)),
            _last([[p for _, _, p in both] for both in bushing_places], (2, 3)),
            _last([(*x.rotational_stiffness, *x.translational_stiffness) for x in bushings], (6,)),
            _last([(*x.rotational_damping, *x.translational_damping) for x in bushings], (6,)),
        ),
        surfaces=surfaces,
        hunt_crossley=HuntCrossley(
            *(column(materials, name) for name in MATERIAL),
            transition_velocity=column(contacts, "transition_velocity"),
        ),
        smooth_contacts=SmoothContacts(*(column(smooth, name) for name in SmoothContacts.__dataclass_fields__)),
    )
    parts = ForceParts(
        controls=controls,
        muscle_control=np.array([controls.index(x.name) for x in description.muscles], int),
        muscle_on=np.array([x.applies_force for x in description.muscles], bool),
        actuator_control=np.array([controls.index(x.name) for x in actuators], int),
        actuated_coordinate=on_coordinates(rotators),
        actuated_path=on_paths(pullers),
        limited=on_coordinates(limits),
        sprung=on_coordinates(springs),
        spring_path=on_paths(path_springs),
        ligament_path=on_paths(ligaments),
        spring_link=np.array([[link for link, _ in both] for both in spring_places], int).reshape(-1, 2),
        bushing_link=np.array([[link for link, _, _ in both] for both in bushing_places], int).reshape(-1, 2),
        surface_link=surface_link,
        pairs=tuple(kinds for kinds, _, _, _ in pairs),
        pair_surface=np.array([surface for _, surface, _, _ in pairs], int).reshape(-1, 2),
        pair_material=np.array([material for _, _, material, _ in pairs], int).reshape(-1, 2),
        pair_force=np.array([force for _, _, _, force in pairs], int),
        smooth_surface=np.array(
            [[_surface(description, x.name, name) for name in (x.sphere, x.half_space)] for x in smooth], int
        ).reshape(-1, 2),
    )
    return values, parts


def _last(rows: list[Any], shape: tuple[int, ...]) -> Any:
    """`[*shape, n]` from n rows."""
    return jnp.asarray(np.moveaxis(np.array(rows, float).reshape(-1, *shape), 0, -1))


def limit_units(description: d.ModelDescription, limits: list[f.CoordinateLimitForce]) -> np.ndarray:
    """What one unit of each limit force's file is: a degree for rotations [rad], else 1."""
    rotations = {c.name for c in description.coordinates() if c.motion_type == "rotational"}
    return np.array([math.pi / 180 if x.coordinate in rotations else 1.0 for x in limits])


def _limits(description: d.ModelDescription, limits: list[f.CoordinateLimitForce]) -> Limits:
    unit = limit_units(description, limits)
    limit, stiffness = (
        np.array([[getattr(x, f"{side}_{name}") for x in limits] for side in LIMIT_SIDES], float).reshape(2, -1)
        for name in ("limit", "stiffness")
    )
    damping, transition = (np.array([getattr(x, name) for x in limits], float) for name in ("damping", "transition"))
    return Limits(*map(jnp.asarray, (limit * unit, stiffness / unit, damping / unit, transition * unit)))


def _surfaces(description: d.ModelDescription, frames: Frames) -> tuple[ContactSurfaces, np.ndarray]:
    links, rotations, locations, sizes = [], [], [], []
    for contact in description.contacts:
        link, rotation, origin = frames.on_link(contact.frame)
        links.append(link)
        rotations.append(rotation @ rotation_xyz(np.array(contact.orientation)))
        locations.append(rotation @ np.array(contact.location) + origin)
        sizes.append(contact.radii if contact.kind == "ContactEllipsoid" else (contact.radius,) * 3)
    return ContactSurfaces(_last(rotations, (3, 3)), _last(locations, (3,)), _last(sizes, (3,))), np.array(links, int)


def _surface(description: d.ModelDescription, force: str, name: str) -> int:
    names = [contact.name for contact in description.contacts]
    if name not in names:
        raise ModelError(f"force {force!r} touches {name!r}, which is no contact geometry{nearest(name, names)}")
    return names.index(name)


Pair = tuple[tuple[str, str], tuple[int, int], tuple[int, int], int]  # classes, surfaces, materials, force


def _pairs(description: d.ModelDescription, contacts: list[f.HuntCrossleyForce]) -> list[Pair]:
    """Every two surfaces of a force that can touch, sorted by class. Two half spaces, or two surfaces of one frame, cannot."""
    found: list[Pair] = []
    first = 0
    for h, contact in enumerate(contacts):
        members = [
            (_surface(description, contact.name, name), first + k)
            for k, material in enumerate(contact.contact_parameters)
            for name in material.geometry
        ]
        first += len(contact.contact_parameters)
        for pair in combinations(members, 2):
            kind = {member: description.contacts[member[0]].kind for member in pair}
            (a, material_a), (b, material_b) = one, other = sorted(pair, key=lambda member: SHAPES.index(kind[member]))
            classes = kind[one], kind[other]
            if classes == (SHAPES[0], SHAPES[0]) or description.contacts[a].frame == description.contacts[b].frame:
                continue
            if SHAPES[2] in classes and classes[0] != SHAPES[0]:
                raise ModelError(
                    f"HuntCrossleyForce {contact.name!r}: contact between a {classes[0]} and a {classes[1]} is not computed"
                )
            found.append((classes, (a, b), (material_a, material_b), h))
    return sorted(found, key=lambda pair: pair[0])
