"""A description made into a `Model`: one function, `compile_model`. Everything here is NumPy and runs once."""

from __future__ import annotations

import copy
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import jax
import numpy as np

from ..._arrays import as_array
from ...errors import ModelError
from .. import description as d
from ..model import Bodies, Coordinates, Document, Model
from ..structure import Names
from .constraints import compile_constraints
from .forces import compile_forces, control_names
from .frames import Frames
from .joints import compile_joints
from .muscles import compile_muscles
from .paths import compile_paths
from .places import Places
from .tree import Link, build_tree

jax.config.update("jax_enable_x64", True)  # results here are only right in double precision


def _keep_compiled_code() -> None:
    """Compiled functions are kept on disk, so that they compile once per machine. JAX_COMPILATION_CACHE_DIR moves or, set
    empty, ends that."""
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ and getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
        jax.config.update("jax_compilation_cache_dir", str(home / "myograd" / "compiled"))
        # Small programs too: a command needs several, and each takes longer to compile than to read.
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


_keep_compiled_code()


def compile_model(description: d.ModelDescription, opensim_coriolis: bool = False) -> Model:
    """The computable form of a description.

    `opensim_coriolis` reproduces OpenSim's velocity terms of CustomJoints in which one coordinate drives several
    rotations; these are not the derivative of its own mass matrix (see the page Sharp bits).
    """
    links = build_tree(description)
    frames = Frames(description, links)
    coordinates = description.coordinates()
    index = unique_index([c.name for c in coordinates], "coordinate")
    unique_index([f.name for f in (*description.muscles, *description.forces)], "force")
    controls = control_names(description)
    joints, tree = compile_joints(description, links, frames, index, opensim_coriolis)
    constraint_parameters, constraints = compile_constraints(description, links, frames, index, tree)
    muscles, muscle_classes = compile_muscles(description.muscles, controls)
    path, surfaces, paths, wraps = compile_paths(description, frames, index, tree)
    contact_surfaces, terms = compile_forces(description, Places(description, frames, index, controls))
    marker_places = [frames.place(marker.frame, marker.location) for marker in description.markers]
    document = Document(copy.deepcopy(description), fingerprint_of(description))  # the caller may go on editing theirs
    bodies = description.bodies
    return Model(
        gravity=as_array(description.gravity),
        bodies=Bodies(
            mass=as_array([b.mass for b in bodies]),
            mass_center=columns([b.mass_center for b in bodies], 3),
            inertia=columns([b.inertia for b in bodies], 6),
        ),
        joints=joints,
        coordinates=Coordinates(
            default=as_array([c.default_value for c in coordinates]),
            default_speed=as_array([c.default_speed for c in coordinates]),
            range=columns([c.range for c in coordinates], 2),
        ),
        constraint_parameters=constraint_parameters,
        marker_location=columns([location for _, location in marker_places], 3),
        path=path,
        surfaces=surfaces,
        muscles=muscles,
        contact_surfaces=contact_surfaces,
        terms=terms,
        fingerprint=as_array(document.fingerprint),
        tree=tree,
        constraints=constraints,
        paths=paths,
        wraps=wraps,
        muscle_classes=muscle_classes,
        marker_link=tuple(link for link, _ in marker_places),
        names=_names(description, links, controls),
        document=document,
    )


def _names(description: d.ModelDescription, links: list[Link], controls: tuple[str, ...]) -> Names:
    coordinates = description.coordinates()
    joints = {c.name: joint.name for joint in description.joints for c in joint.coordinates}
    return Names(
        bodies=tuple(b.name for b in description.bodies),
        links=tuple(link.name for link in links),
        coordinates=tuple(c.name for c in coordinates),
        coordinate_joints=tuple(joints[c.name] for c in coordinates),
        rotational=tuple(c.motion_type == "rotational" for c in coordinates),
        muscles=tuple(m.name for m in description.muscles),
        paths=tuple(owner.name for owner in description.paths()),
        points=tuple(point.name for owner in description.paths() for point in owner.path.points),
        surfaces=tuple("/".join(path.split("/")[-2:]) for path in description.wrap_objects()),
        surface_kinds=tuple(surface.kind for surface in description.wrap_objects().values()),
        markers=tuple(m.name for m in description.markers),
        joints=tuple(link.joint.name if link.joint else "" for link in links),
        controls=controls,
        unsupported=tuple((part.severity, part.kind, part.name) for part in description.unsupported),
    )


def fingerprint_of(description: d.ModelDescription) -> float:
    """A number that tells documents apart: 52 bits of a digest, which a float holds exactly. It is a leaf: below 1, it does not
    drown the others in a norm of all leaves."""
    return int(hashlib.sha256(repr(description).encode()).hexdigest()[:13], 16) / 2**52


def columns(rows: Sequence[Sequence[float] | np.ndarray], size: int) -> jax.Array:
    """`[size, n]` from n rows."""
    return as_array(np.array(rows, float).reshape(len(rows), size).T)


def unique_index(names: list[str], what: str) -> dict[str, int]:
    index: dict[str, int] = {}
    for i, name in enumerate(names):
        if name in index:
            raise ModelError(f"two {what}s are named {name!r}; give each its own name")
        index[name] = i
    return index
