"""Pages as people see them: each is opened in a browser, and every curve looked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.sax.saxutils import quoteattr

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import myograd
from browser import Browser, Page
from myograd.app import simulation_plot, sweep_page
from myograd.app.identification_report import Report, write_report
from myograd.app.sweep import Curve
from myograd.estimate.identification.choices import FiberSource
from myograd.estimate.identification.scores import Scores
from myograd.estimate.identification.uncertainty import Verdict
from myograd.estimate.identification.undetermined import Change, Undetermined
from myograd.estimate.parameters import Number
from myograd.models import model_path
from myograd.simulation.trajectory import Trajectory
from myograd.studies import _identification_figures, _reaching_figures
from myograd.studies.identification import Run as Fitted
from myograd.studies.reaching import Record, Task
from myograd.system.state import State
from myograd.tools.identification import Estimate
from pages import ENOUGH, check_page, different, overprinted, pixels, texts

Run = Callable[..., tuple[int, str, str]]
DOCS = Path(__file__).resolve().parents[2] / "docs"
BAD = "<script>alert(1)</script>"
WORSE = "<b>vasti</b> & <img src='https://example.org/x.png' onerror='alert(2)'>"
ALLOWED = (
    "<script>alert(3)<script>",
    "<b>iliopsoas&lt;<img>",
)  # names without spaces and slashes, which no file may have
# A clock that the test turns: what would be drawn next is drawn when it says so.
CLOCK = """
window.waiting = [];
window.requestAnimationFrame = draw => window.waiting.push(draw);
window.tick = now => { for (const draw of window.waiting.splice(0)) draw(now); };
"""


def shown_names(page: Page) -> list[str]:
    return page.evaluate(
        "[...document.querySelectorAll('text[class^=legend]:not([class*=title])')].map(x => x.textContent)"
    )


def check_names(page: Page, *names: str, model: str = BAD) -> None:
    """That names are shown as they are, in the title and in figures, and have become no elements."""
    assert page.evaluate("document.title").startswith(f"{model}: ")
    assert page.evaluate("document.querySelector('h1').textContent") == page.evaluate("document.title")
    said = page.evaluate(
        "document.body.innerText + [...document.querySelectorAll('text')].map(x => x.textContent).join()"
    )
    assert [name for name in names if name not in said] == []
    assert page.evaluate("document.querySelectorAll('main img, main b').length") == 0


# The instrument ----------------------------------------------------------------------------------------------


def test_a_bad_page_is_noticed(browser: Browser, tmp_path: Path):
    """The tests below can fail: an error, a dialog, a request, and a curve that cannot be seen."""
    sweep_page.write_plot([curve("knee", "rotational")], tmp_path / "good.html")
    script = """<script>
        console.error('wrong'); alert('stop'); setTimeout(() => { throw new Error('lost') });
        document.querySelector('g.trace').remove();
        </script><img src='http://example.org/x.png'></body>"""
    text = (tmp_path / "good.html").read_text()
    (tmp_path / "bad.html").write_text(text.replace("</body>", script))
    page = browser.open(tmp_path / "bad.html")
    errors = "\n".join(page.errors())
    assert all(word in errors for word in ("wrong", "a dialog: stop", "lost"))
    assert page.requests() == ["http://example.org/x.png"]
    assert sum(count < ENOUGH for count in pixels(page).values()) == 1


# The demo ----------------------------------------------------------------------------------------------------


def test_demo(run: Run, request: pytest.FixtureRequest, measured: Callable[..., None], tmp_path: Path):
    target, picture = tmp_path / "demo.html", tmp_path / "demo.svg"
    code, out, _ = run("demo", "--out", target, "--picture", picture)
    assert code == 0
    drift = re.search(r"energy drift (\S+) of", out)
    assert drift and float(drift[1]) < 1e-7
    assert str(target) in out
    assert picture.read_text().startswith("<svg")
    browser: Browser = request.getfixturevalue("browser")  # what is above needs none
    page = browser.open(target, CLOCK)
    curves = 2 + 3 + 4 + 5  # bones and muscles, angles, energies, muscles that cross the knee
    check_page(page, curves)

    said = "[document.getElementById('play').textContent, document.getElementById('clock').textContent]"
    assert page.evaluate("window.waiting.length") == 0  # it waits to be started
    assert page.evaluate(said) == ["play", "0.00 s"]
    leg = page.evaluate(
        "(({x, y, width, height}) => ({x, y, width, height}))(document.getElementById('figure-1').getBoundingClientRect())"
    )
    before = page.screenshot(leg)
    page.evaluate("document.getElementById('play').click(); window.tick(7000)")
    assert page.evaluate(said) == ["pause", "0.00 s"]
    page.evaluate("window.tick(8000)")
    assert page.evaluate(said) == ["pause", "1.00 s"]  # a second later, a second has gone by
    assert different(page, before, page.screenshot(leg)) > 100
    page.evaluate("document.getElementById('play').click(); window.tick(8040)")
    assert page.evaluate(said) == ["play", "1.00 s"]
    page.evaluate("document.getElementById('play').click(); window.tick(20000); window.tick(23960)")
    assert page.evaluate(said) == ["pause", "4.96 s"]
    page.evaluate("window.tick(30000)")
    assert page.evaluate(said) == ["play", "5.00 s"]
    assert page.evaluate("window.waiting.length") == 0
    measured("fewest pixels of a curve after playing", check_page(page, curves), "px")

    drawn = texts(browser.open(picture))
    assert {"hamstrings", "knee flexion [°]"} <= {it.text for it in drawn}
    assert overprinted(drawn) == []


@pytest.mark.parametrize("name", sorted(path.name for path in (DOCS / "img").glob("*.svg")))
def test_labels_of_pictures_do_not_cover_each_other(browser: Browser, name: str):
    drawn = texts(browser.open(DOCS / "img" / name))
    assert drawn
    assert overprinted(drawn) == []


# Moment arms, simulations ------------------------------------------------------------------------------------


def curve(coordinate: str, motion: str, muscles: tuple[str, ...] = ("a", "b")) -> Curve:
    values = np.linspace(0.0, 1.0, 5)
    arms = np.outer(1 + values, 0.01 * np.arange(1, len(muscles) + 1))
    return Curve(BAD, coordinate, motion, values, muscles, arms, 0.2 - arms)


def test_moment_arms(browser: Browser, tmp_path: Path):
    first, second = curve(BAD, "rotational", ("a", WORSE)), curve("slide", "translational", ("a", "b", "unknown"))
    first = replace(first, opensim_arms=first.arms + 1e-3, opensim_lengths=first.lengths + 1e-3)
    second = replace(second, opensim_arms=second.arms + 1e-3, opensim_lengths=second.lengths + 1e-3)
    second.arms[:, 2] = np.nan
    second.arms[0, 1] = np.nan
    sweep_page.write_plot([first, second], tmp_path / "arms.html")
    page = browser.open(tmp_path / "arms.html")
    check_page(page, curves=2 * 2 * 2)
    check_names(page, BAD, WORSE, f"{BAD} [°], 0 to 57.3", "moment arm [mm]", "length [mm]")
    assert shown_names(page) == ["a", WORSE]
    page.evaluate(
        "(plot => Plotly.update(plot, ...plot.layout.updatemenus[0].buttons[1].args).then(() => true))"
        "(document.getElementById('figure-1'))"
    )
    check_page(page, curves=2 * 2 * 2)
    check_names(page, "slide [m], 0 to 1", "moment arm [mm/mm]", "no path at rest was found: b, unknown.")


def test_simulation(browser: Browser, tmp_path: Path):
    file = tmp_path / "leg.osim"
    text = model_path("planar_leg").read_text()
    for old, new in zip(("planar_leg", "iliopsoas"), ALLOWED, strict=True):
        text = text.replace(f'name="{old}"', f"name={quoteattr(new)}")
    file.write_text(text)
    model = myograd.load_model(file)
    muscles, coordinates = len(model.muscle_names), len(model.coordinate_names)
    still = jnp.zeros(coordinates)
    fibers = jnp.full(muscles, 0.1).at[-1].set(jnp.nan)  # a tendon that does not stretch
    time = jnp.linspace(0.0, 1.0, 11)
    states = jax.tree.map(
        lambda x: jnp.asarray(x) + time.reshape(-1, *[1] * jnp.ndim(x)),
        State(still, still, jnp.full(muscles, 0.1), fibers),
    )
    moved = Trajectory(time, states, jnp.zeros((11, muscles)), 20, 3)
    simulation_plot.write_plot(model, moved, tmp_path / "motion.html")
    page = browser.open(tmp_path / "motion.html")
    check_page(page, curves=coordinates + 2 * muscles - 1)
    check_names(
        page,
        ALLOWED[1],
        "angles [°]",
        "activation [1]",
        "time [s]",
        "0 to 1 s, 11 times, 20 steps (3 rejected)",
        model=ALLOWED[0],
    )
    assert shown_names(page) == [*model.coordinate_names, *model.muscle_names]
    assert ALLOWED[1] in model.muscle_names


# Identification ----------------------------------------------------------------------------------------------


def test_report(browser: Browser, tmp_path: Path):
    names = [f"muscle_{i}.tendon_slack_length" for i in range(70)]
    estimates = [
        Estimate(name, "m", 0.1, 0.1 + 0.001 * (i % 7), 0.09, 0.12, Verdict.WELL_DETERMINED)
        for i, name in enumerate([*names, WORSE])
    ]
    estimates.append(Estimate("ulna.inertia.xy", "kg m^2", 0.0, 1e-3, 0.0, 2e-3, Verdict.POORLY_DETERMINED))
    mass, slack = Number("ulna.mass", "ulna", "mass", "kg"), Number(WORSE, "", "tendon_slack_length", "m")
    open_ = Undetermined((Change(mass, 0.6, 0.12), Change(slack, -0.1, -0.02)), 2, "needs faster movements")
    report = Report(
        model=BAD,
        words=[f"Identifiable: {WORSE}."],
        estimates=estimates,
        owners=["muscle"] * 70 + ["", "ulna"],
        history=[(1.0 / k, np.full(72, 1.0 + 1 / k)) for k in (1, 2, 3)],
        singular=np.array([1e3, 10.0, 0.1]),
        undetermined=[open_],
        unexplained={"fitted movement 1": (np.arange(4.0), np.array([0.1, 0.2, 0.1, 0.3]))},
    )
    write_report(report, tmp_path / "report.html")
    page = browser.open(tmp_path / "report.html")
    check_page(page, curves=2 + 1 + 2 + 1)  # of two owners, singular values, convergence, what is left
    together = f"ulna.mass up 20 %, {WORSE} down 0.02 m (and 2 more)"
    check_names(page, WORSE, together, "needs faster movements", "ulna.inertia.xy", "residual [rad/s²]")
    ticks = texts(page, "#figure-1 .ytick text")
    assert [it.text for it in ticks] == [*names, WORSE]  # those that were not zero before, all of them
    assert overprinted(ticks) == []


# Studies -----------------------------------------------------------------------------------------------------


def test_study_of_identification(browser: Browser, tmp_path: Path):
    fits = [
        Fitted(
            data=BAD.replace("/", ""),
            method=method,
            fibers=FiberSource.RECORDED,
            start=k,
            spread=0.1,
            seconds=1.0,
            loss=0.1,
            converged=True,
            iterations=3,
            scores=Scores(1.0, 2.0 + k, 3.0 + k, 1.0, 1.0, 1.0, 2),
            unseen=1.0,
            tendon=1.0,
            errors=[[10.0 + k, 20.0], [5.0 + 2 * k, 8.0 + k], [1.0 + k, 2.0 + k]],
        )
        for method in ("M1", "M2")
        for k in range(4)
    ]
    source = fits[0].data
    names = {f"{source} {method} {FiberSource.RECORDED}": ["mass", WORSE] for method in ("M1", "M2")}
    _identification_figures.figures(tmp_path, fits, names)
    page = browser.open(tmp_path / f"figures-{source}.html")
    check_page(page, curves=2 * (2 + 2) + 2 * 2 * 2)  # bands, medians, boxes; bands and medians of each parameter
    assert page.evaluate("document.title") == f"identification study: {source}"
    assert WORSE in {it.text for it in texts(page)}


def test_study_of_reaching(browser: Browser, tmp_path: Path):
    model = myograd.load_model(model_path("double_pendulum"))
    task = Task("torques", np.asarray, np.asarray, np.zeros(2), 1.0)
    records = [
        Record(name, task, cost=[1.0, 0.5, 0.1 * k], error=[1.0, 0.5, 0.1], seconds=[1.0, 2.0, 3.0])
        for k, name in enumerate(("exact", "CMA-ES"), 1)
    ]
    time = jnp.linspace(0.0, 1.0, 11)
    path = jnp.stack([time, time**2, 0.5 * time], axis=1)
    n = len(model.control_names)
    state = State(jnp.zeros(2), jnp.zeros(2), jnp.zeros(n), jnp.zeros(n))
    moved = Trajectory(time, state, jnp.outer(time, jnp.arange(1.0, n + 1)), 1, 0)
    _reaching_figures.write_convergence(tmp_path, task, records)
    _reaching_figures.write_path(tmp_path, task, moved, path, 0.5 * path, path[-1])
    _reaching_figures.write_excitations(tmp_path, model, moved)
    for name, curves in (("torques_convergence", 2), ("torques_hand", 2 * 3), ("excitations", n)):
        page = browser.open(tmp_path / f"{name}.html")
        check_page(page, curves)
        assert page.evaluate("document.title").startswith("reaching study")
