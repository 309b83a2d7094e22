"""The bill of materials, and workflows that a forge runs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def test_the_bill_has_every_package_of_the_lock_with_its_digests():
    command = [sys.executable, str(ROOT / ".ci/sbom.py")]
    bill = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    lock = (ROOT / "requirements.lock").read_text()
    pins = re.findall(r"^([\w.-]+)(?:\[.*?\])?==([^\s;]+)", lock, re.MULTILINE)

    assert [(each["name"], each["version"]) for each in bill["components"]] == [
        (name.lower().replace("_", "-"), version) for name, version in pins
    ]
    assert sum(len(each["properties"]) for each in bill["components"]) == lock.count("--hash=")
    assert len({each["bom-ref"] for each in bill["components"]}) == len(pins) > 100


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_asks_for_little_and_runs_what_is_there(path):
    found = yaml.safe_load(path.read_text())

    assert found["permissions"] == {"contents": "read"}
    assert "secrets." not in path.read_text()
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for job in found["jobs"].values():
        assert job["timeout-minutes"] <= 90
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step), step
            assert not re.search(r"\$\{\{.*github\.", step.get("run", "")), step  # as shell code
            for target in re.findall(r"\bmake (\w+)", step.get("run", "")):
                assert target in targets


def test_only_the_last_step_of_a_release_may_publish():
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]

    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "permissions" not in jobs["build"]
    assert [step["uses"].partition("@")[0] for step in jobs["publish"]["steps"]] == [
        "actions/download-artifact",
        "pypa/gh-action-pypi-publish",
    ]


def test_the_action_of_the_gate_passes_its_inputs_as_variables():
    action = yaml.safe_load((ROOT / ".github/actions/gate/action.yml").read_text())

    for step in action["runs"]["steps"]:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]
