"""Names of OpenSim 4.6 classes by family, old names of classes, and the properties of its muscles.

These decide how an element is brought to its present spelling, whether a force is a muscle, and which properties
of a muscle OpenSim would not know.
"""

from __future__ import annotations

# The sets of a model in OpenSim's own order. A Part names its set in `group`.
SETS = (
    "BodySet",
    "JointSet",
    "ControllerSet",
    "ConstraintSet",
    "ForceSet",
    "MarkerSet",
    "ContactGeometrySet",
    "ProbeSet",
    "ComponentSet",
)

RENAMED = {
    "ActuatorSet": "ForceSet",
    "MuscleWrap": "PathWrap",
    "MuscleWrapSet": "PathWrapSet",
    "MusclePoint": "PathPoint",
    "MuscleViaPoint": "ConditionalPathPoint",
    "MovingMusclePoint": "MovingPathPoint",
    "MusclePointSet": "PathPointSet",
    "NaturalCubicSpline": "SimmSpline",
    "natCubicSpline": "SimmSpline",
    "GeneralizedForce": "CoordinateActuator",
    "Force": "PointActuator",
    "Torque": "TorqueActuator",
    "Schutte1993Muscle": "Schutte1993Muscle_Deprecated",
    "Delp1990Muscle": "Delp1990Muscle_Deprecated",
    "MuscleMetabolicPowerProbeUmberger2010": "Umberger2010MuscleMetabolicsProbe",
    "MuscleMetabolicPowerProbeUmberger2010_MetabolicMuscleParameter": (
        "Umberger2010MuscleMetabolicsProbe_MetabolicMuscleParameter"
    ),
    "MuscleMetabolicPowerProbeUmberger2010_MetabolicMuscleParameterSet": (
        "Umberger2010MuscleMetabolicsProbe_MetabolicMuscleParameterSet"
    ),
}

JOINTS = (
    "PinJoint",
    "SliderJoint",
    "WeldJoint",
    "UniversalJoint",
    "BallJoint",
    "GimbalJoint",
    "FreeJoint",
    "PlanarJoint",
    "EllipsoidJoint",
    "CustomJoint",
)
OTHER_JOINTS = ("ConstantCurvatureJoint", "ScapulothoracicJoint")

CONSTRAINTS = ("CoordinateCouplerConstraint", "WeldConstraint", "PointConstraint", "ConstantDistanceConstraint")
OTHER_CONSTRAINTS = ("PointOnLineConstraint", "RollingOnSurfaceConstraint")

WRAP_OBJECTS = ("WrapCylinder", "WrapSphere", "WrapEllipsoid", "WrapTorus")
PATH_POINTS = ("PathPoint", "ConditionalPathPoint", "MovingPathPoint")
PATHS = ("GeometryPath", "FunctionBasedPath", "Scholz2015GeometryPath")
FRAMES = ("PhysicalOffsetFrame", "Body", "Ground", "StationDefinedFrame")

FUNCTIONS = (
    "Constant",
    "LinearFunction",
    "PolynomialFunction",
    "SimmSpline",
    "PiecewiseLinearFunction",
    "PiecewiseConstantFunction",
    "GCVSpline",
    "Sine",
    "StepFunction",
    "MultiplierFunction",
    "MultivariatePolynomialFunction",
)
OTHER_FUNCTIONS = (
    "ActiveForceLengthCurve",
    "ExpressionBasedFunction",
    "FiberCompressiveForceCosPennationCurve",
    "FiberCompressiveForceLengthCurve",
    "FiberForceLengthCurve",
    "ForceVelocityCurve",
    "ForceVelocityInverseCurve",
    "TendonForceLengthCurve",
)

_ACTIVATION = ("activation_time_constant", "deactivation_time_constant", "default_activation")
_MILLARD_CURVES = ("ActiveForceLengthCurve", "ForceVelocityCurve", "FiberForceLengthCurve", "TendonForceLengthCurve")
_THELEN_SHAPE = ("FmaxTendonStrain", "FmaxMuscleStrain", "KshapeActive", "KshapePassive", "Af", "Flen")
_DELP_TIMES = ("time_scale", "activation1", "activation2")
_DELP_CURVES = ("tendon_force_length_curve", "active_force_length_curve", "passive_force_length_curve")

EVERY_MUSCLE = (
    "components",
    "min_control",
    "max_control",
    "optimal_force",
    "ignore_tendon_compliance",
    "ignore_activation_dynamics",
)
"""The properties of every muscle that `description.Muscle` has no field for."""

MUSCLES: dict[str, tuple[str, ...]] = {
    "Thelen2003Muscle": (
        *_ACTIVATION,
        *_THELEN_SHAPE,
        "default_fiber_length",
        "fv_linear_extrap_threshold",
        "maximum_pennation_angle",
        "minimum_activation",
    ),
    "Thelen2003Muscle_Deprecated": (*_ACTIVATION[:2], *_THELEN_SHAPE, "Vmax", "Vmax0", "damping"),
    "Millard2012EquilibriumMuscle": (
        *_ACTIVATION,
        *_MILLARD_CURVES,
        "fiber_damping",
        "default_fiber_length",
        "minimum_activation",
        "maximum_pennation_angle",
    ),
    "Millard2012AccelerationMuscle": (
        *_MILLARD_CURVES,
        "default_activation",
        "default_fiber_length",
        "default_fiber_velocity",
        "MuscleFirstOrderActivationDynamicModel",
        "FiberCompressiveForceLengthCurve",
        "FiberCompressiveForceCosPennationCurve",
        "tendon_force_length_damping",
        "fiber_compressive_force_length_damping",
        "fiber_force_length_damping",
        "fiber_compressive_force_cos_pennation_damping",
        "fiber_damping",
        "mass",
    ),
    "DeGrooteFregly2016Muscle": (
        *_ACTIVATION,
        "default_normalized_tendon_force",
        "active_force_width_scale",
        "fiber_damping",
        "passive_fiber_strain_at_one_norm_force",
        "tendon_strain_at_one_norm_force",
        "ignore_passive_fiber_force",
        "tendon_compliance_dynamics_mode",
        "activation_dynamics_smoothing",
    ),
    "MeyerFregly2016Muscle": (
        *_ACTIVATION,
        "active_force_width_scale",
        "fiber_damping",
        "ignore_passive_fiber_force",
        "activation_dynamics_smoothing",
    ),
    "Schutte1993Muscle_Deprecated": (*_DELP_TIMES, *_DELP_CURVES, "damping"),
    "Delp1990Muscle_Deprecated": (*_DELP_TIMES, *_DELP_CURVES, "mass", "force_velocity_curve"),
    "RigidTendonMuscle": (*_DELP_CURVES[1:], "force_velocity_curve"),
}
"""Every muscle class, with the properties that only it has."""

CONTROLLED_ACTUATORS = (
    "CoordinateActuator",
    "PointActuator",
    "TorqueActuator",
    "BodyActuator",
    "PointToPointActuator",
    "PathActuator",
)
"""Actuators whose force is their control times a constant: none without a control signal."""

OTHER_FORCES = (
    "ActivationCoordinateActuator",
    "Blankevoort1991Ligament",
    "BushingForce",
    "ClutchedPathSpring",
    "CoordinateLimitForce",
    "ElasticFoundationForce",
    "ExponentialContactForce",
    "ExpressionBasedBushingForce",
    "ExpressionBasedCoordinateForce",
    "ExpressionBasedPathForce",
    "ExpressionBasedPointToPointForce",
    "ExternalForce",
    "FunctionBasedBushingForce",
    "HuntCrossleyForce",
    "Ligament",
    "McKibbenActuator",
    "MeyerFregly2016Force",
    "PathSpring",
    "PointToPointSpring",
    "PrescribedForce",
    "SmoothSphereHalfSpaceForce",
    "SpringGeneralizedForce",
)
ACTUATORS = (*MUSCLES, *CONTROLLED_ACTUATORS, "ActivationCoordinateActuator", "ClutchedPathSpring", "McKibbenActuator")
FORCES = (*MUSCLES, *CONTROLLED_ACTUATORS, *OTHER_FORCES)

CONTROLLERS = (
    "CMC",
    "ControlSetController",
    "CorrectionController",
    "PrescribedController",
    "SynergyController",
    "ToyPropMyoController",
    "ToyReflexController",
)
PROBES = (
    "ActuatorForceProbe",
    "ActuatorPowerProbe",
    "Bhargava2004MuscleMetabolicsProbe",
    "JointInternalPowerProbe",
    "SystemEnergyProbe",
    "Umberger2010MuscleMetabolicsProbe",
)
CONTACT_GEOMETRIES = (
    "ContactCylinder",
    "ContactEllipsoid",
    "ContactHalfSpace",
    "ContactMesh",
    "ContactSphere",
    "ContactTorus",
)
