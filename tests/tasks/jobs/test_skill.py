"""One job beside the best of what a person tries first."""

from dataclasses import replace

import pytest

from tasks.jobs.job import Job
from tasks.jobs.run import run_job
from tasks.jobs.skill import with_skill

JOB = Job(
    algorithm="online-ridge",
    data="synthetic:fried?rows=500",
    seed=0,
    environment_seed=0,
    label="mine",
)


def test_a_baseline_has_no_skill_over_itself_and_a_better_one_has_some(tmp_path):
    ridge, over = with_skill(JOB, run_job(JOB, tmp_path)[0])
    (tmp_path / "b").mkdir()
    mean = replace(JOB, algorithm="running-mean")
    worse, _ = with_skill(mean, run_job(mean, tmp_path / "b")[0])

    assert (ridge.metrics["skill"], over) == (0.0, "online-ridge")
    expected = 1 - worse.metrics["rmse"] ** 2 / ridge.metrics["rmse"] ** 2
    assert worse.metrics["skill"] == pytest.approx(expected)
    assert worse.metrics["skill"] < 0


def test_what_failed_or_is_on_no_stream_has_none(tmp_path):
    result, _ = run_job(JOB, tmp_path)
    failed = replace(result, status="diverged", score=None)
    early = replace(result, complete=False)

    assert with_skill(JOB, failed) == (failed, "")
    assert with_skill(JOB, early) == (early, "")
    apple = replace(JOB, algorithm="linear", data="sklearn:breast_cancer")
    (tmp_path / "apple").mkdir()
    result, _ = run_job(apple, tmp_path / "apple")
    assert with_skill(apple, result) == (result, "")
