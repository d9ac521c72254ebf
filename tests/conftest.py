"""What the tests compare with: the oracle pack beside the repository, and a live OpenSim."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("JAX_ENABLE_X64", "1")  # for tests of single functions; `load_model` switches it on by itself
# Compiling is what takes the time of these tests, which need no fast code.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false")

from oracle_pack import FILES, MODELS, NO_PACK, PACK


def _params(paths: list[Path]) -> list:
    if not paths:
        return [pytest.param(None, marks=pytest.mark.skip(reason=NO_PACK), id="no-pack")]
    return [pytest.param(path, id=path.stem) for path in paths]


@pytest.fixture(scope="session")
def pack() -> Path:
    """The folder of the oracle pack; its README says what each file holds."""
    if not FILES:
        pytest.skip(NO_PACK)
    return PACK


@pytest.fixture(params=_params(MODELS), scope="session")
def pack_model(request: pytest.FixtureRequest) -> Path:
    """Each public model of the pack in turn, in its original form."""
    return request.param


@pytest.fixture(params=_params(FILES), scope="session")
def pack_file(request: pytest.FixtureRequest) -> Path:
    """Each `.osim` file of the pack in turn, variants included."""
    return request.param


@pytest.fixture(scope="session")
def opensim():
    """The OpenSim module, quiet and without its log file."""
    module = pytest.importorskip("opensim", reason="OpenSim is not installed (pip install 'myograd[test]')")
    module.Logger.setLevelString("Off")
    module.Logger.removeFileSink()
    return module
