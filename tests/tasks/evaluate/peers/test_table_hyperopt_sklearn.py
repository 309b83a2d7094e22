import multiprocessing
import os
import subprocess
import sys
import time
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from leaseboard.tasks.evaluate.peers import table_hyperopt_sklearn
from leaseboard.tasks.evaluate.peers.table_hyperopt_sklearn import TrialsInTime
from leaseboard.tasks.evaluate.peers.table_program import spent_seconds


class StandInSearch:
    """A stand-in for the search of hyperopt-sklearn: what each trial does is given."""

    def __init__(self, *does, seconds=0.5):
        self.does = list(does)
        self.seconds = seconds
        self.failed = 0
        self.seeds = []
        self.starts = []
        self.learner = None
        self.trials = SimpleNamespace(count_by_state_unsynced=lambda _: self.failed)

    def fit_iter(self, rows, labels, *, cv_shuffle, random_state, warm_start):
        assert np.isfinite(rows).all()
        assert cv_shuffle
        self.starts.append(warm_start)
        while True:
            yield
            self.seeds.append(os.environ["HYPEROPT_FMIN_SEED"])
            does = self.does.pop(0) if self.does else "wait"
            if does == "wait":
                until = time.process_time() + self.seconds
                while time.process_time() < until:
                    pass
            elif does == "fit":
                self.learner = DecisionTreeClassifier(random_state=0)
            else:
                if does == "killed":
                    self.child = multiprocessing.get_context("spawn").Process(target=os.getpid)
                    self.child.start()
                self.failed += does != "fault"
                raise ValueError("three classes")

    def best_model(self):
        return {"learner": self.learner, "preprocs": (StandardScaler(),)}


@pytest.fixture
def search(monkeypatch):
    """Searches a frame of a number and a category with gaps, and a boolean."""
    monkeypatch.setenv("HYPEROPT_FMIN_SEED", "")
    hyperopt = ModuleType("hyperopt")
    hyperopt.JOB_STATE_ERROR = 3
    monkeypatch.setitem(sys.modules, "hyperopt", hyperopt)
    n = np.arange(30)
    frame = pd.DataFrame(
        {
            "number": np.where(n % 7, n / 30, np.nan),
            "kind": pd.Categorical.from_codes(np.where(n % 11, n % 3, -1), list("xyz")),
            "even": n % 2 == 0,
        }
    )

    def run(trials, seconds=0.4):
        made = TrialsInTime(trials, SimpleNamespace(), spent_seconds, seconds, seed=7)
        made.fit(frame, n % 3)
        return made, frame, n % 3

    return run


def test_a_trial_that_raises_has_failed_and_the_search_goes_on(search):
    trials = StandInSearch("fit", "raise")

    made, frame, labels = search(trials)

    assert np.mean(made.predict(frame) == labels) > 0.8
    assert trials.starts == [False, True]
    assert len(set(trials.seeds)) == len(trials.seeds) == 3
    assert made.process.most == 1


def test_a_trial_that_was_killed_is_waited_for_so_that_its_seconds_count(search):
    trials = StandInSearch("fit", "killed")

    search(trials)

    assert trials.child._popen.returncode == 0


def test_seeds_of_trials_follow_from_the_seed(search):
    first, again = StandInSearch("fit", "fit"), StandInSearch("fit", "fit")
    search(first)
    search(again)

    assert first.seeds[:3] == again.seeds[:3]


def test_a_search_without_a_trial_that_ended_says_the_last_word(search):
    with pytest.raises(RuntimeError, match="failed or took too long: ValueError: three classes"):
        search(StandInSearch("raise"))
    with pytest.raises(RuntimeError, match="too long: no trial ended in time"):
        search(StandInSearch())


def test_an_error_of_the_search_itself_is_no_failed_trial(search):
    with pytest.raises(ValueError, match="three classes"):
        search(StandInSearch("fit", "fault"))


def test_a_trial_beyond_its_cpu_seconds_is_ended_and_that_is_noticed():
    program = f"""
import runpy
from multiprocessing import Pipe
def endless(_conn):
    while True:
        pass
made = runpy.run_path({table_hyperopt_sklearn.__file__!r})
trial = made["process_of_trials"]()
ours, theirs = Pipe()
process = trial(target=endless, kwargs={{"_conn": theirs}})
process.start()
assert ours.poll(None)
try:
    ours.recv()
except EOFError:
    process.join()
    print("ended", process.exitcode)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=600
    )

    assert done.stdout == "ended -9\n"


def test_counts_without_a_least_length_are_those_of_old(monkeypatch):
    monkeypatch.setattr(np, "bincount", np.bincount)
    table_hyperopt_sklearn._count_without_least()

    assert np.bincount([1, 1], None, None).tolist() == [0, 2]
    assert np.bincount([1], weights=[0.5], minlength=3).tolist() == [0, 0.5, 0]
