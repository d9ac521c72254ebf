"""Written models: OpenSim 4.6 loads them without a word and finds in them what was described."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from bench_models import BENCHES, FOLDER
from live_opensim import coordinates, numbers, warnings_of
from myograd.errors import ModelError, MyogradError
from myograd.files.osim.read import read_osim
from myograd.files.osim.write import model_node, osim_text, write_osim
from myograd.model.description import (
    Body,
    Constant,
    Coordinate,
    Function,
    Joint,
    ModelDescription,
    MovingPathPoint,
    Muscle,
    Node,
    Part,
    PathPoint,
    PathWrap,
    PiecewiseConstantFunction,
    PointConstraint,
    SimmSpline,
    WrapObject,
)
from myograd.models import model_path
from shipped.build import DESCRIBE
from shipped.making import millard


def slider(**more) -> ModelDescription:
    """The smallest model with one of everything that the error tests break."""
    description = ModelDescription(
        name="slider",
        bodies=[Body("block", 1.0, inertia=(0.1, 0.1, 0.1, 0.0, 0.0, 0.0))],
        joints=[Joint("SliderJoint", "rail", "/ground", "/bodyset/block", [Coordinate("shift", range=(-1.0, 1.0))])],
        muscles=[
            millard(
                "puller",
                [PathPoint("a", "/ground", (0.0, 0.0, 0.0)), PathPoint("b", "/bodyset/block", (0.3, 0.0, 0.0))],
                force=100.0,
                fiber=0.1,
                tendon=0.2,
            )
        ],
    )
    return replace(description, **more)


# What OpenSim finds ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BENCHES)
def test_benches_are_what_their_script_writes(name: str):
    assert (FOLDER / f"{name}.osim").read_text(encoding="utf-8") == osim_text(BENCHES[name]())


@pytest.mark.parametrize("name", BENCHES)
def test_opensim_loads_benches_without_a_warning(opensim, name: str):
    with warnings_of(opensim) as said:
        model = opensim.Model(str(FOLDER / f"{name}.osim"))
        state = model.initSystem()
    assert said() == ""
    model.realizeAcceleration(state)
    assert np.isfinite(state.getUDot().to_numpy()).all()


def test_warnings_are_noticed(opensim, tmp_path: Path):
    """Without this, the tests above could not fail: OpenSim misses a mesh and says so."""
    description = slider()
    mesh = [Node("socket_frame", text=".."), Node("mesh_file", text="nowhere.vtp")]
    description.bodies[0].geometry = [Node("Mesh", {"name": "bone"}, children=mesh)]
    write_osim(description, tmp_path / "slider.osim")
    with warnings_of(opensim) as said:
        opensim.Model(str(tmp_path / "slider.osim")).initSystem()
    assert "nowhere.vtp" in said()


def text_of(vector) -> list[float]:
    return [vector.get(i) for i in range(vector.size())]


def value_of(text: str | None) -> list[float | str]:
    """The words of a property, as numbers where they are numbers."""

    def word(text: str) -> float | str:
        try:
            return float(text)
        except ValueError:
            return text

    return [word(part) for part in (text or "").split()]


def assert_contains(printed: ElementTree.Element, written: Node, path: str = "") -> None:
    """Every element of `written` is in `printed`, in the same order among its likes, with the same text."""
    seen: Counter[tuple[str, str | None]] = Counter()
    for child in written.children:
        key = (child.tag, child.attributes.get("name"))
        alike = [e for e in printed.findall(child.tag) if key[1] in (None, e.get("name"))]
        here = f"{path}/{child.tag}[{key[1]}]"
        assert len(alike) > seen[key], here
        if child.children:
            assert_contains(alike[seen[key]], child, here)
        else:
            assert value_of(alike[seen[key]].text) == value_of(child.text), here
        seen[key] += 1


@pytest.mark.parametrize("name", [*BENCHES, *DESCRIBE])
def test_opensim_prints_back_all_that_was_written(opensim, name: str, tmp_path: Path):
    """OpenSim skips elements it does not know without a word; what it prints is what it has understood."""
    model = opensim.Model(str(FOLDER / f"{name}.osim" if name in BENCHES else model_path(name)))
    opensim.OpenSimObject.setSerializeAllDefaults(True)
    try:
        model.printToXML(str(tmp_path / "printed.osim"))
    finally:
        opensim.OpenSimObject.setSerializeAllDefaults(False)
    printed = ElementTree.parse(tmp_path / "printed.osim").getroot()
    assert_contains(printed[0], model_node((BENCHES | DESCRIBE)[name]()))


@pytest.mark.parametrize("name", [*BENCHES, *DESCRIBE])
def test_motion_types_are_what_opensim_says(opensim, name: str):
    model = opensim.Model(str(FOLDER / f"{name}.osim" if name in BENCHES else model_path(name)))
    kinds = ("undefined", "rotational", "translational", "coupled")
    found = {c.getName(): kinds[c.getMotionType()] for c in coordinates(model)}
    assert found == {c.name: c.motion_type for c in (BENCHES | DESCRIBE)[name]().coordinates()}


def test_infinite_ranges_and_odd_floats_survive(opensim, tmp_path: Path):
    unbounded = Coordinate("shift", 0.1 + 0.2, range=(-float("inf"), float("inf")))
    description = slider(gravity=(1e-300, -1 / 3, 5e22))
    description.joints[0].coordinates = [unbounded]
    write_osim(description, tmp_path / "slider.osim")
    model = opensim.Model(str(tmp_path / "slider.osim"))
    coordinate = model.getCoordinateSet().get(0)
    assert coordinate.get_default_value() == 0.1 + 0.2
    assert (coordinate.getRangeMin(), coordinate.getRangeMax()) == unbounded.range
    assert text_of(model.get_gravity()) == [1e-300, -1 / 3, 5e22]


@pytest.mark.parametrize("function", [PiecewiseConstantFunction((0.0, 1.0), (0.2, 0.3)), Constant(0.3)])
def test_prescribed_functions(opensim, tmp_path: Path, function: Function):
    """Also the one kind that no joint can use, as it has no derivative."""
    description = slider()
    description.joints[0].coordinates = [Coordinate("shift", prescribed_function=function)]
    write_osim(description, tmp_path / "slider.osim")
    model = opensim.Model(str(tmp_path / "slider.osim"))
    found = model.getCoordinateSet().get(0).get_prescribed_function()
    assert found.getConcreteClassName() == type(function).__name__
    assert found.calcValue(opensim.Vector(1, 1.5)) == 0.3


def test_moving_point_with_unnamed_constants(opensim, tmp_path: Path):
    """OpenSim wants one coordinate for all three functions; constants get the one that is named."""
    description = slider()
    spline = SimmSpline((-1.0, 0.0, 1.0), (0.1, 0.2, 0.4))
    point = MovingPathPoint("m", "/bodyset/block", (spline, Constant(0.05), Constant(0.0)), ("shift", "", ""))
    description.muscles[0].path.points.append(point)
    write_osim(description, tmp_path / "slider.osim")
    model = opensim.Model(str(tmp_path / "slider.osim"))
    state = model.initSystem()
    model.getCoordinateSet().get(0).setValue(state, 1.0)
    location = model.getMuscles().get(0).getGeometryPath().getPathPointSet().get(2).getLocation(state)
    assert text_of(location) == pytest.approx([0.4, 0.05, 0.0])


# Round trips -------------------------------------------------------------------------------------------------


def comparable(it):
    """A description without what depends on the file it was read from, its muscles' properties in some fixed order."""
    if isinstance(it, (list, tuple)):
        return [comparable(element) for element in it]
    if not is_dataclass(it):
        return it
    values = {field.name: comparable(getattr(it, field.name)) for field in fields(it)}
    for name in ("line", "source", "version", "unsupported"):
        values.pop(name, None)
    if isinstance(it, Muscle):
        values["properties"].sort(key=str)
    return (type(it).__name__, values)


@pytest.mark.parametrize("name", [*BENCHES, *DESCRIBE])
def test_reading_gives_back_what_was_written(name: str):
    path = FOLDER / f"{name}.osim" if name in BENCHES else model_path(name)
    assert comparable(read_osim(path)) == comparable((BENCHES | DESCRIBE)[name]())


def test_round_trip_of_public_models(opensim, pack_file: Path, tmp_path: Path):
    """Read, written and read again, a model is the same; OpenSim computes the same from both files, to the last bit."""
    written = tmp_path / "written.osim"
    description = read_osim(pack_file)
    write_osim(description, written)
    again = read_osim(written)
    assert comparable(again) == comparable(description)

    before, after = (Counter(replace(item, line=0) for item in d.unsupported) for d in (description, again))
    assert after <= before
    lost = {(item.kind, item.name) for item in before - after}  # drawn axes, and defaults that no element uses
    assert all(kind == "FrameGeometry" or name == "default" for kind, name in lost)

    expected, found = numbers(opensim, pack_file, poses=2), numbers(opensim, written, poses=2)
    assert expected.keys() == found.keys()
    for key, value in expected.items():
        np.testing.assert_array_equal(found[key], value, err_msg=key)  # NaN, where bodies have no mass, equals NaN


def warnings_about(opensim, path: Path) -> set[str]:
    with warnings_of(opensim) as said:
        opensim.Model(str(path)).initSystem()
        return set(said().splitlines())


def test_opensim_has_nothing_new_to_warn_of(opensim, pack_file: Path, tmp_path: Path):
    """It misses the meshes of most models; that it says of both files, and nothing else of the written one."""
    write_osim(read_osim(pack_file), tmp_path / "written.osim")
    assert warnings_about(opensim, tmp_path / "written.osim") <= warnings_about(opensim, pack_file)


# What is carried along ---------------------------------------------------------------------------------------


def force(name: str, line: int) -> Part:
    properties = [Node("coordinate", text="shift"), Node("optimal_force", text="7.5")]
    node = Node("CoordinateActuator", {"name": name}, children=properties)
    return Part("ForceSet", "CoordinateActuator", name, node, line)


def test_forces_keep_their_place_between_the_muscles(opensim, tmp_path: Path):
    description = slider()
    first, second = deepcopy(description.muscles[0]), description.muscles[0]
    first.name, first.line, second.line = "earlier", 20, 40
    description.muscles = [first, second]
    description.others = [force("before", 10), force("between", 30), force("after", 50), force("new", 0)]
    write_osim(description, tmp_path / "slider.osim")
    model = opensim.Model(str(tmp_path / "slider.osim"))
    found = [model.getForceSet().get(i).getName() for i in range(model.getForceSet().getSize())]
    assert found == ["before", "earlier", "between", "puller", "after", "new"]


def test_parts_go_back_to_where_they_were(opensim, tmp_path: Path):
    owners = ("/bodyset/block", "/jointset/rail", "/constraintset/lock")
    properties = [Node("socket_parent_frame", text="/bodyset/block"), Node("location", text="1 2 3")]
    spots = [Part(owner, "Station", "spot", Node("Station", {"name": "spot"}, "", properties)) for owner in owners]
    group = Node("ObjectGroup", {"name": "all"}, children=[Node("members", text="puller")])
    parts = [
        Part("Model", "assembly_accuracy", "", Node("assembly_accuracy", text="1e-07")),
        Part("ForceSet/groups", "ObjectGroup", "all", group),
        *spots,
    ]
    lock = PointConstraint("lock", "/ground", "/bodyset/block", enforced=False)
    write_osim(slider(others=parts, constraints=[lock]), tmp_path / "slider.osim")
    model = opensim.Model(str(tmp_path / "slider.osim"))
    model.finalizeConnections()
    assert model.get_assembly_accuracy() == 1e-7
    assert model.getForceSet().getNumGroups() == 1
    for owner in owners:
        spot = opensim.Station.safeDownCast(model.getComponent(f"{owner}/spot"))
        assert text_of(spot.get_location()) == [1.0, 2.0, 3.0]
    again = read_osim(tmp_path / "slider.osim").others
    assert sorted(comparable(again), key=str) == sorted(comparable(parts), key=str)


def test_text_is_escaped(opensim, tmp_path: Path):
    words = 'a < b & "c" > d, é'
    description = slider(name='x"<&>', credits=words)
    write_osim(description, tmp_path / "slider.osim")
    model = opensim.Model(str(tmp_path / "slider.osim"))
    assert (model.getName(), model.getCredits()) == (description.name, words)


def test_tags_are_written_as_they_were_read():
    """OpenSim's own class names hold colons, which XML tools refuse."""
    node = Node("HuntCrossleyForce::ContactParametersSet", {"name": "contact_parameters"}, "", [Node("objects")])
    contact = Part("ForceSet", "HuntCrossleyForce", "h", Node("HuntCrossleyForce", {"name": "h"}, "", [node]))
    text = osim_text(slider(others=[contact]))
    assert '<HuntCrossleyForce::ContactParametersSet name="contact_parameters">' in text


# What is refused ---------------------------------------------------------------------------------------------


def broken(**changes) -> ModelDescription:
    """The slider with attributes replaced: `broken(**{"muscles.0.path.points.0.frame": "/nowhere"})`."""
    description = slider()
    for where, value in changes.items():
        *steps, last = where.split(".")
        target = description
        for step in steps:
            target = target[int(step)] if isinstance(target, list) else getattr(target, step)
        setattr(target, last, value)
    return description


MOVING = MovingPathPoint("m", "/ground", (Constant(0.0), Constant(0.0), Constant(0.0)), ("shift", "other", "shift"))
UNNAMED = MovingPathPoint(
    "m", "/ground", (SimmSpline((0, 1, 2), (0, 1, 2)), Constant(0.0), Constant(0.0)), ("", "", "")
)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"joints.0.child_frame": "/bodyset/blok"},
            r"Joint 'rail': .*'/bodyset/blok'; did you mean '/bodyset/block'\?",
        ),
        ({"joints.0.kind": "SlideJoint"}, r"Joint 'rail': .*'SlideJoint'; did you mean 'SliderJoint'\?"),
        ({"joints.0.kind": "CustomJoint"}, "Joint 'rail': a CustomJoint has six axes .*, this one has 0"),
        ({"bodies.0.mass": float("nan")}, "Body 'block': mass: a number is NaN"),
        ({"muscles.0.path.points.0.frame": "/nowhere"}, "Muscle 'puller': there is no frame '/nowhere'"),
        (
            {"muscles.0.path.points": [MOVING]},
            r"Muscle 'puller': .*'m' depends on several coordinates \(other, shift\)",
        ),
        ({"muscles.0.path.points": [UNNAMED]}, "Muscle 'puller': .*'m' has a function without coordinate"),
        (
            {"muscles.0.path.wraps": [PathWrap("/ground/drum")]},
            "Muscle 'puller': there is no wrap object '/ground/drum'",
        ),
        ({"muscles.0.name": "pul\x07ler"}, "contains a control character"),
        (
            {"others": [Part("ForcSet", "Ligament", "l", Node("Ligament"))]},
            "'l' belongs to 'ForcSet'.*did you mean 'ForceSet'",
        ),
        (
            {"joints": [*slider().joints, *slider().joints]},
            "/jointset/rail/shift and joint 'rail' share a coordinate's name",
        ),
        ({"bodies": [*slider().bodies, *slider().bodies]}, "Body 'block': 2 have this name"),
    ],
)
def test_what_opensim_would_not_load_is_refused(changes: dict, message: str):
    with pytest.raises(ModelError, match=message):
        osim_text(broken(**changes))


def test_a_surface_hidden_by_another_of_its_name_is_refused():
    description = slider()
    drum = WrapObject("WrapSphere", "drum", radius=0.02)
    description.ground.wraps, description.bodies[0].wraps = [drum], [drum]
    description.muscles[0].path.wraps = [PathWrap("/bodyset/block/drum")]
    with pytest.raises(ModelError, match="'/bodyset/block/drum' is hidden by '/ground/drum'"):
        model_node(description)
    description.muscles[0].path.wraps = [PathWrap("/ground/drum")]
    model_node(description)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path):
    file = tmp_path / "slider.osim"
    write_osim(slider(), file)
    before = file.read_bytes()
    with pytest.raises(ModelError):
        write_osim(broken(**{"bodies.0.mass": float("nan")}), file)
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["slider.osim"]
    with pytest.raises(MyogradError, match="cannot be written"):
        write_osim(slider(), tmp_path / "missing" / "slider.osim")
