"""Measured forces on bodies over time: OpenSim's ExternalForce.

Columns of a table become cubic splines through the samples (natural at the ends, as OpenSim's); lines if there are less than
four. At time t, the force f is at the point p, and there is a torque m; f and m are given in one frame, p in another.
"""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from ..dynamics.entry import entry
from ..dynamics.kinematics import pose
from ..errors import ModelError, nearest
from ..files.external_loads import ExternalForce, ExternalLoads
from ..force.term import last
from ..geometry.frames import placed
from ..geometry.spatial import cross, rotate
from ..model.compile.frames import Frames
from ..model.compile.functions import pieces, table
from ..model.compile.tree import Link, build_tree
from ..model.description import Constant, GCVSpline, OffsetFrame, PiecewiseLinearFunction
from ..model.model import Model, own_document
from ..model.structure import Hashed

OnLink = tuple[int, np.ndarray, np.ndarray]
"""The link that a frame is fixed to, its rotation and its origin there."""


@dataclass(eq=False, frozen=True, repr=False)
class _Places(Hashed):
    bodies: tuple[str, ...]  # of the model that the forces were made for
    body: np.ndarray  # [e] body that each force is applied to
    force_link: np.ndarray  # [e] that the force and the torque are given in
    point_link: np.ndarray  # [e] -1: the force has no point


class ExternalForces(eqx.Module):
    """External loads made ready for a model."""

    knots: Float[Array, " knots"]
    origins: Float[Array, " pieces"]
    coefficients: Float[Array, "powers pieces columns"]
    """of force, point and torque of each force [N, m, N m]"""
    span: Float[Array, "2"]
    """first and last time of the table [s]"""
    origin: Float[Array, "3 e"]
    """where the force acts without a point, in the body [m]"""
    force_rotation: Float[Array, "3 3 e"]
    """of the frame that force and torque are given in, in its link"""
    point_rotation: Float[Array, "3 3 e"]
    """of the frame that the point is given in, in its link"""
    point_origin: Float[Array, "3 e"]
    places: _Places = eqx.field(static=True)


def external_forces(model: Model, loads: ExternalLoads) -> ExternalForces:
    """Make loads ready for a model; raises for bodies and columns that do not exist."""
    if not isinstance(loads, ExternalLoads):
        raise TypeError(f"external_forces takes ExternalLoads (see read_external_loads), not a {type(loads).__name__}")
    remedy = "Pass the model that it comes from: frames of loads are not among a model's numbers"
    description = own_document(model, remedy).description
    links = build_tree(description)
    frames = Frames(description, links)
    own = _joint_frames(model, links, frames)
    forces = [force for force in loads.forces if force.applies_force]
    columns, rows = [], []
    for force in forces:
        for identifier in (force.force_identifier, force.point_identifier, force.torque_identifier):
            values = loads.columns(force, identifier) if identifier else np.zeros((len(loads.table), 3))
            columns += [_spline(loads.table.time, values[:, k]) for k in range(3)]
        rows.append(_placed(model, frames, own, force))
    together = table([pieces(column, "external force") for column in columns])
    body, origin, force_link, force_R, point_link, point_R, point_p = zip(*rows, strict=True) if rows else ((),) * 7
    time = loads.table.time
    knots, origins = (x[:, 0] if columns else jnp.zeros(0) for x in (together.knots, together.origins))
    return ExternalForces(
        knots,
        origins,
        together.coefficients,
        span=jnp.array([time[0], time[-1]]),
        origin=last(origin, (3,)),
        force_rotation=last(force_R, (3, 3)),
        point_rotation=last(point_R, (3, 3)),
        point_origin=last(point_p, (3,)),
        places=_Places(model.body_names, np.array(body, int), np.array(force_link, int), np.array(point_link, int)),
    )


def _spline(time: np.ndarray, values: np.ndarray) -> Constant | PiecewiseLinearFunction | GCVSpline:
    if len(time) == 1:
        return Constant(float(values[0]))
    x, y = tuple(map(float, time)), tuple(map(float, values))
    return PiecewiseLinearFunction(x, y) if len(time) < 4 else GCVSpline(2, 0.0, x, y)


def _joint_frames(model: Model, links: list[Link], frames: Frames) -> dict[str, OnLink]:
    """Offset frames of joints, which are numbers of the model: they may be other than the file's."""
    found: dict[str, OnLink] = {}
    for k, link in enumerate(links):
        for side in ("parent", "child") if link.joint else ():
            path = getattr(link.joint, f"{side}_frame")
            if isinstance(frames[path], OffsetFrame):
                rotation, translation = (
                    getattr(model.joints, f"{side}_{what}") for what in ("rotation", "translation")
                )
                found[path] = (frames.on_link(path)[0], np.asarray(rotation[:, :, k]), np.asarray(translation[:, k]))
    return found


def _placed(model: Model, frames: Frames, own: dict[str, OnLink], force: ExternalForce) -> tuple:
    link, _, origin = _frame(model, frames, own, force, force.applied_to_body)
    if link == 0:
        raise ModelError(f"ExternalForce {force.name!r} is applied to ground, which does not move")
    body = int(np.flatnonzero(model.tree.body_link == link)[0])
    force_link, force_rotation, _ = _frame(model, frames, own, force, force.force_expressed_in_body)
    if not force.point_identifier:
        return body, origin, force_link, force_rotation, -1, np.eye(3), np.zeros(3)
    return body, origin, force_link, force_rotation, *_frame(model, frames, own, force, force.point_expressed_in_body)


def _frame(model: Model, frames: Frames, own: dict[str, OnLink], force: ExternalForce, name: str) -> OnLink:
    """A frame by its path, or a body by its name."""
    path = name if name.startswith("/") else "/ground" if name == "ground" else f"/bodyset/{name}"
    try:
        return own[path] if path in own else frames.on_link(path)
    except ModelError:
        known = nearest(name, (*model.body_names, "ground"))
        raise ModelError(f"ExternalForce {force.name!r} names {name!r}, which is not a body{known}") from None


@entry
def _external_wrenches(
    model: Model, forces: ExternalForces, q: Float[Array, " c"], time: float | Float[Array, ""]
) -> Float[Array, "bodies 6"]:
    it, at = forces.places, pose(model, q)
    within = (time >= forces.span[0]) & (time <= forces.span[1])
    piece = jnp.sum(time >= forces.knots)
    s = time - forces.origins[piece]
    value = jnp.zeros(forces.coefficients.shape[-1])
    for c in forces.coefficients[::-1, piece]:
        value = value * s + c
    value = jnp.where(within, value, jnp.nan)
    f, p, m = jnp.moveaxis(value.reshape(-1, 3, 3), 0, -1)
    turn = at.rotation[:, :, it.force_link]
    f, m = (rotate(turn, rotate(forces.force_rotation, x)) for x in (f, m))
    link = model.tree.body_link[it.body]
    own = placed(at, link, forces.origin)
    given = placed(at, it.point_link, rotate(forces.point_rotation, p) + forces.point_origin)
    point = jnp.where(it.point_link >= 0, given, own)
    moment = m + cross(point - at.origin[:, link], f)
    onto = np.eye(len(model.body_names))[it.body]
    return (jnp.concatenate([moment, f]) @ onto).T


def external_wrenches(
    model: Model, forces: ExternalForces, q: Float[Array, " c"], time: float | Float[Array, ""]
) -> Float[Array, "bodies 6"]:
    """Moment [N m], then force at the body origin [N], on each body, in ground: what `forward_dynamics`, `inverse_dynamics` and
    `state_derivative` take as `wrenches`. A time outside the recording is an error; inside `jit`, it gives NaN."""
    if not isinstance(forces, ExternalForces):
        raise TypeError(f"external_wrenches takes ExternalForces (see external_forces), not a {type(forces).__name__}")
    if forces.places.bodies != model.body_names:
        raise ModelError(f"external_wrenches: the forces were made for a model other than {model.name!r}")
    if not isinstance(time, Tracer) and not isinstance(forces.span, Tracer):
        first, last = (float(t) for t in forces.span)
        if np.ndim(time) or not isinstance(time, np.ndarray | Array | int | float):
            raise ModelError(f"external_wrenches: time is one number, not {time!r}; for many, use jax.vmap"[:200])
        if not first <= float(time) <= last:
            raise ModelError(
                f"external_wrenches: the loads are known from {first:g} s to {last:g} s, not at {float(time):g} s"
            )
    return _external_wrenches(model, forces, q, time)
