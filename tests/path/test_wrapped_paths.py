"""Paths over surfaces: what is touched, lengths, virtual work, derivatives, polylines; against OpenSim, live and in the pack."""

from __future__ import annotations

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import myograd as mg
from computed import compiled, loaded
from myograd.dynamics.kinematics import speed_to_rate
from myograd.geometry.spatial import cross_matrix, matmul
from myograd.model.description import PathWrap, WrapObject
from oracle_pack import FILES, NO_PACK
from wrapped_pack import BENCH, WRAPPED, Found, compared, found, polylines


@pytest.fixture(params=[BENCH, *WRAPPED], ids=lambda path: path.stem, scope="module")
def wrapped(request: pytest.FixtureRequest) -> Found:
    """The test bench, and every model of the pack with wrapping surfaces, at many poses."""
    return found(request.param)


# Virtual work and derivatives --------------------------------------------------------------------------------


def test_every_path_is_found(wrapped: Found):
    assert np.isfinite(wrapped.ours["length"]).all()
    assert np.isfinite(wrapped.ours["gradient"]).all()
    assert wrapped.ours["order"].engaged.any()


def test_arms_obey_virtual_work(wrapped: Found, measured):
    """Central differences of our own length along the motion of each independent coordinate: 1e-7 m."""
    model, q, ours, lengths = wrapped
    h = 1e-5
    along = ours["coupling"]  # [poses, coordinates, free]
    steps = np.array([-2, -1, 1, 2])[:, None, None, None] * h * np.moveaxis(along, 2, 1)
    moved = (q[:, None, :] + steps).reshape(-1, q.shape[1])
    L = np.asarray(lengths(model, moved)).reshape(4, len(q), along.shape[2], -1)
    quotient = np.moveaxis((L[0] - 8 * L[1] + 8 * L[2] - L[3]) / (12 * h), 1, 2)
    N = np.array(jax.vmap(lambda q: speed_to_rate(model, q))(q))
    speeds = np.linalg.solve(N, along)
    off = np.abs(ours["gradient"] @ speeds - quotient)
    # Where a path jumps within the step there is no derivative; everywhere else it is exact.
    jumps = (np.abs(L[3] - L[0]) > 1e-3).swapaxes(1, 2)
    assert jumps.mean() < 1e-3
    measured("virtual work", off[~jumps].max(), "m")
    assert off[~jumps].max() < 1e-7


def test_arms_are_derivatives_of_lengths(wrapped: Found, measured):
    """By automatic differentiation: 1e-9 m, and speeds likewise."""
    model, q, ours, _ = wrapped
    u = np.random.default_rng(2).normal(size=q.shape)
    speeds = compiled(mg.muscle_speeds)(model, q, u)
    expected = np.einsum("nmc,nc->nm", ours["gradient"], u)
    np.testing.assert_allclose(expected, speeds, rtol=0, atol=1e-9)
    measured("first variation", np.abs(expected - speeds).max(), "m/s")


def test_no_history(wrapped: Found):
    """Other neighbours in the batch, another order, one pose alone: the same lengths."""
    model, q, ours, lengths = wrapped
    np.testing.assert_allclose(np.asarray(lengths(model, q[::-1]))[::-1], ours["length"], rtol=0, atol=1e-12)
    some = np.array([7, 3, 7, 11])
    np.testing.assert_allclose(np.asarray(lengths(model, q[some])), ours["length"][some], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "path",
    [BENCH, *(pytest.param(path, marks=[pytest.mark.slow] if path.stem == "MoBL_ARMS" else []) for path in WRAPPED)],
    ids=lambda path: path.stem,
)
def test_second_derivatives_are_finite_and_right(path: Path):
    """Derivatives of the arms along a random motion, against differences of the arms."""
    model, q, _, _ = found(path)
    u = np.random.default_rng(3).normal(size=q.shape)

    def arms(model, q):
        return mg.muscle_gradients(model, q)

    second = np.asarray(compiled(lambda model, q, u: jax.jvp(lambda q: arms(model, q), (q,), (u,))[1])(model, q, u))
    assert np.isfinite(second).all()
    run, h = compiled(arms, 1), 1e-6
    ahead, behind = (np.asarray(run(model, q + k * h * u)) for k in (1, -1))
    quotient = (ahead - behind) / (2 * h)
    steady = np.abs(ahead - behind) < 1e-4  # not across a touch or a jump
    assert steady.mean() > 0.99
    np.testing.assert_allclose(second[steady], quotient[steady], rtol=1e-4, atol=1e-5)


def test_gradients_in_both_modes_of_everything_that_shapes_a_path():
    """With coordinates, points, and places, turns and sizes of surfaces."""
    model, q, _, _ = found(BENCH)
    q = q[5]

    def total(x):
        points, surfaces = model.path, model.surfaces
        W = cross_matrix(x["turn"])
        turned = surfaces.rotation + matmul(surfaces.rotation, W + matmul(W, W) / 2)
        surfaces = type(surfaces)(turned, surfaces.translation + x["shift"], surfaces.sizes * (1 + x["size"]))
        points = with_values(points, location=points.location + x["point"])
        changed = with_values(model, path=points, surfaces=surfaces)
        return jnp.sin(jnp.arange(1.0, 8.0)) @ mg.muscle_lengths(changed, x["q"])

    zero = {
        "q": jnp.asarray(q),
        "point": 0 * model.path.location,
        "turn": 0 * model.surfaces.translation,
        "shift": 0 * model.surfaces.translation,
        "size": 0 * model.surfaces.sizes,
    }
    check_grads(jax.jit(total), (zero,), 1, eps=1e-6, atol=1e-6, rtol=1e-6)


def with_values(module, **changes):
    for name, value in changes.items():
        module = eqx.tree_at(lambda m, name=name: getattr(m, name), module, value)
    return module


# Against OpenSim ---------------------------------------------------------------------------------------------


def test_live_opensim_touches_the_same(opensim):
    """On the bench: surfaces alone, two on one segment, quadrants, ranges, an inactive one, points of all kinds."""
    it = found(BENCH)
    peer = opensim.Model(str(BENCH))
    state = peer.initSystem()
    coordinates = [peer.getCoordinateSet().get(i) for i in range(it.q.shape[1])]
    muscles = [peer.getMuscles().get(i) for i in range(len(it.model.muscle_names))]
    lengths, touched = [], []
    for q in it.q:
        for coordinate, value in zip(coordinates, q, strict=True):
            coordinate.setValue(state, float(value), False)
        peer.realizePosition(state)
        lengths.append([muscle.getLength(state) for muscle in muscles])
        paths = [muscle.getGeometryPath().getCurrentPath(state) for muscle in muscles]
        on = [[path.get(i).getWrapObject() for i in range(path.getSize())] for path in paths]
        touched.append([[surface.getName() for surface in row if surface is not None][::2] for row in on])
    ours, names = polylines(it), it.model.muscle_names
    same = np.array([[a == b for a, b in zip(*rows, strict=True)] for rows in zip(ours, touched, strict=True)])
    chained = names.index("chained")
    assert same[:, np.arange(len(names)) != chained].all()
    assert same[:, chained].mean() > 0.9  # OpenSim's chains are not at rest
    straight = np.array([[not names for names in row] for row in touched])
    off = np.abs(it.ours["length"] - lengths)
    np.testing.assert_allclose(off[straight], 0.0, atol=1e-12)
    by_name = dict(zip(it.model.muscle_names, off.T, strict=True))
    for name in ("balled", "sided", "mixed"):  # spheres, and a cylinder across its axis
        assert by_name[name].max() < 1e-5
    for name, most in {"rolled": 2e-5, "egged": 3e-4, "ringed": 3e-4}.items():
        assert np.median(by_name[name]) < most


@pytest.fixture(scope="module")
def beside() -> tuple[dict[str, list[float]], dict[str, list[bool]]]:
    if len(WRAPPED) < 3:  # the numbers of cases below are those of these models
        pytest.skip("the oracle pack has not all public models with surfaces" if FILES else NO_PACK)
    return compared()


def test_pack_lengths(beside, measured):
    """One cylinder or sphere: median 0.02 mm, 99 % within 0.3 mm of OpenSim's, away from jumps. Others are plane sections in
    OpenSim and geodesics here; where a path has several surfaces, OpenSim's is not at rest."""
    gaps, _ = beside
    for what, gap in gaps.items():
        measured(f"median, {what}", 1000 * np.median(gap), "mm")
        measured(f"99 %, {what}", 1000 * np.quantile(gap, 0.99), "mm")
    closed = np.array(gaps["cylinder or sphere"])
    assert len(closed) > 500
    assert np.median(closed) < 2e-5
    assert np.quantile(closed, 0.99) < 3e-4
    assert np.median(gaps["cylinder or sphere, of a path with several surfaces"]) < 2e-5
    assert np.median(gaps["ellipsoid"]) < 2e-5
    assert np.median(gaps["torus"]) < 2e-5


def test_pack_states(beside, measured):
    """The same surfaces in the same order: 99.5 % where a muscle has only cylinders and spheres."""
    _, agree = beside
    for what, same in agree.items():
        measured(f"same surfaces, {what}", 100 * np.mean(same), "%")
    assert np.mean(agree["cylinders and spheres"]) >= 0.995
    assert np.mean(agree["others"]) >= 0.98


def test_opensims_chains_are_not_at_rest(public_model):
    """Where two surfaces follow each other, OpenSim reports two points of a cylinder farther apart than the arc between
    them is long, which no path can be: it measures with points of its first round and arcs of its last."""
    path = public_model("Rajagopal2016")
    data = np.load(path.parents[1] / "reference" / f"{path.stem}.npz", allow_pickle=False)
    on, points, arcs = data["path_point_is_wrap"].astype(bool), data["path_points"], data["path_wrap_length"]
    impossible = []
    for k, m in zip(*np.nonzero(on.sum(axis=2) == 4), strict=True):
        where = np.flatnonzero(on[k, m])
        chords = np.linalg.norm(points[k, m, where[1::2]] - points[k, m, where[::2]], axis=1)
        impossible.append((chords > arcs[k, m, where[1::2]] + 1e-5).any())
    assert len(impossible) == 9
    assert sum(impossible) >= 7


# Courses -----------------------------------------------------------------------------------------------------


def test_courses_have_the_length_of_the_paths(wrapped: Found):
    """Through 65 points on each arc. A chord is shorter than its arc by a 24th of its angle's square, so 64 of them by up to
    0.06 mm on a full turn of 25 mm."""
    model, q, ours, _ = wrapped
    points = np.asarray(compiled(lambda model, q: mg.path_points(model, q, arc_points=65), 1)(model, q))
    length = np.linalg.norm(np.diff(points, axis=2), axis=3).sum(axis=2)
    assert (length <= ours["length"] + 1e-6).all()  # where an arc is found by search, its traced end is not quite Q
    np.testing.assert_allclose(length, ours["length"], rtol=0, atol=6e-5)


def test_points_of_polylines_are_differentiable():
    model, q, _, _ = found(BENCH)
    total = jax.jit(lambda q: jnp.sum(jnp.sin(30 * mg.path_points(model, q))))
    check_grads(total, (jnp.asarray(q[5]),), 1, eps=1e-6, atol=1e-5, rtol=1e-5)


# Unusual input -----------------------------------------------------------------------------------------------


def changed(change) -> mg.Model:
    """The bench with its description changed."""
    description = mg.read_osim(BENCH)
    change(description)
    return mg.compile_model(description)


def length_of(model: mg.Model, name: str, q=(0.1, 0.2, 0.9)) -> float:
    return float(mg.muscle_lengths(model, np.array(q))[model.muscle_names.index(name)])


def surface(description, name: str) -> WrapObject:
    return next(s for path, s in description.wrap_objects().items() if path.endswith("/" + name))


def straight(name: str) -> float:
    def cut(description):
        for muscle in description.muscles:
            muscle.path.wraps = []

    return length_of(changed(cut), name)


def test_a_point_inside_a_surface_leaves_the_line_straight():
    """As in OpenSim, where such models occur."""
    swallowed = changed(lambda d: setattr(surface(d, "ball"), "radius", 0.2))
    assert length_of(swallowed, "balled") == pytest.approx(straight("balled"), abs=1e-15)


@pytest.mark.parametrize("name, muscle", [("roll", "rolled"), ("ball", "balled"), ("free_roll", "mixed")])
def test_a_surface_without_radius_is_never_touched(name, muscle):
    def shrink(description):
        surface(description, name).radius = 0.0
        if muscle == "mixed":
            surface(description, "ball").radius = 0.0

    model = changed(shrink)
    assert length_of(model, muscle) == pytest.approx(straight(muscle), abs=1e-15)
    assert np.isfinite(mg.muscle_gradients(model, np.array([0.1, 0.2, 0.9]))).all()


@pytest.mark.parametrize("offset", [0.0, 1e-17, 1e-9])
def test_points_on_the_axis_and_coincident_points_have_finite_arms(offset):
    """An end on the axis of the cylinder, and two path points that are closer than rounding."""

    def place(description):
        rolled = description.muscles[0]
        rolled.path.points[1].location = (0.002 + offset, 0.001, 0.0)
        twice = rolled.path.points[0]
        rolled.path.points.insert(
            1, type(twice)("again", twice.frame, (twice.location[0] + offset, *twice.location[1:]))
        )

    model = changed(place)
    q = np.array([0.1, 0.2, 0.9])
    assert np.isfinite(mg.muscle_lengths(model, q)).all()
    assert np.isfinite(mg.muscle_gradients(model, q)).all()
    assert np.isfinite(jax.jacfwd(lambda q: mg.muscle_gradients(model, q))(q)).all()


def test_a_range_without_stretches_is_never_touched():
    def narrow(description):
        description.muscles[0].path.wraps = [PathWrap("/bodyset/lower/roll", "roll", range=(2, 2))]

    assert length_of(changed(narrow), "rolled") == pytest.approx(straight("rolled"), abs=1e-15)


def test_an_arc_needs_two_points():
    with pytest.raises(mg.ModelError, match="at least 2 points, a whole number, not 1"):
        mg.path_points(loaded(BENCH), np.zeros(3), arc_points=1)
