"""The evidence page says what was measured: claims name what exists, figures are read, and nothing is met from memory."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import evidence
from evidence import Case, Result, figures_of, is_current, measure, page, present_commit, together, verdict
from evidence_claims import EvidenceError, Figure, Row, chosen, formula, found, read_claims

ROOT = Path(__file__).resolve().parents[1]
TOPICS, ROWS = read_claims(ROOT / "docs" / "evidence.toml")
FILE = "tests/test_some.py"
ROW = Row("topic", "row", "a claim", f"pytest {FILE}", figures=(Figure(recorded="gap", at_most=1e-9),))
RESULT = Result(f"pytest {FILE}", "abc12345", "2026-01-01", 1.0, {"gap": 1e-12}, passed=3)


def sources(row: Row) -> str:
    """Of the tests that a row runs."""
    paths = [ROOT / path for path in row.test_paths]
    assert all(path.exists() for path in paths), row.id
    return "\n".join(
        file.read_text() for path in paths for file in ([path] if path.is_file() else path.rglob("test_*.py"))
    )


def literals(source: str) -> Iterator[str]:
    """Patterns of the texts in a source that measures something; what is put into them may be anything."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.escape(node.value)
        elif isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else None for part in node.values]
            if any(part and len(str(part)) > 3 for part in parts):
                yield "".join(".*" if part is None else re.escape(str(part)) for part in parts)


@pytest.mark.parametrize("row", [row for row in ROWS if row.is_pytest], ids=lambda row: row.id)
def test_claims_name_tests_and_figures_that_exist(row: Row):
    text = sources(row)
    names = re.findall(r"def (test_\w+)", text)
    for part in row.tests:
        assert any(part in name for name in names), part
    texts = list(literals(text))
    for figure in row.figures:
        assert any(re.fullmatch(pattern, figure.recorded) for pattern in texts), figure.recorded


@pytest.mark.parametrize("row", [row for row in ROWS if not row.is_pytest], ids=lambda row: row.id)
def test_other_claims_can_be_judged(row: Row):
    assert row.by_exit or row.figures or row.slow
    for figure in row.figures:
        re.compile(figure.printed)
        if figure.value:
            with pytest.raises(KeyError):  # a formula, of names that an empty table has not
                formula(figure.value, {})


def test_benchmark_figures_are_read_from_what_benchmarks_write():
    data = json.loads((ROOT / "benchmarks" / "results.json").read_text())
    figures = [one for row in ROWS for one in row.figures if one.file == "benchmarks/results.json"]
    assert len(figures) > 20
    for one in figures:
        assert [formula(one.value, there) for there in found(data, one.of)]


def test_no_claim_speaks_of_numbered_issues():
    for path in (ROOT / "docs").glob("**/*.md"):
        assert not re.search(r"\bissues? #?\d", path.read_text(), re.IGNORECASE), path.name


@pytest.mark.parametrize(
    ("changes", "current", "said"),
    [
        ({}, True, "met"),
        ({}, False, "not measured since `abc12345`"),
        ({"commit": "abc12345+"}, False, "not measured: there were changes that `abc12345` does not have"),
        ({"figures": {"gap": 1e-8}}, True, "**not met**: gap"),
        ({"failed": 1}, True, "**not met**: 1 of 4 tests fail"),
        ({"figures": {}}, True, "not measured: the command did not tell gap"),
        ({"trouble": "no test ran (no pack)"}, True, "not measured: no test ran (no pack)"),
        ({"command": "pytest tests/test_other.py"}, True, "not measured yet"),
    ],
)
def test_verdicts(changes: dict, current: bool, said: str):
    assert verdict(ROW, replace(RESULT, **changes), current) == said
    assert verdict(ROW, None, True) == "not measured yet"


def test_a_reason_is_given_where_a_bar_is_missed_and_only_there():
    row = replace(ROW, reason="It cannot be.")
    assert verdict(row, replace(RESULT, figures={"gap": 1.0}), True) == "**not met**: gap. It cannot be."
    assert verdict(row, RESULT, True) == "met"


def test_what_has_no_bar_is_reported():
    row = Row("topic", "row", "a claim", "python some.py", figures=(Figure(printed="(.*)", label="seconds"),))
    result = Result("python some.py", "abc12345", "2026-01-01", 1.0, {"seconds": 4.0})
    assert verdict(row, result, True) == "reported"
    assert figures_of(row, result) == "seconds: 4"


def test_figures_are_the_largest_of_the_tests_that_were_asked_for():
    cases = [
        Case("test_gap[a]", "passed", "", [("gap", 1e-12), ("gap", 1e-10)], FILE, 0.5),
        Case("test_gap[b]", "skipped", "no pack", [], FILE, 0.2),
        Case("test_other", "failed", "wrong", [("gap", 1.0)], FILE, 4.0),
        Case("test_gap[c]", "failed", "wrong", [("gap", 1.0)], "tests/test_another.py", 4.0),
    ]
    result = measure(replace(ROW, tests=("gap",)), 1, "", cases, "abc12345", 2.0)
    assert (result.passed, result.failed, result.skipped) == (1, 0, 1)
    assert result.figures == {"gap": 1e-10}
    assert result.seconds == 0.7
    assert result.command.endswith('-k "gap"')


def test_tests_with_the_same_options_run_together():
    commands = ["pytest tests/a/test_b.py", "make docs", "pytest tests/a tests/c.py", "pytest tests/d.py -m slow"]
    assert together(commands) == {
        "make docs": ["make docs"],
        "pytest -n 2 --dist loadscope tests/a tests/c.py": [commands[0], commands[2]],
        "pytest -n 2 --dist loadscope tests/d.py -m slow": [commands[3]],
    }


@pytest.mark.parametrize(
    ("code", "cases", "said"),
    [
        (0, [Case("test_gap", "skipped", "no pack", [], FILE, 0.0)], "no test ran (no pack)"),
        (5, [], "the command ended with exit code 5"),
        (0, [], "no test ran (no test of these names ran)"),
    ],
)
def test_nothing_run_is_not_measured(code: int, cases: list[Case], said: str):
    result = measure(ROW, code, "", cases, "abc12345", 1.0)
    assert result.trouble == said
    assert verdict(ROW, result, True) == f"not measured: {said}"


def test_what_tests_record_comes_through_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """By a run of pytest itself, with the fixture that the tests use."""
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "def test_gap(measured): measured('gap', 2.5e-12, 'm')\n"
        "def test_wrong(measured): measured('gap', 7.0); assert False\n"
        "def test_absent(): pytest.skip('no pack')\n"
    )
    monkeypatch.setattr(evidence, "LOGS", tmp_path / "logs")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests" / "helpers"))
    code, printed, cases = evidence.run(f"pytest {tmp_path} --rootdir={tmp_path} -c /dev/null", "it")
    assert code == 1
    assert "1 failed" in printed
    assert [(case.name, case.outcome) for case in cases] == [
        ("test_gap", "passed"),
        ("test_wrong", "failed"),
        ("test_absent", "skipped"),
    ]
    assert cases[0].measured == [("gap", 2.5e-12)]
    assert "no pack" in cases[2].why


def test_ways_and_formulas():
    data = {
        "rows": [{"name": "a", "x": {"y": 2.0}, "z": 8.0}, {"name": "b", "x": {"y": 4.0}, "z": None}],
        "w": {"p q": 3},
    }
    assert [formula("z / x.y", there) for there in found(data, ["rows", {"name": "a"}])] == [4.0]
    assert list(found(data, ["rows", "*", "x", "y"])) == [2.0, 4.0]
    assert formula("min(z, x.y, 5)", data["rows"][1]) == 4.0
    assert formula("w['p q'] * 2 - 1", data) == 5.0
    with pytest.raises(KeyError, match="nothing with"):
        list(found(data, ["rows", {"name": "c"}]))
    for wrong in ("__import__('os')", "x.y ** 2", "open"):
        with pytest.raises((ValueError, KeyError)):
            formula(wrong, data["rows"][0])


def test_rows_are_chosen_by_topic_and_name():
    assert [row.id for row in chosen(ROWS, ["terms/dense"], fast=False)] == ["terms/dense"]
    assert {row.topic for row in chosen(ROWS, ["speed", "terms"], fast=False)} == {"speed", "terms"}
    assert chosen(ROWS, ["speed"], fast=True) == []
    with pytest.raises(EvidenceError, match="no topic or row 'sped'"):
        chosen(ROWS, ["sped"], fast=False)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ('claims = "x"', "unexpected keyword"),
        ('figures = [{ recorded = "a", printed = "(b)" }]', "either recorded, or in a file, or printed"),
    ],
)
def test_claims_that_cannot_be_read(tmp_path: Path, entry: str, said: str):
    path = tmp_path / "evidence.toml"
    path.write_text(
        f'[[topic]]\nname = "t"\ntitle = "T"\n[[topic.row]]\nname = "r"\nclaim = "c"\ncommand = "pytest x"\n{entry}\n'
    )
    with pytest.raises(EvidenceError, match=rf"evidence.toml: t/r: .*{said}"):
        read_claims(path)


def test_a_commit_is_current_until_the_sources_change(tmp_path: Path):
    def git(*words: str) -> None:
        who = ("-c", "user.name=t", "-c", "user.email=t@t")
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("1")
    git("add", ".")
    git("commit", "-qm", "first")
    first = present_commit(tmp_path)
    assert len(first) == 8 and is_current(first, tmp_path)
    (tmp_path / "README.md").write_text("words")
    git("add", ".")
    git("commit", "-qm", "words")
    assert is_current(first, tmp_path)  # nothing that figures depend on
    (tmp_path / "src" / "a.py").write_text("2")
    assert present_commit(tmp_path).endswith("+")
    assert not is_current(first, tmp_path)
    assert not is_current("0123abcd", tmp_path)


def test_the_page_has_every_row_and_says_nothing_else():
    """What it says is what was measured; only since when may be newer than the page."""
    text = (ROOT / "docs" / "evidence.md").read_text()
    results = evidence.read_results()
    assert [title for title in re.findall(r"^## (.*)$", text, re.MULTILINE)] == [t["title"] for t in TOPICS.values()]
    expected = page(TOPICS, ROWS, {row.id: results[row.id] for row in ROWS if row.id in results}, lambda _: True)
    ours, theirs = ([line for line in x.splitlines() if line.startswith("| ")] for x in (text, expected))
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert one == other or re.sub(r"\| not measured since[^|]*\|", "|", one) == _without_verdict(other)


def _without_verdict(line: str) -> str:
    cells = re.split(r"(?<!\\)\|", line)
    return "|".join([*cells[:4], *cells[5:]])
