"""Small `.osim` documents, written for the tests: pieces, and one leg in the spelling of OpenSim 3.0 and of 4.6."""

from __future__ import annotations

from pathlib import Path

from myograd.files.osim_read import read_osim
from myograd.model.description import ModelDescription


def document(content: str, version: int = 40600, name: str = "small") -> str:
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<OpenSimDocument Version="{version}">
<Model name="{name}">
{content}
</Model>
</OpenSimDocument>
"""


def body(name: str, more: str = "", mass: str = "2") -> str:
    return f"""<Body name="{name}">
<mass>{mass}</mass>
<inertia>0.1 0.2 0.25 0 0 0</inertia>
{more}
</Body>
"""


def joint(
    name: str,
    child: str,
    parent: str = "/ground",
    kind: str = "PinJoint",
    coordinates: str | None = None,
    more: str = "",
) -> str:
    listed = f'<Coordinate name="{name}_angle"/>' if coordinates is None else coordinates
    return f"""<{kind} name="{name}">
<socket_parent_frame>{parent}</socket_parent_frame>
<socket_child_frame>{child}</socket_child_frame>
<coordinates>{listed}</coordinates>
{more}
</{kind}>
"""


def model(
    bodies: str | None = None, joints: str | None = None, more: str = "", version: int = 40600, forces: str = ""
) -> str:
    """A pendulum, unless told otherwise."""
    bodies = body("rod") if bodies is None else bodies
    joints = joint("hinge", "/bodyset/rod") if joints is None else joints
    return document(
        f"""<BodySet><objects>
{bodies}</objects></BodySet>
<JointSet><objects>
{joints}</objects></JointSet>
<ForceSet><objects>
{forces}</objects></ForceSet>
{more}""",
        version,
    )


def custom_joint(transform: str, coordinates: str = '<Coordinate name="q"/>') -> str:
    more = f"<SpatialTransform>{transform}</SpatialTransform>"
    return joint("hinge", "/bodyset/rod", kind="CustomJoint", coordinates=coordinates, more=more)


def axis(function: str, name: str = "rotation1", coordinates: str = "q", direction: str = "1 0 0") -> str:
    return f"""<TransformAxis name="{name}">
<coordinates>{coordinates}</coordinates>
<axis>{direction}</axis>
{function}
</TransformAxis>
"""


def muscle(points: str, more: str = "", name: str = "puller", wraps: str = "") -> str:
    return f"""<Thelen2003Muscle name="{name}">
<GeometryPath name="path">
<PathPointSet><objects>
{points}</objects></PathPointSet>
<PathWrapSet><objects>
{wraps}</objects></PathWrapSet>
</GeometryPath>
{more}
</Thelen2003Muscle>
"""


def point(name: str, frame: str, location: str = "0 0.1 0") -> str:
    return f"""<PathPoint name="{name}">
<socket_parent_frame>{frame}</socket_parent_frame>
<location>{location}</location>
</PathPoint>
"""


TWO_POINTS = point("a", "/ground") + point("b", "/bodyset/rod")


def constraint(kind: str, content: str) -> str:
    return f'<ConstraintSet><objects>\n<{kind} name="held">\n{content}\n</{kind}>\n</objects></ConstraintSet>'


def read_text(folder: Path, text: str | bytes) -> ModelDescription:
    path = folder / "model.osim"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_osim(path)


# One leg in two spellings ------------------------------------------------------------------------------------

SPLINE = "<x>-2 -1 0 1</x><y>0.01 0.02 0.015 0</y>"

LEG_3_0 = document(
    f"""
<gravity>0 -9.8 0</gravity>
<BodySet>
<objects>
<Body name="ground">
  <mass>0</mass>
  <Joint/>
  <WrapObjectSet><objects>
    <WrapSphere name="ball"><radius>0.1</radius><display_preference>4</display_preference></WrapSphere>
  </objects></WrapObjectSet>
</Body>
<Body name="thigh">
  <mass>8.5</mass>
  <mass_center>0 -0.17 0</mass_center>
  <inertia_xx>0.125</inertia_xx>
  <inertia_yy>0.0251234567</inertia_yy>
  <inertia_zz>0.13</inertia_zz>
  <inertia_xy>0</inertia_xy>
  <inertia_xz>0</inertia_xz>
  <inertia_yz>0</inertia_yz>
  <Joint>
    <CustomJoint name="hip">
      <parent_body>ground</parent_body>
      <location_in_parent>0 0.912345678 0</location_in_parent>
      <orientation_in_parent>0 0 0.5</orientation_in_parent>
      <location>0 0 0.01</location>
      <orientation>0 0 0</orientation>
      <CoordinateSet><objects>
        <Coordinate name="hip lift">
          <motion_type>translational</motion_type>
          <default_value>0.02</default_value>
        </Coordinate>
        <Coordinate name="hip_flexion">
          <motion_type>rotational</motion_type>
          <default_value>0.25</default_value>
          <range>-1 2</range>
          <clamped>true</clamped>
          <locked>false</locked>
          <prescribed_function/>
          <prescribed>true</prescribed>
        </Coordinate>
      </objects></CoordinateSet>
      <reverse>false</reverse>
      <SpatialTransform>
        <TransformAxis name="rotation1">
          <coordinates>hip_flexion</coordinates>
          <axis>0 0 1</axis>
          <function><LinearFunction><coefficients>1 0</coefficients></LinearFunction></function>
        </TransformAxis>
        <TransformAxis name="rotation2"><coordinates/><axis>0 1 0</axis></TransformAxis>
        <TransformAxis name="rotation3"><coordinates/><axis>1 0 0</axis><function/></TransformAxis>
        <TransformAxis name="translation1">
          <coordinates>hip_flexion</coordinates>
          <axis>1 0 0</axis>
          <function><natCubicSpline>{SPLINE}</natCubicSpline></function>
        </TransformAxis>
        <TransformAxis name="translation2">
          <coordinates>hiplift</coordinates>
          <axis>0 1 0</axis>
          <function/>
        </TransformAxis>
      </SpatialTransform>
    </CustomJoint>
  </Joint>
  <VisibleObject>
    <GeometrySet><objects>
      <DisplayGeometry><geometry_file>thigh.vtp</geometry_file><color>1 1 1</color></DisplayGeometry>
      <DisplayGeometry>
        <geometry_file>scar.vtp</geometry_file><transform>0 0 0.5 0.1 0.2 0.3</transform>
      </DisplayGeometry>
    </objects></GeometrySet>
    <scale_factors>1 2 1</scale_factors>
    <display_preference>4</display_preference>
  </VisibleObject>
</Body>
<Body name="shank">
  <mass>3</mass>
  <inertia_xx>0.05</inertia_xx>
  <inertia_yy>0.005</inertia_yy>
  <inertia_zz>0.05</inertia_zz>
  <Joint>
    <PinJoint name="knee">
      <parent_body>thigh</parent_body>
      <location_in_parent>0 -0.4 0</location_in_parent>
      <location>0 0 0</location>
      <CoordinateSet><objects><Coordinate name="knee_angle"/></objects></CoordinateSet>
      <reverse>true</reverse>
    </PinJoint>
  </Joint>
  <WrapObjectSet><objects>
    <WrapCylinder name="condyle">
      <radius>0.03</radius>
      <length>0.1</length>
      <xyz_body_rotation>0 0.1 0</xyz_body_rotation>
      <translation>0 0 0.02</translation>
      <quadrant>-X</quadrant>
    </WrapCylinder>
  </objects></WrapObjectSet>
</Body>
<Body name="foot">
  <mass>1</mass>
  <Joint><WeldJoint><parent_body>shank</parent_body></WeldJoint></Joint>
</Body>
</objects>
</BodySet>
<ConstraintSet><objects>
  <CoordinateCouplerConstraint name="gear">
    <isDisabled>false</isDisabled>
    <coupled_coordinates_function><LinearFunction><coefficients>0.5 0.1</coefficients></LinearFunction>
    </coupled_coordinates_function>
    <independent_coordinate_names>hip_flexion</independent_coordinate_names>
    <dependent_coordinate_name>knee_angle</dependent_coordinate_name>
    <scale_factor>0.9</scale_factor>
  </CoordinateCouplerConstraint>
  <WeldConstraint name="cast">
    <isDisabled>true</isDisabled>
    <body_1>thigh</body_1>
    <body_2>foot</body_2>
    <location_body_1>0.1 0 0</location_body_1>
    <orientation_body_1>0 0 0</orientation_body_1>
    <location_body_2>0 0 0</location_body_2>
    <orientation_body_2>0 0 0</orientation_body_2>
  </WeldConstraint>
  <PointConstraint name="pin">
    <body_1>ground</body_1><body_2>foot</body_2><location_body_2>0.1 0 0</location_body_2>
  </PointConstraint>
  <ConstantDistanceConstraint name="rod">
    <body_1>ground</body_1><body_2>foot</body_2><constant_distance>0.7</constant_distance>
  </ConstantDistanceConstraint>
</objects></ConstraintSet>
<MarkerSet><objects>
  <Marker name="heel"><body>foot</body><location>-0.05 0 0</location><fixed>true</fixed></Marker>
</objects></MarkerSet>
<ForceSet><objects>
  <Schutte1993Muscle name="rectus">
    <isDisabled>true</isDisabled>
    <GeometryPath>
      <PathPointSet><objects>
        <PathPoint name="p1"><body>ground</body><location>0.05 1 0</location></PathPoint>
        <ConditionalPathPoint name="p2">
          <body>thigh</body><location>0.04 -0.3 0</location>
          <coordinate>hip_flexion</coordinate><range>-1 0.5</range>
        </ConditionalPathPoint>
        <MovingPathPoint name="p3">
          <body>shank</body>
          <x_coordinate>knee_angle</x_coordinate>
          <y_coordinate>knee_angle</y_coordinate>
          <z_coordinate>knee_angle</z_coordinate>
          <x_location><NaturalCubicSpline>{SPLINE}</NaturalCubicSpline></x_location>
          <y_location><Constant><value>-0.02</value></Constant></y_location>
          <z_location><MultiplierFunction>
            <function><PiecewiseLinearFunction>{SPLINE}</PiecewiseLinearFunction></function><scale>1.1</scale>
          </MultiplierFunction></z_location>
        </MovingPathPoint>
      </objects></PathPointSet>
      <PathWrapSet><objects>
        <PathWrap name="w"><wrap_object>condyle</wrap_object><method>Unassigned</method><range>2 3</range></PathWrap>
      </objects></PathWrapSet>
      <VisibleObject><display_preference>4</display_preference></VisibleObject>
    </GeometryPath>
    <min_control>0</min_control>
    <max_control>1</max_control>
    <max_isometric_force>900</max_isometric_force>
    <optimal_fiber_length>0.11</optimal_fiber_length>
    <tendon_slack_length>0.3</tendon_slack_length>
    <pennation_angle_at_optimal>0.08</pennation_angle_at_optimal>
    <max_contraction_velocity>9</max_contraction_velocity>
    <damping>0.05</damping>
  </Schutte1993Muscle>
  <BushingForce name="pad">
    <isDisabled>false</isDisabled>
    <body_1>ground</body_1>
    <body_2>foot</body_2>
    <location_body_1>0 0.1 0</location_body_1>
    <location_body_2>0 0 0</location_body_2>
  </BushingForce>
  <PointToPointSpring name="elastic"><body1>ground</body1><body2>thigh</body2></PointToPointSpring>
</objects></ForceSet>
<ContactGeometrySet><objects>
  <ContactSphere name="sole"><body_name>foot</body_name><radius>0.02</radius></ContactSphere>
</objects></ContactGeometrySet>
<ControllerSet><objects>
  <PrescribedController name="robot">
    <actuator_list>ALL</actuator_list>
    <FunctionSet name="ControlFunctions"><objects><Constant/></objects></FunctionSet>
  </PrescribedController>
</objects></ControllerSet>
""",
    30000,
    "leg",
)

LEG_4_6 = document(
    f"""
<Ground name="ground">
  <WrapObjectSet name="wrapobjectset"><objects><WrapSphere name="ball"><radius>0.1</radius></WrapSphere></objects>
  </WrapObjectSet>
</Ground>
<gravity>0 -9.8 0</gravity>
<BodySet name="bodyset"><objects>
  <Body name="thigh">
    <components>
      <PhysicalOffsetFrame name="thigh_geom_frame_2">
        <socket_parent>..</socket_parent>
        <translation>0.1 0.2 0.3</translation>
        <orientation>0 0 0.5</orientation>
        <attached_geometry><Mesh name="thigh_geom_2"><mesh_file>scar.vtp</mesh_file></Mesh></attached_geometry>
      </PhysicalOffsetFrame>
    </components>
    <attached_geometry><Mesh name="thigh_geom_1"><mesh_file>thigh.vtp</mesh_file></Mesh></attached_geometry>
    <mass>8.5</mass>
    <mass_center>0 -0.17 0</mass_center>
    <inertia>0.125 0.0251235 0.13 0 0 0</inertia>
  </Body>
  <Body name="shank">
    <WrapObjectSet><objects>
      <WrapCylinder name="condyle">
        <radius>0.03</radius><length>0.1</length>
        <xyz_body_rotation>0 0.1 0</xyz_body_rotation><translation>0 0 0.02</translation><quadrant>-x</quadrant>
      </WrapCylinder>
    </objects></WrapObjectSet>
    <mass>3</mass><inertia>0.05 0.005 0.05 0 0 0</inertia>
  </Body>
  <Body name="foot"><mass>1</mass><inertia>1 1 1 0 0 0</inertia></Body>
</objects></BodySet>
<JointSet name="jointset"><objects>
  <CustomJoint name="hip">
    <socket_parent_frame>ground_offset</socket_parent_frame>
    <socket_child_frame>thigh_offset</socket_child_frame>
    <coordinates>
      <Coordinate name="hip_flexion">
        <default_value>0.25</default_value><range>-1 2</range><clamped>true</clamped>
      </Coordinate>
      <Coordinate name="hiplift"><default_value>0.02</default_value></Coordinate>
    </coordinates>
    <frames>
      <PhysicalOffsetFrame name="ground_offset">
        <socket_parent>/ground</socket_parent><translation>0 0.912346 0</translation><orientation>0 0 0.5</orientation>
      </PhysicalOffsetFrame>
      <PhysicalOffsetFrame name="thigh_offset">
        <socket_parent>../../../bodyset/thigh</socket_parent><translation>0 0 0.01</translation>
      </PhysicalOffsetFrame>
    </frames>
    <SpatialTransform>
      <TransformAxis name="rotation1">
        <coordinates>hip_flexion</coordinates><axis>0 0 1</axis><LinearFunction name="function"/>
      </TransformAxis>
      <TransformAxis name="rotation2"><axis>0 1 0</axis></TransformAxis>
      <TransformAxis name="rotation3"><axis>1 0 0</axis><Constant name="function"><value>0</value></Constant>
      </TransformAxis>
      <TransformAxis name="translation1">
        <coordinates>hip_flexion</coordinates><axis>1 0 0</axis><SimmSpline name="function">{SPLINE}</SimmSpline>
      </TransformAxis>
      <translation2><TransformAxis>
        <coordinates>hiplift</coordinates><axis>0 1 0</axis><LinearFunction name="function"/>
      </TransformAxis></translation2>
      <TransformAxis name="translation3"><axis>0 0 1</axis></TransformAxis>
    </SpatialTransform>
  </CustomJoint>
  <PinJoint name="knee">
    <socket_parent_frame>shank_offset</socket_parent_frame>
    <socket_child_frame>thigh_offset</socket_child_frame>
    <coordinates><Coordinate name="knee_angle"/></coordinates>
    <frames>
      <PhysicalOffsetFrame name="thigh_offset">
        <socket_parent>/bodyset/thigh</socket_parent><translation>0 -0.4 0</translation>
      </PhysicalOffsetFrame>
      <PhysicalOffsetFrame name="shank_offset"><socket_parent>/bodyset/shank</socket_parent></PhysicalOffsetFrame>
    </frames>
  </PinJoint>
  <WeldJoint>
    <socket_parent_frame>shank_offset</socket_parent_frame>
    <socket_child_frame>foot_offset</socket_child_frame>
    <frames>
      <PhysicalOffsetFrame name="shank_offset"><socket_parent>/bodyset/shank</socket_parent></PhysicalOffsetFrame>
      <PhysicalOffsetFrame name="foot_offset"><socket_parent>/bodyset/foot</socket_parent></PhysicalOffsetFrame>
    </frames>
  </WeldJoint>
</objects></JointSet>
<ConstraintSet><objects>
  <CoordinateCouplerConstraint name="gear">
    <coupled_coordinates_function><LinearFunction><coefficients>0.5 0.1</coefficients></LinearFunction>
    </coupled_coordinates_function>
    <independent_coordinate_names>hip_flexion</independent_coordinate_names>
    <dependent_coordinate_name>knee_angle</dependent_coordinate_name>
    <scale_factor>0.9</scale_factor>
  </CoordinateCouplerConstraint>
  <WeldConstraint name="cast">
    <isEnforced>false</isEnforced>
    <socket_frame1>thigh_offset</socket_frame1>
    <socket_frame2>/bodyset/foot</socket_frame2>
    <frames><PhysicalOffsetFrame name="thigh_offset">
      <socket_parent>/bodyset/thigh</socket_parent><translation>0.1 0 0</translation>
    </PhysicalOffsetFrame></frames>
  </WeldConstraint>
  <PointConstraint name="pin">
    <socket_body_1>/ground</socket_body_1><socket_body_2>/bodyset/foot</socket_body_2>
    <location_body_2>0.1 0 0</location_body_2>
  </PointConstraint>
  <ConstantDistanceConstraint name="rod">
    <socket_body_1>/ground</socket_body_1><socket_body_2>/bodyset/foot</socket_body_2>
    <constant_distance>0.7</constant_distance>
  </ConstantDistanceConstraint>
</objects></ConstraintSet>
<MarkerSet><objects>
  <Marker name="heel">
    <socket_parent_frame>/bodyset/foot</socket_parent_frame><location>-0.05 0 0</location><fixed>true</fixed>
  </Marker>
</objects></MarkerSet>
<ForceSet><objects>
  <Schutte1993Muscle_Deprecated name="rectus">
    <appliesForce>false</appliesForce>
    <path><GeometryPath>
      <PathPointSet><objects>
        <PathPoint name="p1"><socket_parent_frame>/ground</socket_parent_frame><location>0.05 1 0</location></PathPoint>
        <ConditionalPathPoint name="p2">
          <socket_parent_frame>/bodyset/thigh</socket_parent_frame><location>0.04 -0.3 0</location>
          <socket_coordinate>/jointset/hip/hip_flexion</socket_coordinate><range>-1 0.5</range>
        </ConditionalPathPoint>
        <MovingPathPoint name="p3">
          <socket_parent_frame>../../../../bodyset/shank</socket_parent_frame>
          <socket_x_coordinate>/jointset/knee/knee_angle</socket_x_coordinate>
          <socket_y_coordinate>/jointset/knee/knee_angle</socket_y_coordinate>
          <socket_z_coordinate>/jointset/knee/knee_angle</socket_z_coordinate>
          <SimmSpline name="x_location">{SPLINE}</SimmSpline>
          <Constant name="y_location"><value>-0.02</value></Constant>
          <MultiplierFunction name="z_location">
            <function><PiecewiseLinearFunction>{SPLINE}</PiecewiseLinearFunction></function><scale>1.1</scale>
          </MultiplierFunction>
        </MovingPathPoint>
      </objects></PathPointSet>
      <PathWrapSet><objects>
        <PathWrap name="w"><wrap_object>condyle</wrap_object><range>2 3</range></PathWrap>
      </objects></PathWrapSet>
    </GeometryPath></path>
    <max_isometric_force>900</max_isometric_force>
    <optimal_fiber_length>0.11</optimal_fiber_length>
    <tendon_slack_length>0.3</tendon_slack_length>
    <pennation_angle_at_optimal>0.08</pennation_angle_at_optimal>
    <max_contraction_velocity>9</max_contraction_velocity>
    <damping>0.05</damping>
  </Schutte1993Muscle_Deprecated>
</objects></ForceSet>
""",
    name="leg",
)
