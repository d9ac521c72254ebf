"""Many people in one model: every number gets one more axis, in front, over which `jax.vmap` maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import ModelError
from .model import Model
from .parameters import leaves_by_name

STRUCTURE = {
    "tree": "how bodies hang on joints",
    "constraints": "constraints",
    "paths": "paths",
    "wraps": "surfaces that paths wrap over",
    "muscle_classes": "classes or options of muscles, or which optional numbers their files state",
    "marker_link": "bodies that markers are on",
}
"""The static parts of a model beside its names, in words."""


def stacked(models: Sequence[Model]) -> Model:
    """One model of many people, who must have the same structure: models of one template. The third person is
    `jax.tree.map(lambda x: x[2], stack)`."""
    models = list(models)
    if not models:
        raise ModelError("stacked takes at least one model")
    for i, model in enumerate(models):
        if not isinstance(model, Model):
            raise TypeError(f"stacked takes models (see load_model), not a {type(model).__name__} (entry {i})")
        if np.ndim(model.fingerprint):
            raise ModelError(f"stacked: entry {i} is a stack of models itself")
    first = models[0]
    for i, model in enumerate(models[1:], 1):
        difference = _difference(first, model)
        if difference:
            raise ModelError(
                f"stacked: entry {i}, {model.name!r}, has another structure than entry 0, {first.name!r}: {difference}"
            )
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *models)


def _difference(one: Model, other: Model) -> str:
    """The first difference between two structures, in words; "" if they are the same."""
    for item in fields(one.names):
        a, b = getattr(one.names, item.name), getattr(other.names, item.name)
        if a != b:
            return f"{item.name.replace('_', ' ')} differ{_compared(a, b)}"
    for name, what in STRUCTURE.items():
        if getattr(one, name) != getattr(other, name):
            return f"they differ in {what}"
    if [type(term) for term in one.terms] != [type(term) for term in other.terms]:
        return "they have other classes of forces"
    ours, theirs = leaves_by_name(one), leaves_by_name(other)
    if list(ours) != list(theirs):
        return f"only one of them has {sorted(set(ours) ^ set(theirs))[0]}"
    for name, leaf in ours.items():
        if np.shape(leaf) != np.shape(theirs[name]):
            return f"{name.removeprefix('.')} has shape {np.shape(theirs[name])} instead of {np.shape(leaf)}"
    return "" if jax.tree.structure(one) == jax.tree.structure(other) else "they differ in options of their forces"


def _compared(a: tuple[object, ...], b: tuple[object, ...]) -> str:
    only = [x for x in a if x not in b][:3], [x for x in b if x not in a][:3]
    parts = [
        f"only the {which} has {', '.join(map(str, x))}" for which, x in zip(("first", "other"), only, strict=True) if x
    ]
    return f" ({'; '.join(parts)})" if parts else " in their order"
