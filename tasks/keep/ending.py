"""The end of a turn: what did not come, what is wrong, and what is to be told."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from algorithms.errors import LeaseboardError
from tasks.keep.changes import Changes, Happened
from tasks.keep.conform import stale
from tasks.keep.durations import in_words
from tasks.keep.incidents import Case, Incident, Message, reconcile
from tasks.keep.settings import Keep
from tasks.keep.state import State
from tasks.keep.tell import Receipt, deliver, letters
from tasks.keep.turn import Keeping, addresses_of

GRACE = timedelta(days=1)
"""How late labels may be beyond their usual delay: a day is told when it is over."""


LAST_TURN = ("turn", "the last turn")
"""Kind and subject of an incident: it failed, or was stopped."""

HELD_BACK = ("contract", "broken file")
"""Incidents that say already why newer rows are not there."""


def look_for_what_did_not_come(keeping: Keeping) -> None:
    """Labels that are later than they should be."""
    delay = keeping.keep.data.label_delay
    limit = (keeping.now - delay - GRACE).date().isoformat()
    late = {day: rows for day, rows in keeping.state.waiting().items() if day < limit}
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


def close(keeping: Keeping, page: str) -> None:
    """Set what was found beside what was known, and put what is to be told into the outbox."""
    addresses = addresses_of(keeping.keep)
    memory = keeping.memory
    cases = [Case.from_dict(each) for each in memory.get("cases", [])]
    found = reconcile(cases, keeping.found, keeping.now)
    memory["cases"] = [each.to_dict() for each in found.cases]
    told = letters(found.messages, addresses, keep=keeping.keep.name, page=page)
    happened = [
        Happened(keeping.at, message.status, message.incident.subject, message.incident.what)
        for message in found.messages
    ]
    memory["clock"] = keeping.at
    keeping.state.commit(
        Changes(
            at=keeping.at,
            memory=dict(memory),
            happened=happened,
            letters=told,
        )
    )


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
        cases = [Case.from_dict(each) for each in state.memory().get("cases", [])]
        others = [each for each in cases if each.incident.key != incident.key]
        found = reconcile([each for each in cases if each not in others], [incident], now)
        at = now.isoformat(timespec="seconds")
        state.commit(
            Changes(
                at=at,
                memory={"cases": [each.to_dict() for each in [*others, *found.cases]]},
                happened=[Happened(at, m.status, incident.subject, incident.what)
                          for m in found.messages],
                letters=letters(found.messages, addresses, keep=keep.name, page=page),
            )
        )  # fmt: skip
        _deliver(state, addresses)
    except LeaseboardError:
        sent = letters([Message("opened", incident)], addresses, keep=keep.name, page=page)
        list(deliver(dict(enumerate(sent))))
