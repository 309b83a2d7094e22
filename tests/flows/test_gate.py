"""The commands `gate` and `accept` as CI calls them: exit codes, and where the scores go."""

import json

import pytest

from flows.cli import main
from tasks.track import recorder

SUITE = """
title: small
data: ["synthetic:fried?rows=300&seed=0"]
algorithms: [vanilla]
repetitions: 2
"""
BROKEN = """
from pydantic.dataclasses import dataclass
from algorithms.base import Algorithm

@dataclass(frozen=True, kw_only=True)
class Broken(Algorithm):
    bench = "stream"

    def run(self, bench, seed):
        raise RuntimeError("planted")
        yield
"""


@pytest.fixture
def leaseboard(tmp_path, monkeypatch, empty_store):
    """Runs a command in an empty folder and returns its exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LEASEBOARD_CONF", raising=False)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{empty_store}")

    def call(*arguments):
        with pytest.raises(SystemExit) as end:
            main([*arguments, "--local", "--workers", "1"])
        return end.value.code

    return call


def test_a_suites_way_through_the_gate(leaseboard, tmp_path, capsys):
    """Nothing to compare with: 3. The same again: 0. A planted crash: 2."""
    suites = tmp_path / "conf" / "suites"
    suites.mkdir(parents=True)
    (suites / "small.yaml").write_text(SUITE)

    assert leaseboard("gate", "small") == 3
    assert leaseboard("accept", "small") == 0
    assert (tmp_path / "conf" / "baselines" / "small.json").is_file()
    assert leaseboard("gate", "small") == 0

    (tmp_path / "broken.py").write_text(BROKEN)
    crash = SUITE.replace("[vanilla]", "[vanilla, 'broken.py:Broken']")
    (suites / "small.yaml").write_text(crash)
    assert leaseboard("gate", "small") == 2
    assert "planted" in capsys.readouterr().out


def test_a_store_in_trouble_is_no_pass(leaseboard, tmp_path, monkeypatch, capsys):
    """The scores are accepted and compared all the same, and a regression weighs more."""
    monkeypatch.setattr(recorder, "RETRY_SECONDS", (0.01,))
    (tmp_path / "conf" / "suites").mkdir(parents=True)
    (tmp_path / "conf" / "suites" / "small.yaml").write_text(SUITE)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'file' / 'mlflow.db'}")

    assert leaseboard("accept", "small") == 2
    baseline = tmp_path / "conf" / "baselines" / "small.json"
    assert baseline.is_file()
    assert leaseboard("gate", "small") == 2
    assert "the next run logs what is missing" in capsys.readouterr().err

    accepted = json.loads(baseline.read_text())
    for scenario in accepted["scenarios"]:
        scenario["scores"] = {seed: score / 2 for seed, score in scenario["scores"].items()}
    baseline.write_text(json.dumps(accepted))
    assert leaseboard("gate", "small") == 1
