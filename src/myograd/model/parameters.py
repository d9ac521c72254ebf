"""The numbers of a model by name: `femur_r.mass`, `soleus_r.max_isometric_force`, `femur_r/gastroc.radius`.

A name is its owner's, the field's and, of vectors, the component's, with dots between. Every number of a model has one: those
that no owner calls its own (slopes of joints, coefficients of splines) go by the place in their array, `joints.slopes[12,3]`. The
same names hold wherever numbers are chosen: changed copies of models, identification, sensitivities.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from ..errors import ModelError, nearest
from ..force.term import Law
from .description import muscle_properties as properties
from .model import Model
from .ranges import check_inertia, check_value

XYZ = ("x", "y", "z")
ENDS = ("location1", "location2")
INERTIA = ("xx", "yy", "zz", "xy", "xz", "yz")
SIZES = {
    "WrapCylinder": ("radius", "length"),
    "WrapSphere": ("radius",),
    "WrapEllipsoid": ("x", "y", "z"),
    "WrapTorus": ("inner_radius", "outer_radius"),
}
UNITS = {
    "gravity": "m/s^2",
    "mass": "kg",
    "mass_center": "m",
    "inertia": "kg m^2",
    "parent_translation": "m",
    "child_translation": "m",
    "location": "m",
    "translation": "m",
    "radius": "m",
    "length": "m",
    "inner_radius": "m",
    "outer_radius": "m",
    "size": "m",
    "distance": "m",
    "radii": "m",
    "max_isometric_force": "N",
    "optimal_fiber_length": "m",
    "tendon_slack_length": "m",
    "pennation_angle": "rad",
    "max_contraction_velocity": "optimal lengths/s",
    "activation_time_constant": "s",
    "deactivation_time_constant": "s",
    "maximum_pennation_angle": "rad",
    "default_fiber_length": "m",
}
"""Of the fields whose unit does not depend on whose they are."""
_BY_PLACE = re.compile(r"(?P<leaf>[\w.'/\[\]]+?)\[(?P<index>\d+(?:,\d+)*)\]")


@dataclass(frozen=True)
class Place:
    """Where a number is: which of the model's arrays, and where in it."""

    leaf: str
    """as `jax.tree_util.keystr` writes it: `.bodies.mass`"""
    index: tuple[int, ...]
    unit: str = ""

    @property
    def text(self) -> str:
        """The name by place: `joints.slopes[12,3]`."""
        return f"{self.leaf.removeprefix('.')}[{','.join(map(str, self.index))}]"


def leaves_by_name(model: Model) -> dict[str, Any]:
    """Every array of the model, by the path to it: `.bodies.mass`."""
    return {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(model)}


def parameter_places(model: Model) -> dict[str, Place]:
    """Every number that has a name of its own, by that name, in the order of the model."""
    return {name: places[0] for name, places in _places(model).items() if len(places) == 1}


def unnamed_arrays(model: Model) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays that hold numbers without a name of their own, by name, as in `joints.slopes[12,3]`."""
    named = Counter(place.leaf for place in parameter_places(model).values())
    arrays = leaves_by_name(model)
    return {
        leaf.removeprefix("."): np.shape(x)
        for leaf, x in arrays.items()
        if leaf != ".fingerprint" and named[leaf] < np.size(x)
    }


def _places(model: Model) -> dict[str, list[Place]]:
    """Of every name: several places where several things are called the same."""
    found: dict[str, list[Place]] = {}
    for leaf, name, index, field in _owned(model):
        found.setdefault(name, []).append(Place(leaf, index, UNITS.get(field, "")))
    return found


def find(model: Model, name: str, known: Mapping[str, Place] | None = None) -> Place:
    """A number by its owner's name, or by its place: `joints.slopes[12,3]`."""
    known = parameter_places(model) if known is None else known
    if name in known:
        return known[name]
    match = _BY_PLACE.fullmatch(name)
    arrays = leaves_by_name(model) if match else {}
    leaf = f".{match['leaf']}" if match else ""
    if match is None or leaf not in arrays:
        several = [place.text for place in _places(model).get(name, ())]
        if several:
            raise ModelError(f"{name!r} names {len(several)} numbers of {model.name!r}: use {' or '.join(several)}")
        parts = [other for other in known if other.startswith(f"{name}.")]
        if parts:
            raise ModelError(f"{name!r} is several numbers: {', '.join(parts[:6])}")
        raise ModelError(f"{model.name!r} has no parameter {name!r}{nearest(name, known)}")
    index = tuple(int(i) for i in match["index"].split(","))
    shape = np.shape(arrays[leaf])
    if len(index) != len(shape) or any(i >= size for i, size in zip(index, shape, strict=True)):
        raise ModelError(f"parameter {name!r}: the array {match['leaf']} of {model.name!r} has shape {shape}")
    return Place(leaf, index)


class Selection:
    """Some numbers of a model, as one vector; the same of every other model of the same structure."""

    def __init__(self, model: Model, names: Sequence[str]):
        known = parameter_places(model)
        self.names = tuple(names)
        self.places = tuple(find(model, name, known) for name in names)
        twice = [name for name in set(self.names) if self.names.count(name) > 1]
        if twice:
            raise ModelError(f"parameter {twice[0]!r} is chosen twice")
        leaves = list(leaves_by_name(model))
        self._structure = jax.tree.structure(model)
        self._groups: list[tuple[int, np.ndarray, tuple[np.ndarray, ...]]] = []
        """leaf, entries of the vector, places in it"""
        for leaf in dict.fromkeys(place.leaf for place in self.places):
            which = np.array([k for k, place in enumerate(self.places) if place.leaf == leaf])
            index = tuple(np.array([self.places[k].index for k in which]).T)
            self._groups.append((leaves.index(leaf), which, index))

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        """Of the same numbers: compiled programs that have a selection built in can then be shared."""
        return isinstance(other, Selection) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[object, ...]:
        return self.names, self.places, self._structure

    def _arrays(self, model: Model) -> list[Any]:
        """The model's leaves, if they are what the selection was made for."""
        if jax.tree.structure(model) != self._structure:
            raise ModelError(
                f"this selection was made for a model of another structure than {model.name!r}: make a new one"
            )
        arrays = jax.tree.leaves(model)
        if any(np.ndim(arrays[leaf]) != len(index) for leaf, _, index in self._groups):
            raise ModelError(
                "this is a stack of models: choose numbers of one model, and map over the stack by jax.vmap"
            )
        return arrays

    def get(self, model: Model) -> Float[Array, " n"]:
        """Their values."""
        arrays, values = self._arrays(model), jnp.zeros(len(self))
        for leaf, which, index in self._groups:
            values = values.at[which].set(arrays[leaf][index])
        return values

    def set(self, model: Model, values: Float[Array, " n"]) -> Model:
        """The model with other values of them; differentiable."""
        values = values if isinstance(values, Tracer) else jnp.asarray(values, float)
        if values.shape != (len(self),):
            listed = ", ".join(self.names[:4]) + (", ..." if len(self) > 4 else "")
            raise ModelError(
                f"values have shape {values.shape}, but {(len(self),)} is needed: one for each of {listed}"
            )
        if not isinstance(values, Tracer) and not np.isfinite(values).all():
            raise ModelError(f"the value of {self.names[int(np.argmin(np.isfinite(values)))]!r} is not finite")
        arrays = self._arrays(model)
        for leaf, which, index in self._groups:
            arrays[leaf] = jnp.asarray(arrays[leaf]).at[index].set(values[which])
        return jax.tree.unflatten(jax.tree.structure(model), arrays)


def values_of(model: Model, names: Sequence[str]) -> dict[str, float]:
    """Numbers of a model, by name."""
    if isinstance(names, str):
        raise ModelError(f"values_of takes a list of names, [{names!r}], not one string")
    return dict(zip(names, np.asarray(Selection(model, names).get(model)).tolist(), strict=True))


def with_values(model: Model, values: Mapping[str, Any]) -> Model:
    """A copy of the model with other numbers, `{"femur_r.mass": 9.5}`. They may be traced; plain ones must be finite."""
    if not values:
        return model
    chosen = Selection(model, list(values))
    for name, value in values.items():
        if np.shape(value) != ():
            raise ModelError(f"parameter {name!r} is one number, not an array of shape {np.shape(value)}")
        if not isinstance(value, Tracer) and not _is_number(value):
            shown = np.asarray(value).tolist() if eqx.is_array(value) else value
            raise ModelError(f"parameter {name!r}: {shown!r} is not a finite number")
    changed = chosen.set(model, jnp.stack([jnp.asarray(value, float) for value in values.values()]))
    _check_physical(changed, chosen, values)
    return changed


def _is_number(value: Any) -> bool:
    """Whether it is a finite real number, and not a text or a truth value."""
    kind = np.asarray(value).dtype.kind
    return kind in "iuf" and bool(np.isfinite(value))


def _check_physical(changed: Model, selection: Selection, values: Mapping[str, Any]) -> None:
    """Raise if a plain number is impossible: a negative mass, say. Of traced ones nothing is known yet."""
    for (name, value), place in zip(values.items(), selection.places, strict=True):
        if not isinstance(value, Tracer):
            check_value(changed, name, place.leaf, place.index, value)
    if not isinstance(changed.bodies.inertia, Tracer):
        check_inertia(changed, [place.index[-1] for place in selection.places if place.leaf == ".bodies.inertia"])


# Owners ------------------------------------------------------------------------------------------------------

Owned = tuple[str, str, tuple[int, ...], str]  # leaf, name, index, field


def _owned(model: Model) -> Iterator[Owned]:
    names = model.names
    yield from _named(".gravity", ("gravity",), "", (XYZ,), last=False)
    yield from _named(".bodies.mass", names.bodies, "mass")
    yield from _named(".bodies.mass_center", names.bodies, "mass_center", (XYZ,))
    yield from _named(".bodies.inertia", names.bodies, "inertia", (INERTIA,))
    for field in ("parent_translation", "child_translation"):
        yield from _named(f".joints.{field}", names.joints, field, (XYZ,))
    for field in ("default", "default_speed"):
        yield from _named(f".coordinates.{field}", names.coordinates, field)
    yield from _named(".coordinates.range", names.coordinates, "range", (("low", "high"),))
    ellipsoids = [names.joints[k] for k in model.tree.ellipsoids[:, 0]]
    yield from _named(".joints.radii", ellipsoids, "radii", (XYZ,))
    yield from _named(".constraint_parameters.distance", model.constraints.names[3], "distance")
    for kind, owners in zip(("weld", "point", "distance"), model.constraints.names[1:], strict=True):
        for leaf, name, index, _ in _named(f".constraint_parameters.{kind}_location", owners, "", (ENDS, XYZ)):
            yield leaf, name, index, "location"
    yield from _named(".marker_location", names.markers, "location", (XYZ,))
    yield from _points(model)
    yield from _surfaces(model)
    yield from _muscles(model)
    yield from _terms(model)


def _named(
    leaf: str, owners: Sequence[str], field: str, components: tuple[Sequence[str], ...] = (), last: bool = True
) -> Iterator[Owned]:
    """Of an array `[*components, owners]`; without `last`, of one owner's `[*components]`. Owners without a name have none."""
    for place in np.ndindex(*(len(part) for part in components)):
        labels = [str(part[i]) for part, i in zip(components, place, strict=True)]
        for k, owner in enumerate(owners):
            if owner:
                name = ".".join(part for part in (owner, field, *labels) if part)
                yield leaf, name, (*place, k) if last else place, field or owner


def _points(model: Model) -> Iterator[Owned]:
    owner = [model.names.paths[path] for path in model.paths.point_path]
    points = [f"{path}.{point}" for path, point in zip(owner, model.names.points, strict=True)]
    moving = set(model.paths.moving.tolist())
    fixed = ["" if i in moving else point for i, point in enumerate(points)]
    yield from _named(".path.location", fixed, "location", (XYZ,))
    conditional = [points[i] for i in model.paths.conditional]
    yield from _named(".path.conditional_range", conditional, "range", (("low", "high"),))


def _surfaces(model: Model) -> Iterator[Owned]:
    yield from _named(".surfaces.translation", model.names.surfaces, "translation", (XYZ,))
    for k, (surface, kind) in enumerate(zip(model.names.surfaces, model.names.surface_kinds, strict=True)):
        for i, size in enumerate(SIZES[kind]):
            field = "size" if kind == "WrapEllipsoid" else size
            label = f"{surface}.size.{size}" if kind == "WrapEllipsoid" else f"{surface}.{size}"
            yield ".surfaces.sizes", label, (i, k), field


def _muscles(model: Model) -> Iterator[Owned]:
    """Only the numbers that a muscle's class has."""
    kinds, muscles = model.muscle_classes.kind, model.names.muscles
    for field in model.muscles.__dataclass_fields__:
        if field in ("numbers", "curves"):
            continue
        common = {name for kind in kinds for name in properties.COMMON.get(kind, {})}
        owners = [
            muscle if field not in common or field in properties.COMMON.get(kind, {}) else ""
            for muscle, kind in zip(muscles, kinds, strict=True)
        ]
        yield from _named(f".muscles.{field}", owners, field)
    for name in model.muscles.numbers:
        owners = [
            muscle if name in properties.own_numbers(kind) and _is_stated(model, k, name) else ""
            for k, (muscle, kind) in enumerate(zip(muscles, kinds, strict=True))
        ]
        yield from _named(f".muscles.numbers['{name}']", owners, name.replace("/", "."))


def _is_stated(model: Model, muscle: int, name: str) -> bool:
    """Whether the number is the muscle's own, and not left to its class."""
    optional = properties.default(model.muscle_classes.kind[muscle], name) is None
    return not optional or name in model.muscle_classes.stated[muscle]


def _terms(model: Model) -> Iterator[Owned]:
    """Numbers of laws that are `[..., n]`; a vector's components are counted."""
    for field in ("location", "size"):
        yield from _named(f".contact_surfaces.{field}", model.contact_surfaces.names, field, (XYZ,))
    for i, term in enumerate(model.terms):
        if not isinstance(term, Law):
            continue
        for field in term.__dataclass_fields__:
            value = getattr(term, field)
            if not eqx.is_array(value) or "rotation" in field:
                continue
            owners = term.names if value.shape[-1] == len(term.names) else getattr(term, "materials", ())
            if value.shape[-1] == len(owners):
                counted = tuple(tuple(str(k + 1) for k in range(size)) for size in value.shape[:-1])
                yield from _named(f".terms[{i}].{field}", owners, field, counted)
