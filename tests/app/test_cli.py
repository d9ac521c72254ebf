"""The command line: what it prints, what it writes, and how it refuses."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import myograd
import myograd as mg
from myograd.app.cli import main
from myograd.app.console import heard_interrupts
from myograd.app.sweep import Curve, table
from myograd.models import model_path, names

Run = Callable[..., tuple[int, str, str]]


def refused(result: tuple[int, str, str]) -> str:
    """The one line with which a command refused (the model may have got its warning before)."""
    code, out, err = result
    assert code == 2
    assert out == ""
    *before, last = err.splitlines()
    assert last.startswith("error: ")
    assert all(line.startswith("warning: ") for line in before)
    return last


def test_version(run: Run):
    assert run("--version") == (0, f"myograd {myograd.__version__}\n", "")


@pytest.mark.parametrize("words", [("info", "arm"), ("info", "arm", "--json"), ("--help",)])
def test_a_closed_pipe_is_no_error(words: tuple[str, ...]):
    """As in `myograd info arm | head -0`."""
    unread, written = os.pipe()
    os.close(unread)
    command = [sys.executable, "-c", "from myograd.app.cli import main; main()", *words]
    done = subprocess.run(command, stdout=written, stderr=subprocess.PIPE, check=False)
    os.close(written)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("name", names())
def test_info_and_check_of_shipped_models(run: Run, name: str):
    code, out, err = run("info", name)
    assert (code, err) == (0, "")
    data = json.loads(run("info", name, "--json")[1])
    for joint in data["joints"]:
        assert joint["name"] in out
        assert all(coordinate["name"] in out for coordinate in joint["coordinates"])
    assert f"{data['mass']:.6g} kg" in out
    assert run("check", name)[0] == 0


def test_info_in_degrees_and_radians(run: Run):
    assert "hip_flexion  -34.38° to 120.3°, default 0°" in run("info", "planar_leg")[1]
    data = json.loads(run("info", "planar_leg", "--json")[1])
    hip = next(joint for joint in data["joints"] if joint["name"] == "hip")["coordinates"][0]
    assert (hip["range"], hip["unit"]) == ([-0.6, 2.1], "rad")
    assert data["counts"]["muscles"] == 9


def test_info_knows_couplers(run: Run):
    out = run("info", "coupled_mechanism")[1]
    assert re.search(r"theta_2 .* dependent\n", out)
    assert re.search(r"couple_theta_2 +CoordinateCouplerConstraint +theta_2, theta", out)


def test_pack_models(run: Run, pack_model: Path):
    code, out, _ = run("info", pack_model)
    assert code == 0
    assert out
    code, out, _ = run("check", pack_model, "--json")
    assert code == 0
    severities = [element["severity"] for element in json.loads(out)]
    assert severities == sorted(severities, key=["bookkeeping", "appearance"].index)
    code, out, _ = run("check", pack_model, "--strict")
    assert code == 0
    assert "everything in the file that affects a result is used" in " ".join(out.split())


def test_strict_check_fails_where_a_force_is_not_computed(run: Run, tmp_path: Path):
    text = model_path("double_pendulum").read_text()
    force = '<ForceSet name="forceset"><objects><ClutchedPathSpring name="clutch" />'
    file = tmp_path / "clutched.osim"
    file.write_text(re.sub(r'<ForceSet name="forceset">\s*<objects>', force, text))
    code, out, _ = run("check", file, "--strict")
    assert code == 1
    assert re.search(r"ClutchedPathSpring +clutch +this force is not computed", out)


def test_check_says_class_name_and_line(run: Run, public_model):
    file = public_model("Gait10dof18musc")
    (code, out, _), elements = run("check", file, "--all"), json.loads(run("check", file, "--json")[1])
    assert code == 0
    assert elements
    lines = file.read_text().splitlines()
    for element in elements:
        assert element["class"] in lines[element["line"] - 1]
        assert re.search(rf"^ +{element['line']} +{element['class']} +{re.escape(element['name'])}", out, re.MULTILINE)


def test_info_lists_each_muscle(run: Run):
    assert "`myograd info arm --muscles` lists each muscle" in run("info", "arm")[1]
    code, out, _ = run("info", "arm", "--muscles")
    assert code == 0
    assert "--muscles" not in out
    row = next(line for line in out.splitlines() if line.split()[:1] == ["BIClong"])
    assert " ".join(row.split()[1:]) == (
        "Millard2012EquilibriumMuscle 620 116.0 214.0 0.0° 4 scapula - radius head, trochlea_front"
    )
    data = json.loads(run("info", "arm", "--muscles", "--json")[1])["each_muscle"]
    assert [muscle["name"] for muscle in data] == list(myograd.load_model("arm").muscle_names)
    long_head = next(muscle for muscle in data if muscle["name"] == "BIClong")
    assert long_head["optimal_fiber_length"] == 0.116
    assert [point["body"] for point in long_head["path"]] == ["scapula", "humerus", "humerus", "radius"]


def test_check_finds_discontinuities(run: Run):
    code, out, err = run("check", "planar_leg", "--discontinuities")
    assert (code, err) == (0, "")
    assert "--discontinuities` searches" not in out
    data = json.loads(run("check", "planar_leg", "--discontinuities", "--json")[1])
    assert data["unsupported"] == json.loads(run("check", "planar_leg", "--json")[1])
    assert data["discontinuities"]
    model = myograd.load_model(model_path("planar_leg"))
    lines = [" ".join(line.split()) for line in out.splitlines()]
    for it in data["discontinuities"]:
        assert it["unit"] == "rad"
        column, muscle = model.coordinate_names.index(it["coordinate"]), model.muscle_names.index(it["muscle"])
        before, after = (
            float(myograd.muscle_lengths(model, model.default_pose().at[column].set(it["value"] + step))[muscle])
            for step in (-1e-7, 1e-7)
        )
        assert it["size"] == pytest.approx(after - before, abs=1e-7)
        shown = f"{np.degrees(it['value']):.4g}° {it['size'] * 1e3:+.3f} {it['cause']}"
        assert f"{it['muscle']} {it['coordinate']} {shown}" in lines


def test_check_says_how_to_search_for_discontinuities(run: Run):
    hint = "`myograd check planar_leg --discontinuities` searches"
    assert hint in run("check", "planar_leg")[1].splitlines()[-1]
    assert "--discontinuities" not in run("check", "double_pendulum")[1]
    out = run("check", "four_bar", "--discontinuities")[1]  # a closed loop
    assert "No muscle's length was found to change abruptly" in out


def test_unknown_model(run: Run):
    assert "did you mean 'planar_leg'?" in refused(run("info", "planar_lag"))
    assert "there is no file nowhere/leg.osim" in refused(run("check", "nowhere/leg.osim"))


def test_a_folder_is_no_model(run: Run, tmp_path: Path):
    assert "is a folder" in refused(run("info", tmp_path))


def test_a_broken_file(run: Run, tmp_path: Path):
    broken = tmp_path / "broken.osim"
    broken.write_text(model_path("planar_leg").read_text()[:3000])
    assert str(broken) in refused(run("info", broken))
    assert str(broken) in refused(run("check", broken))
    assert str(broken) in refused(run("convert", broken, tmp_path / "out.osim"))
    assert not (tmp_path / "out.osim").exists()


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", ["myograd", "--debug", "info", "planar_lag"])
    with pytest.raises(myograd.MyogradError):
        main()


def test_convert(run: Run, tmp_path: Path):
    target = tmp_path / "leg.osim"
    assert run("convert", "planar_leg", target)[0] == 0
    before, after = (json.loads(run("info", model, "--json")[1]) for model in ("planar_leg", target))
    assert {**before, "file": ""} == {**after, "file": ""}
    assert "--force" in refused(run("convert", "planar_leg", target))
    assert run("convert", "planar_leg", target, "--force")[0] == 0
    assert "must end in .osim" in refused(run("convert", "planar_leg", tmp_path / "leg.xml"))


def test_moment_arms(run: Run, tmp_path: Path):
    csv_file, plot = tmp_path / "arms.csv", tmp_path / "arms.html"
    sweep = ("moment-arms", "coupled_mechanism", "--coordinate", "theta", "--muscles", "guided", "--points", 5)
    code, out, _ = run(*sweep, "--out", csv_file, "--plot", plot)
    assert code == 0
    assert "guided" in out and "direct" not in out
    model = myograd.load_model(model_path("coupled_mechanism"))
    theta, guided = model.coordinate_names.index("theta"), model.muscle_names.index("guided")
    low, high = model.coordinates.range[:, theta]
    rows = list(csv.DictReader(csv_file.open()))
    assert {(row["coordinate"], row["muscle"]) for row in rows} == {("theta", "guided")}
    assert [float(row["value"]) for row in rows] == np.linspace(low, high, 5).tolist()
    for row in rows:
        # The coordinate drives a turn and a shift at once, so it has a unit of its own.
        assert (row["value_unit"], row["moment_arm_unit"], row["length_unit"]) == ("", "m", "m")
        q = myograd.assemble(model, model.default_pose().at[theta].set(float(row["value"])))
        assert float(row["moment_arm"]) == pytest.approx(float(myograd.moment_arms(model, q)[guided, theta]), abs=1e-12)
        assert float(row["length"]) == pytest.approx(float(myograd.muscle_lengths(model, q)[guided]), abs=1e-12)

    page = plot.read_text()
    assert page.count('"name":"guided"') == 2  # moment arm and length
    assert page.count('"showlegend":true') == 1
    assert not re.search(r"<(script|link)[^>]+(src|href)=", page)  # the file needs nothing from elsewhere


def test_moment_arms_of_a_closed_loop(run: Run, tmp_path: Path):
    csv_file = tmp_path / "arms.csv"
    assert run("moment-arms", "four_bar", "--muscles", "rocker_puller", "--points", 13, "--out", csv_file)[0] == 0
    rows = list(csv.DictReader(csv_file.open()))
    crank, rocker = (
        np.array([float(row["moment_arm"]) for row in rows if row["coordinate"] == coordinate])
        for coordinate in ("crank_angle", "rocker_angle")
    )
    assert np.isfinite(crank).all()  # it can turn all the way round
    assert 0 < np.isfinite(rocker).sum() < len(rocker)  # it only swings: NaN where it cannot be


def test_moment_arms_say_what_is_missing(capsys: pytest.CaptureFixture[str]):
    arms = np.array([[0.01, 0.0, 0.03, np.nan], [0.02, 0.0, np.nan, np.nan]])
    curve = Curve("arm", "elbow", "rotational", np.array([0.0, np.pi]), ("a", "b", "c", "d"), arms, arms + 0.1)
    assert curve.units == ("rad", "m", "m")
    assert replace(curve, motion="translational").units == ("m", "m/m", "m")
    Console(width=140).print(table([curve]))
    lines = capsys.readouterr().out.splitlines()
    assert "elbow [°], 0 to 180" in lines[0]
    shown = [" ".join(line.split()) for line in lines[2:]]
    assert shown[0] == "a 10.000 20.000"
    assert shown[1].startswith("c 30.000 30.000 not known at 1 of 2 poses: the pose is impossible")
    assert shown[2].startswith("d not known at 2 of 2 poses")


def test_moment_arms_against_opensim(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opensim):
    monkeypatch.chdir(tmp_path)  # where OpenSim would leave its log
    sweep = ("moment-arms", "planar_leg", "--coordinate", "knee_flexion", "--muscles", "vasti,rectus_femoris")
    code, out, err = run(*sweep, "--points", 7, "--against", "opensim", "--out", "arms.csv", "--plot", "arms.html")
    assert code == 0
    assert all(line.startswith("warning: ") for line in err.splitlines())
    assert {path.name for path in tmp_path.iterdir()} == {"arms.csv", "arms.html"}
    rows = list(csv.DictReader((tmp_path / "arms.csv").open()))
    column = {
        (muscle, name): np.array([float(row[name]) for row in rows if row["muscle"] == muscle])
        for muscle in ("vasti", "rectus_femoris")
        for name in ("moment_arm", "length", "opensim_moment_arm", "opensim_length")
    }
    for muscle in ("vasti", "rectus_femoris"):
        np.testing.assert_allclose(column[muscle, "length"], column[muscle, "opensim_length"], atol=1e-12)
    np.testing.assert_allclose(column["vasti", "moment_arm"], column["vasti", "opensim_moment_arm"], atol=1e-12)
    # OpenSim's arm of the rectus leaves out the work of its moving point; the table says by how much.
    off = np.abs(column["rectus_femoris", "moment_arm"] - column["rectus_femoris", "opensim_moment_arm"]).max() * 1e3
    assert off > 0.5
    shown = [line.split() for line in out.splitlines()]
    assert next(words for words in shown if words[:1] == ["rectus_femoris"])[3:] == [f"{off:.3f}", "0.000"]
    assert next(words for words in shown if words[:1] == ["vasti"])[3:] == ["0.000", "0.000"]
    page = (tmp_path / "arms.html").read_text()
    assert page.count('"dash":"dash"') == page.count('"dash":"solid"') == 4


def test_a_comparison_without_opensim(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "opensim", None)
    assert "pip install opensim" in refused(run("moment-arms", "planar_leg", "--against", "opensim"))


def test_files_that_could_not_be_written_are_refused_before_any_work(run: Run, tmp_path: Path):
    arms = ("moment-arms", "planar_leg")
    assert "must end in .csv" in refused(run(*arms, "--out", tmp_path / "arms.osim"))
    assert "must end in .html" in refused(run(*arms, "--plot", tmp_path / "arms.png"))
    assert "there is no folder" in refused(run(*arms, "--out", tmp_path / "nowhere" / "arms.csv"))
    assert "must end in .svg" in refused(
        run("demo", "--out", tmp_path / "demo.html", "--picture", tmp_path / "demo.png")
    )
    assert list(tmp_path.iterdir()) == []


def test_moment_arms_of_unknown_names(run: Run):
    assert "did you mean 'knee_flexion'?" in refused(run("moment-arms", "planar_leg", "--coordinate", "knee_flexon"))
    assert "did you mean 'soleus'?" in refused(run("moment-arms", "planar_leg", "--muscles", "vasti,soleas"))
    # A coordinate that follows others has no moment arm of its own.
    assert "theta_2" in refused(run("moment-arms", "coupled_mechanism", "--coordinate", "theta_2"))


# What is given and asked for ---------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder whose name has a space, with a file of each kind."""
    folder = tmp_path / "my files"
    folder.mkdir()
    mg.write_table(mg.Table(np.arange(2.0), np.zeros((2, 1, 3)), ("heel",), units="m"), folder / "walk.trc")
    mg.write_table(mg.Table(np.arange(2.0), np.zeros((2, 1)), ("shoulder",)), folder / "walk.mot")
    mg.write_table(mg.Table(np.zeros(0), np.zeros((0, 1)), ("one_joint",)), folder / "empty.sto")
    (folder / "arm.osim").write_text(model_path("arm").read_text())
    return folder


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("info", "{}/walk.trc"), "walk.trc': is a table of markers (.trc); expected an OpenSim model (.osim)"),
        (("simulate", "{}/walk.mot"), "walk.mot': is a table of columns over time (.mot); expected an OpenSim model"),
        (("simulate", "double_pendulum", "--controls", "{}/walk.trc"), "each cell of the table holds 3 numbers"),
        (("simulate", "double_pendulum", "--controls", "{}/empty.sto"), "empty.sto': controls: the table has no rows"),
        (
            ("simulate", "double_pendulum", "--initial", "{}/empty.sto"),
            "empty.sto': the initial state: the table has no rows",
        ),
        (("simulate", "double_pendulum", "--initial", "{}/arm.osim"), "but that of an OpenSim model; expected .sto"),
        (("simulate", "double_pendulum", "--external-loads", "{}/walk.mot"), "expected an OpenSim document that holds"),
        (("analyze", "planar_leg", "--out", "{}/new", "--motion", "{}/arm.osim"), "but that of an OpenSim model"),
        (("analyze", "planar_leg", "--out", "{}/new", "--motion", "{}/walk.trc"), "each cell of the table holds 3"),
        (("analyze", "planar_leg", "--out", "{}/new", "--states", "{}/walk.mot", "--activation", "0"), "--activation"),
        (("simulate", "double_pendulum", "--accept", "mat,rug"), "--accept: 'mat', 'rug' are not unsupported parts"),
        (("simulate", "double_pendulum", "--step", "-1"), "--step must be a positive number, not -1"),
        (("simulate", "double_pendulum", "--results", "{}/walk.mot"), "is a file; results are written into a folder"),
        (("simulate", "double_pendulum", "--results", "{}/no/where"), "there is no folder '"),
        (
            ("simulate", "double_pendulum", "--forces", "{}/forces.csv"),
            "forces.csv': the name of the file to write must",
        ),
        (("study", "reaching", "--out", "{}/walk.mot"), "is a file; results are written into a folder"),
        (("convert", "arm", "{}/arm.osim"), "arm.osim' exists already; --force replaces it"),
    ],
)
def test_what_is_wrong_with_files_and_options_is_told(run: Run, files: Path, words: tuple[str, ...], message: str):
    """At once, in one line, with names that have spaces in quotation marks."""
    before = sorted(files.iterdir())
    said = refused(run(*(word.format(files) for word in words)))
    assert message in said
    assert sorted(files.iterdir()) == before


def test_all_that_is_not_supported_can_be_pasted(run: Run, tmp_path: Path):
    text = model_path("double_pendulum").read_text()
    odd = "".join(f'<ExpressionBasedPointToPointForce name="{name}"/>' for name in ("mat", "rug"))
    assert text.count("<ForceSet") == 1
    where = text.index("<objects>", text.index("<ForceSet")) + len("<objects>")
    (tmp_path / "odd.osim").write_text(text[:where] + odd + text[where:])
    said = refused(run("simulate", tmp_path / "odd.osim"))
    assert "depends on 2 uncomputed forces" in said
    assert said.endswith("add: --accept mat,rug")


def test_a_simulation_writes_forces_and_everything(run: Run, tmp_path: Path):
    code, out, err = run(
        *("simulate", "double_pendulum", "--duration", "0.02", "--forces", tmp_path / "forces.sto"),
        *("--results", tmp_path / "new"),
    )
    assert code == 0, err
    forces = mg.read_table(tmp_path / "forces.sto")
    assert set(forces.names) == {"one_joint", "two_joint"} and (forces.data > 0).all()
    written = {path.name for path in (tmp_path / "new").iterdir()}
    assert {f"double_pendulum_{name}.sto" for name in ("states", "controls", "ForceReporter_forces")} <= written
    assert "double_pendulum_MuscleAnalysis_FiberForce.sto" in written
    assert f"wrote {len(written)} files into" in out


def test_an_interrupted_simulation_writes_what_it_has(run: Run, monkeypatch, tmp_path):
    """Ctrl-C while a very long simulation runs: here, when it first tells of more than 0.1 s."""
    out = tmp_path / "states.sto"

    def update(self, task, *, completed=0.0, **_):
        if completed > 1e-6:
            raise KeyboardInterrupt

    monkeypatch.setattr("rich.progress.Progress.update", update)
    code, said, err = run("simulate", "double_pendulum", "--duration", "100000", "--out", out)
    assert code == 3 and f"wrote {out}" in said
    stopped = re.search(r"stopped: interrupted at ([\d.]+) s; what was computed until then is kept", err)
    assert stopped is not None
    times = mg.read_table(out).time
    assert 0.1 < times[-1] <= float(stopped[1]) + 1e-9
    np.testing.assert_allclose(np.diff(times), 0.01, atol=1e-9)


def test_an_interrupt_that_is_lost_is_raised_again():
    """As one that comes while Python collects garbage: what callbacks raise there is printed and forgotten."""
    with heard_interrupts() as interrupt:
        interrupt()  # nothing was pressed
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            interrupt()
