"""Plans of suites: each job with its key, whether it is done, or why it cannot run."""

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from leaseboard.algorithms.environments.stream import StreamEnvironment
from leaseboard.algorithms.errors import (
    DataError,
    DataUnavailableError,
    SettingError,
    UsageError,
    UserFileError,
    unknown,
)
from leaseboard.algorithms.measures import DIRECTIONS, SKILL
from leaseboard.algorithms.reference.naive import NAIVE_BASELINES
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.jobs import environments
from leaseboard.tasks.jobs.described import describe
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.jobs.run import check
from leaseboard.tasks.jobs.suites.suite import Contender, Suite, refuse_duplicates
from leaseboard.tasks.machine.yaml_files import where


def with_baselines(suite: Suite) -> Suite:
    """Return the suite with the naive baselines of streams that it does not name.

    They get the environment's options of its first algorithm on a stream, so that one
    leaderboard can compare them. A suite without one, or with ``baselines: false``, is returned
    unchanged.
    """
    on_streams = [each for each in suite.algorithms if _is_of_streams(each.algorithm)]
    if not (suite.baselines and on_streams):
        return suite
    named = {one.algorithm for one in suite.algorithms}
    missing = [name for name in NAIVE_BASELINES if name not in named]
    added = [Contender(algorithm=name, environment=on_streams[0].environment) for name in missing]
    return suite.model_copy(update={"algorithms": [*suite.algorithms, *added]})


def _is_of_streams(algorithm: str) -> bool:
    """Return whether an algorithm can be used, and is one of streams."""
    with suppress(UsageError, UserFileError):
        return describe(algorithm).environment == StreamEnvironment.kind
    return False


@dataclass(frozen=True, slots=True)
class Planned:
    """Job of a suite before it runs."""

    job: Job
    key: str
    """Name of its result; of the job alone if its data cannot be read."""
    earlier: Result | None = None
    """Result of an earlier run, if it can be reused."""
    status: str = ""
    """How it ended already: ``crash`` if the user's file with the algorithm cannot be used,
    ``skipped`` if its data cannot be read; empty if it can run."""
    reason: str = ""
    """Why it cannot run."""
    digest: str = ""
    """Of the data, empty where they cannot be read."""
    version: str = ""
    """Of the algorithm's code."""

    @property
    def done(self) -> bool:
        """True if an earlier result is reused."""
        return self.earlier is not None

    @property
    def state(self) -> str:
        """What happens to it: ``done``, ``to run``, or its status."""
        return self.status or ("done" if self.done else "to run")

    @property
    def waits(self) -> bool:
        """True if it will run."""
        return not (self.done or self.status)


def check_suite(suite: Suite) -> None:
    """Check every algorithm, setting and data reference of the suite.

    A user's file that cannot be used is not an error of the suite: its jobs alone fail.

    Raises UsageError with file, line and key of what does not exist or cannot be.
    """
    path, kinds = suite.path, dict[str, str]()
    for i, contender in enumerate(suite.algorithms):
        with _located(path, "algorithms", i, "algorithm"):
            fault = _fault(contender.algorithm, None)
        with _located(path, "algorithms", i, "settings"):
            if fault or _fault(contender.algorithm, contender.settings):
                continue
        kind = describe(contender.algorithm, contender.settings).environment
        kinds[contender.title] = kind
        with _located(path, "algorithms", i, "environment"):
            environments.resolve(kind, contender.environment)
        with _located(path, "environment"):
            environments.resolve(kind, suite.environment)
        for j, entry in enumerate(suite.data):
            with _located(path, "data", j, "environment"):
                environments.resolve(kind, {**suite.environment, **entry.environment})
    for j, entry in enumerate(suite.data):
        with _located(path, "data", j, "data"):
            loading.check(entry.data, here=True)
    _check_measures(suite, kinds, path)
    metrics = DIRECTIONS.keys() - {SKILL}
    if suite.metric is not None and suite.metric not in metrics:
        with _located(path, "metric"):
            raise unknown("metric", suite.metric, metrics)


def _check_measures(suite: Suite, kinds: dict[str, str], path: Path | None) -> None:
    """Raise UsageError for two algorithms on a dataset whose scores no leaderboard can compare."""
    titles = [contender.title for contender in suite.algorithms]
    first: dict[str, tuple[str, str]] = {}
    jobs = {(job.name, job.data): job for job in suite.jobs() if job.name in kinds}
    for job in jobs.values():
        mine = environments.resolve(kinds[job.name], job.environment).measure()
        other, measure = first.setdefault(job.data, (job.name, mine))
        if measure != mine:
            with _located(path, "algorithms", titles.index(job.name)):
                raise UsageError(
                    f"on {job.data} {job.name} is scored by its {mine} and {other} by its"
                    f" {measure}, which no leaderboard compares: give {job.name} a suite or a"
                    " dataset of its own"
                )


def _fault(algorithm: str, settings: Mapping[str, Any] | None) -> str:
    """Return why the user's file of an algorithm cannot be used; empty if it can."""
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
    """Return every job with its state, without running any; each dataset is read once.

    Raises UsageError for an algorithm, setting or data reference that does not exist, before
    anything is read, and if two references have the same content and listed seeds.

    - `earlier`: returns the result of a key that can be reused, or None.
    - `digest`: returns that of a reference's data; a `DataError` says why they are missing.
    """
    known: dict[str, tuple[str, str, str]] = {}
    for job in jobs:
        if (work := _work(job)) not in known:
            fault = _fault(job.algorithm, job.settings)
            known[work] = fault, *(("", "") if fault else check(job)[:2])
    read = functools.cache(functools.partial(_read, digest))

    def planned(job: Job) -> Planned:
        fault, version, identity = known[_work(job)]
        found, obstacle = ("", "") if fault else read(job.data)
        if fault or obstacle:
            status = "crash" if fault else "skipped"
            return Planned(job, job.key("", job.data), status=status, reason=fault or obstacle)
        key = job.key(found, identity)
        done = earlier(key)
        # The log and the checksum of a result hold its place on leaderboards.
        if done is not None and place(done) != place(job):
            done = None
        return Planned(job, key, done, digest=found, version=version)

    found = list(map(planned, jobs))
    refuse_duplicates((each.key, each.job) for each in found)
    return found


def _read(digest: Callable[[str], str], reference: str) -> tuple[str, str]:
    """Return the digest of the data, or why they cannot be read."""
    try:
        return digest(reference), ""
    except DataUnavailableError as error:
        return "", f"data not available: {error}"
    except DataError as error:
        return "", str(error)


place = attrgetter("name", "data", "repetition")
"""The place of a job, or of a result, on leaderboards."""


def _work(job: Job) -> str:
    """Return what is equal for jobs that differ only in their seeds, of which suites have many."""
    same = [job.algorithm, job.settings, job.environment, job.data]
    return json.dumps(same, sort_keys=True, default=str)
