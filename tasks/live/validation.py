"""Validation: what is odd in batches, and what did not come, reported as incidents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

import pandas as pd

from leaseboard.algorithms.tables.values import text_of
from leaseboard.tasks.live.contract_check import CheckedBatch, Remark, stale
from leaseboard.tasks.live.rows import OTHER_VALUES, Batch, BatchRows
from leaseboard.tasks.live.settings import FOLDER, in_words

if TYPE_CHECKING:
    from leaseboard.tasks.live.update import Update

MOST_REMARKS = 3
"""Of a batch, that are reported each by itself."""
MOST_CATEGORIES = 1000
"""Of a column, that are remembered: the last."""
REPEATED = 0.5
"""The share of a batch from which on rows that had come before are reported."""
BEGIN_AGAIN = (
    ": if {id} begins again, as each month, join the time to it at the source, such as 2026-02-17,"
    " and deliver the file again"
)
"""How to fix ids that are of other rows."""
GRACE = timedelta(days=1)
"""How late labels may be beyond their usual delay: a day is reported when it is over."""
REJECTED = ("contract", "broken file")
"""Incidents that already say why newer rows are not there."""


def report_batch(update: Update, batch: Batch, held: CheckedBatch) -> None:
    """Report what is odd in a batch, and rows that are quarantined for breaking the contract."""
    # How old it is, is reported at the end, of the newest rows of all.
    remarks = [remark for remark in held.remarks if not remark.key.startswith("age of")]
    report_remarks(update, "data", batch.name, remarks)
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


def report_new_categories(update: Update, batch: Batch, rows: pd.DataFrame) -> None:
    """Report the first sight of categories that neither the contract nor an earlier batch has."""
    seen = update.lifecycle.new_categories
    for name, rule in update.contract.columns.items():
        if rule.kind != "category" or name not in rows:
            continue
        known = seen.get(name, [])
        new = sorted(set(rows[name].dropna()) - {*map(text_of, rule.categories), *known})
        if new:
            seen[name] = [*known, *new][-MOST_CATEGORIES:]
        if new and update.shadow.candidates:
            count = f"{int(rows[name].isin(new).sum())} of {len(rows)} rows"
            many = "a category" if len(new) == 1 else f"{len(new)} categories"
            what = f"{batch.name}: {count} hold {many} of {name!r} that never came before"
            fix = "fix the source, or add it to the contract"
            update.incident("data", f"categories of {name}", f"{what}: {fix}")


def report_ids(update: Update, batch: Batch, found: BatchRows, count: int) -> None:
    """Report rows whose identity is that of others; new rows without any show that it is over."""
    over = update.lifecycle.over
    if found.quarantined:
        over[:] = [kind for kind in over if kind != "ids"]
        reason = found.quarantined[0][1]
        again = BEGIN_AGAIN.format(id=update.settings.data.id) if OTHER_VALUES in reason else ""
        what = (
            f"{batch.name}: {len(found.quarantined)} of {count} rows quarantined: {reason}{again}"
        )
        update.incident("ids", reason, what)
    elif found.new and "ids" not in over:
        last = update.lifecycle.last_update  # what a killed update has found counts, too
        cases = [case for case in update.lifecycle.cases if last is None or case.seen > last]
        known = [*update.found, *(case.incident for case in cases)]
        over += [] if any(each.kind == "ids" for each in known) else ["ids"]


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
    elif update.settings.data.kind == FOLDER and found.repeated > REPEATED * count:
        what = f"{batch.name}: {found.repeated} of {count} rows had come before"
        update.incident("repeated", "rows", what)


def report_late_labels(update: Update) -> None:
    """Report labels that are later than they should be, and rows whose day is far ahead."""
    delay, waiting = update.settings.data.label_delay, update.state.waiting()
    limit = (update.now - delay - GRACE).date().isoformat()
    late = {day: rows for day, rows in waiting.items() if day < limit}
    ahead = {day: rows for day, rows in waiting.items() if day > update.last_day}
    if ahead:
        days = (date.fromisoformat(max(ahead)) - update.now.date()).days
        update.incident(
            "data",
            f"future {update.contract.rows.time}",
            f"{sum(ahead.values())} rows that wait for their {update.settings.data.target!r} are"
            f" dated up to {days} days ahead: fix their source",
        )
    if late:
        usual = f"after {in_words(delay)}" if delay else "at once"
        age = (update.now.date() - date.fromisoformat(min(late))).days
        update.incident(
            "labels late",
            update.settings.data.target,
            f"{sum(late.values())} rows wait for their {update.settings.data.target!r}, the oldest"
            f" for {age} days: they usually come {usual}",
        )


def report_stale_rows(update: Update) -> None:
    """Report that the newest rows are older than they should be."""
    newest = update.lifecycle.newest_row
    if newest is None or any(each.kind in REJECTED for each in update.found):
        return
    found = stale(update.contract, newest, update.now)
    if found is not None:
        update.incident("stale", found.key, found.text)
