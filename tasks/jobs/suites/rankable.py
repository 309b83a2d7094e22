"""What boards can rank by, seen before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from algorithms.benches.measures import OF_TASK, SKILL
from algorithms.errors import DataUnavailableError, UsageError, UserFileError
from tasks import fetch
from tasks.jobs.benches.kinds import MEASURED
from tasks.jobs.described import Described, describe
from tasks.jobs.job import Job


def require_measure(name: str, jobs: Iterable[Job], tasks: Mapping[str, str]) -> None:
    """UsageError if none of the jobs can have the measure called `name`.

    - `name`: see `algorithms.benches.measures`.
    - `tasks`: of their data, by reference, where they are known; others may have any.
    """
    on_streams = [job for job in jobs if _described(job).bench in MEASURED]
    if not on_streams:
        raise UsageError(f"metric {name!r} is of streams, and no job is on one: leave it out")
    if any(job.data not in tasks for job in on_streams):
        return
    have = list(dict.fromkeys(each for job in on_streams for each in OF_TASK[tasks[job.data]]))
    if name not in have:
        raise UsageError(
            f"no job can have the metric {name!r} on these data: take one of {', '.join(have)}"
        )


def require_ranking(name: str, jobs: Iterable[Job], tasks: Mapping[str, str]) -> None:
    """`require_measure`, and for skill a job of a baseline, which it is over."""
    every = list(jobs)
    require_measure(name, every, tasks)
    if name == SKILL and not any(_described(job).baseline for job in every):
        raise UsageError(
            f"metric {name!r} is over a baseline, and no job is one: add one such as last-label"
        )


def tasks_of(references: Iterable[str], mirrors: tuple[Path, ...] = ()) -> dict[str, str]:
    """The tasks of the data that can be had, by reference."""
    found = {}
    for reference in dict.fromkeys(references):
        try:
            found[reference] = fetch.load(reference, mirrors=mirrors).task
        except DataUnavailableError:
            continue  # its jobs are skipped, and say so
    return found


def _described(job: Job) -> Described:
    """What is known of the job's algorithm; of a user's file that cannot be used, nothing."""
    try:
        return describe(job.algorithm, None)
    except UserFileError:
        return Described("", ())
