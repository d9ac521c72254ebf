"""A block on a slide, pulled by one muscle of every class and variant: what the models of the pack do not have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from myograd.files.osim.write import write_osim
from myograd.model.description import Body, Coordinate, Joint, ModelDescription, Muscle, Node, PathPoint, SimmSpline
from myograd.model.description import Path as MusclePath
from myograd.model.description.muscle_properties import (
    DE_GROOTE_FREGLY,
    FLAGS,
    MILLARD,
    NUMBERS,
    RIGID,
    SCHUTTE,
    THELEN,
)


def _muscle(kind: str, name: str, pennation: float = 0.2, curves: dict | None = None, **numbers: Any) -> Muscle:
    """Its path is as long as the slide is out.

    All its numbers are spelled out: a file that OpenSim has loaded before may have changed its defaults (`<defaults>`).
    """
    stated: dict[str, Any] = NUMBERS[kind] | numbers
    curves_numbers = {
        f"{tag}/{key}": number
        for tag, value in stated.items()
        if isinstance(value, dict)
        for key, number in value.items()
    }
    flags = {tag: value == "true" for tag, value in stated.items() if tag in FLAGS}
    own: dict[str, float] = {
        tag: value for tag, value in stated.items() if tag in NUMBERS[kind] and not isinstance(value, dict)
    }
    others = [tag for tag in stated if tag not in own and tag not in flags and not isinstance(stated[tag], dict)]
    return Muscle(
        kind,
        name,
        MusclePath(points=[PathPoint("a", "/ground", (0, 0, 0)), PathPoint("b", "/bodyset/block", (0, 0, 0))]),
        max_isometric_force=800.0,
        optimal_fiber_length=0.1,
        tendon_slack_length=0.2,
        pennation_angle=pennation,
        max_contraction_velocity=8.0,
        curves=curves or {},
        numbers=own | curves_numbers,
        flags=flags,
        properties=[Node(tag, text=str(stated[tag])) for tag in others],
    )


STIFF = {
    "strain_at_one_norm_force": 0.06,
    "stiffness_at_one_norm_force": 25.0,
    "norm_force_at_toe_end": 0.5,
    "curviness": 0.7,
}
SHAPES: dict[str, Any] = {
    "ActiveForceLengthCurve": {
        "min_norm_active_fiber_length": 0.35,
        "max_norm_active_fiber_length": 1.7,
        "minimum_value": 0.05,
    },
    "ForceVelocityCurve": {"max_eccentric_velocity_force_multiplier": 1.6, "concentric_slope_at_vmax": 0.05},
    "FiberForceLengthCurve": {"strain_at_zero_force": 0.1, "strain_at_one_norm_force": 0.6},
    "TendonForceLengthCurve": STIFF,
}
RISING = SimmSpline((0.0, 0.6, 1.0, 1.4, 2.0), (0.0, 0.5, 1.0, 0.6, 0.1))

MUSCLES = [
    _muscle(MILLARD, "damped", fiber_damping=0.1),
    _muscle(MILLARD, "shaped", fiber_damping=0.05, minimum_activation=0.02, min_control=0.02, **SHAPES),
    _muscle(MILLARD, "classic", fiber_damping=0.0, min_control=0.01, **SHAPES),
    _muscle(MILLARD, "rigid", ignore_tendon_compliance="true", **SHAPES),
    _muscle(MILLARD, "parallel", pennation=0.0),
    _muscle(THELEN, "thelen", min_control=0.01),
    _muscle(THELEN, "thelen_shaped", 0.4, min_control=0.01, Flen=1.8, Af=0.3, FmaxTendonStrain=0.033, KshapeActive=0.5),
    _muscle(DE_GROOTE_FREGLY, "smooth"),
    _muscle(
        DE_GROOTE_FREGLY,
        "smooth_shaped",
        fiber_damping=0.01,
        active_force_width_scale=1.3,
        passive_fiber_strain_at_one_norm_force=0.7,
        tendon_strain_at_one_norm_force=0.04,
    ),
    _muscle(DE_GROOTE_FREGLY, "smooth_rigid", ignore_tendon_compliance="true", ignore_passive_fiber_force="true"),
    _muscle(SCHUTTE, "schutte"),
    _muscle(SCHUTTE, "schutte_shaped", damping=0.05, curves={"active_force_length_curve": RISING}),
    _muscle(RIGID, "stringless"),
    _muscle(RIGID, "stringless_parallel", pennation=0.0, curves={"active_force_length_curve": RISING}),
]


def bench() -> ModelDescription:
    return ModelDescription(
        name="muscle_bench",
        bodies=[Body("block", mass=1.0, inertia=(0.1, 0.1, 0.1, 0.0, 0.0, 0.0))],
        joints=[
            Joint("SliderJoint", "slide", "/ground", "/bodyset/block", [Coordinate("out", 0.3, range=(0.0, 1.0))]),
        ],
        muscles=MUSCLES,
    )


def write_bench(folder: Path) -> Path:
    path = folder / "muscle_bench.osim"
    write_osim(bench(), path)
    return path
