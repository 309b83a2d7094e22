import json
import multiprocessing
import os
import subprocess
import sys
import time
from types import ModuleType, SimpleNamespace
from typing import get_args, get_type_hints

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from algorithms.reference import tables
from tasks.evaluate.peers import table_program, venv


def test_the_program_forecasts_and_tells_what_is_not_the_fits(tmp_path, monkeypatch):
    class Mean:
        def fit(self, frame, labels, *, wanted):
            assert (list(frame), wanted) == (["column0", "column1"], 7)
            assert frame["column1"].cat.categories.tolist() == ["x", "y"]
            self.mean = labels.mean()

        def predict(self, frame):
            return np.full((len(frame), 1), self.mean)

    request = {"seed": 7, "columns": [{"categories": None}, {"categories": ["x", "y"]}]}
    (tmp_path / "request.json").write_text(json.dumps(request))
    np.savez(tmp_path / "data.npz", labels=np.array([1.0, 3.0]),
             train_0=np.zeros(2), train_1=np.array([0, -1], dtype=np.int8),
             test_0=np.zeros(3), test_1=np.array([1, 1, 0], dtype=np.int8))  # fmt: skip
    made = {"ours": lambda asked: (Mean(), {"wanted": asked["seed"]})}
    monkeypatch.setattr(table_program, "SYSTEMS", made)

    table_program.main("ours", tmp_path)

    assert np.load(tmp_path / "forecasts.npy").tolist() == [2.0, 2.0, 2.0]
    answer = json.loads((tmp_path / "answer.json").read_text())
    assert [len(answer.pop(name)) for name in ("setup", "forecast")] == [2, 2]
    assert answer.pop("peak_memory_mb") > 10
    assert answer == {}


def test_a_clock_of_cpu_time_stands_still_while_a_system_waits(monkeypatch):
    monkeypatch.setattr(time, "time", time.time)
    table_program._count_cpu_time()

    began = time.time()
    time.sleep(0.2)

    assert time.time() - began < 0.1


@pytest.mark.parametrize("system", ["lightgbm", "forest"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_systems_are_made_for_their_task_with_the_seed(system, task):
    model, options = table_program.SYSTEMS[system]({"task": task, "seed": 7, "seconds": 1})

    last = model.steps[-1][1] if hasattr(model, "steps") else model
    assert (last.random_state, last.n_jobs, options) == (7, 1, {})
    assert hasattr(last, "predict_proba") == (task == "classification")


def test_every_system_is_an_algorithm_and_has_pins_or_runs_in_our_environment():
    told = [tables.TableSystem, tables.TableBaseline]
    names = {name for cls in told for name in get_args(get_type_hints(cls)["system"])}

    assert names == set(table_program.SYSTEMS)
    assert names - set(venv.names()) == {"leaseboard", "lightgbm", "forest"}


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
        made = table_program.TrialsInTime(trials, SimpleNamespace(), seconds, seed=7)
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
made = runpy.run_path({table_program.__file__!r})
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
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )

    assert done.stdout == "ended -9\n"


def test_counts_without_a_least_length_are_those_of_old(monkeypatch):
    monkeypatch.setattr(np, "bincount", np.bincount)
    table_program._count_without_least()

    assert np.bincount([1, 1], None, None).tolist() == [0, 2]
    assert np.bincount([1], weights=[0.5], minlength=3).tolist() == [0, 0.5, 0]


@pytest.mark.parametrize(
    ("task", "labels", "kind", "metric"),
    [
        ("classification", [0, 1, 0], "binary", "accuracy"),
        ("classification", [0, 1, 5], "multiclass", "accuracy"),
        ("regression", [0, 1, 0], "regression", "r2"),
    ],
)
def test_autogluon_is_told_the_kind_of_labels_and_one_cpu(monkeypatch, task, labels, kind, metric):
    told = []

    class TabularPredictor:
        def __init__(self, *given, **options):
            told.append((given, options))

        def fit(self, frame, **options):
            told.append((frame["label"].tolist(), options))
            return self

        def predict(self, frame):
            return frame["x"]

    monkeypatch.setattr(time, "time", time.time)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "")
    for name in (
        "autogluon",
        "autogluon.tabular",
        "fastai",
        "fastai.tabular",
        "fastai.tabular.all",
    ):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["autogluon.tabular"].TabularPredictor = TabularPredictor
    model, options = table_program.SYSTEMS["autogluon"]({"task": task, "seconds": 9})
    frame = pd.DataFrame({"x": [1, 2, 3]})

    model.fit(frame, np.array(labels), **options)

    (given, made), (seen, fitted) = told
    assert (given, made["problem_type"], made["eval_metric"]) == (("label",), kind, metric)
    assert (seen, fitted) == (labels, {"time_limit": 9, "num_cpus": 1, "num_gpus": 0})
    assert model.predict(frame).tolist() == [1, 2, 3]
    assert list(frame) == ["x"]
