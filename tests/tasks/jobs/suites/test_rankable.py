"""A measure that no job can have is refused before anything runs."""

import pytest

from algorithms.errors import UsageError
from tasks.jobs.job import Job
from tasks.jobs.suites.plan import check_suite
from tasks.jobs.suites.rankable import require_measure, require_ranking, tasks_of
from tasks.jobs.suites.suite import Suite


def job(algorithm, data="d"):
    return Job(algorithm, data, 0, 0)


def test_a_measure_of_the_other_task_is_refused_where_the_tasks_are_known():
    jobs = [job("vanilla", "a"), job("chacha", "b")]
    tasks = {"a": "regression", "b": "regression"}
    expected = "no job can have the metric 'kappa' on these data: take one of rmse, mae, r2, skill"

    with pytest.raises(UsageError, match=expected):
        require_measure("kappa", jobs, tasks)
    require_measure("mae", jobs, tasks)
    require_measure("kappa", jobs, {**tasks, "b": "classification"})
    require_measure("kappa", jobs, {"a": "regression"})  # of the other nobody knows


def test_measures_are_of_streams():
    with pytest.raises(UsageError, match="metric 'mae' is of streams, and no job is on one"):
        require_measure("mae", [job("apple"), job("rising-bandits")], {})
    require_measure("mae", [job("apple"), job("chacha")], {})


def test_a_file_of_the_users_that_cannot_be_used_has_no_measure(tmp_path):
    (tmp_path / "mine.py").write_text("1 / 0")
    with pytest.raises(UsageError, match="is of streams"):
        require_measure("mae", [job(f"{tmp_path}/mine.py:Mine")], {})


def test_skill_asks_for_a_baseline_beside():
    with pytest.raises(UsageError, match="'skill' is over a baseline, and no job is one"):
        require_ranking("skill", [job("chacha")], {})
    require_ranking("skill", [job("chacha"), job("last-label")], {})
    require_ranking("mae", [job("chacha")], {})


def test_tasks_are_those_of_the_data_that_can_be_had(monkeypatch):
    monkeypatch.delenv("LEASEBOARD_MIRROR", raising=False)
    references = ["synthetic:fried?rows=50", "synthetic:waveform?rows=50", "mirror:none"]

    assert tasks_of(references) == {references[0]: "regression", references[1]: "classification"}


def test_a_suite_is_refused_as_it_is_opened():
    suite = Suite(title="t", data=["synthetic:fried?rows=50"], algorithms=["apple"], metric="mae")
    with pytest.raises(UsageError, match="is of streams"):
        check_suite(suite)
