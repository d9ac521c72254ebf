"""Forces without a peer: derivatives, energy, action and reaction, and states that cannot be."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import myograd as mg
from computed import loaded
from force_bench import COORDINATES, FORCES, bench
from muscle_bench import bench as muscle_bench
from myograd.errors import ActivationWarning
from myograd.force.hunt_crossley import HuntCrossley
from myograd.force.term import Law
from myograd.models import model_path
from myograd.system.forces import driven_instant, elastic_energy

NONE = np.zeros(0)


def some_state(seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    q = random.uniform(-0.5, 0.5, len(COORDINATES))
    q[3:6] *= 0.3
    return q, random.normal(size=len(COORDINATES))


@pytest.mark.parametrize("case", [case for case in FORCES if case != "switched off"])
def test_derivatives(case: str):
    """With respect to state, controls and all values of the forces, in both modes."""
    model = mg.compile_model(bench(case))
    q, u = some_state()
    controls = np.full(len(model.control_names), 0.4)
    numbers = (model.terms, model.contact_surfaces)

    @jax.jit
    def tau(q, u, controls, scale):
        scaled = jax.tree.map(lambda x: x * scale, numbers)
        changed = eqx.tree_at(lambda m: (m.terms, m.contact_surfaces), model, scaled)
        return mg.applied_forces(changed, mg.State(q, u, NONE, NONE), controls)

    size = np.abs(tau(q, u, controls, 1.0)).max()
    assert size > 0
    check_grads(
        lambda *x: tau(*x) / size, (q, u, controls, 1.0), order=1, modes=("fwd", "rev"), atol=2e-6, rtol=2e-6, eps=1e-6
    )


def without_damping(model: mg.Model) -> mg.Model:
    def still(term):
        names = [name for name in ("viscosity", "dissipation", "damping") if hasattr(term, name)]
        return dataclasses.replace(term, **{name: 0 * getattr(term, name) for name in names})

    return dataclasses.replace(model, terms=tuple(map(still, model.terms)))


ELASTIC = [
    "CoordinateLimitForce",
    "SpringGeneralizedForce",
    "PathSpring",
    "Ligament",
    "PointToPointSpring",
    "BushingForce",
    "HuntCrossleyForce",
]


@pytest.mark.parametrize("case", ELASTIC)
def test_forces_are_slopes_of_the_elastic_energy(case: str):
    """Without damping and at rest, where there is no friction. Ellipsoids are left out: the radius of curvature that OpenSim
    takes for them turns with them, so that their force has no energy."""
    description = bench(case)
    description.forces = description.forces[:1] if case == "HuntCrossleyForce" else description.forces
    model = without_damping(mg.compile_model(description))
    q, _ = some_state()
    on_coordinates = case in (
        "CoordinateLimitForce",
        "SpringGeneralizedForce",
    )  # as if speeds were rates, also of a ball

    @jax.jit
    def at(q):
        state = mg.State(q, jnp.zeros_like(q), NONE, NONE)
        tau = mg.applied_forces(model, state, NONE)
        return elastic_energy(model, state), tau if on_coordinates else tau @ _rates_inverse(model, q)

    slope = jax.jit(jax.grad(lambda q: at(q)[0]))(q)
    _, tau = at(q)
    assert np.abs(tau).max() > 0.1
    np.testing.assert_allclose(-slope, tau, atol=1e-9 * np.abs(tau).max())


def _rates_inverse(model: mg.Model, q):
    """Speeds per rates of the coordinates."""
    return jnp.linalg.inv(_rates(model, q))


@pytest.mark.parametrize("case", ["PointToPointSpring", "PathSpring", "BushingForce"])
def test_springs_conserve_energy(case: str):
    """Undamped, the forces' power around a closed loop of poses adds up to nothing."""
    model = mg.compile_model(bench(case))
    undamped = without_damping(model)
    q0, _ = some_state()
    q1 = some_state(6)[0]
    phase = np.linspace(0, 2 * np.pi, 400, endpoint=False)

    def power(s):
        q, rate = jax.jvp(
            lambda s: q0 + 0.3 * jnp.sin(s) * q1 + 0.2 * (jnp.cos(s) - 1) * q1[::-1], (s,), (jnp.ones(()),)
        )
        u = jnp.linalg.solve(_rates(undamped, q), rate)
        return mg.applied_forces(undamped, mg.State(q, u, NONE, NONE), NONE) @ u

    work = np.asarray(jax.jit(jax.vmap(power))(phase)) * (phase[1] - phase[0])
    assert np.abs(work).sum() > 0.1
    assert abs(work.sum()) < 1e-9 * np.abs(work).sum()


def _rates(model: mg.Model, q):
    return jax.vmap(lambda u: mg.coordinate_rates(model, q, u), out_axes=1)(jnp.eye(len(COORDINATES)))


@pytest.mark.parametrize(
    "case", ["PointToPointSpring", "BushingForce", "HuntCrossleyForce", "SmoothSphereHalfSpaceForce"]
)
def test_action_is_reaction(case: str):
    model = mg.compile_model(bench(case))
    q, u = map(jnp.asarray, some_state())
    now, _ = driven_instant(model, mg.State(q, u, NONE, NONE), jnp.zeros(0))
    (law,) = [term for term in model.terms if isinstance(term, Law) and term.describes.__name__ == case]
    found = np.asarray(law.force(model, now).wrenches)
    assert np.abs(found).max() > 0.1
    np.testing.assert_allclose(found.sum(axis=1), 0.0, atol=1e-12 * np.abs(found).max())


def test_friction_of_a_body_at_rest_resists():
    """In contact at u = 0, where the slip has no direction: the derivative is that of friction / v_t, and not zero."""
    description = bench("HuntCrossleyForce")
    description.forces = description.forces[:1]
    model = mg.compile_model(description)
    q, still = some_state()[0], np.zeros(len(COORDINATES))

    @jax.jit
    def tau(u):
        return mg.applied_forces(model, mg.State(q, u, NONE, NONE), NONE)

    forward, backward = jax.jacfwd(tau)(still), jax.jacrev(tau)(still)
    h = 1e-6
    quotient = np.stack([(tau(h * e) - tau(-h * e)) / (2 * h) for e in np.eye(len(still))], axis=1)
    size = np.abs(quotient).max()
    np.testing.assert_allclose(forward / size, quotient / size, atol=1e-6)
    np.testing.assert_allclose(backward / size, forward / size, atol=1e-12)
    law = model.term(HuntCrossley)
    assert law is not None
    none = {name: jnp.zeros_like(getattr(law, name)) for name in ("static_friction", "dynamic_friction")}
    frictionless = dataclasses.replace(model, terms=(dataclasses.replace(law, **none),))
    slippery = jax.jacfwd(lambda u: mg.applied_forces(frictionless, mg.State(q, u, NONE, NONE), NONE))(still)
    assert np.abs(forward - slippery).max() > 0.1 * size  # friction is there to be seen


def test_surfaces_apart_have_no_force():
    description = bench("HuntCrossleyForce")
    description.forces = description.forces[1:]  # the trunk's belly against the plate's wall
    model = mg.compile_model(description)
    q = np.zeros(len(COORDINATES))
    q[7] = 5.0
    state = mg.State(q, np.ones_like(q), NONE, NONE)
    assert np.array_equal(mg.applied_forces(model, state, NONE), np.zeros_like(q))
    gradient = jax.jacfwd(lambda q: mg.applied_forces(model, mg.State(q, np.ones(len(COORDINATES)), NONE, NONE), NONE))(
        q
    )
    assert np.array_equal(gradient, np.zeros_like(gradient))


def test_smooth_contacts_without_smoothing_are_refused():
    description = bench("SmoothSphereHalfSpaceForce")
    description.forces = [dataclasses.replace(force, constant_contact_force=0.0) for force in description.forces]
    with pytest.raises(mg.ModelError, match="'smooth': constant_contact_force is 0; it must be above 0"):
        mg.compile_model(description)


def test_controls_are_in_the_order_of_the_file():
    description = muscle_bench()
    model = mg.compile_model(description)
    assert model.control_names == model.muscle_names
    assert mg.compile_model(bench("switched off")).control_names == ("off", "on")


def test_equilibrium_state_and_its_rate():
    model = loaded(model_path("planar_leg"))
    q = mg.assemble(model, model.default_pose())
    activation = np.full(len(model.muscle_names), 0.3)
    state = mg.equilibrium_state(model, q, np.zeros_like(q), activation)
    np.testing.assert_allclose(state.fiber_length, mg.muscle_equilibrium(model, q, np.zeros_like(q), activation))
    rate = mg.state_derivative(model, state, np.full(len(model.control_names), 0.3))
    np.testing.assert_allclose(rate.activation, 0.0, atol=1e-12)
    tau = mg.applied_forces(model, state, np.full(len(model.control_names), 0.3))
    np.testing.assert_allclose(rate.u, mg.forward_dynamics(model, q, np.zeros_like(q), tau), rtol=1e-12)
    assert float(rate.time) == 1.0


def test_what_is_refused(tmp_path: Path):
    model = loaded(model_path("planar_leg"))
    q = np.zeros(len(model.coordinate_names))
    m = len(model.muscle_names)
    state = mg.State(q, q, np.full(m, 0.5), np.full(m, 0.1))
    controls = np.zeros(m)
    with pytest.raises(mg.ModelError, match=r"state_derivative: controls has shape \(2,\), but 'planar_leg' needs"):
        mg.state_derivative(model, state, np.zeros(2))
    with pytest.raises(mg.ModelError, match=r"state_derivative: fiber_length is not finite for "):
        mg.state_derivative(model, eqx.tree_at(lambda s: s.fiber_length, state, np.full(m, np.nan)), controls)
    with pytest.raises(mg.ModelError, match="state_derivative: u has shape"):
        mg.state_derivative(model, eqx.tree_at(lambda s: s.u, state, np.zeros(1)), controls)
    first = model.muscle_names[0]
    with pytest.warns(ActivationWarning, match=f"state_derivative: excitation of '{first}' is 3; it is taken as 1"):
        high = mg.state_derivative(model, state, np.array([3.0, *controls[1:]]))
    assert high.activation[0] == mg.state_derivative(model, state, np.array([1.0, *controls[1:]])).activation[0]
    with pytest.warns(ActivationWarning, match=f"activation of '{first}' is -1; it is taken as 0"):
        mg.state_derivative(
            model, eqx.tree_at(lambda s: s.activation, state, np.array([-1.0, *[0.5] * (m - 1)])), controls
        )


def test_forces_that_are_not_computed_have_to_be_accepted(tmp_path: Path):
    text = model_path("double_pendulum").read_text()
    file = tmp_path / "clutched.osim"
    file.write_text(
        text.replace(
            '<ForceSet name="forceset">\n\t\t\t<objects>',
            '<ForceSet name="forceset"><objects><ClutchedPathSpring name="clutch" />',
        )
    )
    with pytest.warns(UserWarning, match="ClutchedPathSpring"):
        model = mg.load_model(file)
    q, m = np.zeros(len(model.coordinate_names)), len(model.muscle_names)
    state = mg.State(q, q, np.full(m, 0.5), np.full(m, 0.1))
    with pytest.raises(mg.UnsupportedError, match=r"ClutchedPathSpring 'clutch' .* pass accept=\('clutch',\)"):
        mg.state_derivative(model, state, np.zeros(m))
    assert np.isfinite(mg.state_derivative(model, state, np.zeros(m), accept=("clutch",)).u).all()
