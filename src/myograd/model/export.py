"""A compiled model made into a description again, with its present values: how a fitted model is saved.

Values that a document states as plain numbers (masses, points, frames, surfaces, muscle parameters, ...) are written back. A
change that has no such number (a spline's coefficients, say) is refused, never dropped.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ..errors import ModelError
from ..force.term import Law, put, put_each
from ..geometry.piecewise import PiecewisePolynomials
from ..geometry.spatial import angles_xyz, rotation_xyz
from . import description as d
from .compile.forces import applied
from .compile.frames import Frames
from .compile.model import compile_model
from .compile.muscles import COMMON, numbers_of
from .compile.tree import Link, build_tree
from .description import muscle_properties as properties
from .description.muscle_properties import EVERY, own_numbers
from .model import Document, Model, own_document
from .ranges import muscle_problems

CLOSE = 1e-14  # of a rotation's or a position's components, beyond which they have been changed


def description_of(model: Model, document: Document | None = None) -> d.ModelDescription:
    """The model's description with all values that differ from it brought up to date. `document`: of another model, if the
    numbers are to be written into that one's."""
    document = document or own_document(model, "To save it, pass the model that it comes from, like=MODEL")
    result = copy.deepcopy(document.description)
    original = compile_model(result)
    others = [type(term).__name__ for term in model.terms if not isinstance(term, Law)]
    if others:
        raise ModelError(
            f"the model has a {others[0]}, which an .osim document cannot hold: save the model without it, and add the term "
            "again after loading"
        )
    _check_leaves(original, model)
    _check_muscles(original, model)
    links = build_tree(result)
    frames = Frames(result, links)
    put(result, "gravity", model.gravity)
    for name in ("mass", "mass_center", "inertia"):
        put_each(result.bodies, name, getattr(model.bodies, name))
    put_each(result.coordinates(), "default_value", model.coordinates.default)
    put_each(result.coordinates(), "default_speed", model.coordinates.default_speed)
    put_each(result.coordinates(), "range", model.coordinates.range)
    _write_points(result.markers, frames, model.marker_location)
    _write_joints(links, frames, model)
    _write_translations(links, original, model)
    _write_constraints(result, frames, model)
    _write_paths(result, frames, original, model)
    _write_surfaces(result, frames, model)
    _write_muscles(result.muscles, original, model)
    model.contact_surfaces.write(result.contacts)
    for law in model.terms:
        assert isinstance(law, Law)
        law.write(applied(result, type(law)))
    _confirm(result, model)
    return result


def _check_leaves(original: Model, model: Model) -> None:
    """Raise unless the model's arrays are those of the document, by shape, and finite."""
    before, after = (jax.tree_util.tree_leaves_with_path(it) for it in (original, model))
    if [path for path, _ in before] != [path for path, _ in after]:
        raise ModelError("the model's arrays do not fit the document it was read from")
    for (path, old), (_, new) in zip(before, after, strict=True):
        name = jax.tree_util.keystr(path)
        if np.shape(old) != np.shape(new):
            raise ModelError(
                f"the model's {name} has shape {np.shape(new)}; the document it was read from needs {np.shape(old)}"
            )
        if not np.all(np.isfinite(new) | (np.asarray(new) == np.asarray(old))):
            raise ModelError(f"the model's {name} is not finite; it cannot be saved")


def _check_muscles(original: Model, model: Model) -> None:
    """Raise if a muscle's numbers are such that the document would be read as one of another variant, or refused."""
    classes = original.muscle_classes
    kinds = ["" if problem else kind for kind, problem in zip(classes.kind, classes.problem, strict=True)]
    for m, problem in muscle_problems(kinds, classes.variant, numbers_of(model.muscles)):
        raise ModelError(f"muscle {model.muscle_names[m]!r} cannot be saved: {problem}")


def _confirm(result: d.ModelDescription, model: Model) -> None:
    """What will be written must compile to the model that was given, or something would be lost."""
    before = jax.tree_util.tree_leaves_with_path(compile_model(result))
    for (path, written), given in zip(before, jax.tree_util.tree_leaves(model), strict=True):
        name = jax.tree_util.keystr(path)
        if name != ".fingerprint" and not np.allclose(written, given, rtol=1e-9, atol=1e-12, equal_nan=True):
            raise ModelError(
                f"the model's {name} differs from the document it was read from, and the change cannot be saved: the document "
                "has no number for it, or other elements depend on the same one. Change the ModelDescription instead and compile "
                "it again"
            )


# Parts -------------------------------------------------------------------------------------------------------


def _write_points(
    points: Sequence[Any], frames: Frames, locations: Any, attribute: str = "location", frame: str = "frame"
) -> None:
    """Positions on links [3, n] as positions in the points' frames."""
    for point, location in zip(points, np.asarray(locations).T, strict=True):
        _, rotation, origin = frames.on_link(getattr(point, frame))
        old = rotation @ np.array(getattr(point, attribute)) + origin
        if not np.allclose(old, location, rtol=CLOSE, atol=0):
            put(point, attribute, rotation.T @ (location - origin))


def _write_joints(links: list[Link], frames: Frames, model: Model) -> None:
    joints = model.joints
    put_each([x.joint for x in links if x.joint and x.joint.kind == "EllipsoidJoint"], "radii", joints.radii)
    sides = (
        ("parent_frame", np.asarray(joints.parent_rotation), np.asarray(joints.parent_translation)),
        ("child_frame", np.asarray(joints.child_rotation), np.asarray(joints.child_translation)),
    )
    for k, link in enumerate(links):
        if link.joint is None:
            continue
        for side, rotation, translation in sides:
            path = getattr(link.joint, side)
            _, R, p = frames.on_link(path)
            if np.allclose(R, rotation[:, :, k], atol=CLOSE) and np.allclose(p, translation[:, k], rtol=CLOSE, atol=0):
                continue
            frame = frames[path]
            if not isinstance(frame, d.OffsetFrame):
                raise ModelError(
                    f"joint {link.joint.name!r}: {path} is a body's own frame; it cannot be moved on that body"
                )
            _, R_parent, p_parent = frames.on_link(frame.parent)
            put(frame, "orientation", angles_xyz(R_parent.T @ rotation[:, :, k]))
            put(frame, "translation", R_parent.T @ (translation[:, k] - p_parent))


def _write_translations(links: list[Link], original: Model, model: Model) -> None:
    """Translations within CustomJoints whose functions were multiplied, or whose axes were turned."""
    n = len(links)
    for k, link in enumerate(links):
        if link.joint is None or link.joint.kind != "CustomJoint":
            continue
        for number, axis in enumerate(link.joint.transform[3:], 3):
            row = number * n + k
            which = np.flatnonzero(model.tree.spline_transform_axis == row)
            old, new = (
                [it.joints.slopes[row], it.joints.offsets[row], *_values_of(it.joints.splines, which)]
                for it in (original, model)
            )
            axis.function = _multiplied(axis.function, old, new)
            if not np.allclose(original.joints.axes[number, :, k], model.joints.axes[number, :, k], rtol=0, atol=CLOSE):
                put(axis, "axis", model.joints.axes[number, :, k])


def _values_of(functions: PiecewisePolynomials, which: Any) -> list[Any]:
    """The numbers of some functions that are proportional to their values."""
    sines = [] if functions.sines is None else [functions.sines[0, which]]
    return [functions.coefficients[..., which], *sines]


def _multiplied(function: d.Function, old: list[Any], new: list[Any]) -> d.Function:
    """The function times what its numbers were multiplied by, if they were; `_confirm` finds any other change."""
    before, after = (np.concatenate([np.ravel(np.asarray(x)) for x in numbers]) for numbers in (old, new))
    size = before @ before
    if size == 0 or np.allclose(before, after, rtol=CLOSE, atol=0):
        return function
    scale = float(before @ after / size)
    if isinstance(function, d.MultiplierFunction):
        return d.MultiplierFunction(function.function, function.scale * scale)
    return d.MultiplierFunction(function, scale)


def _write_constraints(result: d.ModelDescription, frames: Frames, model: Model) -> None:
    enforced = [item for item in result.constraints if item.enforced]
    points = [item for item in enforced if isinstance(item, d.PointConstraint)]
    distances = [item for item in enforced if isinstance(item, d.ConstantDistanceConstraint)]
    values = model.constraint_parameters
    put_each(distances, "distance", values.distance)
    for items, locations in ((points, values.point_location), (distances, values.distance_location)):
        for side in (0, 1):
            _write_points(items, frames, locations[side], f"location{side + 1}", f"frame{side + 1}")


def _write_paths(result: d.ModelDescription, frames: Frames, original: Model, model: Model) -> None:
    points = [point for owner in result.paths() for point in owner.path.points]
    fixed = [i for i, point in enumerate(points) if not isinstance(point, d.MovingPathPoint)]
    _write_points([points[i] for i in fixed], frames, model.path.location[:, np.array(fixed, int)])
    put_each([p for p in points if isinstance(p, d.ConditionalPathPoint)], "range", model.path.conditional_range)
    moving = [point for point in points if isinstance(point, d.MovingPathPoint)]
    for k, point in enumerate(moving):
        x, y, z = (
            _multiplied(function, *(_values_of(it.path.moving_splines, 3 * k + i) for it in (original, model)))
            for i, function in enumerate(point.functions)
        )
        point.functions = (x, y, z)


def _write_surfaces(result: d.ModelDescription, frames: Frames, model: Model) -> None:
    """Wrapping surfaces: sizes, and where they are in their frames."""
    values = jax.tree.map(np.asarray, model.surfaces)
    for i, (path, surface) in enumerate(result.wrap_objects().items()):
        _, R, p = frames.on_link(path.rsplit("/", 1)[0])
        a, b, _ = sizes = values.sizes[:, i]
        match surface.kind:
            case "WrapCylinder":
                put(surface, "radius", a)
                put(surface, "length", b)
            case "WrapSphere":
                put(surface, "radius", a)
            case "WrapEllipsoid":
                put(surface, "dimensions", sizes)
            case _:
                put(surface, "inner_radius", a)
                put(surface, "outer_radius", b)
        if not np.allclose(R @ np.array(surface.translation) + p, values.translation[:, i], rtol=CLOSE, atol=0):
            put(surface, "translation", R.T @ (values.translation[:, i] - p))
        if not np.allclose(R @ rotation_xyz(np.array(surface.rotation)), values.rotation[:, :, i], atol=CLOSE):
            put(surface, "rotation", angles_xyz(R.T @ values.rotation[:, :, i]))


def _write_muscles(muscles: list[d.Muscle], original: Model, model: Model) -> None:
    for name in EVERY:
        put_each(muscles, name, getattr(model.muscles, name))
    for name in COMMON:
        called = [properties.COMMON.get(muscle.kind, {}).get(name) for muscle in muscles]
        _write_numbers(muscles, name, called, getattr(original.muscles, name), getattr(model.muscles, name))
    for name, values in model.muscles.numbers.items():
        called = [name if name in own_numbers(muscle.kind) else None for muscle in muscles]
        _write_numbers(muscles, name, called, original.muscles.numbers[name], values)


def _write_numbers(muscles: list[d.Muscle], name: str, called: Sequence[str | None], before: Any, after: Any) -> None:
    """Numbers that each class calls by its own name, written where they changed."""
    for muscle, own, old, new in zip(muscles, called, np.asarray(before), np.asarray(after), strict=True):
        if new == old:
            continue
        if own is None:
            raise ModelError(f"muscle {muscle.name!r}: a {muscle.kind} has no {name}; it cannot be saved")
        muscle.numbers[own] = float(new)
