"""The form of commit messages, which a hook checks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from commit_message import problems

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    "message",
    [
        "Add a page on terms",
        "Pass the model first\n\nIt was the last argument of two functions.\n",
        "Bring old documents to the present form",
        "Process tables in one go",
        "Merge branch 'docs'",
        'Revert "Adds a long subject that was written by somebody who does not care about any limit at all"',
        "# Please enter the commit message\n\nMend the order of rooms\n# On branch main\n",
    ],
)
def test_good_messages_pass(message: str):
    assert problems(message) == []


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("", "is empty"),
        ("# only a comment\n", "is empty"),
        ("Add " + "x" * 69, "has 73 characters; at most 72"),
        ("Add a page.", "full stop"),
        ("Add a page\nfor terms", "second line is not empty"),
        ("add a page", "capital letter"),
        ("Added a page", "'Added'"),
        ("Adds a page", "'Adds'"),
        ("Adding a page", "'Adding'"),
        ("Docs: a page", "a label, 'Docs:'"),
        ("(page) added", "begins with"),
    ],
)
def test_bad_messages_are_told(message: str, said: str):
    assert said in " ".join(problems(message))


def test_as_a_hook(tmp_path: Path):
    script = ROOT / "scripts" / "commit_message.py"
    for text, code in (("Add a page\n", 0), ("Adds a page\n", 1)):
        (tmp_path / "message").write_text(text)
        run = subprocess.run([sys.executable, str(script), str(tmp_path / "message")], capture_output=True, text=True)
        assert (run.returncode, "imperative" in run.stderr) == (code, bool(code))


def test_hooks_are_local_and_run_scripts_that_exist():
    text = (ROOT / ".pre-commit-config.yaml").read_text()
    repositories = [line.split("repo:")[1].strip() for line in text.splitlines() if "repo:" in line]
    assert repositories == ["local"]
    assert "://" not in text
    assert (ROOT / "scripts" / "commit_message.py").exists() and "scripts/commit_message.py" in text
