import pytest

from leaseboard.tasks.fetch import loading
from leaseboard.tasks.jobs import environments
from leaseboard.tasks.jobs.environments import systems
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import run_job


@pytest.fixture(autouse=True)
def _store(tmp_path, monkeypatch):
    monkeypatch.setenv("LEASEBOARD_STORE", str(tmp_path / "store.sqlite"))


def job(algorithm="lightgbm-default", **given):
    return Job(algorithm, "sklearn:iris", seed=1, environment_seed=2, **given)


def test_a_job_is_scored_on_the_test_rows(tmp_path):
    result, _ = run_job(job(budget=5.0), tmp_path)

    assert (result.status, result.metric, result.unit) == ("ok", "test_accuracy", "cpu_seconds")
    assert result.score > 0.8
    assert result.baseline
    assert result.cpu_seconds == result.metrics["spent_cpu_seconds"] > 0
    again, _ = run_job(job(budget=5.0), tmp_path)
    assert (again.score, again.cpu_seconds) == (result.score, result.cpu_seconds)
    assert again.metrics["spent_cpu_seconds"] == 0


def test_all_rows_but_the_test_rows_are_learned_from():
    env = environments.make(
        "systems", loading.load("sklearn:iris"), job(environment={"test_share": 0.3})
    )

    assert (len(env._fits.train), len(env._fits.test)) == (105, 45)
    assert env.budget == systems.DEFAULT_BUDGET


def test_our_own_estimators_code_is_part_of_a_jobs_identity():
    assert environments.resolve("systems", {}).identity()
