"""Deletion of rows: of old days by `retention`, and by id; both are in the history.

Sums of losses, statistics of days, and what models have learned stay. Of these only models of
streams hold single rows: the numbers of the last ones, without ids, until others take their place.
A file that arrives again brings no deleted row back: days that are deleted are remembered, and of
ids their digests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.live.lifecycle import LifecycleState
from leaseboard.tasks.live.model import LiveModel
from leaseboard.tasks.live.record import ERASED, EXPIRED
from leaseboard.tasks.live.settings import in_words
from leaseboard.tasks.machine.owners import operator
from leaseboard.tasks.store.live_tables import Changes, HistoryEntry, digest_of

if TYPE_CHECKING:
    from leaseboard.tasks.live.update import Update

_NAMES = {
    "rows": "rows",
    "quarantine": "quarantined rows",
    "served": "logged predictions",
    "posted": "posted labels",
}


def expire(update: Update) -> None:
    """Delete rows that are older than `retention`, if any is set."""
    retention = update.settings.retention
    if retention is None:
        return
    day = (update.now - retention).date().isoformat()
    counts, waiting = update.state.expire(day)
    if any(counts.values()):
        update.shadow.forget(waiting)
        why = f"before {day}: retention {in_words(retention)}"
        update.shadow.record_history([_entry(update.at, EXPIRED, counts, why)])


def erase(live: LiveModel, ids: Sequence[str], reason: str, now: datetime) -> str:
    """Delete all that is stored of rows by their ids; return what was deleted, in one line.

    The caller holds the update lock. Raises UsageError for a live model without ids.
    """
    if live.settings.data.id is None:
        raise UsageError(
            f"the live model {live.settings.name!r} has no id: set data.id, or delete old rows by"
            " retention"
        )
    state, at, gone = live.state, now.isoformat(timespec="seconds"), set(ids)
    with state.transaction():
        is_known = {digest_of(each.encode()) for each in ids} <= state.erased()
        counts = state.erase(ids)
        entry = _entry(at, ERASED, counts, f"by id: {reason}")
        if is_known and not any(counts.values()):  # as of a command that was killed at its end
            return entry.what
        lifecycle = LifecycleState.read(state.lifecycle())
        lifecycle.left_out = [each for each in lifecycle.left_out if each not in gone]
        if lifecycle.doubtful is not None:
            lifecycle.doubtful.rows = [r for r in lifecycle.doubtful.rows if r not in gone]
        shadow = live.shadow()
        shadow.forget(ids)
        changes = Changes(at, lifecycle=lifecycle.dump(), history=[entry])
        shadow.write_to(changes)
        state.commit(changes)
    return entry.what


def _entry(at: str, kind: str, counts: Mapping[str, int], why: str) -> HistoryEntry:
    shown = ", ".join(f"{count:,} {_NAMES[name]}" for name, count in counts.items() if count)
    return HistoryEntry(at, kind, "rows", f"{shown or 'nothing'} deleted {why}, by {operator()}")
