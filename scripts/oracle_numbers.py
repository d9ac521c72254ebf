"""What OpenSim computes of a model at a state, in the keys of an oracle pack (`scripts/oracle_pack.py`).

N poses, NQ and NU numbers in Simbody's q and u, NC coordinates, NB bodies, NM muscles. SI units and radians. Coordinates are in
the order of the file; q, u and all that has a column per speed are in Simbody's (`coord_q_index`, `u_coord_names`).

- `q u qdot coord_value coord_speed`, `qerr_max uerr_max`: the state, and what is left of the constraints' errors
- `body_R body_p body_vel` [N, NB, ...]: p_ground = R p_body + p; angular velocity, then that of the origin
- `marker_pos com com_vel mass kinetic_energy M`; `G G_bias`: G udot + G_bias = 0, locked coordinates have rows too
- `bias_inertial tau_gravity bias_with_gravity gravity_body_forces`: M udot + bias = tau
- `muscle_length muscle_speed` and, by differences of the lengths along qdot, `muscle_speed_fd` (fourth order) and `_fd2`;
  `muscle_length_fresh`, `_speed_fresh`: by a model that has not seen another pose, where paths wrap
- `moment_arm` [N, NM, NC] NaN where a coordinate is set by something else; `moment_arm_fd`, `_h1e5`: -dL/dq by differences
- `path_genforce_unit` [N, NM, NU]: the generalised force of a unit tension
- `path_points` and what belongs to them [N, NM, P]: the path in ground, NaN beyond its `path_npoints` points
- cases `a005 a050 a100 rnd`: activations 0.05, 0.5, 1 in equilibrium; random, with fibres off equilibrium. Where
  `X_equil_ok` is False OpenSim found none: that muscle, and the accelerations of that pose, do not count
- `udot_gravity_only udot_no_muscles a050_udot_muscles_gravity_only`: with other forces off
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

CASES = {"a005": 0.05, "a050": 0.5, "a100": 1.0}
QUOTIENT = {-2: 1 / 12, -1: -8 / 12, 1: 8 / 12, 2: -1 / 12}  # central, of fourth order
PARTS = {
    "tendon_force": "getTendonForce",
    "actuation": "getActuation",
    "fiber_length": "getFiberLength",
    "fiber_velocity": "getFiberVelocity",
    "norm_fiber_length": "getNormalizedFiberLength",
    "norm_fiber_velocity": "getNormalizedFiberVelocity",
    "pennation": "getPennationAngle",
    "active_fiber_force": "getActiveFiberForce",
    "passive_fiber_force": "getPassiveFiberForce",
    "fiber_force": "getFiberForce",
    "active_fiber_force_along_tendon": "getActiveFiberForceAlongTendon",
    "passive_fiber_force_along_tendon": "getPassiveFiberForceAlongTendon",
    "fal": "getActiveForceLengthMultiplier",
    "fpl": "getPassiveForceMultiplier",
    "fv": "getForceVelocityMultiplier",
    "tendon_length": "getTendonLength",
    "tendon_strain": "getTendonStrain",
    "activation": "getActivation",
    "excitation": "getExcitation",
}
FIBER_STATES = ("fiber_length", "normalized_tendon_force")


class OracleError(Exception):
    """A pack cannot be made."""


@cache
def opensim_package() -> Any:
    """The `opensim` package, silent and without its log file."""
    try:
        import opensim
    except ImportError as error:
        raise OracleError(f"OpenSim's Python package cannot be imported ({error}): pip install opensim") from error
    opensim.Logger.setLevelString("Off")
    opensim.Logger.removeFileSink()
    return opensim


def loaded(path: Path) -> Any:
    try:
        model = opensim_package().Model(str(path))
        model.initSystem()
    except RuntimeError as error:
        raise OracleError(f"{path}: OpenSim cannot load it: {error}") from error
    return model


def each(group: Any) -> list[Any]:
    """The members of one of OpenSim's sets."""
    return [group.get(i) for i in range(group.getSize())]


def spatial(vectors: Any) -> np.ndarray:
    """[n, 6] of a vector of spatial vectors."""
    rows = [[*row.get(0).to_numpy(), *row.get(1).to_numpy()] for row in map(vectors.get, range(len(vectors)))]
    return np.array(rows, float).reshape(-1, 6)


class Oracle:
    """A model in OpenSim."""

    def __init__(self, path: Path):
        self.path, self.package = path, opensim_package()
        self.model = loaded(path)
        self.state = self.model.initSystem()
        self.default_q = self.state.getQ().to_numpy()
        self.matter = self.model.getMatterSubsystem()
        self.coordinates = each(self.model.getCoordinateSet())
        self.bodies, self.markers = each(self.model.getBodySet()), each(self.model.getMarkerSet())
        self.muscles, self.forces = each(self.model.getMuscles()), each(self.model.getForceSet())
        self.actuators = each(self.model.getActuators())
        names = {muscle.getName() for muscle in self.muscles}
        self.is_muscle = np.array([actuator.getName() in names for actuator in self.actuators], bool)
        self.applies = [force.appliesForce(self.state) for force in self.forces]
        self.ranges = np.array([(c.getRangeMin(), c.getRangeMax()) for c in self.coordinates]).reshape(-1, 2)
        self.motion_types = np.array([c.getMotionType() for c in self.coordinates], int)
        self.locked = np.array([c.getLocked(self.state) for c in self.coordinates], bool)
        self.prescribed = np.array([c.isPrescribed(self.state) for c in self.coordinates], bool)
        self.dependent = np.array([c.isDependent(self.state) for c in self.coordinates], bool)
        self.free = np.flatnonzero(~(self.locked | self.prescribed | self.dependent))
        self.q_index, self.u_index = self._places()

    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each coordinate is in q and u."""
        probe = self.package.State(self.state)
        found = []
        for count, put, read in (
            (probe.getNQ(), probe.setQ, lambda c: c.getValue(probe)),
            (probe.getNU(), probe.setU, lambda c: c.getSpeedValue(probe)),
        ):
            rows = []
            for unit in np.eye(count):
                put(self._vector(unit))
                rows.append([read(c) for c in self.coordinates])
            put(self._vector(np.zeros(count)))
            found.append(np.argmax(np.array(rows).reshape(count, -1), axis=0))
        return found[0], found[1]

    def _vector(self, values: np.ndarray) -> Any:
        vector = self.package.Vector(len(values), 0.0)
        for i, value in enumerate(values):
            vector.set(i, float(value))
        return vector

    # States --------------------------------------------------------------------------------------------------

    def assembled(self, values: np.ndarray) -> np.ndarray:
        """q near given values of the free coordinates, on the constraints."""
        self.state.setQ(self._vector(self.default_q))
        self.state.setU(self._vector(np.zeros(self.state.getNU())))
        for i, value in zip(self.free, values, strict=True):
            self.coordinates[i].setValue(self.state, float(value), False)
        self.model.assemble(self.state)
        for _ in range(20):
            self.model.realizePosition(self.state)
            error = self.state.getQErr().to_numpy()
            if np.abs(error).max(initial=0.0) < 1e-14:
                break
            slope = self.package.Matrix()
            self.matter.calcPq(self.state, slope)
            q = self.state.getQ().to_numpy()
            self.state.setQ(self._vector(q - np.linalg.pinv(slope.to_numpy().reshape(len(error), -1)) @ error))
        if np.abs(error).max(initial=0.0) > 1e-10:
            raise RuntimeError("not assembled")
        return self.state.getQ().to_numpy()

    def projected(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """u that satisfies the constraints; 0 for locked coordinates."""
        u = u.copy()
        u[self.u_index[self.locked]] = 0.0
        for _ in range(10):
            self._set(q, u)
            error = self.state.getUErr().to_numpy()
            if np.abs(error).max(initial=0.0) < 1e-16:
                break
            u = u - np.linalg.pinv(self._constraints()) @ error
        return u

    def _set(self, q: np.ndarray, u: np.ndarray) -> None:
        self.state.setTime(0.0)
        self.state.setQ(self._vector(q))
        self.state.setU(self._vector(u))
        self.model.realizeVelocity(self.state)

    def _constraints(self) -> np.ndarray:
        G = self.package.Matrix()
        self.matter.calcG(self.state, G)
        return G.to_numpy().reshape(-1, self.state.getNU())

    # Rigid bodies --------------------------------------------------------------------------------------------

    def rigid(self, q: np.ndarray, u: np.ndarray) -> dict[str, Any]:
        self._set(q, u)
        state, model, zero = self.state, self.model, self._vector(np.zeros(len(u)))
        M, bias, total, tau, G_bias = (self.package.Matrix(), *(self.package.Vector() for _ in range(4)))
        self.matter.calcM(state, M)
        gravity = model.getGravityBodyForces(state)
        none = self.package.VectorOfSpatialVec()
        self.matter.calcResidualForceIgnoringConstraints(state, zero, none, zero, bias)
        self.matter.calcResidualForceIgnoringConstraints(state, zero, gravity, zero, total)
        self.matter.multiplyBySystemJacobianTranspose(state, gravity, tau)
        self.matter.calcBiasForAccelerationConstraints(state, G_bias)
        transforms = [body.getTransformInGround(state) for body in self.bodies]
        return {
            "q": q,
            "u": u,
            "qdot": state.getQDot().to_numpy(),
            "coord_value": [c.getValue(state) for c in self.coordinates],
            "coord_speed": [c.getSpeedValue(state) for c in self.coordinates],
            "qerr_max": np.abs(state.getQErr().to_numpy()).max(initial=0.0),
            "uerr_max": np.abs(state.getUErr().to_numpy()).max(initial=0.0),
            "body_R": [[[T.R().get(i, j) for j in range(3)] for i in range(3)] for T in transforms],
            "body_p": [T.p().to_numpy() for T in transforms],
            "body_vel": [_six(body.getVelocityInGround(state)) for body in self.bodies],
            "marker_pos": np.reshape([m.getLocationInGround(state).to_numpy() for m in self.markers], (-1, 3)),
            "com": model.calcMassCenterPosition(state).to_numpy(),
            "com_vel": model.calcMassCenterVelocity(state).to_numpy(),
            "mass": model.getTotalMass(state),
            "M": M.to_numpy(),
            "G": self._constraints(),
            "G_bias": G_bias.to_numpy(),
            "kinetic_energy": model.calcKineticEnergy(state),
            "bias_inertial": bias.to_numpy(),
            "gravity_body_forces": spatial(gravity),
            "tau_gravity": tau.to_numpy(),
            "bias_with_gravity": total.to_numpy(),
        }

    # Paths ---------------------------------------------------------------------------------------------------

    def paths(self, q: np.ndarray, u: np.ndarray) -> dict[str, Any]:
        self._set(q, u)
        held = self.locked | self.prescribed | self.dependent
        arms = [
            [np.nan if h else m.computeMomentArm(self.state, c) for c, h in zip(self.coordinates, held, strict=True)]
            for m in self.muscles
        ]
        self._set(q, u)
        found: dict[str, Any] = {
            "muscle_length": [muscle.getLength(self.state) for muscle in self.muscles],
            "muscle_speed": [muscle.getLengtheningSpeed(self.state) for muscle in self.muscles],
            "moment_arm": np.reshape(arms, (len(self.muscles), len(held))),
            "path_genforce_unit": np.reshape([self._pull(m) for m in self.muscles], (len(self.muscles), len(u))),
            "polylines": [self._polyline(muscle) for muscle in self.muscles],
        }
        if self.muscles:
            along = self.state.getQDot().to_numpy()
            found["muscle_speed_fd"] = self._quotient(q, along, 1e-4)
            found["muscle_speed_fd2"] = (self._lengths(q + 1e-4 * along) - self._lengths(q - 1e-4 * along)) / 2e-4
        return found

    def _pull(self, muscle: Any) -> np.ndarray:
        """Generalised force of a unit tension."""
        package, count = self.package, len(self.model.getGravityBodyForces(self.state))  # ground and all bodies
        none = package.SpatialVec(package.Vec3(0), package.Vec3(0))
        bodies, out = package.VectorOfSpatialVec(count, none), package.Vector()
        mobilities = self._vector(np.zeros(self.state.getNU()))
        muscle.getGeometryPath().addInEquivalentForces(self.state, 1.0, bodies, mobilities)
        self.matter.multiplyBySystemJacobianTranspose(self.state, bodies, out)
        return out.to_numpy() + mobilities.to_numpy()

    def _polyline(self, muscle: Any) -> list[tuple[Any, ...]]:
        """Of each point: place in ground, whether on a surface, length of the arc that ends there, frame and surface."""
        rows, current = [], muscle.getGeometryPath().getCurrentPath(self.state)
        for point in each(current):
            surface = point.getWrapObject()
            on = surface is not None
            arc = self.package.PathWrapPoint.safeDownCast(point).getWrapLength(self.state) if on else 0.0
            frame = point.getParentFrame().findBaseFrame().getName()
            place = point.getLocationInGround(self.state).to_numpy()
            rows.append((place, on, arc, frame, surface.getName() if on else ""))
        return rows

    def _lengths(self, q: np.ndarray) -> np.ndarray:
        self.state.setQ(self._vector(q))
        self.model.realizePosition(self.state)
        return np.array([muscle.getLength(self.state) for muscle in self.muscles])

    def _quotient(self, q: np.ndarray, along: np.ndarray, h: float) -> np.ndarray:
        """Rates of the lengths as q moves `along`."""
        return sum((weight / h * self._lengths(q + k * h * along) for k, weight in QUOTIENT.items()), np.zeros(1))

    def arm_quotients(self, q: np.ndarray, u: np.ndarray) -> dict[str, np.ndarray]:
        """-dL/dq of each coordinate that may be chosen, with those that depend on it moved along."""
        self._set(q, u)
        G, follow = self._constraints(), self.u_index[self.dependent]
        shape = len(self.muscles), len(self.coordinates)
        found = {"moment_arm_fd": np.full(shape, np.nan), "moment_arm_fd_h1e5": np.full(shape, np.nan)}
        for i in self.free:
            tangent = np.zeros(len(u))
            tangent[self.u_index[i]] = 1.0
            tangent[follow] = -np.linalg.pinv(G[:, follow]) @ G[:, self.u_index[i]]
            self._set(q, tangent)
            along = self.state.getQDot().to_numpy()
            for key, h in (("moment_arm_fd", 1e-4), ("moment_arm_fd_h1e5", 1e-5)):
                found[key][:, i] = -self._quotient(q, along, h)
        return found

    # Forces --------------------------------------------------------------------------------------------------

    def case(
        self, q: np.ndarray, u: np.ndarray, name: str, activation: np.ndarray, controls: np.ndarray, stretch: Any = None
    ) -> dict[str, Any]:
        """All forces of the file, with muscles in equilibrium at an activation; then stretched by a factor if given."""
        self._set(q, u)
        self.model.setControls(self.state, self._vector(controls))
        ok = []
        for muscle, level in zip(self.muscles, activation, strict=True):
            muscle.setActivation(self.state, float(level))
            try:
                muscle.computeEquilibrium(self.state)
                ok.append(True)
            except RuntimeError:
                ok.append(False)
        if stretch is not None:
            self._stretch(stretch)
        self.model.realizeVelocity(self.state)
        self.model.setControls(self.state, self._vector(controls))
        self.model.realizeAcceleration(self.state)
        found = self._driven()
        if name == "a050":
            found["body_acc"] = [_six(body.getAccelerationInGround(self.state)) for body in self.bodies]
        row = {f"{name}_equil_ok": np.array(ok, bool)} | {f"{name}_{key}": value for key, value in found.items()}
        return row | (self._with_forces_off() if name == "a050" else {})

    def _stretch(self, factors: np.ndarray) -> None:
        """Fibres off equilibrium. Writing their states does not tell OpenSim's caches; setting q does."""
        for muscle, factor in zip(self.muscles, factors, strict=True):
            names = muscle.getStateVariableNames()
            states = [names.get(i) for i in range(names.getSize())]
            for state in (x for x in states if x.rsplit("/", 1)[-1] in FIBER_STATES):
                value = self.model.getStateVariableValue(self.state, state)
                self.model.setStateVariableValue(self.state, state, float(factor * value))
        self.state.setQ(self._vector(self.state.getQ().to_numpy()))

    def _driven(self) -> dict[str, Any]:
        state, tau = self.state, self.package.Vector()
        self.matter.multiplyBySystemJacobianTranspose(state, self.model.getRigidBodyForces(state), tau)
        actuators = [self.package.ScalarActuator.safeDownCast(x) for x in self.actuators]
        return {
            **{key: [self._part(muscle, getter) for muscle in self.muscles] for key, getter in PARTS.items()},
            "udot": state.getUDot().to_numpy(),
            "z": state.getZ().to_numpy(),
            "zdot": state.getZDot().to_numpy(),
            "multipliers": state.getMultipliers().to_numpy(),
            "tau_applied": tau.to_numpy() + self.model.getMobilityForces(state).to_numpy(),
            "act_force": [np.nan if x is None else x.getActuation(state) for x in actuators],
        }

    def _part(self, muscle: Any, getter: str) -> float:
        try:
            return getattr(muscle, getter)(self.state)
        except RuntimeError:  # not every class has every part
            return np.nan

    def _with_forces_off(self) -> dict[str, Any]:
        """Accelerations with muscles alone, without muscles, and without any force but gravity."""
        muscles = {muscle.getName() for muscle in self.muscles}
        is_muscle = [force.getName() in muscles for force in self.forces]
        found: dict[str, Any] = {}
        for key, kept in (
            ("a050_udot_muscles_gravity_only", is_muscle),
            ("udot_no_muscles", [not x for x in is_muscle]),
            ("udot_gravity_only", [False] * len(is_muscle)),
        ):
            self._apply([on and keep for on, keep in zip(self.applies, kept, strict=True)])
            found[key] = self.state.getUDot().to_numpy()
        found["multipliers_gravity_only"] = self.state.getMultipliers().to_numpy()
        self._apply(self.applies)
        return found

    def _apply(self, which: list[bool]) -> None:
        for force, on in zip(self.forces, which, strict=True):
            force.setAppliesForce(self.state, on)
        self.model.realizeAcceleration(self.state)


def _six(vector: Any) -> list[float]:
    return [*vector.get(0).to_numpy(), *vector.get(1).to_numpy()]
