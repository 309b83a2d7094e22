"""A result is made for a job, and kept for the one that was planned, whoever ran it."""

import dataclasses

from tasks.jobs.job import Job, Result
from tasks.jobs.run import failed

JOB = Job("chacha", "openml:215", seed=3, environment_seed=4, label="mine", repetition=2)


def test_a_result_says_whose_it_is():
    made = Result.of(JOB, key="k", digest="d", status="ok", score=0.5)

    for name in ("algorithm", "label", "data", "seed", "environment_seed", "repetition"):
        assert getattr(made, name) == getattr(JOB, name)


def test_what_ran_elsewhere_is_kept_for_the_job_that_was_planned():
    there = dataclasses.replace(JOB, data="parcel:d", label="other")

    kept = failed(there, "crash", "why", key="k").kept_for(JOB, version="v")

    assert kept == failed(JOB, "crash", "why", key="k", version="v")
    assert kept.kept_for(JOB, version="w").version == "v"
