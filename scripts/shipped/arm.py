"""The right arm of paper 000: shoulder girdle, upper arm, forearm; five independent coordinates and eleven that follow them;
eleven superficial and five deep muscles.

Axes: x forward, y up, z to the right; with all coordinates zero the arm hangs, thumb forward, and all frames are aligned. The
thorax is fixed, its origin at the notch of the sternum.

Shoulder. `elevation_plane` is 0 for abduction and a right angle for flexion, `elevation` the angle of the humerus from the
hanging arm, `axial_rotation` positive inwards; all relative to the thorax, as in clinical use. Clavicle (2 angles) and
scapula (3) follow the elevation in proportion, by the slopes that Ludewig et al. 2009 report for a raise of 120°: clavicle
retraction 16° and elevation 6°; scapula upward rotation 39°, posterior tilt 21°, internal rotation 2°, of which the clavicle's
are taken off here. Because the humerus hangs on the scapula but its angles are the thorax's, five more coordinates turn the
girdle's angles back at the glenohumeral centre, and the eleventh turns the plane of elevation back. The four bodies between
carry no mass; each has an inertia of 1e-4 kg m^2, a thousandth of the arm's, so that the mass matrix of all sixteen coordinates
is regular.

Elbow: a hinge along z, and pronation (positive) about the line from the capitulum to the head of the ulna. The wrist is stiff.

Segments are those of a man of 1.75 m and 75 kg: masses, mass centres, radii of gyration and lengths after de Leva 1996; clavicle
and scapula have 0.15 and 0.65 kg (our estimate). Maximum isometric forces, optimal fibre lengths and pennation are rounded after
Holzbaur, Murray, Delp 2005 (who took them from Langenderfer et al. 2004, Murray et al. 2000 and others). Attachments, via
points and surfaces are our own; tendon slack lengths put the fibres at 0.95 to 1.05 of their optimal length in the middle of
the range (elevation 0.8, its plane 0.6, elbow 1.2 rad). Biceps, infraspinatus and subscapularis insert where they have the
moment arms that Murray, Buchanan, Delp 2000 and Ackland, Pandy 2011 measured (docs/bodies.md).
"""

from __future__ import annotations

import math

from myograd.model.description import (
    AnyPathPoint,
    Body,
    Constant,
    Coordinate,
    CoordinateCoupler,
    Joint,
    LinearFunction,
    Marker,
    ModelDescription,
    Muscle,
    PathPoint,
    PathWrap,
    TransformAxis,
    Vec3,
    WrapObject,
)
from shipped.making import LICENCE, drawn_cylinder, joint, millard, named_axes

MASS = 75.0
UPPER_ARM, FOREARM, HAND = 0.2817, 0.2689, 0.0862  # m, de Leva 1996 (men, joint centre to joint centre)
STERNOCLAVICULAR: Vec3 = (-0.005, 0.005, 0.025)  # on the thorax
ACROMIOCLAVICULAR: Vec3 = (-0.048, 0.020, 0.142)  # on the clavicle, whose origin is at the sternum
GLENOHUMERAL: Vec3 = (0.005, -0.042, 0.014)  # on the scapula, whose origin is at the acromioclavicular joint
CAPITULUM: Vec3 = (0.0, 0.0, 0.012)  # on the ulna, whose origin is the middle of the elbow
ULNAR_HEAD: Vec3 = (0.0, -0.26, -0.018)
THORAX, CLAVICLE, SCAPULA, HUMERUS, ULNA, RADIUS = (
    f"/bodyset/{name}" for name in ("thorax", "clavicle", "scapula", "humerus", "ulna", "radius")
)
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
BACK = (-1.0, 0.0, 0.0)  # turning about it lifts what points to the right
RAISE = 120.0  # degrees of elevation that the slopes below are for
FOLLOW = {  # coordinate: slope per elevation; the rest of each name says what turns
    "clavicle_protraction": -16.0 / RAISE,
    "clavicle_elevation": 6.0 / RAISE,
    "scapula_internal_rotation": (2.0 + 16.0) / RAISE,
    "scapula_upward_rotation": (39.0 - 6.0) / RAISE,
    "scapula_posterior_tilt": 21.0 / RAISE,
}
PHANTOM = 1e-4  # kg m^2


def segment(name: str, percent: float, length: float, center: float, gyration: Vec3) -> Body:
    """A segment down the y axis; `center` and `gyration` (about x, y, z) in percent of the length."""
    mass = round(percent / 100 * MASS, 4)
    xx, yy, zz = (round(mass * (r / 100 * length) ** 2, 6) for r in gyration)
    middle = (0.0, round(-center / 100 * length, 5), 0.0)
    radius = round(math.sqrt(mass / (1080.0 * math.pi * length)), 4)
    drawn = drawn_cylinder(name, (0.0, round(-length / 2, 5), 0.0), round(length, 5), radius)
    return Body(name, mass, middle, (xx, yy, zz, 0.0, 0.0, 0.0), frames=[drawn])


def bodies() -> list[Body]:
    """The forearm's mass is shared by ulna and radius; the hand is part of the radius."""
    upper = segment("humerus", 2.71, UPPER_ARM, 57.72, (28.5, 15.8, 26.9))
    upper.wraps = [
        WrapObject("WrapSphere", "head", radius=0.025),
        WrapObject("WrapCylinder", "trochlea_back", (0.0, -UPPER_ARM, 0.0), radius=0.018, length=0.08, quadrant="-x"),
        WrapObject("WrapCylinder", "trochlea_front", (0.0, -UPPER_ARM, 0.0), radius=0.013, length=0.08, quadrant="x"),
    ]
    scapula = Body("scapula", 0.65, (-0.06, -0.07, -0.05), (8e-4, 8e-4, 8e-4, 0.0, 0.0, 0.0))
    scapula.wraps = [
        WrapObject("WrapSphere", "shoulder_cap", GLENOHUMERAL, radius=0.034),
        # The clavicle comes near the joint as the arm is raised; the origin of DELT1 has to stay outside.
        WrapObject("WrapSphere", "shoulder_front", GLENOHUMERAL, radius=0.027),
    ]
    lower = segment("ulna", 1.62 / 2, FOREARM, 45.74, (27.6, 12.1, 26.5))
    radius = _radius(segment("radius", 1.62 / 2, FOREARM, 45.74, (27.6, 12.1, 26.5)))
    clavicle_middle = tuple(round(x / 2, 5) for x in ACROMIOCLAVICULAR)
    phantoms = [
        Body(name, 0.0, inertia=(PHANTOM, PHANTOM, PHANTOM, 0.0, 0.0, 0.0))
        for name in ("unturned_scapula", "unturned_clavicle", "plane", "raised")
    ]
    for phantom in phantoms:
        phantom.mass = 1e-6  # OpenSim gives a body without mass no inertia either
    return [
        Body("thorax"),
        Body("clavicle", 0.15, clavicle_middle, (2.5e-4, 5e-5, 2.5e-4, 0.0, 0.0, 0.0)),  # pyright: ignore[reportArgumentType]
        scapula,
        *phantoms,
        upper,
        lower,
        radius,
    ]


def _radius(forearm: Body) -> Body:
    """Half a forearm and a hand, as one body whose origin is the capitulum's level."""
    hand = segment("hand", 0.61, HAND, 79.0, (62.8, 40.1, 51.3))
    top = -FOREARM
    mass = round(forearm.mass + hand.mass, 4)
    heights = forearm.mass_center[1], top + hand.mass_center[1]
    center = round((forearm.mass * heights[0] + hand.mass * heights[1]) / mass, 5)
    shift = sum(part.mass * (y - center) ** 2 for part, y in zip((forearm, hand), heights, strict=True))
    xx, yy, zz = (round(a + b, 6) for a, b in zip(forearm.inertia[:3], hand.inertia[:3], strict=True))
    inertia = (round(xx + shift, 6), yy, round(zz + shift, 6), 0.0, 0.0, 0.0)
    return Body("radius", mass, (0.0, center, 0.0), inertia, frames=forearm.frames)


def custom(name: str, parent: str, child: str, at: Vec3, turns: list[tuple[Vec3, str]], ranges: dict) -> Joint:
    """Up to three turns about axes, each with a coordinate of its own."""
    axes = [TransformAxis(axis, LinearFunction((1.0, 0.0)), (coordinate,)) for axis, coordinate in turns]
    free = [axis for axis in (X, Y, Z) if all(abs(_dot(axis, used.axis)) < 0.5 for used in axes)]
    axes += [TransformAxis(axis, Constant(0.0)) for axis in free[: 3 - len(axes)]]
    shifts = [TransformAxis(axis, Constant(0.0)) for axis in (X, Y, Z)]
    coordinates = [Coordinate(coordinate, range=ranges.get(coordinate, (-math.pi, math.pi))) for _, coordinate in turns]
    return joint("CustomJoint", name, parent, child, coordinates, at=at, transform=named_axes(axes + shifts))


def _dot(a: Vec3, b: Vec3) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


RANGES = {
    "elevation_plane": (-1.0, 2.2),
    "elevation": (0.0, 2.6),
    "axial_rotation": (-1.4, 1.4),
    "elbow_flexion": (0.0, 2.4),
    "pronation": (-1.4, 1.4),
}


def joints() -> list[Joint]:
    tilt, up, inward = "scapula_posterior_tilt", "scapula_upward_rotation", "scapula_internal_rotation"
    lift, forward = "clavicle_elevation", "clavicle_protraction"
    down = tuple(h - c for h, c in zip(ULNAR_HEAD, CAPITULUM, strict=True))
    size = math.sqrt(_dot(down, down))  # pyright: ignore[reportArgumentType]
    along = tuple(round(-x / size, 6) for x in down)  # upwards
    return [
        joint("WeldJoint", "spine", "/ground", THORAX, [], at=(0.0, 1.4, 0.0)),
        custom("sternoclavicular", THORAX, CLAVICLE, STERNOCLAVICULAR, [(Y, forward), (BACK, lift)], RANGES),
        custom("acromioclavicular", CLAVICLE, SCAPULA, ACROMIOCLAVICULAR, [(Y, inward), (BACK, up), (Z, tilt)], RANGES),
        custom(
            "unturn_scapula",
            SCAPULA,
            "/bodyset/unturned_scapula",
            GLENOHUMERAL,
            [(Z, f"minus_{tilt}"), (BACK, f"minus_{up}"), (Y, f"minus_{inward}")],
            RANGES,
        ),
        custom(
            "unturn_clavicle",
            "/bodyset/unturned_scapula",
            "/bodyset/unturned_clavicle",
            (0.0, 0.0, 0.0),
            [(BACK, f"minus_{lift}"), (Y, f"minus_{forward}")],
            RANGES,
        ),
        custom(
            "turn_plane",
            "/bodyset/unturned_clavicle",
            "/bodyset/plane",
            (0.0, 0.0, 0.0),
            [(Y, "elevation_plane")],
            RANGES,
        ),
        custom(
            "raise",
            "/bodyset/plane",
            "/bodyset/raised",
            (0.0, 0.0, 0.0),
            [(BACK, "elevation"), (Y, "minus_elevation_plane")],
            RANGES,
        ),
        custom("rotate", "/bodyset/raised", HUMERUS, (0.0, 0.0, 0.0), [(Y, "axial_rotation")], RANGES),
        custom("elbow", HUMERUS, ULNA, (0.0, -UPPER_ARM, 0.0), [(Z, "elbow_flexion")], RANGES),
        custom("radioulnar", ULNA, RADIUS, CAPITULUM, [(along, "pronation")], RANGES),  # pyright: ignore[reportArgumentType]
    ]


def couplers() -> list[CoordinateCoupler]:
    slopes = FOLLOW | {f"minus_{name}": -slope for name, slope in FOLLOW.items()}
    found = [
        CoordinateCoupler(f"{name}_follows", name, ("elevation",), LinearFunction((round(slope, 6), 0.0)))
        for name, slope in slopes.items()
    ]
    back = CoordinateCoupler(
        "minus_elevation_plane_follows", "minus_elevation_plane", ("elevation_plane",), LinearFunction((-1.0, 0.0))
    )
    return [*found, back]


PATHS: dict[str, list[tuple[str, Vec3]]] = {
    "PECM1": [(CLAVICLE, (0.002, 0.004, 0.068)), (HUMERUS, (0.012, -0.060, 0.004))],
    "PECM2": [(THORAX, (0.020, -0.055, 0.018)), (THORAX, (0.030, -0.062, 0.085)), (HUMERUS, (0.012, -0.050, 0.004))],
    "PECM3": [(THORAX, (0.038, -0.145, 0.032)), (THORAX, (0.028, -0.110, 0.105)), (HUMERUS, (0.012, -0.045, 0.004))],
    "DELT1": [(CLAVICLE, (-0.024, 0.019, 0.142)), (HUMERUS, (0.008, -0.125, 0.014))],
    "DELT2": [(SCAPULA, (-0.004, -0.004, 0.036)), (HUMERUS, (0.003, -0.130, 0.014))],
    "DELT3": [(SCAPULA, (-0.055, -0.006, -0.028)), (HUMERUS, (-0.002, -0.122, 0.012))],
    "BIClong": [
        (SCAPULA, (0.005, -0.016, 0.006)),
        (HUMERUS, (0.025, -0.010, 0.008)),
        (HUMERUS, (0.020, -0.190, 0.002)),
        (RADIUS, (0.002, -0.047, -0.016)),
    ],
    "BICshort": [
        (SCAPULA, (0.034, -0.030, -0.018)),
        (HUMERUS, (0.022, -0.190, -0.004)),
        (RADIUS, (0.002, -0.047, -0.016)),
    ],
    "TRIlong": [
        (SCAPULA, (-0.006, -0.070, 0.000)),
        (HUMERUS, (-0.020, -0.110, -0.004)),
        (HUMERUS, (-0.020, -0.230, 0.0)),
        (ULNA, (-0.021, 0.004, 0.0)),
    ],
    "TRIlat": [(HUMERUS, (-0.010, -0.095, 0.010)), (HUMERUS, (-0.020, -0.225, 0.004)), (ULNA, (-0.021, 0.004, 0.002))],
    "BRD": [(HUMERUS, (0.006, -0.205, 0.016)), (RADIUS, (0.014, -0.235, 0.004))],
    "INFSP": [(SCAPULA, (-0.080, -0.072, -0.055)), (HUMERUS, (-0.014, 0.012, 0.021))],
    "SUBSC": [
        (SCAPULA, (-0.062, -0.072, -0.055)),
        (SCAPULA, (0.022, -0.044, -0.010)),
        (HUMERUS, (0.025, 0.004, 0.009)),
    ],
    "TRImed": [
        (HUMERUS, (-0.012, -0.150, -0.004)),
        (HUMERUS, (-0.020, -0.235, -0.003)),
        (ULNA, (-0.021, 0.004, -0.002)),
    ],
    "BRA": [(HUMERUS, (0.014, -0.180, 0.002)), (ULNA, (0.010, -0.026, 0.0))],
    "PQ": [(ULNA, (0.010, -0.215, -0.016)), (RADIUS, (0.010, -0.215, 0.012))],
}
CAP, FRONT, HEAD = f"{SCAPULA}/shoulder_cap", f"{SCAPULA}/shoulder_front", f"{HUMERUS}/head"
BACK_OF_ELBOW, FRONT_OF_ELBOW = f"{HUMERUS}/trochlea_back", f"{HUMERUS}/trochlea_front"
WRAPS: dict[str, list[tuple[str, tuple[int, int]]]] = {  # surfaces, and the path points between which they are
    "DELT1": [(FRONT, (1, 2))],
    **{name: [(CAP, (1, 2))] for name in ("DELT2", "DELT3")},
    "INFSP": [(HEAD, (1, 2))],
    "BIClong": [(HEAD, (1, 2)), (FRONT_OF_ELBOW, (3, 4))],
    "BICshort": [(FRONT_OF_ELBOW, (2, 3))],
    "TRIlong": [(BACK_OF_ELBOW, (3, 4))],
    "TRIlat": [(BACK_OF_ELBOW, (2, 3))],
    "TRImed": [(BACK_OF_ELBOW, (2, 3))],
    "BRA": [(FRONT_OF_ELBOW, (1, 2))],
}

# force N, optimal fibre length m, tendon slack length m, pennation degrees; all but the third rounded after Holzbaur et al.
STRENGTH = {
    "PECM1": (360.0, 0.144, 0.009, 17.0),
    "PECM2": (520.0, 0.139, 0.096, 26.0),
    "PECM3": (390.0, 0.139, 0.109, 25.0),
    "DELT1": (1140.0, 0.098, 0.073, 22.0),
    "DELT2": (1140.0, 0.108, 0.058, 15.0),
    "DELT3": (260.0, 0.137, 0.072, 18.0),
    "BIClong": (620.0, 0.116, 0.214, 0.0),
    "BICshort": (440.0, 0.132, 0.182, 0.0),
    "TRIlong": (800.0, 0.134, 0.163, 12.0),
    "TRIlat": (620.0, 0.114, 0.100, 9.0),
    "BRD": (260.0, 0.173, 0.086, 0.0),
    "INFSP": (1210.0, 0.076, 0.048, 19.0),
    "SUBSC": (1380.0, 0.087, 0.057, 20.0),
    "TRImed": (620.0, 0.114, 0.045, 9.0),
    "BRA": (990.0, 0.086, 0.021, 0.0),
    "PQ": (76.0, 0.028, 0.014, 10.0),
}
SUPERFICIAL = tuple(PATHS)[:11]
DEEP = tuple(PATHS)[11:]


def muscle(name: str) -> Muscle:
    points: list[AnyPathPoint] = [
        PathPoint(f"{name}-P{k}", frame, place) for k, (frame, place) in enumerate(PATHS[name], start=1)
    ]
    force, fiber, slack, pennation = STRENGTH[name]
    made = millard(name, points, force, fiber, slack, pennation)
    made.path.wraps = [
        PathWrap(surface, f"{name}-over-{surface.rpartition('/')[2]}", range=where)
        for surface, where in WRAPS.get(name, [])
    ]
    return made


def describe() -> ModelDescription:
    return ModelDescription(
        name="arm",
        credits=(
            f"{LICENCE} Segments: de Leva 1996. Shoulder girdle: Ludewig et al. 2009. Forces, fibre lengths and pennation: "
            "rounded after Holzbaur et al. 2005. Attachments, surfaces, tendon slack lengths and all else: our own."
        ),
        publications=(
            "De Leva: Adjustments to Zatsiorsky-Seluyanov's segment inertia parameters, J Biomech 29:1223-1230, 1996. Ludewig, "
            "Phadke, Braman, Hassett, Cieminski, LaPrade: Motion of the shoulder complex during multiplanar humeral elevation, "
            "J Bone Joint Surg Am 91:378-389, 2009. Holzbaur, Murray, Delp: A model of the upper extremity for simulating "
            "musculoskeletal surgery and analyzing neuromuscular control, Ann Biomed Eng 33:829-840, 2005."
        ),
        bodies=bodies(),
        joints=joints(),
        constraints=list(couplers()),
        muscles=[muscle(name) for name in PATHS],
        markers=[
            Marker("sternum", THORAX, (0.02, -0.02, 0.0), fixed=True),
            Marker("acromion", SCAPULA, (-0.01, 0.015, 0.015)),
            Marker("elbow_lateral", HUMERUS, (0.0, -UPPER_ARM, 0.035)),
            Marker("elbow_medial", HUMERUS, (0.0, -UPPER_ARM, -0.035)),
            Marker("wrist_radial", RADIUS, (0.025, -FOREARM, 0.0)),
            Marker("wrist_ulnar", RADIUS, (-0.025, -FOREARM, 0.0)),
            Marker("knuckle", RADIUS, (0.0, round(-FOREARM - HAND, 4), 0.0)),
        ],
    )
