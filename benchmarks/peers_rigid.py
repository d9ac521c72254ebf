"""Accelerations of a tree of hinges by MuJoCo's C engine, Pinocchio and Myograd.

One `Tree` of made-up numbers is written for all three: hinge i turns about the z axis of a frame fixed in its parent
link; the link beyond it has a mass, a mass centre and a full inertia.
"""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false
# (Pinocchio comes with the benchmarks only, and without types.)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pinocchio
from ours import batched, repeated, runner, streamed
from scipy.spatial.transform import Rotation
from timing import Timing, agree, timed

import myograd as mg
from myograd.model.description import Body, Coordinate, Joint, ModelDescription, OffsetFrame

mujoco: Any = import_module("mujoco")  # in the bench extra only; its types are not visible to the type checker

GRAVITY = (0.0, -9.80665, 0.0)


@dataclass(frozen=True)
class Tree:
    parent: list[int]  # -1: ground
    place: np.ndarray  # [n, 3] of the hinge in the parent link [m]
    angles: np.ndarray  # [n, 3] its orientation there: turns about x, then y, then z
    mass: np.ndarray  # [n] [kg]
    center: np.ndarray  # [n, 3] mass centre in the link [m]
    inertia: np.ndarray  # [n, 3, 3] about the mass centre [kg m^2]

    def rotations(self) -> Rotation:
        return Rotation.from_euler("XYZ", self.angles)


def random_tree(hinges: int, seed: int = 7) -> Tree:
    """Each link hangs on the one before it, or on that one's parent or grandparent: branches and depth.

    This gives links in depth-first order, which is how MuJoCo numbers them.
    """
    random = np.random.default_rng(seed)
    parent = [-1]
    for i in range(1, hinges):
        chain = [i - 1, *ancestors(parent, i - 1)][:3]
        parent.append(chain[random.integers(len(chain))])
    mass = random.uniform(0.5, 5.0, hinges)
    axes = Rotation.random(hinges, rng=random).as_matrix()
    spread = np.einsum("nij,nj,nkj->nik", axes, random.uniform(0.001, 0.01, (hinges, 3)), axes)
    inertia = mass[:, None, None] * (np.trace(spread, axis1=1, axis2=2)[:, None, None] * np.eye(3) - spread)
    return Tree(
        parent,
        place=random.uniform(-0.3, 0.3, (hinges, 3)),
        angles=random.uniform(-1.0, 1.0, (hinges, 3)),
        mass=mass,
        center=random.uniform(-0.1, 0.1, (hinges, 3)),
        inertia=inertia,
    )


def ancestors(parent: list[int], link: int) -> list[int]:
    """From the parent up to the root."""
    above = parent[link]
    return [] if above < 0 else [above, *ancestors(parent, above)]


def six(inertia: np.ndarray) -> tuple[float, float, float, float, float, float]:
    """xx yy zz xy xz yz, the order of both OpenSim and MuJoCo."""
    xx, yy, zz = (float(x) for x in np.diag(inertia))
    return (xx, yy, zz, float(inertia[0, 1]), float(inertia[0, 2]), float(inertia[1, 2]))


def for_mujoco(tree: Tree) -> Any:
    quaternions = tree.rotations().as_quat(scalar_first=True)

    def numbers(values: np.ndarray | tuple[float, ...]) -> str:
        return " ".join(repr(float(x)) for x in values)

    def link(i: int) -> str:
        beyond = "".join(link(child) for child in range(i + 1, len(tree.parent)) if tree.parent[child] == i)
        return (
            f'<body name="link{i}" pos="{numbers(tree.place[i])}" quat="{numbers(quaternions[i])}">'
            f'<joint type="hinge" axis="0 0 1"/>'
            f'<inertial pos="{numbers(tree.center[i])}" mass="{float(tree.mass[i])!r}" '
            f'fullinertia="{numbers(six(tree.inertia[i]))}"/>{beyond}</body>'
        )

    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option gravity="{numbers(GRAVITY)}"/><worldbody>{link(0)}</worldbody></mujoco>'
    )


def for_pinocchio(tree: Tree) -> pinocchio.Model:
    model, rotations = pinocchio.Model(), tree.rotations().as_matrix()
    model.gravity.linear = np.array(GRAVITY)
    for i, parent in enumerate(tree.parent):
        place = pinocchio.SE3(rotations[i], tree.place[i])
        hinge = model.addJoint(parent + 1, pinocchio.JointModelRZ(), place, f"hinge{i}")  # joint 0 is the ground
        inertia = pinocchio.Inertia(float(tree.mass[i]), tree.center[i], tree.inertia[i])
        model.appendBodyToJoint(hinge, inertia, pinocchio.SE3.Identity())
    return model


def for_myograd(tree: Tree) -> mg.Model:
    def hinge(i: int, parent: int) -> Joint:
        frame = OffsetFrame(
            "hinge",
            "/ground" if parent < 0 else f"/bodyset/link{parent}",
            translation=tuple(tree.place[i].tolist()),
            orientation=tuple(tree.angles[i].tolist()),
        )
        return Joint(
            "PinJoint",
            f"hinge{i}",
            parent_frame=f"/jointset/hinge{i}/hinge",
            child_frame=f"/bodyset/link{i}",
            coordinates=[Coordinate(f"angle{i}")],
            frames=[frame],
        )

    bodies = [
        Body(f"link{i}", float(tree.mass[i]), tuple(tree.center[i].tolist()), six(tree.inertia[i]))
        for i in range(len(tree.parent))
    ]
    joints = [hinge(i, parent) for i, parent in enumerate(tree.parent)]
    return mg.compile_model(ModelDescription("tree", gravity=GRAVITY, bodies=bodies, joints=joints))


@dataclass(frozen=True)
class RigidRow:
    """Accelerations of a tree of `hinges`; `*_call` is what one call from Python costs its peer [µs]."""

    hinges: int
    mujoco: Timing
    mujoco_call: float
    pinocchio: Timing
    pinocchio_call: float
    stream: Timing
    batch: Timing
    difference: float


def measure(hinges: int, seconds: float) -> RigidRow:
    """All three on the same tree at the same poses; raises if their accelerations differ."""
    tree, random = random_tree(hinges), np.random.default_rng(3)
    q, u = random.uniform(-1.0, 1.0, (2, 100, hinges))
    by_mujoco, mujoco_call = mujoco_accelerations(for_mujoco(tree))
    by_pinocchio, pinocchio_call = pinocchio_accelerations(for_pinocchio(tree))
    model = for_myograd(tree)

    def accelerations(q, u):
        return mg.forward_dynamics(model, q, u)

    many = repeated(q), repeated(u)
    batch, stream = batched(accelerations), streamed(accelerations)
    ours = np.asarray(batch(*many))[: len(q)]
    agree("one pose at a time and a batch", np.asarray(stream(*many))[: len(q)], ours, 1e-12)
    rows, differences = list(zip(q, u, strict=True)), []
    for name, peer in (("MuJoCo", by_mujoco), ("Pinocchio", by_pinocchio)):
        theirs = np.array([peer(*row).copy() for row in rows])
        differences.append(agree(f"tree of {hinges} hinges, {name}", ours, theirs, 1e-9))

    def sweep(peer: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[[], None]:
        def call() -> None:
            for q_row, u_row in rows:
                peer(q_row, u_row)

        return call

    return RigidRow(
        hinges,
        timed(sweep(by_mujoco), len(q), seconds),
        timed(mujoco_call, 1, 0.02).median,
        timed(sweep(by_pinocchio), len(q), seconds),
        timed(pinocchio_call, 1, 0.02).median,
        timed(runner(stream, *many), len(many[0]), seconds),
        timed(runner(batch, *many), len(many[0]), seconds),
        max(differences),
    )


Peer = tuple[Callable[[np.ndarray, np.ndarray], np.ndarray], Callable[[], object]]


def mujoco_accelerations(model: Any) -> Peer:
    """`mj_forward` as a function of one pose, and a call that does nothing but cross from Python to C."""
    data = mujoco.MjData(model)
    position, velocity, answer, forward = data.qpos, data.qvel, data.qacc, mujoco.mj_forward

    def accelerations(q: np.ndarray, u: np.ndarray) -> np.ndarray:
        position[:] = q
        velocity[:] = u
        forward(model, data)
        return answer

    def nothing() -> None:
        position[:] = 0.0
        velocity[:] = 0.0
        mujoco.mj_isDual(model)

    return accelerations, nothing


def pinocchio_accelerations(model: pinocchio.Model) -> Peer:
    """`aba` as a function of one pose, and a call that does next to nothing."""
    data, tau, aba = model.createData(), np.zeros(model.nv), pinocchio.aba

    def accelerations(q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return aba(model, data, q, u, tau)

    return accelerations, lambda: pinocchio.computeTotalMass(model)
