"""`simulate`: what it accepts, refuses, keeps when it must stop; states and constraints over time; tables."""

from __future__ import annotations

import functools
import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

import myograd as mg
from muscle_bench import bench
from myograd import models
from myograd.app.cli import app
from myograd.app.console import out
from myograd.errors import ModelError, MyogradError
from myograd.files.tables.table import Table


@functools.cache
def pendulum() -> mg.Model:
    """Two links, two muscles."""
    return mg.load_model(models.model_path("double_pendulum"))


@functools.cache
def swing() -> mg.Trajectory:
    model = pendulum()
    return mg.simulate(model, mg.initial_state(model, q=[0.6, 0.3]), [0.2, 0.4], duration=0.3, accuracy=1e-8)


def test_states_and_controls_over_time():
    model, motion = pendulum(), swing()
    assert motion.state.q.shape == (31, 2) and motion.controls.shape == (31, 2)
    np.testing.assert_allclose(motion.time, np.arange(31) / 100)
    np.testing.assert_array_equal(np.asarray(motion.controls), np.tile([0.2, 0.4], (31, 1)))
    # Speeds are the rates of coordinates, and accelerations those of state_derivative.
    rate = np.gradient(np.asarray(motion.state.q), 0.01, axis=0)[1:-1]
    np.testing.assert_allclose(rate, motion.state.u[1:-1], atol=2e-2)
    state = motion.at(10)
    udot = mg.state_derivative(model, state, np.array([0.2, 0.4])).u
    np.testing.assert_allclose((motion.state.u[11] - motion.state.u[9]) / 0.02, udot, rtol=0.02)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(controls=lambda t, state: jnp.array([0.5])), r"controls \(control_names\) have shape \(1,\)"),
        (dict(torques=lambda t, state: jnp.zeros(3)), r"torques.*shape \(3,\)"),
        (dict(torques=mg.ControlSignal(jnp.array([0.0, 1.0, 0.5]), jnp.zeros((3, 2)))), "torques: time must increase"),
        (
            dict(torques=mg.ControlSignal(jnp.array([0.0, 1.0]), jnp.array([[0.0, 0.0], [0.0, jnp.nan]]))),
            r"torques: \w+ is nan at 1 s",
        ),
        (dict(wrenches=lambda t, state: jnp.zeros((2, 3))), r"wrenches.*shape \(2, 3\)"),
    ],
)
def test_functions_that_give_too_little_are_refused(given, message):
    with pytest.raises(MyogradError, match=message):
        mg.simulate(pendulum(), **given)


def test_given_steps_are_taken_as_they_are_with_progress_too():
    model, start = pendulum(), mg.initial_state(pendulum(), q=[0.6, 0.3])
    ways = [
        mg.simulate(model, start, None, 0.1, integrator="rk4", step=0.025, progress=p) for p in (None, lambda _: None)
    ]
    assert [int(way.steps) for way in ways] == [4, 4]


def test_going_on_from_a_state_is_going_on():
    model = pendulum()
    half = mg.simulate(model, mg.initial_state(model, q=[0.6, 0.3]), [0.2, 0.4], at=[0.0, 0.15], accuracy=1e-8)
    rest = mg.simulate(model, half.at(-1), [0.2, 0.4], at=[0.3], accuracy=1e-8)
    assert rest.time.tolist() == [0.3]
    np.testing.assert_allclose(rest.state.q[-1], swing().state.q[-1], atol=1e-6)


def test_progress_is_told_and_changes_nothing():
    model, heard = pendulum(), []
    motion = mg.simulate(
        model, mg.initial_state(model, q=[0.6, 0.3]), [0.2, 0.4], 0.3, accuracy=1e-8, progress=heard.append
    )
    assert heard[-1] == pytest.approx(1.0) and len(heard) > 10 and heard == sorted(heard)
    np.testing.assert_array_equal(motion.state.q, swing().state.q)
    assert motion.steps == swing().steps


def test_controls_as_table_signal_and_function_agree():
    model, start = pendulum(), mg.initial_state(pendulum())
    time = np.array([0.0, 0.05, 0.1])
    values = np.array([[0.0, 0.5], [0.4, 0.1], [0.2, 0.2]])
    table = Table(time, values[:, ::-1], ("/forceset/two_joint", "one_joint"))

    def feedback(t, state):
        return jnp.stack([jnp.interp(t, time, values[:, k]) for k in range(2)])

    ends = [
        mg.simulate(model, start, controls, 0.1).state.u[-1]
        for controls in (table, mg.ControlSignal(time, values), feedback)
    ]
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-12)
    np.testing.assert_allclose(ends[0], ends[2], rtol=1e-9)


def test_what_a_table_leaves_out_is_not_excited_and_told():
    table = Table(np.array([0.0, 0.1]), np.full((2, 1), 0.3), ("one_joint",))
    with pytest.warns(mg.ControlWarning, match="1 of the 2 muscles and actuators .* are not excited: two_joint"):
        motion = mg.simulate(pendulum(), None, table, 0.01)
    np.testing.assert_array_equal(np.asarray(motion.controls[-1]), [0.3, 0.0])


def test_many_at_once():
    """vmap over starts gives what single runs give."""
    model = pendulum()
    start = mg.initial_state(model)
    angles = jnp.array([0.1, 0.4, 0.8])

    def end(angle):
        moved = mg.State(start.q.at[0].set(angle), start.u, start.activation, start.fiber_length, start.time)
        return mg.simulate(model, moved, [0.1, 0.1], 0.05).state.q[-1]

    together = jax.jit(jax.vmap(end))(angles)
    for angle, row in zip(angles, together, strict=True):
        np.testing.assert_allclose(end(angle), row, atol=1e-9)


BAD_TABLES = [
    (Table(np.array([0.0, 1.0]), np.zeros((2, 2)), ("one_joint", "two_join")), "did you mean 'two_joint'"),
    (
        Table(np.array([0.0, 1.0]), np.array([[0, 0.5], [0, 1.5]]), ("one_joint", "two_joint")),
        "two_joint is 1.5 at 1 s",
    ),
    (
        Table(np.array([0.0, 1.0]), np.array([[0, 0.5], [np.nan, 0]]), ("one_joint", "two_joint")),
        "one_joint is nan at 1 s",
    ),
    (
        Table(np.array([0.0, 0.5]), np.zeros((2, 2)), ("one_joint", "two_joint")),
        "from 0 to 0.5 s, but the simulation goes",
    ),
    (
        Table(np.array([0.0, 1.0]), np.zeros((2, 3)), ("one_joint", "two_joint", "/x/one_joint")),
        "2 columns for 'one_joint'",
    ),
    (mg.ControlSignal(np.array([0.0, 0.0]), np.zeros((2, 2))), "time must increase"),
    (mg.ControlSignal(np.array([0.0, 1.0]), np.zeros((3, 2))), r"times \[n\] and values \[n, 2\]"),
    (np.array([0.1]), "one for each of its 2 muscles"),
    (np.array([0.1, -0.2]), "two_joint is -0.2"),
]


@pytest.mark.parametrize(("controls", "said"), BAD_TABLES)
def test_bad_controls_are_refused(controls, said):
    with pytest.raises(ModelError, match=said):
        mg.simulate(pendulum(), None, controls, 1.0)


def test_bad_starts_and_times_are_refused():
    model = pendulum()
    start = mg.initial_state(model)
    broken = mg.State(start.q.at[1].set(jnp.nan), start.u, start.activation, start.fiber_length)
    with pytest.raises(ModelError, match="q of the start is not finite for 'elbow_angle'"):
        mg.simulate(model, broken)
    with pytest.raises(ModelError, match="one_joint: activation is not between 0 and 1"):
        mg.initial_state(model, activation=-0.1)
    percent = mg.State(start.q, start.u, 5.0 + start.activation, start.fiber_length)
    with pytest.raises(ModelError, match="one_joint: activation is above 1"):
        mg.simulate(model, percent)
    for duration in (0.0, -1.0, float("nan")):
        with pytest.raises(ModelError, match="positive number of seconds"):
            mg.simulate(model, start, duration=duration)
    for at in ([0.2, 0.1], [-0.1, 0.1], [0.0, np.inf]):
        with pytest.raises(ModelError, match="finite times that increase"):
            mg.simulate(model, start, at=at)
    loop = mg.load_model(models.model_path("four_bar"))
    assembled = mg.initial_state(loop)
    for q, u, said in (
        (assembled.q.at[0].add(0.01), assembled.u, "is not assembled.*off by"),
        (assembled.q, assembled.u.at[0].add(0.1), "violates its constraints with its speeds"),
    ):
        with pytest.raises(ModelError, match=said):
            mg.simulate(loop, mg.State(q, u, assembled.activation, assembled.fiber_length))


@pytest.mark.parametrize("how", [dict(integrator="tsit5"), dict(integrator="rk4", step=1e-3)])
def test_a_simulation_that_stops_says_why_and_keeps_what_it_has(how):
    """A torque that becomes infinite at 0.05 s: a wrench on the first body."""
    model = pendulum()

    def wrench(t, state):
        blown = jnp.where(t > 0.05, jnp.inf, 0.0)
        return jnp.zeros((len(model.body_names), 6)).at[0, 2].set(blown)

    with pytest.raises(mg.SimulationStopped, match=r"at 0\.0(49|5)\d* s.*(shoulder|elbow)_angle") as stop:
        mg.simulate(model, None, None, 0.1, wrenches=wrench, **how)
    kept = stop.value.trajectory
    assert kept is not None and 0.03 <= float(kept.time[-1]) <= 0.0501
    assert np.isfinite(np.asarray(kept.state.q)).all() and len(kept.time) == len(kept.state.q)


@pytest.mark.parametrize("integrator", ["adams", "tsit5"])
def test_an_infinite_rate_ends_a_simulation(integrator):
    """States become infinite, not NaN; the step must get shorter nevertheless."""

    def torques(t, state):
        return jnp.array([0.0, jnp.where(t > 0.3, jnp.inf, 0.0)])

    with pytest.raises(mg.SimulationStopped, match=r"^at 0\.3\d* s no step, however short, was accurate") as stop:
        mg.simulate(pendulum(), duration=0.5, torques=torques, integrator=integrator)
    trajectory = stop.value.trajectory
    assert trajectory is not None and trajectory.time[-1] >= 0.29
    assert np.isfinite(trajectory.state.q).all() and trajectory.rejected < 200


def test_energy_and_loops_over_ten_seconds():
    """A four-bar linkage without its muscles: nothing damps it, and its loop stays closed."""
    description = mg.read_osim(models.model_path("four_bar"))
    description.muscles.clear()
    model = mg.compile_model(description)
    rest = mg.initial_state(model)
    u = mg.project_speeds(model, rest.q, jnp.ones_like(rest.u))
    start = mg.State(rest.q, u, rest.activation, rest.fiber_length)
    motion = mg.simulate(model, start, None, at=np.linspace(0, 10, 51), accuracy=1e-9)
    errors = jax.vmap(lambda q: mg.constraint_errors(model, q))(motion.state.q)
    assert float(jnp.max(jnp.abs(errors))) < 1e-8
    slip = jax.vmap(lambda q, u: mg.constraint_jacobian(model, q) @ u)(motion.state.q, motion.state.u)
    assert float(jnp.max(jnp.abs(slip))) < 1e-8
    energy = mg.energies(model, motion)["total"]
    assert float(jnp.max(jnp.abs(energy - energy[0]))) < 1e-5 * float(mg.energies(model, motion)["kinetic"].max())


def test_states_return_from_their_table(tmp_path):
    model, motion = pendulum(), swing()
    table = mg.state_table(model, motion)
    assert "/jointset/elbow/elbow_angle/value" in table and "/forceset/one_joint/fiber_length" in table
    mg.write_table(table, tmp_path / "s.sto")
    back = mg.state_from_table(model, mg.read_table(tmp_path / "s.sto"), time=0.2)
    for name in ("q", "u", "activation", "fiber_length", "time"):
        np.testing.assert_allclose(getattr(back, name), getattr(motion.at(20), name), rtol=1e-12, atol=1e-15)
    with pytest.raises(ModelError, match=r"no row at 0\.2345 s"):
        mg.state_from_table(model, table, time=0.2345)
    with pytest.raises(ModelError, match="'wrist' is not a state"):
        mg.state_from_table(model, Table(np.zeros(1), np.zeros((1, 1)), ("wrist",)))


def test_tendon_forces_return_as_fibres():
    """DeGrooteFregly2016Muscle, whose state in OpenSim is the force in the tendon: fibres out of balance, and folded back where
    the path is shorter than the slack tendon."""
    description = bench()
    description.muscles = [
        muscle for muscle in description.muscles if muscle.name in ("damped", "smooth", "smooth_rigid")
    ]
    model = mg.compile_model(description)
    elastic = ~np.array(model.muscle_classes.rigid_tendon)
    slack = np.asarray(model.muscles.tendon_slack_length)[model.muscle_names.index("smooth")]
    time, places = np.array([0.0, 1.0]), (0.3, slack - 0.001)
    at = [mg.initial_state(model, [place], [0.1], 0.4) for place in places]
    state = jax.tree.map(lambda *rows: jnp.stack(rows), *at)
    state = mg.State(state.q, state.u, state.activation, 1.03 * state.fiber_length, jnp.asarray(time))
    table = mg.state_table(model, mg.Trajectory(state.time, state, jnp.zeros((2, len(model.control_names))), 0, 0))
    assert "/forceset/smooth/normalized_tendon_force" in table and "/forceset/smooth/fiber_length" not in table
    for row, when in enumerate(time.tolist()):
        back = mg.state_from_table(model, table, when)
        np.testing.assert_allclose(back.fiber_length[elastic], state.fiber_length[row][elastic], rtol=1e-9)
    along = mg.tools.analyze(model, states=table).quantities["FiberLength"]
    np.testing.assert_allclose(along[:, elastic], state.fiber_length[:, elastic], rtol=1e-9)
    for force in (-0.3, 1e9):
        odd = Table(time[:1], np.array([[force]]), ("/forceset/smooth/normalized_tendon_force",))
        with pytest.raises(
            ModelError, match=f"smooth at 0 s: no fibre fits its path while its tendon bears {re.escape(f'{force:g}')}"
        ):
            mg.state_from_table(model, odd)
    with pytest.raises(ModelError, match="is not a state"):
        mg.state_from_table(model, Table(time[:1], np.ones((1, 1)), ("/forceset/damped/normalized_tendon_force",)))


def test_command_line_writes_what_opensim_reads(tmp_path, opensim):
    controls = Table(np.array([0.0, 0.1]), np.full((2, 2), 0.3), ("/forceset/one_joint", "/forceset/two_joint"))
    mg.write_table(controls, tmp_path / "c.sto")
    states = tmp_path / "s.sto"
    run = CliRunner().invoke(
        app,
        [
            "simulate",
            "double_pendulum",
            "--controls",
            str(tmp_path / "c.sto"),
            "--out",
            str(states),
            "--plot",
            str(tmp_path / "p.html"),
        ],
    )
    assert run.exit_code == 0, run.output
    theirs = opensim.TimeSeriesTable(str(states))
    assert theirs.getNumRows() == 11
    model = opensim.Model(str(models.model_path("double_pendulum")))
    model.initSystem()
    assert opensim.StatesTrajectory.createFromStatesTable(model, theirs).getSize() == 11
    assert "plotly" in (tmp_path / "p.html").read_text()


def test_files_are_written_before_anything_is_printed(tmp_path, monkeypatch):
    def broken(*_things: object, **_options: object) -> None:
        raise MyogradError("nobody reads this")

    monkeypatch.setattr(out, "print", broken)
    files = {option: tmp_path / f"{option}.sto" for option in ("out", "controls-out", "forces")}
    files |= {"plot": tmp_path / "p.html", "results": tmp_path / "all"}
    options = [text for option, path in files.items() for text in (f"--{option}", str(path))]
    with pytest.raises(MyogradError, match="nobody reads this"):
        CliRunner().invoke(app, ["simulate", "double_pendulum", "--duration", "0.02", *options], catch_exceptions=False)
    assert all(path.exists() for path in files.values()) and any(files["results"].iterdir())


def test_command_line_refuses_and_says_why(tmp_path):
    mg.write_table(Table(np.array([0.0, 0.1]), np.full((2, 1), 0.3), ("one_jont",)), tmp_path / "c.sto")
    for arguments, said in (
        (["--controls", str(tmp_path / "c.sto")], "did you mean 'one_joint'"),
        (["--integrator", "rk4"], "--step 0.001"),
        (["--integrator", "adam"], "did you mean 'adams'"),
        (["--interval", "0"], "--interval must be a positive number"),
        (["--out", str(tmp_path / "s.csv")], "must end in .sto"),
    ):
        with pytest.raises(mg.MyogradError, match=said):
            CliRunner().invoke(app, ["simulate", "double_pendulum", *arguments], catch_exceptions=False)


def test_an_interrupted_simulation_keeps_what_it_has():
    def interrupt(part: float) -> None:
        if part > 0.4:
            raise KeyboardInterrupt

    model = pendulum()
    with pytest.raises(
        mg.SimulationStopped, match=r"interrupted at 0\.\d+ s; what was computed until then is kept"
    ) as stop:
        mg.simulate(model, mg.initial_state(model, q=[0.6, 0.3]), [0.2, 0.4], 0.3, accuracy=1e-8, progress=interrupt)
    kept = stop.value.trajectory
    assert kept is not None and 0.12 < float(kept.time[-1]) < 0.2
    np.testing.assert_array_equal(kept.state.q, swing().state.q[: len(kept)])


def test_a_check_that_fails_on_the_way_is_told():
    """A mass matrix that is not positive definite gives no number, and the message of `forward_dynamics`."""
    model = pendulum()
    massless = eqx.tree_at(
        lambda m: (m.bodies.mass, m.bodies.inertia),
        model,
        (jnp.zeros_like(model.bodies.mass), jnp.zeros_like(model.bodies.inertia)),
    )
    with pytest.raises(ModelError) as said:
        mg.forward_dynamics(massless, np.zeros(2), np.zeros(2))
    with pytest.raises(mg.SimulationStopped) as stop:
        mg.simulate(massless, mg.initial_state(massless), duration=0.1)
    assert str(stop.value) == f"at 0 s {said.value}"


def test_a_check_that_fails_in_a_controller_is_told():
    """A controller that calls an entry, whose matrix stops being positive definite on the way."""
    model = pendulum()

    def feedback(t, state):
        mass = jnp.where(t > 0.02, -1.0, 1.0) * model.bodies.mass
        lighter = eqx.tree_at(lambda m: m.bodies.mass, model, mass)
        return 0.0 * mg.forward_dynamics(lighter, state.q, state.u)

    with pytest.raises(mg.SimulationStopped, match=r"^at 0\.0[12]\d* s") as stop:
        mg.simulate(model, None, feedback, 0.05)
    assert stop.value.trajectory is not None and len(stop.value.trajectory) >= 2


def test_times_may_be_traced_one_by_one():
    model, start = pendulum(), mg.initial_state(pendulum(), q=[0.6, 0.3])

    def end(t):
        return mg.simulate(model, start, at=[0.01, t], forward_mode=True).state.q[-1]

    q, rate = jax.jvp(end, (0.02,), (1.0,))
    whole = mg.simulate(model, start, at=[0.01, 0.02]).at(-1)
    np.testing.assert_allclose(q, whole.q, atol=1e-6)
    np.testing.assert_allclose(rate, whole.u, atol=1e-3)
