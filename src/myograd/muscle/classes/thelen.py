"""Thelen2003Muscle: Thelen (2003), "Adjustment of muscle mechanics model parameters", as OpenSim 4.6 computes it.

    f_T(l_T) = (F + f_PE(l)) cos(phi),   v = s (F - a f_L) / b(F, a f_L),   s = 0.25 + 0.75 a          (Eqs. 6-7)

with F the active force, normalised. All curves are closed formulas; the force-velocity relation is continued along straight
lines below F = 0 and above a fraction of the largest eccentric force.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from ...geometry.spatial import materialized
from ...model.model import MuscleValues
from ..activation import activation_rate
from ..state import TINY, Fiber, Group, MuscleState, Vector, at_least, clamped, fiber_width, muscle_state, pennate
from .roots import bracketed_root

TOE_FORCE, TOE_SHAPE = 0.33, 3.0
# Strain at the end of the toe and slope beyond it, such that toe and line meet with one slope (per strain at unit force).
TOE_STRAIN = 99 * np.exp(3) / (166 * np.exp(3) - 67)
LINE_SLOPE = 0.67 / (1 - TOE_STRAIN)
TOLERANCE, ROUNDS = 1e-8, 20  # of OpenSim's equilibrium
MOST_STEPS = ROUNDS * 30  # a step is halved up to 27 times
LEAST_ACTIVE = 1e-12  # what a f_L counts as at least: finite velocities at any length


class Shape(eqx.Module):
    """What is known of muscles before their state. One number per muscle. OpenSim ignores `ignore_tendon_compliance` of this
    class."""

    minimum_activation: Vector
    steepest: Vector  # sine of the maximum pennation
    active_shape: Vector
    passive_strain: Vector
    passive_shape: Vector
    curvature: Vector  # Af
    eccentric: Vector  # Flen: largest force in lengthening
    straight_from: Vector  # fraction of it beyond which the force-velocity relation is a straight line


def shape(p: MuscleValues, group: Group) -> Shape:
    n = p.numbers
    return Shape(
        n["minimum_activation"],
        jnp.sin(n["maximum_pennation_angle"]),
        n["KshapeActive"],
        n["FmaxMuscleStrain"],
        n["KshapePassive"],
        n["Af"],
        n["Flen"],
        n["fv_linear_extrap_threshold"],
    )


def active_multiplier(of: Shape, norm_length: Vector) -> Vector:
    """f_L (Eq. 4)."""
    return jnp.exp(-((norm_length - 1) ** 2) / of.active_shape)


def passive_multiplier(of: Shape, norm_length: Vector) -> Vector:
    """f_PE (Eq. 3), zero below the optimal length."""
    stretch = at_least(norm_length - 1, 0.0)
    return jnp.expm1(of.passive_shape * stretch / of.passive_strain) / jnp.expm1(of.passive_shape)


def tendon_multiplier(p: MuscleValues, norm_tendon_length: Vector) -> Vector:
    """f_T (Eq. 5): an exponential toe, then a line."""
    x = (norm_tendon_length - 1) / p.tendon_strain_at_one_norm_force
    toe = TOE_FORCE / np.expm1(TOE_SHAPE) * jnp.expm1(TOE_SHAPE / TOE_STRAIN * clamped(x, 0.0, TOE_STRAIN))
    return toe + LINE_SLOPE * jnp.where(x > TOE_STRAIN, x - TOE_STRAIN, 0.0)


def _speed_scale(a: Vector) -> Vector:
    return 0.25 + 0.75 * a


def velocity(of: Shape, a: Vector, fal: Vector, active: Vector) -> Vector:
    """Normalised fibre velocity at which the active force is `active` (Eqs. 6-7)."""
    full = at_least(a * fal, LEAST_ACTIVE)
    scale = _speed_scale(a)
    steep = (2 + 2 / of.curvature) / (of.eccentric - 1)
    last = of.straight_from * of.eccentric * full
    # Shortening: straight below zero force, where b is `full`.
    curved = clamped(active, 0.0, full)
    shortening = scale * (curved - full) / (full + curved / of.curvature)
    shortening = shortening + jnp.where(active < 0, active, 0.0) * scale * (1 + 1 / of.curvature) / full
    # Lengthening: straight above `last`.
    curved = clamped(active, full, last)
    b = steep * (of.eccentric * full - curved)
    lengthening = scale * (curved - full) / b
    slope = scale / b + scale * (curved - full) / b**2 * steep
    lengthening = lengthening + jnp.where(active > last, active - last, 0.0) * slope
    return jnp.where(active <= full, shortening, lengthening)


def force_velocity(of: Shape, a: Vector, norm_velocity: Vector) -> Vector:
    """f_V: the inverse of `velocity`, as a multiple of a f_L, and not below zero."""
    scale, v = _speed_scale(a), norm_velocity
    steep = (2 + 2 / of.curvature) / (of.eccentric - 1)
    slow, fast = clamped(v, -scale, 0.0), jnp.where(v > 0, v, 0.0)
    shortening = (slow + scale) / (scale - slow / of.curvature)
    last = of.straight_from * of.eccentric
    b = steep * (of.eccentric - last)
    v_last = scale * (last - 1) / b
    curved = jnp.where(fast < v_last, fast, v_last)
    lengthening = (scale + curved * steep * of.eccentric) / (scale + curved * steep)
    slope = scale / b + scale * (last - 1) / b**2 * steep
    lengthening = lengthening + (fast - curved) / slope
    return jnp.where(v <= 0, shortening, lengthening)


def shortest_fiber(p: MuscleValues, of: Shape) -> Vector:
    """The steepest fibre: zero where fibres are parallel to the tendon."""
    return fiber_width(p) / of.steepest


def _fiber(p: MuscleValues, of: Shape, length: Vector) -> Fiber:
    return pennate(fiber_width(p), length, of.steepest)


def activation_derivative(p: MuscleValues, of: Shape, activation: Vector, excitation: Vector) -> Vector:
    """da/dt [1/s]."""
    return activation_rate(excitation, activation, p.activation_time_constant, p.deactivation_time_constant)


def dynamics(
    p: MuscleValues, of: Shape, length: Vector, speed: Vector, activation: Vector, fiber_length: Vector
) -> MuscleState:
    """State of muscles with the path's length; its speed does not matter to a muscle whose fibre length is given."""
    shortest = shortest_fiber(p, of)
    fiber = _fiber(p, of, at_least(fiber_length, shortest))
    tendon_length = length - fiber.along_tendon
    norm_length = fiber.length / p.optimal_fiber_length
    fal, fpl = active_multiplier(of, norm_length), passive_multiplier(of, norm_length)
    ft = tendon_multiplier(p, tendon_length / p.tendon_slack_length)
    active = ft / fiber.cos - fpl
    v = velocity(of, activation, fal, active)
    at_shortest = (fiber_length <= shortest) & (v <= 0)
    v = jnp.where(at_shortest, 0.0, v)
    fv = jnp.where(at_shortest, 1.0, active / at_least(activation * fal, LEAST_ACTIVE))
    strength = p.max_isometric_force
    active = jnp.where(at_shortest, 0.0, strength * active)
    return muscle_state(
        p,
        tendon_force=strength * ft,
        fiber=fiber,
        tendon_length=tendon_length,
        fiber_velocity=v * p.max_contraction_velocity * p.optimal_fiber_length,
        norm_fiber_velocity=v,
        activation=activation,
        curves=(fal, fpl, fv),
        active=active,
        passive=strength * fpl,
        total=jnp.where(at_shortest, 0.0, active + strength * fpl),
    )


# Equilibrium -------------------------------------------------------------------------------------------------

Given = tuple[Shape, MuscleValues, Vector, Vector, Vector]  # parameters, path length and speed, activation


def force_balance(
    p: MuscleValues, of: Shape, length: Vector, activation: Vector, fiber_length: Vector, fiber_velocity: Vector
) -> Vector:
    """Fibre force along the tendon less tendon force, normalised: the implicit form."""
    v = fiber_velocity / (p.max_contraction_velocity * p.optimal_fiber_length)
    return linear((of, p, length, v, activation), fiber_length, force_velocity(of, activation, v)).balance


def fiber_force(p: MuscleValues, of: Shape, activation: Vector, fiber_length: Vector, fiber_velocity: Vector) -> Vector:
    """Fibre force along the tendon, normalised, whatever the tendon does (Eq. 15 of paper 000)."""
    x = fiber_length / p.optimal_fiber_length
    v = fiber_velocity / (p.max_contraction_velocity * p.optimal_fiber_length)
    active = activation * active_multiplier(of, x) * force_velocity(of, activation, v)
    return (active + passive_multiplier(of, x)) * _fiber(p, of, fiber_length).cos


class Linear(NamedTuple):
    """The balance at a fibre length and f_V, and its slopes, normalised by the maximum isometric force."""

    balance: Vector
    slope: Vector
    """of the balance per fibre length, at constant f_V [1/m]"""
    fiber: Vector
    """stiffness of the fibre along the tendon [1/m]"""
    tendon: Vector
    """stiffness of the tendon [1/m]"""


def linear(given: Given, fiber_length: Vector, fv: Vector, pulling: bool = True) -> Linear:
    """All at once, so that each exponential is computed once. Not `pulling`: the slopes of a fibre without force, with
    which OpenSim begins."""
    of, p, length, _, a = given
    fiber = _fiber(p, of, fiber_length)
    x = fiber_length / p.optimal_fiber_length
    fal = active_multiplier(of, x)
    fal_slope = -2 * (x - 1) / of.active_shape * fal
    growth = of.passive_shape / of.passive_strain
    stretched = jnp.exp(growth * at_least(x - 1, 0.0))
    fpl = (stretched - 1) / jnp.expm1(of.passive_shape)
    fpl_slope = jnp.where(x > 1, growth * stretched / jnp.expm1(of.passive_shape), 0.0)
    z = ((length - fiber.along_tendon) / p.tendon_slack_length - 1) / p.tendon_strain_at_one_norm_force
    toe = jnp.exp(TOE_SHAPE / TOE_STRAIN * clamped(z, 0.0, TOE_STRAIN))
    scale = TOE_FORCE / np.expm1(TOE_SHAPE)
    ft = scale * (toe - 1) + LINE_SLOPE * jnp.where(z > TOE_STRAIN, z - TOE_STRAIN, 0.0)
    ft_slope = jnp.where(z > TOE_STRAIN, LINE_SLOPE, jnp.where(z > 0, scale * TOE_SHAPE / TOE_STRAIN * toe, 0.0))
    tendon = ft_slope / (p.tendon_strain_at_one_norm_force * p.tendon_slack_length)
    some_length = at_least(fiber_length, TINY)
    upright = fiber_width(p) / some_length
    cos_slope = upright**2 / (some_length * jnp.sqrt(1 - upright**2))
    force = a * fal * fv + fpl
    along_tendon = (a * fv * fal_slope + fpl_slope) / p.optimal_fiber_length * fiber.cos
    along_tendon = along_tendon + cos_slope * force if pulling else along_tendon
    slope = along_tendon + tendon * (fiber.cos + fiber_length * cos_slope)
    return Linear(force * fiber.cos - ft, slope, along_tendon * fiber.cos, tendon)


def shared_force_velocity(given: Given, fiber_length: Vector, at: Linear) -> Vector:
    """f_V of a fibre that takes the share of the path's speed which its stiffness leaves to it: a taut tendon takes
    K / (K + K_T), a slack one everything. This is how OpenSim starts this class where the path moves."""
    of, p, _, speed, a = given
    fiber = _fiber(p, of, fiber_length)
    together = at.fiber + at.tendon
    taut = (at.tendon > 0) & (jnp.abs(together) > TINY)
    share = jnp.where(taut, at.tendon / jnp.where(taut, together, 1.0), 0.0)
    v = share * speed * fiber.cos / (p.max_contraction_velocity * p.optimal_fiber_length)
    return force_velocity(of, a, v)


def equilibrium(p: MuscleValues, of: Shape, length: Vector, speed: Vector, activation: Vector) -> Vector:
    """Fibre length at which fibre and tendon balance while the path moves at its speed (see `shared_force_velocity`).

    OpenSim's own iteration, stopped where it stops (at a balance within 1e-8), because what it leaves unsolved of the velocity
    shows in the sixth digit. Where it would give up, the fibre length at rest, which always exists.
    """
    given = (of, p, length, speed, activation)
    found, fv, converged = _opensim_iteration(lax.stop_gradient(given))
    shortest = shortest_fiber(p, of)
    low = lax.stop_gradient(shortest)
    one = jnp.ones_like(low)
    slack = jnp.maximum(jnp.hypot(fiber_width(p), jnp.maximum(length - p.tendon_slack_length, 0.0)), low)
    # Nothing to look for where the iteration has ended well.
    least, most = jnp.where(converged, found, low), jnp.where(converged, found, slack)
    at_rest = bracketed_root(lambda given, x: linear(given, x, jnp.ones_like(x)).balance, given, least, most, found)
    at_bound = (~converged & (found <= low)) | (~converged & (at_rest <= low))
    moving = jnp.where(converged, found, jnp.maximum(at_rest, low))
    solved, _ = _with_derivatives(given, moving, jnp.where(converged, fv, one))
    return jnp.where(at_bound, shortest, solved)


class Search(NamedTuple):
    """Where OpenSim's iteration is: one entry per muscle."""

    fiber_length: Vector
    balance: Vector
    slope: Vector
    fv: Vector
    part: Vector  # of a Newton step that is tried next
    rounds: Array
    steps: Array


def _opensim_iteration(given: Given) -> tuple[Vector, Vector, Array]:
    """Fibre length, f_V, and whether the balance came within 1e-8 in 20 rounds.

    A round is a Newton step of the fibre length at constant f_V, halved until the balance improves, and then a new f_V.
    """
    of, p, length, *_ = given
    shortest = shortest_fiber(p, of)
    along = jnp.maximum(length - 1.01 * p.tendon_slack_length, 0.0)
    start = jnp.maximum(jnp.hypot(fiber_width(p), along), shortest)
    # A parallel fibre without room starts at zero length; OpenSim divides by that, and leaves the fibre there. A tendon that
    # even the shortest fibre leaves slack cannot balance any.
    hopeless = (start <= 0) | (length - _fiber(p, of, shortest).along_tendon <= p.tendon_slack_length)
    start = jnp.where(hopeless, shortest, start)
    fv = jnp.ones_like(start)
    fv = shared_force_velocity(given, start, linear(given, start, fv, pulling=False))
    at = linear(given, start, fv)
    none = jnp.zeros(start.shape, int)
    search = Search(start, at.balance, at.slope, fv, jnp.ones_like(start), jnp.where(hopeless, ROUNDS, 0), none)
    # Most muscles take a few steps, a few take many: those go on by themselves.
    search = _go_on(given, search, 10)
    for most, share in ((60, 8), (MOST_STEPS, 40)):
        search = _go_on_with_some(given, search, most, max(2, len(shortest) // share))
    return search.fiber_length, search.fv, (jnp.abs(search.balance) < TOLERANCE) & ~hopeless


def _busy(search: Search, most: int) -> Array:
    return (jnp.abs(search.balance) > TOLERANCE) & (search.rounds < ROUNDS) & (search.steps < most)


def _go_on(given: Given, search: Search, most: int) -> Search:
    """Until every muscle is done or has taken as many steps."""
    shortest = shortest_fiber(given[1], given[0])
    nearly = np.sqrt(np.finfo(float).eps)

    def step(now: Search) -> Search:
        busy = _busy(now, most)
        change = -now.part * now.balance / now.slope
        stuck = ~(jnp.abs(change) > TINY)
        moved = jnp.where(stuck, now.fiber_length - jnp.sign(change) * nearly, now.fiber_length + change)
        tried = jnp.maximum(moved, shortest)
        part = jnp.where(stuck, 0.0, now.part)
        at = linear(given, tried, now.fv)
        stopped = (tried == now.fiber_length) & (
            jnp.abs(change) > 1e-5
        )  # by its bound, and would be after every halving
        better = busy & ((jnp.abs(at.balance) < jnp.abs(now.balance)) | (part <= nearly) | stopped)
        fv = shared_force_velocity(given, tried, at)
        # Materialized: computed anew for each use and rounded otherwise, one decision could become two that differ.
        tried, part, at, fv, better = materialized((tried, part, at, fv, better))
        return Search(
            jnp.where(better, tried, now.fiber_length),
            jnp.where(better, at.balance, now.balance),
            jnp.where(better, at.slope, now.slope),
            jnp.where(better, fv, now.fv),
            jnp.where(better, 1.0, part / 2),
            now.rounds + better,
            now.steps + busy,
        )

    return lax.while_loop(lambda now: jnp.any(_busy(now, most)), step, search)


def _go_on_with_some(given: Given, search: Search, most: int, count: int) -> Search:
    """As above, `count` muscles at a time."""
    if count >= len(search.fiber_length):
        return _go_on(given, search, most)

    def some(now: Search) -> Search:
        which = lax.top_k(_busy(now, most).astype(jnp.float32), count)[1]
        part_given, part = jax.tree.map(lambda x: x[which], (given, now))
        after = _go_on(part_given, part, most)
        return jax.tree.map(lambda all_, few: all_.at[which].set(few), now, after)

    return lax.while_loop(lambda now: jnp.any(_busy(now, most)), some, search)


@jax.custom_jvp
def _with_derivatives(given: Given, fiber_length: Vector, fv: Vector) -> tuple[Vector, Vector]:
    """Both unknowns, with the derivatives that their two equations imply (cf. `equilibrium.with_derivatives`)."""
    return fiber_length, fv


@_with_derivatives.defjvp
def _implicit(primals: tuple[Given, Vector, Vector], tangents: tuple[Given, Vector, Vector]):
    def equations(given: Given, x: Vector, y: Vector) -> tuple[Vector, Vector]:
        at = linear(given, x, y)
        return at.balance, y - shared_force_velocity(given, x, at)

    given = primals[0]
    x, y = _with_derivatives(*primals)
    one, zero = jnp.ones_like(x), jnp.zeros_like(x)
    r, s = jax.jvp(lambda g: equations(g, x, y), (given,), (tangents[0],))[1]
    rx, sx = jax.jvp(lambda x, y: equations(given, x, y), (x, y), (one, zero))[1]
    ry, sy = jax.jvp(lambda x, y: equations(given, x, y), (x, y), (zero, one))[1]
    determinant = rx * sy - ry * sx
    determinant = jnp.where(determinant == 0, jnp.inf, determinant)
    return (x, y), (-(r * sy - ry * s) / determinant, -(rx * s - r * sx) / determinant)
