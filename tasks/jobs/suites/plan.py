"""What a suite would do: each job with its key, whether it is done, or why it cannot run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leaseboard.algorithms.errors import (
    DataError,
    DataUnavailableError,
    SettingError,
    UsageError,
    UserFileError,
)
from leaseboard.tasks import fetch
from leaseboard.tasks.jobs import benches
from leaseboard.tasks.jobs.described import describe
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.jobs.run import check, identify
from leaseboard.tasks.jobs.suites.rankable import require_ranking
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.machine.yaml_files import where


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
