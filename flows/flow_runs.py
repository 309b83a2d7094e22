"""Whose process a flow run is: one without its process is ended, and a deployment runs once.

Prefect keeps a flow run as running until somebody says otherwise, and a killed process says
nothing. So each of our flow runs carries a tag with its owner: host, number and start of its
process. Who takes a run to start it stands in its state, which one process alone can set. Only
runs of this host, and those that nobody owns, are judged; another host judges its own.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
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
from prefect.exceptions import ObjectNotFound
from prefect.logging.handlers import APILogHandler
from prefect.states import Cancelled, Crashed, Failed, Pending

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.flows.console import overheard, say
from leaseboard.tasks.machine.addresses import redacted
from leaseboard.tasks.machine.owners import is_alive, owner

TAG = "leaseboard"
_OWNER = "owner:"
_ACTIVE = ("PENDING", "RUNNING", "CANCELLING")
_PAGE = 200
"""What a Prefect server answers at once."""


def owner_tags() -> list[str]:
    """The tags of a flow run of this process."""
    return [TAG, f"{_OWNER}{owner()}"]


def claim(client: SyncPrefectClient, run: FlowRun) -> None:
    """Make `run` one of this process; tags of others than us stay."""
    kept = [tag for tag in run.tags if tag != TAG and not tag.startswith(_OWNER)]
    client.update_flow_run(run.id, tags=[*kept, *owner_tags()])


def take(client: SyncPrefectClient, run: FlowRun) -> None:
    """Make `run`, which is due, one that this process starts, unless another was quicker.

    The answer does not matter, for it can be lost: `taken` knows what came of it.
    """
    client.set_flow_run_state(run.id, Pending(message=f"{_OWNER}{owner()}"))


def taken(client: SyncPrefectClient, deployments: Iterable[UUID]) -> list[FlowRun]:
    """The runs of `deployments` that this process has taken and that have not begun."""
    filters = {
        "deployment_id": {"any_": [str(deployment) for deployment in deployments]},
        "state": {"type": {"any_": ["PENDING"]}},
    }
    return [run for run in _flow_runs(client, filters) if _owner_of(run) == owner()]


def dead_runs(client: SyncPrefectClient) -> list[FlowRun]:
    """Our flow runs that have not ended though their process is gone, or they never had one."""
    filters = {"tags": {"all_": [TAG]}, "state": {"type": {"any_": list(_ACTIVE)}}}
    return [run for run in _flow_runs(client, filters) if not is_alive(_owner_of(run))]


def end_dead_runs(client: SyncPrefectClient) -> list[FlowRun]:
    """Mark `dead_runs` as crashed, with the reason; returns them."""
    dead = dead_runs(client)
    for run in dead:
        end(client, run, Crashed(message=_gone(run)))
    return dead


def end(client: SyncPrefectClient, run: FlowRun, state: State[Any]) -> None:
    """End `run` and its tasks in `state`, and say why in its log.

    Prefect gives back the concurrency slots that they hold. A run that somebody has deleted since
    it was read needs no end.
    """
    with suppress(ObjectNotFound):
        _end(client, run, state)


def _end(client: SyncPrefectClient, run: FlowRun, state: State[Any]) -> None:
    client.set_flow_run_state(run.id, state, force=True)
    client.create_logs(
        [
            LogCreate(
                name=TAG,
                level=logging.WARNING,
                flow_run_id=run.id,
                timestamp=datetime.now(UTC),
                message=state.message or state.name or "",
            )
        ]
    )
    running = {
        "flow_run_id": {"any_": [run.id]},
        "state": {"type": {"any_": list(_ACTIVE)}},
    }
    chosen = TaskRunFilter.model_validate(running)
    while tasks := client.read_task_runs(task_run_filter=chosen, limit=_PAGE):
        for task in tasks:
            client.set_task_run_state(task.id, Crashed(message=state.message), force=True)


def in_the_way(client: SyncPrefectClient, run: FlowRun) -> str | None:
    """Why `run` must not go on: the name of another live run of its deployment, if there is one.

    Claim `run` first: of two that look at the same time, each then sees the other, and the one
    that started later gives way.
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
        end(client, other, Crashed(message=_gone(other)))
    return None


def cause(error: httpx.HTTPError) -> str:
    """Why a server gave no answer, without its address, which may hold a password."""
    if isinstance(error, httpx.HTTPStatusError):
        return f"status {error.response.status_code}"
    return str(error) or type(error).__name__


def unanswered(error: httpx.HTTPError, url: str) -> LeaseboardError:
    """What to say, and to do, when the server at `url` does not answer as one of Prefect's."""
    return LeaseboardError(
        f"Prefect's server at {redacted(url)} does not answer ({cause(error)}): start it, or unset"
        " PREFECT_API_URL"
    )


def _flow_runs(client: SyncPrefectClient, filters: dict[str, Any]) -> Iterator[FlowRun]:
    """All flow runs that pass `filters`, read before the first is given out."""
    chosen = FlowRunFilter.model_validate({"deployment_id": None, **filters})
    found: dict[UUID, FlowRun] = {}
    while page := client.read_flow_runs(flow_run_filter=chosen, limit=_PAGE, offset=len(found)):
        found |= {run.id: run for run in page}
        if len(page) < _PAGE:
            break
    return iter(found.values())


def _order(run: FlowRun) -> tuple[datetime, str]:
    """By the server's clock; a run that has not started is after those that have."""
    return run.start_time or datetime.max.replace(tzinfo=UTC), str(run.id)


def _owner_of(run: FlowRun) -> str:
    """The process of `run`; empty if nobody has taken or claimed it."""
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


@contextmanager
def logged(flow_run: UUID) -> Iterator[None]:
    """Send what is said meanwhile to the flow run's page; all of it is there at the end."""
    # At a flow's end it warns on the terminal of what it is about to send, and then sends it.
    logging.getLogger("EventsWorker").setLevel(logging.ERROR)
    handler = APILogHandler()
    # No child of Prefect's logger: ours is heard whatever level Prefect's own lines have.
    logger = logging.Logger("leaseboard", logging.INFO)
    logger.addHandler(handler)
    told = logging.LoggerAdapter(logger, {"flow_run_id": str(flow_run)})
    try:
        with overheard(lambda text: told.info("%s", text)):
            yield
    finally:
        handler.flush()


ALONE = "one at a time"
"""The tag of a deployment whose runs must not overlap: the clock may strike too early."""


def check_kept(out: str | None) -> None:
    """Raise UsageError where the run folder would be deleted with a worker's temporary folder.

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
    """Do the work of the flow run that this is called in, if nothing is in its way."""
    run = get_run_context().flow_run
    with get_client(sync_client=True) as client:
        claim(client, run)
        reason = in_the_way(client, run) if ALONE in run.tags else None
    with logged(run.id):
        if reason is not None:
            say(reason)
            return Cancelled(message=reason)
        try:
            return work()
        except LeaseboardError as error:
            say(f"leaseboard: {error}", err=True)
            return Failed(message=str(error))
