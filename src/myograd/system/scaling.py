"""A model of another size: bodies stretched along their own axes, as OpenSim's `Model.scale` does.

Everything fixed to a body is placed anew by that body's factors s, `x' = s x` component by component along the body's axes:
joint frames, points of paths, wrapping surfaces, markers, mass centres; translations within a CustomJoint and radii of an
EllipsoidJoint by those of the joint's parent. Orientations stay. Sizes of a surface grow by the stretch of its own axes. Optimal
fibre, tendon slack and resting lengths grow as the whole path does in the default pose. (OpenSim stretches what is given in a
frame that is turned on its body along the axes of that frame: the same where it is not turned, or the factors are equal.)

Masses stay. Inertia is that of the stretched body, `S' = D S D` with `S = tr(I)/2 1 - I`: OpenSim's, times s^2, where the three
factors are equal; where they are not, OpenSim takes the body for a cylinder, which jumps where the factors become equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from ..dynamics.assembly import assemble
from ..dynamics.entry import accepted, need_constraints
from ..dynamics.kinematics import pose
from ..errors import ModelError, nearest
from ..force.bushing import Bushings
from ..force.contact_geometry import ContactSurfaces
from ..force.ligament import Ligaments
from ..force.path_spring import PathSprings
from ..force.point_spring import PointSprings
from ..force.term import Law, Term
from ..geometry.piecewise import PiecewisePolynomials
from ..model import description as d
from ..model.compile.frames import Frames
from ..model.compile.tree import Link, build_tree
from ..model.model import Bodies, Joints, Model, PathValues, Surfaces, own_document
from ..path.length import lengths_and_gradient
from .forces import need_forces

ALIGNED = 1e-12  # of a rotation's components: below, axes are the same


@dataclass(frozen=True)
class _Stretch:
    """Factors of every link, and where all three are one number whatever its value is."""

    factors: Float[Array, "3 n"]
    uniform: np.ndarray  # [n] bool
    changed: np.ndarray  # [n] bool: links of bodies that are named


def scaled(model: Model, factors: Mapping[str, Any], accept: tuple[str, ...] = ()) -> Model:
    """A copy of the model with bodies of another size, `{"femur_r": (1.0, 1.1, 1.0), "tibia_r": 1.05}`: three factors along the
    body's axes x, y, z, or one for all. They may be traced.

    What OpenSim's `Model.scale` scales: joint frames, points of paths, wrapping surfaces, markers, mass centres and inertia, and
    with the length of its path in the default pose each muscle's optimal fibre and tendon slack length. Masses stay
    (`with_values` changes them). What cannot be scaled rightly (contacts, bushings, constraints between points) is refused by
    name, where it is on a body that changes.
    """
    accept = accepted(model, "scaled", accept)
    need_constraints(model, "scaled", accept)
    need_forces(model, "scaled", accept)
    description = own_document(model, "Scale the model that it comes from").description
    stretch = _stretch(model, factors)
    links = build_tree(description)
    _refuse(model, description, links, stretch)
    result = replace(
        model,
        bodies=_bodies(model, stretch),
        joints=_joints(model, links, stretch),
        marker_location=model.marker_location * stretch.factors[:, np.array(model.marker_link, int)],
        path=_path(model, stretch),
        surfaces=_surfaces(model, stretch),
        constraint_parameters=replace(
            model.constraint_parameters,
            weld_location=model.constraint_parameters.weld_location
            * jnp.moveaxis(stretch.factors[:, model.constraints.welds], -1, 0),
        ),
    )
    longer = _path_lengths(result, accept) / _path_lengths(model, accept)
    m = len(model.muscle_names)
    muscles = replace(
        model.muscles,
        optimal_fiber_length=model.muscles.optimal_fiber_length * longer[:m],
        tendon_slack_length=model.muscles.tendon_slack_length * longer[:m],
    )
    return replace(result, muscles=muscles, terms=tuple(_term(term, longer) for term in model.terms))


def _stretch(model: Model, factors: Mapping[str, Any]) -> _Stretch:
    of_body, uniform = jnp.ones((3, len(model.body_names))), np.ones(len(model.body_names), bool)
    named = np.zeros(len(model.body_names), bool)
    for name, given in factors.items():
        if name not in model.body_names:
            raise ModelError(f"{model.name!r} has no body {name!r}{nearest(name, model.body_names)}")
        traced = any(isinstance(x, Tracer) for x in jax.tree.leaves(given))
        value = jnp.asarray(given, float) if traced else np.asarray(given, float)
        if value.shape not in ((), (3,)):
            raise ModelError(f"scaled: the factors of {name!r} have shape {value.shape}; give one number, or three")
        if not traced and not (np.isfinite(value).all() and (value > 0).all()):
            raise ModelError(f"scaled: the factors of {name!r} are {given}; they must be positive")
        k = model.body_names.index(name)
        of_body = of_body.at[:, k].set(value)
        uniform[k] = value.ndim == 0 or (not traced and np.ptp(value) == 0)
        named[k] = traced or bool(np.any(value != 1))
    body = model.tree.link_body
    of_link = jnp.where(body >= 0, of_body[:, body], 1.0)
    return _Stretch(of_link, (body < 0) | uniform[body], (body >= 0) & named[body])


# What cannot be scaled ---------------------------------------------------------------------------------------


def _refuse(model: Model, description: d.ModelDescription, links: list[Link], stretch: _Stretch) -> None:
    """Raise for all that the rules do not hold for, on bodies that change."""
    frames = Frames(description, links)
    found: dict[str, list[str]] = {}
    for owner in description.paths():
        for point in owner.path.points:
            if isinstance(point, d.MovingPathPoint) and _turned(frames, point.frame, stretch):
                found.setdefault("moving points in frames that are turned", []).append(f"{owner.name}.{point.name}")
    for joint in description.joints:
        if joint.kind == "EllipsoidJoint" and _turned(frames, joint.parent_frame, stretch):
            found.setdefault("ellipsoids in frames that are turned", []).append(joint.name)
    for constraint in description.constraints:
        if isinstance(constraint, d.CoordinateCoupler):
            if _slides(description, constraint, frames, stretch):
                found.setdefault("couplers that set a translation", []).append(constraint.name)
        elif not isinstance(constraint, d.WeldConstraint):
            ends = [frames.on_link(path)[0] for path in (constraint.frame1, constraint.frame2)]
            if stretch.changed[ends].any():
                found.setdefault("constraints between points", []).append(constraint.name)
    for term in model.terms:
        for name in _between_changed(term, model.contact_surfaces, stretch):
            found.setdefault("forces between bodies", []).append(name)
    if found:
        listed = "; ".join(f"{what}: {', '.join(dict.fromkeys(names))}" for what, names in found.items())
        raise ModelError(
            f"{model.name!r} cannot be scaled rightly by these factors, as they change bodies with {listed}"
        )


def _turned(frames: Frames, path: str, stretch: _Stretch) -> bool:
    """Whether the axes of a frame are not those of its body, which is stretched unevenly."""
    link, rotation, _ = frames.on_link(path)
    return not stretch.uniform[link] and not np.allclose(rotation, np.eye(3), rtol=0, atol=ALIGNED)


def _slides(description: d.ModelDescription, coupler: d.CoordinateCoupler, frames: Frames, stretch: _Stretch) -> bool:
    """Whether a coupler sets a translation, in metres of the old size."""
    for joint in description.joints:
        for coordinate in joint.coordinates:
            if coordinate.name == coupler.dependent and coordinate.motion_type == "translational":
                return coupler.enforced and bool(stretch.changed[frames.on_link(joint.parent_frame)[0]])
    return False


def _between_changed(term: Term, surfaces: ContactSurfaces, stretch: _Stretch) -> list[str]:
    """Forces between bodies of which one changes: their places and stiffnesses are not scaled."""
    if not isinstance(term, Law):
        return [type(term).__name__]
    if isinstance(term, Bushings | PointSprings):
        return [name for name, pair in zip(term.names, term.links, strict=True) if stretch.changed[list(pair)].any()]
    pairs = getattr(term, "surfaces", None)
    if pairs is None or not len(pairs) or not stretch.changed[surfaces.links(np.array(pairs))].any():
        return []
    return list(term.names)


# What is ---------------------------------------------------------------------------------------------------


def _bodies(model: Model, stretch: _Stretch) -> Bodies:
    s = stretch.factors[:, model.tree.body_link]
    xx, yy, zz, xy, xz, yz = model.bodies.inertia
    second = jnp.stack([yy + zz - xx, zz + xx - yy, xx + yy - zz]) / 2 * s**2  # diagonal of S'
    total = jnp.sum(second, axis=0)
    products = jnp.stack([xy * s[0] * s[1], xz * s[0] * s[2], yz * s[1] * s[2]])
    return Bodies(
        mass=model.bodies.mass,
        mass_center=model.bodies.mass_center * s,
        inertia=jnp.concatenate([total - second, products]),
    )


def _joints(model: Model, links: list[Link], stretch: _Stretch) -> Joints:
    joints, tree, s = model.joints, model.tree, stretch.factors
    n = len(links)
    child = np.where(tree.reversed, tree.inboard, np.arange(n))
    custom = np.array([link.joint is not None and link.joint.kind == "CustomJoint" for link in links], bool)
    parent = s[:, tree.joint_parent]
    R = joints.parent_rotation
    stretched = jnp.einsum("yxn,yn,yzn,azn->axn", R, parent, R, joints.axes[3:])  # R^T S R a: slides along and across
    squared = jnp.sum(stretched**2, axis=1)
    size = jnp.sqrt(jnp.where(squared > 0, squared, 1.0))
    along = jnp.where(custom & (squared > 0), size, 1.0)
    slides = jnp.where(
        (custom & ~stretch.uniform[tree.joint_parent])[None, None], stretched / along[:, None], joints.axes[3:]
    )
    amounts = jnp.concatenate([jnp.ones(3 * n), along.reshape(3 * n)])
    return replace(
        joints,
        parent_translation=joints.parent_translation * parent,
        child_translation=joints.child_translation * s[:, child],
        axes=jnp.concatenate([joints.axes[:3], slides]),
        slopes=joints.slopes * amounts[:, None],
        offsets=joints.offsets * amounts,
        splines=_times(joints.splines, amounts[tree.spline_transform_axis]),
        radii=joints.radii * s[:, tree.joint_parent[tree.ellipsoids[:, 0]]],
    )


def _times(functions: PiecewisePolynomials, factors: Float[Array, " n"]) -> PiecewisePolynomials:
    """Functions whose values are multiplied."""
    sines = functions.sines
    if sines is not None:
        sines = sines.at[0].multiply(factors)
    return eqx.tree_at(
        lambda it: (it.coefficients, it.sines),
        functions,
        (functions.coefficients * factors, sines),
        is_leaf=lambda x: x is None,
    )


def _path(model: Model, stretch: _Stretch) -> PathValues:
    """A moving point's functions are along the axes of its frame, which are those of the body, or all factors are equal."""
    at = stretch.factors[:, model.paths.point_link]
    moving = at[:, model.paths.moving].T.reshape(-1)  # x, y, z of each
    return replace(
        model.path, location=model.path.location * at, moving_splines=_times(model.path.moving_splines, moving)
    )


def _surfaces(model: Model, stretch: _Stretch) -> Surfaces:
    s = stretch.factors[:, model.wraps.surface_link]
    x, y, z = jnp.sqrt(jnp.sum((model.surfaces.rotation * s[:, None]) ** 2, axis=0))  # stretch of the surface's axes
    across = (x + y) / 2
    one = jnp.ones_like(x)
    by_kind = {
        "WrapCylinder": (across, z, one),
        "WrapSphere": ((x + y + z) / 3, one, one),
        "WrapEllipsoid": (x, y, z),
        "WrapTorus": (across, across, one),
    }
    sizes = model.surfaces.sizes
    for k, kind in enumerate(model.names.surface_kinds):
        sizes = sizes.at[:, k].multiply(jnp.stack([size[k] for size in by_kind[kind]]))
    return replace(model.surfaces, translation=model.surfaces.translation * s, sizes=sizes)


def _term(term: Term, longer: Float[Array, " p"]) -> Term:
    if isinstance(term, Ligaments | PathSprings):
        return replace(term, resting_length=term.resting_length * longer[np.array(term.path)])
    return term


def _path_lengths(model: Model, accept: tuple[str, ...]) -> Float[Array, " p"]:
    """In the default pose; 1 for muscles whose path could not be read."""
    q = assemble(model, model.default_pose(), accept=accept)
    return lengths_and_gradient(model, pose(model, q), q)[0].at[np.array(model.paths.no_path, int)].set(1.0)
