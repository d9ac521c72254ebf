"""Jumps of muscle lengths along a coordinate: found where they must be, with their size and cause, and only there."""

from __future__ import annotations

import math
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import myograd
from myograd.diagnostics import discontinuities as jumps
from myograd.model.description import ModelDescription
from osim_documents import body, model, muscle, point, read_text

RADIUS = 0.02
START = np.array([-0.05, 0.2])  # of paths, in ground; they end on the rod, 0.1 from the hinge


def pendulum(folder: Path, points: str, cylinder: str = "", joint_range: str = "-3 3") -> myograd.Model:
    """A rod on a pin at the origin, which turns about z, and one muscle from ground to it; a cylinder about the pin's axis."""
    hinge = f"""<PinJoint name="hinge">
<socket_parent_frame>/ground</socket_parent_frame><socket_child_frame>/bodyset/rod</socket_child_frame>
<coordinates><Coordinate name="angle"><range>{joint_range}</range></Coordinate></coordinates></PinJoint>"""
    surface = f"""<Ground name="ground"><WrapObjectSet><objects><WrapCylinder name="post">
<quadrant>{cylinder}</quadrant><radius>{RADIUS}</radius><length>1</length></WrapCylinder></objects></WrapObjectSet></Ground>"""
    wraps = '<PathWrap name="over"><wrap_object>post</wrap_object></PathWrap>' if cylinder else ""
    text = model(body("rod"), hinge, surface if cylinder else "", forces=muscle(points, wraps=wraps))
    description: ModelDescription = read_text(folder, text)
    return myograd.compile_model(description)


def ends(start: np.ndarray = START, between: str = "") -> str:
    return point("a", "/ground", f"{start[0]} {start[1]} 0") + between + point("b", "/bodyset/rod", "0 0.1 0")


def rod_end(angle: float) -> np.ndarray:
    """Of the point 0.1 up the rod."""
    return 0.1 * np.array([-math.sin(angle), math.cos(angle)])


def test_a_conditional_point_switches(tmp_path: Path):
    via = """<ConditionalPathPoint name="hook"><socket_parent_frame>/ground</socket_parent_frame>
<location>0.05 0.15 0</location><socket_coordinate>/jointset/hinge/angle</socket_coordinate><range>0.3 1.1</range>
</ConditionalPathPoint>"""
    on, off = myograd.length_discontinuities(pendulum(tmp_path, ends(between=via)), "angle")
    for jump, value, sign, state in ((on, 0.3 - 1e-5, 1, "on"), (off, 1.1 + 1e-5, -1, "off")):
        hook, end = np.array([0.05, 0.15]), rod_end(value)
        wrapping = math.dist(START, hook) + math.dist(hook, end) - math.dist(START, end)
        assert (jump.muscle, jump.coordinate) == ("puller", "angle")
        assert jump.value == pytest.approx(value, abs=1e-8)
        assert jump.size == pytest.approx(sign * wrapping, abs=1e-9)
        assert jump.cause == f"conditional point hook switches {state}"


def test_a_path_comes_off_a_cylinder_with_a_quadrant(tmp_path: Path):
    """While both ends are at negative x, the path must go round by positive x: over most of a turn where the rod points up.
    There its end comes to positive x, and the path is straight."""
    (jump,) = myograd.length_discontinuities(pendulum(tmp_path, ends(), "x", "-0.5 1"), "angle")
    assert jump.value == pytest.approx(0.0, abs=1e-8)
    end = rod_end(0.0)
    tangent = [math.sqrt(x @ x - RADIUS**2) for x in (START, end)]
    lean = [
        math.acos(RADIUS / math.hypot(*x)) for x in (START, end)
    ]  # from a point to its tangent points, seen from the axis
    at = [math.atan2(x[1], x[0]) for x in (START, end)]
    turn = 2 * math.pi - (at[1] + lean[1]) + (at[0] - lean[0])  # clockwise
    # The rod's end moves to negative x as the angle grows.
    assert jump.size == pytest.approx(sum(tangent) + RADIUS * turn - math.dist(START, end), abs=1e-9)
    assert jump.cause == "lands on post"


def test_a_path_goes_round_the_other_way(tmp_path: Path):
    """Both tangent points of the start are on the quadrant's side. The path then goes anticlockwise until its other tangent
    point comes to positive x as well, some way past the pose in which both ways are equally long."""
    (jump,) = myograd.length_discontinuities(pendulum(tmp_path, ends(np.array([0.03, 0.0])), "x", "1.2 2.4"), "angle")
    lean = math.acos(RADIUS / 0.1)
    assert jump.value == pytest.approx(math.pi - lean, abs=1e-8)
    assert jump.size == pytest.approx(-RADIUS * 2 * (math.pi / 2 - lean), abs=1e-9)
    assert jump.cause == "goes round post the other way"


def test_smooth_paths_have_no_jumps(tmp_path: Path):
    """Over a cylinder without quadrant the path lands, changes side where both ways are equally long (the moment arm jumps
    there, the length does not), and comes off."""
    leg = pendulum(tmp_path, ends(), "all", "2.3 4.4")
    angles = np.linspace(2.3, 4.4, 22)
    lengths = np.array([float(myograd.muscle_lengths(leg, np.array([x]))[0]) for x in angles])
    straight = np.array([math.dist(START, rod_end(x)) for x in angles])
    touches = lengths - straight > 1e-6
    arms = np.array([float(myograd.moment_arms(leg, np.array([x]))[0, 0]) for x in angles[touches]])
    assert 5 < touches.sum() < 20 and (arms > 0.019).any() and (arms < -0.019).any()
    assert myograd.length_discontinuities(leg, "angle") == []


def test_only_independent_coordinates(tmp_path: Path):
    with pytest.raises(myograd.ModelError, match="did you mean 'angle'"):
        myograd.length_discontinuities(pendulum(tmp_path, ends()), "angel")


def test_unknown_lengths_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    samples = jumps._samples

    def half_lost(*args):
        found = samples(*args)
        return eqx.tree_at(lambda s: s.length, found, jnp.where(found.value[:, None] < 0, jnp.nan, found.length))

    monkeypatch.setattr(jumps, "_samples", half_lost)
    with pytest.warns(UserWarning, match="puller: no path at rest was found at 90 of 181 poses along angle"):
        assert myograd.length_discontinuities(pendulum(tmp_path, ends()), "angle") == []
