"""Measure every claim of the evidence page: run its command, read its figures, judge them, write the page.

    python scripts/evidence.py                        whatever was not measured at this commit (`make evidence`)
    python scripts/evidence.py --fast                 without benchmarks and studies
    python scripts/evidence.py --only wrapping/speed  one row, or all of a topic
    python scripts/evidence.py --page                 measures nothing, writes the page anew

`docs/evidence.toml` has the claims and their bars, `docs/evidence.json` what was measured, at which commit, and
`docs/evidence.md` is written from the two. Tests of all rows run together, two files at a time, since they share what they
compile. Results are kept after each command, so an interrupted run goes on where it stopped. A row is met only if its command
was run with the sources as they are: after a change of them it says since when it was not measured.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shlex
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from evidence_claims import EvidenceError, Figure, Row, chosen, formula, found, read_claims
from myograd.files.atomic import write_text

ROOT = Path(__file__).resolve().parents[1]
CLAIMS, RESULTS, PAGE = (ROOT / "docs" / f"evidence.{kind}" for kind in ("toml", "json", "md"))
LOGS = ROOT / "studies" / "evidence"
SOURCES = ("src", "tests", "benchmarks", "scripts", "pyproject.toml", "requirements", ":!benchmarks/results.json")
"""What figures depend on, as git's paths."""


@dataclass(frozen=True)
class Result:
    """What was measured of one row."""

    command: str
    commit: str
    """with a plus sign if there were changes that no commit has"""
    date: str
    seconds: float
    """of the whole command, or of the tests that show it"""
    figures: dict[str, float] = field(default_factory=dict)
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    trouble: str = ""
    """why there is no answer"""


@dataclass
class Case:
    """One test of a run."""

    name: str
    outcome: str
    why: str
    measured: list[tuple[str, float]]
    file: str
    seconds: float


# Commits -----------------------------------------------------------------------------------------------------


def git(*words: str, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)


def present_commit(root: Path = ROOT) -> str:
    """Of the sources as they are."""
    commit = git("rev-parse", "--short=8", "HEAD", root=root).stdout.strip()
    return commit + ("+" if git("status", "--porcelain", "--", *SOURCES, root=root).stdout.strip() else "")


def is_current(commit: str, root: Path = ROOT) -> bool:
    """Whether the sources are still those of a commit."""
    return not commit.endswith("+") and git("diff", "--quiet", commit, "--", *SOURCES, root=root).returncode == 0


# Running and reading -----------------------------------------------------------------------------------------


def run(command: str, name: str) -> tuple[int, str, list[Case]]:
    """Exit code, what was printed, and the tests if it is pytest; all of it is kept in `LOGS`."""
    LOGS.mkdir(parents=True, exist_ok=True)
    report, log = LOGS / f"{name}.xml", LOGS / f"{name}.log"
    report.unlink(missing_ok=True)
    first, *words = shlex.split(command)
    here = {
        "pytest": [sys.executable, "-m", "pytest", "-q", "-o", "junit_family=xunit1", f"--junitxml={report}"],
        "python": [sys.executable],
        "myograd": [str(Path(sys.executable).with_name("myograd"))],
    }
    with log.open("w") as out:
        code = subprocess.run(
            [*here.get(first, [first]), *words], cwd=ROOT, stdout=out, stderr=subprocess.STDOUT
        ).returncode
    return code, log.read_text(errors="replace"), read_report(report) if report.exists() else []


def read_report(path: Path) -> list[Case]:
    """The tests of a JUnit report, with what they measured."""
    cases = []
    for case in ElementTree.parse(path).iter("testcase"):
        bad = case.find("failure") if case.find("failure") is not None else case.find("error")
        skip = case.find("skipped")
        outcome = "failed" if bad is not None else "skipped" if skip is not None else "passed"
        told = skip if bad is None else bad
        numbers = [(x.get("name", ""), float(x.get("value", "").split()[0])) for x in case.iter("property")]
        why = told.get("message", "") if told is not None else ""
        file, seconds = case.get("file", ""), float(case.get("time", 0.0))
        cases.append(Case(case.get("name", ""), outcome, why, numbers, file, seconds))
    return cases


def together(commands: Sequence[str]) -> dict[str, list[str]]:
    """What to run for these commands: those of pytest with the same options become one."""
    tests: dict[tuple[str, ...], list[str]] = {}
    found: dict[str, list[str]] = {}
    for command in dict.fromkeys(commands):
        first, *words = shlex.split(command)
        if first == "pytest":
            tests.setdefault(tuple(word for word in words if not word.startswith("tests/")), []).append(command)
        else:
            found[command] = [command]
    for options, each in tests.items():
        paths = {Path(word) for command in each for word in shlex.split(command) if word.startswith("tests/")}
        outermost = sorted(str(path) for path in paths if not paths & set(path.parents))
        found[shlex.join(["pytest", "-n", "2", "--dist", "loadscope", *outermost, *options])] = each
    return found


def measure(row: Row, code: int, printed: str, cases: Sequence[Case], commit: str, seconds: float) -> Result:
    """What a command that was run says of a row."""
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    shown = [
        case
        for case in cases
        if (not row.tests or any(part.lower() in case.name.lower() for part in row.tests))
        and any(Path(case.file).is_relative_to(path) for path in row.test_paths)
    ]
    if row.is_pytest:
        seconds = sum(case.seconds for case in shown)
    passed, failed, skipped = (sum(case.outcome == what for case in shown) for what in ("passed", "failed", "skipped"))
    result = Result(row.shown_command, commit, date, round(seconds, 1), {}, passed, failed, skipped)
    if code not in ((0, 1) if row.is_pytest else row.exit_codes):
        return replace(result, trouble=f"the command ended with exit code {code}")
    if row.is_pytest and passed + failed == 0:
        why = next((case.why for case in shown), "no test of these names ran")
        return replace(result, trouble=f"no test ran ({why})")
    figures = {}
    for figure in row.figures:
        try:
            values = [x for x in _values(figure, printed, shown) if not math.isnan(x)]
        except (OSError, KeyError, IndexError, TypeError, ValueError, SyntaxError) as error:
            return replace(result, trouble=f"{figure.name}: {type(error).__name__}: {error}")
        if values:
            figures[figure.name] = {"max": max, "min": min}[figure.take](values)
    return replace(result, figures=figures)


def _values(figure: Figure, printed: str, cases: Sequence[Case]) -> list[float]:
    if figure.recorded:
        return [value for case in cases for name, value in case.measured if name == figure.recorded]
    if figure.printed:
        return [float(text) for text in re.findall(figure.printed, printed)]
    data = json.loads((ROOT / figure.file).read_text())
    return [formula(figure.value, there) if figure.value else float(there) for there in found(data, figure.of)]


# Judging and writing -----------------------------------------------------------------------------------------


def verdict(row: Row, result: Result | None, current: bool) -> str:
    """met, not met and why, or not measured."""
    if result is None or result.command != row.shown_command:
        return "not measured yet"
    if result.commit.endswith("+"):
        return f"not measured: there were changes that `{result.commit[:-1]}` does not have"
    if not current:
        return f"not measured since `{result.commit}`"
    if result.trouble:
        return f"not measured: {result.trouble}"
    missing = [figure.name for figure in row.figures if figure.name not in result.figures]
    short = [
        figure.name or figure.unit
        for figure in row.figures
        if figure.name in result.figures and not figure.is_met(result.figures[figure.name])
    ]
    if result.failed:
        short.append(f"{result.failed} of {result.passed + result.failed} tests fail")
    if short:
        which = f": {'; '.join(filter(None, short))}" * any(short)
        return f"**not met**{which}" + f". {row.reason}" * bool(row.reason)
    if missing:
        return f"not measured: the command did not tell {', '.join(missing)}"
    with_bar = any(figure.at_most is not None or figure.at_least is not None for figure in row.figures)
    return "met" if row.is_pytest or row.by_exit or with_bar else "reported"


def figures_of(row: Row, result: Result | None) -> str:
    if result is None:
        return ""
    texts = [figure.text(result.figures[figure.name]) for figure in row.figures if figure.name in result.figures]
    if row.is_pytest and not texts:
        texts.append(f"{result.passed} tests pass" + f", {result.skipped} skip" * bool(result.skipped))
    return "; ".join(texts)


INTRO = """# Evidence

Every claim that this project makes in numbers, the command that measures it, what it measured, and at which commit. Written
by `make evidence`, which runs the commands and judges their figures; not edited by hand (the claims and their bars are in
`docs/evidence.toml`). A row whose command was not run since the sources changed says so, whatever it said before.

Tests that need the oracle pack (public models, and what OpenSim 4.6 computed for them) find it by `MYOGRAD_ORACLE_PACK`, or as
`../shared/opensim`, and skip, with a reason, where it is absent; `python scripts/oracle_pack.py FOLDER --out PACK` makes
one from any folder of `.osim` files. Times are medians of the run in [Benchmarks](benchmarks.md), on whatever machine ran it.
"""


def page(
    topics: dict[str, dict[str, str]], rows: Sequence[Row], results: dict[str, Result], current: Callable[[str], bool]
) -> str:
    """The page as Markdown."""
    known = {commit: current(commit) for commit in {result.commit for result in results.values()}}
    verdicts = {row.id: verdict(row, it, bool(it and known[it.commit])) for row in rows for it in [results.get(row.id)]}
    kinds = [
        ("met", "met"),
        ("**not met**", "not met"),
        ("not measured", "not measured"),
        ("reported", "reported without a bar"),
    ]
    counts = [(sum(text.startswith(start) for text in verdicts.values()), name) for start, name in kinds]
    lines = [INTRO, f"Of {len(rows)} rows: " + ", ".join(f"{n} {name}" for n, name in counts if n) + "."]
    for name, topic in topics.items():
        lines += ["", f"## {topic['title']}", *(["", topic["intro"]] if topic["intro"] else [])]
        lines += ["", "| claim | command | measured | verdict | commit | date |", "|---|---|---|---|---|---|"]
        for row in (row for row in rows if row.topic == name):
            it = results.get(row.id)
            measured = ". ".join(filter(None, (figures_of(row, it), row.note)))
            when = (f"`{it.commit}`", it.date) if it else ("", "")
            cells = (row.claim, f"`{row.shown_command}`", measured, verdicts[row.id], *when)
            lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def read_results(path: Path = RESULTS) -> dict[str, Result]:
    return {key: Result(**entry) for key, entry in json.loads(path.read_text()).items()} if path.exists() else {}


def write_results(results: dict[str, Result], path: Path = RESULTS) -> None:
    write_text(path, json.dumps({key: asdict(results[key]) for key in sorted(results)}, indent=1) + "\n")


def is_known(row: Row, result: Result | None, commit: str) -> bool:
    """Whether a row was measured with the sources as they are."""
    return (
        result is not None
        and not commit.endswith("+")
        and result.command == row.shown_command
        and is_current(result.commit)
        and not result.trouble
        and all(figure.name in result.figures for figure in row.figures)
    )


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="TOPIC[/ROW]", help="may be given several times")
    parser.add_argument("--fast", action="store_true", help="without benchmarks and studies")
    parser.add_argument("--again", action="store_true", help="also what was measured at this commit already")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page anew")
    options = parser.parse_args(words)
    topics, rows = read_claims(CLAIMS)
    results, commit = read_results(), present_commit()
    asked = [] if options.page else chosen(rows, options.only, options.fast)
    due = [row for row in asked if options.again or not is_known(row, results.get(row.id), commit)]
    commands = together([row.command for row in due])
    if commit.endswith("+"):
        print(f"there are changes that no commit has: what is measured now will not count as met ({commit})")
    for k, (command, stands_for) in enumerate(commands.items()):
        concerned = [row for row in due if row.command in stands_for]
        before = sum(results[row.id].seconds for row in concerned if row.id in results)
        print(f"[{k + 1}/{len(commands)}] {command}" + f" ({before:.0f} s last time)" * bool(before), flush=True)
        begun = time.perf_counter()
        code, printed, cases = run(command, concerned[0].id.replace("/", "-"))
        for row in concerned:
            results[row.id] = measure(row, code, printed, cases, commit, time.perf_counter() - begun)
            print(f"    {row.id}: {verdict(row, results[row.id], True)}", flush=True)
        write_results(results)
    write_text(PAGE, page(topics, rows, {row.id: results[row.id] for row in rows if row.id in results}, is_current))
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    try:
        main()
    except EvidenceError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("interrupted; what was measured is kept")
