"""An update of a live model: the steps of `leaseboard.tasks.keep.cycle`, from `ingest` to
`notify`.

Each step is a task of a Prefect flow run, or plainly called. So is `estimate_losses`, of days
whose labels have not come. What a batch changes is written when the last of its steps is over, in
one transaction; what touches the outside comes after it. So an update that was killed anywhere is
made good by the next one.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from leaseboard.algorithms.errors import DataError, LeaseboardError
from leaseboard.flows.console import say
from leaseboard.flows.server import PrefectServer, server_log
from leaseboard.tasks.keep import cycle
from leaseboard.tasks.keep.estimation import estimate_losses
from leaseboard.tasks.keep.notification import notify_failure, undelivered
from leaseboard.tasks.keep.opening import opened, state_of
from leaseboard.tasks.keep.page import PAGE, build
from leaseboard.tasks.keep.rows import Batch
from leaseboard.tasks.keep.settings import Keep
from leaseboard.tasks.keep.shadow import Shadow
from leaseboard.tasks.keep.update import ModelUpdate, Work, command_of
from leaseboard.tasks.store.live_tables import Changes

Make = Callable[[str, Callable[..., Any]], Callable[..., Any]]
"""Makes a step of a function, called as its word."""


@dataclass
class Turned:
    """What a turn came to."""

    batches: int = 0
    held_back: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    open_incidents: int = 0


def run_turn(
    keep: Keep,
    home: Path,
    now: datetime,
    *,
    file: Path | None = None,
    local: bool = False,
    tracking_uri: str | None = None,
) -> Turned:
    """Take a turn: as a flow run of Prefect's, on a server of our own if there is none.

    `tracking_uri` is the MLflow store in which the lineages are published as versions of the model
    of `file`; None if they are not.
    """

    def carried(body: Body) -> Turned:
        if local:
            return body(plainly)
        from leaseboard.flows.keep_flow import in_flow

        address = os.environ.get("PREFECT_API_URL", "")
        if address:
            return in_flow(keep.name, file, address, body)
        with PrefectServer(server_log()) as server:
            return in_flow(keep.name, file, server.wait(), body)

    return held_turn(keep, home, now, carried, file=file, tracking_uri=tracking_uri)


def held_turn(
    keep: Keep,
    home: Path,
    now: datetime,
    carried: Callable[[Body], Turned],
    *,
    file: Path | None = None,
    tracking_uri: str | None = None,
) -> Turned:
    """Take a turn while no other one can be taken; `carried` has its steps made somewhere."""
    state = state_of(keep, home)
    with state.turn():
        try:
            update = opened(keep, state, now, file)
            number = state.begin_turn(update.at)
            uri = tracking_uri if file is not None else None
            turned = carried(lambda make: take_turn(update, home, make, uri))
            state.end_turn(number, update.at, turned.counts)
        except Exception as error:  # told, and raised
            what = str(error)
            if isinstance(error, DataError):  # its text may quote cells, and is sent to others
                what = (
                    "the data of this update cannot be used; run `leaseboard keep"
                    f" {file or 'FILE.yaml'}` to see why"
                )
            elif not isinstance(error, LeaseboardError):
                place = traceback.extract_tb(error.__traceback__)[-1]
                what = (  # so may this
                    f"internal error: {type(error).__name__} in {Path(place.filename).name}, line"
                    f" {place.lineno}: the turn's output says more"
                )
            notify_failure(
                keep, state, now, what,
                page=(home / PAGE).as_uri(), command=command_of(keep, file),
            )  # fmt: skip
            raise
    return turned


Body = Callable[[Make], Turned]
"""Takes a turn whose steps are made so."""


def take_turn(
    update: ModelUpdate, home: Path, make: Make, tracking_uri: str | None = None
) -> Turned:
    """Take in all batches that are pending, publish, and notify of what came of it."""
    steps = {
        "validate": cycle.validate, "join labels": cycle.join_labels, "monitor": cycle.monitor,
        "train": cycle.train, "evaluate": cycle.evaluate, "promote": cycle.promote,
    }  # fmt: skip
    many = make("take in", partial(_take_in, update, list(steps.values())))
    one = partial(_take_in, update, [make(word, step) for word, step in steps.items()])
    ingest, groups = make("ingest", _next), cycle.ingest(update)
    turned = Turned()
    update.page = (home / PAGE).as_uri()
    while (group := ingest(groups)) is not None:
        for counts in (many if len(group) > 1 else one)(group):
            if counts is None:
                turned.held_back += 1
                continue
            turned.batches += 1
            turned.counts = {
                name: turned.counts.get(name, 0) + counts.get(name, 0)
                for name in turned.counts | counts
            }
    if any(update.lifecycle.unmonitored.values()):
        rest = Work(Batch("", ""), Changes(update.at))
        make("monitor", partial(cycle.monitor, rest=True))(update, rest)
        if rest.drift:
            cycle.train(update, rest)
        cycle.conclude(update)
    if tracking_uri is not None:
        try:
            make("publish", cycle.publish)(update, tracking_uri, _flow_run())
        except LeaseboardError as error:  # the state has it all: the next update publishes it
            update.incident("publish", "MLflow", str(error))
    make("estimate losses", estimate_losses)(update)
    cycle.close(update)
    build(update.state, update.keep, home, update.now)
    _announce(update)
    for line in undelivered(make("notify", cycle.notify)(update)):
        say(f"leaseboard: {line}", err=True)
    turned.open_incidents = sum(case.is_open for case in update.lifecycle.cases)
    return turned


def _announce(update: ModelUpdate) -> None:
    """Report to Prefect what happened since the last update that ended, if this is a flow run."""
    history = update.state.history()
    news = history[update.lifecycle.announced :]
    if not news:
        return
    if _flow_run():
        from leaseboard.flows.keep_flow import announce

        announce(update.keep.name, news, update.page)
    update.lifecycle.announced = len(history)
    update.state.commit(Changes(update.at, memory={"announced": len(history)}))


def plainly(_word: str, step: Callable[..., Any]) -> Callable[..., Any]:
    """A step without Prefect."""
    return step


def told(counts: dict[str, int]) -> str:
    """What a batch brought, in a few words."""
    named = [f"{count} {name}" for name, count in counts.items() if count]
    return ", ".join(named) or "nothing new"


def summary(turned: Turned, file: Path | None) -> str:
    """What a turn of the keep in `file` came to, in a line, with what is to be looked at."""
    batches = "1 batch" if turned.batches == 1 else f"{turned.batches} batches"
    parts = [f"{batches}: {told(turned.counts)}" if turned.batches else told({})]
    if turned.held_back:
        parts.append(f"{turned.held_back} held back")
    if turned.open_incidents:
        parts.append(still_open(turned, file))
    return "; ".join(parts)


def still_open(turned: Turned, file: Path | None) -> str:
    """How many incidents are open, and what shows them."""
    count = turned.open_incidents
    said = "1 incident is open" if count == 1 else f"{count} incidents are open"
    return f"{said}: leaseboard keep {file or 'FILE.yaml'} --status"


def _flow_run() -> str:
    """The identifier of the flow run that this is called in; empty without Prefect."""
    if "prefect" not in sys.modules:
        return ""
    from prefect.runtime import flow_run

    return str(flow_run.id or "")


def _take_in(
    update: ModelUpdate, steps: Sequence[Callable[..., Any]], group: Sequence[Batch]
) -> list[dict[str, int] | None]:
    """Take in batches one after the other, all in one transaction; after an error one by one.

    Returns what each brought; None if it was held back. Raises the error of the first batch that
    cannot be taken in, when the others are.
    """
    validate, *others = steps
    brought = list[dict[str, int] | None]()
    lifecycle, known, recorded = deepcopy(update.lifecycle), len(update.found), update.recorded
    try:
        with update.state.together():
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
                brought.append(work.taken.counts())
            cycle.conclude(update)
    except Exception as error:
        update.lifecycle, update.found[known:], update.recorded = lifecycle, [], recorded
        update.shadow = Shadow(update.state, update.shadow.recipe, update.shadow.dates)
        is_of_data = not isinstance(error, LeaseboardError) or isinstance(error, DataError)
        if len(group) == 1 or not is_of_data:
            raise
    else:
        for batch, counts in zip(group, brought, strict=True):
            held = update.held.get(batch.name, [("", "", "")])[-1]
            say(f"held back: {held[2]}" if counts is None else f"{batch.name}: {told(counts)}")
        return brought
    brought, errors = [], list[Exception]()
    for batch in group:
        try:
            brought += _take_in(update, steps, [batch])
        except Exception as error:  # noqa: BLE001  (raised when the others are taken in)
            errors.append(error)
    if errors:
        raise errors[0]
    return brought


def _next(groups: Iterator[list[Batch]]) -> list[Batch] | None:
    return next(groups, None)
