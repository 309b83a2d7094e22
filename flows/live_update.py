"""Update of a live model: the steps of `leaseboard.tasks.live.cycle`, in their order.

Each step is a task of a Prefect flow run, or called in this process. What a batch changes is
written when the last of its steps is over, in one transaction; what touches the outside comes
after it. So an update that was killed anywhere is completed by the next one.
"""

import os
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from leaseboard.algorithms.errors import DataError, LeaseboardError
from leaseboard.flows.console import say
from leaseboard.flows.prefect_events import current_run
from leaseboard.flows.server import PrefectServer, server_log
from leaseboard.tasks.live import cycle
from leaseboard.tasks.live.lifecycle import LifecycleState
from leaseboard.tasks.live.notification import notify_failure, undelivered
from leaseboard.tasks.live.page import PAGE, build
from leaseboard.tasks.live.record import ModelRecord
from leaseboard.tasks.live.rows import Batch
from leaseboard.tasks.live.settings import LiveSettings
from leaseboard.tasks.live.shadow import Shadow
from leaseboard.tasks.live.update import ModelUpdate, Work, open_update, state_of, status_command
from leaseboard.tasks.machine.addresses import model_link
from leaseboard.tasks.machine.failpoints import reach
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import Changes

Make = Callable[[str, Callable[..., Any]], Callable[..., Any]]
"""Returns a function that carries out another one as the step of a given name."""


@dataclass
class UpdateResult:
    """Outcome of an update."""

    batches: int = 0
    rejected: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    open_incidents: int = 0

    def summary(self, file: Path | None) -> str:
        """Return the outcome in a line, with what deserves attention."""
        batches = "1 batch" if self.batches == 1 else f"{self.batches} batches"
        text = in_words(self.counts)
        parts = [f"{batches}: {text}" if self.batches else text]
        parts += [f"{self.rejected} rejected"] if self.rejected else []
        parts += [self.still_open(file)] if self.open_incidents else []
        return "; ".join(parts)

    def still_open(self, file: Path | None) -> str:
        """Return how many incidents are open, and what shows them."""
        count = self.open_incidents
        text = "1 incident is open" if count == 1 else f"{count} incidents are open"
        return f"{text}: leaseboard live status {file or 'FILE.yaml'}"


def in_words(counts: dict[str, int]) -> str:
    """Return what a batch brought, in a few words."""
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing new"


UpdateBody = Callable[[Make], UpdateResult]
"""Updates once; all of its steps are made by the argument."""


def run_update(
    settings: LiveSettings,
    home: Path,
    now: datetime,
    *,
    file: Path | None = None,
    local: bool = False,
    tracking_uri: str | None = None,
) -> UpdateResult:
    """Update as a flow run of Prefect's, on a server of our own if none runs.

    `tracking_uri` is the MLflow store in which candidates are published as versions of the model
    of `file`; None if they are not.
    """

    def carry_out(body: UpdateBody) -> UpdateResult:
        if local:
            return body(lambda _name, step: step)
        from leaseboard.flows.live_flow import in_flow

        address = os.environ.get("PREFECT_API_URL", "")
        if address:
            return in_flow(settings.name, file, address, body, tracking_uri or "")
        with PrefectServer(server_log()) as server:
            return in_flow(settings.name, file, server.wait(), body, tracking_uri or "")

    return locked_update(settings, home, now, carry_out, file=file, tracking_uri=tracking_uri)


def locked_update(
    settings: LiveSettings,
    home: Path,
    now: datetime,
    carry_out: Callable[[UpdateBody], UpdateResult],
    *,
    file: Path | None = None,
    tracking_uri: str | None = None,
) -> UpdateResult:
    """Update while no other update can run.

    - `carry_out`: calls the body that it gets, in this process or in a flow run.
    """
    state = state_of(settings, home)
    with state.update_lock():
        try:
            update = open_update(settings, state, now, file)
            number = state.begin_update(update.at)
            reach("live.after-begin")
            uri = tracking_uri if file is not None else None
            result = carry_out(lambda make: update_in_steps(update, home, make, uri))
            reach("live.before-end")
            state.end_update(number, update.at, result.counts)
        except Exception as error:  # reported, and raised
            what = str(error)
            if isinstance(error, DataError):  # its text may quote cells, and is sent to others
                what = (
                    "the data of this update cannot be used; run `leaseboard live update"
                    f" {file or 'FILE.yaml'}` to see why"
                )
            elif not isinstance(error, LeaseboardError):  # so may this
                place = traceback.extract_tb(error.__traceback__)[-1]
                what = (
                    f"internal error: {type(error).__name__} in {Path(place.filename).name}, line"
                    f" {place.lineno}: the output of the update says more"
                )
            with suppress(LeaseboardError):  # the state may be what has failed
                state.fail_update(now.isoformat(timespec="seconds"))
            notify_failure(
                settings, state, now, what,
                page=_page(settings, home, tracking_uri), command=status_command(settings, file),
            )  # fmt: skip
            announce_news(state, settings.name, now.isoformat(), tracking_uri or "")
            raise
    return result


def update_in_steps(
    update: ModelUpdate, home: Path, make: Make, tracking_uri: str | None = None
) -> UpdateResult:
    """Ingest all batches that are pending, publish, and notify of what was found."""
    steps = {
        "validate": cycle.validate, "join labels": cycle.join_labels, "monitor": cycle.monitor,
        "train": cycle.train, "evaluate": cycle.evaluate, "promote": cycle.promote,
    }  # fmt: skip
    many = make("ingest batches", partial(_ingest, update, list(steps.values())))
    one = partial(_ingest, update, [make(name, step) for name, step in steps.items()])
    groups = cycle.ingest(update)
    read = make("ingest", lambda: next(groups, None))
    result = UpdateResult()
    update.page = _page(update.settings, home, tracking_uri)
    while (group := read()) is not None:
        for counts in (many if len(group) > 1 else one)(group):
            if counts is None:
                result.rejected += 1
                continue
            result.batches += 1
            for name, count in counts.items():
                result.counts[name] = result.counts.get(name, 0) + count
    if any(update.lifecycle.unmonitored.values()):
        rest = Work(Batch("", ""), Changes(update.at))
        make("monitor", partial(cycle.monitor, rest=True))(update, rest)
        if rest.drift:
            cycle.train(update, rest)
        cycle.conclude(update)
    if tracking_uri is not None:
        try:
            make("publish", cycle.publish)(update, tracking_uri, current_run())
        except LeaseboardError as error:  # the state has it all: the next update publishes it
            update.incident("publish", "MLflow", str(error))
    cycle.close(update)
    reach("live.after-close")
    build(ModelRecord(update.settings, update.state, update.now), home)
    announce_news(update.state, update.settings.name, update.at, tracking_uri or "")
    for line in undelivered(make("notify", cycle.notify)(update)):
        say(f"leaseboard: {line}", err=True)
    result.open_incidents = sum(case.is_open for case in update.lifecycle.cases)
    return result


def _page(settings: LiveSettings, home: Path, tracking_uri: str | None) -> str:
    """Return what notifications link to: the model in MLflow if that has an address, else a file.

    Others cannot open a file, and of the address at which `leaseboard ui` was used neither.
    """
    uri = tracking_uri or ""
    if uri and (os.environ.get("MLFLOW_UI_URL") or uri.startswith("http")):
        return model_link(uri, settings.name)
    return (home / PAGE).as_uri()


def _ingest(
    update: ModelUpdate, steps: Sequence[Callable[..., Any]], group: Sequence[Batch]
) -> list[dict[str, int] | None]:
    """Ingest batches one after the other, all in one transaction; after an error one by one.

    Returns what each brought; None if it was rejected. Raises the error of the first batch that
    cannot be ingested, when the others are.
    """
    validate, *others = steps
    brought = list[dict[str, int] | None]()
    lifecycle, known, recorded = deepcopy(update.lifecycle), len(update.found), update.recorded
    contract = update.contract
    try:
        with update.state.transaction():
            for batch in group:
                before = len(update.found)
                work = validate(update, batch)
                if work is None:
                    update.held[batch.name] = [
                        (each.kind, each.subject, each.what) for each in update.found[before:]
                    ]
                    brought.append(None)
                    continue
                for step in others:
                    step(update, work)
                cycle.commit(update, work)
                brought.append(work.rows.counts())
            cycle.conclude(update)
    except Exception as error:
        update.lifecycle, update.found[known:], update.recorded = lifecycle, [], recorded
        update.contract = contract
        update.shadow = Shadow(update.state, update.recipe, contract.dates)
        is_of_data = not isinstance(error, LeaseboardError) or isinstance(error, DataError)
        if len(group) == 1 or not is_of_data:
            raise
    else:
        for batch, counts in zip(group, brought, strict=True):
            why = update.held.get(batch.name, [("", "", "")])[-1][2]
            say(f"rejected: {why}" if counts is None else f"{batch.name}: {in_words(counts)}")
        reach("live.after-batch")
        return brought
    brought, errors = [], list[Exception]()
    for batch in group:
        try:
            brought += _ingest(update, steps, [batch])
        except Exception as error:  # noqa: BLE001  (raised when the others are ingested)
            errors.append(error)
    if errors:
        raise errors[0]
    return brought


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
