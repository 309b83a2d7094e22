"""A result is made for a job, and kept for the one that was planned, whichever process ran it."""

import dataclasses

from leaseboard.tasks.jobs.job import FAILURES, STATUSES, Job
from leaseboard.tasks.jobs.run import failed

JOB = Job("online-automl", "openml:215", seed=3, environment_seed=4, name="mine", repetition=2)


def test_what_ran_elsewhere_is_kept_for_the_job_that_was_planned():
    there = dataclasses.replace(JOB, data="parcel:d", name="other")

    kept = failed(there, "crash", "why", key="k").kept_for(JOB, version="v")

    assert kept == failed(JOB, "crash", "why", key="k", version="v")
    assert kept.kept_for(JOB, version="w").version == "v"


def test_a_job_failed_if_it_was_run_and_did_not_end_well():
    for status in STATUSES:
        result = dataclasses.replace(failed(JOB, "crash", "why"), status=status)
        assert result.failed is (status in FAILURES) is (status not in ("ok", "skipped"))
