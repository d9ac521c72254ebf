"""Moment arms of Sherman, Seth and Delp, How to compute muscle moment arm using generalized coordinates (2010).

`test_pack_parity` has the three methods on the public models, and OpenSim's numbers; `test_live_dynamics` has OpenSim's
numbers on our own models.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import myograd as mg
from computed import LOOPS, OWN, compiled, in_numpy, loaded, own_numbers, own_states
from live_states import Peer
from myograd.model.description import CoordinateCoupler, LinearFunction
from shipped.coupled_mechanism import ALPHA, GUIDE_5, GUIDE_6, WEIGHT
from shipped.coupled_mechanism import describe as coupled_mechanism

# Three methods -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OWN)
def test_three_methods_agree(name: str):
    found = own_numbers(name)
    assert np.nanmax(np.abs(found["arm"])) > 1e-3
    for method in ("length", "velocity"):
        np.testing.assert_allclose(found[f"arm by {method}"], found["arm"], rtol=0, atol=1e-10, err_msg=method)


def held_fast(name: str) -> set[str]:
    """Coordinates that couplers, locks and prescribed motions set."""
    description = loaded(OWN[name]).document.description
    set_by_couplers = {x.dependent for x in description.constraints if isinstance(x, CoordinateCoupler) and x.enforced}
    return set_by_couplers | {x.name for x in description.coordinates() if x.locked or x.prescribed}


@pytest.mark.parametrize("name", OWN)
def test_coordinates_that_cannot_be_chosen_have_no_moment_arm(name: str):
    model, found = loaded(OWN[name]), own_numbers(name)
    unknown = np.isnan(found["arm"]).all(axis=(0, 1))
    without = {model.coordinate_names[i] for i in np.flatnonzero(unknown)}
    if name == "all_constraints":  # the weld holds this body in the plane of the pendulum that it is welded to
        assert without - held_fast(name) <= {"welded_rx", "welded_ry", "welded_tz"}
        without &= held_fast(name)
    assert without == held_fast(name)
    if name != "all_constraints":
        assert np.isfinite(found["arm"][:, :, ~unknown]).all()
    np.testing.assert_array_equal(np.isnan(found["coupling"]).any(axis=1), np.isnan(found["arm"]).any(axis=1))


@pytest.mark.parametrize("name", ["coupled_mechanism", "four_bar", "all_joints", "all_constraints"])
def test_coupled_motion_satisfies_the_constraints_at_unit_rate(name: str):
    """G C = 0, and C is 1 on its own coordinate and, without loops, 0 on other independent ones."""
    model, found = loaded(OWN[name]), own_numbers(name)
    C = found["coupling"]
    for i, column in enumerate(C.transpose(2, 0, 1)):
        moves = np.isfinite(column).all(axis=1)
        if moves.any():
            rates = np.einsum("nrc,nc->nr", found["G"][moves], column[moves])
            np.testing.assert_allclose(rates, 0.0, rtol=0, atol=1e-9, err_msg=model.coordinate_names[i])
            np.testing.assert_allclose(column[moves, i], 1.0, rtol=1e-12)
    if name not in LOOPS:
        free = [i for i, n in enumerate(model.coordinate_names) if n not in held_fast(name)]
        np.testing.assert_array_equal(
            C[:, free][:, :, free], np.broadcast_to(np.eye(len(free)), (len(C), *[len(free)] * 2))
        )


# One coordinate at a time ------------------------------------------------------------------------------------


def arms_and_lengths(model: mg.Model, q) -> dict[str, Any]:
    """Moment arms at a pose, and lengths at the pose that satisfies the constraints nearby."""
    return {"arm": mg.moment_arms(model, q), "length": mg.muscle_lengths(model, mg.assemble(model, q))}


def difference_quotient(run, model: mg.Model, q: np.ndarray, coordinate: int, step: float = 1e-3) -> np.ndarray:
    """-dL/dq [muscles], the paper's first way: move the coordinate, satisfy the constraints, measure the lengths."""
    steps = np.array([-2, -1, 1, 2])
    moved = q + step * steps[:, None] * np.eye(len(q))[coordinate]
    return -np.array([1, -8, 8, -1]) @ np.asarray(run(model, moved)["length"]) / (12 * step)


@pytest.fixture(scope="module")
def measure():
    return compiled(arms_and_lengths, mapped=1)


@pytest.mark.parametrize("name", ["planar_leg", "coupled_mechanism"])
def test_difference_quotients_along_the_constraints(measure, name: str):
    model, (q, _) = loaded(OWN[name]), own_states(name)
    found = own_numbers(name)["arm"]
    for i, coordinate in enumerate(model.coordinate_names):
        if coordinate not in held_fast(name):
            np.testing.assert_allclose(found[0][:, i], difference_quotient(measure, model, q[0], i), rtol=0, atol=1e-10)


def test_others_are_held_when_a_coordinate_follows_several(measure):
    """theta_2 = 0.7 theta + 0.4 phi: the moment arm about theta leaves phi where it is, although phi moves theta_2."""
    description = coupled_mechanism()
    description.constraints[0] = CoordinateCoupler("both", "theta_2", ("theta", "phi"), LinearFunction((0.7, 0.4, 0.1)))
    model = mg.compile_model(description)
    q = np.asarray(mg.assemble(model, model.default_pose()))
    found = np.asarray(measure(model, q[None])["arm"])[0]
    for name in ("theta", "phi", "base"):
        i = model.coordinate_names.index(name)
        np.testing.assert_allclose(found[:, i], difference_quotient(measure, model, q, i), rtol=0, atol=1e-10)


# Effective torque (Eqs. 19 to 24) ----------------------------------------------------------------------------

PART_OF_THETA = ("theta", "theta_2", "theta_3", "theta_4")
OUTSIDE = ("theta_5", "theta_6")  # coupled to theta, but no part of it: they swing the guide
TENSIONS = {"guided": 350.0, "direct": 220.0}


THETA = loaded(OWN["coupled_mechanism"]).coordinate_names.index("theta")


def under_tension(model: mg.Model, q, u, tensions) -> dict[str, Any]:
    applied = -mg.muscle_gradients(model, q).T @ tensions
    udot = mg.forward_dynamics(model, q, u, applied)
    return {
        "applied": applied,
        "moving": mg.mass_matrix(model, q) @ udot + mg.bias_forces(model, q, u),
        "G": mg.constraint_jacobian(model, q),
        "C": mg.coupling_matrix(model, q)[:, THETA],
        "expected": mg.moment_arms(model, q)[:, THETA] @ tensions,
    }


RUN = compiled(under_tension, mapped=3)


class Torques:
    """The mechanism of the paper's Figure 3 in motion, under its weight and the tension of one muscle."""

    def __init__(self, model: mg.Model, muscle: str):
        self.names = list(model.coordinate_names)
        inside = np.array([name in PART_OF_THETA for name in self.names])
        self.outside = np.array([name in OUTSIDE for name in self.names])
        q, u = own_states("coupled_mechanism")
        tensions = [TENSIONS[muscle] if name == muscle else 0.0 for name in model.muscle_names]
        found = in_numpy(RUN(model, q, u, np.tile(tensions, (len(q), 1))))
        self.applied, self.moving, self.expected = (found[key] for key in ("applied", "moving", "expected"))
        self.G, self.C = found["G"], found["C"]
        self.C_theta, self.C_outside = self.C * inside, self.C * self.outside  # zeros in the other rows
        # Inverse dynamics, Eq. 6: f = M udot + b + G^T lambda. The couplers' multipliers follow from the motion.
        left = self.applied - self.moving
        self.multipliers = np.array([np.linalg.lstsq(G.T, f, rcond=None)[0] for G, f in zip(self.G, left, strict=True)])
        rows = model.constraints.row_names
        self.guide_rows = np.array([any(f"(coupler of {name})" in row for name in OUTSIDE) for row in rows])

    def force(self, couplers: np.ndarray) -> np.ndarray:
        """M udot + b + G^T lambda with these couplers' forces: what is left counts as applied."""
        return self.moving + np.einsum("nrc,nr->nc", self.G[:, couplers], self.multipliers[:, couplers])

    def effective(self, C: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.einsum("nc,nc->n", C, f)


@pytest.fixture(scope="module")
def mechanism() -> mg.Model:
    return loaded(OWN["coupled_mechanism"])


@pytest.fixture(scope="module", params=TENSIONS)
def torques(request: pytest.FixtureRequest, mechanism: mg.Model) -> Torques:
    return Torques(mechanism, request.param)


def test_effective_torque(torques: Torques):
    """Eq. 24 over all coupled coordinates: C^T f = r s. As G C = 0, the motion alone tells the torque: C^T (M udot + b)."""
    assert np.abs(torques.expected).min() > 0.1
    every = np.ones(len(torques.guide_rows), bool)
    f = torques.force(every)
    np.testing.assert_allclose(f, torques.applied, rtol=0, atol=1e-9)  # the equation of motion
    np.testing.assert_allclose(torques.effective(torques.C, f), torques.expected, rtol=1e-9)
    np.testing.assert_allclose(torques.effective(torques.C, torques.moving), torques.expected, rtol=1e-9)


def test_effective_torque_over_the_angles_of_theta(torques: Torques):
    """C_theta^T f = r s, Eq. 24 as printed, counts every force that acts on the angles of theta, so also what the guide's
    couplers hand on to them; less what moves the guide itself."""
    f = torques.force(~torques.guide_rows)
    kept = torques.effective(torques.C_outside, torques.moving)
    np.testing.assert_allclose(torques.effective(torques.C_theta, f) + kept, torques.expected, rtol=1e-9)
    assert np.abs(kept).max() > 1e-3


def test_effective_torque_of_a_muscle_that_does_not_load_the_guide(mechanism: mg.Model):
    """Then the printed form holds with f of the muscle alone; for one that does it cannot."""
    direct, guided = (Torques(mechanism, name) for name in ("direct", "guided"))
    assert not direct.applied[:, direct.outside].any()
    np.testing.assert_allclose(direct.effective(direct.C_theta, direct.applied), direct.expected, rtol=1e-9)
    missed = guided.effective(guided.C_theta, guided.applied) - guided.expected
    assert np.abs(missed).min() > 0.01


def test_effective_torque_with_a_guide_without_mass(mechanism: mg.Model):
    """As in the paper's figure, where the guide is a surface that does no work: Eq. 24 as printed, for both muscles."""
    guide = np.array([name.startswith("guide") for name in mechanism.body_names])
    light = eqx.tree_at(
        lambda m: (m.bodies.mass, m.bodies.inertia),
        mechanism,
        (mechanism.bodies.mass * ~guide, mechanism.bodies.inertia * ~guide),
    )
    for name in TENSIONS:
        torques = Torques(light, name)
        f = torques.force(~torques.guide_rows)
        np.testing.assert_allclose(torques.effective(torques.C_theta, f), torques.expected, rtol=1e-9)


def test_scaled_coordinates_drop_out(torques: Torques):
    """Joint torques tau_k = f_k / w_k of the angles theta_k = w_k q_k: sum alpha_k tau_k = sum c_k f_k (Eq. 23)."""
    names = torques.names
    alpha = ALPHA | {"theta_6": GUIDE_6[0] * WEIGHT["theta_6"]}
    for name, share in alpha.items():
        np.testing.assert_allclose(torques.C[:, names.index(name)] * WEIGHT[name], share, rtol=1e-12)
    theta = own_states("coupled_mechanism")[0][:, THETA]
    slope = 2 * GUIDE_5[0] * theta + GUIDE_5[1]
    np.testing.assert_allclose(torques.C[:, names.index("theta_5")], slope, rtol=1e-12)
    assert sum(ALPHA.values()) == pytest.approx(1.0)  # Eq. 20
    assert WEIGHT["theta"] != 1.0
    joint_torques = {name: torques.moving[:, names.index(name)] / WEIGHT[name] for name in WEIGHT}
    alpha = alpha | {"theta_5": slope * WEIGHT["theta_5"]}
    total = sum(alpha[name] * joint_torques[name] for name in WEIGHT)
    np.testing.assert_allclose(total, torques.expected, rtol=1e-9)


# Moving points -----------------------------------------------------------------------------------------------


def test_moving_points_do_their_work(measure, opensim):
    """The moving point of this path has a neighbour on its own body. OpenSim's lengthening speed agrees with us, its
    moment arm does not: it leaves out the work that the point does between the two."""
    model, peer = loaded(OWN["planar_leg"]), Peer(opensim, OWN["planar_leg"])
    knee, muscle = model.coordinate_names.index("knee_flexion"), model.muscle_names.index("rectus_femoris")
    missed = []
    for angle in (0.3, 0.8, 1.5, 2.1):
        q = np.array([0.2, angle, 0.0])
        ours = float(measure(model, q[None])["arm"][0, muscle, knee])
        assert ours == pytest.approx(difference_quotient(measure, model, q, knee)[muscle], abs=1e-10)
        peer.set(q, np.eye(3)[knee])
        assert ours == pytest.approx(-peer.muscles[muscle].getLengtheningSpeed(peer.state), abs=1e-12)
        missed.append(peer.arms()[muscle, knee] - ours)
    np.testing.assert_array_less(5e-4, np.abs(missed))


def test_moving_points_stop_at_the_ends_of_their_range():
    """As in OpenSim. Beyond, there is no work of theirs to do, by any method."""
    model = loaded(OWN["planar_leg"])
    knee = model.coordinate_names.index("knee_flexion")
    low, high = np.asarray(model.coordinates.range)[:, knee]
    angles = np.array([low - 0.2, low, high, high + 0.2])
    poses = np.zeros((4, 3))
    poses[:, knee] = angles

    def three(model: mg.Model, q):
        return jnp.stack([mg.moment_arms(model, q, method=method) for method in ("force", "length", "velocity")])

    force, *others = np.moveaxis(np.asarray(compiled(three, mapped=1)(model, poses)), 1, 0)
    for other in others:
        np.testing.assert_allclose(other, force, rtol=0, atol=1e-10)
