import pytest

from benchmarks import policies
from leaseboard.algorithms.errors import UsageError


def test_every_policy_is_simulated_and_er_ucb_leads_its_own_problem():
    rows = {row.name: row for row in policies.simulated(repeats=20)}

    assert {"er-ucb", "c-ucb", "c-ucb (20 x mean)", "max-ucb", "rising-bandits"} <= set(rows)
    assert "tpe-joint" not in rows  # it chooses no arms
    assert rows["er-ucb"].most == 1.0
    assert rows["er-ucb"].first[0] == pytest.approx(0.89, abs=0.02)
    assert rows["c-ucb (20 x mean)"].first[0] < 0.05


def test_decisions_are_timed_for_policies_alone():
    assert 0 < policies.decisions(["average"], pulls=50)["average"] < 5000
    with pytest.raises(UsageError, match="tpe-joint decides over no arms"):
        policies.decisions(["tpe-joint"])


def test_replays_run_nothing_again():
    found = policies.replayed("sklearn:wine", 20, ("average", "max-ucb"))

    assert list(found.replays) == ["average", "max-ucb"]
    assert all(0 < spent < found.fresh for spent in found.replays.values())


def test_the_command_prints_every_figure(monkeypatch):
    monkeypatch.setattr(policies, "TEN", ("average", "ucb"))
    replayed = policies.Replayed(2.0, {"average": 0.01, "ucb": 0.02})
    monkeypatch.setattr(policies, "replayed", lambda *_: replayed)
    said = []

    assert policies.main(["--repeats", "2"], said.append) == 0

    text = "\n".join(said)
    assert "ucb                           0.020 CPU s replayed, 1.00% of that" in text
    assert "all replayed: 0.03 CPU s" in text
