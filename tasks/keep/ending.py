"""The end of a turn: what did not come, what is wrong, and what is to be told."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.keep import turn
from leaseboard.tasks.keep.changes import Changes
from leaseboard.tasks.keep.conform import stale
from leaseboard.tasks.keep.durations import in_words
from leaseboard.tasks.keep.incidents import Incident, Message
from leaseboard.tasks.keep.keeping import Keeping, addresses_of, record
from leaseboard.tasks.keep.settings import Keep
from leaseboard.tasks.keep.state import State
from leaseboard.tasks.keep.tell import Receipt, deliver, letters

GRACE = timedelta(days=1)
"""How late labels may be beyond their usual delay: a day is told when it is over."""


LAST_TURN = ("turn", "the last turn")
"""Kind and subject of an incident: it failed, or was stopped."""

HELD_BACK = ("contract", "broken file")
"""Incidents that say already why newer rows are not there."""


def look_for_what_did_not_come(keeping: Keeping) -> None:
    """Labels that are later than they should be, and rows whose day is far ahead."""
    delay, waiting = keeping.keep.data.label_delay, keeping.state.waiting()
    limit = (keeping.now - delay - GRACE).date().isoformat()
    late = {day: rows for day, rows in waiting.items() if day < limit}
    ahead = {day: rows for day, rows in waiting.items() if day > keeping.last_day}
    if ahead:
        days = (date.fromisoformat(max(ahead)) - keeping.now.date()).days
        keeping.incident(
            "data",
            f"future {keeping.contract.rows.time}",
            f"{sum(ahead.values())} rows that wait for their {keeping.keep.data.target!r} are"
            f" dated up to {days} days ahead: fix their source",
        )
    if late:
        usual = f"after {in_words(delay)}" if delay else "at once"
        age = (keeping.now.date() - date.fromisoformat(min(late))).days
        keeping.incident(
            "labels late",
            keeping.keep.data.target,
            f"{sum(late.values())} rows wait for their {keeping.keep.data.target!r}, the oldest"
            f" for {age} days: they usually come {usual}",
        )


def look_for_what_is_stale(keeping: Keeping) -> None:
    """Rows that are older than they should be: no turn has brought newer ones."""
    newest = keeping.memory.get("newest")
    if newest is None or any(each.kind in HELD_BACK for each in keeping.found):
        return
    found = stale(keeping.contract, datetime.fromisoformat(newest), keeping.now)
    if found is not None:
        keeping.incident("stale", found.key, found.text)


def close(keeping: Keeping) -> None:
    """Record what the end of the turn found, and which incidents are over."""
    keeping.memory |= {"clock": keeping.at, turn.HELD_BACK: keeping.held}
    changes = Changes(at=keeping.at)
    keeping.record(changes, ends=True)
    keeping.state.commit(changes)


def tell(keeping: Keeping) -> list[Receipt]:
    """Send what is in the outbox, and strike out what was taken."""
    return _deliver(keeping.state, addresses_of(keeping.keep))


def _deliver(state: State, addresses: list[str]) -> list[Receipt]:
    """What waits for an address that FILE.yaml names no more goes to the first that it names."""
    outbox = {
        number: (written if written in addresses or not addresses else addresses[0], body)
        for number, (written, body) in state.letters().items()
    }
    receipts = []
    for receipt in deliver(outbox):
        receipts.append(receipt)
        if not receipt.fault:
            state.strike_out(receipt.number)
    return receipts


def tell_failure(
    keep: Keep, state: State, now: datetime, what: str, *, page: str, command: str
) -> None:
    """Tell that a turn failed: once, though each of the next ones may fail as well.

    What cannot be written down, as on a disk that is full, is told at once, and again.
    """
    incident = Incident(*LAST_TURN, f"the turn failed: {what}", now, command)
    addresses = addresses_of(keep)
    try:
        changes, memory = Changes(now.isoformat(timespec="seconds")), state.memory()
        record(changes, memory, [incident], None, keep, now, page)
        changes.memory = {"cases": memory["cases"]}
        state.commit(changes)
        _deliver(state, addresses)
    except LeaseboardError:
        sent = letters([Message("opened", incident)], addresses, keep=keep.name, page=page)
        list(deliver(dict(enumerate(sent))))
