"""The command `gate` as CI calls it: exit codes, and where the scores go."""

import json

import pytest

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
def gate(call, store):
    """Gate a suite here, and return how it ended."""
    return lambda *words: call("gate", *words, "--local")


def test_a_suites_way_through_the_gate(gate, tmp_path):
    """Nothing to compare with: 3. The same again: 0. A planted crash: 2."""
    suites = tmp_path / "conf" / "suites"
    suites.mkdir(parents=True)
    (suites / "small.yaml").write_text(SUITE)

    assert gate("small").code == 3
    assert gate("small", "--update-baseline").code == 0
    assert (tmp_path / "conf" / "baselines" / "small.json").is_file()
    assert gate("small").code == 0

    (tmp_path / "broken.py").write_text(BROKEN)
    crash = SUITE.replace("[vanilla]", "[vanilla, 'broken.py:Broken']")
    (suites / "small.yaml").write_text(crash)
    ended = gate("small")
    assert (ended.code, "planted" in ended.out) == (2, True)


def test_without_accepted_scores_nothing_runs_and_the_verdict_says_why(gate, tmp_path):
    (tmp_path / "small.yaml").write_text(SUITE)
    ended = gate("small.yaml")
    assert not (tmp_path / "runs").exists()
    missing = f"no accepted scores at {tmp_path / 'baselines' / 'small.json'}"
    assert (ended.code, missing in ended.out.replace("\\_", "_")) == (3, True)


def test_a_failed_store_does_not_pass_the_gate(gate, tmp_path, monkeypatch):
    """The scores are accepted and compared all the same, and a regression weighs more."""
    monkeypatch.setattr(recorder, "RETRY_SECONDS", (0.01,))
    (tmp_path / "conf" / "suites").mkdir(parents=True)
    (tmp_path / "conf" / "suites" / "small.yaml").write_text(SUITE)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'file' / 'mlflow.db'}")

    assert gate("small", "--update-baseline").code == 2
    baseline = tmp_path / "conf" / "baselines" / "small.json"
    assert baseline.is_file()
    ended = gate("small")
    assert (ended.code, "the next run logs what is missing" in ended.err) == (2, True)

    accepted = json.loads(baseline.read_text())
    for scenario in accepted["scenarios"]:
        scenario["scores"] = {seed: score / 2 for seed, score in scenario["scores"].items()}
    baseline.write_text(json.dumps(accepted))
    assert gate("small").code == 1


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


def test_a_group_is_gated_as_one_with_its_requirements(gate, group, tmp_path):
    assert gate("all", "--update-baseline").code == 0
    accepted = json.loads((group.parent / "baselines" / "all.json").read_text())
    assert [one["name"] for one in accepted["scenarios"]] == ["average", "running-mean", "vanilla"]

    ended = gate("all")
    assert ended.code == 0
    assert "3 scenarios compared (3 same), 2 requirements (2 met)" in ended.out
    assert (tmp_path / "runs" / "arms" / "results.parquet").is_file()

    (group / "all.yaml").write_text(PARTS["all"].replace("streams, ", ""))
    assert gate("all").code == 1, "a suite of it is gone"
    (group / "all.yaml").write_text(PARTS["all"])

    (group / "arms.yaml").write_text(PARTS["arms"].replace("0.25", "0.5"))
    assert gate("all").code == 1, "it is broken"
    ended = gate("all", "--update-baseline")
    assert (ended.code, "requirement exploitation.arm1 of average" in ended.err) == (2, True)
    assert gate("arms").code == 1, "broken, though nothing is accepted of this one"
