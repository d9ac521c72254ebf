"""Reading the public models of the pack: what OpenSim 4.6 finds in each file, and the same in every version of it."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from myograd.files.osim.check import check_description
from myograd.files.osim.read import read_osim
from myograd.model.description import SEVERITIES, MovingPathPoint, OffsetFrame
from myograd.model.description.muscle_properties import default
from osim_documents import NOT_CONTENT, content, vector


def test_pack_names_and_values(pack_file: Path):
    """Names, in order, and values as in the arrays that OpenSim computed."""
    description = read_osim(pack_file)
    reference = np.load(pack_file.parents[1] / "reference" / f"{pack_file.stem.removesuffix('_v46')}.npz")
    coordinates, muscles = description.coordinates(), description.muscles
    assert [b.name for b in description.bodies] == list(reference["body_names"])
    assert [c.name for c in coordinates] == list(reference["coord_names"])
    assert [m.name for m in description.markers] == list(reference["marker_names"])
    assert [m.name for m in muscles] == list(reference["muscle_names"])
    assert [c.name for c in description.constraints] == list(reference["constraint_names"])
    assert [c.locked for c in coordinates] == list(reference["coord_locked"])
    assert [c.prescribed for c in coordinates] == list(reference["coord_prescribed"])
    assert [c.clamped for c in coordinates] == list(reference["coord_clamped"])
    kinds = ("undefined", "rotational", "translational", "coupled")
    assert [c.motion_type for c in coordinates] == [kinds[i] for i in reference["coord_motion_type"]]
    np.testing.assert_allclose([c.range for c in coordinates], reference["coord_range"], rtol=1e-15)
    np.testing.assert_allclose([c.default_value for c in coordinates], reference["coord_default"], rtol=1e-15)
    np.testing.assert_allclose(sum(b.mass for b in description.bodies), reference["mass"], rtol=1e-14)
    read = [
        (
            m.max_isometric_force,
            m.optimal_fiber_length,
            m.tendon_slack_length,
            m.pennation_angle,
            m.max_contraction_velocity,
        )
        for m in muscles
    ]
    np.testing.assert_allclose(np.reshape(read, (-1, 5)), reference["muscle_params"][:, :5], rtol=1e-15)


def test_pack_original_and_saved_by_opensim_agree(pack_model: Path):
    again = pack_model.with_stem(f"{pack_model.stem}_v46")
    if not again.exists():
        pytest.skip(f"the oracle pack has no {again.name}")
    original, saved = read_osim(pack_model), read_osim(again)
    for one, other in zip(original.muscles, saved.muscles, strict=True):
        for name in other.numbers.keys() - one.numbers.keys():  # OpenSim states what a file leaves to the class
            assert other.numbers.pop(name) == default(other.kind, name), name
    for one, other in zip(fields(original), fields(saved), strict=True):
        if one.name not in NOT_CONTENT:
            assert content(getattr(original, one.name)) == content(getattr(saved, other.name)), one.name
    kept = [[(part.group, part.kind, part.name) for part in description.others] for description in (original, saved)]
    assert sorted(kept[0]) == sorted(kept[1])


def test_pack_unsupported_is_what_is_not_used(pack_file: Path):
    description = read_osim(pack_file)
    unsupported = check_description(description)
    order = [(SEVERITIES.index(item.severity), item.line) for item in unsupported]
    assert order == sorted(order)
    assert not [item for item in unsupported if item.severity in ("motion", "unknown")]
    assert all(item.line > 0 and item.reason for item in unsupported)
    listed = [(item.kind, item.name) for item in unsupported]
    for m in description.muscles:
        assert (m.kind, m.name) not in listed
    for part in description.others:
        assert (part.kind, part.name) in listed


def test_pack_same_as_live_opensim(pack_model: Path, opensim):
    """Mass properties, frames and path points, as OpenSim has them after loading the same file."""
    description = read_osim(pack_model)
    live = opensim.Model(str(pack_model))
    state = live.initSystem()
    for one, other in zip(description.bodies, live.getBodySet(), strict=True):
        inertia = vector(other.getInertia().getMoments()) + vector(other.getInertia().getProducts())
        assert (one.mass, list(one.mass_center)) == (other.getMass(), vector(other.getMassCenter()))
        assert list(one.inertia) == inertia
    found = {}
    for component in live.getComponentsList():
        frame = opensim.PhysicalOffsetFrame.safeDownCast(component)
        if frame:
            place = [*vector(frame.get_translation()), *vector(frame.get_orientation())]
            found[frame.getAbsolutePathString()] = (frame.getParentFrame().getAbsolutePathString(), place)
    frames = {path: frame for path, frame in description.frames().items() if isinstance(frame, OffsetFrame)}
    assert {path: (f.parent, [*f.translation, *f.orientation]) for path, f in frames.items()} == found
    for one, other in zip(description.joints, live.getJointSet(), strict=True):
        assert (one.kind, one.name) == (other.getConcreteClassName(), other.getName())
        assert one.parent_frame == other.getParentFrame().getAbsolutePathString()
        assert one.child_frame == other.getChildFrame().getAbsolutePathString()
    for one, other in zip(description.muscles, live.getMuscles(), strict=True):
        path = other.getGeometryPath()
        points = [path.getPathPointSet().get(i) for i in range(path.getPathPointSet().getSize())]
        for mine, theirs in zip(one.path.points, points, strict=True):
            assert (type(mine).__name__, mine.name) == (theirs.getConcreteClassName(), theirs.getName())
            assert mine.frame == theirs.getParentFrame().getAbsolutePathString()
            if not isinstance(mine, MovingPathPoint):
                assert list(mine.location) == vector(theirs.getLocation(state))
        wraps = [path.getWrapSet().get(i) for i in range(path.getWrapSet().getSize())]
        for mine, theirs in zip(one.path.wraps, wraps, strict=True):
            surface = theirs.getWrapObject().getAbsolutePathString()
            assert mine.wrap_object == surface.replace("/wrapobjectset", "")
