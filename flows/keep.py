"""One turn of a keep: ingest, check, settle, watch, learn, compare, promote, publish, tell.

Each word is a step: a task of a Prefect flow run, or plainly called. So is `expect`, which
estimates the loss of days whose labels have not come. What a batch changes is written when the
last of its steps is over, in one transaction; what touches the outside comes after it. So a turn
that was killed anywhere is made good by the next one.
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
from leaseboard.flows.server import PrefectServer, server_log
from leaseboard.flows.terminal import say
from leaseboard.tasks.keep import comparing, ending, expecting, turn, watching
from leaseboard.tasks.keep.batches import Batch
from leaseboard.tasks.keep.changes import Changes
from leaseboard.tasks.keep.daily import log_days
from leaseboard.tasks.keep.keeping import Keeping, command_of
from leaseboard.tasks.keep.opening import opened, state_of
from leaseboard.tasks.keep.page import PAGE, build
from leaseboard.tasks.keep.publish import Publishable, publish
from leaseboard.tasks.keep.settings import Keep
from leaseboard.tasks.keep.shadow import Shadow
from leaseboard.tasks.keep.sources import pending
from leaseboard.tasks.keep.state import State
from leaseboard.tasks.keep.tell import undelivered

ANNOUNCED = "announced"
"""In the memory: how much of what happened Prefect knows, or was not there to be told."""

TOGETHER, LEAST_WEIGHT = 500, 10
"""Rows that are taken in in one transaction, about, and as how many a file counts at least: so the
database of a server that is asked meanwhile is busy for a second at most."""

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
            return _carried_turn(keep, state, home, now, carried, file, tracking_uri)
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
            ending.tell_failure(
                keep, state, now, what,
                page=(home / PAGE).as_uri(), command=command_of(keep, file),
            )  # fmt: skip
            raise


def _carried_turn(
    keep: Keep,
    state: State,
    home: Path,
    now: datetime,
    carried: Callable[[Body], Turned],
    file: Path | None,
    tracking_uri: str | None,
) -> Turned:
    keeping = opened(keep, state, now, file)
    number = state.begin_turn(keeping.at)
    publisher = None
    if tracking_uri is not None and file is not None:
        kept = Publishable(keep, file, keeping.contract, keeping.shadow.recipe, state)
        publisher = partial(_published, tracking_uri, kept, keeping.now)
    turned = carried(lambda make: take_turn(keeping, home, make, publisher))
    state.end_turn(number, keeping.at, turned.counts)
    return turned


Body = Callable[[Make], Turned]
"""Takes a turn whose steps are made so."""


def take_turn(
    keeping: Keeping, home: Path, make: Make, publisher: Callable[..., Any] | None = None
) -> Turned:
    """Take in all batches that are pending, publish, and tell what came of it."""
    steps = {
        "check": turn.checked, "settle": turn.settle, "watch": watching.watch,
        "learn": turn.learn, "compare": comparing.compare, "promote": comparing.promote,
    }  # fmt: skip
    many = make("take in", partial(_take_in, keeping, list(steps.values())))
    one = partial(_take_in, keeping, [make(word, step) for word, step in steps.items()])
    ingest, groups = make("ingest", _next), _pending(keeping)
    turned = Turned()
    keeping.page = (home / PAGE).as_uri()
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
    if any(keeping.memory.get(watching.UNSEEN, {}).values()):
        rest = turn.Work(Batch("", ""), Changes(keeping.at))
        make("watch", partial(watching.watch, rest=True))(keeping, rest)
        if rest.drift:
            turn.learn(keeping, rest)
        turn.conclude(keeping)
    if publisher is not None:
        try:
            make("publish", publisher)(flow_run=_flow_run())
        except LeaseboardError as error:  # the state has it all: the next turn publishes it
            keeping.incident("publish", "MLflow", str(error))
    make("expect", expecting.expect)(keeping)
    ending.look_for_what_did_not_come(keeping)
    ending.look_for_what_is_stale(keeping)
    ending.close(keeping)
    build(keeping.state, keeping.keep, home, keeping.now)
    _announce(keeping)
    for line in undelivered(make("tell", ending.tell)(keeping)):
        say(f"leaseboard: {line}", err=True)
    turned.open_incidents = sum(case["resolved"] is None for case in keeping.memory["cases"])
    return turned


def _announce(keeping: Keeping) -> None:
    """Tell Prefect what happened since the last turn that ended, if this is a flow run."""
    history = keeping.state.history()
    news = history[keeping.memory.get(ANNOUNCED, 0) :]
    if not news:
        return
    if _flow_run():
        from leaseboard.flows.announcing import announce

        announce(keeping.keep.name, news, keeping.page)
    keeping.memory[ANNOUNCED] = len(history)
    keeping.state.commit(Changes(keeping.at, memory={ANNOUNCED: len(history)}))


def _published(uri: str, kept: Publishable, now: datetime, *, flow_run: str) -> None:
    versions = publish(uri, kept, flow_run=flow_run)
    log_days(uri, kept, versions, now, flow_run=flow_run)


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
    keeping: Keeping, steps: Sequence[Callable[..., Any]], group: Sequence[Batch]
) -> list[dict[str, int] | None]:
    """Take in batches one after the other, all in one transaction; after an error one by one.

    Returns what each brought; None if it was held back. Raises the error of the first batch that
    cannot be taken in, when the others are.
    """
    check, *others = steps
    brought = list[dict[str, int] | None]()
    memory, known, recorded = deepcopy(keeping.memory), len(keeping.found), keeping.recorded
    try:
        with keeping.state.together():
            for batch in group:
                before = len(keeping.found)
                work = check(keeping, batch)
                if work is None:
                    keeping.held[batch.name] = [
                        [each.kind, each.subject, each.what] for each in keeping.found[before:]
                    ]
                    brought.append(None)
                    continue
                for step in others:
                    step(keeping, work)
                turn.commit(keeping, work)
                brought.append(work.taken.counts())
            turn.conclude(keeping)
    except Exception as error:
        keeping.memory, keeping.found[known:], keeping.recorded = memory, [], recorded
        keeping.shadow = Shadow(keeping.state, keeping.shadow.recipe, keeping.shadow.dates)
        is_of_data = not isinstance(error, LeaseboardError) or isinstance(error, DataError)
        if len(group) == 1 or not is_of_data:
            raise
    else:
        for batch, counts in zip(group, brought, strict=True):
            held = keeping.held.get(batch.name, [[]])[-1]
            say(f"held back: {held[2]}" if counts is None else f"{batch.name}: {told(counts)}")
        return brought
    brought, errors = [], list[Exception]()
    for batch in group:
        try:
            brought += _take_in(keeping, steps, [batch])
        except Exception as error:  # noqa: BLE001  (raised when the others are taken in)
            errors.append(error)
    if errors:
        raise errors[0]
    return brought


def _pending(keeping: Keeping) -> Iterator[list[Batch]]:
    """All batches; small files many at once, as a transaction a row would take an hour."""
    if (posted := turn.posted_labels(keeping)) is not None:
        yield [posted]
    group, weight = list[Batch](), 0
    for batch in pending(keeping.keep.data, keeping.state, texts=keeping.contract.texts):
        group.append(batch)
        weight += LEAST_WEIGHT if batch.frame is None else max(LEAST_WEIGHT, len(batch.frame))
        if weight >= TOGETHER or batch.watermark is not None:
            yield group
            group, weight = [], 0
    if group:
        yield group
    # Labels may have waited for rows that have come just now; those that were held back wait on.
    again = turn.posted_labels(keeping)
    if again is not None and (posted is None or not set(again.posted) & set(posted.posted)):
        yield [again]


def _next(groups: Iterator[list[Batch]]) -> list[Batch] | None:
    return next(groups, None)
