"""One structure, many people: models scaled from one template are equal but for their numbers, share compiled programs, and
stack."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bench_models
import force_bench
import muscle_bench
import myograd as mg
from myograd.files.osim.read import read_osim
from myograd.files.osim.write import write_osim
from myograd.model.description import GCVSpline, ModelDescription, PiecewiseLinearFunction, SimmSpline
from myograd.model.description import muscle_properties as properties
from myograd.model.description.muscle_splines import SPLINES
from myograd.model.export import description_of
from myograd.model.model import Document
from myograd.models import model_path
from myograd.system.forces import elastic_energy

PEOPLE = 64


def somebody(template: ModelDescription, seed: int) -> ModelDescription:
    """Another person of the template: masses, segment lengths, muscle parameters, wrap sizes, curve parameters, and a name."""
    random = np.random.default_rng(seed)
    person = copy.deepcopy(template)
    person.name = f"subject{seed:02}"
    person.credits = f"person number {seed}"

    def about(x: float, spread: float = 0.05) -> float:
        return float(x) * (1 + spread * random.uniform(-1, 1))

    def scaled(point: Any) -> tuple[float, float, float]:
        x, y, z = (about(number) for number in point)
        return x, y, z

    for body in person.bodies:
        body.mass, body.mass_center = about(body.mass), scaled(body.mass_center)
        body.inertia = tuple(about(number) for number in body.inertia)  # pyright: ignore[reportAttributeAccessIssue]
    for frame in person.frames().values():
        if hasattr(frame, "translation"):
            frame.translation = scaled(frame.translation)  # pyright: ignore[reportAttributeAccessIssue]
    for surface in person.wrap_objects().values():
        surface.radius, surface.length = about(surface.radius), about(surface.length)
        surface.dimensions, surface.translation = scaled(surface.dimensions), scaled(surface.translation)
    for muscle in person.muscles:
        for name in ("max_isometric_force", "optimal_fiber_length", "tendon_slack_length", "max_contraction_velocity"):
            setattr(muscle, name, about(getattr(muscle, name)))
        muscle.numbers["ForceVelocityCurve/isometric_slope"] = about(5.0)
        muscle.numbers["FiberForceLengthCurve/strain_at_one_norm_force"] = about(0.7)
        muscle.numbers["TendonForceLengthCurve/strain_at_one_norm_force"] = about(0.049)
        muscle.numbers["minimum_activation"] = about(0.01)
        for point in muscle.path.points:
            if hasattr(point, "location"):
                point.location = scaled(point.location)  # pyright: ignore[reportAttributeAccessIssue]
    for force in person.forces:
        for name, value in vars(force).items():
            if isinstance(value, float):
                setattr(force, name, about(value))
    return person


@pytest.fixture(scope="module")
def template() -> ModelDescription:
    return read_osim(model_path("leg"))


@pytest.fixture(scope="module")
def people(template: ModelDescription) -> list[mg.Model]:
    return [mg.compile_model(somebody(template, seed)) for seed in range(PEOPLE)]


def structure(model: mg.Model) -> Any:
    return jax.tree.structure(model)


def test_people_of_one_template_have_equal_structures(people: list[mg.Model]):
    first, second = people[:2]
    assert structure(first) == structure(second)
    assert hash(structure(first)) == hash(structure(second))
    assert first.name != second.name
    differ = [not np.array_equal(a, b) for a, b in zip(*map(jax.tree.leaves, (first, second)), strict=True)]
    assert sum(differ) > 20


def test_another_muscle_is_another_structure(template: ModelDescription, people: list[mg.Model]):
    fewer = copy.deepcopy(template)
    fewer.muscles.pop()
    assert structure(mg.compile_model(fewer)) != structure(people[0])


def varied(description: ModelDescription, seed: int) -> ModelDescription:
    """The same with every number, of joints' and couplers' functions too, and those that files leave to their defaults, up to
    5 % larger; zeros stay zeros."""
    random = np.random.default_rng(seed)

    def factor() -> float:
        return 1 + 0.05 * random.uniform(0.1, 1)

    def vary(item: Any) -> Any:
        if isinstance(item, float):
            return item * factor()
        if isinstance(item, list | tuple):
            return type(item)(vary(part) for part in item)
        if isinstance(item, dict):
            return {key: vary(value) for key, value in item.items()}
        if isinstance(
            item, SimmSpline | PiecewiseLinearFunction | GCVSpline
        ):  # points stay in order, and twice if they are
            by_x, by_y = factor(), factor()
            return replace(item, x=tuple(by_x * x for x in item.x), y=tuple(by_y * y for y in item.y))
        if is_dataclass(item):
            return replace(item, **{part.name: vary(getattr(item, part.name)) for part in fields(item)})  # pyright: ignore[reportArgumentType]
        return item

    stated = copy.deepcopy(description)
    for muscle in stated.muscles:
        defaults = {name: properties.default(muscle.kind, name) for name in properties.number_names(muscle.kind)}
        muscle.numbers = {name: value for name, value in defaults.items() if value is not None} | muscle.numbers
        muscle.curves = {name: SPLINES[name] for name in properties.SPLINE_CURVES.get(muscle.kind, ())} | muscle.curves
    return vary(stated)


def every_force() -> ModelDescription:
    description = force_bench.skeleton()
    description.forces = [force for forces in force_bench.FORCES.values() for force in forces]
    return description


TEMPLATES: dict[str, Callable[[], ModelDescription]] = {
    "leg": lambda: read_osim(model_path("leg")),
    "all_joints": bench_models.all_joints,
    "all_constraints": bench_models.all_constraints,
    "every muscle": muscle_bench.bench,
    "every force": every_force,
}


def everything(model: mg.Model, q: jax.Array, u: jax.Array, a: jax.Array, controls: jax.Array) -> Any:
    q = mg.assemble(model, q)
    state = mg.State(q, u, a, mg.muscle_equilibrium(model, q, u, a))
    rate = mg.state_derivative(model, state, controls)
    return (
        mg.muscle_dynamics(model, q, u, a, state.fiber_length),
        rate,
        mg.marker_positions(model, q),
        elastic_energy(model, state),
    )


@pytest.fixture
def traced_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents are told apart, so that no program that was traced with one is used for another."""
    monkeypatch.setattr(Document, "__eq__", lambda self, other: self is other)
    monkeypatch.setattr(Document, "__hash__", lambda self: id(self))


def program(function: Callable[..., Any], model: mg.Model) -> list[str]:
    """What JAX hands to the compiler, line by line: with every constant, without the values of arguments."""
    q, a = jnp.zeros(len(model.coordinate_names)), jnp.full(len(model.muscle_names), 0.4)
    controls = jnp.zeros(len(model.control_names))
    return jax.jit(function).lower(model, q, q, a, controls).as_text().splitlines()


@pytest.mark.parametrize("name", TEMPLATES)
def test_no_number_is_static(name: str, traced_anew: None):
    """The programs of two people are the same to the letter: no number of a description is built in, not even one that is read
    from the document while tracing."""
    template = TEMPLATES[name]()
    first, second = (mg.compile_model(varied(template, seed)) for seed in (1, 2))
    custom = any(joint.kind == "CustomJoint" for joint in template.joints)
    fixed = ("rotation", "axes") if custom else ("rotation", "axes", "slopes")  # those of other joints are 1
    for (path, x), y in zip(jax.tree_util.tree_leaves_with_path(first), jax.tree.leaves(second), strict=True):
        name = jax.tree_util.keystr(path)
        if np.any(np.isfinite(x) & (np.asarray(x) != 0)) and not any(part in name for part in fixed):
            assert not np.array_equal(x, y), name
    one, other = program(everything, first), program(everything, second)
    differ = [pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]]
    assert not differ, "\n".join(line[:300] for line in differ[0])
    assert len(one) == len(other)


def test_a_number_from_the_document_would_be_found(traced_anew: None):
    def built_in(model: mg.Model, q: jax.Array, *_: Any) -> jax.Array:
        return q * model.document.description.bodies[0].mass

    first, second = (mg.compile_model(varied(muscle_bench.bench(), seed)) for seed in (1, 2))
    assert program(built_in, first) == program(built_in, first)
    assert program(built_in, first) != program(built_in, second)


def test_a_compiled_function_is_traced_once_for_all(people: list[mg.Model], measured):
    traced = 0

    @jax.jit
    def arms(model: mg.Model, q: jax.Array) -> jax.Array:
        nonlocal traced
        traced += 1
        return mg.moment_arms(model, q)

    found = [arms(model, mg.assemble(model, model.default_pose())) for model in people[:5]]
    measured("times traced", traced)
    assert traced == 1
    assert not np.allclose(found[0], found[1], equal_nan=True)


def test_a_stack_is_as_good_as_one_at_a_time(people: list[mg.Model], measured):
    stack = jax.tree.map(lambda *x: jnp.stack(x), *people)
    q = jnp.stack([mg.assemble(model, model.default_pose()) for model in people])
    u, a = jnp.full_like(q, 0.2), jnp.full((PEOPLE, len(people[0].muscle_names)), 0.3)

    def everything(model: mg.Model, q: jax.Array, u: jax.Array, a: jax.Array) -> Any:
        rest = mg.equilibrium_state(model, q, u, a)
        state = mg.State(q, u, a, 1.01 * rest.fiber_length)  # at rest, a fibre's velocity is all rounding
        rate = mg.state_derivative(model, state, jnp.full(len(model.control_names), 0.5))
        return mg.moment_arms(model, q), mg.mass_matrix(model, q), rate, state

    single = jax.jit(everything)
    together = jax.jit(jax.vmap(everything))(stack, q, u, a)
    gap = 0.0
    for k, model in enumerate(people):
        alone = single(model, q[k], u[k], a[k])
        for one, other in zip(jax.tree.leaves(alone), jax.tree.leaves(together), strict=True):
            size = np.nanmax(np.abs(one), initial=1e-12)
            np.testing.assert_allclose(np.asarray(other[k]) / size, np.asarray(one) / size, atol=1e-9)
            gap = max(gap, np.nanmax(np.abs(np.asarray(other[k]) - np.asarray(one)) / size, initial=0.0))
    measured("stack", gap)


def test_a_second_person_compiles_nothing(template: ModelDescription, tmp_path: Path, measured):
    """In another process, so that nothing is compiled beforehand; JAX tells of every compilation."""
    for seed in (1, 2):
        write_osim(somebody(template, seed), tmp_path / f"subject{seed}.osim")
    program = f"""
import warnings; warnings.simplefilter("ignore")
import jax, myograd as mg
compiled = []
jax.monitoring.register_event_duration_secs_listener(
    lambda name, seconds, **_: compiled.append(name) if "backend_compile" in name else None)
def arms(path):
    model = mg.load_model(path)
    return mg.moment_arms(model, mg.assemble(model, model.default_pose()))
arms({str(tmp_path / "subject1.osim")!r})
first = len(compiled)
arms({str(tmp_path / "subject2.osim")!r})
print(first, len(compiled) - first)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    first, second = map(int, run.stdout.split())
    measured("compiled for the second person", second)
    assert first > 0
    assert second == 0


def test_numbers_are_not_saved_with_somebody_elses_document(people: list[mg.Model], tmp_path: Path):
    """A compiled function hands out the static half of the model it was traced with."""

    @jax.jit
    def heavier(model: mg.Model) -> mg.Model:
        return jax.tree.map(lambda x: x, model)

    heavier(people[0])
    second = heavier(people[1])
    with pytest.raises(mg.ModelError, match=r"not from the document that it carries, 'subject00'.*like=MODEL"):
        mg.save_model(second, tmp_path / "mixed.osim")
    assert not (tmp_path / "mixed.osim").exists()
    mg.save_model(second, tmp_path / "second.osim", like=people[1])
    again = mg.load_model(tmp_path / "second.osim")
    assert again.name == "subject01"
    np.testing.assert_array_equal(again.bodies.mass, people[1].bodies.mass)
    stack = jax.tree.map(lambda *x: jnp.stack(x), *people[:2])
    with pytest.raises(mg.ModelError, match="a stack of models"):
        mg.save_model(stack, tmp_path / "stack.osim")
    mg.save_model(jax.tree.map(lambda x: x[0], stack), tmp_path / "one.osim")


def test_the_fingerprint_is_a_small_exact_number(people: list[mg.Model]):
    """It does not drown the other leaves in a norm; weight decay of all leaves changes it, which is told."""
    found = [float(model.fingerprint) for model in people]
    assert len(set(found)) == PEOPLE
    assert all(0 <= x < 1 and x * 2**52 == int(x * 2**52) for x in found)
    decayed = jax.tree.map(lambda x: 0.999 * x, people[0])
    with pytest.raises(mg.ModelError, match=r"weight decay.*like=MODEL"):
        description_of(decayed)


def test_every_changed_number_is_saved(people: list[mg.Model], tmp_path: Path):
    """The numbers of one person, written into the document of another."""
    mg.save_model(people[1], tmp_path / "swapped.osim", like=people[0])
    again = mg.load_model(tmp_path / "swapped.osim")
    assert again.name == "subject00"
    for (path, x), y in zip(jax.tree_util.tree_leaves_with_path(people[1]), jax.tree.leaves(again), strict=True):
        if jax.tree_util.keystr(path) != ".fingerprint":
            np.testing.assert_allclose(y, x, rtol=1e-12, atol=1e-14, err_msg=jax.tree_util.keystr(path))
