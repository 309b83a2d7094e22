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

from leaseboard.tasks.evaluate.frameworks import inside, table_hyperopt_sklearn
from leaseboard.tasks.evaluate.frameworks.table_hyperopt_sklearn import TrialsInTime


class StandInSearch:
    """A stand-in for the search of hyperopt-sklearn: what each trial does is given."""

    def __init__(self, *does, seconds=0.25):
        self.does = list(does)
        self.seconds = seconds
        self.seeds = []
        self.starts = []
        self.splits = []
        self.learner = None
        self.trials = SimpleNamespace(_dynamic_trials=[])

    def fit_iter(self, rows, labels, *, warm_start, **split):
        assert np.isfinite(rows).all()
        self.starts.append(warm_start)
        self.splits.append(split)
        while True:
            yield
            self.seeds.append(os.environ["HYPEROPT_FMIN_SEED"])
            does = self.does.pop(0) if self.does else "wait"
            trial = {"result": {"status": "ok", "loss": 0.25},
                     "misc": {"vals": {"depth": [3], "width": []}}}  # fmt: skip
            if does != "fault":
                self.trials._dynamic_trials.append(trial)
            if does == "wait":
                until = time.process_time() + self.seconds
                while time.process_time() < until:
                    pass
            elif does == "fit":
                self.learner = DecisionTreeClassifier(random_state=0)
            else:
                trial["result"] = {"status": "new"}
                if does == "killed":
                    self.child = multiprocessing.get_context("spawn").Process(target=os.getpid)
                    self.child.start()
                raise ValueError("three classes")

    def best_model(self):
        return {"learner": self.learner, "preprocs": (StandardScaler(),)}


@pytest.fixture
def search(monkeypatch):
    """Search a frame of a number and a category with gaps, and a boolean."""
    monkeypatch.setenv("HYPEROPT_FMIN_SEED", "")
    n = np.arange(30)
    frame = pd.DataFrame(
        {
            "number": np.where(n % 7, n / 30, np.nan),
            "kind": pd.Categorical.from_codes(np.where(n % 11, n % 3, -1), list("xyz")),
            "even": n % 2 == 0,
        }
    )

    def run(trials, seconds=0.2):
        made = TrialsInTime(trials, SimpleNamespace(), inside.spent_seconds, seconds, seed=7)
        made.fit(frame, n % 3)
        return made, frame, n % 3

    return run


@pytest.fixture
def trials(monkeypatch):
    """Return a search of arrays with four trials that do what is given."""
    monkeypatch.setenv("HYPEROPT_FMIN_SEED", "")
    monkeypatch.setattr(np, "bincount", np.bincount)  # given back after the test
    sklearn, hyperopt = ModuleType("hpsklearn"), ModuleType("hyperopt")
    sklearn.any_classifier = str
    hyperopt.tpe = SimpleNamespace(suggest=None)
    monkeypatch.setitem(sys.modules, "hpsklearn", sklearn)
    monkeypatch.setitem(sys.modules, "hyperopt", hyperopt)
    rows, labels = np.arange(12.0).reshape(-1, 1), np.arange(12) % 2
    data = {"train_x": rows[:8], "train_y": labels[:8],
            "validation_x": rows[8:], "validation_y": labels[8:]}  # fmt: skip
    order = {"trials": 4, "seconds": None, "trial_seconds": None, "seed": 7}

    def run(*does):
        made = StandInSearch(*does)
        sklearn.HyperoptEstimator = lambda **_: made
        return *table_hyperopt_sklearn.search(order, data), made

    return run


def test_a_search_on_arrays_validates_on_the_last_rows_and_counts_what_failed(trials):
    tried, model, made = trials("fit", "raise", "raise", "fit")

    assert [each["reward"] for each in tried] == [0.75, None, None, 0.75]
    assert [each["reason"] for each in tried] == ["", *["ValueError: three classes"] * 2, ""]
    assert tried[0]["parameters"] == {"depth": 3}
    assert len(set(made.seeds)) == 4
    assert made.splits[0] == {"valid_size": 3.5 / 12, "cv_shuffle": False}
    assert model.n_features_in_ == 1
    assert np.bincount(np.array([1, 1]), minlength=None).tolist() == [0, 2]
    assert np.bincount([1], weights=[0.5], minlength=3).tolist() == [0, 0.5, 0]
    with pytest.raises(ValueError, match="three classes"):
        trials("fit", "fault")
    with pytest.raises(RuntimeError, match="all trials failed: ValueError: three classes"):
        trials(*["raise"] * 4)


def test_a_trial_that_raises_has_failed_and_the_search_goes_on(search):
    trials = StandInSearch("fit", "raise")

    made, frame, labels = search(trials)

    assert np.mean(made.predict(frame) == labels) > 0.8
    assert trials.starts == [False, True]
    assert trials.splits[0]["cv_shuffle"]
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


def test_an_error_of_the_search_itself_is_not_a_failed_trial(search):
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
