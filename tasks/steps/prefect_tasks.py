"""The steps of a benchmark as Prefect tasks: fetch, prepare, run, score, record and report.

``leaseboard run`` chains them in `leaseboard.flows.benchmark`; anybody can chain them in a flow of
their own, see the how-to "Compose a flow". Each is a thin task over a plain function, which says
more.

What touches the world is tried again, with backoff and jitter: a download that broke off, a store
that does not answer. What only computes is not: it would fail the same way.
"""

from __future__ import annotations

import atexit
import functools
import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from prefect import task
from prefect.artifacts import create_link_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.context import TaskRunContext
from prefect.futures import PrefectFuture
from prefect.logging.handlers import APILogHandler
from prefect.states import Completed, Failed
from prefect.tasks import exponential_backoff

from leaseboard.algorithms.errors import BrokenDownloadError, UsageError
from leaseboard.tasks import report as page
from leaseboard.tasks.fetch import kept
from leaseboard.tasks.fetch.kept import Kept
from leaseboard.tasks.jobs import prepared
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.jobs.limits import Limits
from leaseboard.tasks.jobs.prepared import Prepared
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.addresses import redacted
from leaseboard.tasks.machine.terminal import harmless
from leaseboard.tasks.pool.attempts import Attempt, RunsJobs, Unplanned
from leaseboard.tasks.score import board as shown
from leaseboard.tasks.score.compared import Compared, compared
from leaseboard.tasks.steps import recording
from leaseboard.tasks.track import TrackingError

_KEPT_BY_US: dict[str, Any] = {"cache_policy": NO_CACHE, "persist_result": False}
"""The run folder and MLflow are the record; Prefect keeps no copy of a result."""
_TAGGED = _KEPT_BY_US | {"tags": ["leaseboard"]}
_ONCE = threading.Lock()
_AGAIN: dict[str, Any] = {
    "retries": 3,
    "retry_delay_seconds": exponential_backoff(backoff_factor=2),
    "retry_jitter_factor": 0.5,
}
UI = "http://127.0.0.1:5000"
HINT = "A store that is no server is shown there by `leaseboard ui`."
MOST_LOGGED = 1 << 16
"""Characters of a job's own output on its page; the whole is in the run folder."""


def _passes(*kinds: type[Exception]) -> Callable[..., bool]:
    """Whether a try that ended in one of these errors is worth another."""

    def worth_it(_task: object, _run: object, state: State[Any]) -> bool:
        return isinstance(state.result(raise_on_failure=False), kinds)

    return worth_it


def _fetch_title(parameters: dict[str, Any]) -> str:
    return f"fetch {parameters['called'] or parameters['reference']}"


@task(
    task_run_name=_fetch_title,
    description="Load a data set, once, and keep it for all jobs of the run.",
    retry_condition_fn=_passes(BrokenDownloadError),
    **_AGAIN,
    **_TAGGED,
)
def fetch(
    reference: str,
    place: Path | None = None,
    *,
    mirrors: Iterable[str | Path] = (),
    called: str = "",
) -> Kept:
    """`leaseboard.tasks.fetch.kept.fetch_into` a folder; of this process, if no `place` is named.

    What the data are `called` on the page is the reference by default, here and in other steps.
    """
    del called
    data = kept.fetch_into(place or _scratch(), reference, mirrors=mirrors)
    _say(_about(data))
    return data


@task(
    task_run_name="hold {name}",
    description="Take a table that this flow has read itself.",
    **_TAGGED,
)
def hold(
    frame: pd.DataFrame, name: str, *, target: str | None = None, task: str | None = None
) -> Kept:
    """`leaseboard.tasks.fetch.kept.hold` a frame, under `name`, as data that jobs can be run
    on.
    """
    data = kept.hold(frame, name, _scratch(), target=target, task=task)
    _say(_about(data))
    return data


def _prepare_title(parameters: dict[str, Any]) -> str:
    name = parameters["called"] or parameters["data"].reference
    return f"prepare {name} for {prepared.bench_of(parameters['job'])}"


@task(
    task_run_name=_prepare_title,
    description="Preprocess a data set for a bench, once for all jobs that share it.",
    **_TAGGED,
)
def prepare(data: Kept, job: Job, *, called: str = "") -> Prepared:
    """`leaseboard.tasks.jobs.prepared.prepare`; whatever is fitted is fitted on training rows."""
    del called
    made = prepared.prepare(data, job)
    what = "mapped by each job" if made.parts else "each job prepares what it asks for"
    _say(f"{data.reference}: {what}")
    return made


def _run_title(parameters: dict[str, Any]) -> str:
    job: Job = parameters["job"]
    name = parameters["called"] or job.data
    return f"{job.label or job.algorithm} on {name}, repetition {job.repetition}"


# Without tags: for each of a task's tags Prefect asks whether its limit allows one more.
@task(
    task_run_name=_run_title,
    description="Run one job in a worker process, under its limits.",
    **_KEPT_BY_US,
)
def run(
    job: Job,
    data: Prepared | Kept | None = None,
    *,
    key: str = "",
    limits: Limits | None = None,
    out: Path | None = None,
    workers: RunsJobs | None = None,
    called: str = "",
) -> State[Any]:
    """Run `job` to its end, whatever that is; the task fails if the job does.

    Parameters
    ----------
    job : Job
    data : Prepared or Kept, optional
        Without it the job loads ``job.data`` itself.
    key : str
        Of the planned job; empty where nobody has planned it.
    limits : Limits, optional
    out : Path, optional
        The run folder that keeps the result and the event log; by default one of this process.
    workers : RunsJobs, optional
        What runs it; by default processes of this one that live on from job to job.
    called : str
        What the page calls the data; the reference by default.

    Returns
    -------
    Result
        As the state's data, also of a failed one: ``future.result(raise_on_failure=False)``. Of a
        job that ran on another machine an `Attempt`, which brings its files.
    """
    del called
    if isinstance(data, Kept):
        data = prepared.prepare(data, job)
    attempt = (workers or Unplanned(limits or Limits(), out or _scratch()))(job, key, data)
    result = attempt.result
    printed = _printed(attempt)
    if printed:
        _say(f"the job printed:\n{printed}")
    score = "" if result.score is None else f"{result.metric} {result.score:.6g}"
    message = f"{result.status}: {result.reason or score}".rstrip(": ")
    _say(f"{message} ({result.cpu_seconds:.2f} CPU s)")
    told: Any = result if attempt.files is None else attempt
    if not result.failed:
        return Completed(message=message, data=told)
    return Failed(message=message, data=told)


def results_of(runs: Iterable[PrefectFuture[Any]]) -> list[Result]:
    """What came of `run`s that were submitted, of the failed ones too.

    A task that has no result, such as one that was wrongly called, raises its error.
    """
    found = [each.result(raise_on_failure=False) for each in runs]
    for made in found:
        if isinstance(made, BaseException):
            raise made
    return found


@task(
    task_run_name="score",
    description="Compare the algorithms: ranks, intervals and tests.",
    **_TAGGED,
)
def score(results: Sequence[Result], suite: Suite | None = None) -> Compared:
    """`leaseboard.tasks.score.compared.compared`, with the board as a table on the run's page."""
    _check_comparable(results)
    found = compared(results, suite)
    if TaskRunContext.get():
        names = shown.columns(found)
        rows = [dict(zip(names, row, strict=True)) for row in shown.texts(found)]
        create_table_artifact(rows, key="board", description=" ".join(found.answer.lines()))
    _say(shown.plain(found))
    return found


@task(
    task_run_name="report",
    description="Build the page that opens offline.",
    **_TAGGED,
)
def report(out: Path, found: Compared, suite: Suite | None = None) -> Path:
    """`leaseboard.tasks.report.refresh` the page of a run folder, with a link to it on the run's
    page.
    """
    path = page.refresh(out, suite, found)
    if TaskRunContext.get():
        about = "Opens offline, on the machine that made it."
        create_link_artifact(path.as_uri(), link_text=str(path), key="report", description=about)
    _say(f"report: {path}")
    return path


@task(
    task_run_name="record",
    description="Log every job, configuration, lease, bound and score as MLflow runs.",
    retry_condition_fn=_passes(TrackingError),
    **_AGAIN,
    **_TAGGED,
)
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
    """`leaseboard.tasks.steps.recording.record` into the store `uri`, or the one of this
    project.
    """
    store, folder = paths.tracking_uri(uri), out or _scratch()
    given = {"suite": suite, "report": report, "logged": logged}
    try:
        place = recording.record(results, name, found, store, out=folder, **given)
    except TrackingError as error:  # what it came of may tell the store's address
        raise TrackingError(str(error)) from None
    _say(f"MLflow experiment {name!r}: {place}")
    if TaskRunContext.get():
        shown_at = redacted(store).rstrip("/") if store.startswith("http") else UI
        create_link_artifact(f"{shown_at}/{place}", link_text=name, key="mlflow", description=HINT)
    return place


def _check_comparable(results: Sequence[Result]) -> None:
    """UsageError for results that no board can compare."""
    if not results:
        raise UsageError("there are no results to compare: run a job first")
    digests: dict[str, str] = {}
    for result in results:
        if result.digest and digests.setdefault(result.data, result.digest) != result.digest:
            raise UsageError(
                f"two data sets are called {result.data} (digests {digests[result.data][:12]} and"
                f" {result.digest[:12]}), whose scores one board cannot compare: name them apart"
            )


def _about(data: Kept) -> str:
    return f"{data.rows} rows, {data.features} features, {data.task}, digest {data.digest[:12]}"


def _printed(attempt: Attempt) -> str:
    """The last of what the job itself printed."""
    return harmless(attempt.log.decode(errors="replace")[-MOST_LOGGED:].strip())


def _say(text: str) -> None:
    """A line in the log of this task run, whatever level Prefect's own lines have."""
    context = TaskRunContext.get()
    if context is not None:
        where = {"flow_run_id": context.task_run.flow_run_id, "task_run_id": context.task_run.id}
        _logger().info("%s", text, extra=where)


@functools.cache
def _logger() -> logging.Logger:
    logger = logging.Logger("leaseboard", logging.INFO)
    logger.addHandler(APILogHandler())
    return logger


def _scratch() -> Path:
    """A folder for as long as this process lives, the same for all its threads."""
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
