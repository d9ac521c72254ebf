"""Written by scripts/front_door.py; not edited by hand."""

from typing import Any

from jax import Array
from jaxtyping import Float

from . import models as models
from . import tools as tools
from ._arrays import ArrayLike
from .diagnostics.discontinuities import Discontinuity as Discontinuity
from .diagnostics.discontinuities import length_discontinuities as length_discontinuities
from .dynamics.batch import batched as batched
from .dynamics.poses import Motion as Motion
from .dynamics.poses import deg as deg
from .dynamics.poses import pose as pose
from .dynamics.poses import read_motion as read_motion
from .errors import ActivationWarning as ActivationWarning
from .errors import AngleWarning as AngleWarning
from .errors import ControlWarning as ControlWarning
from .errors import DuplicateNameWarning as DuplicateNameWarning
from .errors import FiberLengthWarning as FiberLengthWarning
from .errors import FileFormatError as FileFormatError
from .errors import ModelError as ModelError
from .errors import MotionWarning as MotionWarning
from .errors import MyogradError as MyogradError
from .errors import UnsupportedError as UnsupportedError
from .errors import UnsupportedWarning as UnsupportedWarning
from .estimate.identification.choices import Choices as Choices
from .estimate.identification.fitted import fitted_model as fitted_model
from .estimate.identification.setup import identification as identification
from .estimate.parameters import Bounds as Bounds
from .estimate.recording import Recording as Recording
from .estimate.recording import read_recording as read_recording
from .files.external_loads import ExternalForce as ExternalForce
from .files.external_loads import ExternalLoads as ExternalLoads
from .files.external_loads import read_external_loads as read_external_loads
from .files.external_loads import write_external_loads as write_external_loads
from .files.models import load_model as load_model
from .files.models import save_model as save_model
from .files.osim.read import read_osim as read_osim
from .files.osim.write import write_osim as write_osim
from .files.tables.formats import read_table as read_table
from .files.tables.formats import write_table as write_table
from .files.tables.table import Table as Table
from .force.term import Energy as Energy
from .force.term import Instant as Instant
from .force.term import Loads as Loads
from .force.term import Term as Term
from .model.compile.model import compile_model as compile_model
from .model.description import ModelDescription as ModelDescription
from .model.labels import to_pandas as to_pandas
from .model.model import Model as Model
from .model.parameters import Selection as Selection
from .model.parameters import parameter_places as parameter_places
from .model.parameters import values_of as values_of
from .model.parameters import with_values as with_values
from .model.stack import stacked as stacked
from .muscle.activation import activation_rate as activation_rate
from .muscle.activation import integrate_activation as integrate_activation
from .muscle.emg import ExcitationFilter as ExcitationFilter
from .muscle.emg import emg_envelope as emg_envelope
from .muscle.emg import emg_to_excitation as emg_to_excitation
from .muscle.state import MuscleState as MuscleState
from .simulation.controls import ControlSignal as ControlSignal
from .simulation.initial import state_from_table as state_from_table
from .simulation.run import SimulationStopped as SimulationStopped
from .simulation.run import simulate as simulate
from .simulation.trajectory import Trajectory as Trajectory
from .simulation.trajectory import control_table as control_table
from .simulation.trajectory import energies as energies
from .simulation.trajectory import state_table as state_table
from .system.external import ExternalForces as ExternalForces
from .system.external import external_forces as external_forces
from .system.scaling import scaled as scaled
from .system.state import State as State

__version__: str
__all__: list[str]
_PLACES: dict[str, str]
_HOME: dict[str, str]

def body_accelerations(model: Model, q: ArrayLike, u: ArrayLike, udot: ArrayLike) -> Float[Array, "bodies 6"]:
    """Angular acceleration [rad/s^2], then linear acceleration of the body origin [m/s^2], in ground."""
    ...

def body_jacobians(model: Model, q: ArrayLike) -> Float[Array, "bodies 6 c"]:
    """J with `body_velocities = J u`: turning [rad/s], then moving [m/s], per unit speed of each coordinate."""
    ...

def body_poses(model: Model, q: ArrayLike) -> tuple[Float[Array, "bodies 3 3"], Float[Array, "bodies 3"]]:
    """Rotation and origin [m] of every body in ground: `p_ground = R p_body + p`."""
    ...

def body_velocities(model: Model, q: ArrayLike, u: ArrayLike) -> Float[Array, "bodies 6"]:
    """Angular velocity [rad/s], then linear velocity of the body origin [m/s], in ground."""
    ...

def coordinate_rates(model: Model, q: ArrayLike, u: ArrayLike) -> Float[Array, " c"]:
    """`qdot = N(q) u` [rad/s, m/s]; N is the identity but for ball, free and ellipsoid joints."""
    ...

def marker_accelerations(model: Model, q: ArrayLike, u: ArrayLike, udot: ArrayLike) -> Float[Array, "markers 3"]:
    """Accelerations of the markers in ground [m/s^2]."""
    ...

def marker_positions(model: Model, q: ArrayLike) -> Float[Array, "markers 3"]:
    """Markers in ground [m]."""
    ...

def marker_velocities(model: Model, q: ArrayLike, u: ArrayLike) -> Float[Array, "markers 3"]:
    """Velocities of the markers in ground [m/s]."""
    ...

def point_jacobian(model: Model, q: ArrayLike, location: ArrayLike, body: str = "ground") -> Float[Array, "3 c"]:
    """Velocity [m/s] in ground of a point fixed to a body, per unit speed of each coordinate."""
    ...

def point_position(model: Model, q: ArrayLike, location: ArrayLike, body: str = "ground") -> Float[Array, "3"]:
    """Ground position [m] of a point fixed to a body."""
    ...

def speeds(model: Model, q: ArrayLike, qdot: ArrayLike) -> Float[Array, " c"]:
    """u [rad/s, m/s] with `qdot = N(q) u`."""
    ...

def bias_forces(model: Model, q: ArrayLike, u: ArrayLike) -> Float[Array, " c"]:
    """b in `M udot + b = tau`: Coriolis and centrifugal terms less gravity [N m, N]."""
    ...

def center_of_mass(model: Model, q: ArrayLike) -> Float[Array, "3"]:
    """Of the whole model, in ground [m]."""
    ...

def gravity_forces(model: Model, q: ArrayLike) -> Float[Array, " c"]:
    """Generalised forces of gravity [N m, N]."""
    ...

def kinetic_energy(model: Model, q: ArrayLike, u: ArrayLike) -> Float[Array, ""]:
    """Of all bodies and terms of the model [J]."""
    ...

def mass_matrix(model: Model, q: ArrayLike) -> Float[Array, "c c"]:
    """M(q) [kg m^2, kg m, kg], constraints not considered."""
    ...

def momentum(model: Model, q: ArrayLike, u: ArrayLike) -> Float[Array, "6"]:
    """Angular momentum about the ground origin [kg m^2/s], then linear momentum [kg m/s]."""
    ...

def potential_energy(model: Model, q: ArrayLike) -> Float[Array, ""]:
    """Of gravity, zero at the ground origin [J]."""
    ...

def constraint_multipliers(
    model: Model,
    q: ArrayLike,
    u: ArrayLike,
    tau: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    time: ArrayLike = 0.0,
    accept: tuple[str, ...] = (),
) -> Float[Array, " rows"]:
    """lambda of every constraint row, [N] or [N m] as the row is a distance or an angle: `M udot + b + G^T lambda = tau`."""
    ...

def forward_dynamics(
    model: Model,
    q: ArrayLike,
    u: ArrayLike,
    tau: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    time: ArrayLike = 0.0,
    method: str = "elimination",
    accept: tuple[str, ...] = (),
) -> Float[Array, " c"]:
    """udot [rad/s^2, m/s^2] under gravity, constraints, generalised forces tau and external wrenches (as in `inverse_dynamics`).

    `method`: `elimination` of coupled, locked and prescribed coordinates, or `multipliers` for all constraints. Both give
    the same accelerations; elimination solves a smaller system. `time` matters for prescribed coordinates only.
    """
    ...

def inverse_dynamics(
    model: Model, q: ArrayLike, u: ArrayLike, udot: ArrayLike, wrenches: ArrayLike | None = None
) -> Float[Array, " c"]:
    """Generalised forces `M udot + b` that this motion needs, beyond gravity and external forces [N m, N].

    `wrenches`: external moment [N m], then force at the body origin [N], on each body, in ground. Forces of constraints
    are part of the result.
    """
    ...

def assemble(model: Model, q: ArrayLike, time: ArrayLike = 0.0, accept: tuple[str, ...] = ()) -> Float[Array, " c"]:
    """A pose [rad, m] near q that satisfies the constraints.

    Coupled, locked and prescribed coordinates are set; closed loops are closed by Gauss-Newton steps of least change in
    the free coordinates. Raises if the loops cannot be closed from q.
    """
    ...

def constraint_bias(
    model: Model, q: ArrayLike, u: ArrayLike, time: ArrayLike = 0.0, accept: tuple[str, ...] = ()
) -> Float[Array, " rows"]:
    """bias with `G udot + bias = 0`, in the second derivative of each row's unit."""
    ...

def constraint_errors(
    model: Model, q: ArrayLike, time: ArrayLike = 0.0, accept: tuple[str, ...] = ()
) -> Float[Array, " rows"]:
    """How far each constraint is from being satisfied [m, rad]; rows as in `constraint_jacobian`."""
    ...

def constraint_jacobian(model: Model, q: ArrayLike, accept: tuple[str, ...] = ()) -> Float[Array, "rows c"]:
    """G, one row per constraint equation (names: `model.constraints.row_names`)."""
    ...

def coupling_matrix(model: Model, q: ArrayLike, accept: tuple[str, ...] = ()) -> Float[Array, "c c"]:
    """C(q): column i holds all speeds when coordinate i's speed is 1 and other independent ones are zero (Eq. 13 of
    Sherman, Seth, Delp). Columns of dependent, locked and prescribed coordinates are NaN: they cannot be chosen.

    Where constraints tie independent coordinates (closed loops), the others move as little as they can, in the sense of
    least squares over the independent ones.
    """
    ...

def project_speeds(
    model: Model, q: ArrayLike, u: ArrayLike, time: ArrayLike = 0.0, accept: tuple[str, ...] = ()
) -> Float[Array, " c"]:
    """Speeds [rad/s, m/s] near u that satisfy the velocity constraints: coupled ones set, loops closed by least change."""
    ...

def activation_derivative(
    model: Model, activation: ArrayLike, excitation: ArrayLike, accept: tuple[str, ...] = ()
) -> Float[Array, " m"]:
    """da/dt [1/s] of every muscle, by its class; zero where activation is the excitation itself."""
    ...

def muscle_dynamics(
    model: Model,
    q: ArrayLike,
    u: ArrayLike,
    activation: ArrayLike,
    fiber_length: ArrayLike,
    accept: tuple[str, ...] = (),
) -> MuscleState:
    """What every muscle does: `tendon_force`, `fiber_velocity`, and all their parts by name (see `MuscleState`).

    `fiber_length` [m] is not used where the tendon is rigid. Fibres shorter than the class allows are computed, and reported,
    at its limit, with a FiberLengthWarning; activation is clamped between the class's minimum and 1.
    """
    ...

def muscle_equilibrium(
    model: Model, q: ArrayLike, u: ArrayLike, activation: ArrayLike, accept: tuple[str, ...] = ()
) -> Float[Array, " m"]:
    """Fibre lengths [m] at which fibres and tendons balance.

    By each class's own convention, as OpenSim's: Millard and Schutte fibres are at rest, Thelen's share the path's speed with
    the tendon by their stiffness, De Groote and Fregly's take all of it. Where the tendon is rigid, the path decides.
    Derivatives are those of the equation that is solved.
    """
    ...

def muscle_force_balance(
    model: Model,
    q: ArrayLike,
    activation: ArrayLike,
    fiber_length: ArrayLike,
    fiber_velocity: ArrayLike,
    accept: tuple[str, ...] = (),
) -> Float[Array, " m"]:
    """Fibre force along the tendon less tendon force [N], for any fibre length [m] and velocity [m/s]: the implicit form of
    contraction dynamics, for solvers that treat the fibre velocity as unknown. Nothing is clamped but activation, so that a
    solver that strays feels a slope. Zero for rigid tendons."""
    ...

def applied_forces(model: Model, state: State, controls: ArrayLike, accept: tuple[str, ...] = ()) -> Float[Array, " c"]:
    """Generalised forces of all muscles, actuators, springs, limits and contacts [N m, N]; gravity and constraints are not among
    them. `controls`: one for each of `model.control_names`; excitations of muscles are clamped between 0 and 1."""
    ...

def equilibrium_state(
    model: Model, q: ArrayLike, u: ArrayLike, activation: ArrayLike, accept: tuple[str, ...] = ()
) -> State:
    """The state with muscles in equilibrium (`muscle_equilibrium`): where a simulation may start. Fibres of muscles that are
    accepted though they are not computed have no length."""
    ...

def state_derivative(
    model: Model, state: State, controls: ArrayLike, wrenches: ArrayLike | None = None, accept: tuple[str, ...] = ()
) -> State:
    """Rate of change of the state under all forces: `q` holds qdot, `u` holds udot, and so on.

    `controls`: see `applied_forces`. `wrenches`: external moment [N m], then force at the body origin [N], on each body, in
    ground (see `external_wrenches`). Muscles that are accepted though they are not computed stay as they are.
    """
    ...

def moment_arms(model: Model, q: ArrayLike, method: str = "force", accept: tuple[str, ...] = ()) -> Float[Array, "m c"]:
    """Moment arm of every muscle about every coordinate: r = -dL/dtheta with the constraints kept (Sherman, Seth, Delp).

    Coordinates coupled to theta move along (`coupling_matrix`), other independent ones are held fixed. Positive when tension
    produces a positive generalised force. NaN for dependent, locked and prescribed coordinates, about which there is no
    moment arm. [m] for angles, dimensionless for translations.

    `method`: `force` (unit tension to generalised force, Eq. 18; the fast one), `length` (derivative of the path length,
    Eq. 15) or `velocity` (lengthening speed at unit rate, Eq. 11). They agree to rounding.
    """
    ...

def muscle_gradients(model: Model, q: ArrayLike, accept: tuple[str, ...] = ()) -> Float[Array, "m c"]:
    """Lengthening speed of every path per unit speed, constraints not considered [m, or 1 for translations].

    The generalised forces of tensions s are `-muscle_gradients.T @ s`.
    """
    ...

def muscle_lengths(model: Model, q: ArrayLike, accept: tuple[str, ...] = ()) -> Float[Array, " m"]:
    """Length of every muscle-tendon path [m]."""
    ...

def muscle_speeds(model: Model, q: ArrayLike, u: ArrayLike, accept: tuple[str, ...] = ()) -> Float[Array, " m"]:
    """Lengthening speed of every path [m/s]: the length differentiated along `qdot = N u`."""
    ...

def path_points(model: Model, q: ArrayLike, arc_points: int = 9, accept: tuple[str, ...] = ()) -> Float[Array, "m n 3"]:
    """Every path in ground as a polyline [m]: its points, and `arc_points` on each arc over a surface, ends included.

    The number n is the same at every pose and for all muscles: points that are not on the path now, or that a muscle does not
    have, repeat its last one.
    """
    ...

def external_wrenches(model: Model, forces: ExternalForces, q: ArrayLike, time: ArrayLike) -> Float[Array, "bodies 6"]:
    """Moment [N m], then force at the body origin [N], on each body, in ground: what `forward_dynamics`, `inverse_dynamics` and
    `state_derivative` take as `wrenches`. A time outside the recording is an error; inside `jit`, it gives NaN."""
    ...

def initial_state(
    model: Model,
    q: Any = None,
    u: Any = None,
    activation: Any = None,
    accept: tuple[str, ...] = (),
    time: ArrayLike = 0.0,
) -> State:
    """Where a simulation may start: constraints satisfied, muscles in equilibrium.

    q, u: coordinates and speeds; None for the file's defaults, and for rest. activation: one number for all muscles, or one for
    each; None for the file's defaults. time [s]: of the start, which prescribed coordinates depend on.
    """
    ...
