"""The Python of the quickstart runs as it stands there, and the pages link only to what exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def test_quickstart_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/quickstart.md").read_text(), flags=re.DOTALL)
    assert len(blocks) > 5
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "quickstart.md", "exec"), names)
    assert (tmp_path / "heavier.osim").exists()


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_the_front_pages(page: str):
    # `make docs` checks the links within docs/.
    targets = re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text())
    missing = [target for target in targets if "://" not in target and not (ROOT / target).exists()]
    assert missing == []
