"""One job compared with the best naive baseline."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import run_job
from leaseboard.tasks.jobs.skill import with_skill

JOB = Job(
    algorithm="online-ridge",
    data="synthetic:fried?rows=500",
    seed=0,
    environment_seed=0,
    name="mine",
)


def test_a_baseline_has_no_skill_over_itself_and_a_better_one_has_some(tmp_path):
    ridge, over, of_log, *_ = with_skill(JOB, run_job(JOB, tmp_path)[0])
    (tmp_path / "b").mkdir()
    mean = replace(JOB, algorithm="running-mean")
    worse, *_ = with_skill(mean, run_job(mean, tmp_path / "b")[0])

    assert (ridge.metrics["skill"], over, of_log) == (0.0, "online-ridge", False)
    expected = 1 - worse.metrics["rmse"] ** 2 / ridge.metrics["rmse"] ** 2
    assert worse.metrics["skill"] == pytest.approx(expected)
    assert worse.metrics["skill"] < 0


def test_skill_is_of_the_target_itself_where_the_score_is_of_its_logarithm(tmp_path):
    draws = np.random.default_rng(0).normal(size=(300, 2))
    table = pd.DataFrame({"x": draws[:, 0], "y": 50 * np.exp(draws.sum(axis=1))})
    table.to_csv(tmp_path / "sales.csv", index=False)
    mine = replace(JOB, algorithm="online-automl", data=f"file:{tmp_path}/sales.csv",
                   environment={"log_target": "code"})  # fmt: skip
    found, over, of_log, *_ = with_skill(mine, run_job(mine, tmp_path)[0])
    baseline = replace(mine, algorithm=over)
    theirs = run_job(baseline, tmp_path)[0].metrics["rmse"]

    assert of_log
    assert found.metrics["skill"] == pytest.approx(1 - (found.metrics["rmse"] / theirs) ** 2)
    assert with_skill(mine, replace(found, complete=False))[1:3] == ("", True)


def test_what_failed_or_is_on_no_stream_has_none(tmp_path):
    result, _ = run_job(JOB, tmp_path)
    failed = replace(result, status="diverged", score=None)
    early = replace(result, complete=False)

    assert with_skill(JOB, failed)[:3] == (failed, "", False)
    assert with_skill(JOB, early)[:3] == (early, "", False)
    apple = replace(JOB, algorithm="linear", data="sklearn:breast_cancer")
    (tmp_path / "apple").mkdir()
    result, _ = run_job(apple, tmp_path / "apple")
    assert with_skill(apple, result)[:3] == (result, "", False)
