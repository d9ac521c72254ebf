"""Reading `.osim` files: every spelling from 3.0 to 4.6 gives what OpenSim 4.6 itself makes of the file."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from myograd.files.osim.check import check_description
from myograd.files.osim.classes import JOINTS
from myograd.files.osim.joints import MOTION_TYPES
from myograd.model.description import (
    BushingForce,
    Constant,
    Function,
    GCVSpline,
    LinearFunction,
    ModelDescription,
    MultiplierFunction,
    MultivariatePolynomialFunction,
    Node,
    OffsetFrame,
    PiecewiseConstantFunction,
    PiecewiseLinearFunction,
    PointToPointSpring,
    PolynomialFunction,
    SimmSpline,
    Sine,
    StepFunction,
)
from osim_documents import (
    LEG_3_0,
    LEG_4_6,
    NOT_CONTENT,
    SPLINE,
    TWO_POINTS,
    axis,
    body,
    constraint,
    content,
    custom_joint,
    document,
    joint,
    model,
    muscle,
    point,
    read_text,
    vector,
)


def text_at(node: Node, *tags: str) -> str:
    """The text of the element that `tags` lead to."""
    for tag in tags:
        found = node.find(tag)
        assert found is not None, f"no <{tag}> in <{node.tag}>"
        node = found
    return node.text


# Old and new spellings ---------------------------------------------------------------------------------------


def test_leg_of_3_0_and_of_4_6_are_the_same(tmp_path: Path):
    old, new = read_text(tmp_path, LEG_3_0), read_text(tmp_path, LEG_4_6)
    for one in fields(old):
        if one.name not in (*NOT_CONTENT, "forces", "contacts"):  # only the old one has these: see below
            assert content(getattr(old, one.name)) == content(getattr(new, one.name)), one.name
    assert old.version == 30000
    assert [text_at(mesh, "mesh_file") for mesh in old.bodies[0].geometry] == ["thigh.vtp"]
    assert not [item for item in old.unsupported + new.unsupported if item.severity == "unknown"]


def test_leg_of_3_0_in_live_opensim(tmp_path: Path, opensim):
    """The documents of the tests are what OpenSim takes them for, down to the six digits that its upgrade keeps."""
    description = read_text(tmp_path, LEG_3_0)
    live = opensim.Model(str(tmp_path / "model.osim"))
    live.initSystem()
    assert [c.name for c in description.coordinates()] == [c.getName() for c in live.getCoordinateSet()]
    for one, other in zip(description.joints, live.getJointSet(), strict=True):
        assert (one.kind, one.name) == (other.getConcreteClassName(), other.getName())
        assert one.parent_frame == other.getParentFrame().getAbsolutePathString()
        assert one.child_frame == other.getChildFrame().getAbsolutePathString()
    hip = opensim.PhysicalOffsetFrame.safeDownCast(live.getComponent("/jointset/hip/ground_offset"))
    assert description.joints[0].frames[0].translation == (0.0, 0.912346, 0.0)
    assert vector(hip.get_translation()) == [0.0, 0.912346, 0.0]
    assert list(description.bodies[0].inertia)[:3] == vector(live.getBodySet().get(0).getInertia().getMoments())


def test_old_forces_and_contact(tmp_path: Path):
    description = read_text(tmp_path, LEG_3_0)
    (pad, elastic), (sole,) = description.forces, description.contacts
    assert isinstance(pad, BushingForce) and isinstance(elastic, PointToPointSpring)
    assert (pad.applies_force, pad.frame1, pad.frame2) == (True, "/forceset/pad/ground_offset", "/bodyset/foot")
    assert pad.frames[0].translation == (0.0, 0.1, 0.0)
    assert (elastic.frame1, elastic.frame2) == ("/ground", "/bodyset/thigh")
    assert (sole.kind, sole.frame) == ("ContactSphere", "/bodyset/foot")


def test_old_parts_are_carried_along_in_new_spelling(tmp_path: Path):
    (robot,) = (part.node for part in read_text(tmp_path, LEG_3_0).others if part.name == "robot")
    assert text_at(robot, "socket_actuators") == "/forceset/rectus"
    assert not {child.tag for child in robot.children} & {"isDisabled", "actuator_list"}


def test_muscle_properties_are_kept(tmp_path: Path):
    (rectus,) = read_text(tmp_path, LEG_3_0).muscles
    # 3.x wrote limits of the excitation that meant nothing; OpenSim drops them, too.
    assert rectus.numbers == {"damping": 0.05}
    assert rectus.properties == []
    assert text_at(rectus.path.appearance[0], "color") == ".8 .1 .1"


@pytest.mark.parametrize("kind", [kind for kind in JOINTS if kind != "CustomJoint"])
@pytest.mark.parametrize("version", [30000, 40600])
def test_every_joint(tmp_path: Path, opensim, kind: str, version: int):
    types = MOTION_TYPES[kind]
    coordinates = "".join(f'<Coordinate name="q{i}"/>' for i in range(len(types)))
    radii = "<radii_x_y_z>0.1 0.2 0.3</radii_x_y_z>" if kind == "EllipsoidJoint" else ""
    if version < 40000:
        listed = f"<CoordinateSet><objects>{coordinates}</objects></CoordinateSet>"
        inside = f'<{kind} name="j"><parent_body>ground</parent_body>{listed}{radii}</{kind}>'
        text = document(
            f'<BodySet><objects><Body name="rod"><mass>1</mass><Joint>{inside}</Joint></Body></objects></BodySet>',
            version,
        )
    else:
        text = model(joints=joint("j", "/bodyset/rod", kind=kind, coordinates=coordinates, more=radii))
    (read,) = read_text(tmp_path, text).joints
    live = opensim.Model(str(tmp_path / "model.osim"))
    live.initSystem()
    theirs = live.getJointSet().get(0)
    names = ("undefined", "rotational", "translational", "coupled")
    assert (read.kind, read.name) == (kind, "j") == (theirs.getConcreteClassName(), theirs.getName())
    assert [c.name for c in read.coordinates] == [f"q{i}" for i in range(len(types))]
    assert [c.motion_type for c in read.coordinates] == [
        names[theirs.get_coordinates(i).getMotionType()] for i in range(len(types))
    ]
    assert read.radii == ((0.1, 0.2, 0.3) if radii else (0.0, 0.0, 0.0))


def test_coordinates_of_early_4_x(tmp_path: Path):
    """4.0 while it was being made: connectors, and names of sockets that ended in `connectee_name`."""
    hinge = """<PinJoint name="hinge">
<connectors>
<Connector_PhysicalFrame_ name="parent_body"><connectee_name>../ground</connectee_name></Connector_PhysicalFrame_>
<Connector_PhysicalFrame_ name="child_body"><connectee_name>../rod</connectee_name></Connector_PhysicalFrame_>
</connectors>
<location_in_parent>1 0 0</location_in_parent><location_in_child>0 1 0</location_in_child>
<CoordinateSet><objects><Coordinate name="angle"/></objects></CoordinateSet>
</PinJoint>"""
    early = read_text(tmp_path, model(joints=hinge, version=30501))
    frames = early.joints[0].frames
    assert [(f.name, f.parent, f.translation) for f in frames] == [
        ("ground_offset", "/ground", (1.0, 0.0, 0.0)),
        ("rod_offset", "/bodyset/rod", (0.0, 1.0, 0.0)),
    ]
    marker = '<MarkerSet><objects><Marker name="m">{}</Marker></objects></MarkerSet>'
    for version, tag in (
        (30509, "connector_parent_frame_connectee_name"),
        (30516, "socket_parent_frame_connectee_name"),
    ):
        text = model(more=marker.format(f"<{tag}>/bodyset/rod</{tag}>"), version=version)
        assert read_text(tmp_path, text).markers[0].frame == "/bodyset/rod"


# Joints and functions ----------------------------------------------------------------------------------------

FUNCTIONS: dict[str, tuple[str, Function]] = {
    "constant": ("<Constant name='function'><value>0.3</value></Constant>", Constant(0.3)),
    "linear": ("<LinearFunction name='function'/>", LinearFunction((1.0, 0.0))),
    "polynomial": (
        "<PolynomialFunction name='function'><coefficients>3 2 1</coefficients></PolynomialFunction>",
        PolynomialFunction((3.0, 2.0, 1.0)),
    ),
    "spline": ("<SimmSpline><x>0 1 2</x><y>0 1 4</y></SimmSpline>", SimmSpline((0.0, 1.0, 2.0), (0.0, 1.0, 4.0))),
    "lines": (
        "<function><PiecewiseLinearFunction><x>0 1</x><y>0 2</y></PiecewiseLinearFunction></function>",
        PiecewiseLinearFunction((0.0, 1.0), (0.0, 2.0)),
    ),
    "steps": (
        "<PiecewiseConstantFunction name='function'><x>0 1</x><y>0 2</y></PiecewiseConstantFunction>",
        PiecewiseConstantFunction((0.0, 1.0), (0.0, 2.0)),
    ),
    "gcv": (
        "<GCVSpline name='function'><half_order>1</half_order><error_variance>0</error_variance><x>0 1</x><y>0 2</y>"
        "<weights>2</weights><coefficients>5 5</coefficients></GCVSpline>",
        GCVSpline(1, 0.0, (0.0, 1.0), (0.0, 2.0), (2.0, 1.0)),
    ),
    "sine": ("<Sine name='function'><omega>2</omega></Sine>", Sine(1.0, 2.0, 0.0, 0.0)),
    "step": (
        "<StepFunction name='function'><transition_start_time>0</transition_start_time></StepFunction>",
        StepFunction(0.0, 1.01, 0.0, 1.0),
    ),
    "multiplier": (
        "<MultiplierFunction name='function'><function><Constant><value>2</value></Constant></function>"
        "<scale>3</scale></MultiplierFunction>",
        MultiplierFunction(Constant(2.0), 3.0),
    ),
    "multivariate": (
        "<MultivariatePolynomialFunction name='function'><dimension>1</dimension><order>2</order>"
        "<coefficients>1 2 3</coefficients></MultivariatePolynomialFunction>",
        MultivariatePolynomialFunction((1.0, 2.0, 3.0), 1, 2),
    ),
    "none": ("", Constant(0.0)),
    "empty": ("<function/>", LinearFunction((1.0, 0.0))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function(tmp_path: Path, name: str):
    text, expected = FUNCTIONS[name]
    description = read_text(tmp_path, model(joints=custom_joint(axis(text))))
    assert description.joints[0].transform[0].function == expected
    assert not [item for item in description.unsupported if item.severity == "unknown"]


def test_custom_joint_orders_coordinates_by_its_axes(tmp_path: Path):
    transform = axis("<LinearFunction name='function'/>", coordinates="second") + axis(
        f"<SimmSpline name='function'>{SPLINE}</SimmSpline>", "translation2", "first", "0 1 0"
    )
    listed = '<Coordinate name="first"/><Coordinate name="second"><range>-Inf inf</range></Coordinate>'
    (joint_read,) = read_text(tmp_path, model(joints=custom_joint(transform, listed))).joints
    assert [(c.name, c.motion_type) for c in joint_read.coordinates] == [("second", "rotational"), ("first", "coupled")]
    assert joint_read.coordinates[0].range == (-np.inf, np.inf)
    assert [a.axis for a in joint_read.transform][3:] == [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]


def test_joint_without_coordinates_gets_those_of_opensim(tmp_path: Path):
    text = model(
        joints=joint("j", "/bodyset/rod", kind="PlanarJoint")
        .replace("<coordinates>", "<x>")
        .replace("</coordinates>", "</x>")
    )
    description = read_text(tmp_path, text)
    assert [(c.name, c.range) for c in description.coordinates()] == [(f"_coord_{i}", (-10.0, 10.0)) for i in range(3)]
    assert [(item.kind, item.severity) for item in description.unsupported] == [("x", "unknown")]


LOOSE = {
    "alone": ("ab", [("j", "/ground", "a")], ["b"]),
    "chain": ("abc", [("j", "b", "a"), ("k", "c", "b")], ["c"]),
    "most children": ("abcde", [("j", "a", "c"), ("k", "b", "d"), ("l", "b", "e")], ["b", "a"]),
    "circle": ("abc", [("j", "a", "b"), ("k", "b", "a"), ("l", "b", "c")], ["b"]),
}


@pytest.mark.parametrize("name", LOOSE)
def test_loose_bodies_get_free_joints(tmp_path: Path, name: str):
    """The bases were taken from OpenSim 4.6 for the same bodies and joints."""
    bodies, joints, bases = LOOSE[name]
    text = model(
        "".join(map(body, bodies)),
        "".join(joint(n, f"/bodyset/{child}", p if p == "/ground" else f"/bodyset/{p}") for n, p, child in joints),
    )
    added = [j for j in read_text(tmp_path, text).joints if j.kind == "FreeJoint"]
    assert [j.name for j in added] == [f"free_{base}" for base in bases]
    assert [j.child_frame for j in added] == [f"/bodyset/{base}" for base in bases]
    assert added[0].coordinates[5].name == f"free_{bases[0]}_coord_5"
    assert [c.motion_type for c in added[0].coordinates] == ["rotational"] * 3 + ["translational"] * 3


# Frames, components and defaults -----------------------------------------------------------------------------


def offset(name: str, parent: str, more: str = "") -> str:
    return f'<PhysicalOffsetFrame name="{name}"><socket_parent>{parent}</socket_parent>{more}</PhysicalOffsetFrame>\n'


def test_frames_wherever_they_are(tmp_path: Path):
    tip = f"<components>{offset('tip', '..')}</components>"
    nested = f"<components>{offset('knob', '..', tip)}</components>"
    text = model(
        bodies=body("rod", nested),
        joints=joint("hinge", "/bodyset/rod/knob/tip", "base", more=f"<frames>{offset('base', '/wall')}</frames>"),
        more=f"""<components>{offset("wall", "../ground", "<translation>0 0 1</translation>")}</components>
<ComponentSet><objects>{offset("shelf", "../../wall")}</objects></ComponentSet>
<MarkerSet><objects><Marker name="m"><socket_parent_frame>../../componentset/shelf</socket_parent_frame></Marker>
</objects></MarkerSet>""",
    )
    description = read_text(tmp_path, text)
    assert {p: f.parent for p, f in description.frames().items() if isinstance(f, OffsetFrame)} == {
        "/bodyset/rod/knob": "/bodyset/rod",
        "/bodyset/rod/knob/tip": "/bodyset/rod/knob",
        "/jointset/hinge/base": "/componentset/wall",
        "/componentset/wall": "/ground",
        "/componentset/shelf": "/componentset/wall",
    }
    assert description.markers[0].frame == "/componentset/shelf"
    assert description.joints[0].child_frame == "/bodyset/rod/knob/tip"


def test_bodies_joints_and_muscles_among_the_components(tmp_path: Path):
    """OpenSim finds them there; the relative paths are those of a component one level up."""
    hinge = joint("hinge", "../rod", "../ground")
    pull = muscle(point("a", "../../../ground") + point("b", "/rod"))
    sockets = "<socket_body1>/rod</socket_body1><socket_body2>../ground</socket_body2>"
    spring = f'<PointToPointSpring name="s">{sockets}</PointToPointSpring>'
    text = document(f"<components>{body('rod')}{hinge}{pull}{spring}</components>")
    description = read_text(tmp_path, text)
    assert [b.name for b in description.bodies] == ["rod"]
    assert description.joints[0].child_frame == "/bodyset/rod"
    assert [p.frame for p in description.muscles[0].path.points] == ["/ground", "/bodyset/rod"]
    (sprung,) = description.forces
    assert isinstance(sprung, PointToPointSpring)
    assert (sprung.frame1, sprung.frame2) == ("/bodyset/rod", "/ground")


def test_defaults_fill_what_is_missing(tmp_path: Path):
    text = model(
        bodies=body("rod", "<WrapObjectSet><objects><WrapSphere name='w'/></objects></WrapObjectSet>"),
        joints=joint("hinge", "/bodyset/rod", coordinates='<Coordinate name="q"><locked>false</locked></Coordinate>'),
        forces=muscle(TWO_POINTS, "<tendon_slack_length>0.5</tendon_slack_length>"),
        more="""<defaults>
<Coordinate name="default"><range>-1 1</range><locked>true</locked></Coordinate>
<Thelen2003Muscle name="default"><isDisabled>true</isDisabled><tendon_slack_length>0.7</tendon_slack_length>
<max_isometric_force>123</max_isometric_force><KshapeActive>0.5</KshapeActive><GeometryPath/></Thelen2003Muscle>
<WrapSphere name="default"><radius>0.7</radius></WrapSphere>
<ControlLinear name="default"/>
</defaults>""",
        version=30508,
    )
    description = read_text(tmp_path, text)
    (coordinate,), (pull,) = description.coordinates(), description.muscles
    assert (coordinate.range, coordinate.locked) == ((-1.0, 1.0), False)
    assert (pull.max_isometric_force, pull.tendon_slack_length, pull.applies_force) == (123.0, 0.5, False)
    assert len(pull.path.points) == 2
    assert list(pull.numbers) == ["KshapeActive"]
    assert description.bodies[0].wraps[0].radius == 0.7
    assert "ControlLinear" in {item.kind for item in description.unsupported}


# What XML parsers refuse and OpenSim takes -------------------------------------------------------------------


def test_forgiving_where_opensim_is(tmp_path: Path):
    contact = """<HuntCrossleyForce name="floor"><HuntCrossleyForce::ContactParametersSet name="contact_parameters">
<objects/></HuntCrossleyForce::ContactParametersSet></HuntCrossleyForce>"""
    text = model(more="<credits>Delp & Loan, J. Müller</credits><!-- a -- comment -->", forces=contact)
    latin = text.encode("cp1252")
    description = read_text(tmp_path, b"\xef\xbb\xbf" + text.encode())
    assert description.credits == "Delp & Loan, J. Müller"
    assert content(read_text(tmp_path, latin)) == content(description)
    assert [(type(force).__name__, force.name) for force in description.forces] == [("HuntCrossleyForce", "floor")]
    assert description.forces[0].line == latin[: latin.index(b"<HuntCrossleyForce ")].count(b"\n") + 1


def test_lines_count_comments(tmp_path: Path):
    text = model(bodies="<!-- one\ntwo\nthree -->\n" + body("rod"))
    line = text[: text.index("<Body ")].count("\n") + 1
    assert read_text(tmp_path, text).bodies[0].line == line


# Unsupported ------------------------------------------------------------------------------------------------------


def unsupported(description: ModelDescription) -> set[tuple[str, str, str]]:
    return {(item.severity, item.kind, item.name) for item in check_description(description)}


def test_what_is_not_used_is_reported(tmp_path: Path):
    forces = """<ClutchedPathSpring name="band"/><PointActuator name="motor"/><ThirdPartyForce name="foreign"/>
<FunctionBasedBushingForce name="off"><appliesForce>false</appliesForce></FunctionBasedBushingForce>"""
    more = constraint("PointOnLineConstraint", "") + (
        "<ProbeSet><objects><SystemEnergyProbe name='energy'/></objects></ProbeSet>"
        "<ComponentSet><objects><IMU name='imu'/></objects></ComponentSet><fish>7</fish>"
        "<ModelVisualPreferences name='looks'/>"
    )
    mesh = "<attached_geometry><Mesh name='bone'/></attached_geometry><color>1 1 1</color><mass>7</mass>"
    description = read_text(tmp_path, model(bodies=body("rod", mesh), forces=forces, more=more))
    assert unsupported(description) == {
        ("motion", "PointOnLineConstraint", "held"),
        ("force", "ClutchedPathSpring", "band"),
        ("force", "ThirdPartyForce", "foreign"),
        ("control", "PointActuator", "motor"),
        ("control", "FunctionBasedBushingForce", "off"),
        ("control", "SystemEnergyProbe", "energy"),
        ("control", "IMU", "imu"),
        ("unknown", "fish", "small"),
        ("unknown", "color", "rod"),
        ("unknown", "mass", "rod"),
        ("appearance", "Mesh", "bone"),
        ("appearance", "ModelVisualPreferences", "looks"),
    }
    assert description.bodies[0].mass == 2.0
    assert {(part.group, part.name) for part in description.others} == {
        ("ConstraintSet", "held"),
        ("ForceSet", "band"),
        ("ForceSet", "foreign"),
        ("ForceSet", "motor"),
        ("ForceSet", "off"),
        ("ProbeSet", "energy"),
        ("ComponentSet", "imu"),
        ("Model", "looks"),
    }


def test_muscle_with_another_kind_of_path(tmp_path: Path):
    forces = """<DeGrooteFregly2016Muscle name="fitted">
<FunctionBasedPath name="path"><length_function/></FunctionBasedPath>
<active_force_width_scale>1.5</active_force_width_scale><wobble>3</wobble></DeGrooteFregly2016Muscle>"""
    description = read_text(tmp_path, model(forces=forces))
    (fitted,) = description.muscles
    assert fitted.path.points == []
    assert [node.tag for node in fitted.properties] == ["FunctionBasedPath"]
    assert fitted.numbers == {"active_force_width_scale": 1.5}
    assert unsupported(description) == {
        ("force", "FunctionBasedPath", "fitted"),
        ("unknown", "wobble", "fitted"),
    }


def test_repeated_path_points_are_renamed_as_in_opensim(tmp_path: Path):
    points = point("p", "/ground") + point("p", "/bodyset/rod") + point("p", "/bodyset/rod", "0 0 0")
    (pull,) = read_text(tmp_path, model(forces=muscle(points))).muscles
    assert [p.name for p in pull.path.points] == ["p", "p_0", "p_1"]


def test_nameless_elements_get_the_names_of_opensim(tmp_path: Path):
    bodies = (body("x") * 2).replace(' name="x"', "")
    joints = joint("a", "/bodyset/body") + joint("b", "/bodyset/body_0")
    assert [b.name for b in read_text(tmp_path, model(bodies, joints)).bodies] == ["body", "body_0"]
