"""Bad `.osim` files: each gets one error that says what is wrong, in which line, and what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from myograd.errors import DuplicateNameWarning, FileFormatError
from myograd.files.osim.read import read_osim
from osim_documents import (
    LEG_3_0,
    LEG_4_6,
    TWO_BODIES,
    TWO_JOINTS,
    TWO_POINTS,
    assert_refused,
    body,
    complaint,
    document,
    joint,
    model,
    muscle,
)

# Documents ---------------------------------------------------------------------------------------------------

ENTITIES = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
BOMB = ENTITIES + document("<credits>&b;</credits>").partition("?>")[2]
FOREIGN = '<!DOCTYPE x SYSTEM "file:///etc/passwd">' + document("").partition("?>")[2]

DOCUMENTS: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "not well-formed XML: no element found"),
    "not xml": ("time\tq\n0\t1\n", "not well-formed XML: syntax error"),
    "binary": (bytes(range(256)), "not well-formed XML"),
    "utf-16": (document("").encode("utf-16"), "UTF-16"),
    "crossed tags": (document("<gravity>0 0 0</credits>"), "mismatched tag inside <gravity>, opened in line 4"),
    "two attributes of a name": (document("").replace('name="small"', 'name="a" name="b"'), "duplicate attribute"),
    "entities": (BOMB, "document type"),
    "another file": (FOREIGN, "document type"),
    "too deep": (document("<a>" * 5000 + "</a>" * 5000), "elements deep"),
    "another root": ("<Model/>", "the root element is <Model>"),
    "no model": ('<OpenSimDocument Version="40600"/>', "does not contain a <Model>"),
    "another object": (
        '<OpenSimDocument Version="40600"><ForceSet/></OpenSimDocument>',
        "contains a <ForceSet>, not a",
    ),
    "no version": (document("").replace(' Version="40600"', ""), "not a version of OpenSim"),
    "odd version": (document("").replace("40600", "4.6"), 'Version="4.6"'),
    "too old": (document("", 20302), "older than OpenSim 3.0 (30000); open the model in OpenSim 4.x and save it first"),
    "too new": (document("", 50000), "newer than OpenSim 4.6"),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_bad_documents(tmp_path: Path, name: str):
    text, says = DOCUMENTS[name]
    assert says in str(complaint(tmp_path, text))


def test_missing_file(tmp_path: Path):
    with pytest.raises(FileFormatError, match=r"nothing\.osim: cannot be read: No such file"):
        read_osim(tmp_path / "nothing.osim")
    with pytest.raises(FileFormatError, match="cannot be read: Is a directory"):
        read_osim(tmp_path)


def test_every_truncation(tmp_path: Path):
    for end in range(0, len(LEG_4_6.rstrip()), 97):
        assert "not well-formed XML" in str(complaint(tmp_path, LEG_4_6[:end]))


# Models ------------------------------------------------------------------------------------------------------
# What is wrong, as (a document, a piece of the line to be named, what the message says).

MARKER = """<MarkerSet><objects>
<Marker name="m"><socket_parent_frame>{}</socket_parent_frame></Marker>
</objects></MarkerSet>"""
FRAME = '<frames>\n<PhysicalOffsetFrame name="f">{}</PhysicalOffsetFrame>\n</frames>'


def coordinate(content: str) -> str:
    return model(joints=joint("hinge", "/bodyset/rod", coordinates=f'<Coordinate name="q">\n{content}\n</Coordinate>'))


MODELS: dict[str, tuple[str, str, str]] = {
    # Names
    "model name": (model().replace('"small"', '"my model"'), "<Model", "must not contain spaces"),
    "body name": (model(bodies=body("a/b")), "<Body", "must not contain spaces or any of"),
    "two bodies": (model(body("rod") * 2), '<Body name="rod"', "two bodies called 'rod' (the other in line"),
    "two joints": (
        model(TWO_BODIES, joint("j", "/bodyset/rod") + joint("j", "/bodyset/bob")),
        '<PinJoint name="j"',
        "two joints called 'j'",
    ),
    "two coordinates": (
        model(TWO_BODIES, TWO_JOINTS.replace("elbow_angle", "hinge_angle")),
        '<Coordinate name="hinge_angle"',
        "two coordinates called 'hinge_angle'",
    ),
    "two muscles": (model(forces=muscle(TWO_POINTS) * 2), "<Thelen2003Muscle", "two forces called 'puller'"),
    "two frames": (
        model(joints=joint("hinge", "/bodyset/rod", more=FRAME.format("") * 2).replace("</frames><frames>", "")),
        "<PhysicalOffsetFrame",
        "two frames called 'f'",
    ),
    # Numbers
    "no mass": (model("<Body name='rod'/>"), "<Body", "Body 'rod': has no <mass>"),
    "negative mass": (model(body("rod", mass="-1")), "<mass", "the mass is -1"),
    "nan": (model(body("rod", mass="nan")), "<mass", "mass contains 'nan', which is not a finite number"),
    "infinity": (model(body("rod", mass="1e999")), "<mass", "not a finite number"),
    "not a number": (model(body("rod", mass="2kg")), "<mass", "mass contains '2kg'"),
    "underscore": (model(body("rod", mass="1_0")), "<mass", "mass contains '1_0'"),
    "no number": (model(body("rod", mass="")), "<mass", "mass needs 1 number, but has 0"),
    "element for number": (model(body("rod", mass="<kg/>")), "<mass", "a plain value, but contains <kg>"),
    "too few": (model().replace("0.1 0.2 0.25 0 0 0", "0.1 0.2"), "<inertia", "inertia needs 6 numbers, but has 2"),
    "negative inertia": (model().replace("0.1 0.2 0.25", "-0.1 0.2 0.25"), "<inertia", "is negative"),
    "gravity": (model(more="<gravity>0 -9.8</gravity>"), "<gravity", "gravity needs 3 numbers, but has 2"),
    "flag": (coordinate("<locked>maybe</locked>"), "<locked", "locked is 'maybe', not true or false"),
    "range": (coordinate("<range>1 -1</range>"), "<range", "the range goes from 1 down to -1"),
    "range of one": (coordinate("<range>1</range>"), "<range", "range needs 2 numbers"),
    "default out of range": (
        coordinate("<default_value>3</default_value>\n<range>-1 1</range>\n<clamped>true</clamped>"),
        "<default_value",
        "the default value 3 is outside the range -1 to 1",
    ),
    # References
    "no frame": (
        model(joints=joint("hinge", "/bodyset/rot")),
        "<PinJoint",
        "'/bodyset/rot', which is not a frame; did you mean '/bodyset/rod'?",
    ),
    "bare name": (model(joints=joint("hinge", "rod")), "<PinJoint", "'rod', which is not a frame"),
    "nothing plugged in": (model(joints=joint("hinge", "")), "<PinJoint", "does not say which frame it is on"),
    "joint to itself": (
        model(joints=joint("hinge", "/bodyset/rod", "/bodyset/rod")),
        "<PinJoint",
        "connects /bodyset/rod with itself",
    ),
    "joint within a body": (
        model(
            joints=joint("hinge", "/bodyset/rod", "f", more=FRAME.format("<socket_parent>/bodyset/rod</socket_parent>"))
        ),
        "<PinJoint",
        "connects /bodyset/rod with itself",
    ),
    "circle of frames": (
        model(
            joints=joint(
                "hinge",
                "/bodyset/rod",
                "f",
                more=FRAME.format(
                    '<socket_parent>../g</socket_parent></PhysicalOffsetFrame>\n<PhysicalOffsetFrame name="g">'
                    "<socket_parent>../f</socket_parent>"
                ),
            )
        ),
        '<PhysicalOffsetFrame name="g"',
        "in a circle: /jointset/hinge/f -> /jointset/hinge/g -> /jointset/hinge/f",
    ),
    "frame of an unsupported class": (
        model(
            bodies=body("rod", "<components>\n<StationDefinedFrame name='s'/>\n</components>"),
            joints=joint("hinge", "/bodyset/rod/s"),
        ),
        "<PinJoint",
        "a StationDefinedFrame is not supported",
    ),
    "marker": (
        model(more=MARKER.format("/x")),
        "<Marker ",
        "marker 'm' is on '/x', which is not a frame",
    ),
    # Components
    "model in model": (
        model(more="<components>\n<Model name='m'/>\n</components>"),
        "<Model name='m'",
        "models inside models",
    ),
    "body in a body": (
        model(bodies=body("rod", "<components>\n<Body name='b'/>\n</components>")),
        "<Body name='b'",
        "is a component of /bodyset/rod; move it to the BodySet",
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_bad_models(tmp_path: Path, name: str):
    assert_refused(tmp_path, *MODELS[name])


def test_old_model_without_joint_frame(tmp_path: Path):
    """3.x spellings are checked like those of today, with the line of the old element."""
    text = LEG_3_0.replace("<parent_body>shank", "<parent_body>shark")
    assert "'shark_offset' is on '/bodyset/shark', which is not a frame; did you mean '/bodyset/shank'?" in str(
        complaint(tmp_path, text)
    )
    text = LEG_3_0.replace("<location_in_parent>0 -0.4 0<", "<location_in_parent>0 -0.4 x<")
    error = complaint(tmp_path, text)
    assert "translation contains 'x'" in str(error)
    assert "<location_in_parent>0 -0.4 x<" in text.splitlines()[error.line - 1]


MARKERS = "<MarkerSet><objects>{}</objects></MarkerSet>"
SAME = "<Marker name='m'><socket_parent_frame>/ground</socket_parent_frame></Marker>\n"


def test_markers_that_share_a_name_are_renamed_as_in_opensim(tmp_path: Path, opensim):
    path = tmp_path / "markers.osim"
    path.write_text(model(more=MARKERS.format(SAME * 3)))
    with pytest.warns(DuplicateNameWarning, match=r"markers share a name.*'m' in line \d+ is now 'm_0'.*is now 'm_1'"):
        names = [marker.name for marker in read_osim(path).markers]
    theirs = opensim.Model(str(path))
    theirs.initSystem()
    markers = theirs.getMarkerSet()
    assert names == [markers.get(i).getName() for i in range(markers.getSize())] == ["m", "m_0", "m_1"]
