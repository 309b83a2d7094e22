import json
import sys
from pathlib import Path

import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.benches.pulls import PullsBench
from leaseboard.algorithms.errors import LeaseboardError, SkipError
from leaseboard.algorithms.events import Finished, TrialFinished
from leaseboard.tasks.evaluate.peers import program, venv
from leaseboard.tasks.evaluate.peers.trials import PeerTrials, as_trials
from leaseboard.tasks.evaluate.trials.evaluate import Arrays, Fold
from leaseboard.tasks.evaluate.trials.replay import Protocol
from leaseboard.tasks.store.recorded import Store

SYSTEM = """
import json, pathlib, sys, time
folder = pathlib.Path(sys.argv[2])
request = json.loads((folder / "request.json").read_text())
counter = pathlib.Path({counter!r})
counter.write_text(counter.read_text() + "x" if counter.exists() else "x")
{misbehave}
tried = [
    {{"reward": 0.5, "end": 1.0, "parameters": {{"learner": "a"}}}},
    {{"reward": None, "end": 2.0, "parameters": {{"learner": "b"}}, "reason": "INVALID"}},
    {{"reward": 0.75, "end": 4.0, "parameters": {{"learner": "c"}}}},
]
answer = {{"tried": tried, "test": 0.7, "wall_seconds": 8.0, "cpu_seconds": 2.0}}
(folder / "answer.json").write_text(json.dumps(answer))
"""


def arrays():
    X, y = np.zeros((4, 2), dtype=np.float32), np.array([0, 1, 0, 1])
    return Arrays("classification", (Fold(X, y, X, y, X, y),))


@pytest.fixture
def peer(tmp_path, monkeypatch):
    """Makes the trials of a stand-in for FLAML, and counts its runs."""
    monkeypatch.setattr(venv, "python", lambda _: Path(sys.executable))

    def make(misbehave="", *, budget=10.0, unit="trials", seed=1, patience=60.0):
        script = tmp_path / "system.py"
        script.write_text(SYSTEM.format(counter=str(tmp_path / "runs"), misbehave=misbehave))
        monkeypatch.setattr(program, "__file__", str(script))
        return PeerTrials(
            "flaml", Protocol(digest="d", split={}, encoding={}, code=()), arrays,
            budget=budget, unit=unit, seed=seed, store=Store(tmp_path / "store.sqlite"),
            trial_seconds=5.0, patience=patience,
        )  # fmt: skip

    make.runs = lambda: len((tmp_path / "runs").read_text())
    return make


def play_on(trials, budget=10.0, unit="trials"):
    bench = PullsBench(trials, budget, unit, 0)
    return list(play("flaml", registry.build("flaml"), bench, 0))


def test_a_peer_runs_once_and_is_replayed(peer):
    first = play_on(peer())
    again = play_on(peer())

    assert again == first
    assert peer.runs() == 1
    play_on(peer(seed=2))
    assert peer.runs() == 2


def test_a_peer_ends_by_itself_and_its_best_trial_is_the_score(peer):
    *_, finished = play_on(peer())

    assert isinstance(finished, Finished)
    assert finished.reason == "algorithm stopped"
    assert (finished.score, finished.metrics["test"]) == (0.75, 0.7)
    assert finished.metrics["failed_trials"] == 1


def test_the_cpu_time_is_shared_by_wall_time(peer):
    trials = [e for e in play_on(peer()) if isinstance(e, TrialFinished)]

    assert [t.wall_seconds for t in trials] == [1.0, 1.0, 2.0]
    assert [t.cpu_seconds for t in trials] == [0.25, 0.25, 0.5]
    assert [(t.status, t.reason) for t in trials] == [("ok", ""), ("crash", "INVALID"), ("ok", "")]
    assert [t.test for t in trials] == [None, None, 0.7]


def test_a_budget_in_seconds_cuts_what_came_too_late(peer):
    *_, finished = play_on(peer(budget=0.4, unit="cpu_seconds"), 0.4, "cpu_seconds")

    assert finished.score == 0.5


def test_a_peer_that_fails_says_its_last_word(peer):
    with pytest.raises(LeaseboardError, match="flaml ended with exit code 3: no licence"):
        play_on(peer("print('no licence'); sys.exit(3)"))


def test_a_peer_that_hangs_is_ended(peer):
    with pytest.raises(
        LeaseboardError, match=r"flaml: over the limit of 0\.5 s of wall time: lower the budget"
    ):
        play_on(peer("time.sleep(60)", patience=0.5))


def test_where_it_is_not_installed_a_job_is_skipped(monkeypatch, tmp_path):
    monkeypatch.setattr(venv, "cache_dir", lambda: tmp_path)

    with pytest.raises(SkipError, match="leaseboard peers install tpot"):
        PeerTrials(
            "tpot", Protocol(digest="d", split={}, encoding={}, code=()), arrays,
            budget=1, unit="trials", seed=0, store=Store(tmp_path / "store.sqlite"),
            trial_seconds=5.0, patience=1.0,
        )  # fmt: skip


def test_a_peer_may_have_tried_nothing():
    assert as_trials({"tried": [], "test": 0.5, "wall_seconds": 0.0, "cpu_seconds": 0.0}) == []


def test_the_program_answers_with_what_the_system_tried(tmp_path, monkeypatch):
    class Ones:
        def predict(self, rows):
            return np.ones(len(rows), dtype=int)

    def system(data, request, _folder):
        assert {name.partition("_")[0] for name in data} == {"train", "validation", "test"}
        tried = [{"reward": np.float64(0.5), "end": 0.1, "parameters": {"n": np.int64(7)}}]
        return tried, Ones()

    X, y = np.zeros((4, 2)), np.array([0, 1, 1, 1])
    np.savez(tmp_path / "data.npz", train_x=X, train_y=y, validation_x=X, validation_y=y,
             test_x=X, test_y=y)  # fmt: skip
    (tmp_path / "request.json").write_text('{"seed": 7}')
    monkeypatch.setitem(program.SYSTEMS, "ours", system)

    program.main("ours", tmp_path)

    answer = json.loads((tmp_path / "answer.json").read_text())
    assert answer["tried"] == [{"reward": 0.5, "end": 0.1, "parameters": {"n": 7}}]
    assert answer["test"] == 0.75
    assert answer["cpu_seconds"] > 0
