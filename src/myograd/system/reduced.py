"""What integrators integrate: free coordinates, their speeds, and what else changes by itself.

    qdot = N(q) u,   M(q) udot + b(q, u) + G^T lambda = tau(t, q, u, z),   zdot = g(t, q, u, z),   closure(t, q) = 0
Of a model, coordinates that couplers, locks or prescribed motions set are not integrated but computed from the free ones, so
they cannot drift; only loops that cannot be eliminated are left to `closure` and its multipliers lambda. z are activations,
then fibre lengths over optimal fibre lengths, of those muscles that have such states.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..dynamics.constraints import (
    constraint_errors,
    explicit_accelerations,
    explicit_coordinates,
    explicit_speeds,
    jacobian_rows,
    rates_per_free,
    speed_errors,
)
from ..dynamics.forward import Equation
from ..dynamics.guard import quiet
from ..dynamics.kinematics import coordinate_rates, pose, speed_to_rate
from ..model.model import Model
from ..muscle.contraction import activation_rates, muscle_states
from .forces import forces_at
from .rates import muscle_rates, rates_under, state_rates
from .state import State

Time = Float[Array, ""] | float
Free = Float[Array, " f"]
ROUNDS = 3  # of Newton's method back to closed loops after every step of an integrator


class ReducedState(eqx.Module):
    """What is integrated. Its rate of change has the same form."""

    q: Free
    u: Free
    z: Float[Array, " k"]


class Balance(NamedTuple):
    """Forces at a trial acceleration; and zdot, which is worked out beside them."""

    inertial: Free
    """`M a`, with a the second derivatives of q"""
    force: Free
    """all others, `tau - b - G^T lambda`"""
    inner: Float[Array, " k"]


class System(eqx.Module):
    """Equations of motion. Only `rates` is needed by every integrator."""

    @abstractmethod
    def rates(self, t: Time, y: ReducedState) -> ReducedState: ...

    def rates_and_stiffness(self, t: Time, y: ReducedState) -> tuple[ReducedState, Float[Array, " k"]]:
        """Rates, and the rate of each element of z per unit of that element alone."""
        rates, along = jax.linearize(lambda z: self.rates(t, ReducedState(y.q, y.u, z)), y.z)
        return rates, jnp.diagonal(jax.vmap(lambda direction: along(direction).z)(jnp.eye(len(y.z))))

    @abstractmethod
    def balance(self, t: Time, y: ReducedState, a: Free, multipliers: Float[Array, " rows"]) -> Balance: ...

    def closure(self, t: Time, q: Free) -> Float[Array, " rows"]:
        """How far loops are from being closed."""
        return jnp.zeros(0)

    def coordinate_rates(self, t: Time, y: ReducedState) -> Free:
        """`N(q) u`"""
        return y.u

    def speeds(self, t: Time, q: Free, v: Free) -> Free:
        """u with `v = N(q) u`."""
        return v

    def accelerations(self, t: Time, y: ReducedState, a: Free) -> Free:
        """udot with `a = N udot + Ndot u`."""
        return a

    def second_rates(self, t: Time, y: ReducedState, rates: ReducedState) -> Free:
        """`N udot + Ndot u`"""
        return rates.u

    def projected(self, t: Time, y: ReducedState) -> ReducedState:
        """y with loops closed."""
        return y


class Simulated(System):
    """A model under control, as a system."""

    model: Model
    controls: Callable[[Time, State], Float[Array, " k"]]
    wrenches: Callable[[Time, State], Float[Array, "bodies 6"]] | None
    torques: Callable[[Time, State], Float[Array, " c"]] | None
    rest: State
    """values of what is not integrated: states of muscles that have none, coordinates that others set"""

    @property
    def activated(self) -> np.ndarray:
        """Muscles with activation dynamics."""
        return self._muscles_without(self.model.muscle_classes.immediate_activation)

    @property
    def elastic(self) -> np.ndarray:
        """Muscles with fibre length as a state."""
        return self._muscles_without(self.model.muscle_classes.rigid_tendon)

    def _muscles_without(self, property: tuple[bool, ...]) -> np.ndarray:
        uncomputed = np.array([bool(problem) for problem in self.model.muscle_classes.problem], bool)
        return np.flatnonzero(~(np.array(property, bool) | uncomputed))

    def reduced(self, state: State) -> ReducedState:
        free = self.model.constraints.free
        return ReducedState(state.q[free], state.u[free], self._inner(state.activation, state.fiber_length))

    def _inner(self, activation: Float[Array, " m"], fiber_length: Float[Array, " m"]) -> Float[Array, " k"]:
        """z"""
        fiber = fiber_length / self.model.muscles.optimal_fiber_length
        return jnp.concatenate([activation[self.activated], fiber[self.elastic]])

    def state(self, t: Time, y: ReducedState) -> State:
        rest, activated, elastic = self.rest, self.activated, self.elastic
        q = self._coordinates(t, y.q)
        u = explicit_speeds(self.model, q, rest.u.at[self.model.constraints.free].set(y.u), t)
        activation = rest.activation.at[activated].set(y.z[: len(activated)])
        fiber = y.z[len(activated) :] * self.model.muscles.optimal_fiber_length[elastic]
        return State(q, u, activation, rest.fiber_length.at[elastic].set(fiber), jnp.asarray(t, float))

    def _coordinates(self, t: Time, free: Free) -> Float[Array, " c"]:
        return explicit_coordinates(self.model, self.rest.q.at[self.model.constraints.free].set(free), t)

    def applied(
        self, t: Time, state: State
    ) -> tuple[Float[Array, " k"], Float[Array, "bodies 6"] | None, Float[Array, " c"] | None]:
        """Controls, external wrenches, torques on coordinates."""
        with quiet():
            wrenches, torques = (f if f is None else f(t, state) for f in (self.wrenches, self.torques))
            return self.controls(t, state), wrenches, torques

    @eqx.filter_jit  # integrators ask for it in many places: it is traced once
    def rates(self, t: Time, y: ReducedState) -> ReducedState:
        state = self.state(t, y)
        with quiet():
            return self.reduced(state_rates(self.model, state, *self.applied(t, state)))

    @eqx.filter_jit
    def rates_and_stiffness(self, t: Time, y: ReducedState) -> tuple[ReducedState, Float[Array, " k"]]:
        """No muscle acts on another's states, nor a fibre on an activation: the slopes along all at once are those of each."""
        model, state = self.model, self.state(t, y)
        controls, *others = self.applied(t, state)
        with quiet():
            it = forces_at(model, state, controls, *others)
            rates = self.reduced(rates_under(model, state, controls, it))
        excitation = controls[np.array(model.muscle_classes.control, int)]

        def fiber_velocity(fiber_length: Float[Array, " m"]) -> Float[Array, " m"]:
            return muscle_states(model, it.length, it.speed, it.activation, fiber_length).fiber_velocity

        along = jnp.ones_like(state.activation)
        _, of_activation = jax.jvp(lambda a: activation_rates(model, a, excitation), (state.activation,), (along,))
        _, of_fiber = jax.jvp(fiber_velocity, (state.fiber_length,), (along,))
        return rates, jnp.concatenate([of_activation[self.activated], of_fiber[self.elastic]])

    @eqx.filter_jit
    def balance(self, t: Time, y: ReducedState, a: Free, multipliers: Float[Array, " rows"]) -> Balance:
        model, state = self.model, self.state(t, y)
        fixed = model.constraints
        controls, *others = self.applied(t, state)
        it = forces_at(model, state, controls, *others)
        equation, C = Equation(model, it.now), rates_per_free(model, state.q)

        def full(a: Free) -> Float[Array, " c"]:
            """udot of all coordinates"""
            udot = jnp.zeros_like(state.u).at[fixed.free].set(self.accelerations(t, y, a))
            return explicit_accelerations(model, state.q, state.u, udot, t)

        still = full(jnp.zeros_like(a))
        G = jacobian_rows(model, it.now.at, state.q)[fixed.implicit_rows]
        inertial = equation.mass_times(full(a) - still) @ C
        force = (it.tau - equation.needed(still) - multipliers @ G) @ C
        return Balance(inertial, force, self._inner(*muscle_rates(model, controls, it)))

    def closure(self, t: Time, q: Free) -> Float[Array, " rows"]:
        full = self._coordinates(t, q)
        return constraint_errors(self.model, pose(self.model, full), full, t)[self.model.constraints.implicit_rows]

    # Ball and free joints, whose speeds are not the rates of their coordinates --------------------------------

    def _spun(self, q: Free, u: Free) -> Free:
        free = self.model.constraints.free
        return coordinate_rates(self.model, self.rest.q.at[free].set(q), self.rest.u.at[free].set(u))[free]

    def coordinate_rates(self, t: Time, y: ReducedState) -> Free:
        return self._spun(y.q, y.u)

    def speeds(self, t: Time, q: Free, v: Free) -> Free:
        if not len(self.model.tree.balls):
            return v
        free = self.model.constraints.free
        return jnp.linalg.solve(speed_to_rate(self.model, self.rest.q.at[free].set(q))[np.ix_(free, free)], v)

    def _turning(self, y: ReducedState) -> Free:
        """`Ndot u`"""
        if not len(self.model.tree.balls):
            return jnp.zeros_like(y.u)
        return jax.jvp(lambda q: self._spun(q, y.u), (y.q,), (self._spun(y.q, y.u),))[1]

    def accelerations(self, t: Time, y: ReducedState, a: Free) -> Free:
        return self.speeds(t, y.q, a - self._turning(y))

    def second_rates(self, t: Time, y: ReducedState, rates: ReducedState) -> Free:
        return self._spun(y.q, rates.u) + self._turning(y)

    # Closed loops ---------------------------------------------------------------------------------------------

    @eqx.filter_jit
    def projected(self, t: Time, y: ReducedState) -> ReducedState:
        """Coordinates and speeds nearby that keep loops closed, by Newton's method of least change.

        A loop, so that it is compiled once: before the last round positions have converged, which is when speeds are right.
        """
        model, rows = self.model, self.model.constraints.implicit_rows
        if not len(rows):
            return y
        free = model.constraints.free

        def round(y: ReducedState, _: None) -> tuple[ReducedState, None]:
            q = self._coordinates(t, y.q)
            u = explicit_speeds(model, q, self.rest.u.at[free].set(y.u), t)
            at = pose(model, q)
            G = jacobian_rows(model, at, q)[rows] @ rates_per_free(model, q)
            open_by = constraint_errors(model, at, q, t)[rows]
            slipping = speed_errors(model, at, q, u, t)[rows]
            back = jnp.linalg.pinv(G, rtol=1e-9) @ jnp.stack([open_by, slipping], axis=1)
            turned = coordinate_rates(model, q, jnp.zeros_like(q).at[free].set(back[:, 0]))[free]
            return ReducedState(y.q - turned, y.u - back[:, 1], y.z), None

        return jax.lax.scan(round, y, None, length=ROUNDS)[0]
