"""The steps of a benchmark as Prefect tasks: fetch, prepare, run, score, report and record.

``leaseboard run`` chains them in `leaseboard.flows.benchmark`; a flow of your own can chain them
too, see the how-to "Compose a flow". Each is a task of the function of its name in
`leaseboard.tasks.steps.plain`, and shows on its page what that made.
"""

import functools
import hashlib
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import httpx
from prefect import task
from prefect.artifacts import create_link_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.exceptions import PrefectException
from prefect.runtime import flow_run
from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings
from prefect.states import Cancelled, Completed, Failed

from leaseboard.tasks.jobs import prepared
from leaseboard.tasks.machine import environment
from leaseboard.tasks.machine.addresses import mlflow_ui
from leaseboard.tasks.pool.workers import Attempt, StoppedError
from leaseboard.tasks.score.summary import Compared, texts
from leaseboard.tasks.steps import plain
from leaseboard.tasks.track.tracker import Place

HINT = "MLFLOW_UI_URL names another address; `leaseboard ui` shows a store without a server."


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

    given: Any = {"task_run_name": name, **options}
    return task(name=name, cache_policy=NO_CACHE, persist_result=False, **given)(interruptible)


@functools.wraps(plain.run)
def _run(*given: Any, **named: Any) -> State[Any]:
    attempt: Attempt = plain.run(*given, **named)
    result = attempt.result
    found = "" if result.score is None else f"{result.metric} {result.score:.6g}"
    message = f"{result.status}: {result.reason or found}".rstrip(": ")
    message += f" ({result.cpu_seconds:.2f} CPU s)"
    ended = Failed if result.failed else Completed
    return ended(message=message, data=result if attempt.files is None else attempt)


@functools.wraps(plain.score)
def _score(*given: Any, **named: Any) -> Compared:
    found = plain.score(*given, **named)
    rows = texts(found).to_dict("records")
    suite = named.get("suite") or (given[1] if len(given) > 1 else None)
    key = artifact_key(suite.name if suite else str(flow_run.flow_name), "leaderboard")
    publish(create_table_artifact, rows, key=key, description=" ".join(found.answer.values()))
    return found


@functools.wraps(plain.record)
def _record(results: Any, name: str, *given: Any, **named: Any) -> Place:
    place = plain.record(results, name, *given, **named)
    ui = mlflow_ui(environment.tracking_uri(named.get("uri")))
    links = {"mlflow": place.jobs} | ({"report": place.report} if named.get("report") else {})
    for what, address in links.items():
        text = f"{what} of {name}"
        publish(
            create_link_artifact, f"{ui}/{address}", text,
            key=artifact_key(name, what), description=HINT,
        )  # fmt: skip
    return place


def _title_of_job(parameters: dict[str, Any]) -> str:
    job = parameters["job"]
    return f"{job.name or job.algorithm} on {job.data}, repetition {job.repetition}"


fetch = as_task(plain.fetch, "fetch", task_run_name="fetch {reference}")
prepare = as_task(prepared.prepare, "prepare", task_run_name="prepare {data.reference}")
run = as_task(_run, "run", task_run_name=_title_of_job)
score = as_task(_score, "score")
report = as_task(plain.report, "report")
record = as_task(_record, "record")


def publish(create: Callable[..., Any], *given: Any, **named: Any) -> None:
    """Create an artifact; history is a convenience, which a server that is gone does without."""
    if not flow_run.id:
        return
    with (
        suppress(httpx.HTTPError, PrefectException),
        temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}),  # else its client tries for a minute
    ):
        create(*given, **named)
