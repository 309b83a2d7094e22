"""Monitoring: what is odd in batches, and days against the days before: incidents and drift.

A day is one point, in however many batches it comes: what came of it before is read from the
state, and the whole day is judged again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, timedelta
from typing import TYPE_CHECKING, Any

import pandas as pd

from leaseboard.tasks.live.candidates import CHAMPION
from leaseboard.tasks.live.contract_check import CheckedBatch, Remark
from leaseboard.tasks.live.drift import INPUTS, OUTCOMES, DayFinding
from leaseboard.tasks.live.rows import OTHER_VALUES, Batch, label_of
from leaseboard.tasks.live.settings import in_words
from leaseboard.tasks.models.columns import frame_of
from leaseboard.tasks.models.model import Prediction, likeliest
from leaseboard.tasks.store.live_tables import BatchRows, HistoryEntry, StoredRow

if TYPE_CHECKING:
    from leaseboard.tasks.live.update import Update, Work

LEAST_ROWS = 10
"""Rows of a day that is monitored, at least."""


def monitor(update: Update, work: Work) -> None:
    """Compare the days of new rows, and those of new labels, with the days before."""
    champion = update.shadow.in_role(CHAMPION)
    if champion is None:
        return
    monitored, number = update.lifecycle.monitored, str(champion.number)
    inputs = list(days_of(update, work.changes.rows.new, number, INPUTS))
    outcomes = list(days_of(update, work.labelled, number, OUTCOMES))
    for day, group, predicted in inputs:
        points = pd.Series([likeliest(each) for each in predicted])
        report = monitored.observe(day, monitored_features(update, group), points)
        _raise_alarm(update, work, INPUTS, day, report.alarms)
    for day, group, predicted in outcomes:
        labels = [label_of(row) for row in group]
        losses = [loss_of(each, label) for each, label in zip(predicted, labels, strict=True)]
        predictions: Any = pd.Series([likeliest(each) for each in predicted])
        if isinstance(predicted[0], Mapping):
            labels = [str(each) for each in labels]
            predictions = pd.DataFrame(predicted).fillna(0.0)
        report = monitored.compare(day, pd.Series(labels), predictions, pd.Series(losses))
        if work.made_champion:  # the past, which the first champion has just learned
            continue
        _raise_alarm(update, work, OUTCOMES, day, report.alarms or report.worse)
        work.doubtful[day] = bool(report.alarms)
        work.drift += tuple(each.what for each in report.drift)
        update.shadow.happened += [
            HistoryEntry(update.at, "drift", each.series, each.what) for each in report.drift
        ]


def days_of(
    update: Update, new_rows: Sequence[StoredRow], number: str, part: str
) -> Iterator[tuple[str, list[StoredRow], list[Prediction]]]:
    """Yield the days of rows that the champion has predicted, in order, with its predictions.

    Each is whole, as far as it has come; of `OUTCOMES` as far as its labels have.
    """
    new: dict[str, dict[str, StoredRow]] = {}
    for row in new_rows:
        if row.day <= update.last_day:
            new.setdefault(row.day, {})[row.id] = row
    for day in sorted(new):
        stored = update.state.rows_on(day, labelled=part == OUTCOMES)
        of_day = ({row.id: row for row in stored} | new[day]).values()
        predicted = [json.loads(row.predictions or "{}").get(number) for row in of_day]
        known = [
            (row, each) for row, each in zip(of_day, predicted, strict=True) if each is not None
        ]
        if len(known) >= LEAST_ROWS:
            yield day, [row for row, _ in known], [each for _, each in known]


def monitored_features(update: Update, group: Sequence[StoredRow]) -> pd.DataFrame:
    """Return the features of rows; flags as booleans, whose median would leap from 0 to 1."""
    features = frame_of([json.loads(row.features) for row in group], update.shadow.dates)
    columns = update.contract.columns
    flags = [name for name in features if name in columns and columns[name].kind == "flag"]
    booleans = {name: features[name].map(bool, na_action="ignore") for name in flags}
    return features.assign(**{name: each.astype(object) for name, each in booleans.items()})


def loss_of(predicted: Prediction, label: Any) -> float:
    """Return the loss that is monitored: the absolute error, or 1 minus the probability."""
    if isinstance(predicted, Mapping):
        return 1 - predicted.get(str(label), 0.0)
    return abs(float(likeliest(predicted)) - float(label))


def _raise_alarm(
    update: Update, work: Work, subject: str, day: str, alarms: Sequence[DayFinding]
) -> None:
    """Report one incident for all that is unlike the days before; none for the past."""
    if alarms and not work.made_champion:
        more = f", and {len(alarms) - 1} more" if len(alarms) > 1 else ""
        update.incident("alarm", subject, f"{day}: {alarms[0].what}{more}")


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


def report_rows(update: Update, batch: Batch, found: BatchRows, count: int) -> None:
    """Report rows whose identity is that of others, and ones that came again, of no grown file."""
    if found.quarantined:
        reason = found.quarantined[0][1]
        again = BEGIN_AGAIN.format(id=update.settings.data.id) if OTHER_VALUES in reason else ""
        what = f"{batch.name}: {len(found.quarantined)} of {count} rows quarantined: {reason}"
        update.incident("ids", reason, f"{what}{again}")
    if found.new and update.state.had_batch(name=batch.name):
        return  # as one to which each day is added
    if found.old:
        what = f"{batch.name}: {found.old} rows are of days that are forgotten: they may have been"
        update.incident("repeated", "old rows", f"{what} learned, and are not learned again")
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
    newest, fresh = update.lifecycle.newest_row, update.contract.rows.fresh
    if newest is None or fresh is None or any(each.kind in REJECTED for each in update.found):
        return
    age, time = update.now - newest.replace(tzinfo=UTC), update.settings.data.time
    if age > fresh:
        age -= age % timedelta(minutes=1)
        what = f"the newest {time} is {newest:%Y-%m-%d %H:%M} UTC, that is {age} ago: at most"
        update.incident("stale", f"age of {time}", f"{what} {in_words(fresh)} is fresh")
