"""A right leg in space, from pelvis to foot: eleven coordinates, a knee that rolls and glides, thirteen muscles, foot contact.

For the legs of paper 001 (4.5 and 4.6): pelvis 6, hip 3, knee 1 and ankle 1 coordinates; gastrocnemius (two heads), soleus,
tibialis anterior, semimembranosus and rectus femoris, and the other large muscles that walking takes.

Axes: x forward, y up, z to the right. Positive: flexion, adduction and internal rotation of the hip, flexion of the knee,
dorsiflexion of the ankle. Standing on the ground (y = 0), all angles are zero.

Segments are those of a man of 1.75 m and 75 kg: masses, mass centres and radii of gyration after de Leva 1996, segment lengths
as fractions of height after Drillis and Contini 1966; the pelvis carries de Leva's lower trunk. The knee and the patella are the
planar leg's (`_planar_leg`), our own construction. Maximum isometric forces, fibre lengths and pennation are rounded after Ward
et al. 2009, who measured cadavers: forces are their physiological cross-sections times 50 N/cm^2. Iliopsoas (psoas, iliacus),
vasti (three) and adductors (longus, brevis, magnus) have the sum of the forces and the means of fibre lengths and pennation.
Attachments, surfaces and all else are our own; tendon slack lengths put the fibres near their optimal length at hip, knee and
ankle angles of 0.2, 0.3 and 0 rad.

The foot stands on four spheres, each in smooth Hunt-Crossley contact (Serrancoli et al. 2019) with the ground; their stiffness
makes a standing foot sink in by some millimetres.
"""

from __future__ import annotations

import math

from myograd.model.description import (
    AnyPathPoint,
    Body,
    ConditionalPathPoint,
    Constant,
    ContactGeometry,
    Coordinate,
    CoordinateLimitForce,
    Joint,
    LinearFunction,
    Marker,
    ModelDescription,
    MovingPathPoint,
    Muscle,
    PathPoint,
    PathWrap,
    SmoothSphereHalfSpaceForce,
    TransformAxis,
    Vec3,
    WrapObject,
)
from shipped import planar_leg as planar
from shipped.making import LICENCE, drawn_cylinder, joint, millard, named_axes

MASS = planar.MASS
THIGH, SHANK, ANKLE_HEIGHT, FOOT = planar.THIGH, planar.SHANK, planar.ANKLE_HEIGHT, planar.FOOT
HIP: Vec3 = (-0.05, -0.06, 0.085)  # on the pelvis, whose origin is between the anterior superior spines
PELVIS, FEMUR, TIBIA, HINDFOOT = (f"/bodyset/{name}" for name in ("pelvis", "thigh", "shank", "foot"))
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def segment(name: str, percent: float, length: float, center: float, gyration: Vec3, top: float) -> Body:
    """A segment down the y axis from `top`; `center` and `gyration` (about x, y, z) in percent of the length."""
    mass = round(percent / 100 * MASS, 4)
    xx, yy, zz = (round(mass * (r / 100 * length) ** 2, 6) for r in gyration)
    radius = round(math.sqrt(mass / (1080.0 * math.pi * length)), 4)
    drawn = drawn_cylinder(name, (0.0, round(top - length / 2, 5), 0.0), round(length, 5), radius)
    return Body(
        name, mass, (0.0, round(top - center / 100 * length, 5), 0.0), (xx, yy, zz, 0.0, 0.0, 0.0), frames=[drawn]
    )


def bodies() -> list[Body]:
    thigh = segment("thigh", 14.16, THIGH, 40.95, (32.9, 14.9, 32.9), top=0.0)
    thigh.wraps = [
        WrapObject("WrapCylinder", "condyles", (0.0, round(-THIGH, 5), 0.0), radius=0.024, length=0.12, quadrant="-x")
    ]
    shank = segment("shank", 4.33, SHANK, 43.95, (25.1, 10.2, 24.6), top=planar.CONDYLE)
    trunk = 0.1117 * MASS
    spread = (0.615, 0.587, 0.551)  # of the lower trunk's height, 0.146 m
    pelvis = Body("pelvis", round(trunk, 4), (-0.06, 0.0, 0.0))
    xx, yy, zz = (round(trunk * (r * 0.146) ** 2, 5) for r in spread)
    pelvis.inertia = (xx, yy, zz, 0.0, 0.0, 0.0)
    foot_mass = round(0.0137 * MASS, 4)
    # De Leva's longitudinal axis is the foot's, forward; his sagittal one is then vertical.
    xx, yy, zz = (round(foot_mass * (r * FOOT) ** 2, 6) for r in (0.124, 0.257, 0.245))
    ahead = round(0.4415 * FOOT - 0.066, 5)  # the heel is 66 mm behind the ankle
    foot = Body("foot", foot_mass, (ahead, -0.035, 0.005), (xx, yy, zz, 0.0, 0.0, 0.0))
    return [pelvis, thigh, shank, foot]


def hip() -> Joint:
    """Flexion about z, adduction about x, internal rotation about y, in this order."""
    names = ("hip_flexion", "hip_adduction", "hip_rotation")
    ranges = ((-0.6, 2.1), (-0.8, 0.5), (-0.7, 0.7))
    turns = [
        TransformAxis(axis, LinearFunction((1.0, 0.0)), (name,)) for axis, name in zip((Z, X, Y), names, strict=True)
    ]
    shifts = [TransformAxis(axis, Constant(0.0)) for axis in (X, Y, Z)]
    coordinates = [Coordinate(name, range=limits) for name, limits in zip(names, ranges, strict=True)]
    return joint("CustomJoint", "hip", PELVIS, FEMUR, coordinates, at=HIP, transform=named_axes(turns + shifts))


def pelvis_joint() -> Joint:
    """Tilt about z, list about x, rotation about y, after three translations."""
    turns = {"pelvis_tilt": Z, "pelvis_list": X, "pelvis_rotation": Y}
    shifts = {"pelvis_x": X, "pelvis_y": Y, "pelvis_z": Z}
    axes = [TransformAxis(axis, LinearFunction((1.0, 0.0)), (name,)) for name, axis in (turns | shifts).items()]
    height = round(THIGH + SHANK + ANKLE_HEIGHT - HIP[1], 5)
    coordinates = [Coordinate(name, range=(-1.6, 1.6)) for name in turns] + [
        Coordinate(
            name, range=(-5.0, 5.0), motion_type="translational", default_value=height if name == "pelvis_y" else 0.0
        )
        for name in shifts
    ]
    return joint("CustomJoint", "world", "/ground", PELVIS, coordinates, transform=named_axes(axes))


def joints() -> list[Joint]:
    knee = planar.knee()
    ankle_at = (0.0, round(planar.CONDYLE - SHANK, 5), 0.0)
    ankle = [Coordinate("ankle_dorsiflexion", range=(-0.9, 0.6))]
    return [pelvis_joint(), hip(), knee, joint("PinJoint", "ankle", TIBIA, HINDFOOT, ankle, at=ankle_at)]


def beside(point: AnyPathPoint, name: str, z: float) -> AnyPathPoint:
    """A point of the planar leg, to the side."""
    if isinstance(point, MovingPathPoint):
        x, y, _ = point.functions
        return MovingPathPoint(name, point.frame, (x, y, Constant(z)), point.coordinates)
    place = (point.location[0], point.location[1], z)
    if isinstance(point, ConditionalPathPoint):
        return ConditionalPathPoint(name, point.frame, place, point.coordinate, point.range)
    return PathPoint(name, point.frame, place)


def on(frame: str, *places: Vec3) -> list[tuple[str, Vec3]]:
    return [(frame, place) for place in places]


def from_hip(x: float, y: float, z: float) -> Vec3:
    """A point of the pelvis, given from the centre of the hip."""
    return (round(HIP[0] + x, 4), round(HIP[1] + y, 4), round(HIP[2] + z, 4))


PATHS: dict[str, list[tuple[str, Vec3]]] = {
    "gluteus_maximus": [
        *on(PELVIS, from_hip(-0.10, 0.07, -0.04), from_hip(-0.085, 0.0, -0.005)),
        *on(FEMUR, (-0.055, -0.045, 0.025), (-0.020, -0.12, 0.025)),
    ],
    "gluteus_medius": [*on(PELVIS, from_hip(0.0, 0.085, 0.025)), *on(FEMUR, (-0.012, -0.010, 0.060))],
    "iliopsoas": [
        *on(PELVIS, from_hip(-0.01, 0.10, -0.045), from_hip(0.036, 0.005, -0.008)),
        *on(FEMUR, (-0.005, -0.06, -0.008)),
    ],
    "adductors": [*on(PELVIS, from_hip(-0.005, -0.045, -0.060)), *on(FEMUR, (0.005, -0.19, 0.010))],
    "semimembranosus": [*on(PELVIS, from_hip(-0.058, -0.050, -0.015)), *on(TIBIA, (-0.026, -0.035, -0.020))],
    "biceps_femoris_long": [*on(PELVIS, from_hip(-0.062, -0.045, -0.010)), *on(TIBIA, (-0.026, -0.040, 0.030))],
    "biceps_femoris_short": [*on(FEMUR, (-0.005, -0.22, 0.010)), *on(TIBIA, (-0.022, -0.045, 0.032))],
    "gastrocnemius_medial": [*on(FEMUR, (-0.010, -0.405, -0.022)), *on(HINDFOOT, (-0.052, -0.030, -0.004))],
    "gastrocnemius_lateral": [*on(FEMUR, (-0.010, -0.405, 0.024)), *on(HINDFOOT, (-0.052, -0.030, 0.002))],
    "soleus": [*on(TIBIA, (-0.012, -0.12, 0.005)), *on(HINDFOOT, (-0.052, -0.033, 0.0))],
    "tibialis_anterior": [
        *on(TIBIA, (0.014, -0.13, 0.012), (0.030, -0.36, -0.006)),
        *on(HINDFOOT, (0.085, -0.030, -0.015)),
    ],
}
SURFACES = {name: f"{FEMUR}/condyles" for name in ("gastrocnemius_medial", "gastrocnemius_lateral")}

# force N, optimal fibre length m, tendon slack length m, pennation degrees
STRENGTH = {
    "gluteus_maximus": (1670.0, 0.157, 0.091, 22.0),
    "gluteus_medius": (1690.0, 0.073, 0.035, 20.5),
    "iliopsoas": (880.0, 0.112, 0.073, 12.5),
    "adductors": (1600.0, 0.119, 0.046, 9.5),
    "rectus_femoris": (680.0, 0.076, 0.408, 14.0),
    "vasti": (3620.0, 0.0985, 0.165, 17.5),
    "semimembranosus": (920.0, 0.069, 0.376, 15.0),
    "biceps_femoris_long": (570.0, 0.098, 0.359, 12.0),
    "biceps_femoris_short": (260.0, 0.110, 0.166, 12.0),
    "gastrocnemius_medial": (1060.0, 0.051, 0.432, 10.0),
    "gastrocnemius_lateral": (490.0, 0.059, 0.425, 12.0),
    "soleus": (2590.0, 0.044, 0.281, 28.0),
    "tibialis_anterior": (550.0, 0.068, 0.257, 10.0),
}


def points_of(name: str) -> list[AnyPathPoint]:
    if name in ("rectus_femoris", "vasti"):
        # Both end on the patella: OpenSim loses work of a moving point that is followed by one of the same body.
        points = [beside(p, p.name, 0.0) for p in planar.PATHS[name][: len(planar.PATHS["vasti"])]]
        if name == "rectus_femoris":  # the planar pelvis has its origin in the hip
            x, y, _ = planar.PATHS[name][0].location  # pyright: ignore[reportAttributeAccessIssue]
            points[0] = PathPoint(points[0].name, PELVIS, from_hip(x, y, 0.005))
        return points
    return [PathPoint(f"{name}-P{k}", frame, place) for k, (frame, place) in enumerate(PATHS[name], start=1)]


def muscle(name: str) -> Muscle:
    made = millard(name, points_of(name), *STRENGTH[name])
    if name in SURFACES:
        made.path.wraps = [PathWrap(SURFACES[name], f"{name}-over-condyles")]
    return made


SOLE = {"heel": (-0.045, 0.0), "ball_medial": (0.085, -0.030), "ball_lateral": (0.070, 0.035), "toe": (0.150, -0.010)}
SPHERE = 0.022  # m


def describe() -> ModelDescription:
    down = round(SPHERE - ANKLE_HEIGHT, 5)
    contacts = [ContactGeometry("ContactHalfSpace", "floor", "/ground", orientation=(0.0, 0.0, -math.pi / 2))]
    contacts += [
        ContactGeometry("ContactSphere", name, HINDFOOT, (x, down, z), radius=SPHERE) for name, (x, z) in SOLE.items()
    ]
    touch = [
        SmoothSphereHalfSpaceForce(
            f"{name}_on_floor",
            name,
            "floor",
            stiffness=1.5e7,
            dissipation=1.0,
            static_friction=0.8,
            dynamic_friction=0.7,
            viscous_friction=0.2,
            transition_velocity=0.1,
            constant_contact_force=1e-6,
        )
        for name in SOLE
    ]
    stops = [
        CoordinateLimitForce("knee_stop", "knee_flexion", 2.0, 135.0, 2.0, -4.0, 0.05, 10.0),
        CoordinateLimitForce("ankle_stop", "ankle_dorsiflexion", 2.0, 30.0, 2.0, -45.0, 0.05, 10.0),
    ]
    return ModelDescription(
        name="leg",
        credits=(
            f"{LICENCE} Segment masses, mass centres and radii of gyration: de Leva 1996; lengths: Drillis and Contini 1966. "
            "Forces, fibre lengths and pennation: rounded after Ward et al. 2009. Knee, attachments, surfaces, contact: our own."
        ),
        publications=(
            "De Leva: Adjustments to Zatsiorsky-Seluyanov's segment inertia parameters, J Biomech 29:1223-1230, 1996. Ward, Eng, "
            "Smallwood, Lieber: Are current measurements of lower extremity muscle architecture accurate? Clin Orthop Relat Res "
            "467:1074-1082, 2009. Serrancoli, Falisse, Dembia, Vantilt, Tanghe, Lefeber, Jonkers, De Schutter, De Groote: "
            "Subject-exoskeleton contact model calibration leads to accurate interaction force predictions, IEEE Trans Neural "
            "Syst Rehabil Eng 27:1597-1605, 2019."
        ),
        bodies=bodies(),
        joints=joints(),
        muscles=[muscle(name) for name in STRENGTH],
        forces=[*stops, *touch],
        contacts=contacts,
        markers=[
            Marker("asis", PELVIS, (0.0, 0.0, 0.12), fixed=True),
            Marker("sacrum", PELVIS, (-0.15, 0.02, 0.0), fixed=True),
            Marker("trochanter", FEMUR, (-0.01, -0.01, 0.09)),
            Marker("thigh_front", FEMUR, (0.07, -0.22, 0.02)),
            Marker("knee_lateral", FEMUR, (0.0, -0.429, 0.06)),
            Marker("knee_medial", FEMUR, (0.0, -0.429, -0.05)),
            Marker("shank_front", TIBIA, (0.04, -0.20, 0.02)),
            Marker("malleolus", TIBIA, (-0.01, -0.405, 0.04)),
            Marker("heel_back", HINDFOOT, (-0.066, -0.045, 0.0)),
            Marker("toe_tip", HINDFOOT, (0.18, -0.045, 0.0)),
            Marker("fifth_metatarsal", HINDFOOT, (0.07, -0.045, 0.05)),
        ],
    )
