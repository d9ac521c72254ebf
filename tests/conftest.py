"""What the tests compare with: the oracle pack beside the repository, and a live OpenSim."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

os.environ.setdefault("JAX_ENABLE_X64", "1")  # for tests of single functions; `load_model` switches it on by itself
# Compiling is what takes the time of these tests, which need no fast code.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false")

from jaxtyping import install_import_hook

from oracle_pack import FILES, MODELS, NO_PACK, PACK
from type_checks import modules

# Shapes and types of every function of the package are checked while its tests run.
install_import_hook(modules(), "type_checks.checker")


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
def public_model() -> Callable[[str], Path]:
    """A model of the oracle pack by its name; skips the test if the pack lacks it."""

    def path(name: str) -> Path:
        found = next((path for path in FILES if path.stem == name), None)
        if found is None:
            pytest.skip(f"the oracle pack at {PACK} has no model {name}" if FILES else NO_PACK)
        return found

    return path


@pytest.fixture
def measured(record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """`measured(name, value, unit="")` keeps a number that a test found, for the evidence page (`make evidence`)."""

    def keep(name: str, value: float, unit: str = "") -> None:
        record_property(name, f"{float(value):.6g} {unit}".strip())

    return keep


@pytest.fixture(scope="module", autouse=True)
def compiled_programs_end_with_their_file() -> Iterator[None]:
    """Files share few programs; all of them together take gigabytes, which slow down Python's garbage collector."""
    yield
    import jax

    jax.clear_caches()


@pytest.fixture(scope="session")
def opensim():
    """The OpenSim module, quiet and without its log file."""
    module = pytest.importorskip("opensim", reason="OpenSim is not installed (pip install 'myograd[test]')")
    module.Logger.setLevelString("Off")
    module.Logger.removeFileSink()
    return module
