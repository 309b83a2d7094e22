"""Updates of a live model, of commands and schedules: locked, and reported if they fail."""

import os
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import datetime
from functools import partial
from pathlib import Path

from leaseboard.algorithms.errors import DataError, LeaseboardError
from leaseboard.flows.console import say
from leaseboard.flows.prefect_events import current_run
from leaseboard.flows.server import PrefectServer, server_log
from leaseboard.tasks.live.incidents import LifecycleState, notify_failure
from leaseboard.tasks.live.model import LiveModel, state_of, status_command
from leaseboard.tasks.live.page import PAGE
from leaseboard.tasks.live.settings import LiveSettings
from leaseboard.tasks.live.update import Conduct, Update, UpdateResult
from leaseboard.tasks.machine.addresses import model_link
from leaseboard.tasks.machine.disk import reach
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import Changes

UpdateBody = Callable[[Conduct], UpdateResult]
"""Updates once, as the argument says."""


def run_update(
    settings: LiveSettings,
    home: Path,
    now: datetime,
    *,
    file: Path | None = None,
    local: bool = False,
    tracking_uri: str | None = None,
    carry_out: Callable[[UpdateBody], UpdateResult] | None = None,
) -> UpdateResult:
    """Update while no other update can run.

    - `tracking_uri`: the MLflow store in which candidates are published as versions of the model
      of `file`; None if they are not.
    - `carry_out`: calls the body that it gets; by default in this process if `local`, else in a
      flow run of Prefect's.
    """
    carry_out = carry_out or partial(_carry_out, settings.name, tracking_uri or "", local)
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
            result = carry_out(body)
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


def _carry_out(name: str, uri: str, local: bool, body: UpdateBody) -> UpdateResult:
    """Update in this process, or in a flow run, on a server of our own if none runs."""
    if local:
        return body(Conduct(say))
    from leaseboard.flows.live_flow import in_flow

    with ExitStack() as stack:
        address = os.environ.get("PREFECT_API_URL", "")
        if not address:
            address = stack.enter_context(PrefectServer(server_log())).wait()
        return in_flow(name, address, body, uri)


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
    """Report to Prefect what happened since the last report; outside of a flow run, nothing.

    - `by_hand`: it happened without an update: report it to the server that is named, if any.
    """
    history = state.history()
    news = history[LifecycleState.read(state.lifecycle()).announced :]
    server = os.environ.get("PREFECT_API_URL") if by_hand else current_run()
    if not news or (by_hand and not server):
        return
    if server:
        from leaseboard.flows.live_flow import announce

        announce(name, news, uri)
    state.commit(Changes(at, lifecycle={"announced": len(history)}))
