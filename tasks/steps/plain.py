"""The steps of a benchmark, each a plain function, which executors carry out."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.fetch import kept
from leaseboard.tasks.fetch.kept import Kept
from leaseboard.tasks.jobs import prepared
from leaseboard.tasks.jobs.job import Job, Limits, Result
from leaseboard.tasks.jobs.prepared import Prepared
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.machine import paths
from leaseboard.tasks.pool.attempts import Attempt, RunsJobs, run_unplanned
from leaseboard.tasks.score.compared import Compared, compared
from leaseboard.tasks.track import TrackingError, log_all
from leaseboard.tasks.track.publish import publish

_ONCE = threading.Lock()


def fetch(
    reference: str, place: Path | None = None, *, mirrors: Iterable[str | Path] = ()
) -> Kept:
    """`leaseboard.tasks.fetch.kept.fetch_into` a folder; by default one of this process."""
    return kept.fetch_into(place or _scratch(), reference, mirrors=mirrors)


def hold(
    frame: pd.DataFrame, name: str, *, target: str | None = None, task: str | None = None
) -> Kept:
    """`leaseboard.tasks.fetch.kept.hold` a frame, under `name`, as data for jobs."""
    return kept.hold(frame, name, _scratch(), target=target, task=task)


def prepare(data: Kept, job: Job) -> Prepared:
    """`leaseboard.tasks.jobs.prepared.prepare`; whatever is fitted is fitted on training rows."""
    return prepared.prepare(data, job)


def run(
    job: Job,
    data: Prepared | Kept | None = None,
    *,
    key: str = "",
    limits: Limits | None = None,
    out: Path | None = None,
    workers: RunsJobs | None = None,
) -> Attempt:
    """Run `job` to its end, whatever that is; as a task it fails if the job does.

    Parameters
    ----------
    job : Job
    data : Prepared or Kept, optional
        Without it the job loads ``job.data`` itself.
    key : str
        Of the planned job; empty for one that is not planned.
    limits : Limits, optional
    out : Path, optional
        The run folder that keeps the result and the event log; by default one of this process.
    workers : RunsJobs, optional
        What runs it; by default processes of this one that live on from job to job.

    Returns
    -------
    Attempt
        The task gives its result, as the state's data, also of a failed one:
        ``future.result(raise_on_failure=False)``; of a job that ran on another machine the
        `Attempt`, which brings its files.
    """
    if isinstance(data, Kept):
        data = prepared.prepare(data, job)
    if workers is not None:
        return workers(job, key, data)
    return run_unplanned(limits or Limits(), out or _scratch(), job, data)


def score(results: Sequence[Result], suite: Suite | None = None) -> Compared:
    """`leaseboard.tasks.score.compared.compared`.

    Raises UsageError for results that no board can compare.
    """
    if not results:
        raise UsageError("there are no results to compare: run a job first")
    digests: dict[str, str] = {}
    for result in results:
        if result.digest and digests.setdefault(result.data, result.digest) != result.digest:
            raise UsageError(
                f"two data sets are called {result.data} (digests {digests[result.data][:12]} and"
                f" {result.digest[:12]}), whose scores one board cannot compare: name them apart"
            )
    return compared(results, suite)


def report(out: Path, found: Compared, suite: Suite | None = None) -> Path:
    """`leaseboard.tasks.report.refresh` the page of a run folder."""
    from leaseboard.tasks.report import refresh

    return refresh(out, suite, found)


def record(
    results: Sequence[Result],
    name: str,
    found: Compared,
    *,
    out: Path | None = None,
    uri: str | None = None,
    suite: Suite | None = None,
    report: Path | None = None,
    logged: bool = False,
) -> str:
    """Log `results` as runs of MLflow's experiment `name`, described by their board.

    Raises TrackingError if the store cannot be used.

    - `out`: the run folder with the event logs.
    - `uri`: the store; the one of this project by default.
    - `suite`: says what its data sets are called.
    - `report`: the page, to be attached.
    - `logged`: the jobs were logged while they ran; the board alone is missing.

    Returns where the jobs are in MLflow's UI, from ``#`` on.
    """
    from leaseboard.tasks.report import figures
    from leaseboard.tasks.score.board import markdown

    store = paths.tracking_uri(uri)
    names = suite.data_names if suite else {}
    try:
        if not logged:
            log_all(results, out or _scratch(), name, store)
        return publish(
            store, name, results, board=markdown(found), names=names,
            files=[report] if report else [], figures=figures(found),
        )  # fmt: skip
    except TrackingError as error:  # what it came of may tell the store's address
        raise TrackingError(str(error)) from None


def _scratch() -> Path:
    """Return a folder for as long as this process lives, the same for all its threads."""
    with _ONCE:
        return _made()


@functools.cache
def _made() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="leaseboard-"))
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # a fork is no owner
            shutil.rmtree(folder)

    atexit.register(remove)
    return folder
