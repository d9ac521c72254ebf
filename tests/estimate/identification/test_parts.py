"""The parts of an identification: inertial parameters, fibres solved over a recording, the residual in two forms, rank."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import myograd as mg
from myograd.errors import MyogradError
from myograd.estimate.identification import forces, inertia
from myograd.estimate.identification.choices import MUSCLE, OF_MODEL, Choices
from myograd.estimate.identification.forces import Fibers
from myograd.estimate.identification.identifiability import base_parameters, check_names, identifiability, null_space
from myograd.estimate.identification.residual import muscle_forces, paper_residual
from myograd.estimate.identification.setup import identification, without_effect
from myograd.estimate.inverse.mechanics import mechanics
from myograd.estimate.inverse.regressors import PAIRS, inertial_parameters, stated, stated_bodies
from myograd.estimate.recording import Recording, follow
from myograd.model.description import Body, Coordinate, Joint, PolynomialFunction
from myograd.models import model_path

BODIES = ("humerus", "ulna", "radius")
DEEP = ("INFSP", "SUBSC", "TRImed", "BRA", "PQ")


@pytest.fixture(scope="module")
def arm() -> mg.Model:
    return mg.load_model(model_path("arm"))


@pytest.fixture(scope="module")
def swing(arm: mg.Model) -> Recording:
    """A smooth motion of all five coordinates with smooth EMG; nothing says that the one causes the other."""
    t = 0.01 * np.arange(60)
    free = arm.constraints.free
    random = np.random.default_rng(3)
    middle, speed, phase = np.array([0.7, 0.8, 0.1, 1.3, 0.3]), random.uniform(3, 6, 5), random.uniform(0, 6, 5)
    motion = np.zeros((3, len(t), len(arm.coordinate_names)))
    angle = np.outer(t, speed) + phase
    motion[0][:, free] = middle + 0.3 * np.sin(angle)
    motion[1][:, free] = 0.3 * speed * np.cos(angle)
    motion[2][:, free] = -0.3 * speed**2 * np.sin(angle)
    m = len(arm.muscle_names)
    emg = 0.3 + 0.2 * np.sin(np.outer(t, random.uniform(5, 15, m)) + random.uniform(0, 6, m))
    return Recording("swing", t, *follow(arm, t, *motion), emg, arm.muscle_names)


@pytest.fixture(scope="module")
def worked_out(arm: mg.Model, swing: Recording):
    return mechanics(arm, swing, BODIES)


# Inertia -----------------------------------------------------------------------------------------------------


def random_body(seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    spread = random.normal(size=(3, 3))
    spread = 0.01 * (spread @ spread.T + 0.3 * np.eye(3))
    moment = 2.0 * (np.trace(spread) * np.eye(3) - spread)
    return np.array([2.0, *random.normal(size=3), *(moment[a, b] for a, b in PAIRS)])


def test_inertial_parameters_and_back():
    body = random_body(0)
    np.testing.assert_allclose(stated(inertial_parameters(jnp.asarray(body))), body, rtol=1e-12, atol=1e-14)


def test_free_numbers_of_a_body_start_at_the_identity():
    body = random_body(1)
    free = np.linalg.solve(inertia.body_map(body), inertial_parameters(jnp.asarray(body)))
    np.testing.assert_allclose(inertia.free_matrix(free), np.eye(4), atol=1e-10)


@pytest.mark.parametrize("size", [0.1, 3.0])
def test_bodies_are_valid_where_the_free_matrix_is_positive_definite(size: float):
    body = random_body(2)
    free = np.concatenate([np.ones(4), np.zeros(6)]) + size * np.random.default_rng(4).normal(size=10)
    P = np.asarray(inertia.pseudo_inertia(jnp.asarray(inertia.body_map(body) @ free)))
    assert np.linalg.eigvalsh(inertia.free_matrix(free))[0] * (1 if size < 1 else -1) > 0
    assert (np.linalg.eigvalsh(P)[0] > 0) == (size < 1)
    assert np.isinf(inertia.divergence(np.array([1.0, 1, 1, -0.1, 0, 0, 0, 0, 0, 0])))


def test_divergence_is_its_rows_squared_to_second_order():
    random = np.random.default_rng(5)
    z = np.concatenate([random.uniform(0.5, 1.5, 4), 0.2 * random.normal(size=6)])
    b, A = inertia.divergence_rows(z)
    step = 1e-4 * random.normal(size=10)
    exact = inertia.divergence(z + step) - inertia.divergence(z)
    assert exact == pytest.approx(np.sum((A @ step + b) ** 2) - b @ b, rel=1e-6)


def test_a_body_that_cannot_exist_is_made_one_that_can():
    body = random_body(6)
    body[4:] = [1.0, 0.1, 0.1, 0, 0, 0]  # xx above yy + zz
    made = inertia.valid(body)
    assert np.linalg.eigvalsh(inertia.second_moment(made))[0] > 0
    np.testing.assert_array_equal(made[:4], body[:4])


def test_torques_and_masses_are_linear_in_the_inertial_parameters(arm: mg.Model, swing: Recording, worked_out):
    phi = np.concatenate([inertial_parameters(jnp.asarray(row)) for row in stated_bodies(arm, BODIES)])
    it = worked_out.inertial
    for k in (0, 31):
        C = it.motion[k]
        torque = C.T @ np.asarray(mg.inverse_dynamics(arm, swing.q[k], swing.u[k], swing.udot[k]))
        np.testing.assert_allclose(it.torque[k] + it.torque_regressor[k] @ phi, torque, rtol=1e-9, atol=1e-9)
        M = C.T @ np.asarray(mg.mass_matrix(arm, swing.q[k])) @ C
        np.testing.assert_allclose(it.mass[k] + it.mass_regressor[k] @ phi, M, rtol=1e-9, atol=1e-12)


class Push(mg.Term):
    """A torque on the first coordinate that grows with time: 2 N m each second."""

    def force(self, model: mg.Model, now: mg.Instant) -> mg.Loads:
        return mg.Loads(coordinates=jnp.zeros_like(now.q).at[0].set(2.0 * now.time))


def test_known_forces_are_those_of_the_samples_times(arm: mg.Model, swing: Recording, worked_out):
    later = replace(swing, time=swing.time + 1.0)
    pushed = mechanics(arm.with_terms(Push()), later, BODIES).inertial
    expected = 2.0 * later.time[:, None] * pushed.motion[:, 0]
    np.testing.assert_allclose(worked_out.inertial.torque - pushed.torque, expected, atol=1e-9)


def test_prescribed_coordinates_follow_the_time():
    rail = Coordinate("x", prescribed=True, prescribed_function=PolynomialFunction((3.0, 0.0, 0.5)))
    block = Body("block", 1.0, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    joint = Joint("SliderJoint", "rail", "/ground", "/bodyset/block", [rail])
    model = mg.compile_model(mg.ModelDescription(bodies=[block], joints=[joint]))
    time = np.array([1.0, 2.0])
    q, u, udot = follow(model, time, *np.zeros((3, 2, 1)))
    np.testing.assert_allclose(np.concatenate([q, u, udot], axis=1), [[3.5, 6.0, 6.0], [12.5, 12.0, 6.0]], rtol=1e-12)


# Fibres ------------------------------------------------------------------------------------------------------


def test_solved_fibers_balance_and_have_right_derivatives(arm: mg.Model):
    driven = forces.only(arm, ("PECM1", "DELT2", "BIClong"))
    t = 0.005 * np.arange(80)
    base = np.asarray(driven.muscles.tendon_slack_length + 0.95 * driven.muscles.optimal_fiber_length)
    length = jnp.asarray(base + 0.006 * np.sin(np.outer(6 * t, [1.0, 1.3, 0.7])))
    a = jnp.asarray(0.3 + 0.2 * np.sin(np.outer(11 * t, [1.0, 0.8, 1.2])))

    @jax.jit
    def force(strength, slack, a):
        own = {name: getattr(driven.muscles, name) for name in OF_MODEL}
        it = forces.with_muscle_values(driven, own | {"max_isometric_force": strength, "tendon_slack_length": slack})
        fiber = forces.solved_fibers(it, length, a, 0.005, forces.resting_fibers(it, length, a))
        velocity = forces.rate_of(fiber, 0.005, 3)
        balance = forces._balance(it, length, a, fiber, velocity)
        return forces.forces_of_fibers(it, a, fiber, velocity), balance

    own = driven.muscles.max_isometric_force, driven.muscles.tendon_slack_length, a
    assert np.abs(force(*own)[1]).max() < 1e-9
    random = np.random.default_rng(0)
    tangent = (
        own[0] * random.normal(size=3),
        0.01 * own[1] * random.normal(size=3),
        0.1 * jnp.asarray(random.normal(size=a.shape)),
    )
    slope = jax.jvp(lambda *x: force(*x)[0], own, tangent)[1]
    h = 1e-5
    above, below = (force(*(x + s * h * d for x, d in zip(own, tangent, strict=True)))[0] for s in (1, -1))
    np.testing.assert_allclose(slope, (above - below) / (2 * h), rtol=1e-4, atol=1e-4 * float(jnp.abs(slope).max()))


def test_carried_fibers_keep_their_tendons_stretched(arm: mg.Model):
    driven = forces.only(arm, ("PECM1", "TRIlong"))
    before = {name: getattr(driven.muscles, name) for name in OF_MODEL}
    change = {"optimal_fiber_length": 0.9, "pennation_angle": 1.2, "tendon_slack_length": 1.02}
    after = {name: change.get(name, 1.0) * value for name, value in before.items()}

    def width(muscle: dict) -> jax.Array:
        return muscle["optimal_fiber_length"] * jnp.sin(muscle["pennation_angle"])

    fiber = 0.9 * before["optimal_fiber_length"] * jnp.ones((3, 2))
    path = before["tendon_slack_length"] * 1.02 + jnp.sqrt(fiber**2 - width(before) ** 2)
    np.testing.assert_allclose(forces.carried(Fibers(fiber, path), before, before).length, fiber, rtol=1e-12)
    along = jnp.sqrt(forces.carried(Fibers(fiber, path), before, after).length ** 2 - width(after) ** 2)
    np.testing.assert_allclose((path - along) / after["tendon_slack_length"], 1.02, rtol=1e-12)
    longer = forces.lengthened(Fibers(fiber, path), path + 0.003, before)
    tendon = path + 0.003 - jnp.sqrt(longer**2 - width(before) ** 2)
    np.testing.assert_allclose(tendon / before["tendon_slack_length"], 1.02, rtol=1e-10)


def test_solved_fibers_converge_with_their_order(arm: mg.Model):
    """Halving the step makes the error smaller by two to the power of the order."""
    driven = forces.only(arm, ("DELT2",))
    base = float(driven.muscles.tendon_slack_length[0] + 0.95 * driven.muscles.optimal_fiber_length[0])

    def final(step: float, order: int) -> float:
        t = np.arange(0, 0.4 + 1e-9, step)
        rise = t**5 / (t**5 + 0.01)  # starts smoothly from rest
        length, a = jnp.asarray(base + 0.02 * rise)[:, None], jnp.asarray(0.2 + 0.4 * rise)[:, None]
        found = jax.jit(
            lambda L, a: forces.solved_fibers(driven, L, a, step, forces.resting_fibers(driven, L, a), order)
        )(length, a)
        return float(found[-1, 0])

    best = final(0.0005, 4)
    for order in (2, 3):
        coarse, fine = abs(final(0.01, order) - best), abs(final(0.005, order) - best)
        assert coarse / fine > 0.7 * 2**order


# The residual ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deep", [DEEP, ()], ids=["M1", "M2"])
def test_both_forms_of_the_residual_agree(arm: mg.Model, swing: Recording, worked_out, deep: tuple[str, ...]):
    """Eq. 14 by elimination, and as the paper writes it, with multipliers."""
    problem = identification(arm, [swing], deep, BODIES, choices=Choices(skip=0.0), known=[worked_out])
    p = problem.parameters
    z = p.start()
    r, fibers = problem.residual(z, problem.guess(z))
    r = r.reshape(len(swing), -1)
    unknowns = p.unknowns(jnp.asarray(z))
    force, _ = muscle_forces(*problem.at(0, unknowns, fibers[0]), unknowns)
    for k in (5, 40):
        q, u = swing.q[k], swing.u[k]
        pull = -np.asarray(mg.muscle_gradients(arm, q))
        which = [arm.muscle_names.index(name) for name in problem.identifiability.identifiable]
        G, bias = mg.constraint_jacobian(arm, q), mg.constraint_bias(arm, q, u)
        paper = paper_residual(
            mg.mass_matrix(arm, q),
            mg.bias_forces(arm, q, u),
            G,
            -bias,
            jnp.asarray(swing.udot[k]),
            jnp.asarray(pull[which].T) @ force[k],
            jnp.asarray(pull[[arm.muscle_names.index(name) for name in deep]]),
        )
        assert np.linalg.norm(r[k]) == pytest.approx(float(jnp.linalg.norm(paper)), rel=1e-6)


@pytest.mark.parametrize("gains", [False, True])
def test_the_jacobian_is_that_of_the_residual(arm: mg.Model, swing: Recording, worked_out, gains: bool):
    numbers = MUSCLE if gains else None
    problem = identification(
        arm, [swing], DEEP, BODIES, choices=Choices(of_muscle=numbers, skip=0.0), known=[worked_out]
    )
    p, random = problem.parameters, np.random.default_rng(1)
    z = p.start() + 0.01 * p.scales() * random.normal(
        size=len(p.names)
    )  # off a delay of whole samples, where slopes jump
    r, J, fibers = problem.linearized(z, problem.guess(z))
    np.testing.assert_allclose(r, problem.residual(z, fibers)[0], rtol=1e-9, atol=1e-9)
    change = 1e-5 * p.scales() * random.normal(size=len(z))
    above, below = (problem.residual(z + s * change, fibers)[0] for s in (1, -1))
    np.testing.assert_allclose(J @ change, (above - below) / 2, atol=2e-5 * np.abs(J @ change).max())


def test_rounding_is_no_effect():
    J = np.array([[1e3, 1e-9, 0.0, 1e-3], [2.0, -2e-10, 0.0, 1e-5]])
    assert without_effect(J).tolist() == [False, True, True, False]


# Rank --------------------------------------------------------------------------------------------------------


def test_which_muscles_are_identifiable(arm: mg.Model, worked_out):
    can, free = identifiability(arm, [worked_out], DEEP)
    assert can.hidden == ("TRIlat", "BRD")  # as in the paper, III-D
    assert can.equations == 1
    reached = np.einsum("tnk,tmn->tkm", free[0], worked_out.arms)[:, :, [arm.muscle_names.index(n) for n in DEEP]]
    assert np.abs(reached).max() < 1e-9


def test_nothing_deep_hides_nothing(arm: mg.Model, worked_out):
    can, _ = identifiability(arm, [worked_out], ())
    assert can.identifiable == arm.muscle_names
    assert can.equations == can.coordinates == 5


def test_too_many_deep_muscles_are_refused(arm: mg.Model, worked_out):
    with pytest.raises(MyogradError, match="any parameters would fit"):
        identifiability(arm, [worked_out], arm.muscle_names[3:])


def test_nothing_identifiable_is_told_before_a_fit(arm: mg.Model, worked_out):
    """As on a leg whose pelvis floats: deep muscles reach all joints, no muscle the pelvis, so that one equation is left."""
    first = worked_out.arms.copy()
    first[:, :, 0] = 0.0
    with pytest.raises(MyogradError) as told:
        identifiability(arm, [worked_out._replace(arms=first)], arm.muscle_names[3:])
    free = [arm.coordinate_names[i] for i in arm.constraints.free]
    assert "none of the 3 muscles with EMG (PECM1, PECM2, PECM3) can be identified" in str(told.value)
    assert f"the 13 muscles without EMG act on {', '.join(free[1:])} in so many ways" in str(told.value)
    missing = [
        name
        for name in arm.muscle_names[3:]
        if np.abs(worked_out.arms[:, arm.muscle_names.index(name), free.index("pronation")]).max() > 1e-6
    ]
    assert f"At pronation the EMG of {', '.join(missing)} is missing" in str(told.value)


def test_a_muscle_without_emg_must_be_deep(arm: mg.Model):
    channels = [name for name in arm.muscle_names if name != "DELT2"]
    with pytest.raises(MyogradError, match=r"no EMG of DELT2.*--deep"):
        check_names(arm, DEEP, channels)


def test_rigid_tendons_are_refused(arm: mg.Model, swing: Recording, worked_out):
    kinds = replace(arm.muscle_classes, rigid_tendon=tuple(name == "DELT2" for name in arm.muscle_names))
    with pytest.raises(MyogradError, match="'DELT2' has a rigid tendon"):
        identification(replace(arm, muscle_classes=kinds), [swing], DEEP, BODIES, known=[worked_out])


def test_muscles_can_be_identified_without_bodies(arm: mg.Model, swing: Recording):
    problem = identification(arm, [swing], DEEP, choices=Choices(skip=0.0))
    assert problem.parameters.of_bodies == 0
    whole = identification(arm, [swing], DEEP, BODIES, choices=Choices(skip=0.0))
    r = [one.residual(one.parameters.start(), one.guess(one.parameters.start()))[0] for one in (problem, whole)]
    np.testing.assert_allclose(r[0], r[1], rtol=1e-7, atol=1e-9)


def test_null_spaces_are_continuous(worked_out, arm: mg.Model):
    (free,) = null_space([worked_out], [arm.muscle_names.index(name) for name in DEEP])
    np.testing.assert_allclose(
        np.einsum("tni,tnj->tij", free, free), np.tile(np.eye(free.shape[2]), (len(free), 1, 1)), atol=1e-12
    )
    assert np.abs(np.diff(free, axis=0)).max() < 0.2


def test_base_parameters_give_the_same_torques(arm: mg.Model, worked_out):
    """Inertias with the same base parameters need the same torques in the null space."""
    free = null_space([worked_out], [arm.muscle_names.index(name) for name in DEEP])
    base = base_parameters([worked_out], free, BODIES)
    assert len(base.names) < 30
    hidden = np.linalg.svd(base.combine)[2][len(base.names) :]
    rows = np.einsum("tnk,tnp->tkp", free[0], worked_out.inertial.torque_regressor).reshape(-1, 30)
    assert np.abs(rows @ hidden.T).max() < 1e-7 * np.abs(rows).max()
