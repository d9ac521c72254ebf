"""Wrong arguments, and states at which there is no answer: each gets its own clear error, never a number."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import myograd as mg
from myograd.model.description import Body, CoordinateCoupler, LinearFunction
from myograd.models import model_path

pytestmark = pytest.mark.filterwarnings("ignore::myograd.errors.UnsupportedWarning")


@pytest.fixture(scope="module")
def pendulum():
    return mg.load_model(model_path("double_pendulum"))


def changed(name: str, change):
    """A shipped model whose description has been changed."""
    description = mg.read_osim(model_path(name))
    change(description)
    return mg.compile_model(description)


def test_wrong_shape_names_what_is_needed(pendulum):
    with pytest.raises(mg.ModelError, match=r"mass_matrix: q has shape \(3,\).*needs \(2,\).*one row for each of"):
        mg.mass_matrix(pendulum, jnp.zeros(3))


def test_batch_points_to_vmap(pendulum):
    with pytest.raises(mg.ModelError, match=r"\(5, 2\).*jax\.vmap or batched"):
        mg.muscle_lengths(pendulum, np.zeros((5, 2)))


def test_wrong_shape_is_found_under_jit(pendulum):
    with pytest.raises(mg.ModelError, match="q has shape"):
        jax.jit(lambda q: mg.mass_matrix(pendulum, q))(jnp.zeros(4))


def test_nan_names_the_coordinate(pendulum):
    second = pendulum.coordinate_names[1]
    with pytest.raises(mg.ModelError, match=f"body_poses: q is not finite for {second}$"):
        mg.body_poses(pendulum, [0.0, np.nan])
    with pytest.raises(mg.ModelError, match=f"forward_dynamics: u is not finite for {second}"):
        mg.forward_dynamics(pendulum, [0.0, 0.0], [0.0, np.inf])


def test_not_numbers(pendulum):
    with pytest.raises(mg.ModelError, match="q must be numbers"):
        mg.body_poses(pendulum, "upright")  # pyright: ignore[reportArgumentType]


def test_wrench_and_location_shapes(pendulum):
    with pytest.raises(mg.ModelError, match=r"wrenches has shape \(2, 3\).*needs \(2, 6\)"):
        mg.forward_dynamics(pendulum, [0.0, 0.0], [0.0, 0.0], wrenches=np.zeros((2, 3)))
    with pytest.raises(mg.ModelError, match=r"location has shape \(2,\)"):
        mg.point_position(pendulum, [0.0, 0.0], [0.1, 0.2], body=pendulum.body_names[0])


def test_not_a_model():
    with pytest.raises(TypeError, match=r"body_poses takes a Model first \(see load_model\), not a str"):
        mg.body_poses("arm26.osim", [0.0])  # pyright: ignore[reportArgumentType]


def test_unknown_names(pendulum):
    with pytest.raises(mg.ModelError, match="there is no body 'uper"):
        mg.point_position(pendulum, [0.0, 0.0], [0.0, 0.0, 0.0], body="uper")
    with pytest.raises(mg.ModelError, match="method is 'elimination' or 'multipliers', not 'lagrange'"):
        mg.forward_dynamics(pendulum, [0.0, 0.0], [0.0, 0.0], method="lagrange")
    with pytest.raises(mg.ModelError, match="method is 'force', 'length' or 'velocity'"):
        mg.moment_arms(pendulum, [0.0, 0.0], method="exact")
    with pytest.raises(AttributeError, match="no attribute 'momentarms'"):
        mg.momentarms  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]


def massless(description):
    last: Body = description.bodies[-1]
    last.mass, last.inertia = 0.0, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("method", ["elimination", "multipliers"])
def test_singular_mass_names_bodies(method):
    model = changed("double_pendulum", massless)
    with pytest.raises(
        mg.ModelError, match=f"mass matrix is singular.*{model.coordinate_names[1]}.*{model.body_names[1]}"
    ):
        mg.forward_dynamics(model, [0.1, 0.2], [0.0, 0.0], method=method)


def test_singular_mass_is_found_inside_compiled_batches():
    model = changed("double_pendulum", massless)
    poses = jnp.zeros((3, 2))
    with pytest.raises(Exception, match="mass matrix is singular"):
        jax.block_until_ready(jax.jit(jax.vmap(lambda q: mg.forward_dynamics(model, q, q)))(poses))
    with pytest.raises(mg.ModelError, match="mass matrix is singular"):
        mg.batched(lambda q: mg.forward_dynamics(model, q, q))(poses)


def test_kinematics_need_no_mass():
    model = changed("double_pendulum", massless)
    assert np.isfinite(mg.body_poses(model, [0.1, 0.2])[1]).all()


def twice(description):
    original = next(x for x in description.constraints if isinstance(x, CoordinateCoupler))
    again = CoordinateCoupler("again", original.dependent, original.independent, original.function, original.scale)
    description.constraints.append(again)


@pytest.mark.parametrize("method", ["elimination", "multipliers"])
def test_redundant_constraints_are_named(method):
    model = changed("coupled_mechanism", twice)
    q = mg.assemble(model, model.default_pose())
    with pytest.raises(mg.ModelError, match=r"constraints are redundant.*again"):
        mg.forward_dynamics(model, q, jnp.zeros_like(q), method=method)


def test_an_open_loop_that_cannot_be_closed():
    def stretch(description):
        description.constraints[0].distance *= 100.0

    model = changed("four_bar", stretch)
    with pytest.raises(mg.ModelError, match=r"cannot be assembled from this pose.*still off by"):
        mg.assemble(model, model.default_pose())


def test_descriptions_that_do_not_fit_together():
    def dangling(description):
        description.constraints.append(CoordinateCoupler("c", "elbow", ("nothing",), LinearFunction((1.0, 0.0))))

    with pytest.raises(mg.ModelError, match="c: there is no coordinate 'nothing'"):
        changed("double_pendulum", dangling)

    def same_name(description):
        description.joints[1].coordinates[0].name = description.joints[0].coordinates[0].name

    with pytest.raises(mg.ModelError, match="two coordinates are named"):
        changed("double_pendulum", same_name)

    def unconnected(description):
        description.joints.pop()

    with pytest.raises(mg.ModelError, match="no chain of joints connects"):
        changed("double_pendulum", unconnected)


def test_batched_needs_one_first_axis(pendulum):
    run = mg.batched(lambda q, u: mg.bias_forces(pendulum, q, u))
    with pytest.raises(mg.ModelError, match="must have the same first dimension"):
        run(np.zeros((4, 2)), np.zeros((3, 2)))
