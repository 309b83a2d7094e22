"""A result is made for a job, and kept for the one that was planned, whoever ran it."""

import dataclasses
import re
from pathlib import Path

import pytest

from leaseboard.tasks.jobs.job import FAILURES, STATUSES, Job, Result
from leaseboard.tasks.jobs.run import failed

JOB = Job("chacha", "openml:215", seed=3, environment_seed=4, label="mine", repetition=2)
TASKS = Path(__file__).resolve().parents[3] / "tasks"


def test_a_result_says_whose_it_is():
    made = Result.of(JOB, key="k", digest="d", status="ok", score=0.5)

    for name in ("algorithm", "label", "data", "seed", "environment_seed", "repetition"):
        assert getattr(made, name) == getattr(JOB, name)


def test_what_ran_elsewhere_is_kept_for_the_job_that_was_planned():
    there = dataclasses.replace(JOB, data="parcel:d", label="other")

    kept = failed(there, "crash", "why", key="k").kept_for(JOB, version="v")

    assert kept == failed(JOB, "crash", "why", key="k", version="v")
    assert kept.kept_for(JOB, version="w").version == "v"


@pytest.mark.parametrize("status", STATUSES)
def test_a_job_failed_if_it_was_run_and_did_not_end_well(status):
    result = dataclasses.replace(failed(JOB, "crash", "why"), status=status)

    assert result.failed is (status in FAILURES) is (status not in ("ok", "skipped"))


def test_nobody_else_says_which_statuses_are_no_failures():
    pair = re.compile(r"""["']ok["'], ["']skipped["']|["']skipped["'], ["']ok["']""")
    texts = {path.relative_to(TASKS): path.read_text() for path in TASKS.rglob("*.py")}

    assert [str(path) for path, text in texts.items() if pair.search(text)] == ["jobs/job.py"]
