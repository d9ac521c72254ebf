"""The same quantities by OpenSim, one thread, from Python.

Each is asked for in the fastest way we know: rigid-body quantities of a model without forces and controllers (muscles
cost time in `realizeAcceleration` even when switched off), paths of a model without wrapping if so wished, and results left in
OpenSim's memory where it keeps them. What remains of Python is the cost of the calls, which is measured on its own.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import opensim
from timing import Timing, timed

opensim.Logger.setLevelString("Off")
opensim.Logger.removeFileSink()


class Side:
    """A model, its state, and poses to put it in."""

    def __init__(self, model: opensim.Model, names: tuple[str, ...], q: np.ndarray, u: np.ndarray):
        self.model, self.state = model, model.initSystem()
        coordinates = model.getCoordinateSet()
        self.coordinates = [coordinates.get(name) for name in names]
        self.speed_index = self._speed_index()
        self.poses = [(self._q(q_row), self.speeds(u_row)) for q_row, u_row in zip(q, u, strict=True)]

    def _speed_index(self) -> np.ndarray:
        """Where in the state's u each coordinate's speed is."""
        at = []
        for coordinate in self.coordinates:
            self.state.setU(opensim.Vector(self.state.getNU(), 0.0))
            coordinate.setSpeedValue(self.state, 1.0)
            at.append(int(np.argmax(self.state.getU().to_numpy())))
        return np.array(at)

    def _q(self, values: np.ndarray) -> opensim.Vector:
        for coordinate, value in zip(self.coordinates, values, strict=True):
            if not coordinate.getLocked(self.state):  # those stay at their default
                coordinate.setValue(self.state, float(value), False)
        return opensim.Vector(self.state.getQ())

    def speeds(self, values: np.ndarray) -> opensim.Vector:
        """A state's u from speeds in the order of the coordinates."""
        u = opensim.Vector(len(values), 0.0)
        for at, value in zip(self.speed_index, values, strict=True):
            u.set(int(at), float(value))
        return u


class OpenSim:
    """OpenSim's answers at some poses, and the time they take.

    Args:
        path: the `.osim` file.
        names: coordinates, in the order of the columns of q and u.
        q, u: `[poses, coordinates]`; pack or random, constraints satisfied.
        few: how many of the poses to use for moment arms, which are slow.
        wrapping: whether paths keep their wrapping surfaces.
    """

    def __init__(
        self, path: Path, names: tuple[str, ...], q: np.ndarray, u: np.ndarray, few: int, wrapping: bool = False
    ):
        skeleton = opensim.Model(str(path))
        skeleton.updForceSet().clearAndDestroy()
        skeleton.updControllerSet().clearAndDestroy()
        paths = opensim.Model(str(path))
        muscles = paths.getMuscles()
        if not wrapping:
            for i in range(muscles.getSize()):
                muscles.get(i).updGeometryPath().updWrapSet().clearAndDestroy()
        self.skeleton, self.paths, self.few = Side(skeleton, names, q, u), Side(paths, names, q, u), few
        self.none = opensim.Vector()  # no forces, no accelerations
        muscles = paths.getMuscles()
        self.muscles = [muscles.get(i) for i in range(muscles.getSize())]
        state = self.paths.state
        self.independent = [
            c
            for c in self.paths.coordinates
            if not (c.getLocked(state) or c.isPrescribed(state) or c.isDependent(state))
        ]

    # One pose of each quantity ------------------------------------------------------------------------------------

    def body_poses(self, k: int) -> None:
        at = self.skeleton
        at.state.setQ(at.poses[k][0])
        at.model.realizePosition(at.state)

    def mass_and_bias(self, k: int) -> tuple[opensim.Matrix, opensim.Vector]:
        at, mass, bias, none = self.skeleton, opensim.Matrix(), opensim.Vector(), self.none
        at.state.setQ(at.poses[k][0])
        at.state.setU(at.poses[k][1])
        at.model.realizeVelocity(at.state)
        matter = at.model.getMatterSubsystem()
        matter.calcM(at.state, mass)
        gravity = at.model.getGravityBodyForces(at.state)
        matter.calcResidualForceIgnoringConstraints(at.state, none, gravity, none, bias)
        return mass, bias

    def accelerations(self, k: int) -> None:
        at = self.skeleton
        at.state.setQ(at.poses[k][0])
        at.state.setU(at.poses[k][1])
        at.model.realizeAcceleration(at.state)

    def lengths(self, k: int) -> list[float]:
        at = self.paths
        at.state.setQ(at.poses[k][0])
        at.model.realizePosition(at.state)
        state = at.state
        return [muscle.getLength(state) for muscle in self.muscles]

    def moment_arms(self, k: int) -> list[list[float]]:
        at = self.paths
        at.state.setQ(at.poses[k][0])
        at.model.realizePosition(at.state)
        state, independent = at.state, self.independent
        return [[muscle.computeMomentArm(state, c) for c in independent] for muscle in self.muscles]

    # Time ---------------------------------------------------------------------------------------------------------

    def time(self, quantity: str, seconds: float) -> tuple[Timing, float]:
        """Time per pose, and how much of it [µs] the calls from Python take."""
        paths, arms = len(self.muscles), len(self.muscles) * len(self.independent)
        ways: dict[str, tuple[Callable[[int], object], int, int]] = {  # function, poses, calls per pose
            "body poses": (self.body_poses, len(self.skeleton.poses), 2),
            "mass matrix + bias": (self.mass_and_bias, len(self.skeleton.poses), 9),
            "accelerations": (self.accelerations, len(self.skeleton.poses), 3),
            "muscle lengths": (self.lengths, len(self.skeleton.poses), 2 + paths),
            "moment arms": (self.moment_arms, self.few, 2 + arms),
        }
        function, poses, calls = ways[quantity]

        def sweep() -> None:
            for k in range(poses):
                function(k)

        return timed(sweep, poses, seconds, least=3), calls * self.call_cost()

    def call_cost(self) -> float:
        """Microseconds of one call from Python: reading a length that OpenSim has already worked out."""
        self.lengths(0)
        state, muscles = self.paths.state, self.muscles
        read = timed(lambda: [muscle.getLength(state) for muscle in muscles], len(muscles), 0.02)
        return read.median

    # Values, in the order of the coordinates ----------------------------------------------------------------------

    def values(self, quantity: str, body_names: tuple[str, ...]) -> np.ndarray:
        """`[poses, ...]`; body poses as `[R p]`, mass matrix and bias side by side."""
        order, many = self.skeleton.speed_index, range(len(self.skeleton.poses))
        if quantity == "body poses":
            return np.array([self._placed(k, body_names) for k in many])
        if quantity == "mass matrix + bias":
            both = [self.mass_and_bias(k) for k in many]
            columns = [np.column_stack([M.to_numpy()[:, order], b.to_numpy()]) for M, b in both]
            return np.array(columns)[:, order]
        if quantity == "accelerations":
            return np.array([self._accelerated(k) for k in many])[:, order]
        if quantity == "muscle lengths":
            return np.array([self.lengths(k) for k in many])
        return np.array([self.moment_arms(k) for k in range(self.few)])

    def _placed(self, k: int, body_names: tuple[str, ...]) -> np.ndarray:
        self.body_poses(k)
        bodies, out = self.skeleton.model.getBodySet(), []
        for name in body_names:
            transform = bodies.get(name).getTransformInGround(self.skeleton.state)
            R = transform.R().asMat33()
            rotation = [[R.get(i, j) for j in range(3)] for i in range(3)]
            out.append(np.column_stack([rotation, transform.p().to_numpy()]))
        return np.array(out)

    def _accelerated(self, k: int) -> np.ndarray:
        self.accelerations(k)
        return self.skeleton.state.getUDot().to_numpy().copy()

    def lengthening_speeds(self, k: int, u: np.ndarray) -> np.ndarray:
        """Speed of every path at pose k with speeds u (in the order of the coordinates)."""
        at = self.paths
        at.state.setQ(at.poses[k][0])
        at.state.setU(at.speeds(u))
        at.model.realizeVelocity(at.state)
        return np.array([muscle.getLengtheningSpeed(at.state) for muscle in self.muscles])
