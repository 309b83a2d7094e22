"""Executors: where the steps of a run are carried out. One without Prefect is here."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import wraps
from queue import Empty, SimpleQueue
from secrets import SystemRandom
from typing import Any, TypeVar

from typing_extensions import override

from leaseboard.algorithms.errors import BrokenDownloadError, LeaseboardError
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.prepared import Prepared
from leaseboard.tasks.pool.attempts import Attempt, RunsJobs

Step = Callable[..., Any]
"""A plain function, such as those of `leaseboard.tasks.steps.plain`."""
Value = TypeVar("Value")
PAUSES = (2.0, 4.0, 8.0)
"""Seconds between tries of a download that broke off, as Prefect would make them."""


class Executor(ABC):
    """Carries out the steps of a run: those of `make` at once, and jobs side by side.

    `ahead`: so many jobs are started before one must be over: nothing is prepared long before it
    is needed, and what is over is kept soon.
    """

    def __init__(self, ahead: int) -> None:
        self.ahead = ahead
        self._running: dict[str, Any] = {}
        self._ended: SimpleQueue[str] = SimpleQueue()

    @abstractmethod
    def make(self, word: str, step: Step, *, after: Iterable[object] = ()) -> Step:
        """Return `step`, which is called by a word, as what carries it out here.

        `after`: what earlier steps made that this one takes.
        """

    @abstractmethod
    def submit(self, job: Job, key: str, data: Prepared | None) -> Any:
        """Have a job run; returns a future."""

    def release(self, data: Prepared) -> None:
        """No other job will be made from the parts of `data`."""

    def show_progress(self, done: int, total: int) -> None:
        """So many of all jobs are over."""

    def start(self, job: Job, key: str, data: Prepared | None) -> None:
        """Have a job run beside the others; see `ended`."""
        future = self.submit(job, key, data)
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
            yield key, self.outcome_of(self._running.pop(key))

    @abstractmethod
    def outcome_of(self, future: Any) -> Attempt | None:
        """What a job came to whose future is done; what it was interrupted by is raised."""


class LocalExecutor(Executor):
    """Carries out steps in this thread, and jobs from `size` threads, without Prefect."""

    def __init__(self, runs: RunsJobs, size: int) -> None:
        super().__init__(2 * size)
        self._runs = runs
        self._threads = ThreadPoolExecutor(max_workers=size)

    def perform(self, body: Callable[[Executor], Value], interrupt: Callable[[], None]) -> Value:
        """What `body` makes of the steps; `interrupt` makes every running job return."""
        with self._threads:
            try:
                return body(self)
            except BaseException:
                self._threads.shutdown(wait=False, cancel_futures=True)
                interrupt()
                raise

    @override
    def make(self, word: str, step: Step, *, after: Iterable[object] = ()) -> Step:
        @wraps(step)
        def tried(*given: Any, **named: Any) -> Any:
            for pause in PAUSES:
                try:
                    return step(*given, **named)
                except BrokenDownloadError:
                    time.sleep(pause * SystemRandom().uniform(1.0, 1.5))
            return step(*given, **named)

        return tried

    @override
    def submit(self, job: Job, key: str, data: Prepared | None) -> Future[Attempt]:
        return self._threads.submit(self._runs, job, key, data)

    @override
    def outcome_of(self, future: Future[Attempt]) -> Attempt:
        return future.result()


class JobWaitsError(LeaseboardError):
    """A job is not done after all: its data or its code are others than those of the last run."""


def nothing_runs(job: Job, key: str, prepared: Prepared | None) -> Attempt:
    """Raise JobWaitsError: no job is expected to run."""
    raise JobWaitsError(f"{job.label} on {job.data} waits")
