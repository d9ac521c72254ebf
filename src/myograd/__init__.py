"""Myograd: differentiable musculoskeletal dynamics, on JAX.

    import myograd as mg
    model = mg.load_model("arm26.osim")
    q = mg.assemble(model, model.default_pose())
    mg.moment_arms(model, q)

Names are imported when first used, so that reading and checking files does not wait for JAX. Type checkers and editors read
them from `__init__.pyi`, which `scripts/front_door.py` writes.
"""

from __future__ import annotations

import importlib
from typing import Any

from . import _deprecated

__version__ = "0.1.0"

_PLACES = {
    "dynamics.bodies": (
        "body_accelerations body_jacobians body_poses body_velocities coordinate_rates marker_accelerations marker_positions "
        "marker_velocities point_jacobian point_position speeds"
    ),
    "dynamics.energy": (
        "bias_forces center_of_mass gravity_forces kinetic_energy mass_matrix momentum potential_energy"
    ),
    "dynamics.accelerations": "constraint_multipliers forward_dynamics inverse_dynamics",
    "dynamics.assembly": (
        "assemble constraint_bias constraint_errors constraint_jacobian coupling_matrix project_speeds"
    ),
    "dynamics.batch": "batched",
    "dynamics.poses": "Motion deg pose read_motion",
    "muscle.api": "activation_derivative muscle_dynamics muscle_equilibrium muscle_force_balance",
    "muscle.activation": "activation_rate integrate_activation",
    "muscle.state": "MuscleState",
    "system.scaling": "scaled",
    "system.state": "State",
    "system.rates": "applied_forces equilibrium_state state_derivative",
    "muscle.emg": "ExcitationFilter emg_envelope emg_to_excitation",
    "path.api": "moment_arms muscle_gradients muscle_lengths muscle_speeds path_points",
    "diagnostics.discontinuities": "Discontinuity length_discontinuities",
    "estimate.recording": "Recording read_recording",
    "estimate.parameters": "Bounds",
    "estimate.identification.choices": "Choices",
    "estimate.identification.setup": "identification",
    "estimate.identification.fitted": "fitted_model",
    "system.external": "ExternalForces external_forces external_wrenches",
    "simulation.run": "SimulationStopped simulate",
    "simulation.initial": "initial_state state_from_table",
    "simulation.controls": "ControlSignal",
    "simulation.trajectory": "Trajectory control_table energies state_table",
    "files.external_loads": "ExternalForce ExternalLoads read_external_loads write_external_loads",
    "files.models": "load_model save_model",
    "model.compile.model": "compile_model",
    "model.model": "Model",
    "model.stack": "stacked",
    "model.labels": "to_pandas",
    "model.parameters": "Selection parameter_places values_of with_values",
    "force.term": "Energy Instant Loads Term",
    "files.tables.table": "Table",
    "files.tables.formats": "read_table write_table",
    "files.osim.read": "read_osim",
    "files.osim.write": "write_osim",
    "model.description": "ModelDescription",
    "errors": (
        "ActivationWarning AngleWarning ControlWarning DuplicateNameWarning FiberLengthWarning FileFormatError ModelError "
        "MotionWarning MyogradError UnsupportedError UnsupportedWarning"
    ),
}
_HOME = {name: place for place, names in _PLACES.items() for name in names.split()}
_FOLDERS = ("models", "tools")
__all__ = sorted(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _deprecated.NAMES:
        new = _deprecated.NAMES[name]
        _deprecated.warn(f"myograd.{name}", f"myograd.{new}")
        name = new
    if name in _FOLDERS:
        return importlib.import_module(f".{name}", __name__)
    if name not in _HOME:
        raise AttributeError(f"module 'myograd' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return [*__all__, *_FOLDERS, "__version__"]
