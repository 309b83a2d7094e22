"""A result is made for a job, and kept for the one that was planned, whichever process ran it."""

import dataclasses
import re
from pathlib import Path

from leaseboard.tasks.jobs.job import FAILURES, STATUSES, Job, Result
from leaseboard.tasks.jobs.run import failed

JOB = Job("online-automl", "openml:215", seed=3, environment_seed=4, name="mine", repetition=2)
TASKS = Path(__file__).resolve().parents[3] / "tasks"


def test_a_result_says_whose_it_is():
    made = Result.of(JOB, key="k", digest="d", status="ok", score=0.5)

    for name in ("algorithm", "name", "data", "seed", "environment_seed", "repetition"):
        assert getattr(made, name) == getattr(JOB, name)


def test_what_ran_elsewhere_is_kept_for_the_job_that_was_planned():
    there = dataclasses.replace(JOB, data="parcel:d", name="other")

    kept = failed(there, "crash", "why", key="k").kept_for(JOB, version="v")

    assert kept == failed(JOB, "crash", "why", key="k", version="v")
    assert kept.kept_for(JOB, version="w").version == "v"


def test_a_job_failed_if_it_was_run_and_did_not_end_well():
    for status in STATUSES:
        result = dataclasses.replace(failed(JOB, "crash", "why"), status=status)
        assert result.failed is (status in FAILURES) is (status not in ("ok", "skipped"))


def test_one_place_says_which_statuses_are_not_failures():
    pair = re.compile(r"""["']ok["'], ["']skipped["']|["']skipped["'], ["']ok["']""")
    texts = {path.relative_to(TASKS): path.read_text() for path in TASKS.rglob("*.py")}

    assert [str(path) for path, text in texts.items() if pair.search(text)] == ["jobs/job.py"]
