"""Owners of flow runs: a run without its process is ended, and a deployment runs once at a time.

Prefect shows a flow run as running until its process reports an end, which a killed one cannot.
So each of our flow runs carries a tag with its owner: host, number and start of its process. The
process that takes a run to start it is in the run's state, which only one process can set. Only
runs of this host, and those without an owner, are ended; another host ends its own.
"""

import logging
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import LogCreate
from prefect.client.schemas.filters import FlowRunFilter, TaskRunFilter
from prefect.client.schemas.objects import FlowRun, State
from prefect.context import get_run_context
from prefect.events.clients import PrefectEventsClient
from prefect.events.worker import EventsWorker
from prefect.exceptions import ObjectNotFound, Pause
from prefect.logging.handlers import APILogHandler
from prefect.runtime import flow_run
from prefect.states import Cancelled, Crashed, Failed, Pending

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.flows.console import InterruptedRunError, listening, report_outage, say, terminable
from leaseboard.tasks.machine.addresses import redacted
from leaseboard.tasks.machine.owners import is_alive, owner

TAG = "leaseboard"
_OWNER = "owner:"
_ACTIVE = ("PENDING", "RUNNING", "CANCELLING")
_PAGE = 200
"""Most entries in one answer of a Prefect server."""
WATCH_SECONDS, AWAY_SECONDS = 2.0, 600.0
"""Time between two looks at whether users have cancelled a run or a server answers again, and how
long a run that has ended waits for that."""


def run_name(name: str, at: datetime | None = None) -> str:
    """Return the name of a flow run: of a suite or live model, or its file, and when it is due."""
    return (
        f"{Path(name).name.removesuffix('.yaml')} {(at or datetime.now(UTC)).astimezone():%F %T}"
    )


def named_after(parameter: str) -> Callable[[], str]:
    """Return a function that names a flow run after one of its parameters, in a schedule."""

    def name() -> str:
        return run_name(flow_run.parameters[parameter], flow_run.scheduled_start_time)

    return name


def owner_tags() -> list[str]:
    """Return the tags of a flow run of this process."""
    return [TAG, f"{_OWNER}{owner()}"]


def claim(client: SyncPrefectClient, run: FlowRun) -> None:
    """Make `run` one of this process; other tags stay."""
    others = [tag for tag in run.tags if tag != TAG and not tag.startswith(_OWNER)]
    client.update_flow_run(run.id, tags=[*others, *owner_tags()])


def take(client: SyncPrefectClient, run: FlowRun) -> None:
    """Take `run`, which is due, to start it in this process, unless another was quicker.

    The answer can be lost, so `taken` returns which runs were taken.
    """
    client.set_flow_run_state(run.id, Pending(message=f"{_OWNER}{owner()}"))


def taken(client: SyncPrefectClient, deployments: Iterable[UUID]) -> list[FlowRun]:
    """Return the runs of `deployments` that this process has taken and that have not begun."""
    filters = {
        "deployment_id": {"any_": [str(deployment) for deployment in deployments]},
        "state": {"type": {"any_": ["PENDING"]}},
    }
    return [run for run in _flow_runs(client, filters) if is_mine(run)]


def is_mine(run: FlowRun) -> bool:
    """Return whether `run` is of this process, which has taken or claimed it."""
    return _owner_of(run) == owner()


CANCELLED = "cancelled in Prefect; its jobs were stopped"
SUSPENDED = "suspended in Prefect; a resumed run continues with the jobs that have not finished"


def interruption(state: State[Any] | None) -> str:
    """Return how users have interrupted a run in `state`; empty if they have not."""
    if state is not None and state.is_cancelling():
        return CANCELLED
    return SUSPENDED if state is not None and state.state_details.pause_reschedule else ""


def ending(state: State[Any] | None, why: str) -> State[Any]:
    """Return the end of a run in `state` whose process is gone because of `why`."""
    if interruption(state) == CANCELLED:
        return Cancelled(message=CANCELLED)
    return Crashed(message=why)


def dead_runs(client: SyncPrefectClient) -> list[FlowRun]:
    """Return our flow runs that have not ended though they have no process."""
    filters = {"tags": {"all_": [TAG]}, "state": {"type": {"any_": list(_ACTIVE)}}}
    return [run for run in _flow_runs(client, filters) if not is_alive(_owner_of(run))]


def end_dead_runs(client: SyncPrefectClient) -> list[FlowRun]:
    """Mark `dead_runs` as crashed, with the reason; returns them."""
    dead = dead_runs(client)
    for run in dead:
        end(client, run, ending(run.state, _gone(run)))
    return dead


def end(client: SyncPrefectClient, run: FlowRun, state: State[Any]) -> None:
    """End `run` and its tasks in `state`, and say why in its log.

    A run that was deleted since it was read needs no end.
    """
    said = LogCreate(
        name=TAG,
        level=logging.WARNING,
        flow_run_id=run.id,
        timestamp=datetime.now(UTC),
        message=state.message or state.name or "",
    )
    running = {"flow_run_id": {"any_": [run.id]}, "state": {"type": {"any_": list(_ACTIVE)}}}
    chosen = TaskRunFilter.model_validate(running)
    with suppress(ObjectNotFound):
        client.set_flow_run_state(run.id, state, force=True)
        client.create_logs([said])
        while tasks := client.read_task_runs(task_run_filter=chosen, limit=_PAGE):
            for task in tasks:
                client.set_task_run_state(task.id, state, force=True)


def in_the_way(client: SyncPrefectClient, run: FlowRun) -> str:
    """Return why `run` must not go on, empty unless another run of its deployment still does.

    Claim `run` first: of two at the same time, each then sees the other, and the one that started
    later gives way. Prefect's own limit would end a run whose server is away for minutes.
    """
    filters = {
        "deployment_id": {"any_": [str(run.deployment_id)]},
        "state": {"type": {"any_": list(_ACTIVE)}},
    }
    for other in _flow_runs(client, filters):
        if other.id == run.id or not _owner_of(other) or _order(run) < _order(other):
            continue
        if is_alive(_owner_of(other)):
            return f"not started: run {other.name!r} {other.id} still runs ({_place(other)})"
        end(client, other, ending(other.state, _gone(other)))
    return ""


def cause(error: httpx.HTTPError) -> str:
    """Return why a server gave no answer, without its address, which may hold a password."""
    if isinstance(error, httpx.HTTPStatusError):
        return f"status {error.response.status_code}"
    return str(error) or type(error).__name__


def unanswered(error: httpx.HTTPError, url: str) -> LeaseboardError:
    """Return an error that says that Prefect's server at `url` does not answer, and the fix."""
    return LeaseboardError(
        f"Prefect's server at {redacted(url)} does not answer ({cause(error)}): start it, or unset"
        " PREFECT_API_URL"
    )


def _flow_runs(client: SyncPrefectClient, filters: dict[str, Any]) -> list[FlowRun]:
    """Return all flow runs that pass `filters`."""
    chosen = FlowRunFilter.model_validate({"deployment_id": None, **filters})
    found: dict[UUID, FlowRun] = {}
    while page := client.read_flow_runs(flow_run_filter=chosen, limit=_PAGE, offset=len(found)):
        found |= {run.id: run for run in page}
        if len(page) < _PAGE:
            break
    return list(found.values())


def _order(run: FlowRun) -> tuple[datetime, str]:
    """Return a sort key: the server's clock; a run that has not started is last."""
    return run.start_time or datetime.max.replace(tzinfo=UTC), str(run.id)


def _owner_of(run: FlowRun) -> str:
    """Return the process of `run`; empty if no process has taken or claimed it."""
    said = (run.state.message or "") if run.state else ""
    if run.state and run.state.is_pending() and said.startswith(_OWNER):
        return said.removeprefix(_OWNER)
    return next((tag.removeprefix(_OWNER) for tag in run.tags if tag.startswith(_OWNER)), "")


def _place(run: FlowRun) -> str:
    host, _, rest = _owner_of(run).partition(" ")
    return f"process {rest.partition(' ')[0]} on {host}"


def _gone(run: FlowRun) -> str:
    if not _owner_of(run):
        return "no process owns it: what was to start it was killed, or the machine went down"
    return f"its process is gone ({_place(run)}): it was killed, or the machine went down"


class _Outage(logging.Filter):
    """Filter of what Prefect logs of a server that is gone: one line, once.

    Each would be the event that was not sent, of 2 KB. At a flow's end it also warns of events
    that it then sends.
    """

    LOGGERS = ("EventsWorker", "prefect.events.clients", "prefect._internal.concurrency")

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno >= logging.ERROR:
            report_outage()
        return False


@contextmanager
def logged(run: UUID) -> Iterator[None]:
    """Send the lines that `say` prints meanwhile to the flow run's page."""
    # An event that is not taken is tried again with the next, and not for ten seconds.
    EventsWorker.set_client_override(PrefectEventsClient, reconnection_attempts=2)
    logging.raiseExceptions = False  # or a log that is not taken is a line, too
    outage = _Outage()
    for name in _Outage.LOGGERS:
        logging.getLogger(name).addFilter(outage)
    handler = APILogHandler()
    # Not a child of Prefect's logger, whose level does not apply to it.
    logger = logging.Logger("leaseboard", logging.INFO)
    logger.addHandler(handler)
    lines = logging.LoggerAdapter(logger, {"flow_run_id": str(run)})
    try:
        with listening(lambda text: lines.info("%s", text)):
            yield
    finally:
        handler.flush()


ALONE = "one at a time"
"""Tag of a deployment whose runs must not overlap."""


def check_kept(out: str | None) -> None:
    """Raise UsageError if the run folder would be deleted with a worker's temporary folder.

    A worker of Prefect runs in one, ``…prefect``, unless its deployment says where to work.
    """
    here = Path.cwd()
    temporary = Path(tempfile.gettempdir()).resolve()
    if here.resolve().is_relative_to(temporary) and here.name.endswith("prefect") and (
        out is None or not Path(out).is_absolute() or "MLFLOW_TRACKING_URI" not in os.environ
    ):  # fmt: skip
        raise UsageError(
            f"the worker runs in {here}, which it deletes with all results: let the deployment"
            " pull with set_working_directory, as `prefect deploy` in the project does, or set"
            " `out` to an absolute path and MLFLOW_TRACKING_URI in the worker's environment"
        )


def as_deployed(work: Callable[[], State[Any]]) -> State[Any]:
    """Return the state of the current flow run after `work`, or why it must not go on."""
    run = get_run_context().flow_run
    with get_client(sync_client=True) as client, logged(run.id):

        def begin() -> State[Any]:
            claim(client, run)
            reason = _interrupted(client, run)
            if not reason and ALONE in run.tags:
                reason = in_the_way(client, run)
            return _cancelled(reason) if reason else work()

        try:
            ended = interruptible(run, begin)
        except LeaseboardError as error:
            say(f"leaseboard: {error}", err=True)
            ended = Failed(message=str(error))
        await_answer(client)
        return ended


def await_answer(client: SyncPrefectClient) -> None:
    """Wait, at most `AWAY_SECONDS`, until a server that is gone answers again.

    A run whose work is done would else crash, as Prefect tries for a minute to record its end.
    """
    deadline = time.monotonic() + AWAY_SECONDS
    while client.api_healthcheck() is not None and time.monotonic() < deadline:
        report_outage()
        time.sleep(WATCH_SECONDS)


def interruptible(run: FlowRun, work: Callable[[], State[Any]]) -> State[Any]:
    """Return the state of a flow run after `work`, which SIGTERM ends: cancelled if it is.

    It asks by a client of its own: a flow is sent to other machines with all that it names.
    """
    try:
        with terminable():
            return work()
    except (SystemExit, InterruptedRunError) as stop:
        with get_client(sync_client=True) as client:
            reason = _interrupted(client, run)
        if not reason:
            raise SystemExit(stop.code) from stop
        return _cancelled(reason)


def _cancelled(reason: str) -> State[Any]:
    say(reason)
    return Cancelled(message=reason)


@contextmanager
def watched(run: FlowRun) -> Iterator[None]:
    """Send this process SIGTERM as soon as users cancel `run` in Prefect.

    A deployed run has a scheduler or a worker that does. Only the main thread can be ended so.
    """
    over = threading.Event()

    def watch() -> None:
        with get_client(sync_client=True) as client:
            while not over.wait(WATCH_SECONDS):
                with suppress(httpx.HTTPError, ObjectNotFound):
                    if interruption(client.read_flow_run(run.id).state):
                        os.kill(os.getpid(), signal.SIGTERM)
                        return

    # The settings, as which server it is, are of the context.
    thread = threading.Thread(target=copy_context().run, args=(watch,), daemon=True)
    if threading.current_thread() is threading.main_thread():
        thread.start()
    try:
        yield
    finally:
        over.set()


def _interrupted(client: SyncPrefectClient, run: FlowRun) -> str:
    """Return that `run` is cancelled, if it is; leave the flow if it is suspended."""
    state = client.read_flow_run(run.id).state
    found = interruption(state)
    if found == SUSPENDED:
        say(found)
        raise Pause(state=state)
    return found
