"""Jobs on prepared data come to what they come to on their own."""

import dataclasses

import pytest

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.prepared import fetch_into, group, prepare
from leaseboard.tasks.jobs.run import run_job

FRIED, WINE = "synthetic:fried?rows=300&seed=0", "sklearn:wine"
JOBS = [
    Job(algorithm="online-automl", data=FRIED, seed=1, environment_seed=2),
    Job(
        algorithm="vanilla", data=FRIED, seed=1, environment_seed=2, environment={"shuffle": True}
    ),
    Job(algorithm="linear", data=FRIED, seed=1, environment_seed=2),
    Job(
        algorithm="quadratic",
        data=WINE,
        seed=1,
        environment_seed=2,
        environment={"positive": "class_1"},
    ),
    Job(algorithm="random-arm", data=WINE, seed=1, environment_seed=2, budget=20),
    Job(algorithm="abc", data=WINE, seed=1, environment_seed=2, environment={"configurations": 3}),
]


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.algorithm)
def test_a_job_on_prepared_data_is_the_same_job(tmp_path, job):
    alone, shared = tmp_path / "alone", tmp_path / "shared"
    alone.mkdir()
    shared.mkdir()
    prepared = prepare(fetch_into(tmp_path, job.data), job)
    one = run_job(job, alone)
    two = run_job(job, shared, prepared=prepared)
    seconds = {"cpu_seconds", "wall_seconds", "setup_seconds", "started", "metrics"}

    assert (one.status, one.score, one.key, one.digest) == (
        two.status, two.score, two.key, two.digest
    )  # fmt: skip
    for field in dataclasses.fields(one):
        if field.name not in seconds:
            assert getattr(one, field.name) == getattr(two, field.name)
    logs = [(folder / "events.jsonl.gz").read_bytes() for folder in (alone, shared)]
    assert logs[0] == logs[1]


def test_jobs_share_what_is_prepared_alike_and_nothing_else(tmp_path):
    stream, shuffled, holdout = JOBS[:3]
    later = {"environment_seed": 3, "repetition": 1}

    assert group(stream) == group(dataclasses.replace(stream, algorithm="vanilla", **later))
    assert group(shuffled) != group(dataclasses.replace(shuffled, **later))
    assert group(holdout) != group(dataclasses.replace(holdout, **later))
    assert group(holdout) == group(dataclasses.replace(holdout, environment={"passes": 3}))
    assert group(stream) != group(dataclasses.replace(stream, environment={"decimals": 2}))

    kept = fetch_into(tmp_path, FRIED)
    assert prepare(kept, stream) == prepare(kept, dataclasses.replace(stream, **later))


def test_what_was_made_of_other_data_is_never_taken(tmp_path):
    other = fetch_into(tmp_path, "synthetic:fried?rows=301&seed=0")
    alike = dataclasses.replace(JOBS[0], data=other.reference)

    with pytest.raises(DataError, match="was given"):
        run_job(JOBS[0], tmp_path, prepared=prepare(other, alike))
