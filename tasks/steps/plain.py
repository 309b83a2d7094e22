"""The steps of a benchmark, each a plain function, and the loop over its jobs."""

import atexit
import functools
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from pathlib import Path
from secrets import SystemRandom
from typing import TypeVar

from leaseboard.algorithms.errors import BrokenDownloadError, UsageError
from leaseboard.tasks.folder.results import DIAGNOSTICS
from leaseboard.tasks.jobs import prepared
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.jobs.prepared import Prepared
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.machine import environment
from leaseboard.tasks.pool.workers import Attempt, RunsJobs, run_unplanned
from leaseboard.tasks.processes.child import Limits
from leaseboard.tasks.score.summary import Compared, compared
from leaseboard.tasks.track.store import TrackingError
from leaseboard.tasks.track.tracker import Place, log_all, publish

PAUSES = (2.0, 4.0, 8.0)
"""Seconds between tries of a download that broke off."""
Waiting = TypeVar("Waiting")
Ended = TypeVar("Ended")


def run_all(
    jobs: Iterable[Waiting], submit: Callable[[Waiting], Future[Ended]], *, ahead: int = 0
) -> Iterator[tuple[Waiting, Ended]]:
    """Run jobs, and yield each with its outcome as soon as it has ended.

    - `submit`: starts a job, after all that it needs; of how it runs this loop knows nothing.
    - `ahead`: how many are started before one must have ended: inputs are prepared shortly before
      they are needed, and results are recorded soon.
    """
    running = dict[Future[Ended], Waiting]()

    def collected(leave: int) -> Iterator[tuple[Waiting, Ended]]:
        while running:
            seconds = None if len(running) > leave else 0
            ended = wait(running, seconds, FIRST_COMPLETED).done
            if not ended:
                return
            for future in ended:
                yield running.pop(future), future.result()

    for job in jobs:
        running[submit(job)] = job
        yield from collected(ahead)
    yield from collected(0)


def fetch(reference: str, place: Path | None = None) -> Prepared:
    """Fetch a dataset into a folder, by default one of this process, for all jobs on it.

    A download that breaks off is tried again, with backoff and jitter.
    """
    folder = place or _scratch()
    for pause in PAUSES:
        with suppress(BrokenDownloadError):
            return prepared.fetch_into(folder, reference)
        time.sleep(pause * SystemRandom().uniform(1.0, 1.5))
    return prepared.fetch_into(folder, reference)


def run(
    job: Job,
    data: Prepared | None = None,
    *,
    key: str = "",
    limits: Limits | None = None,
    out: Path | None = None,
    workers: RunsJobs | None = None,
) -> Attempt:
    """Run `job` to its end; as a task it fails if the job does.

    Parameters
    ----------
    job : Job
    data : Prepared, optional
        Without it the job loads ``job.data`` itself.
    key : str
        Of the planned job; empty for one that is not planned.
    limits : Limits, optional
    out : Path, optional
        The run folder for the result and the event log; by default one of this process.
    workers : RunsJobs, optional
        Runs it; by default worker processes of this process.

    Returns
    -------
    Attempt
        The task's state holds the result, also of a failed one:
        ``future.result(raise_on_failure=False)``; of a job on another machine it holds the
        `Attempt` with its files.
    """
    if data is not None and data.parts is None:
        data = prepared.prepare(data, job)
    if workers is not None:
        return workers(job, key, data)
    return run_unplanned(limits or Limits(), out or _scratch(), job, data)


def score(results: Sequence[Result], suite: Suite | None = None) -> Compared:
    """Compare the results; raise UsageError for those that no leaderboard can compare."""
    if not results:
        raise UsageError("the results to compare are missing: run a job first")
    return compared(results, suite)


def report(out: Path, found: Compared, suite: Suite | None = None) -> Path:
    """Write the page of a run folder, and return it."""
    from leaseboard.tasks.report.build import build

    return build(out, suite, found)


def record(
    results: Sequence[Result],
    name: str,
    found: Compared,
    *,
    out: Path | None = None,
    uri: str | None = None,
    report: Path | None = None,
    logged: bool = False,
    configurations: str = "all",
) -> Place:
    """Log `results` as runs of MLflow's experiment `name`, described by their leaderboard.

    Raises TrackingError if the store cannot be used.

    - `out`: the run folder with the event logs.
    - `uri`: the store; the one of this project by default.
    - `report`: the page, to be attached.
    - `logged`: the jobs were logged while they ran; the leaderboard alone is missing.
    - `configurations`: which get a run, as of a suite's ``tracking``.

    Returns where they are in MLflow's UI.
    """
    from leaseboard.tasks.score.summary import markdown, standings

    store = environment.tracking_uri(uri)
    files = [] if report is None else [report, report.with_name(DIAGNOSTICS)]
    try:
        if not logged:
            log_all(results, out or _scratch(), name, store, configurations)
        return publish(
            store, name, results, board=markdown(found), standings=standings(found), files=files
        )
    except TrackingError as error:  # its cause may hold the store's address
        raise TrackingError(str(error)) from None


@functools.cache
def _scratch() -> Path:
    """Return a folder for as long as this process lives; threads that ask at once may get two."""
    folder, owner = Path(tempfile.mkdtemp(prefix="leaseboard-")), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # not in a fork
            shutil.rmtree(folder)

    atexit.register(remove)
    return folder
