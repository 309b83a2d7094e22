"""The command `gate` as CI calls it: exit codes, and where the scores go."""

import json
import shutil

import pytest

from leaseboard.flows.cli import main
from leaseboard.tasks.track import tracker as recorder

SUITE = """
title: small
data: ["synthetic:fried?rows=300&seed=0"]
baselines: false
algorithms: [vanilla]
repetitions: 2
"""
BROKEN = """
from pydantic.dataclasses import dataclass
from leaseboard.algorithms.base import Algorithm

@dataclass(frozen=True, kw_only=True)
class Broken(Algorithm):
    environment = "stream"

    def run(self, env, seed):
        raise RuntimeError("planted")
        yield
"""


@pytest.fixture
def leaseboard(tmp_path, monkeypatch, empty_store):
    """Run a command in an empty folder and returns its exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{shutil.copy(empty_store, tmp_path)}")

    def call(*arguments):
        with pytest.raises(SystemExit) as end:
            main([*arguments, "--local"])
        return end.value.code

    return call


def test_a_suites_way_through_the_gate(leaseboard, tmp_path, capsys):
    """Nothing to compare with: 3. The same again: 0. A planted crash: 2."""
    suites = tmp_path / "conf" / "suites"
    suites.mkdir(parents=True)
    (suites / "small.yaml").write_text(SUITE)

    assert leaseboard("gate", "small") == 3
    assert leaseboard("gate", "small", "--update-baseline") == 0
    assert (tmp_path / "conf" / "baselines" / "small.json").is_file()
    assert leaseboard("gate", "small") == 0

    (tmp_path / "broken.py").write_text(BROKEN)
    crash = SUITE.replace("[vanilla]", "[vanilla, 'broken.py:Broken']")
    (suites / "small.yaml").write_text(crash)
    assert leaseboard("gate", "small") == 2
    assert "planted" in capsys.readouterr().out


def test_without_accepted_scores_nothing_runs_and_every_form_says_why(
    leaseboard, tmp_path, capsys
):
    (tmp_path / "small.yaml").write_text(SUITE)
    assert leaseboard("gate", "small.yaml", "--json") == 3
    assert not (tmp_path / "runs").exists()
    missing = f"no accepted scores at {tmp_path / 'baselines' / 'small.json'}"
    written = json.loads(capsys.readouterr().out)
    assert written["exit_code"] == 3
    assert missing in written["headline"]
    assert leaseboard("gate", "small.yaml") == 3
    assert missing in capsys.readouterr().out.replace("\\_", "_")


def test_a_failed_store_does_not_pass_the_gate(leaseboard, tmp_path, monkeypatch, capsys):
    """The scores are accepted and compared all the same, and a regression weighs more."""
    monkeypatch.setattr(recorder, "RETRY_SECONDS", (0.01,))
    (tmp_path / "conf" / "suites").mkdir(parents=True)
    (tmp_path / "conf" / "suites" / "small.yaml").write_text(SUITE)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'file' / 'mlflow.db'}")

    assert leaseboard("gate", "small", "--update-baseline") == 2
    baseline = tmp_path / "conf" / "baselines" / "small.json"
    assert baseline.is_file()
    assert leaseboard("gate", "small") == 2
    assert "the next run logs what is missing" in capsys.readouterr().err

    accepted = json.loads(baseline.read_text())
    for scenario in accepted["scenarios"]:
        scenario["scores"] = {seed: score / 2 for seed, score in scenario["scores"].items()}
    baseline.write_text(json.dumps(accepted))
    assert leaseboard("gate", "small") == 1


PARTS = {
    "streams": """
title: streams
data: ["synthetic:fried?rows=300&seed=0"]
baselines: false
algorithms: [vanilla, running-mean]
requirements:
  - {algorithm: running-mean, metric: units, at_most: 300, reason: each row}
""",
    "arms": """
title: arms
data: ["synthetic:rising-arms?rows=9"]
baselines: false
algorithms: [average]
budget: 8
environment: {protocol: curves}
requirements:
  - {algorithm: average, metric: exploitation.arm1, equals: 0.25, reason: each arm in turn}
""",
    "all": "title: all\nsuites: [streams, arms]\n",
}


@pytest.fixture
def group(tmp_path):
    """Return a group of two suites with requirements, each on an environment of its own."""
    suites = tmp_path / "conf" / "suites"
    suites.mkdir(parents=True)
    for name, text in PARTS.items():
        (suites / f"{name}.yaml").write_text(text)
    return suites


def test_a_group_is_gated_as_one_with_its_requirements(leaseboard, group, tmp_path, capsys):
    assert leaseboard("gate", "all", "--update-baseline") == 0
    accepted = json.loads((group.parent / "baselines" / "all.json").read_text())
    assert [one["name"] for one in accepted["scenarios"]] == ["average", "running-mean", "vanilla"]
    capsys.readouterr()

    assert leaseboard("gate", "all", "--json") == 0
    written = json.loads(capsys.readouterr().out)
    assert "3 scenarios compared (3 same), 2 requirements (2 met)" in written["headline"]
    assert {one["measured"] for one in written["requirements"]} == {300.0, 0.25}
    assert (tmp_path / "runs" / "arms" / "results.parquet").is_file()

    (group / "all.yaml").write_text(PARTS["all"].replace("streams, ", ""))
    assert leaseboard("gate", "all") == 1, "a suite of it is gone"
    (group / "all.yaml").write_text(PARTS["all"])

    (group / "arms.yaml").write_text(PARTS["arms"].replace("0.25", "0.5"))
    assert leaseboard("gate", "all") == 1, "it is broken"
    capsys.readouterr()
    assert leaseboard("gate", "all", "--update-baseline") == 2
    assert "requirement exploitation.arm1 of average" in capsys.readouterr().err
    assert leaseboard("gate", "arms") == 1, "broken, though nothing is accepted of this one"
