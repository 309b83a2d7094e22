import shutil

import pytest

from leaseboard.tasks.fetch import loading
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import run_job
from leaseboard.tasks.models.winner import Fitted, fit

FRIED = "synthetic:fried?rows=400&seed=0"
CANCER = "sklearn:breast_cancer"
IRIS = "sklearn:iris"


@pytest.fixture
def race(tmp_path):
    """Run a job and fit its model; return the result, and the model with its data."""

    folder = tmp_path / "job"
    folder.mkdir()

    def run(algorithm, data, **fields):
        given = {"seed": 0, "environment_seed": 0, "name": algorithm} | fields
        job = Job(algorithm=algorithm, data=data, **given)
        result = run_job(job, folder)
        fitted: Fitted = fit(job, result)
        return result, fitted

    return run


@pytest.fixture
def policy(race):
    """Return what a policy chose on data with classes, and its model."""
    arms = ["decision_tree", "lda"]
    environment = {"space": "fast", "arms": arms, "optimiser": "random"}
    return race("average", IRIS, budget=4, environment=environment)


@pytest.fixture
def uri(tmp_path, empty_store):
    (tmp_path / "mlruns").mkdir()
    shutil.copy(empty_store, tmp_path / "mlruns" / "mlflow.db")
    return f"sqlite:///{tmp_path / 'mlruns' / 'mlflow.db'}"


@pytest.fixture
def iris():
    return loading.load(IRIS)
