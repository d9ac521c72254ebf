"""A simulated motion: states and controls over time, as arrays and as tables that OpenSim reads."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..dynamics.energy import kinetic_energy, potential_energy
from ..dynamics.kinematics import pose
from ..files.tables.table import Table
from ..model.description.muscle_properties import DE_GROOTE_FREGLY
from ..model.model import Model
from ..muscle.contraction import acting_activation, muscle_states
from ..path.length import lengths_and_gradient
from ..system.forces import elastic_energy
from ..system.state import State


class Trajectory(eqx.Module):
    """States at `time`: each of their arrays has time as its first axis. Activations are as they are integrated, and may sink
    below a muscle's minimum, as OpenSim's do; `acting_activations` are those that muscles use.

    steps, rejected: how many steps the integrator took, and tried in vain.
    """

    time: Float[Array, " n"]
    state: State
    controls: Float[Array, "n k"]
    steps: Int[Array, ""] | int
    rejected: Int[Array, ""] | int

    def __len__(self) -> int:
        return len(self.time)

    def at(self, row: int) -> State:
        """The state in one row, `-1` for the last: where another simulation may go on."""
        return jax.tree.map(lambda x: x[row], self.state)

    def since(self, row: int) -> Trajectory:
        """Without the rows before."""
        time, state, controls = jax.tree.map(lambda x: x[row:], (self.time, self.state, self.controls))
        return Trajectory(time, state, controls, self.steps, self.rejected)


def energies(model: Model, trajectory: Trajectory) -> dict[str, Float[Array, " n"]]:
    """`kinetic`, `potential` (of gravity), `elastic` (of springs, limits, ligaments and contacts, not of muscles) and their sum
    `total` [J] over time."""
    return _energies(model, trajectory.state)


@eqx.filter_jit
def _energies(model: Model, states: State) -> dict[str, Float[Array, " n"]]:
    kinetic = jax.vmap(lambda q, u: kinetic_energy(model, q, u))(states.q, states.u)
    potential = jax.vmap(lambda q: potential_energy(model, q))(states.q)
    elastic = jax.vmap(lambda one: elastic_energy(model, one))(states) if model.terms else jnp.zeros_like(potential)
    return {"kinetic": kinetic, "potential": potential, "elastic": elastic, "total": kinetic + potential + elastic}


@eqx.filter_jit
def acting_activations(model: Model, trajectory: Trajectory) -> Float[Array, "n m"]:
    """Activations over time as muscles use them, and as tables, plots and OpenSim's `getActivation` give them: between each
    muscle's minimum and 1."""
    return jax.vmap(lambda a, controls: acting_activation(model, a, controls))(
        trajectory.state.activation, trajectory.controls
    )


def state_table(model: Model, trajectory: Trajectory) -> Table:
    """A table of states under OpenSim's names for them: what its Manager would write, in radians and metres, but activations as
    they act.

    DeGrooteFregly2016Muscle keeps its tendon force as a state there, over the maximum isometric force.
    """
    state, classes = jax.tree.map(np.asarray, trajectory.state), model.muscle_classes
    columns: list[tuple[str, np.ndarray]] = []
    for i, (name, joint) in enumerate(zip(model.coordinate_names, model.names.coordinate_joints, strict=True)):
        columns += [
            (f"/jointset/{joint}/{name}/value", state.q[:, i]),
            (f"/jointset/{joint}/{name}/speed", state.u[:, i]),
        ]
    tension = np.asarray(_tensions(model, trajectory.state)) if DE_GROOTE_FREGLY in classes.kind else state.fiber_length
    activation = np.asarray(acting_activations(model, trajectory))
    for i, name in enumerate(model.muscle_names):
        if not classes.immediate_activation[i]:
            columns.append((f"/forceset/{name}/activation", activation[:, i]))
        if not classes.rigid_tendon[i]:
            if classes.kind[i] == DE_GROOTE_FREGLY:
                columns.append((f"/forceset/{name}/normalized_tendon_force", tension[:, i]))
            else:
                columns.append((f"/forceset/{name}/fiber_length", state.fiber_length[:, i]))
    data = np.stack([values for _, values in columns], axis=1)
    return Table(np.asarray(trajectory.time), data, tuple(name for name, _ in columns), in_degrees=False)


@eqx.filter_jit
def _tensions(model: Model, states: State) -> Float[Array, "n m"]:
    return jax.vmap(lambda state: _tension(model, state))(states)


def _tension(model: Model, state: State) -> Float[Array, " m"]:
    """Tendon forces over maximum isometric forces; activation does not matter where the fibre's length is known."""
    m = len(model.muscle_names)
    length, gradient = lengths_and_gradient(model, pose(model, state.q), state.q)
    muscles = muscle_states(model, length[:m], (gradient @ state.u)[:m], state.activation, state.fiber_length)
    return muscles.tendon_force / model.muscles.max_isometric_force


def control_table(model: Model, trajectory: Trajectory) -> Table:
    """A table of controls under OpenSim's names for them."""
    names = tuple(f"/forceset/{name}" for name in model.control_names)
    return Table(np.asarray(trajectory.time), np.asarray(trajectory.controls), names)
