"""A thousand calls in one process, as of a service or a grid search, need what one call needs."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

import leaseboard
from leaseboard.algorithms.log_format import read_log
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import run_job
from tests.repeated import REPEATED, assert_flat

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.where(X[:, 0] > 0, "yes", "no")
DATA = "synthetic:fried?rows=60&seed=0"
OWN = [DummyClassifier(), GaussianNB()]
ARMS = {"arms": ["lda"], "space": "fast", "max_trials": 1}


def select(folder, number, **given):
    leaseboard.SelectionSearch(OWN, **given).fit(X, Y)


def select_by_abc(folder, number):
    select(folder, number, algorithm="abc-tight", initial_rows=20)


def select_on_folds(folder, number):
    select(folder, number)


def choose_and_tune(folder, number):
    leaseboard.AutoMLClassifier(**ARMS).fit(X, Y)


def choose_and_tune_in_this_process(folder, number):
    leaseboard.AutoMLClassifier(**ARMS, trial_cpu_seconds=None).fit(X, Y)


def learn_by_apple(folder, number):
    leaseboard.PolynomialExpansionClassifier().fit(X, Y)


def learn_row_by_row(folder, number):
    model = leaseboard.OnlineAutoMLRegressor()
    for row, target in zip(X, X[:, 0], strict=True):
        model.learn_one({"a": row[0], "b": row[1]}, target)


def learn_a_table(folder, number):
    leaseboard.StreamRegressor().fit(X, X[:, 0]).predict(X)


def race(folder, number):
    assert not leaseboard.race(["vanilla", "online-automl"], DATA).failures


def race_on_a_store(folder, number):
    assert not leaseboard.race("abc", "sklearn:iris").failures


def run_a_job(folder, number):
    own = folder / str(number)
    own.mkdir()
    result, _ = run_job(Job("online-automl", DATA, seed=3, environment_seed=3), own)
    assert list(read_log(own / "events.jsonl.gz"))
    assert result.status == "ok"


@REPEATED
@pytest.mark.parametrize(
    "call",
    [
        select_by_abc,
        # These start a process for each fit.
        *(
            pytest.param(call, marks=pytest.mark.slow)
            for call in (select_on_folds, choose_and_tune, race_on_a_store)
        ),
        choose_and_tune_in_this_process,
        learn_by_apple,
        learn_row_by_row,
        learn_a_table,
        race,
        run_a_job,
    ],
)
def test_a_call_leaves_no_file_open_and_no_memory(call, times, tmp_path):
    assert_flat(lambda number: call(tmp_path, number), times)
