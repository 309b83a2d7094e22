"""What boards can rank by, seen before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from leaseboard.algorithms.benches.measures import OF_TASK, SKILL
from leaseboard.algorithms.errors import DataUnavailableError, UsageError, UserFileError
from leaseboard.algorithms.reference.naive import NAIVE_BASELINES
from leaseboard.tasks import fetch
from leaseboard.tasks.jobs.benches.kinds import MEASURED
from leaseboard.tasks.jobs.described import Described, describe
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.suites.suite import Contender, Suite


def require_measure(name: str, jobs: Iterable[Job], tasks: Mapping[str, str]) -> None:
    """UsageError if none of the jobs can have the measure called `name`.

    - `name`: see `leaseboard.algorithms.benches.measures`.
    - `tasks`: of their data, by reference, where they are known; others may have any.
    """
    on_streams = [job for job in jobs if _described(job.algorithm).bench in MEASURED]
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
    if name == SKILL and not any(_described(job.algorithm).baseline for job in every):
        raise UsageError(
            f"metric {name!r} is over a baseline, and no job is one: add one such as last-label"
        )


def with_baselines(suite: Suite) -> Suite:
    """Return the suite with the naive baselines of streams that it does not name.

    They get the options of the bench of its first algorithm on a stream, so that one board can
    compare them. A suite without one, or with ``baselines: false``, is returned unchanged.

    Raises UsageError if another algorithm has the name of a baseline.
    """
    on_streams = [one for one in suite.algorithms if _described(one.name).bench in MEASURED]
    if not (suite.baselines and on_streams):
        return suite
    named = {one.name for one in suite.algorithms}
    missing = [name for name in NAIVE_BASELINES if name not in named]
    for taken in (one for one in suite.algorithms if one.title in missing):
        raise UsageError(
            f"label {taken.title!r} of {taken.name} is the name of a naive baseline: give it"
            " another label, or leave the baselines out with baselines: false"
        )
    added = [Contender(name=name, bench=on_streams[0].bench) for name in missing]
    return suite.model_copy(update={"algorithms": [*suite.algorithms, *added]})


def tasks_of(references: Iterable[str], mirrors: tuple[Path, ...] = ()) -> dict[str, str]:
    """The tasks of the data that can be had, by reference."""
    found = {}
    for reference in dict.fromkeys(references):
        try:
            found[reference] = fetch.load(reference, mirrors=mirrors).task
        except DataUnavailableError:
            continue  # its jobs are skipped, and say so
    return found


def _described(algorithm: str) -> Described:
    """What is known of an algorithm; of one that cannot be used, nothing."""
    try:
        return describe(algorithm, None)
    except (UsageError, UserFileError):
        return Described("", ())
