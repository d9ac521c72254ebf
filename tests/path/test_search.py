"""The compiled search as part of XLA programs: alone, in batches of any shape, and called from several threads."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numba import carray  # pyright: ignore[reportPrivateImportUsage]

import myograd as mg
from computed import loaded
from myograd.dynamics.kinematics import pose
from myograd.geometry import native
from myograd.path.native_search import search
from myograd.path.posed import posed_path_geometry
from wrapped_pack import BENCH

ANGLES = np.random.default_rng(5).uniform([-0.9, -0.6, 0.0], [1.2, 0.6, 2.2], size=(4, 6, 3))
SCALES = np.array([0.9, 1.0, 1.1])


MODEL = loaded(BENCH)


def found(q, scale):
    it = posed_path_geometry(MODEL, pose(MODEL, q), q)
    return search(MODEL.wraps, eqx.tree_at(lambda it: it.sizes, it, it.sizes * scale))


@pytest.fixture(scope="module")
def one_by_one():
    """[angles, angles, scales] of everything, each from a call of its own."""
    run = jax.jit(found)
    rows = [[[run(q, scale) for scale in SCALES] for q in row] for row in ANGLES]
    return jax.tree.map(lambda *x: np.reshape(x, (4, 6, 3, *x[0].shape)), *[x for row in rows for y in row for x in y])


def test_batches_of_batches(one_by_one):
    """Batched in different arguments at different levels, in both orders; axes that an argument lacks are shared."""
    by_scale = jax.vmap(found, (None, 0))
    inner_scale = jax.jit(jax.vmap(jax.vmap(by_scale, (0, None)), (0, None)))(ANGLES, SCALES)
    outer_scale = jax.jit(jax.vmap(jax.vmap(jax.vmap(found, (0, None)), (0, None)), (None, 0)))(ANGLES, SCALES)
    for one, inner, outer in zip(one_by_one, inner_scale, outer_scale, strict=True):
        np.testing.assert_allclose(inner, one, rtol=0, atol=1e-12)
        np.testing.assert_allclose(np.moveaxis(outer, 0, 2), one, rtol=0, atol=1e-12)
    assert one_by_one[1][..., 0, :].any() and not one_by_one[1][..., 0, :].all()


def test_a_batch_in_which_only_sizes_differ(one_by_one):
    together = jax.vmap(found, (None, 0))(jnp.asarray(ANGLES[1, 2]), SCALES)
    for one, all_ in zip(one_by_one, together, strict=True):
        np.testing.assert_allclose(all_, one[1, 2], rtol=0, atol=1e-12)


def test_an_empty_batch():
    contacts, order = jax.vmap(found)(jnp.zeros((0, 3)), jnp.zeros(0))
    assert contacts.shape[0] == order.shape[0] == 0


def test_threads_do_not_disturb_each_other(one_by_one):
    run = jax.jit(jax.vmap(jax.vmap(found, (0, None)), (0, None)))
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda _: run(ANGLES, SCALES[1]), range(40)):
            np.testing.assert_allclose(result[0], one_by_one[0][:, :, 1], rtol=0, atol=1e-12)


def test_a_pose_that_is_not_finite_gives_no_number():
    with pytest.raises(mg.ModelError, match="finite"):
        mg.muscle_lengths(MODEL, np.array([0.1, np.nan, 0.5]))
    inside = jax.jit(lambda q: mg.muscle_lengths(MODEL, q))(jnp.array([0.1, jnp.nan, 0.5]))
    assert np.isnan(inside).all()


@pytest.mark.parametrize("size", [np.nan, np.inf, -0.01])
def test_a_surface_of_no_size_gives_no_number(size):
    """Of the muscles that may touch it; the others are as ever."""
    sizes = jnp.asarray(MODEL.surfaces.sizes).at[0, 0].set(size)
    q = np.array([0.1, 0.2, 0.9])
    lengths = np.asarray(mg.muscle_lengths(eqx.tree_at(lambda m: m.surfaces.sizes, MODEL, sizes), q))
    concerned = np.isin(np.arange(len(lengths)), MODEL.wraps.path[MODEL.wraps.surface == 0])
    assert concerned.any() and np.isnan(lengths[concerned]).all()
    np.testing.assert_array_equal(lengths[~concerned], np.asarray(mg.muscle_lengths(MODEL, q))[~concerned])


def test_single_precision_is_refused():
    sizes = jnp.asarray(MODEL.surfaces.sizes, jnp.float32)
    with pytest.raises(mg.ModelError, match="sizes have dtype float32"):
        mg.muscle_lengths(eqx.tree_at(lambda m: m.surfaces.sizes, MODEL, sizes), np.array([0.1, 0.2, 0.9]))


def test_the_interface_is_that_of_the_installed_jax():
    header = (Path(jax.ffi.include_dir()) / "xla/ffi/api/c_api.h").read_text()
    major, minor = (re.search(rf"XLA_FFI_API_{part} (\d+)", header) for part in ("MAJOR", "MINOR"))
    assert major and minor
    assert int(major[1]) | int(minor[1]) << 32 == native._VERSION


def test_without_a_folder_for_compiled_code_it_compiles_all_the_same(monkeypatch):
    def nowhere(*_):
        raise RuntimeError("cannot cache function: no locator available")

    def handler(address):
        native.answers_query(carray(address, 15))
        return 0

    monkeypatch.setattr(native, "_SourcesCache", nowhere)
    assert native.registered("myograd_nothing", handler, "") == "myograd_nothing"
