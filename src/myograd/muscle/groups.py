"""Muscles of one class and variant, which are computed together."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any, NamedTuple

import jax
import numpy as np

from ..model.description.muscle_properties import DE_GROOTE_FREGLY, MILLARD, RIGID, SCHUTTE, THELEN
from ..model.structure import Muscles
from .classes import degroote_fregly, millard, rigid_tendon, schutte, thelen
from .state import Group

CLASSES: dict[str, ModuleType] = {
    MILLARD: millard,
    THELEN: thelen,
    DE_GROOTE_FREGLY: degroote_fregly,
    SCHUTTE: schutte,
    RIGID: rigid_tendon,
}
"""Each has `shape` (what of its muscles is computed before their state is known), `dynamics`, `equilibrium`,
`force_balance` and `activation_derivative`, with the same arguments in all of them."""
FIRST_ORDER = (MILLARD, THELEN)
"""Classes whose activation follows Eqs. 17-18 of paper 000 (`activation_rate`)."""


class Groups(NamedTuple):
    groups: tuple[Group, ...]
    order: np.ndarray | None  # puts the groups' results in the order of the model; None if they are
    missing: int  # muscles of classes that are not computed come last, as NaN


@functools.lru_cache(maxsize=64)
def grouped(classes: Muscles) -> Groups:
    places: dict[tuple[str, str], list[int]] = {}
    left_out: list[int] = []
    for m, (kind, variant, problem) in enumerate(zip(classes.kind, classes.variant, classes.problem, strict=True)):
        if problem:
            left_out.append(m)
        else:  # OpenSim ignores a Thelen muscle's ignore_tendon_compliance
            places.setdefault((kind, "elastic" if kind == THELEN else variant), []).append(m)
    groups = tuple(
        Group(
            CLASSES[kind],
            variant,
            np.array(muscles),
            tuple(classes.stated[m] for m in muscles),
            tuple(classes.passive_force[m] for m in muscles),
        )
        for (kind, variant), muscles in places.items()
    )
    sequence = [m for muscles in places.values() for m in muscles] + left_out
    order = np.argsort(sequence)
    return Groups(groups, None if sequence == sorted(sequence) else order, len(left_out))


def part_of(values: Any, group: Group) -> Any:
    """Of arrays `[..., m]`, what belongs to the group's muscles."""
    return jax.tree.map(lambda x: x[..., group.muscles], values)
