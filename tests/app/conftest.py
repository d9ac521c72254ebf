"""The command line, as a user calls it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest

from browser import CHROMIUM, NO_CHROMIUM, Browser, chromium
from myograd.app.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `myograd ...`; gives exit code, output, and error output."""

    def call(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["myograd", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        return int(end.value.code or 0), captured.out, captured.err

    return call


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium; what needs it is skipped where there is none."""
    if not CHROMIUM:
        pytest.skip(NO_CHROMIUM)
    with chromium() as found:
        yield found
