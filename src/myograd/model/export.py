"""A compiled model made into a description again, with its present values: how a fitted model is saved.

Values that a document states as plain numbers (masses, points, frames, muscle parameters, ...) are written back. A change
that has no such number (a spline's coefficients, say) is refused, never dropped.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import jax
import numpy as np

from ..errors import ModelError
from ..geometry.spatial import angles_xyz
from . import description as d
from .compile import compile_model
from .compile_muscles import EVERY
from .export_forces import force_writers
from .frames import Frames
from .model import Model
from .muscle_properties import LEAVES, set_number
from .tree import build_tree

SAME = 1e-15  # relative: values closer than this to the description's own are left as the file spells them


def description_of(model: Model) -> d.ModelDescription:
    """The model's description with all values that differ from it brought up to date."""
    result = copy.deepcopy(model.source.description)
    changed = _changed_leaves(compile_model(result), model)
    links = build_tree(result)
    frames = Frames(result, links)
    writers: dict[str, Callable[[], None]] = {
        ".gravity": lambda: setattr(result, "gravity", _vec3(model.gravity)),
        ".bodies.mass": lambda: _set(result.bodies, "mass", model.bodies.mass),
        ".bodies.mass_center": lambda: _set(result.bodies, "mass_center", model.bodies.mass_center),
        ".bodies.inertia": lambda: _set(result.bodies, "inertia", model.bodies.inertia),
        ".coordinates.default": lambda: _set(result.coordinates(), "default_value", model.coordinates.default),
        ".coordinates.default_speed": lambda: _set(
            result.coordinates(), "default_speed", model.coordinates.default_speed
        ),
        ".coordinates.range": lambda: _set(result.coordinates(), "range", model.coordinates.range),
        ".marker_location": lambda: _write_points(result.markers, frames, model.marker_location),
        ".path.location": lambda: _write_path_points(result, frames, model),
        ".path.conditional_range": lambda: _write_conditional(result, model),
        ".joints.parent_rotation": lambda: _write_joint_frames(result, frames, model),
        ".joints.parent_translation": lambda: _write_joint_frames(result, frames, model),
        ".joints.child_rotation": lambda: _write_joint_frames(result, frames, model),
        ".joints.child_translation": lambda: _write_joint_frames(result, frames, model),
        ".joints.radii": lambda: _set(
            [x.joint for x in links if x.joint and x.joint.kind == "EllipsoidJoint"], "radii", model.joints.radii
        ),
        ".ties.distance": lambda: _set(
            [x for x in result.constraints if isinstance(x, d.ConstantDistanceConstraint) and x.enforced],
            "distance",
            model.ties.distance,
        ),
    }
    writers |= force_writers(result, model)
    for name in model.muscles.__dataclass_fields__:
        if name in EVERY:
            writers[f".muscles.{name}"] = lambda name=name: _set(result.muscles, name, getattr(model.muscles, name))
        else:
            writers[f".muscles.{name}"] = lambda name=name: _write_muscle_numbers(result, name, model)
    stuck = [leaf for leaf in changed if leaf not in writers]
    if stuck:
        raise ModelError(
            f"the model's {', '.join(stuck)} differ from the document it was read from, and changes of these cannot be saved "
            "yet; change the ModelDescription instead and compile it again"
        )
    for leaf in changed:
        writers[leaf]()
    _confirm(result, model)
    return result


def _changed_leaves(original: Model, model: Model) -> list[str]:
    before = jax.tree_util.tree_leaves_with_path(original)
    after = jax.tree_util.tree_leaves(model)
    if len(before) != len(after):
        raise ModelError("the model's arrays do not fit the document it was read from")
    names = []
    for (path, old), new in zip(before, after, strict=True):
        old, new = np.asarray(old), np.asarray(new)
        name = jax.tree_util.keystr(path)
        if old.shape != new.shape:
            raise ModelError(
                f"the model's {name} has shape {new.shape}; the document it was read from needs {old.shape}"
            )
        if not np.all(np.isfinite(new) | (new == old)):
            raise ModelError(f"the model's {name} is not finite; it cannot be saved")
        if not np.allclose(new, old, rtol=SAME, atol=0.0):
            names.append(name)
    return names


def _confirm(result: d.ModelDescription, model: Model) -> None:
    """What will be written must compile to the model that was given, or something would be lost."""
    before = jax.tree_util.tree_leaves_with_path(compile_model(result))
    for (path, written), given in zip(before, jax.tree_util.tree_leaves(model), strict=True):
        if not np.allclose(written, given, rtol=1e-9, atol=1e-12, equal_nan=True):
            raise ModelError(
                f"the model's {jax.tree_util.keystr(path)} cannot be saved: other elements depend on the same number"
            )


def _vec3(values: np.ndarray | jax.Array) -> d.Vec3:
    x, y, z = (float(v) for v in np.asarray(values))
    return x, y, z


def _set(items: list, attribute: str, values: jax.Array) -> None:
    """Element i gets column i: a float for a row of numbers, a tuple for a matrix."""
    array = np.asarray(values)
    for i, item in enumerate(items):
        column = array[..., i]
        setattr(item, attribute, float(column) if column.ndim == 0 else tuple(float(v) for v in column))


def _write_points(points: list, frames: Frames, locations: jax.Array) -> None:
    for point, location in zip(points, np.asarray(locations).T, strict=True):
        _, rotation, origin = frames.on_link(point.frame)
        point.location = _vec3(rotation.T @ (location - origin))


def _write_path_points(result: d.ModelDescription, frames: Frames, model: Model) -> None:
    points = [point for muscle in result.paths() for point in muscle.path.points]
    fixed = [i for i, point in enumerate(points) if not isinstance(point, d.MovingPathPoint)]
    _write_points([points[i] for i in fixed], frames, model.path.location[:, np.array(fixed, int)])


def _write_conditional(result: d.ModelDescription, model: Model) -> None:
    points = [point for muscle in result.paths() for point in muscle.path.points]
    _set([p for p in points if isinstance(p, d.ConditionalPathPoint)], "range", model.path.conditional_range)


def _write_muscle_numbers(result: d.ModelDescription, name: str, model: Model) -> None:
    """Numbers that each class calls by its own name, written where they changed."""
    before, after = (np.asarray(getattr(m.muscles, name)) for m in (compile_model(result), model))
    for muscle, old, new in zip(result.muscles, before, after, strict=True):
        if not np.isclose(new, old, rtol=SAME, atol=0.0):
            called = LEAVES.get(muscle.kind, {}).get(name)
            if called is None:
                raise ModelError(f"muscle {muscle.name!r}: a {muscle.kind} has no {name}; it cannot be saved")
            set_number(muscle, called, float(new))


def _write_joint_frames(result: d.ModelDescription, frames: Frames, model: Model) -> None:
    joints = model.joints
    sides = (
        ("parent_frame", np.asarray(joints.parent_rotation), np.asarray(joints.parent_translation)),
        ("child_frame", np.asarray(joints.child_rotation), np.asarray(joints.child_translation)),
    )
    for k, link in enumerate(build_tree(result)):
        if link.joint is None:
            continue
        for side, rotation, translation in sides:
            path = getattr(link.joint, side)
            _, R, p = frames.on_link(path)
            if np.allclose(R, rotation[:, :, k], atol=1e-14) and np.allclose(p, translation[:, k], rtol=SAME, atol=0):
                continue
            frame = frames[path]
            if not isinstance(frame, d.OffsetFrame):
                raise ModelError(
                    f"joint {link.joint.name!r}: {path} is a body's own frame; it cannot be moved on that body"
                )
            _, R_parent, p_parent = frames.on_link(frame.parent)
            frame.orientation = _vec3(angles_xyz(R_parent.T @ rotation[:, :, k]))
            frame.translation = _vec3(R_parent.T @ (translation[:, k] - p_parent))
