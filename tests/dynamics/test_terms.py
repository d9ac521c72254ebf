"""Terms of the equation of motion: one that is made up here couples two branches of a tree, and is summed like any other."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

import myograd as mg
from computed import OWN, loaded
from myograd.dynamics.forward import _order
from myograd.dynamics.kinematics import motion, pose
from myograd.dynamics.terms import coupled_coordinates
from myograd.force.term import Energy, Instant, Loads, Term
from myograd.models import model_path


class Shuttle(Term):
    """A mass on a string between two coordinates: it moves by `x = sin(q_i) + 2 q_j`, which gives it kinetic energy `m xdot^2
    / 2`, gravity `m g x`, and a spring `k x^2 / 2`."""

    mass: Float[Array, ""]
    stiffness: Float[Array, ""]
    i: int = eqx.field(static=True)
    j: int = eqx.field(static=True)

    def _x(self, q: Array) -> Array:
        return jnp.sin(q[self.i]) + 2 * q[self.j]

    def coupled(self, model: mg.Model) -> np.ndarray:
        found = np.zeros((len(model.coordinate_names),) * 2, bool)
        found[np.ix_([self.i, self.j], [self.i, self.j])] = True
        return found

    def inertia(self, model: mg.Model, now: Instant) -> Array:
        slope = jax.grad(self._x)(now.q)
        return self.mass * jnp.outer(slope, slope)

    def bias(self, model: mg.Model, now: Instant) -> Array:
        slope, rate = jax.jvp(jax.grad(self._x), (now.q,), (now.u,))
        return self.mass * slope * (rate @ now.u + 9.81)

    def force(self, model: mg.Model, now: Instant) -> Loads:
        return Loads(coordinates=-self.stiffness * self._x(now.q) * jax.grad(self._x)(now.q))

    def energy(self, model: mg.Model, now: Instant) -> Energy:
        x, rate = jax.jvp(self._x, (now.q,), (now.u,))
        return Energy(self.mass * rate**2 / 2, self.mass * 9.81 * x, self.stiffness * x**2 / 2)


def branches(model: mg.Model) -> tuple[int, int]:
    """Two free coordinates, neither of which moves the other."""
    links = model.tree.speed_links
    apart = (links @ links.T == 0) & np.isin(np.arange(len(links)), model.constraints.free)
    i, j = np.argwhere(apart & apart.T)[0]
    return int(i), int(j)


def cases() -> list[str]:
    """Models with two branches at least, with constraints and without."""
    return ["all_joints", "all_constraints"]


@pytest.fixture(params=cases(), scope="module")
def pair(request: pytest.FixtureRequest) -> tuple[mg.Model, mg.Model, Shuttle]:
    model = loaded(OWN[request.param])
    i, j = branches(model)
    term = Shuttle(jnp.array(3.0), jnp.array(40.0), i, j)
    return model, model.with_terms(term), term


def some_state(model: mg.Model) -> tuple[Array, Array]:
    random = np.random.default_rng(3)
    q = mg.assemble(model, model.default_pose() + 0.05 * random.normal(size=len(model.coordinate_names)))
    return q, mg.project_speeds(model, q, random.normal(size=q.shape))


def test_the_equation_is_the_sum_of_its_terms(pair: tuple[mg.Model, mg.Model, Shuttle]):
    plain, more, term = pair
    q, u = some_state(plain)
    at = pose(plain, q)
    now = Instant(0.0, q, u, at, motion(plain, q, u, at))
    udot = jnp.asarray(np.random.default_rng(4).normal(size=q.shape))
    for ours, expected in (
        (mg.mass_matrix(more, q), mg.mass_matrix(plain, q) + term.inertia(more, now)),
        (mg.bias_forces(more, q, u), mg.bias_forces(plain, q, u) + term.bias(more, now)),
        (mg.kinetic_energy(more, q, u), mg.kinetic_energy(plain, q, u) + term.energy(more, now).kinetic),
        (mg.potential_energy(more, q), mg.potential_energy(plain, q) + term.energy(more, now).gravitational),
        (
            mg.inverse_dynamics(more, q, u, udot),
            mg.inverse_dynamics(plain, q, u, udot) + term.inertia(more, now) @ udot + term.bias(more, now),
        ),
    ):
        np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("method", ["elimination", "multipliers"])
def test_accelerations_are_those_of_dense_algebra(pair: tuple[mg.Model, mg.Model, Shuttle], method: str, measured):
    """With the constraints' rows, by one dense solve: no order of elimination, no sparsity."""
    _, model, _ = pair
    q, u = some_state(model)
    tau = jnp.asarray(np.random.default_rng(5).normal(size=q.shape))
    M, b = mg.mass_matrix(model, q), mg.bias_forces(model, q, u)
    G, gamma = mg.constraint_jacobian(model, q), mg.constraint_bias(model, q, u)
    rows = len(gamma)
    whole = np.block([[np.asarray(M), np.asarray(G).T], [np.asarray(G), np.zeros((rows, rows))]])
    expected = np.linalg.lstsq(whole, np.concatenate([tau - b, -gamma]), rcond=1e-13)[0][: len(q)]
    found = mg.forward_dynamics(model, q, u, tau, method=method)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
    measured("accelerations", np.abs(found - expected).max() / np.abs(expected).max())


def test_the_order_of_elimination_knows_what_a_term_couples(pair: tuple[mg.Model, mg.Model, Shuttle]):
    """Coordinates that the term ties are not eliminated in the same stage, as they were without it."""
    plain, more, term = pair

    def stage(model: mg.Model, coordinate: int) -> int:
        order, sizes = _order(coupled_coordinates(model))
        place = order.tolist().index(coordinate)
        return int(np.searchsorted(np.cumsum(sizes), place, side="right"))

    coupled = coupled_coordinates(more)
    assert coupled[term.i, term.j] and not coupled_coordinates(plain)[term.i, term.j]
    assert stage(more, term.i) != stage(more, term.j)


def test_derivatives_go_through_terms(pair: tuple[mg.Model, mg.Model, Shuttle]):
    """By the mass of the term, in both modes, against differences."""
    _, model, _ = pair
    q, u = some_state(model)

    def total(mass: Array) -> Array:
        heavier = eqx.tree_at(lambda m: m.terms[-1].mass, model, mass)
        return jnp.sum(mg.forward_dynamics(heavier, q, u) ** 2)

    program = jax.jit(lambda m: (total(m), jax.jvp(total, (m,), (1.0,))[1], jax.grad(total)(m)))
    _, forward, backward = program(3.0)
    quotient = (program(3.0 + 1e-4)[0] - program(3.0 - 1e-4)[0]) / 2e-4
    np.testing.assert_allclose(forward, quotient, rtol=1e-6)
    np.testing.assert_allclose(backward, forward, rtol=1e-10)


def test_simulations_see_terms_and_keep_their_energy():
    model = loaded(OWN["double_pendulum"])
    model = model.with_terms(Shuttle(jnp.array(0.5), jnp.array(30.0), 0, 1))
    start = mg.initial_state(model, q=[0.4, -0.3])
    bare = mg.State(start.q, start.u, start.activation, start.fiber_length, start.time)
    quiet = eqx.tree_at(lambda m: m.muscles.max_isometric_force, model, replace_fn=jnp.zeros_like)
    motion = mg.simulate(quiet, bare, duration=0.5, integrator="dopri8", accuracy=1e-10)
    energy = mg.energies(quiet, motion)
    total = np.asarray(energy["total"])
    assert np.ptp(np.asarray(energy["elastic"])) > 0.01 * np.ptp(np.asarray(energy["kinetic"]))
    assert np.abs(total - total[0]).max() < 1e-7 * np.ptp(np.asarray(energy["kinetic"]))


class Known(Term):
    """A spring and damper between two coordinates whose force cannot be differentiated along q and u, only by its stiffness."""

    stiffness: Array
    i: int = eqx.field(static=True)
    j: int = eqx.field(static=True)

    def _slopes(self, q: Array) -> tuple[Array, Array]:
        across = jnp.zeros_like(q).at[self.i].set(1.0).at[self.j].set(-1.0)
        return -self.stiffness * jnp.outer(across, across), -0.1 * jnp.outer(across, across)

    def force(self, model: mg.Model, now: Instant) -> mg.Loads:
        K, D = self._slopes(now.q)
        return mg.Loads(coordinates=K @ jax.lax.stop_gradient(now.q) + D @ jax.lax.stop_gradient(now.u))

    def tangent(self, model: mg.Model, now: Instant) -> tuple[Array, Array]:
        return self._slopes(now.q)


def test_a_tangent_that_a_term_knows_is_used():
    """Derivatives by q, u and the term's own number are those of the equal spring that is differentiated as usual."""
    model = loaded(OWN["double_pendulum"])

    class Plain(Known):
        tangent = Term.tangent

        def force(self, model: mg.Model, now: Instant) -> mg.Loads:
            K, D = self._slopes(now.q)
            return mg.Loads(coordinates=K @ now.q + D @ now.u)

    q, u = jnp.array([0.4, -0.3]), jnp.array([0.7, 0.2])
    state = mg.equilibrium_state(model, q, u, jnp.full(len(model.muscle_names), 0.2))
    controls = jnp.full(len(model.control_names), 0.2)

    def slopes(kind: type[Known]) -> Any:
        def forces(stiffness: Array, q: Array, u: Array) -> Array:
            moved = eqx.tree_at(lambda s: (s.q, s.u), state, (q, u))
            return mg.applied_forces(model.with_terms(kind(stiffness, 0, 1)), moved, controls)

        given = jnp.array(30.0), q, u
        return forces(*given), jax.jacfwd(forces, (0, 1, 2))(*given), jax.jacrev(forces, (0, 1, 2))(*given)

    for known, plain in zip(*map(jax.tree.leaves, (slopes(Known), slopes(Plain))), strict=True):
        np.testing.assert_allclose(known, plain, rtol=1e-12, atol=1e-12 * np.abs(plain).max())


def test_inertia_without_coupling_is_refused():
    with pytest.raises(TypeError, match=r"Forgetful has inertia, which are asked for only where `coupled`"):

        class Forgetful(Term):
            def inertia(self, model: mg.Model, now: Instant) -> Array:
                return jnp.eye(2)


def test_forces_of_the_wrong_form_are_refused():
    class Short(Term):
        def force(self, model: mg.Model, now: Instant) -> mg.Loads:
            return mg.Loads(coordinates=jnp.ones(1))

    class Bare(Term):
        def force(self, model: mg.Model, now: Instant) -> mg.Loads:
            return jnp.ones(2)  # pyright: ignore[reportReturnType]

    model = loaded(OWN["double_pendulum"])
    state = mg.equilibrium_state(model, [0.1, 0.2], [0.0, 0.0], jnp.full(len(model.muscle_names), 0.2))
    controls = jnp.full(len(model.control_names), 0.2)
    for term, message in (
        (Short(), r"Short.force: coordinates have shape \(1,\)"),
        (Bare(), r"Bare.force gives a .*, not Loads"),
    ):
        with pytest.raises(mg.ModelError, match=message):
            mg.applied_forces(model.with_terms(term), state, controls)
    with pytest.raises(mg.ModelError, match="takes instances of Term, not 3"):
        model.with_terms(3)  # pyright: ignore[reportArgumentType]


def test_masses_of_terms_are_not_forgotten(pair: tuple[mg.Model, mg.Model, Shuttle]):
    """A term that does not say where its mass is has no centre of mass to add: no number, instead of one without it."""
    _, more, _ = pair
    q, u = some_state(more)
    with pytest.raises(NotImplementedError, match="Shuttle has inertia, but does not say where its mass is"):
        mg.center_of_mass(more, q)
    with pytest.raises(NotImplementedError, match="Shuttle has inertia, but does not say what its momentum is"):
        mg.momentum(more, q, u)


def operations(jaxpr: Any) -> list[str]:
    """Of a program and of all programs in it."""
    found = []
    for equation in jaxpr.eqns:
        found.append(equation.primitive.name)
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                found += operations(inner)
    return found


def test_nothing_is_paid_where_no_term_has_inertia():
    """The program of the accelerations has the same operations with springs and without."""
    model = loaded(model_path("leg"))
    q = model.default_pose()

    def program(model: mg.Model) -> list[str]:
        return operations(jax.make_jaxpr(lambda q, u: mg.forward_dynamics(model, q, u))(q, 0 * q).jaxpr)

    without = eqx.tree_at(lambda m: m.terms, model, ())
    assert len(model.terms) > 0
    assert len(program(model)) > 100
    assert program(model) == program(without)
