"""What a live OpenSim computes at given states: the keys and orders of `computed.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from live_opensim import coordinates, muscles


class Peer:
    """A model in OpenSim with all its forces off but gravity."""

    def __init__(self, opensim, path: Path):
        self.opensim = opensim
        self.model = opensim.Model(str(path))
        self.state = self.model.initSystem()
        self.matter = self.model.getMatterSubsystem()
        forces = self.model.getForceSet()
        for i in range(forces.getSize()):
            forces.get(i).setAppliesForce(self.state, False)
        self.coordinates = coordinates(self.model)
        self.muscles = muscles(self.model)
        self.bodies = [self.model.getBodySet().get(i) for i in range(self.model.getBodySet().getSize())]
        self.markers = [self.model.getMarkerSet().get(i) for i in range(self.model.getMarkerSet().getSize())]
        self.speed = self._speed_places()

    def _speed_places(self) -> np.ndarray:
        """Where the speed of each coordinate is in OpenSim's vector u."""
        places = []
        for coordinate in self.coordinates:
            self.state.updU().setToZero()
            coordinate.setSpeedValue(self.state, 1.0)
            places.append(int(np.argmax(self.state.getU().to_numpy())))
        return np.array(places)

    def set(self, q: np.ndarray, u: np.ndarray, time: float = 0.0) -> None:
        self.state.setTime(time)
        for coordinate, value, speed in zip(self.coordinates, q, u, strict=True):
            if not coordinate.getLocked(self.state):
                coordinate.setValue(self.state, float(value), False)
                coordinate.setSpeedValue(self.state, float(speed))
        self.model.realizeAcceleration(self.state)

    def accelerations(self) -> np.ndarray:
        return self.state.getUDot().to_numpy()[self.speed]

    def bias(self) -> np.ndarray:
        zero, residual = self.opensim.Vector(self.state.getNU(), 0.0), self.opensim.Vector()
        gravity = self.model.getGravityBodyForces(self.state)
        self.matter.calcResidualForceIgnoringConstraints(self.state, zero, gravity, zero, residual)
        return residual.to_numpy()[self.speed]

    def arms(self) -> np.ndarray:
        """[muscles, coordinates], NaN for dependent, locked and prescribed ones.

        OpenSim's solver lets prescribed motions run on at their speed, which gets into all moment arms, so they are
        stopped here.
        """
        moved = [c for c in self.coordinates if c.isPrescribed(self.state)]
        for coordinate in moved:
            coordinate.setIsPrescribed(self.state, False)
            coordinate.setLocked(self.state, True)
        self.model.realizeVelocity(self.state)
        held = [c.isDependent(self.state) or c.getLocked(self.state) for c in self.coordinates]
        table = [
            [np.nan if h else m.computeMomentArm(self.state, c) for c, h in zip(self.coordinates, held, strict=True)]
            for m in self.muscles
        ]
        for coordinate in moved:
            coordinate.setLocked(self.state, False)
            coordinate.setIsPrescribed(self.state, True)
        return np.array(table)

    def numbers(self) -> dict[str, np.ndarray]:
        state, opensim = self.state, self.opensim
        mass, constraints = opensim.Matrix(), opensim.Matrix()
        self.matter.calcM(state, mass)
        self.matter.calcG(state, constraints)
        poses = [body.getTransformInGround(state) for body in self.bodies]
        velocities = [body.getVelocityInGround(state) for body in self.bodies]
        return {
            "rotation": np.array([[[T.R().get(i, j) for j in range(3)] for i in range(3)] for T in poses]),
            "position": np.array([T.p().to_numpy() for T in poses]),
            "velocity": np.array([[*V.get(0).to_numpy(), *V.get(1).to_numpy()] for V in velocities]),
            "markers": np.array([m.getLocationInGround(state).to_numpy() for m in self.markers]).reshape(-1, 3),
            "M": mass.to_numpy()[self.speed][:, self.speed],
            "G": constraints.to_numpy().reshape(-1, state.getNU())[:, self.speed],
            "bias": self.bias(),
            "udot": self.accelerations(),
            "center of mass": self.model.calcMassCenterPosition(state).to_numpy(),
            "kinetic energy": np.array(self.model.calcKineticEnergy(state)),
            "length": np.array([m.getLength(state) for m in self.muscles]),
            "speed": np.array([m.getLengtheningSpeed(state) for m in self.muscles]),
            "arm": self.arms(),
        }
