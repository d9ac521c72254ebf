"""A description made into a `Model`: one function, `compile_model`. Everything here is NumPy and runs once."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import ModelError
from . import description as d
from .compile_constraints import compile_constraints
from .compile_forces import compile_forces
from .compile_joints import compile_joints
from .compile_muscles import compile_muscles
from .compile_paths import compile_paths
from .frames import Frames
from .model import Bodies, Coordinates, Model
from .structure import Names, Source
from .tree import build_tree

jax.config.update("jax_enable_x64", True)  # results here are only right in double precision


def _keep_compiled_code() -> None:
    """Compiled functions are kept on disk, so that they compile once per machine. JAX_COMPILATION_CACHE_DIR moves or, set
    empty, ends that."""
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ and getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
        jax.config.update("jax_compilation_cache_dir", str(home / "myograd" / "compiled"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)


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
    joints, tree = compile_joints(description, links, frames, index, opensim_coriolis)
    ties, constraints = compile_constraints(description, links, frames, index, tree)
    muscles, muscle_kinds = compile_muscles(description.muscles)
    path, surfaces, paths, wraps = compile_paths(description, frames, index, tree)
    forces, force_parts = compile_forces(description, frames, index)
    marker_places = [frames.place(marker.frame, marker.location) for marker in description.markers]
    bodies = description.bodies
    return Model(
        gravity=jnp.array(description.gravity),
        bodies=Bodies(
            mass=jnp.array([b.mass for b in bodies], float),
            mass_center=columns([b.mass_center for b in bodies], 3),
            inertia=columns([b.inertia for b in bodies], 6),
        ),
        joints=joints,
        coordinates=Coordinates(
            default=jnp.array([c.default_value for c in coordinates], float),
            default_speed=jnp.array([c.default_speed for c in coordinates], float),
            range=columns([c.range for c in coordinates], 2),
        ),
        ties=ties,
        marker_location=columns([location for _, location in marker_places], 3),
        path=path,
        surfaces=surfaces,
        muscles=muscles,
        forces=forces,
        tree=tree,
        constraints=constraints,
        paths=paths,
        muscle_kinds=muscle_kinds,
        wraps=wraps,
        force_parts=force_parts,
        marker_link=tuple(link for link, _ in marker_places),
        names=Names(
            model=description.name,
            bodies=tuple(b.name for b in bodies),
            links=tuple(link.name for link in links),
            coordinates=tuple(c.name for c in coordinates),
            muscles=tuple(m.name for m in description.muscles),
            paths=tuple(owner.name for owner in description.paths()),
            markers=tuple(m.name for m in description.markers),
            rotational=tuple(c.motion_type == "rotational" for c in coordinates),
            unread=tuple(description.unread),
        ),
        source=Source(copy.deepcopy(description)),  # the caller may go on editing theirs
    )


def columns(rows: Sequence[Sequence[float] | np.ndarray], size: int) -> jax.Array:
    """`[size, n]` from n rows."""
    return jnp.asarray(np.array(rows, float).reshape(len(rows), size).T)


def unique_index(names: list[str], what: str) -> dict[str, int]:
    index: dict[str, int] = {}
    for i, name in enumerate(names):
        if name in index:
            raise ModelError(f"two {what}s are named {name!r}; give each its own name")
        index[name] = i
    return index
