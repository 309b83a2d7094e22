"""Executor: where the steps of a run are carried out; this one needs no Prefect."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.flows.console import say_progress
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.prepared import Prepared
from leaseboard.tasks.machine.progress import Activity
from leaseboard.tasks.pool.attempts import Attempt, RunsJobs

Value = TypeVar("Value")


class Executor:
    """Executor of the steps of a run in this thread, and of its jobs from `size` threads.

    - `runs`: runs a job.
    - `stop`: makes every running job return.
    """

    def __init__(self, runs: RunsJobs, size: int, stop: Callable[[], None]) -> None:
        self.ahead = 2 * size
        self.runs = runs
        self.stop = stop
        self._threads = ThreadPoolExecutor(max_workers=size)

    def perform(self, body: Callable[["Executor"], Value]) -> Value:
        """Return the value of `body`, which chains the steps."""
        with self._threads:
            try:
                return body(self)
            except BaseException:
                self._threads.shutdown(wait=False, cancel_futures=True)
                self.stop()
                raise

    def call(self, step: Callable[..., Value], *given: Any, **named: Any) -> Value:
        """Carry out a step, a function of `leaseboard.tasks.steps.plain`, at once."""
        say_progress(f"step: {step.__name__}", level=1)
        with Activity(step.__name__):
            return step(*given, **named)

    def submit(self, job: Job, key: str, data: Prepared | None) -> Future[Attempt]:
        """Start a job next to others."""
        return self._threads.submit(self.runs, job, key, data)

    def release(self, data: Prepared) -> None:
        """Drop the parts of `data`: no other job will use them."""


class JobWaitsError(LeaseboardError):
    """Job that is not done: its data or its code differ from those of the last run."""


def idle() -> Executor:
    """Return an executor of a run whose jobs are all done; it raises JobWaitsError for another."""

    def refuse(job: Job, _key: str, _prepared: Prepared | None) -> Attempt:
        raise JobWaitsError(f"{job.name} on {job.data} waits")

    return Executor(refuse, 1, lambda: None)
