"""Validation: what is odd in batches, and what did not come, reported as incidents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

from leaseboard.tasks.live.contract_check import CheckedBatch, Remark, stale
from leaseboard.tasks.live.rows import OTHER_VALUES, Batch, BatchRows
from leaseboard.tasks.live.settings import in_words

if TYPE_CHECKING:
    from leaseboard.tasks.live.update import Update

MOST_REMARKS = 3
"""Of a batch, that are reported each by itself."""
REPEATED = 0.5
"""The share of a batch from which on rows that had come before are reported."""
BEGIN_AGAIN = (
    ": if {id} begins again, join the time to it, such as 2026-02-17, and deliver it again"
)
"""How to fix ids that are of other rows."""
GRACE = timedelta(days=1)
"""How late labels may be beyond their usual delay: a day is reported when it is over."""
REJECTED = ("contract", "broken file")
"""Incidents that already say why newer rows are not there."""


def report_batch(update: Update, batch: Batch, held: CheckedBatch) -> None:
    """Report what is odd in a batch, and rows that are quarantined for breaking the contract."""
    report_remarks(update, "data", batch.name, held.remarks)
    if held.quarantined:
        size = 0 if batch.frame is None else len(batch.frame)
        reasons = Counter(each.reason for each in held.quarantined)
        first = max(held.quarantined, key=lambda each: reasons[each.reason])
        what = f"{batch.name}: {len(held.quarantined)} of {size} rows quarantined,"
        what += f" {reasons[first.reason]} of them as row {first.position + 1}: {first.reason}"
        update.incident("quarantined rows", first.column, what)


def report_remarks(update: Update, kind: str, name: str, remarks: Sequence[Remark]) -> None:
    """Report each by itself; many, as of a file of another kind, are one incident."""
    if len(remarks) > MOST_REMARKS:
        more = f"{name}: {remarks[0].text}; and {len(remarks) - 1} more such faults"
        update.incident(kind, "many faults", more)
        return
    for remark in remarks:
        update.incident(kind, remark.key, f"{name}: {remark.text}")


def report_ids(update: Update, batch: Batch, found: BatchRows, count: int) -> None:
    """Report rows whose identity is that of others."""
    if found.quarantined:
        reason = found.quarantined[0][1]
        again = BEGIN_AGAIN.format(id=update.settings.data.id) if OTHER_VALUES in reason else ""
        what = (
            f"{batch.name}: {len(found.quarantined)} of {count} rows quarantined: {reason}{again}"
        )
        update.incident("ids", reason, what)


def report_repeats(update: Update, batch: Batch, found: BatchRows, count: int) -> None:
    """Report rows that came again, unless a file has grown."""
    if found.new and update.state.had_batch(batch.name):
        return  # as one to which each day is added
    if found.old:
        what = (
            f"{batch.name}: {found.old} rows are of days that are forgotten: they may have been"
            " learned, and are not learned again"
        )
        update.incident("repeated", "old rows", what)
    elif found.repeated > REPEATED * count:
        what = f"{batch.name}: {found.repeated} of {count} rows had come before"
        update.incident("repeated", "rows", what)


def report_late_labels(update: Update) -> None:
    """Report labels that are later than they should be."""
    data, waiting = update.settings.data, update.state.waiting()
    limit = (update.now - data.label_delay - GRACE).date().isoformat()
    late = {day: rows for day, rows in waiting.items() if day < limit}
    if not late:
        return
    usual = f"after {in_words(data.label_delay)}" if data.label_delay else "at once"
    age = (update.now.date() - date.fromisoformat(min(late))).days
    what = f"{sum(late.values())} rows wait for their {data.target!r}, the oldest for {age} days"
    update.incident("labels late", data.target, f"{what}: they usually come {usual}")


def report_stale_rows(update: Update) -> None:
    """Report that the newest rows are older than they should be."""
    newest = update.lifecycle.newest_row
    if newest is None or any(each.kind in REJECTED for each in update.found):
        return
    found = stale(update.contract, newest, update.now)
    if found is not None:
        update.incident("stale", found.key, found.text)
