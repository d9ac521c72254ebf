"""What a type checker and an editor see of the public names, and that it is what there is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import front_door
import myograd

USER_CODE = """
import numpy as np
import myograd as mg

model = mg.load_model(mg.models.model_path("planar_leg"))
q = mg.pose(model, knee_flexion=60 * mg.deg)
arms = mg.moment_arms(model, [0.1, 0.2, 0.3])
more = mg.moment_arms(model, np.zeros(3))
reveal_type(mg.moment_arms)
reveal_type(arms)
reveal_type(mg.load_model)
reveal_type(mg.simulate(model).state.q)
reveal_type(mg.tools)
mg.no_such_name
mg.moment_arms(model, "knee")
mg.moment_arms(q)
"""


def test_the_stub_is_up_to_date():
    assert front_door.STUB.read_text() == front_door.stub(), "run scripts/front_door.py"


def test_every_public_name_is_in_the_stub():
    text = front_door.STUB.read_text()
    found = set(re.findall(r"^def (\w+)|import \w+ as (\w+)", text, re.MULTILINE))
    assert {a or b for a, b in found} == {*myograd.__all__, "models", "tools"}


def test_a_type_checker_sees_what_a_user_writes(tmp_path: Path):
    (tmp_path / "user.py").write_text(USER_CODE)
    (tmp_path / "pyrightconfig.json").write_text(
        json.dumps({"typeCheckingMode": "basic", "extraPaths": [str(front_door.PACKAGE.parent)]})
    )
    run = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable, "user.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    told = {
        item["range"]["start"]["line"]: (item["severity"], item["message"])
        for item in json.loads(run.stdout)["generalDiagnostics"]
        if item["severity"] in ("error", "information")
    }
    lines = USER_CODE.splitlines()
    by_code = {lines[line]: what for line, what in told.items()}
    assert '"(model: Model, q: Array | ndarray' in by_code["reveal_type(mg.moment_arms)"][1]
    assert "Array" in by_code["reveal_type(arms)"][1]
    assert "-> Model" in by_code["reveal_type(mg.load_model)"][1]
    assert "Array" in by_code["reveal_type(mg.simulate(model).state.q)"][1]
    assert "Module" in by_code["reveal_type(mg.tools)"][1]
    errors = [code for code, (severity, _) in by_code.items() if severity == "error"]
    assert errors == ["mg.no_such_name", 'mg.moment_arms(model, "knee")', "mg.moment_arms(q)"]


def test_names_can_be_completed():
    assert {"moment_arms", "models", "tools", "__version__"} <= set(dir(myograd))
    assert myograd.models.names()
    assert myograd.tools.identify
