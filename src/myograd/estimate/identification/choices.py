"""What is to be identified, and from what: the choices of whoever asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from ..._deprecated import PARAMETERS, message
from ...errors import MyogradError, nearest, warn
from ..parameters import Bounds, Number

MUSCLE = (
    "max_isometric_force",
    "optimal_fiber_length",
    "max_contraction_velocity",
    "pennation_angle",
    "tendon_slack_length",
    "emg_gain",
)
"""Of each muscle: the five of paper 000, III-F.1, and a factor of its EMG (1 if the EMG is well scaled)."""
OF_MODEL = MUSCLE[:5]
"""Those of them that are numbers of the model."""
COMMON_NUMBERS = tuple(
    Number(f"{owner}.{field}", owner, field, unit)
    for owner, field, unit in (
        ("muscles", "activation_time_constant", "s"),
        ("muscles", "deactivation_time_constant", "s"),
        ("emg", "delay", "s"),
        ("emg", "c1", ""),
        ("emg", "c2", ""),
    )
)
"""Of all muscles: time constants and delay, poles of the filter (Eqs. 17-21)."""
COMMON = tuple(number.name for number in COMMON_NUMBERS)
POLES = ("emg.c1", "emg.c2")
LIMITS: dict[str, tuple[float, float]] = {
    "max_isometric_force": (0.2, 5.0),  # times the model's own value
    "optimal_fiber_length": (0.5, 2.0),
    "max_contraction_velocity": (0.2, 5.0),
    "tendon_slack_length": (0.5, 2.0),
    "emg_gain": (0.2, 5.0),
    "pennation_angle": (0.0, 0.8),  # rad
    "muscles.activation_time_constant": (0.002, 0.06),  # s
    "muscles.deactivation_time_constant": (0.008, 0.25),
    "emg.delay": (0.0, 0.15),
    "emg.c1": (-0.98, 0.98),
    "emg.c2": (-0.98, 0.98),
}
ABSOLUTE = ("pennation_angle", *COMMON)
"""Limits that are not relative to the model's own values."""
SKIP = 0.2  # s at the start of a recording without rows: what was before is not known


class FiberSource(StrEnum):
    """Where fibre lengths, and so forces, come from."""

    RECORDED = "recorded"
    """recorded fibre states, by Eq. 15"""
    TENDON = "tendon"
    """the same, by Eq. 16"""
    SOLVED = "solved"
    """solved from the path's length"""


STANDARD = {
    FiberSource.RECORDED: MUSCLE[:4],
    FiberSource.TENDON: ("tendon_slack_length",),
    FiberSource.SOLVED: MUSCLE[:5],
}
"""The numbers of muscles that can be found from such fibres."""


@dataclass(frozen=True)
class Choices:
    """What to identify besides the inertia of bodies, and from which samples. See `identification`."""

    muscles: Sequence[str] | None = None
    """whose numbers are asked for; None: of all that can be identified"""
    of_muscle: Sequence[str] | None = None
    """which of `MUSCLE`; None: all five, without the tendon slack length where fibres are recorded"""
    common: Sequence[str] = COMMON
    """which of `COMMON`"""
    also: Mapping[str, Bounds | tuple[float, float]] = field(default_factory=dict)
    """any other numbers of the model by name, such as `BIClong.BIClong-P1.location.x` or `elbow.radius`, with their limits and,
    if something is known of them before, a prior; and limits and priors of single numbers of the lists above"""
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """instead of some of `LIMITS`; those of forces, lengths and velocities are relative to the model's own"""
    start: Mapping[str, float] = field(default_factory=dict)
    """of common numbers, which a model does not state"""
    fibers: FiberSource | str | None = None
    """None: recorded ones where they are, else solved"""
    every: int = 1
    """one row of the residual per so many samples (noisy recordings have as many as their low-pass needs)"""
    skip: float = SKIP
    """[s] without rows at the start of each recording"""
    accept: tuple[str, ...] = ()
    """parts of the model that may stay out, though they are not computed"""

    def __post_init__(self) -> None:
        for name, given in (("common", self.common), ("limits", self.limits), ("start", self.start)):
            object.__setattr__(self, name, _present(given))
        known: tuple[tuple[Iterable[str], Iterable[str]], ...] = (
            (self.of_muscle or (), MUSCLE),
            (self.common, COMMON),
            (self.limits, LIMITS),
            (self.start, COMMON),
        )
        for given, names in known:
            for name in given:
                if name not in names:
                    raise MyogradError(f"there is no parameter {name!r} to identify{nearest(name, names)}")
        if self.fibers is not None and self.fibers not in list(FiberSource):
            raise MyogradError(f"fibers is one of {', '.join(FiberSource)}, not {self.fibers!r}")

    @property
    def bounds(self) -> dict[str, Bounds]:
        """Of `also`."""
        return {name: it if isinstance(it, Bounds) else Bounds(*it) for name, it in self.also.items()}


def _present(given: Sequence[str] | Mapping[str, object]) -> object:
    """The same with the present names."""
    for name in given:
        if name in PARAMETERS:
            text = message(f"the parameter name {name}", PARAMETERS[name])
            warn(text, DeprecationWarning)
    if isinstance(given, Mapping):
        return {PARAMETERS.get(name, name): value for name, value in given.items()}
    return tuple(PARAMETERS.get(name, name) for name in given)
