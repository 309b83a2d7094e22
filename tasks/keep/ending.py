"""The end of a turn: what did not come, what is wrong, and what is to be told."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from tasks.keep.changes import Changes, Happened
from tasks.keep.conform import stale
from tasks.keep.incidents import Case, Incident, Message, reconcile
from tasks.keep.tell import Receipt, deliver, letters
from tasks.keep.turn import Keeping, addresses_of

GRACE = timedelta(days=1)
"""How late labels may be beyond their usual delay: a day is told when it is over."""


HELD_BACK = ("contract", "broken file")
"""Incidents that say already why newer rows are not there."""


def look_for_what_did_not_come(keeping: Keeping) -> None:
    """Labels that are later than they should be."""
    delay = keeping.keep.data.label_delay
    limit = (keeping.now - delay - GRACE).date().isoformat()
    late = {day: rows for day, rows in keeping.state.waiting().items() if day < limit}
    if late:
        age = (keeping.now.date() - date.fromisoformat(min(late))).days
        keeping.incident(
            "labels late",
            keeping.keep.data.target,
            f"{sum(late.values())} rows wait for their {keeping.keep.data.target!r}, the oldest"
            f" for {age} days: they usually come after {delay.days}",
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
    receipts = []
    for receipt in deliver(keeping.state.letters()):
        receipts.append(receipt)
        if not receipt.fault:
            keeping.state.strike_out(receipt.number)
    return receipts


def tell_at_once(keeping: Keeping, what: str, page: str) -> None:
    """Tell that a turn could not begin, where nothing can be kept until the next one."""
    incident = Incident("turn", "this turn", what, keeping.now, "leaseboard doctor")
    sent = letters([Message("opened", incident)], addresses_of(keeping.keep),
                   keep=keeping.keep.name, page=page)  # fmt: skip
    list(deliver(dict(enumerate(sent))))
