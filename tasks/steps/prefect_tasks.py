"""The steps of a benchmark as Prefect tasks: fetch, prepare, run, score, record and report.

``leaseboard run`` chains them in `leaseboard.flows.benchmark`; a flow of your own can chain them
too, see the how-to "Compose a flow". Each is a task of the function of its name in
`leaseboard.tasks.steps.plain`, and shows on its page what that made.

What touches the world is tried again, with backoff and jitter: a download that broke off, a store
that does not answer. What only computes is not: it would fail the same way.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from prefect import task
from prefect.artifacts import create_link_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.context import TaskRunContext
from prefect.futures import PrefectFuture
from prefect.logging.handlers import APILogHandler
from prefect.states import Completed, Failed
from prefect.tasks import exponential_backoff

from leaseboard.algorithms.errors import BrokenDownloadError
from leaseboard.tasks.fetch.kept import Kept
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.jobs.prepared import Prepared, bench_of
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.addresses import redacted
from leaseboard.tasks.machine.terminal import harmless
from leaseboard.tasks.pool.attempts import Attempt
from leaseboard.tasks.score import board
from leaseboard.tasks.score.compared import Compared
from leaseboard.tasks.steps import plain
from leaseboard.tasks.track import TrackingError

Given = Mapping[str, Any]
"""The arguments of a step, by name."""

UI = "http://127.0.0.1:5000"
HINT = "A store that is no server is shown there by `leaseboard ui`."
MOST_LOGGED = 1 << 16
"""Characters of a job's own output on its page; the whole is in the run folder."""
_CALLED = inspect.Parameter("called", inspect.Parameter.KEYWORD_ONLY, default="", annotation=str)
"""What the page calls the data; the reference by default."""


def as_task(step: Callable[..., Any], name: str, **options: Any) -> Any:
    """Return the Prefect task of a function; its results are kept by the run folder and MLflow."""
    return task(step, name=name, cache_policy=NO_CACHE, persist_result=False, **options)


def _step(
    step: Callable[..., Any],
    description: str,
    show: Callable[[Any, Given], Any],
    title: Callable[[Given], str] | str = "",
    again: type[Exception] | None = None,
    tags: tuple[str, ...] = ("leaseboard",),
) -> Any:
    """Return the task of a plain step.

    - `show`: puts what the step made on the page of the task run, and says how the task ends if
      that is not what was made.
    - `title`: of a task run; a function of its ``parameters``, as Prefect calls them.
    - `again`: an error after which the step is tried again.
    """
    seen = inspect.signature(step)

    @functools.wraps(step)
    def shown(*given: Any, called: str = "", **named: Any) -> Any:
        del called
        made = step(*given, **named)
        ended = show(made, seen.bind(*given, **named).arguments)
        return made if ended is None else ended

    vars(shown)["__signature__"] = seen.replace(parameters=[*seen.parameters.values(), _CALLED])
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
    return as_task(shown, step.__name__, tags=[*tags], **named, **options)


def _show_data(data: Kept, _given: Given) -> None:
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


def _show_board(found: Compared, _given: Given) -> None:
    if TaskRunContext.get():
        names = board.columns(found)
        rows = [dict(zip(names, row, strict=True)) for row in board.texts(found)]
        create_table_artifact(rows, key="board", description=" ".join(found.answer.lines()))
    _say(board.plain(found))


def _show_page(path: Path, _given: Given) -> None:
    about = "Opens offline, on the machine that made it."
    _link(path.as_uri(), link_text=str(path), key="report", description=about)
    _say(f"report: {path}")


def _show_record(place: str, given: Given) -> None:
    name, store = given["name"], paths.tracking_uri(given.get("uri"))
    _say(f"MLflow experiment {name!r}: {place}")
    shown_at = redacted(store).rstrip("/") if store.startswith("http") else UI
    _link(f"{shown_at}/{place}", link_text=name, key="mlflow", description=HINT)


fetch = _step(
    plain.fetch,
    "Load a data set, once, and keep it for all jobs of the run.",
    _show_data,
    lambda parameters: f"fetch {parameters['called'] or parameters['reference']}",
    again=BrokenDownloadError,
)
hold = _step(plain.hold, "Take a table that this flow has read itself.", _show_data, "hold {name}")
prepare = _step(
    plain.prepare,
    "Preprocess a data set for a bench, once for all jobs that share it.",
    _show_prepared,
    lambda parameters: (
        f"prepare {parameters['called'] or parameters['data'].reference} for"
        f" {bench_of(parameters['job'])}"
    ),
)
run = _step(
    plain.run,
    "Run one job in a worker process, under its limits.",
    _show_attempt,
    lambda parameters: (
        f"{parameters['job'].label or parameters['job'].algorithm} on"
        f" {parameters['called'] or parameters['job'].data},"
        f" repetition {parameters['job'].repetition}"
    ),
    tags=(),  # for each of a task's tags Prefect asks whether its limit allows one more
)
score = _step(plain.score, "Compare the algorithms: ranks, intervals and tests.", _show_board)
report = _step(plain.report, "Build the page that opens offline.", _show_page)
record = _step(
    plain.record,
    "Log every job, configuration, lease, bound and score as MLflow runs.",
    _show_record,
    again=TrackingError,
)

TASKS = {each.fn.__wrapped__: each for each in (fetch, hold, prepare, run, score, report, record)}
"""The tasks by their plain steps."""


def results_of(runs: Iterable[PrefectFuture[Any]]) -> list[Result]:
    """What came of `run`s that were submitted, of the failed ones too.

    A task that has no result, such as one that was wrongly called, raises its error.
    """
    found = [each.result(raise_on_failure=False) for each in runs]
    for made in found:
        if isinstance(made, BaseException):
            raise made
    return found


def _link(address: str, **shown: str) -> None:
    if TaskRunContext.get():
        create_link_artifact(address, **shown)


def _say(text: str) -> None:
    """Write a line into the log of this task run, whatever level Prefect's own lines have."""
    context = TaskRunContext.get()
    if context is not None:
        where = {"flow_run_id": context.task_run.flow_run_id, "task_run_id": context.task_run.id}
        _logger().info("%s", text, extra=where)


@functools.cache
def _logger() -> logging.Logger:
    logger = logging.Logger("leaseboard", logging.INFO)
    logger.addHandler(APILogHandler())
    return logger
