"""What a suite would do: each job with its key, whether it is done, or why it cannot run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leaseboard.algorithms.benches.measures import OF_TASK, SKILL
from leaseboard.algorithms.errors import (
    DataError,
    DataUnavailableError,
    SettingError,
    UsageError,
    UserFileError,
)
from leaseboard.algorithms.reference.naive import NAIVE_BASELINES
from leaseboard.tasks import fetch
from leaseboard.tasks.jobs import benches
from leaseboard.tasks.jobs.benches.kinds import MEASURED
from leaseboard.tasks.jobs.described import Described, describe
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.jobs.run import check, identify
from leaseboard.tasks.jobs.suites.suite import Contender, Suite
from leaseboard.tasks.machine.yaml_files import where


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


@dataclass(frozen=True, slots=True)
class Planned:
    """A job of a suite before it runs."""

    job: Job
    key: str
    """The name of its result; of the job alone where its data cannot be read."""
    earlier: Result | None = None
    """Of an earlier run, if it can be reused."""
    obstacle: str = ""
    """Why the job cannot run, empty if it can."""
    digest: str = ""
    """Of the data, empty where they cannot be read."""
    version: str = ""
    """Of the algorithm's code."""
    fault: str = ""
    """Why the user's file with the algorithm cannot be used: the job has failed already."""

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do."""
        return self.earlier is not None

    @property
    def waits(self) -> bool:
        """Whether it will run."""
        return not (self.done or self.obstacle or self.fault)


def check_suite(suite: Suite, path: Path | None = None) -> None:
    """Look at every algorithm, setting and data reference of the suite, which `path` may hold.

    A user's file that cannot be used is no fault of the suite: its jobs alone fail.

    Raises UsageError with file, line and key of what does not exist or cannot be.
    """
    kinds: dict[str, str] = {}
    for i, contender in enumerate(suite.algorithms):
        with _located(path, "algorithms", i, "name"):
            if _fault(contender.name, None):
                continue
        with _located(path, "algorithms", i, "settings"):
            if _fault(contender.name, contender.settings):
                continue
        kinds[contender.title] = bench = describe(contender.name, contender.settings).bench
        with _located(path, "algorithms", i, "bench"):
            benches.check_options(bench, contender.bench)
        with _located(path, "bench"):
            benches.check_options(bench, suite.bench)
        for j, entry in enumerate(suite.data):
            with _located(path, "data", j, "bench"):
                benches.check_options(bench, {**suite.bench, **entry.bench})
    for j, entry in enumerate(suite.data):
        with _located(path, "data", j, "data"):
            fetch.check_here(entry.data)
    _check_measures(suite, kinds, path)
    if suite.metric is not None:
        with _located(path, "metric"):
            require_ranking(suite.metric, suite.jobs(), {})


def _check_measures(suite: Suite, kinds: dict[str, str], path: Path | None) -> None:
    """UsageError for two algorithms on one data set whose scores no board can compare."""
    titles = [contender.title for contender in suite.algorithms]
    first: dict[str, tuple[str, str]] = {}
    for job in (job for job in suite.jobs() if job.label in kinds):
        mine = benches.measure(kinds[job.label], job.bench)
        label, measure = first.setdefault(job.data, (job.label, mine))
        if measure != mine:
            with _located(path, "algorithms", titles.index(job.label)):
                raise UsageError(
                    f"on {job.data} {job.label} is scored by its {mine} and {label} by its"
                    f" {measure}, which one board cannot compare: give {job.label} a suite or a"
                    " data set of its own"
                )


def _fault(algorithm: str, settings: Mapping[str, Any] | None) -> str:
    """Why the user's file cannot be used that holds an algorithm; empty if it can."""
    try:
        describe(algorithm, settings)
    except UserFileError as error:
        return str(error)
    return ""


@contextmanager
def _located(path: Path | None, *location: str | int) -> Iterator[None]:
    try:
        yield
    except UsageError as error:
        if path is None:
            raise
        key = [error.setting] if isinstance(error, SettingError) else []
        raise UsageError(f"{where(path, [*location, *key])}: {error}") from error


def plan(
    jobs: list[Job], earlier: Callable[[str], Result | None], digest: Callable[[str], str]
) -> list[Planned]:
    """Look at every job without running any; each data set is asked for once.

    Raises UsageError for an algorithm, setting or data reference that does not exist, before
    anything is read.

    - `earlier`: the result of a key that can be reused, or None.
    - `digest`: that of the data of a reference; a `DataError` says why there are none.
    """
    planned: dict[int, Planned] = {}
    waiting: dict[str, list[list[int]]] = {}
    for alike in _repetitions(jobs):
        job = jobs[alike[0]]
        fault = _fault(job.algorithm, job.settings)
        if fault:
            for i in alike:
                planned[i] = Planned(jobs[i], jobs[i].key("", job.data), fault=fault)
        else:
            check(job)
            waiting.setdefault(job.data, []).append(alike)
    for reference, mine in waiting.items():
        try:
            found = digest(reference)
        except DataUnavailableError as error:
            obstacle = f"data not available: {error}"
        except DataError as error:
            obstacle = str(error)
        else:
            for alike in mine:
                job = jobs[alike[0]]
                bench = describe(job.algorithm, job.settings).bench
                version, identity = identify(job, bench)
                for i in alike:
                    key = jobs[i].key(found, identity)
                    known = _as_asked(earlier(key), jobs[i])
                    planned[i] = Planned(jobs[i], key, known, "", found, version)
            continue
        for i in (i for alike in mine for i in alike):
            planned[i] = Planned(jobs[i], jobs[i].key("", reference), obstacle=obstacle)
    return [planned[i] for i in range(len(jobs))]


def _as_asked(known: Result | None, job: Job) -> Result | None:
    """An earlier result, unless a board would show it in another place than the job's.

    Its log and its seal hold the place, so under another label it is made anew.
    """
    if known is None:
        return None
    there = known.label, known.data, known.repetition
    return known if there == (job.label, job.data, job.repetition) else None


def _repetitions(jobs: list[Job]) -> list[list[int]]:
    """The places of jobs that differ in nothing but their seeds: a suite has thousands."""
    alike: dict[str, list[int]] = {}
    for i, job in enumerate(jobs):
        same = [job.algorithm, job.settings, job.bench, job.data]
        alike.setdefault(json.dumps(same, sort_keys=True, default=str), []).append(i)
    return list(alike.values())
