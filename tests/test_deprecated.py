"""Old names work for one more release, and say what to use instead."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path

import pytest

import myograd
from myograd import _deprecated
from myograd.app.cli import main
from myograd.estimate.identification.choices import Choices
from myograd.models import model_path

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "versions.md").read_text()


def told(old: str, new: str) -> str:
    """What a warning has to say, as a pattern."""
    return re.escape(f"{old} is deprecated and will be removed in myograd {_deprecated.REMOVED_IN}: use {new}")


def numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def test_nothing_outlives_its_version():
    assert numbers(myograd.__version__) < numbers(_deprecated.REMOVED_IN)


@pytest.mark.parametrize(("old", "new"), _deprecated.NAMES.items())
def test_names(old: str, new: str):
    assert old not in myograd.__all__
    with pytest.warns(DeprecationWarning, match=told(f"myograd.{old}", f"myograd.{new}")) as caught:
        found = getattr(myograd, old)
    assert found is getattr(myograd, new)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(("old", "new"), _deprecated.ATTRIBUTES.items())
def test_attributes(old: str, new: str):
    kind, name = old.split(".")
    description = myograd.read_osim(model_path("double_pendulum"))
    makers = {
        "Identification": lambda _: object.__new__(myograd.tools.Identification),
        "Model": myograd.compile_model,
        "ModelDescription": lambda it: it,
    }
    owner = makers[kind](description)
    with pytest.warns(DeprecationWarning, match=told(old, new)) as caught:
        found = getattr(owner, name)
    assert found is getattr(owner, new)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(("old", "new"), _deprecated.MODULES.items())
def test_modules(old: str, new: tuple[str, ...], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, old, raising=False)
    with pytest.warns(DeprecationWarning, match=told(old, ", ".join(new))):
        moved = importlib.import_module(old)
    for place in map(importlib.import_module, new):
        own = [name for name, value in vars(place).items() if getattr(value, "__module__", "") == place.__name__]
        assert own
        assert all(getattr(moved, name) is getattr(place, name) for name in own)
    with pytest.raises(AttributeError):
        _ = moved.no_such_name


def test_a_moved_module_warns_the_line_that_imports_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "myograd.estimate.noise", raising=False)
    with pytest.warns(DeprecationWarning) as caught:
        from myograd.estimate.noise import refine  # pyright: ignore[reportMissingImports]
    assert refine.__module__ == "myograd.estimate.identification.noise"
    assert caught[0].filename == __file__


def test_modules_that_never_were_are_not_found():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("myograd.estimate.no_such_module")


@pytest.mark.parametrize(("old", "new"), _deprecated.PARAMETERS.items())
def test_parameters(old: str, new: str):
    with pytest.warns(DeprecationWarning, match=told(f"the parameter name {old}", new)) as caught:
        choices = Choices(start={old: 0.05}, common=(old,))
    assert choices == Choices(start={new: 0.05}, common=(new,))
    assert caught[0].filename == __file__


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str]:
    monkeypatch.setattr(sys, "argv", ["myograd", *words])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_the_option_jumps(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """The one entry of OPTIONS, and `check`'s entries of JSON_KEYS."""
    new, silent = run(monkeypatch, capsys, "check", "planar_leg", "--discontinuities", "--json")
    old, warned = run(monkeypatch, capsys, "check", "planar_leg", "--jumps", "--json")
    assert silent == ""
    assert re.search(told("--jumps", "--discontinuities"), warned)
    before, after = json.loads(old), json.loads(new)
    assert before == {"unread": after["unsupported"], "jumps": after["discontinuities"]}
    assert "--jumps" not in run(monkeypatch, capsys, "check", "--help")[0]


def test_the_key_unread(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """`info`'s entry of JSON_KEYS."""
    data = json.loads(run(monkeypatch, capsys, "info", "planar_leg", "--json")[0])
    assert data["unread"] == data["unsupported"]


@pytest.mark.parametrize("table", ["NAMES", "ATTRIBUTES", "MODULES", "PARAMETERS", "OPTIONS", "JSON_KEYS"])
def test_the_page_lists_all(table: str):
    for old, new in getattr(_deprecated, table).items():
        several = "`, `".join([new] if isinstance(new, str) else new)
        assert f"\n| `{old}` | `{several}` |\n" in PAGE
    assert f"removed in {_deprecated.REMOVED_IN}" in PAGE
