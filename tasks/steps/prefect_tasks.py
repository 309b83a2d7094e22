"""The steps of a benchmark as Prefect tasks: fetch, prepare, run, score, record and report.

``leaseboard run`` chains them in `leaseboard.flows.benchmark`; a flow of your own can chain them
too, see the how-to "Compose a flow". Each is a task of the function of its name in
`leaseboard.tasks.steps.plain`, and shows on its page what that made.

Downloads that broke off and stores that do not answer are tried again, with backoff and jitter.
Computations are not: they would fail again.
"""

import functools
import hashlib
import inspect
import logging
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import httpx
from prefect import task
from prefect.artifacts import create_link_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.context import TaskRunContext
from prefect.exceptions import PrefectException
from prefect.futures import PrefectFuture
from prefect.logging.handlers import APILogHandler
from prefect.runtime import flow_run
from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings
from prefect.states import Cancelled, Completed, Failed
from prefect.tasks import exponential_backoff

from leaseboard.algorithms.errors import BrokenDownloadError
from leaseboard.tasks.fetch.cached import CachedDataset
from leaseboard.tasks.jobs.diagnostic_codes import counts_of, lines_of
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.jobs.prepared import Prepared, environment_of
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.addresses import mlflow_ui
from leaseboard.tasks.machine.terminal import harmless
from leaseboard.tasks.pool.attempts import Attempt
from leaseboard.tasks.pool.process import StoppedError
from leaseboard.tasks.score import board
from leaseboard.tasks.score.summary import Compared
from leaseboard.tasks.steps import plain
from leaseboard.tasks.track.publish import Place
from leaseboard.tasks.track.store import TrackingError

Given = Mapping[str, Any]
"""The arguments of a step, by name."""

HINT = "MLFLOW_UI_URL names another address; `leaseboard ui` shows a store without a server."
MOST_LOGGED = 1 << 16
"""Characters of a job's own output on its page; the whole is in the run folder."""
_ADDED = [
    inspect.Parameter("called", inspect.Parameter.KEYWORD_ONLY, default="", annotation=str),
    inspect.Parameter("tagged", inspect.Parameter.KEYWORD_ONLY, default=(), annotation=Any),
]
"""What the page calls the data, the reference by default; tags of the task run.

Of tags that a task has before it runs Prefect asks, for each task run, whether its limit allows
one more: a request a job, which a server that is gone makes an error.
"""


def artifact_key(name: str, what: str) -> str:
    """Return the key of the artifact `what` of a suite or live model: each has its own history.

    Prefect allows letters, digits and dashes; a name with other signs has its checksum in the key.
    """
    if re.search("[^a-z0-9_-]", name.lower()):
        name = f"{name}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return re.sub("[^a-z0-9]+", "-", f"{name}-{what}".lower()).strip("-")


def as_task(step: Callable[..., Any], name: str, **options: Any) -> Any:
    """Return the Prefect task of a function; the run folder and MLflow hold its results.

    One that is interrupted with its run is cancelled: neither failed nor crashed.
    """

    @functools.wraps(step)
    def interruptible(*given: Any, **named: Any) -> Any:
        try:
            return step(*given, **named)
        except (StoppedError, SystemExit) as stop:
            return Cancelled(message="interrupted with its run", data=stop)

    return task(interruptible, name=name, cache_policy=NO_CACHE, persist_result=False, **options)


def _step(
    step: Callable[..., Any],
    description: str,
    show: Callable[[Any, Given], Any],
    title: Callable[[Given], str] | str = "",
    again: type[Exception] | None = None,
) -> Any:
    """Return the task of a plain step.

    - `show`: shows the step's value on the page of the task run, and may return the task's state.
    - `title`: of a task run; a function of its ``parameters``, as Prefect calls them.
    - `again`: an error after which the step is tried again.
    """
    seen = inspect.signature(step)

    @functools.wraps(step)
    def shown(*given: Any, called: str = "", tagged: Iterable[str] = (), **named: Any) -> Any:
        del called
        if tagged and (context := TaskRunContext.get()):
            context.task_run.tags = list(dict.fromkeys(tagged))
        if "flow_run" in seen.parameters:
            # Its address; its identifier if our server ends with it.
            here = flow_run.ui_url if "PREFECT_API_URL" in os.environ else flow_run.id
            named["flow_run"] = named.get("flow_run") or str(here or "")
        made = step(*given, **named)
        ended = show(made, seen.bind(*given, **named).arguments)
        return made if ended is None else ended

    vars(shown)["__signature__"] = seen.replace(parameters=[*seen.parameters.values(), *_ADDED])
    options: dict[str, Any] = {}
    if again is not None:
        options = {
            "retries": 3,
            "retry_delay_seconds": exponential_backoff(backoff_factor=2),
            "retry_jitter_factor": 0.5,
            "retry_condition_fn": lambda _task, _run, state: isinstance(
                state.result(raise_on_failure=False), again
            ),
        }
    named = {"task_run_name": title or step.__name__, "description": description}
    return as_task(shown, step.__name__, **named, **options)


def _show_data(data: CachedDataset, _given: Given) -> None:
    about = f"{data.rows} rows, {data.features} features, {data.task}"
    _say(f"{about}, digest {data.digest[:12]}")


def _show_prepared(made: Prepared, given: Given) -> None:
    what = "mapped by each job" if made.parts else "each job prepares what it asks for"
    _say(f"{given['data'].reference}: {what}")


def _show_attempt(attempt: Attempt, _given: Given) -> State[Any]:
    result = attempt.result
    printed = harmless(attempt.log.decode(errors="replace")[-MOST_LOGGED:].strip())
    if printed:
        _say(f"the job printed:\n{printed}")
    found = "" if result.score is None else f"{result.metric} {result.score:.6g}"
    message = f"{result.status}: {result.reason or found}".rstrip(": ")
    _say(f"{message} ({result.cpu_seconds:.2f} CPU s)")
    ended = Failed if result.failed else Completed
    return ended(message=message, data=result if attempt.files is None else attempt)


def _show_board(found: Compared, given: Given) -> None:
    if TaskRunContext.get():
        rows = board.texts(found).to_dict("records")
        key = artifact_key(_suite_of(given), "leaderboard")
        publish(create_table_artifact, rows, key=key, description=" ".join(found.answer.lines()))
    _say(board.plain(found))


def _show_page(path: Path, given: Given) -> None:
    from leaseboard.tasks.report.build import read_diagnostics

    found = read_diagnostics(path.parent)
    if TaskRunContext.get():
        rows = [{"code": each.code, "severity": each.severity, "found": str(each),
                 "what to do": each.meaning["advice"]} for each in found]  # fmt: skip
        key = artifact_key(_suite_of(given), "diagnostics")
        publish(
            create_table_artifact, rows, key=key, description=f"Diagnostics: {counts_of(found)}"
        )
    _say("\n".join([*lines_of(found), f"report: {path}"]))


def _suite_of(given: Given) -> str:
    suite = given.get("suite")
    return suite.name if suite else str(flow_run.flow_name)


def _show_record(place: Place, given: Given) -> None:
    name, ui = given["name"], mlflow_ui(paths.tracking_uri(given.get("uri")))
    for what, address in (("mlflow", place.jobs), ("report", place.report)):
        if what == "mlflow" or given.get("report"):
            text = f"{what} of {name}"
            _say(f"{text}: {ui}/{address}")
            if TaskRunContext.get():
                publish(
                    create_link_artifact,
                    f"{ui}/{address}",
                    text,
                    key=artifact_key(name, what),
                    description=HINT,
                )


fetch = _step(
    plain.fetch,
    "Load a dataset, once, for all jobs of the run.",
    _show_data,
    lambda parameters: f"fetch {parameters['called'] or parameters['reference']}",
    again=BrokenDownloadError,
)
hold = _step(plain.hold, "Take a table that this flow has read itself.", _show_data, "hold {name}")
prepare = _step(
    plain.prepare,
    "Preprocess a dataset for an environment, once for all jobs that share it.",
    _show_prepared,
    lambda parameters: (
        f"prepare {parameters['called'] or parameters['data'].reference} for"
        f" {environment_of(parameters['job'])}"
    ),
)
run = _step(
    plain.run,
    "Run one job in a worker process, under its limits.",
    _show_attempt,
    lambda parameters: (
        f"{parameters['job'].name or parameters['job'].algorithm} on"
        f" {parameters['called'] or parameters['job'].data},"
        f" repetition {parameters['job'].repetition}"
    ),
)
score = _step(plain.score, "Compare the algorithms: ranks, intervals and tests.", _show_board)
report = _step(plain.report, "Build the page that opens offline.", _show_page)
record = _step(
    plain.record,
    "Log every job, configuration, lease, bound and score as MLflow runs.",
    _show_record,
    again=TrackingError,
)

TASKS = {
    inspect.unwrap(each.fn): each for each in (fetch, hold, prepare, run, score, report, record)
}
"""The tasks by their plain steps."""


def results_of(runs: Iterable[PrefectFuture[Any]]) -> list[Result]:
    """Return the results of submitted `run`s, also of the failed ones.

    A task that has no result, such as one that was wrongly called, raises its error.
    """
    found = [each.result(raise_on_failure=False) for each in runs]
    for made in found:
        if isinstance(made, BaseException):
            raise made
    return found


def publish(create: Callable[..., Any], *given: Any, **named: Any) -> None:
    """Create an artifact; history is a convenience, which a server that is gone does without."""
    with suppress(httpx.HTTPError, PrefectException), once():
        create(*given, **named)


def once() -> AbstractContextManager[Any]:
    """Ask Prefect once in the block: by default its client tries for a minute."""
    return temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0})


def _say(text: str) -> None:
    """Write a line into the log of this task run, at any level of Prefect's own lines."""
    context = TaskRunContext.get()
    if context is not None:
        where = {"flow_run_id": context.task_run.flow_run_id, "task_run_id": context.task_run.id}
        _logger().info("%s", text, extra=where)


@functools.cache
def _logger() -> logging.Logger:
    logger = logging.Logger("leaseboard", logging.INFO)
    logger.addHandler(APILogHandler())
    return logger
