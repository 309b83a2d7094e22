"""Updates of live models as flow runs of Prefect's, of the command and of the schedule."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed
from pydantic import Field

from leaseboard.flows import prefect_events as events
from leaseboard.flows.console import say
from leaseboard.flows.live_update import UpdateBody, run_update
from leaseboard.flows.prefect_events import MODEL, PROMOTED, RUN_ENDED, current_run, emit
from leaseboard.flows.prefect_executor import (
    PrefectExecutor,
    in_one_run,
    logged,
    named_after,
)
from leaseboard.tasks.live.candidates import CHAMPION, ROLLED_BACK
from leaseboard.tasks.live.model import home_of
from leaseboard.tasks.live.settings import read_settings
from leaseboard.tasks.live.update import Conduct, UpdateResult
from leaseboard.tasks.machine import environment
from leaseboard.tasks.machine.addresses import model_link
from leaseboard.tasks.machine.environment import prepare_environment
from leaseboard.tasks.steps.prefect_tasks import as_task
from leaseboard.tasks.store.live_tables import HistoryEntry

EVENTS = {
    "opened": "leaseboard.incident.opened",
    "resolved": "leaseboard.incident.resolved",
    CHAMPION: PROMOTED,
    ROLLED_BACK: events.ROLLED_BACK,
}
"""By kind of history; other kinds, such as who is retired, are on the page alone."""


def announce(name: str, news: Sequence[HistoryEntry], uri: str) -> None:
    """Report to Prefect what happened, each as an event.

    It is of the resource ``leaseboard.model.NAME``, for automations to listen to. What
    Prefect does not take is on the page and in the notifications.

    - `uri`: the MLflow store.
    """
    page, titles = model_link(uri, name), {CHAMPION: "is champion", ROLLED_BACK: "was rolled back"}
    back = {each.what for each in news if each.kind == ROLLED_BACK}
    for each in news:
        # A rollback makes a champion, too, and is reported once.
        if each.kind not in EVENTS or (each.kind == CHAMPION and each.what in back):
            continue
        title = f"incident {each.kind}: {each.subject}"
        if each.kind in titles:
            title = f"candidate {each.subject} {titles[each.kind]}"
        payload = {"subject": each.subject, "what": each.what, "at": each.at, "title": title}
        once = f"{each.at} {each.kind} {each.subject}: {each.what}"
        emit(EVENTS[each.kind], MODEL, name, payload | {"links": {"mlflow": page}}, once)


@flow(name="live-update", flow_run_name=named_after("file"), persist_result=False)
def update_live_model(
    file: str = Field(description="FILE.yaml, as of `leaseboard live update`."),
    out: str | None = Field(None, description="Of state and page; runs/live/NAME by default."),
) -> State[Any]:
    """Update a live model, as `leaseboard live update FILE.yaml` does.

    The MLflow store is that of MLFLOW_TRACKING_URI, and what FILE.yaml names by a variable is of
    the environment: Prefect shows the parameters of a flow to everyone.
    """
    prepare_environment()
    settings, uri = read_settings(Path(file)), environment.tracking_uri()
    home, executor = home_of(settings.name, Path(out) if out else None), PrefectExecutor()
    with logged():
        result = run_update(
            settings, home, datetime.now(UTC), file=Path(file), tracking_uri=uri,
            carry_out=lambda body: executor.perform(lambda _: _steps(body, executor)),
        )  # fmt: skip
        return _ended(settings.name, uri, result)


def in_flow(name: str, url: str, body: UpdateBody, uri: str) -> UpdateResult:
    """Run the steps of `body` as tasks of one flow run on the server at `url`."""
    ended = partial(_ended, name, uri)
    steps: Callable[[PrefectExecutor], UpdateResult] = partial(_steps, body)
    made: UpdateResult = in_one_run("live-update", name, url, PrefectExecutor(), steps, ended)
    return made


def _steps(body: UpdateBody, executor: PrefectExecutor) -> UpdateResult:
    """Carry out an update whose steps are tasks of a flow run."""

    def make(name: str, step: Callable[..., Any]) -> Callable[..., Any]:
        return executor.make(as_task(step, name))

    return body(Conduct(say, make, current_run()))


def _ended(name: str, uri: str, result: UpdateResult) -> State[Any]:
    """Return the state of an update's flow run, which is the record; send it as an event.

    One that rejected a file or left an incident open ends in a state of another name.
    """
    summary = result.summary()
    about = {"what": summary, "open_incidents": len(result.incidents)}
    links = {"mlflow": model_link(uri, name)}
    emit(RUN_ENDED, MODEL, name, {**about, **result.counts, "links": links})
    wrong = "Incident" if result.incidents or result.rejected else "Completed"
    return Completed(name=wrong, message=summary)
