"""Executors: where the steps of a run are carried out, and the local one, without Prefect."""

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
from leaseboard.flows.console import say_progress
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.prepared import Prepared
from leaseboard.tasks.machine.progress import Activity
from leaseboard.tasks.pool.attempts import Attempt, RunsJobs

Step = Callable[..., Any]
"""A plain function, such as those of `leaseboard.tasks.steps.plain`."""
Value = TypeVar("Value")
PAUSES = (2.0, 4.0, 8.0)
"""Seconds between tries of a download that broke off, like those of Prefect's backoff."""


class Executor(ABC):
    """Executor of the steps of a run: those of `make` at once, and jobs in parallel.

    - `ahead`: how many jobs are started before one must have ended: inputs are prepared shortly
      before they are needed, and results are recorded soon.
    - `interrupt`: makes every running job return.
    """

    def __init__(self, ahead: int, interrupt: Callable[[], None]) -> None:
        self.ahead = ahead
        self.interrupt = interrupt
        self._running: dict[str, Any] = {}
        self._ended: SimpleQueue[str] = SimpleQueue()

    @abstractmethod
    def make(self, word: str, step: Step, *, after: Iterable[object] = ()) -> Step:
        """Return a function that carries out `step` under the name `word`.

        - `after`: values of earlier steps that this one takes.
        """

    @abstractmethod
    def submit(self, job: Job, key: str, data: Prepared | None) -> Any:
        """Start a job and return its future."""

    def release(self, data: Prepared) -> None:
        """Drop the parts of `data`: no other job will use them."""

    def show_progress(self, done: int, total: int) -> None:
        """Show how many of all jobs have ended."""

    def start(self, job: Job, key: str, data: Prepared | None) -> None:
        """Start a job next to the others; see `ended`."""
        future = self.submit(job, key, data)
        self._running[key] = future
        future.add_done_callback(lambda _: self._ended.put(key))

    def ended(self, *, leave: int) -> Iterator[tuple[str, Attempt | None]]:
        """Yield the jobs that have ended, each once; None replaces one whose machine was lost.

        It waits for jobs as long as more than `leave` run.
        """
        while self._running:
            try:
                key = self._ended.get(block=len(self._running) > leave)
            except Empty:
                return
            yield key, self.outcome_of(self._running.pop(key))

    @abstractmethod
    def outcome_of(self, future: Any) -> Attempt | None:
        """Return the attempt of a job whose future is done, or raise what interrupted it."""


class LocalExecutor(Executor):
    """Executor without Prefect: steps in this thread, jobs from `size` threads."""

    def __init__(
        self, runs: RunsJobs, size: int, interrupt: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(2 * size, interrupt)
        self._runs = runs
        self._threads = ThreadPoolExecutor(max_workers=size)

    def perform(self, body: Callable[[Executor], Value]) -> Value:
        """Return the value of `body`, which chains the steps."""
        with self._threads:
            try:
                return body(self)
            except BaseException:
                self._threads.shutdown(wait=False, cancel_futures=True)
                self.interrupt()
                raise

    @override
    def make(self, word: str, step: Step, *, after: Iterable[object] = ()) -> Step:
        @wraps(step)
        def tried(*given: Any, **named: Any) -> Any:
            say_progress(f"step: {word}", level=1)
            for pause in PAUSES:
                try:
                    with Activity(word):
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
    """Job that is not done: its data or its code differ from those of the last run."""


def nothing_runs(job: Job, key: str, prepared: Prepared | None) -> Attempt:
    """Raise JobWaitsError, since no job is expected to run."""
    raise JobWaitsError(f"{job.name} on {job.data} waits")
