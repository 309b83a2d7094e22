"""MLflow's autologging, which a caller has enabled, and fits of searches."""

import os

import mlflow
import numpy as np
import pytest
from mlflow.tracking import fluent
from mlflow.tracking._tracking_service import utils
from mlflow.utils import autologging_utils
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

from leaseboard import race
from leaseboard.tasks.models.automl.estimators import AutoMLClassifier
from leaseboard.tasks.models.automl.search import SelectionSearch

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
    "fit",
    [
        on_folds,
        choose_and_tune,
        lambda: race("abc", "sklearn:iris", budget=200),
    ],
)
def test_a_fit_leaves_runs_and_autologging_of_the_caller_unchanged(fit, runs_of_the_caller):
    with mlflow.start_run() as own:
        fit()
        assert mlflow.active_run().info.run_id == own.info.run_id
    (found,) = runs_of_the_caller()
    assert (found.data.params, found.data.metrics) == ({}, {})
    assert not is_off()
