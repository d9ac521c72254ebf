"""One leg in the sagittal plane: hip and ankle are pins, the knee rolls and glides; nine muscles, none of which wraps.

Axes: x forward, y up, z to the right. Positive angles are hip flexion, knee flexion and ankle dorsiflexion. The pelvis
is fixed.

Segments are those of an adult of 1.75 m and 75 kg: lengths as fractions of body height (Drillis and Contini 1966),
masses, mass centres and radii of gyration as fractions of body mass and segment length (Winter, Biomechanics and Motor
Control of Human Movement, Table 4.1, after Dempster). The moment of inertia about the long axis is that of a uniform
cylinder of Dempster's density.

The knee is our own construction: a round condyle whose radius shrinks with flexion stands on a flat plateau and moves
backwards on it, as femora do. The patella hangs on a ligament that leans forwards in extension and less so in flexion.
Both become splines over the knee angle.

Muscle attachments are our own, chosen for moment arms of the usual size; conditional points switch where the straight
path would go through them, so lengths are (nearly) continuous. The vasti end on the moving patella; the rectus femoris
goes on to the tibial tuberosity, so that its moving point has a neighbour on the same body, the case in which OpenSim's
moment arm misses some of the point's work. Optimal fibre lengths and forces are rounded after Ward et al. 2009
(physiological cross-sections times 50 N/cm^2); tendon slack lengths put fibres at their optimal length when hip, knee
and ankle are at 0.2, 0.3 and 0 rad.
"""

from __future__ import annotations

from math import cos, hypot, pi, sin, sqrt

from myograd.model.description import (
    AnyPathPoint,
    Body,
    ConditionalPathPoint,
    Constant,
    Coordinate,
    Joint,
    LinearFunction,
    Marker,
    ModelDescription,
    MovingPathPoint,
    PathPoint,
    SimmSpline,
)
from shipped.making import LICENCE, drawn_cylinder, joint, millard, turn_and_shift

HEIGHT, MASS = 1.75, 75.0
THIGH = 0.245 * HEIGHT  # hip to knee centre
SHANK = 0.246 * HEIGHT  # knee centre to ankle
ANKLE_HEIGHT = 0.039 * HEIGHT
FOOT = 0.152 * HEIGHT  # heel to toe
PELVIS_FRAME, FEMUR, TIBIA, HINDFOOT = "/bodyset/pelvis", "/bodyset/thigh", "/bodyset/shank", "/bodyset/foot"

KNEE_RANGE = (-0.1, 2.4)
KNEE_ANGLES = tuple(round(-0.2 + 0.3 * k, 1) for k in range(10))  # -0.2 ... 2.5 rad
CONDYLE = 0.026  # radius of the condyle in extension, which is the height of the knee centre above the plateau
TUBEROSITY = (0.035, -0.045)  # of the shank, where the patellar ligament ends
# Where the quadriceps tendon bends over the femur: points of the thigh on an arc of 37 mm about the knee centre, each
# with the knee angle from which the tendon touches it, which is where a straight tendon would go through it.
TROCHLEA = ((0.037, -0.4288, 0.59), (0.0262, -0.4549, 1.09), (0.0032, -0.4656, 1.83))


def segment(
    name: str, fraction: float, length: float, center: float, gyration: float, density: float, top: float
) -> Body:
    """A segment down the y axis from `top`; `center` and `gyration` in lengths, `density` in kg/m^3."""
    mass = round(fraction * MASS, 4)
    across = round(mass * (gyration * length) ** 2, 5)
    radius = round(sqrt(mass / (density * pi * length)), 4)
    return Body(
        name,
        mass=mass,
        mass_center=(0.0, round(top - center * length, 5), 0.0),
        inertia=(across, round(mass * radius**2 / 2, 5), across, 0.0, 0.0, 0.0),
        frames=[drawn_cylinder(name, (0.0, round(top - length / 2, 5), 0.0), round(length, 5), radius)],
    )


def foot() -> Body:
    """The segment from the ankle to the heads of the metatarsals, which we put 0.45 foot lengths forward, 15 mm up."""
    mass = round(0.0145 * MASS, 4)
    ahead, below = 0.45 * FOOT, ANKLE_HEIGHT - 0.015
    about_z = round(mass * (0.475 * hypot(ahead, below)) ** 2, 5)
    return Body(
        "foot",
        mass=mass,
        mass_center=(round(ahead / 2, 5), round(-below / 2, 5), 0.0),
        inertia=(round(about_z / 4, 5), about_z, about_z, 0.0, 0.0, 0.0),
    )


def knee_shift(angle: float) -> tuple[float, float]:
    """Where the middle of the tibial plateau is in the thigh at a knee angle.

    In the shank the centre of the condyle is at `(slid, radius)`; the shank has turned by `-angle` about z.
    """
    slid, radius = -0.006 * angle, CONDYLE - 0.002 * angle
    x = slid * cos(angle) + radius * sin(angle)
    y = -slid * sin(angle) + radius * cos(angle)
    return -x, -THIGH - y


def patella(angle: float) -> tuple[float, float]:
    """Where the patella is in the shank at a knee angle: a ligament of 60 mm that leans back as the knee bends."""
    lean, ligament = 0.35 - 0.12 * angle, 0.060 - 0.001 * angle
    return TUBEROSITY[0] + ligament * sin(lean), TUBEROSITY[1] + ligament * cos(lean)


def knee_spline(values: list[float]) -> SimmSpline:
    return SimmSpline(KNEE_ANGLES, tuple(round(value, 5) for value in values))


def knee() -> Joint:
    shifts = [knee_shift(angle) for angle in KNEE_ANGLES]
    transform = turn_and_shift(
        LinearFunction((-1.0, 0.0)),
        "knee_flexion",
        x=knee_spline([x for x, _ in shifts]),
        y=knee_spline([y for _, y in shifts]),
    )
    return joint(
        "CustomJoint", "knee", FEMUR, TIBIA, [Coordinate("knee_flexion", range=KNEE_RANGE)], transform=transform
    )


def fixed(name: str, frame: str, x: float, y: float) -> PathPoint:
    return PathPoint(name, frame, (x, y, 0.0))


def over_trochlea(muscle: str) -> list[AnyPathPoint]:
    """The points `muscle-P2` to `muscle-P4`."""
    return [
        ConditionalPathPoint(f"{muscle}-P{k}", FEMUR, (x, y, 0.0), "knee_flexion", (touched, pi))
        for k, (x, y, touched) in enumerate(TROCHLEA, start=2)
    ]


def on_patella(name: str) -> MovingPathPoint:
    places = [patella(angle) for angle in KNEE_ANGLES]
    functions = knee_spline([x for x, _ in places]), knee_spline([y for _, y in places]), Constant(0.0)
    return MovingPathPoint(name, TIBIA, functions, ("knee_flexion", "knee_flexion", "knee_flexion"))


PATHS: dict[str, list[AnyPathPoint]] = {
    "iliopsoas": [
        fixed("iliopsoas-P1", PELVIS_FRAME, 0.01, 0.10),
        ConditionalPathPoint("iliopsoas-P2", PELVIS_FRAME, (0.037, 0.0, 0.0), "hip_flexion", (-pi, 0.98)),
        fixed("iliopsoas-P3", FEMUR, -0.005, -0.06),
    ],
    "gluteus_maximus": [
        fixed("gluteus_maximus-P1", PELVIS_FRAME, -0.10, 0.06),
        fixed("gluteus_maximus-P2", PELVIS_FRAME, -0.075, -0.01),
        ConditionalPathPoint("gluteus_maximus-P3", FEMUR, (-0.05, -0.03, 0.0), "hip_flexion", (0.53, pi)),
        fixed("gluteus_maximus-P4", FEMUR, -0.02, -0.12),
    ],
    "rectus_femoris": [
        fixed("rectus_femoris-P1", PELVIS_FRAME, 0.032, 0.03),
        *over_trochlea("rectus_femoris"),
        on_patella("rectus_femoris-P5"),
        fixed("rectus_femoris-P6", TIBIA, *TUBEROSITY),
    ],
    "vasti": [
        fixed("vasti-P1", FEMUR, 0.028, -0.20),
        *over_trochlea("vasti"),
        on_patella("vasti-P5"),
    ],
    "hamstrings": [
        fixed("hamstrings-P1", PELVIS_FRAME, -0.05, -0.06),
        fixed("hamstrings-P2", TIBIA, -0.025, -0.04),
    ],
    "biceps_femoris_short": [
        fixed("biceps_femoris_short-P1", FEMUR, -0.005, -0.22),
        fixed("biceps_femoris_short-P2", TIBIA, -0.022, -0.045),
    ],
    "gastrocnemius": [
        fixed("gastrocnemius-P1", FEMUR, -0.012, -0.415),
        ConditionalPathPoint("gastrocnemius-P2", FEMUR, (-0.024, -0.432, 0.0), "knee_flexion", (-pi, 0.55)),
        fixed("gastrocnemius-P3", HINDFOOT, -0.052, -0.030),
    ],
    "soleus": [
        fixed("soleus-P1", TIBIA, -0.012, -0.12),
        fixed("soleus-P2", HINDFOOT, -0.052, -0.033),
    ],
    "tibialis_anterior": [
        fixed("tibialis_anterior-P1", TIBIA, 0.014, -0.13),
        fixed("tibialis_anterior-P2", TIBIA, 0.030, -0.36),
        fixed("tibialis_anterior-P3", HINDFOOT, 0.085, -0.030),
    ],
}

# force N, optimal fibre length m, tendon slack length m, pennation degrees
STRENGTH = {
    "iliopsoas": (880.0, 0.11, 0.063, 12.0),
    "gluteus_maximus": (1670.0, 0.157, 0.064, 20.0),
    "rectus_femoris": (680.0, 0.076, 0.467, 14.0),
    "vasti": (3620.0, 0.098, 0.164, 15.0),
    "hamstrings": (1730.0, 0.1, 0.339, 13.0),
    "biceps_femoris_short": (260.0, 0.11, 0.165, 12.0),
    "gastrocnemius": (1540.0, 0.053, 0.419, 11.0),
    "soleus": (2590.0, 0.044, 0.281, 28.0),
    "tibialis_anterior": (550.0, 0.068, 0.256, 10.0),
}


def describe() -> ModelDescription:
    ankle_at = (0.0, round(CONDYLE - SHANK, 5), 0.0)  # the shank's frame is on the plateau, below the knee centre
    standing = (0.0, round(THIGH + SHANK + ANKLE_HEIGHT, 5), 0.0)
    return ModelDescription(
        name="planar_leg",
        credits=(
            f"{LICENCE} Segment lengths: Drillis and Contini 1966. Segment masses, mass centres and radii of gyration: "
            "Winter, Biomechanics and Motor Control of Human Movement, Table 4.1 (after Dempster 1955). Forces and "
            "fibre lengths: rounded after Ward et al. 2009. Knee, attachments, markers and all else: our own."
        ),
        publications=(
            "Winter: Biomechanics and Motor Control of Human Movement, 4th ed., Wiley 2009. Ward, Eng, Smallwood, "
            "Lieber: Are current measurements of lower extremity muscle architecture accurate? Clin Orthop Relat Res "
            "467:1074-1082, 2009."
        ),
        bodies=[
            Body(
                "pelvis", mass=0.142 * MASS, mass_center=(-0.03, 0.08, 0.0), inertia=(0.08, 0.08, 0.07, 0.0, 0.0, 0.0)
            ),
            segment("thigh", 0.100, THIGH, 0.433, 0.323, 1050.0, top=0.0),
            segment("shank", 0.0465, SHANK, 0.433, 0.302, 1090.0, top=CONDYLE),
            foot(),
        ],
        joints=[
            joint("WeldJoint", "standing", "/ground", PELVIS_FRAME, [], at=standing),
            joint("PinJoint", "hip", PELVIS_FRAME, FEMUR, [Coordinate("hip_flexion", range=(-0.6, 2.1))]),
            knee(),
            joint(
                "PinJoint", "ankle", TIBIA, HINDFOOT, [Coordinate("ankle_dorsiflexion", range=(-0.9, 0.6))], at=ankle_at
            ),
        ],
        markers=[
            Marker("asis", PELVIS_FRAME, (0.05, 0.10, 0.08), fixed=True),
            Marker("trochanter", FEMUR, (-0.01, -0.01, 0.09)),
            Marker("thigh_front", FEMUR, (0.07, -0.22, 0.02)),
            Marker("knee_lateral", FEMUR, (0.0, -0.429, 0.06)),
            Marker("shank_front", TIBIA, (0.04, -0.20, 0.02)),
            Marker("malleolus", TIBIA, (-0.01, -0.405, 0.04)),
            Marker("heel", HINDFOOT, (-0.066, -0.045, 0.0)),
            Marker("toe", HINDFOOT, (0.14, -0.045, 0.02)),
        ],
        muscles=[millard(name, PATHS[name], *STRENGTH[name]) for name in PATHS],
    )
