"""Muscle forces of a recording, from EMG: filter and delay, activation, contraction (paper 000, III-F).

    EMG -> excitation (Eqs. 19-21) -> activation (Eqs. 17-18) -> fibre force (Eq. 15) or tendon force (Eq. 16)

Fibre lengths are recorded (paper 000), or solved from the path's lengths: the fibre obeys a stiff differential equation, in
which every sample's balance of forces

    balance(l_k, v_k; L_k, a_k) = 0,   v_k = (3/2 l_k - 2 l_k-1 + 1/2 l_k-2) / step  (or a formula of higher order)

is implicit (backward differentiation; the equation has one real, negative eigenvalue, for which these formulas are stable).
All samples are solved at once by Newton's method: balances and slopes of all samples side by side, then one linear
recurrence; muscles for which that fails, one sample after the other (`fiber_steps`). The same recurrence gives the
derivatives, by the implicit function theorem.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from ...model.model import Model, MuscleValues
from ...model.structure import Muscles
from ...muscle.activation import integrate_activation
from ...muscle.contraction import fiber_equilibrium, fiber_forces, force_balance, muscle_states
from ...muscle.emg import emg_to_excitation
from .choices import OF_MODEL
from .fiber_steps import at_shortest, shortest_allowed, stepped_fibers

Samples = Float[Array, "T m"]
OfMuscles = Mapping[str, Float[Array, " m"]]
"""Numbers of muscles, by what they are (`choices.MUSCLE`)."""
OfAll = Mapping[str, Float[Array, ""]]
"""Numbers of all muscles (`choices.COMMON`)."""
BACKWARD = {
    1: (1.0, -1.0),
    2: (3 / 2, -2.0, 1 / 2),
    3: (11 / 6, -3.0, 3 / 2, -1 / 3),
    4: (25 / 12, -4.0, 3.0, -4 / 3, 1 / 4),
}
"""Backward differentiation formulas by their order: factors of the last samples, times the step."""
CLOSE = 1e-11  # of the optimal fibre length: Newton's last step
LONGEST_STEP = 0.1  # of the optimal fibre length, in one iteration
MOST_STEPS = 60
UNBALANCED = 1e-6  # of the maximum force: what a solution may leave
SUBSTEP = 0.2  # of the activation's shortest time constant


def only(model: Model, muscles: tuple[str, ...]) -> Model:
    """The model with these muscles' contraction only (its paths stay as they are)."""
    which = np.array([model.muscle_names.index(name) for name in muscles], int)
    classes = model.muscle_classes
    chosen = {item.name: tuple(getattr(classes, item.name)[i] for i in which) for item in fields(classes)}
    muscles = jax.tree.map(lambda x: x[..., which], model.muscles)
    return replace(model, muscles=muscles, muscle_classes=Muscles(**chosen))


def with_muscle_values(driven: Model, muscle: OfMuscles) -> Model:
    """The driven muscles with other numbers (`choices.MUSCLE`)."""
    return replace(driven, muscles=replace(driven.muscles, **{name: muscle[name] for name in OF_MODEL}))


def activations(emg: Samples, gain: Float[Array, " m"], common: OfAll, step: float, substeps: int) -> Samples:
    """Activation from EMG. Before the recording the EMG was what it is at its start."""
    rise, fall = (common[f"muscles.{side}_time_constant"] for side in ("activation", "deactivation"))
    envelope = gain * emg
    excitation = emg_to_excitation(envelope, step, common["emg.delay"], common["emg.c1"], common["emg.c2"])
    return integrate_activation(excitation, step, rise, fall, initial=envelope[0], parallel=False, substeps=substeps)


def substeps_of(step: float, shortest: float) -> int:
    """Runge-Kutta steps per sample for a time constant."""
    return max(1, int(np.ceil(step / (SUBSTEP * shortest))))


# Fibres ------------------------------------------------------------------------------------------------------


def _before(x: Samples, by: int) -> Samples:
    """Samples that many steps earlier; the first is taken to have lasted."""
    return jnp.concatenate([jnp.broadcast_to(x[:1], (by, *x.shape[1:])), x[: len(x) - by]]) if by else x


def rate_of(x: Samples, step: float, order: int) -> Samples:
    """Backward differences."""
    return sum(c * _before(x, j) for j, c in enumerate(BACKWARD[order])) / step  # pyright: ignore[reportReturnType]


def _balance(driven: Model, length: Samples, activation: Samples, fiber: Samples, velocity: Samples) -> Samples:
    """Of every sample, normalised."""

    return jax.vmap(partial(_balance_of_one, driven))(length, activation, fiber, velocity)


def _balance_of_one(driven: Model, length: Array, activation: Array, fiber: Array, velocity: Array) -> Array:
    """Of one sample, normalised."""
    return force_balance(driven, length, activation, fiber, velocity) / driven.muscles.max_isometric_force


def _slopes(driven: Model, length: Samples, activation: Samples, fiber: Samples, step: float, order: int) -> Any:
    """Balance of every sample, and its slopes by the fibre's length and velocity."""
    velocity = rate_of(fiber, step, order)

    def value(fiber: Samples, velocity: Samples) -> Samples:
        return _balance(driven, length, activation, fiber, velocity)

    one, none = jnp.ones_like(fiber), jnp.zeros_like(fiber)
    balance, by_length = jax.jvp(value, (fiber, velocity), (one, none))
    return balance, by_length, jax.jvp(value, (fiber, velocity), (none, one))[1]


def _recurrence(right: Samples, by_length: Samples, by_velocity: Samples, step: float, order: int) -> Samples:
    """x with `by_length x + by_velocity rate_of(x) = right`, sample after sample."""
    factors = BACKWARD[order]
    first = right[0] / jnp.where(by_length[0] == 0, jnp.inf, by_length[0])
    viscous = by_velocity / step
    pivot = by_length + viscous * factors[0]
    inverse = 1 / jnp.where(pivot == 0, jnp.inf, pivot)

    def advance(past: tuple[Array, ...], at: tuple[Array, Array]) -> tuple[tuple[Array, ...], Array]:
        forcing, drag = at
        x = forcing - drag * sum(c * earlier for c, earlier in zip(factors[1:], past, strict=True))
        return (x, *past[:-1]), x

    start = (first,) * order
    rest = lax.scan(advance, start, ((right * inverse)[1:], (viscous * inverse)[1:]))[1]
    return jnp.concatenate([first[None], rest])


def solved_fibers(
    driven: Model, length: Samples, activation: Samples, step: float, guess: Samples, order: int = 3
) -> Samples:
    """[T, m] Fibre lengths [m] that balance at every sample; at the first one fibres are at rest. Where the path is too short for
    that, the shortest fibre; not a number where none was found. Derivatives with respect to the driven model's muscles, lengths
    and activation are those of the equations.

    Each muscle is solved by itself: those that Newton's method over all samples does not solve are solved sample by sample.
    """
    fixed = lax.stop_gradient((driven, length, activation))
    optimal, shortest = fixed[0].muscles.optimal_fiber_length, shortest_allowed(fixed[0])
    furthest = LONGEST_STEP * optimal

    def going_on(state: tuple[Array, Array, Array]) -> Array:
        _, moved, count = state
        return jnp.any(moved > CLOSE) & (count < MOST_STEPS)  # what is not a number is not gone on with

    def newton(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        fiber, _, count = state
        balance, by_length, by_velocity = _slopes(*fixed, fiber, step, order)
        change = jnp.clip(_recurrence(-balance, by_length, by_velocity, step, order), -furthest, furthest)
        after = jnp.maximum(fiber + change, shortest)
        return after, jnp.max(jnp.abs(change) / optimal, axis=0), count + 1

    state = (lax.stop_gradient(guess), jnp.full(length.shape[1], jnp.inf), jnp.array(0))
    found, moved, _ = lax.while_loop(going_on, newton, state)
    left = _balance(*fixed, found, rate_of(found, step, order))
    solved = (moved < 1e3 * CLOSE) & (jnp.max(jnp.abs(left), axis=0) < UNBALANCED)

    def by_steps() -> Samples:
        stepped = stepped_fibers(fixed[0], partial(_balance_of_one, fixed[0]), *fixed[1:], step, BACKWARD[order])
        left = _balance(*fixed, stepped, rate_of(stepped, step, order))
        balanced = (jnp.abs(left) <= UNBALANCED) | at_shortest(fixed[0], stepped)
        return jnp.where(solved, found, jnp.where(balanced, stepped, jnp.nan))

    found = lax.cond(jnp.all(solved), lambda: found, by_steps)
    kinds = _Kinds(driven)
    return _solution(kinds, step, order, driven.muscles, length, activation, found)


class _Kinds:
    """A model's static half, to be handed to functions of its muscles' values."""

    def __init__(self, driven: Model):
        self.model = lax.stop_gradient(driven)

    def __call__(self, muscles: MuscleValues) -> Model:
        return replace(self.model, muscles=muscles)


@partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def _solution(
    kinds: _Kinds, step: float, order: int, muscles: MuscleValues, length: Samples, activation: Samples, root: Samples
) -> Samples:
    return root


@_solution.defjvp
def _implicit(kinds: _Kinds, step: float, order: int, primals: Any, tangents: Any) -> tuple[Samples, Samples]:
    muscles, length, activation, root = primals
    velocity = rate_of(root, step, order)

    def of(muscles: MuscleValues, length: Samples, activation: Samples) -> Samples:
        return _balance(kinds(muscles), length, activation, root, velocity)

    change = jax.jvp(of, (muscles, length, activation), tangents[:3])[1]
    balance, by_length, by_velocity = _slopes(kinds(muscles), length, activation, root, step, order)
    held = at_shortest(kinds(muscles), root) & (jnp.abs(balance) > UNBALANCED)  # stays there
    change, by_velocity = (jnp.where(held, 0.0, x) for x in (change, by_velocity))
    return root, _recurrence(-change, jnp.where(held, 1.0, by_length), by_velocity, step, order)


class Fibers(NamedTuple):
    """What an evaluation leaves for the next one: where the search for fibres may start."""

    length: Samples
    """of the fibres [m]"""
    path: Samples
    """lengths of the paths that they balanced in [m]"""


@jax.jit
def carried(fibers: Fibers, before: OfMuscles, after: OfMuscles) -> Fibers:
    """Fibres for other numbers of the muscles, with which their tendons stay stretched as they were. The same lengths would be a
    bad start for Newton's method: a tendon is soon slack, and then has no slope."""
    stretch = (fibers.path - _along(fibers.length, before)) / before["tendon_slack_length"]
    return Fibers(_pennate(fibers.path - stretch * after["tendon_slack_length"], after), fibers.path)


@jax.jit
def lengthened(fibers: Fibers, path: Samples, muscle: OfMuscles) -> Samples:
    """Fibre lengths in paths of other lengths, with tendons as they were."""
    return _pennate(_along(fibers.length, muscle) + path - fibers.path, muscle)


def _along(fiber: Samples, muscle: OfMuscles) -> Samples:
    """Lengths of fibres along their tendons."""
    return jnp.sqrt(jnp.maximum(fiber**2 - _width(muscle) ** 2, 0.0))


def _pennate(along: Samples, muscle: OfMuscles) -> Samples:
    """Lengths of fibres, from those along their tendons."""
    return jnp.sqrt(jnp.maximum(along, 0.1 * muscle["optimal_fiber_length"]) ** 2 + _width(muscle) ** 2)


def _width(muscle: OfMuscles) -> Float[Array, " m"]:
    return muscle["optimal_fiber_length"] * jnp.sin(muscle["pennation_angle"])


def resting_fibers(driven: Model, length: Samples, activation: Samples) -> Samples:
    """[T, m] Fibre lengths at rest at every sample: where Newton's method may start."""
    return jax.vmap(lambda L, a: fiber_equilibrium(driven, L, jnp.zeros_like(L), a))(length, activation)


# Forces ------------------------------------------------------------------------------------------------------


def forces_of_fibers(driven: Model, activation: Samples, fiber: Samples, velocity: Samples) -> Samples:
    """[N] by Eq. 15, with the class's damping."""
    return jax.vmap(lambda a, fiber, v: fiber_forces(driven, a, fiber, v))(activation, fiber, velocity)


def forces_of_tendons(driven: Model, length: Samples, activation: Samples, fiber: Samples) -> Samples:
    """[N] by Eq. 16, from the path's length and the fibre's."""

    def one(length: Array, a: Array, fiber: Array) -> Array:
        return muscle_states(driven, length, jnp.zeros_like(length), a, fiber).tendon_force

    return jax.vmap(one)(length, activation, fiber)
