"""Integrators on problems with known solutions: orders, stability, damping, closed loops."""

from __future__ import annotations

import itertools

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from myograd.errors import ModelError
from myograd.simulation.integrators import SOLVERS, STEPPED, Method
from myograd.simulation.integrators.adams import Adams, divided_differences, newton_basis, phi
from myograd.simulation.rollout import rollout
from myograd.system.reduced import Balance, ReducedState, System


class Oscillator(System):
    """`q'' = -w^2 q - 2 d w q' + F(t)`, with a state z that lags behind q: `z' = rate (q - z)`."""

    frequency: float = 3.0
    damping: float = 0.0
    rate: float = 2.0

    def rates(self, t, y):
        return ReducedState(
            y.u, -(self.frequency**2) * y.q - 2 * self.damping * self.frequency * y.u, self.rate * (y.q - y.z)
        )

    def balance(self, t, y, a, multipliers):
        rates = self.rates(t, y)
        return Balance(a, rates.u, rates.z)


def lagged(w: float, r: float, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, u, z of the undamped oscillator from q = 1, u = 0, z = 0."""
    q, u = np.cos(w * t), -w * np.sin(w * t)
    steady = r * (r * np.cos(w * t) + w * np.sin(w * t)) / (r**2 + w**2)
    return q, u, steady - r**2 / (r**2 + w**2) * np.exp(-r * t)


START = ReducedState(jnp.ones(1), jnp.zeros(1), jnp.zeros(1))
ORDERS = {
    "euler": 1,
    "semi-implicit-euler": 1,
    "bdf1": 1,
    "sdirk2": 2,
    "hht": 2,
    "rk4": 4,
    "tsit5": 5,
    "kvaerno5": 5,
    "dopri8": 8,
}


def end_error(method: Method, system: Oscillator, duration: float = 1.0) -> float:
    run = eqx.filter_jit(lambda: rollout(system, START, jnp.array([0.0, duration]), method).end)
    y, exact = run(), lagged(system.frequency, system.rate, np.array(duration))
    return float(max(abs(got[0] - true) for got, true in zip((y.q, y.u, y.z), exact, strict=True)))


@pytest.mark.parametrize(("name", "alpha"), [*((name, 0.0) for name in ORDERS), ("hht", -0.05), ("hht", -0.3)])
def test_error_falls_with_the_order(name, alpha):
    coarse = {8: 2, 5: 10, 4: 20}.get(ORDERS[name], 100)
    errors = [end_error(Method(name, step=1 / n, alpha=alpha), Oscillator()) for n in (coarse, 2 * coarse, 4 * coarse)]
    seen = np.log2(errors[0] / errors[2]) / 2
    assert ORDERS[name] - 0.15 < seen < ORDERS[name] + 1.3, errors  # some gain an order where f is linear


@pytest.mark.parametrize("name", ["euler", "semi-implicit-euler", "bdf1", "sdirk2", "rk4"])
def test_energy_drifts_by_the_order(name):
    """Of an undamped oscillator, over three periods; the trapezoidal rule (HHT without damping) keeps it."""

    def drift(n: int) -> float:
        times = jnp.linspace(0, 2 * np.pi, 7)
        y = eqx.filter_jit(lambda: rollout(Oscillator(), START, times, Method(name, step=2 * np.pi / n)).y)()
        return float(jnp.max(jnp.abs(y.u[:, 0] ** 2 + 9 * y.q[:, 0] ** 2 - 9)))

    assert np.log2(drift(4000) / drift(8000)) > ORDERS[name] - 0.2


def test_trapezoidal_rule_keeps_energy():
    times = jnp.linspace(0, 2 * np.pi, 7)
    y = eqx.filter_jit(lambda: rollout(Oscillator(), START, times, Method("hht", step=2 * np.pi / 300, alpha=0.0)).y)()
    energy = y.u[:, 0] ** 2 + 9 * y.q[:, 0] ** 2
    # The discrete motion keeps its own energy, that of a slightly other frequency: w^2 (1 + (w h)^2 / 4)
    assert float(jnp.max(jnp.abs(energy - 9))) < 9 * (3 * 2 * np.pi / 300) ** 2


def test_adams_has_order_five_once_it_has_a_past():
    """Steps of one length; the past is exact, so that the first steps' low order does not count."""
    system = Oscillator()

    def error(n: int) -> float:
        h = 1 / n
        solver, term = Adams(), diffrax.ODETerm(lambda t, y, args: args.rates(t, y))

        def exact(t):
            q, u, z = lagged(3.0, 2.0, t)
            return jnp.array([q, u, z])

        def rate(t):
            q, u, z = exact(t)
            return jnp.array([u, -9 * q, 2 * (q - z)])

        back = np.array([-h, -2 * h, -3 * h])
        past = solver.init(term, 0.0, h, START, system)
        past = eqx.tree_at(
            lambda p: (p.time, p.y, p.rate, p.known),
            past,
            (jnp.asarray(back), jnp.stack([exact(t) for t in back]), jnp.stack([rate(t) for t in back]), jnp.array(3)),
        )

        def step(carry, i):
            y, past = carry
            t = i * h
            y, _, _, past, _ = solver.step(term, jnp.asarray(t), t + h, y, system, past, False)
            return (y, past), None

        (y, _), _ = jax.lax.scan(step, (START, past), jnp.arange(n))
        return float(max(abs(a[0] - b) for a, b in zip((y.q, y.u, y.z), exact(1.0), strict=True)))

    errors = [error(n) for n in (20, 40, 80)]
    assert 4.8 < np.log2(errors[0] / errors[2]) / 2 < 5.5, errors


@pytest.mark.parametrize("name", [name for name in SOLVERS if name not in STEPPED])
def test_chosen_steps_reach_the_accuracy(name):
    """Global errors stay within what the number of steps allows."""
    loose, tight = (end_error(Method(name, accuracy=accuracy), Oscillator()) for accuracy in (1e-4, 1e-7))
    assert tight < (2e-3 if name == "bdf1" else 1e-4) and tight < loose / 10, (loose, tight)


def test_damping_of_hht_is_alphas():
    """One step multiplies an oscillation by the spectral radius of the method's amplification matrix."""
    h, w = 0.5, 3.0
    x = (h * w) ** 2
    for alpha in (0.0, -0.1, -0.3):
        gamma, beta = (1 - 2 * alpha) / 2, (1 - alpha) ** 2 / 4
        # (q, h v, h^2 a) at the end, from those at the start: Eq. A-1 of paper 003 with F = -w^2 q
        left = np.array([[1, 0, -beta], [0, 1, -gamma], [(1 + alpha) * x, 0, 1]])
        right = np.array([[1, 1, 0.5 - beta], [0, 1, 1 - gamma], [alpha * x, 0, 0]])
        radius = max(abs(np.linalg.eigvals(np.linalg.solve(left, right))))
        got = eqx.filter_jit(lambda how: rollout(Oscillator(frequency=w), START, jnp.arange(0, 201) * h, how))(
            Method("hht", step=h, alpha=alpha)
        )
        size = np.hypot(got.y.q[:, 0], got.y.u[:, 0] / w)
        seen = (size[150:].max() / size[50:100].max()) ** (1 / 100)
        assert seen == pytest.approx(radius, abs=2e-3), alpha
        if alpha == 0:
            assert radius == pytest.approx(1.0, abs=1e-12)
        else:
            assert radius < 0.9995


def test_hht_steps_follow_the_papers_equations():
    system, h, alpha = Oscillator(frequency=2.0), 0.1, -0.2
    gamma, beta = (1 - 2 * alpha) / 2, (1 - alpha) ** 2 / 4
    q, v, a = 1.0, 0.0, -4.0
    expected = []
    for _ in range(5):
        free_q, free_v = q + h * v + h**2 / 2 * (1 - 2 * beta) * a, v + h * (1 - gamma) * a
        new = (-(1 + alpha) * 4 * free_q + alpha * 4 * q) / (1 + (1 + alpha) * 4 * beta * h**2)
        q, v, a = free_q + h**2 * beta * new, free_v + h * gamma * new, new
        expected.append((q, v))
    got = rollout(system, START, jnp.arange(6) * h, Method("hht", step=h, alpha=alpha))
    np.testing.assert_allclose(np.stack([got.y.q[1:, 0], got.y.u[1:, 0]], axis=1), expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["bdf1", "sdirk2", "hht"])
def test_implicit_integrators_are_stable_where_explicit_ones_are_not(name):
    """A rate of 1e5 per second at steps of 0.05 s: far outside of any explicit method's region."""
    stiff = Oscillator(frequency=1.0, rate=1e5)
    run = lambda how: eqx.filter_jit(lambda: rollout(stiff, START, jnp.linspace(0, 5, 6), how).y)()  # noqa: E731
    y = run(Method(name, step=0.05, alpha=-0.3))
    assert np.isfinite(np.asarray(y.z)).all() and np.abs(y.z).max() < 1.2
    assert abs(float(y.z[-1, 0] - y.q[-1, 0])) < 1e-3
    assert not np.isfinite(np.asarray(run(Method("rk4", step=0.05)).z)).all()


@pytest.mark.parametrize("name", ["adams", "kvaerno5"])
def test_long_steps_through_stiffness(name):
    """A stiff state costs hardly any steps: Adams treats it exactly, Kvaerno implicitly; an explicit method pays for it."""
    stiff, mild = Oscillator(rate=1e5), Oscillator(rate=10.0)
    method = Method(name, accuracy=1e-5)
    steps = {
        key: int(eqx.filter_jit(lambda s=s: rollout(s, START, jnp.array([0.0, 1.0]), method).steps)())
        for key, s in (("stiff", stiff), ("mild", mild))
    }
    explicit = rollout(stiff, START, jnp.array([0.0, 0.01]), Method("tsit5", accuracy=1e-5)).steps * 100
    assert steps["stiff"] < 3 * steps["mild"] and steps["stiff"] < int(explicit) / 50


def test_phi_functions():
    import math

    for x in (-1e-9, -0.3, -0.999, -1.001, -30.0, -1e6, 0.0):
        got = phi(jnp.array([x]), 6)
        for k, value in enumerate(got, start=1):
            # phi_k(x) = int_0^1 exp((1 - s) x) s^(k-1) / (k-1)! ds
            s, w = np.polynomial.legendre.leggauss(400)
            nodes = 1 - ((s + 1) / 2) ** 8  # crowded where exp((1 - s) x) is not small
            true = np.sum(w / 2 * 8 * ((s + 1) / 2) ** 7 * np.exp((1 - nodes) * x) * nodes ** (k - 1)) / math.factorial(
                k - 1
            )
            assert float(value[0]) == pytest.approx(true, rel=1e-9), (x, k)


def test_newton_polynomial_goes_through_its_points():
    nodes, values = jnp.array([0.0, -0.7, -1.5, -2.0]), jnp.array([[1.0], [2.0], [-1.0], [0.5]])
    coefficients = jnp.sum(divided_differences(nodes, values) * newton_basis(nodes)[:4], axis=0)
    for s, value in zip(nodes, values[:, 0], strict=True):
        assert float(sum(c * s**j for j, c in enumerate(coefficients))) == pytest.approx(float(value), abs=1e-12)


class Pendulum(System):
    """A point mass on a rod of length 1, in Cartesian coordinates: one loop to be closed, `x^2 + y^2 = 1`."""

    def rates(self, t, y):
        # G udot + Gdot u = 0 with G = 2 (x, y), M = 1
        gravity = jnp.array([0.0, -9.81])
        tension = (y.u @ y.u + y.q @ gravity) / (y.q @ y.q)
        return ReducedState(y.u, gravity - tension * y.q, y.z)

    def balance(self, t, y, a, multipliers):
        return Balance(a, jnp.array([0.0, -9.81]) - 2 * y.q * multipliers[0], y.z)

    def closure(self, t, q):
        return (q @ q - 1)[None]

    def projected(self, t, y):
        q = y.q / jnp.sqrt(y.q @ y.q)
        return ReducedState(q, y.u - q * (q @ y.u), y.z)


@pytest.mark.parametrize("name", ["hht", "rk4", "adams"])
def test_rod_of_a_pendulum_keeps_its_length(name):
    start = ReducedState(jnp.array([np.sin(1.0), -np.cos(1.0)]), jnp.zeros(2), jnp.zeros(0))
    method = Method(name, step=None if name == "adams" else 1e-3, accuracy=1e-7, alpha=0.0)
    got = eqx.filter_jit(lambda: rollout(Pendulum(), start, jnp.linspace(0, 10, 11), method))()
    ends = got.end
    assert abs(float(Pendulum().closure(0.0, ends.q)[0])) < 1e-8
    # Against the same pendulum by its angle, theta'' = -g sin(theta).
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, args: jnp.array([y[1], -9.81 * jnp.sin(y[0])])),
        diffrax.Dopri8(),
        0.0,
        10.0,
        1e-3,
        jnp.array([1.0, 0.0]),
        stepsize_controller=diffrax.PIDController(rtol=1e-12, atol=1e-12),
    )
    assert solution.ys is not None
    angle = solution.ys[0, 0]
    assert abs(float(jnp.arctan2(ends.q[0], -ends.q[1]) - angle)) < (2e-4 if name == "hht" else 1e-4)


def test_index_three_converges_with_order_two():
    start = ReducedState(jnp.array([np.sin(1.0), -np.cos(1.0)]), jnp.zeros(2), jnp.zeros(0))
    ends = [
        eqx.filter_jit(
            lambda h=h: rollout(Pendulum(), start, jnp.array([0.0, 1.0]), Method("hht", step=h, alpha=-0.1)).end.q
        )()
        for h in (0.02, 0.01, 0.005, 0.0025)
    ]
    errors = [float(jnp.max(jnp.abs(a - b))) for a, b in itertools.pairwise(ends)]
    assert 1.8 < np.log2(errors[0] / errors[1]) < 2.2 and 1.8 < np.log2(errors[1] / errors[2]) < 2.2, errors


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (dict(integrator="rk5"), "did you mean 'rk4'"),
        (dict(integrator="rk4"), "step=0.001"),
        (dict(integrator="adams", accuracy=0.0), "accuracy of an integrator must be positive"),
        (dict(integrator="euler", step=float("nan")), "step of an integrator must be positive"),
        (dict(integrator="hht", alpha=0.1), "between -1/3"),
    ],
)
def test_bad_methods_are_refused(method, said):
    with pytest.raises(ModelError, match=said):
        Method(**method)
