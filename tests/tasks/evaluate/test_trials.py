"""A trial: rows and their arrays, and every ending of a fit."""

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leaseboard.tasks.evaluate.trials import (
    Arrays,
    Fold,
    Order,
    cross_validation,
    dealt,
    holdout,
    reward_of,
    run,
    run_apart,
)
from leaseboard.tasks.fetch.dataset import Options, RawTable, finish
from leaseboard.tasks.processes.child import Limits


def arrays(task="classification"):
    X = np.arange(24, dtype=np.float32).reshape(12, 2)
    y = (np.arange(12) % 2).astype(np.int64 if task == "classification" else np.float64)
    return Arrays(task, (Fold(X[:6], y[:6], X[6:9], y[6:9], X[9:], y[9:]),))


@pytest.fixture
def order(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent)
    yield lambda learner, **given: Order(f"broken_learners:{learner}", {}, 0, **given)
    sys.modules.pop("broken_learners", None)


ENDINGS = {
    "Spins": ("timeout", "over the limit of 0.3 s of CPU time"),
    "Raises": ("crash", "ValueError: this"),
    "Nameless": ("crash", "no estimator 'broken_learners:Nameless' can be imported"),
    "Prints": ("ok", ""),
}


@pytest.mark.parametrize("learner", ENDINGS)
def test_every_ending_of_a_fork_is_an_outcome(learner, order):
    outcome = run_apart(order(learner), arrays(), Limits(cpu_seconds=0.3, memory_mb=700))

    status, reason = ENDINGS[learner]
    assert (outcome.status, reason in outcome.reason) == (status, True), outcome
    assert (outcome.reward, outcome.test) == ((pytest.approx(1 / 3), 2 / 3) if learner == "Prints"
                                              else (0.0, None))  # fmt: skip
    assert 0 <= outcome.cpu_seconds <= 0.4


def test_a_trial_is_stopped_after_its_own_seconds(order):
    outcome = run_apart(order("Spins", seconds=0.2), arrays(), Limits(cpu_seconds=60.0))

    assert outcome.status == "stopped"
    assert outcome.cpu_seconds > 0.15  # in ticks


def test_predictions_that_are_not_numbers_diverge(order):
    assert run(order("NotANumber"), arrays("regression")).status == "diverged"


def test_a_regressions_reward_is_one_half_for_the_mean():
    y = np.array([1.0, 2.0, 3.0])

    assert reward_of("regression", y, np.full(3, 2.0)) == pytest.approx(0.5)
    assert reward_of("regression", y, y) == 1.0
    assert reward_of("regression", np.ones(3), np.ones(3)) == 1.0
    assert reward_of("regression", np.ones(3), np.zeros(3)) == 0.0


def test_fidelity_is_a_share_of_the_training_rows():
    full = Order("sklearn.neighbors:KNeighborsClassifier", {"n_neighbors": 3}, 0)
    found = {share: run(replace(full, fidelity=share), arrays()) for share in (1, 0.5, 1 / 3)}

    assert [each.status for each in found.values()] == ["ok", "ok", "crash"]  # 3 of 2 neighbours
    assert math.isfinite(found[0.5].cpu_seconds)


def dataset(n_rows=200, **columns):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=n_rows), "b": rng.normal(size=n_rows), **columns})
    frame["y"] = np.where(frame["a"] > 0.5, "yes", "no")
    return finish(RawTable(frame, "toy"), Options(), "file:toy.csv")


def test_holdout_divides_64_16_20_by_the_seed():
    (fold,), (other,) = (holdout(dataset(), seed).folds for seed in (0, 1))

    assert (len(fold.train_y), len(fold.validation_y), len(fold.test_y)) == (128, 32, 40)
    assert not np.array_equal(fold.train_x, other.train_x)


def test_cross_validation_tests_a_fit_on_all_training_rows():
    arrays = cross_validation(dataset(), seed=0, folds=5)

    assert [len(fold.validation_y) for fold in arrays.folds] == [32] * 5
    assert all(fold.test_x is None for fold in arrays.folds)
    assert (len(arrays.refit.train_y), len(arrays.refit.test_y)) == (160, 40)


def test_a_split_column_is_obeyed_and_is_not_a_feature():
    said = pd.Categorical(["train"] * 150 + ["test"] * 50)
    arrays = cross_validation(dataset(split=said), seed=0, folds=3, column="split")

    assert arrays.refit.train_x.shape == (150, 2)
    assert len(arrays.refit.test_y) == 50


def test_by_time_folds_are_an_expanding_window_and_the_test_is_of_a_fit_up_to_it():
    days = np.random.default_rng(1).permutation(np.repeat(np.arange(100), 2))
    data = dataset(day=pd.Timestamp("2024-01-01") + pd.to_timedelta(days, unit="D"))
    # The last feature is the days since the first training row.
    of_cv, of_one = cross_validation(data, seed=0, folds=3), holdout(data, seed=0)
    for fold in of_cv.folds:
        assert fold.train_x[:, -1].max() < fold.validation_x[:, -1].min()
    assert [len(fold.train_y) for fold in of_cv.folds] == [40, 80, 120]
    (fold,) = of_one.folds
    assert fold.train_x[:, -1].max() < fold.validation_x[:, -1].min()
    assert (len(fold.train_y), len(fold.validation_y), len(fold.test_y)) == (128, 32, 40)
    for refit in (of_one.refit, of_cv.refit):
        assert refit.train_x[:, -1].max() < refit.test_x[:, -1].min()
        assert (len(refit.train_y), len(refit.test_y)) == (160, 40)


def test_folds_are_stratified_in_the_order_of_the_rows_and_rare_classes_spread():
    assert dealt(np.array([0] * 6 + [1] * 3), 3).tolist() == [0, 0, 1, 1, 2, 2, 0, 1, 2]
    assert sorted(dealt(np.array([0, 1, 2]), 3).tolist()) == [0, 1, 2]
