"""Updates of a live model, of commands and schedules: locked, reported if they fail, and news.

An update is plain steps, or the tasks of a flow run of Prefect's.
"""

import os
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaseboard.algorithms.errors import DataError, LeaseboardError
from leaseboard.flows import server as events
from leaseboard.flows.console import say
from leaseboard.flows.server import MODEL, PrefectServer, current_run, emit, server_log
from leaseboard.tasks.folder.results import PAGE
from leaseboard.tasks.live.candidates import CHAMPION, ROLLED_BACK
from leaseboard.tasks.live.incidents import LifecycleState, notify_failure
from leaseboard.tasks.live.model import LiveModel, state_of, status_command
from leaseboard.tasks.live.settings import LiveSettings
from leaseboard.tasks.live.update import Conduct, Update, UpdateResult
from leaseboard.tasks.machine.addresses import model_link
from leaseboard.tasks.machine.disk import reach
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import Changes

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State as FlowState


EVENTS = {
    "opened": "leaseboard.incident.opened",
    "resolved": "leaseboard.incident.resolved",
    CHAMPION: events.PROMOTED,
    ROLLED_BACK: events.ROLLED_BACK,
}
"""By kind of history; other kinds, such as who is retired, are on the page alone."""


def run_update(
    settings: LiveSettings,
    home: Path,
    now: datetime,
    *,
    file: Path | None = None,
    local: bool = False,
    tracking_uri: str | None = None,
) -> UpdateResult:
    """Update while no other update can run: in this process if `local`, else in a flow run.

    - `tracking_uri`: the MLflow store in which candidates are published as versions of the model
      of `file`; None if they are not.
    """
    state, uri, at = state_of(settings, home), tracking_uri or "", now.isoformat()
    page = page_link(settings, home, uri)

    def body(conduct: Conduct) -> UpdateResult:
        result = update.run(conduct, home, tracking_uri if file is not None else None)
        announce_news(state, settings.name, update.at, uri)
        return result

    with state.update_lock():
        try:
            update = Update(LiveModel.read(settings, state, file), now, page)
            state.begin_update(update.at)
            reach("live.after-begin")
            result = body(Conduct(say)) if local else _in_flow(settings.name, uri, body)
            reach("live.before-end")
            state.end_update(update.at, result.counts)
        except Exception as error:  # reported, and raised
            with suppress(LeaseboardError):  # the state may be what has failed
                state.fail_update(now.isoformat(timespec="seconds"))
            command = status_command(settings, file)
            notify_failure(settings, state, now, _reason(error, file), page=page, command=command)
            announce_news(state, settings.name, at, uri)
            raise
    return result


def _in_flow(name: str, uri: str, body: Callable[[Conduct], UpdateResult]) -> UpdateResult:
    """Update by the tasks of a flow run: of this one, or of one on the server that is there.

    Without a server one of our own is started.
    """
    from leaseboard.flows.prefect_executor import PrefectExecutor, in_one_run
    from leaseboard.tasks.steps.prefect_tasks import as_task

    def steps(executor: PrefectExecutor) -> UpdateResult:
        def make(name: str, step: Callable[..., Any]) -> Callable[..., Any]:
            return executor.make(as_task(step, name))

        return body(Conduct(say, make, current_run()))

    executor = PrefectExecutor()
    if current_run():
        return steps(executor)
    with ExitStack() as stack:
        address = os.environ.get("PREFECT_API_URL", "")
        if not address:
            address = stack.enter_context(PrefectServer(server_log())).wait()
        ended: Callable[[UpdateResult], FlowState[Any]] = partial(flow_state, name, uri)
        return in_one_run("live-update", name, address, executor, steps, ended)


def flow_state(name: str, uri: str, result: UpdateResult) -> "FlowState[Any]":
    """Return the state of an update's flow run, which is the record; send it as an event.

    One that rejected a file or left an incident open ends in a state of another name.
    """
    from prefect.states import Completed

    summary = result.summary()
    about = {"what": summary, "open_incidents": len(result.incidents)}
    links = {"mlflow": model_link(uri, name)}
    emit(events.RUN_ENDED, MODEL, name, {**about, **result.counts, "links": links})
    wrong = "Incident" if result.incidents or result.rejected else "Completed"
    return Completed(name=wrong, message=summary)


def _reason(error: Exception, file: Path | None) -> str:
    """Return why an update failed; the text of an error of data may quote cells."""
    if isinstance(error, DataError):
        command = f"leaseboard live update {file or 'FILE.yaml'}"
        return f"the data of this update cannot be used; run `{command}` to see why"
    if isinstance(error, LeaseboardError):
        return str(error)
    return f"internal error: {type(error).__name__}: the output of the update says more"


def page_link(settings: LiveSettings, home: Path, uri: str) -> str:
    """Return what notifications link to: the model in MLflow if that has an address, else a file.

    Others cannot open a file, and of the address at which `leaseboard ui` was used neither.
    """
    if uri and (os.environ.get("MLFLOW_UI_URL") or uri.startswith("http")):
        return model_link(uri, settings.name)
    return (home / PAGE).as_uri()


def announce_news(state: State, name: str, at: str, uri: str, *, by_hand: bool = False) -> None:
    """Send what happened since the last report as events; outside of a flow run, nothing.

    They are of the resource ``leaseboard.model.NAME``. What Prefect does not take is on the page
    and in the notifications.

    - `uri`: the MLflow store.
    - `by_hand`: it happened without an update: report it to the server that is named, if any.
    """
    history = state.history()
    news = history[LifecycleState.read(state.lifecycle()).announced :]
    server = os.environ.get("PREFECT_API_URL") if by_hand else current_run()
    if not news or (by_hand and not server):
        return
    page, titles = model_link(uri, name), {CHAMPION: "is champion", ROLLED_BACK: "was rolled back"}
    back = {each.what for each in news if each.kind == ROLLED_BACK}
    for each in news if server else ():
        # A rollback makes a champion, too, and is reported once.
        if each.kind not in EVENTS or (each.kind == CHAMPION and each.what in back):
            continue
        title = f"incident {each.kind}: {each.subject}"
        if each.kind in titles:
            title = f"candidate {each.subject} {titles[each.kind]}"
        payload = {"subject": each.subject, "what": each.what, "at": each.at, "title": title}
        once = f"{each.at} {each.kind} {each.subject}: {each.what}"
        emit(EVENTS[each.kind], MODEL, name, payload | {"links": {"mlflow": page}}, once)
    state.commit(Changes(at, lifecycle={"announced": len(history)}))
