"""`myograd identify`: options that contradict each other, and all that it writes."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import myograd
from myograd.app.commands.identify import read_bounds
from myograd.app.console import out
from myograd.errors import MyogradError
from myograd.estimate.identification.choices import Choices
from myograd.estimate.identification.fit import fit
from myograd.estimate.identification.setup import identification
from myograd.estimate.identification.shipped import shipped_deep, shipped_recording
from myograd.estimate.identification.uncertainty import Verdict, uncertainty
from myograd.estimate.least_squares import Options
from myograd.estimate.parameters import Bounds
from myograd.models import model_path
from myograd.tools import identification as tool
from myograd.tools.identification import Identification
from pages import check_page, texts

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def identify(run: Run, tmp_path: Path) -> Run:
    """Run `myograd identify arm --out person.osim ...`."""
    return lambda *words: run("identify", "arm", "--out", tmp_path / "person.osim", *words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "every --motion needs an --emg, in the same order; got 0 --motion and 0 --emg"),
        (("--motion", "a.mot"), "got 1 --motion and 0 --emg"),
        (("--motion", "a.mot", "--emg", "a.sto", "--mvc", "0"), "--mvc divides the EMG and must be a positive number"),
        (
            ("--shipped", "--deep", "FOO"),
            "--shipped brings its own recordings, deep muscles and bodies: leave out --deep",
        ),
        (("--shipped", "--emg-noise", "5"), "cannot be combined with --shipped or --low-pass 0"),
        (("--robust",), "give --emg-noise 0 with --robust"),
        (("--shipped", "--table", "table.txt"), "must end in .csv"),
    ],
)
def test_options_that_do_not_go_together(identify: Run, tmp_path: Path, words: tuple[str, ...], message: str):
    code, out, err = identify(*words)
    assert (code, out) == (2, "")
    assert message in err.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_an_existing_model_is_replaced_only_by_force(identify: Run, tmp_path: Path):
    (tmp_path / "person.osim").write_text("mine")
    assert "--force replaces it" in identify("--shipped")[2]
    assert (tmp_path / "person.osim").read_text() == "mine"


def test_limits_are_read_by_name():
    read = read_bounds(["BIClong.BIClong-P1.location.x=-0.03:0.04", "scapula/shoulder_cap.radius=0.02:5e-2:0.03:0.005"])
    assert read == {
        "BIClong.BIClong-P1.location.x": Bounds(-0.03, 0.04),
        "scapula/shoulder_cap.radius": Bounds(0.02, 0.05, 0.03, 0.005),
    }


@pytest.mark.parametrize("text", ["a.x", "a.x=1", "a.x=1:b", "=1:2", "a.x=1:2:3"])
def test_what_is_no_limit_is_refused(text: str):
    with pytest.raises(MyogradError, match="give NAME=LOW:HIGH"):
        read_bounds([text])


def test_a_number_is_named_once():
    with pytest.raises(MyogradError, match=r"'a.x' twice"):
        read_bounds(["a.x=1:2", "a.x=1:3"])


@pytest.fixture(scope="module")
def unfinished() -> Identification:
    """A fit that was not given the iterations to converge."""
    arm = myograd.load_model(model_path("arm"))
    choices = Choices(of_muscle=("max_isometric_force",), common=("emg.delay",), every=20)
    problem = identification(arm, [shipped_recording("move1", arm)], shipped_deep(), choices=choices)
    found = fit(problem, options=Options(iterations=1))
    return Identification(
        problem=problem,
        fit=found,
        uncertainty=uncertainty(found),
        fitted=[],
        unseen=[],
        messages=("The fit has not converged.",),
    )


def test_a_fit_that_has_not_converged_is_saved_as_one(
    identify: Run, tmp_path: Path, unfinished: Identification, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tool, "identify", lambda *_args, **_options: unfinished)
    table, report = tmp_path / "table.csv", tmp_path / "report.html"
    code, said, err = identify("--shipped", "--table", table, "--report", report)
    assert code == 2
    assert "person.osim was not written: the fit has not converged" in err
    assert "0 of" in said
    assert {row["verdict"] for row in csv.DictReader(table.open())} == {Verdict.NOT_CONVERGED}
    assert report.exists()
    assert not (tmp_path / "person.osim").exists()


def test_results_are_saved_before_they_are_printed(
    identify: Run, tmp_path: Path, unfinished: Identification, monkeypatch: pytest.MonkeyPatch
):
    finished = replace(unfinished, fit=replace(unfinished.fit, converged=True))
    monkeypatch.setattr(tool, "identify", lambda *_args, **_options: finished)

    def broken(*_things: object, **_options: object) -> None:
        raise MyogradError("nobody reads this")

    monkeypatch.setattr(out, "print", broken)
    table, report = tmp_path / "table.csv", tmp_path / "report.html"
    assert "nobody reads this" in identify("--shipped", "--table", table, "--report", report)[2]
    assert all(path.exists() for path in (table, report, tmp_path / "person.osim"))


@pytest.mark.slow
def test_shipped_recordings(identify: Run, request: pytest.FixtureRequest, tmp_path: Path):
    table, report = tmp_path / "table.csv", tmp_path / "report.html"
    code, out, _ = identify("--shipped", "--every", 8, "--table", table, "--report", report)
    assert code == 0
    rows = list(csv.DictReader(table.open()))
    assert {row["verdict"] for row in rows} <= set(Verdict)
    well = sum(row["verdict"] == Verdict.WELL_DETERMINED for row in rows)
    assert f"determine {well} of {len(rows)} parameters well" in out
    for row in rows:
        assert float(row["low"]) <= float(row["found"]) <= float(row["high"])
        assert row["parameter"] in report.read_text()
    assert not re.search(r"<(script|link)[^>]+(src|href)=", report.read_text())
    assert myograd.load_model(tmp_path / "person.osim").name == "arm"
    page = request.getfixturevalue("browser").open(report)  # what is above needs none
    shown = [row["parameter"] for row in rows if float(row["before"]) != 0]
    assert [it.text for it in texts(page, "#figure-1 .ytick text")] == shown
    owners = {name.partition(".")[0] for name in shown}
    check_page(page, curves=len(owners) + 1 + 2 + 3)  # singular values, convergence, three movements
