"""Myograd: differentiable musculoskeletal dynamics, on JAX.

    import myograd as mg
    model = mg.load_model("arm26.osim")
    q = mg.assemble(model, model.default_pose())
    mg.moment_arms(model, q)

Names are imported when first used, so that reading and checking files does not wait for JAX.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_PLACES = {
    "dynamics.api": (
        "assemble body_accelerations body_jacobians body_poses body_velocities bias_forces center_of_mass constraint_bias "
        "constraint_errors constraint_jacobian constraint_multipliers coordinate_rates coupling_matrix forward_dynamics "
        "gravity_forces inverse_dynamics kinetic_energy marker_accelerations marker_positions marker_velocities "
        "mass_matrix momentum point_jacobian point_position potential_energy project_speeds speeds"
    ),
    "dynamics.batch": "batched",
    "muscle.contraction": "activation_derivative muscle_dynamics muscle_equilibrium muscle_force_balance",
    "muscle.activation": "activation_rate integrate_activation",
    "muscle.state": "MuscleState",
    "force.motion": "State applied_forces equilibrium_state state_derivative",
    "muscle.emg": "ExcitationFilter emg_envelope emg_to_excitation",
    "muscle.api": "moment_arms muscle_gradients muscle_lengths muscle_speeds path_points",
    "muscle.jumps": "Jump length_jumps",
    "estimate.recording": "Recording read_recording",
    "estimate.problem": "fitted_model identification",
    "force.external": "ExternalForces external_forces external_wrenches",
    "simulation.run": "SimulationStopped simulate",
    "simulation.initial": "initial_state state_from_table",
    "simulation.controls": "Course",
    "simulation.trajectory": "Trajectory control_table energies state_table",
    "files.external_loads": "ExternalForce ExternalLoads read_external_loads write_external_loads",
    "files.models": "load_model save_model",
    "model.compile": "compile_model",
    "model.model": "Model",
    "files.table": "Table",
    "files.tables": "read_table write_table",
    "files.osim_read": "read_osim",
    "files.osim_write": "write_osim",
    "model.description": "ModelDescription",
    "errors": "ActivationWarning FiberLengthWarning FileFormatError ModelError MyogradError UnreadError UnreadWarning",
}
_HOME = {name: place for place, names in _PLACES.items() for name in names.split()}
__all__ = sorted(_HOME)  # type: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'myograd' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
