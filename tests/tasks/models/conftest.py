import shutil

import pytest

from leaseboard.tasks import fetch
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import run_job
from leaseboard.tasks.models.winner import Fitted, fit

FRIED = "synthetic:fried?rows=400&seed=0"
CANCER = "sklearn:breast_cancer"
IRIS = "sklearn:iris"


@pytest.fixture
def race(tmp_path):
    """Runs a job and fits its model: the result, what the run left, the model with its data."""

    folder = tmp_path / "job"
    folder.mkdir()

    def run(algorithm, data, **fields):
        given = {"seed": 0, "environment_seed": 0, "label": algorithm} | fields
        job = Job(algorithm=algorithm, data=data, **given)
        result, learner = run_job(job, folder)
        fitted: Fitted = fit(job, result, learner=learner)
        return result, learner, fitted

    return run


@pytest.fixture
def policy(race):
    """What a policy chose on data with classes, and its model."""
    arms = ["decision_tree", "lda"]
    bench = {"space": "fast", "arms": arms, "optimiser": "random"}
    return race("average", IRIS, budget=4, bench=bench)


@pytest.fixture
def uri(tmp_path, empty_store):
    (tmp_path / "mlruns").mkdir()
    shutil.copy(empty_store, tmp_path / "mlruns" / "mlflow.db")
    return f"sqlite:///{tmp_path / 'mlruns' / 'mlflow.db'}"


@pytest.fixture
def iris():
    return fetch.load(IRIS)
