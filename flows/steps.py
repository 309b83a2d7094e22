"""The steps of a run, as `leaseboard.flows.benchmark` takes them, and the plain way to make
them.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue
from secrets import SystemRandom
from typing import Any, TypeVar

from typing_extensions import override

from leaseboard.algorithms.errors import BrokenDownloadError, LeaseboardError
from leaseboard.tasks.fetch import kept
from leaseboard.tasks.fetch.kept import Kept
from leaseboard.tasks.jobs import prepared
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.jobs.prepared import Prepared
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.pool.attempts import Attempt, RunsJobs
from leaseboard.tasks.score.compared import Compared, compared

Value = TypeVar("Value")
PAUSES = (2.0, 4.0, 8.0)
"""Seconds between tries of a download that broke off, as Prefect would make them."""


class Steps(ABC):
    """Fetch, prepare, score, report and record, each at once; and runs, side by side.

    Those that are called at once are the functions of `leaseboard.tasks.steps`, with the same
    arguments.

    `ahead`: so many jobs are started before one must be over: nothing is prepared long before it
    is needed, and what is over is kept soon.
    """

    def __init__(self, ahead: int) -> None:
        self.ahead = ahead
        self._running: dict[str, Any] = {}
        self._ended: SimpleQueue[str] = SimpleQueue()

    @abstractmethod
    def fetch(self, reference: str, place: Path, *, mirrors: tuple[Path, ...]) -> Kept:
        """Load a data set and keep it in `place`."""

    @abstractmethod
    def prepare(self, data: Kept, job: Job) -> Prepared:
        """Preprocess data for the bench of `job`."""

    @abstractmethod
    def score(self, results: Sequence[Result], suite: Suite | None) -> Compared:
        """Compare the algorithms."""

    @abstractmethod
    def report(self, out: Path, found: Compared, suite: Suite | None) -> Path:
        """Build the page."""

    @abstractmethod
    def record(self, results: Sequence[Result], name: str, found: Compared, **given: Any) -> str:
        """Put the board into MLflow."""

    @abstractmethod
    def _submit(self, job: Job, key: str, data: Prepared | None) -> Any:
        """Have a job run; returns a future."""

    def let_go_of(self, data: Prepared) -> None:
        """No other job will be made from its parts."""

    def told(self, done: int, total: int) -> None:
        """So many of all jobs are over."""

    def start(self, job: Job, key: str, data: Prepared | None) -> None:
        """Have a job run beside the others; see `ended`."""
        future = self._submit(job, key, data)
        self._running[key] = future
        future.add_done_callback(lambda _: self._ended.put(key))

    def ended(self, *, leave: int) -> Iterator[tuple[str, Attempt | None]]:
        """The jobs that are over, each once, None in place of one whose machine was lost.

        It waits for jobs as long as more than `leave` run.
        """
        while self._running:
            try:
                key = self._ended.get(block=len(self._running) > leave)
            except Empty:
                return
            # What has been handed out is let go of, here and on its worker.
            yield key, self._outcome(self._running.pop(key))

    @abstractmethod
    def _outcome(self, future: Any) -> Attempt | None:
        """What a job came to whose future is done; what it was interrupted by is raised."""


class Locally(Steps):
    """The steps without Prefect.

    `size`: jobs side by side.
    """

    def __init__(self, runs: RunsJobs, size: int) -> None:
        super().__init__(2 * size)
        self._runs = runs
        self._threads = ThreadPoolExecutor(max_workers=size)

    def perform(self, body: Callable[[Steps], Value], interrupt: Callable[[], None]) -> Value:
        """What `body` makes of these steps; `interrupt` makes every running job return."""
        with self._threads:
            try:
                return body(self)
            except BaseException:
                self._threads.shutdown(wait=False, cancel_futures=True)
                interrupt()
                raise

    @override
    def fetch(self, reference: str, place: Path, *, mirrors: tuple[Path, ...]) -> Kept:
        for pause in PAUSES:
            try:
                return kept.fetch_into(place, reference, mirrors=mirrors)
            except BrokenDownloadError:
                time.sleep(pause * SystemRandom().uniform(1.0, 1.5))
        return kept.fetch_into(place, reference, mirrors=mirrors)

    @override
    def prepare(self, data: Kept, job: Job) -> Prepared:
        return prepared.prepare(data, job)

    @override
    def score(self, results: Sequence[Result], suite: Suite | None) -> Compared:
        return compared(results, suite)

    @override
    def report(self, out: Path, found: Compared, suite: Suite | None) -> Path:
        from leaseboard.tasks import report as page

        return page.refresh(out, suite, found)

    @override
    def record(self, results: Sequence[Result], name: str, found: Compared, **given: Any) -> str:
        from leaseboard.tasks.steps.recording import record

        return record(results, name, found, **given)

    @override
    def _submit(self, job: Job, key: str, data: Prepared | None) -> Future[Attempt]:
        return self._threads.submit(self._runs, job, key, data)

    @override
    def _outcome(self, future: Future[Attempt]) -> Attempt:
        return future.result()


class JobWaitsError(LeaseboardError):
    """A job is not done after all: its data or its code are others than those of the last run."""


def nothing_runs(job: Job, key: str, prepared: Prepared | None) -> Attempt:
    """Stands where no job is expected to run: JobWaitsError."""
    raise JobWaitsError(f"{job.label} on {job.data} waits")
