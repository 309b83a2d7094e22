"""Rows that a search validates on, and MLflow, which it leaves alone."""

import os

import mlflow
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlflow.tracking import fluent
from mlflow.tracking._tracking_service import utils
from mlflow.utils import autologging_utils
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GroupKFold, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB

from leaseboard import race
from leaseboard.tasks.models.automl.estimators import AutoMLClassifier
from leaseboard.tasks.models.automl.search import SelectionSearch
from leaseboard.tasks.models.automl.validation import FOLDS, HOLDOUT, default_cv, folds_of


def made(cv, codes, *, groups=None, classes=True, seed=0):
    codes = np.asarray(codes)
    X = np.zeros((len(codes), 1))
    return folds_of(
        cv, codes, codes=codes if classes else None, groups=groups, X=X, seed=seed,
        counted=np.ones(len(codes), dtype=bool),
    )  # fmt: skip


@given(st.lists(st.integers(0, 3), min_size=6, max_size=60), st.integers(2, 5), st.integers(0, 99))
def test_folds_are_a_partition_in_which_every_class_can_be_learned(labels, n_folds, seed):
    codes = np.unique(labels, return_inverse=True)[1]
    if (np.bincount(codes) == 1).all():
        with pytest.raises(ValueError, match="leaves none to validate on"):
            made(n_folds, codes, seed=seed)
        return
    folds = made(n_folds, codes, seed=seed)

    validated = np.concatenate(folds.validation)
    assert sorted(validated) == np.flatnonzero(np.bincount(codes)[codes] > 1).tolist()
    for train, validation in zip(folds.train, folds.validation, strict=True):
        assert not set(train) & set(validation)
        assert len(train) + len(validation) == len(codes)
        assert set(codes[train]) == set(codes)


def test_a_share_is_one_fit_that_is_made_again_on_all_rows():
    folds = made(0.25, [0, 1] * 20)

    assert [len(part) for part in (*folds.train, *folds.validation)] == [30, 10]
    assert not folds.bagged


def test_time_is_fitted_again_and_groups_stay_together():
    assert not made(TimeSeriesSplit(4), np.arange(50) % 2).bagged
    groups = np.repeat(np.array([None, "a", 3, 4.5, *"bcdefg"], dtype=object), 5)
    for cv in (5, 0.2, GroupKFold(5)):
        folds = made(cv, np.arange(50) % 2, groups=groups)
        assert folds.bagged
        for train, validation in zip(folds.train, folds.validation, strict=True):
            assert not set(groups[train]) & set(groups[validation])
    first = np.arange(10) < 5  # pairs may be masks, and count from the end
    masks = made([(first, ~first), (~first, first)], [0, 1] * 5)
    assert [rows.tolist() for rows in masks.validation] == [[5, 6, 7, 8, 9], [0, 1, 2, 3, 4]]
    assert made([([-1, -2], [0, 1])], [0, 1] * 5).train[0].tolist() == [9, 8]


def test_what_cannot_be_split_says_why():
    for cv, labels, message in (
        (1.5, [0, 1] * 5, "must lie between 0 and 1"),
        (0.2, np.arange(10), "of 10 rows leaves none"),
        ([], [0, 1] * 5, "leaves none to validate"),
        ([([], [0])], [0, 1] * 5, "split 0 of cv=.* has no rows"),
        ([([0, 1, 2], [2, 3])], [0, 1] * 5, "rows both to train and to validate"),
        ([(["a"], ["b"])], [0, 1] * 5, "rows that X, with 10 samples, does not have"),
    ):
        with pytest.raises(ValueError, match=message):
            made(cv, labels)
    with pytest.raises(ValueError, match="X has 10 samples and groups has 5"):
        made(5, [0, 1] * 5, groups=np.zeros(5))
    with pytest.raises(ValueError, match="groups has one group"):
        made(5, [0, 1] * 5, groups=np.zeros(10))


def test_a_budget_decides_between_folds_and_one_fit():
    assert default_cv(5_000, 20, 2, seconds=60) == FOLDS
    assert default_cv(5_000, 20, 26, seconds=60) == HOLDOUT
    assert default_cv(500_000, 54, 7, seconds=60) == HOLDOUT
    assert default_cv(6, 2, 2, seconds=60) == HOLDOUT
    assert default_cv(16_000, 8, 2, seconds=30) == FOLDS
    assert default_cv(16_000, 8, 0, seconds=30) == HOLDOUT


X = np.random.default_rng(0).normal(size=(60, 3))
Y = np.where(X[:, 0] > 0, "yes", "no")
OWN = [DummyClassifier(), GaussianNB()]


@pytest.fixture
def runs_of_the_caller(uri, runs, monkeypatch):
    """Return a function that finds the runs of a caller who has enabled autologging."""
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_ID"):
        monkeypatch.setenv(name, os.environ.get(name, ""))  # both are set below, and put back
    monkeypatch.setattr(fluent, "_active_experiment_id", None)
    monkeypatch.setattr(utils, "_tracking_uri", None)
    mlflow.set_tracking_uri(uri)
    mlflow.set_experiment("mine")
    mlflow.sklearn.autolog(log_models=False, log_datasets=False, silent=True)
    yield lambda: runs(uri, "mine")
    mlflow.sklearn.autolog(disable=True)


def is_off():
    return autologging_utils._AUTOLOGGING_GLOBALLY_DISABLED


def on_folds():
    SelectionSearch(OWN).fit(X, Y)


def choose_and_tune():
    policy = {"arms": ["lda"], "space": "fast", "max_trials": 1}
    AutoMLClassifier(**policy, trial_cpu_seconds=None).fit(X, Y)


@pytest.mark.parametrize(
    "fit", [on_folds, choose_and_tune, lambda: race("abc", "sklearn:iris", budget=200)]
)
def test_a_fit_leaves_runs_and_autologging_of_the_caller_unchanged(fit, runs_of_the_caller):
    with mlflow.start_run() as own:
        fit()
        assert mlflow.active_run().info.run_id == own.info.run_id
    (found,) = runs_of_the_caller()
    assert (found.data.params, found.data.metrics) == ({}, {})
    assert not is_off()
