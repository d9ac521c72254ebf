"""Bad joints, functions, constraints and muscles in `.osim` files: each gets its own error, at its own line."""

from __future__ import annotations

from pathlib import Path

import pytest

from osim_documents import (
    TWO_BODIES,
    TWO_JOINTS,
    TWO_POINTS,
    assert_refused,
    axis,
    body,
    constraint,
    custom_joint,
    joint,
    model,
    muscle,
    point,
)

MOVING = """<MovingPathPoint name="m">
<socket_parent_frame>/bodyset/rod</socket_parent_frame>
{}
</MovingPathPoint>
"""
SURFACE = "<WrapObjectSet><objects>\n<{0} name='w'>{1}</{0}>\n</objects></WrapObjectSet>"
WRAP = "<PathWrap name='over'>\n{}\n</PathWrap>"
COUPLER = """<coupled_coordinates_function>{}</coupled_coordinates_function>
<independent_coordinate_names>{}</independent_coordinate_names>
<dependent_coordinate_name>{}</dependent_coordinate_name>"""


def function(text: str) -> str:
    return model(joints=custom_joint(axis(text)))


def wrapping(kind: str, content: str) -> str:
    return model(bodies=body("rod", SURFACE.format(kind, content)))


def coupled(
    function: str = "<LinearFunction/>", independent: str = "hinge_angle", dependent: str = "elbow_angle"
) -> str:
    more = constraint("CoordinateCouplerConstraint", COUPLER.format(function, independent, dependent))
    return model(TWO_BODIES, TWO_JOINTS, more)


def force(kind: str, content: str = "", more: str = "") -> str:
    return model(forces=f"<{kind} name='f'>\n{content}\n</{kind}>\n", more=more)


STRAIGHT = f"<GeometryPath name='path'><PathPointSet><objects>{TWO_POINTS}</objects></PathPointSet></GeometryPath>"
FLOOR = """<ContactGeometrySet><objects>
<ContactHalfSpace name="floor"><socket_frame>/ground</socket_frame></ContactHalfSpace>
<ContactSphere name="heel"><socket_frame>/bodyset/rod</socket_frame>
<radius>{}</radius></ContactSphere></objects></ContactGeometrySet>"""
TOUCH = "<socket_sphere>{}</socket_sphere>\n<socket_half_space>/contactgeometryset/floor</socket_half_space>"


# What is wrong, as (a document, a piece of the line to be named, what the message says).
ELEMENTS: dict[str, tuple[str, str, str]] = {
    # Forces
    "actuator of no coordinate": (
        force("CoordinateActuator", "<coordinate>hinge_angel</coordinate>"),
        "<CoordinateActuator",
        "acts on 'hinge_angel', which is not a coordinate; did you mean 'hinge_angle'?",
    ),
    "limit without transition": (
        force("CoordinateLimitForce", "<coordinate>hinge_angle</coordinate>\n<transition>0</transition>"),
        "<CoordinateLimitForce",
        "transition is 0; it must be above 0",
    ),
    "spring without stiffness": (
        force(
            "PathSpring",
            STRAIGHT,
        ),
        "<PathSpring",
        "has no <resting_length>",
    ),
    "ligament of no length": (
        force(
            "Ligament",
            STRAIGHT + "<resting_length>0</resting_length>",
        ),
        "<Ligament",
        "resting_length is 0; it must be above 0",
    ),
    "smooth contact without smoothing": (
        force("SmoothSphereHalfSpaceForce", "<constant_contact_force>0</constant_contact_force>"),
        "<SmoothSphereHalfSpaceForce",
        "constant_contact_force is 0; it must be above 0",
    ),
    "actuator without path": (force("PathActuator"), "<PathActuator", "has no path"),
    "spring from a body to itself": (
        force("PointToPointSpring", "<socket_body1>/ground</socket_body1><socket_body2>/ground</socket_body2>"),
        "<PointToPointSpring",
        "connects /ground to itself",
    ),
    "bushing of no frame": (
        force("BushingForce", "<socket_frame1>/bodyset/rid</socket_frame1>"),
        "<BushingForce",
        "'/bodyset/rid', which is not a frame; did you mean '/bodyset/rod'?",
    ),
    "contact of no sphere": (
        force("SmoothSphereHalfSpaceForce", TOUCH.format("/contactgeometryset/hell"), FLOOR.format(0.1)),
        "<SmoothSphereHalfSpaceForce",
        "touches '/contactgeometryset/hell', which is not a ContactSphere; did you mean 'heel'?",
    ),
    "sphere without radius": (
        model(more=FLOOR.format(0)),
        "<radius>",
        "the radius is 0; it must be positive",
    ),
    "negative friction": (
        force(
            "SmoothSphereHalfSpaceForce",
            TOUCH.format("/contactgeometryset/heel") + "<static_friction>-1</static_friction>",
            FLOOR.format(0.1),
        ),
        "<SmoothSphereHalfSpaceForce",
        "static_friction is -1; it must not be negative",
    ),
    # Joints and functions
    "joint class": (
        model(joints=joint("hinge", "/bodyset/rod", kind="PimJoint")),
        "<PimJoint",
        "not supported; did you mean 'PinJoint'?",
    ),
    "joint in the wrong place": (model(bodies=body("rod") + joint("x", "y")), "<PinJoint", "is not a <Body>"),
    "coordinates of a pin": (
        model(joints=joint("hinge", "/bodyset/rod", coordinates="<Coordinate name='a'/><Coordinate name='b'/>")),
        "<PinJoint",
        "a PinJoint has 1 coordinates, this one has 2",
    ),
    "coordinate class": (
        model(joints=joint("hinge", "/bodyset/rod", coordinates="<Angle/>")),
        "<coordinates",
        "should be a <Coordinate>",
    ),
    "radii": (
        model(
            joints=joint(
                "hinge",
                "/bodyset/rod",
                kind="EllipsoidJoint",
                coordinates="".join(f"<Coordinate name='{i}'/>" for i in "abc"),
            )
        ),
        "<EllipsoidJoint",
        "has no <radii_x_y_z>",
    ),
    "no transform": (
        model(joints=joint("hinge", "/bodyset/rod", kind="CustomJoint")),
        "<CustomJoint",
        "has no <SpatialTransform>",
    ),
    "nothing moves": (model(joints=custom_joint("", "")), "<CustomJoint", "no axis depends on a coordinate"),
    "coordinate that moves nothing": (
        model(joints=custom_joint(axis("<LinearFunction/>"), '\n<Coordinate name="q"/>\n<Coordinate name="qq"/>')),
        '<Coordinate name="qq"',
        "no axis depends on the coordinate 'qq'; did you mean 'q'?",
    ),
    "parallel axes": (
        model(joints=custom_joint(axis("<LinearFunction/>", direction="0 0 2"))),
        "<SpatialTransform",
        "the axes rotation1 and rotation3 are parallel",
    ),
    "function class": (function("<Parabola name='function'/>"), "<Parabola", "class of function is not supported"),
    "function of OpenSim": (
        function("<ExpressionBasedFunction/>"),
        "<ExpressionBased",
        "not supported; there are: Constant",
    ),
    "knots": (
        function("<SimmSpline><x>0 2 1</x><y>0 0 0</y></SimmSpline>"),
        "<SimmSpline",
        "x must increase from point to point, but 1 follows 2",
    ),
    "equal knots": (
        function("<PiecewiseLinearFunction><x>0 0</x><y>0 0</y></PiecewiseLinearFunction>"),
        "<Piece",
        "x must increase",
    ),
    "one knot": (
        function("<SimmSpline><x>0</x><y>0</y></SimmSpline>"),
        "<SimmSpline",
        "needs at least 2 points, but has 1",
    ),
    "x without y": (
        function("<SimmSpline><x>0 1</x><y>0</y></SimmSpline>"),
        "<SimmSpline",
        "2 values of x, but 1 of y",
    ),
    "nan in a spline": (function("<SimmSpline>\n<x>0 NaN</x><y>0 1</y></SimmSpline>"), "<x>", "x contains 'NaN'"),
    "gcv": (
        function("<GCVSpline><half_order>3</half_order><x>0 1</x><y>0 1</y></GCVSpline>"),
        "<GCVSpline",
        "at least 6 points",
    ),
    "gcv order": (
        function("<GCVSpline><x>0 1</x><y>0 1</y></GCVSpline>"),
        "<GCVSpline",
        "half_order is 0; 1 to 4 are possible",
    ),
    "slope only": (
        function("<LinearFunction><coefficients>1</coefficients></LinearFunction>"),
        "<LinearFunction",
        "at least 2 coefficients",
    ),
    "arguments": (
        function("<LinearFunction><coefficients>1 2 0</coefficients></LinearFunction>"),
        "<TransformAxis",
        "is a function of 2 variables, but there is 1 coordinate: q",
    ),
    "spline of two": (
        model(joints=custom_joint(axis("<SimmSpline><x>0 1</x><y>0 1</y></SimmSpline>", coordinates="a b"), "")),
        "<TransformAxis",
        "is a function of 1 variable, but there are 2 coordinates: a, b",
    ),
    "polynomial": (
        function(
            "<MultivariatePolynomialFunction><dimension>1000000000</dimension><order>1000000000</order></MultivariatePolynomialFunction>"
        ),
        "<Multivariate",
        "0 coefficients do not fit dimension 1000000000",
    ),
    "half a dimension": (
        function("<MultivariatePolynomialFunction><dimension>1.5</dimension></MultivariatePolynomialFunction>"),
        "<Multivariate",
        "dimension is 1.5, not a whole number",
    ),
    "step": (
        function("<StepFunction><transition_end_time>0</transition_end_time></StepFunction>"),
        "<StepFunction",
        "must be greater",
    ),
    "multiplier": (function("<MultiplierFunction/>"), "<MultiplierFunction", "has no <function> to multiply"),
    # Constraints
    "unknown coordinate": (
        coupled(dependent="elbow"),
        "<CoordinateCoupler",
        "couples 'elbow', which is not a coordinate; did you mean 'elbow_angle'?",
    ),
    "coordinate on itself": (
        coupled(dependent="hinge_angle"),
        "<CoordinateCoupler",
        "makes 'hinge_angle' depend on itself",
    ),
    "no function": (coupled(""), "<CoordinateCoupler", "has no <coupled_coordinates_function>"),
    "too many coordinates": (
        coupled(independent="hinge_angle elbow_angle"),
        "<CoordinateCoupler",
        "function of 1 variable",
    ),
    "rod": (
        model(more=constraint("ConstantDistanceConstraint", "<constant_distance>0</constant_distance>")),
        "<ConstantDistance",
        "the distance is 0; it must be positive",
    ),
    "weld in the air": (
        model(more=constraint("WeldConstraint", "<socket_frame1>/ground</socket_frame1>")),
        "<WeldConstraint",
        "does not say which frame",
    ),
    "weld to itself": (
        model(
            more=constraint(
                "WeldConstraint", "<socket_frame1>/ground</socket_frame1><socket_frame2>/ground</socket_frame2>"
            )
        ),
        "<WeldConstraint",
        "welds /ground to itself",
    ),
    # Muscles
    "one point": (model(forces=muscle(point("a", "/ground"))), "<GeometryPath", "at least two points, this one has 1"),
    "no path": (model(forces="<Thelen2003Muscle name='m'/>"), "<Thelen2003Muscle", "has no path"),
    "point class": (
        model(forces=muscle(TWO_POINTS + "<PathPiont/>")),
        "<PathPiont",
        "unknown; did you mean 'PathPoint'?",
    ),
    "point in the air": (
        model(forces=muscle(TWO_POINTS + point("c", "/bodyset/rob"))),
        '<PathPoint name="c"',
        "path point 'c' of muscle 'puller' is on '/bodyset/rob'",
    ),
    "point without coordinate": (
        model(forces=muscle(TWO_POINTS + MOVING.format(""))),
        "<MovingPathPoint",
        "does not say on which coordinate",
    ),
    "point on an unknown coordinate": (
        model(
            forces=muscle(
                TWO_POINTS
                + MOVING.format(
                    "".join(f"<socket_{x}_coordinate>/jointset/hinge/angle</socket_{x}_coordinate>" for x in "xyz")
                )
            )
        ),
        "<MovingPathPoint",
        "'/jointset/hinge/angle', which is not a coordinate",
    ),
    "moving on two coordinates": (
        model(
            TWO_BODIES,
            TWO_JOINTS,
            forces=muscle(
                TWO_POINTS
                + MOVING.format(
                    "<socket_x_coordinate>/jointset/hinge/hinge_angle</socket_x_coordinate>"
                    "<socket_y_coordinate>/jointset/hinge/hinge_angle</socket_y_coordinate>"
                    "<socket_z_coordinate>/jointset/elbow/elbow_angle</socket_z_coordinate>"
                )
            ),
        ),
        "<MovingPathPoint",
        "must depend on the same coordinate",
    ),
    "surface": (
        model(
            bodies=body("rod", SURFACE.format("WrapSphere", "")),
            forces=muscle(TWO_POINTS, wraps=WRAP.format("<wrap_object>v</wrap_object>")),
        ),
        "<PathWrap ",
        "wraps over 'v', which does not exist; there are: w",
    ),
    "method": (
        model(forces=muscle(TWO_POINTS, wraps=WRAP.format("<method>hybird</method>"))),
        "<method",
        "method is 'hybird'; did you mean 'hybrid'?",
    ),
    "wrap range": (
        model(forces=muscle(TWO_POINTS, wraps=WRAP.format("<range>1 2.5</range>"))),
        "<range",
        "not in whole numbers",
    ),
    "surface class": (wrapping("WrapCone", ""), "<WrapCone", "this class of wrap object is unknown"),
    "quadrant": (wrapping("WrapSphere", "\n<quadrant>up</quadrant>"), "<quadrant", "the quadrant is 'up'"),
    "radius": (wrapping("WrapSphere", "<radius>-1</radius>"), "<WrapSphere", "has a size of -1"),
    "flat ellipsoid": (
        wrapping("WrapEllipsoid", "<dimensions>1 0 1</dimensions>"),
        "<WrapEllipsoid",
        "has a size of 0",
    ),
    "torus": (wrapping("WrapTorus", "<inner_radius>1</inner_radius>"), "<WrapTorus", "outer radius must be greater"),
}


@pytest.mark.parametrize("name", ELEMENTS)
def test_bad_elements(tmp_path: Path, name: str):
    assert_refused(tmp_path, *ELEMENTS[name])
