"""Derivatives through time, of every integrator: backwards, forwards, and against finite differences.

A small system of its own goes through all integrators, because it compiles in a second; models of ours, which take up to a
minute, through one of each kind here, and through the rest when slow tests are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import myograd as mg
from myograd.models import model_path
from myograd.simulation.integrators import SOLVERS, Method
from myograd.simulation.rollout import rollout
from myograd.system.reduced import Balance, ReducedState, System

KNOTS = jnp.array([0.0, 0.02, 0.04])
TIMES = jnp.array([0.0, 0.017, 0.04])  # one of them within a step
REPRESENTATIVES = ("adams", "rk4")
BAR = 1e-6


def slow_but(few: tuple[str, ...]) -> list:
    return [name if name in few else pytest.param(name, marks=pytest.mark.slow) for name in SOLVERS]


def step_of(integrator: str) -> float:
    """[s]: explicit ones of low order are unstable where others are not."""
    return 0.0005 if "euler" in integrator else 0.002


Parameters = dict[str, jax.Array]


def check(
    function: Callable[[Parameters, bool], jax.Array],
    at: Parameters,
    steps: dict[str, float],
    same: float = 1e-9,
    exact: Callable[[Parameters], jax.Array] | None = None,
) -> None:
    """`function(parameters, forward)` must have the `same` derivatives in both modes, and as differences of `steps` have: its
    own differences, or those of the `exact` value that it comes near to.

    Along one random direction of every parameter, as large as the parameter itself.
    """
    value = jax.jit(exact or (lambda p: function(p, False)))
    gradient = jax.jit(jax.grad(lambda p: function(p, False)))(at)
    forward = jax.jit(lambda p, along: jax.jvp(lambda p: function(p, True), (p,), (along,))[1])
    random = np.random.default_rng(0)
    for name, h in steps.items():
        along = jax.tree.map(jnp.zeros_like, at)
        along[name] = jnp.asarray(random.normal(size=at[name].shape) * np.maximum(np.abs(at[name]), 0.05))

        def moved(x: float, along: Parameters = along) -> float:
            return float(value(jax.tree.map(lambda p, d: p + x * d, at, along)))

        difference = (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h)
        backwards = float(jnp.vdot(gradient[name], along[name]))
        assert abs(difference) > 1e-4, f"{name}: does not matter, so nothing is tested"
        assert backwards == pytest.approx(difference, rel=BAR), name
        assert float(forward(at, along)) == pytest.approx(backwards, rel=same), name


# A small system ----------------------------------------------------------------------------------------------


class Pulled(System):
    """A pendulum with a torque, and with a tension z that follows an excitation fast: `0.002 zdot = e(t) - z - z^3 / 2`."""

    mass: jax.Array
    torque: jax.Array
    excitation: jax.Array

    def force(self, t: Any, y: ReducedState) -> jax.Array:
        return self.torque + 3 * y.z - 9.81 * self.mass * jnp.sin(y.q) - 0.1 * y.u

    def rates(self, t: Any, y: ReducedState) -> ReducedState:
        excitation = jnp.interp(t, KNOTS, self.excitation)
        return ReducedState(y.u, self.force(t, y) / self.mass, (excitation - y.z - 0.5 * y.z**3) / 0.002)

    def balance(self, t: Any, y: ReducedState, a: jax.Array, multipliers: jax.Array) -> Balance:
        return Balance(self.mass * a, self.force(t, y), self.rates(t, y).z)


NUMBERS = dict(mass=1.3, torque=[0.4], excitation=[0.2, 0.9, 0.4], q=[0.5], u=[0.7], z=[0.1])


def pulled(method: Method, p: Parameters, forward: bool = False) -> jax.Array:
    """A number that depends on the whole motion."""
    system = Pulled(p["mass"], p["torque"], p["excitation"])
    y = rollout(system, ReducedState(p["q"], p["u"], p["z"]), TIMES, method, forward=forward).y
    return jnp.sum(jnp.sin(y.q) + 0.3 * y.u + y.z)


def start_pulled() -> Parameters:
    return {name: jnp.array(x) for name, x in NUMBERS.items()}


@pytest.mark.parametrize("integrator", SOLVERS)
def test_through_every_integrator(integrator: str):
    method = Method(integrator, step=step_of(integrator))
    check(partial(pulled, method), start_pulled(), dict.fromkeys(NUMBERS, 1e-3))


@pytest.mark.parametrize("integrator", ["adams", pytest.param("kvaerno5", marks=pytest.mark.slow)])
def test_where_steps_are_chosen(integrator: str):
    """Gradients of a motion that is accurate to 1e-9 are those of the motion.

    Its own differences would not tell: steps are chosen anew for each, so that a difference over 1e-2 is 1e-7 off, and more
    where it is small. They are taken of short steps of high order. The choice depends on rounding, so both modes may go by
    other steps: they must agree as well as the motion allows.
    """
    exact = partial(pulled, Method("dopri8", step=2e-4))  # a step ends where the excitation has its corner
    method = partial(pulled, Method(integrator, accuracy=1e-9))
    check(method, start_pulled(), dict.fromkeys(NUMBERS, 1e-3), same=BAR, exact=exact)


@pytest.mark.parametrize("integrator", ["adams", "tsit5"])
def test_of_more_steps_than_are_kept(integrator: str, monkeypatch: pytest.MonkeyPatch):
    """Backwards, what was not kept is worked out again, and must be what it was."""
    at, method = start_pulled(), Method(integrator, accuracy=1e-9)
    kept = jax.jit(jax.grad(partial(pulled, method)))(at)
    monkeypatch.setattr("myograd.simulation.rollout.CHECKPOINTS", 16)
    again = jax.jit(jax.grad(partial(pulled, method)))(at)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-8), again, kept)


# Models ------------------------------------------------------------------------------------------------------


@cache
def pendulum() -> tuple[mg.Model, Parameters]:
    model = mg.load_model(model_path("double_pendulum"))
    start = mg.initial_state(model, q=[0.4, 0.5], u=[0.3, -0.2], activation=0.2)
    # In equilibrium fibres stand still, where the second derivative of the force-velocity curve has a corner: differences
    # converge slowly there.
    start = eqx.tree_at(lambda s: s.fiber_length, start, 1.001 * start.fiber_length)
    return model, dict(
        q=start.q,
        u=start.u,
        activation=start.activation,
        fiber_length=start.fiber_length,
        mass=model.bodies.mass,
        optimal=model.muscles.optimal_fiber_length,
        slack=model.muscles.tendon_slack_length,
        torque=jnp.array([1.0, -0.5]),
        excitation=jnp.array([[0.3, 0.6], [0.5, 0.2], [0.1, 0.7]]),
    )


STEPS: dict[str, float] = {}
STEPS |= dict.fromkeys(("u", "mass", "torque"), 1e-3)
STEPS |= dict.fromkeys(
    ("q", "activation", "optimal", "excitation"), 1e-4
)  # slopes jump where excitation meets activation
STEPS |= dict.fromkeys(("fiber_length", "slack"), 1e-5)  # tendons are stiff


@pytest.mark.parametrize("integrator", slow_but(REPRESENTATIVES))
def test_of_a_model_with_muscles(integrator: str):
    model, at = pendulum()

    def end(p: Parameters, forward: bool) -> jax.Array:
        changed = eqx.tree_at(
            lambda m: (m.bodies.mass, m.muscles.optimal_fiber_length, m.muscles.tendon_slack_length),
            model,
            (p["mass"], p["optimal"], p["slack"]),
        )
        start = mg.State(p["q"], p["u"], p["activation"], p["fiber_length"], jnp.zeros(()))
        motion = mg.simulate(
            changed,
            start,
            mg.ControlSignal(KNOTS, p["excitation"]),
            at=TIMES,
            integrator=integrator,
            step=step_of(integrator),
            torques=p["torque"],
            forward_mode=forward,
        ).state
        parts = motion.q + 0.1 * motion.u + motion.activation + 10 * motion.fiber_length
        return jnp.sum(parts * jnp.array([1.0, -0.7]))

    check(end, at, STEPS)


@pytest.mark.parametrize("integrator", slow_but(("rk4",)))
def test_of_a_closed_loop(integrator: str):
    model = mg.load_model(model_path("four_bar"))
    start = mg.initial_state(model, activation=0.2)
    at = dict(mass=model.bodies.mass, torque=jnp.array([0.5, -2.0]), excitation=jnp.array([[0.3, 0.6], [0.5, 0.2]]))

    def end(p: Parameters, forward: bool) -> jax.Array:
        changed = eqx.tree_at(lambda m: m.bodies.mass, model, p["mass"])
        motion = mg.simulate(
            changed,
            start,
            mg.ControlSignal(KNOTS[::2], p["excitation"]),
            at=TIMES,
            integrator=integrator,
            step=step_of(integrator),
            torques=p["torque"],
            forward_mode=forward,
        ).state
        return jnp.sum(motion.q + 0.1 * motion.u)

    check(end, at, dict.fromkeys(at, 1e-3))
