"""The update cycle of a live model: its nine steps, in their order.

=================  ====================================================================
`ingest`           read the batches that are pending
`validate`         check a batch against the contract; predict its new rows
`join_labels`      join labels with the predictions of their rows; make the first champion
`monitor`          compare its days with the days before: alarms, drift
`train`            have candidates learn labelled rows; make a challenger when one is due
`evaluate`         compare the champion with its rivals on the rows that all have predicted
`promote`          give the roles that the evidence asks for
`publish`          register the present model of each role
`notify`           send the notifications of incidents
=================  ====================================================================

The steps from `validate` to `promote` take the `Work` on a batch and add to it; nothing is written
until `commit` and `conclude`. `leaseboard.flows.live_update` calls them.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, timedelta
from itertools import compress
from typing import Any

import pandas as pd

from leaseboard.algorithms.errors import DataError
from leaseboard.algorithms.tables.values import text_of
from leaseboard.tasks.live import promotion, publication, rows, training, validation
from leaseboard.tasks.live.contract import UNDECIDED
from leaseboard.tasks.live.contract_check import AHEAD, check, with_absent
from leaseboard.tasks.live.drift.monitor import INPUTS, OUTCOMES, DayFinding, MonitoredDays
from leaseboard.tasks.live.erasure import expire
from leaseboard.tasks.live.losses import by_day, label_of, losses_of
from leaseboard.tasks.live.notification import Receipt, send
from leaseboard.tasks.live.record import ROLLED_BACK
from leaseboard.tasks.live.rows import Batch
from leaseboard.tasks.live.shadow import CHALLENGER, CHAMPION, PREVIOUS, RETIRED
from leaseboard.tasks.live.sources import pending
from leaseboard.tasks.live.update import ModelUpdate, Work
from leaseboard.tasks.models.columns import frame_of
from leaseboard.tasks.models.model import Prediction
from leaseboard.tasks.store.live_tables import (
    BatchEntry,
    Changes,
    HistoryEntry,
    StoredRow,
    digest_of,
)

TOGETHER = 500
"""Rows that are ingested in one transaction, about: a server that predicts meanwhile waits for the
database for a second at most."""
LEAST_WEIGHT = 10
"""Rows that a file counts as in `TOGETHER`, at least."""
UNCLAIMED = timedelta(days=7)
"""How long a label that was posted waits for its row to come: it may be in tomorrow's file."""
REMEMBERED = timedelta(days=90)
"""How long the identity of a row is known after its day; without days, without an end."""
LEAST_ROWS = 10
"""Rows of a day that is monitored, at least."""
GROWN = 0.25
"""Share by which a day must have grown to be monitored again before the end of the update: a day
whose rows come one by one is judged a few times, and not with each row."""
_CLASSES = {1.0: "True", 0.0: "False"}
"""The classes of a flag that is predicted; a missing one stays missing."""


def ingest(update: ModelUpdate) -> Iterator[list[Batch]]:
    """Read all pending batches, small ones in groups: a transaction a row would take an hour."""
    if (posted := _posted_labels(update)) is not None:
        yield [posted]
    group, weight = list[Batch](), 0
    for batch in pending(update.settings.data, update.state, texts=lambda: update.contract.texts):
        group.append(batch)
        weight += LEAST_WEIGHT if batch.frame is None else max(LEAST_WEIGHT, len(batch.frame))
        is_undecided = UNDECIDED in {each.kind for each in update.contract.columns.values()}
        if weight >= TOGETHER or batch.watermark is not None or is_undecided:
            yield group
            group, weight = [], 0
    if group:
        yield group
    # Labels may have waited for rows that have just come; those of rejected batches wait on.
    again = _posted_labels(update)
    if again is not None and (posted is None or not set(again.posted) & set(posted.posted)):
        yield [again]


def _posted_labels(update: ModelUpdate) -> Batch | None:
    """Return the labels that were posted to the server, as a batch of ids and labels."""
    data, before = update.settings.data, update.now.astimezone(UTC) - UNCLAIMED
    if data.id is None:
        return None
    posted = update.state.posted(before.isoformat(timespec="seconds"))
    if not posted:
        return None
    numbers, ids, labels = zip(*posted, strict=True)
    frame = pd.DataFrame({data.id: ids, data.target: [json.loads(label) for label in labels]})
    digest = hashlib.sha256(f"posted {numbers}".encode()).hexdigest()
    return Batch(f"labels posted up to {max(numbers)}", digest, frame, posted=numbers)


def validate(update: ModelUpdate, batch: Batch) -> Work | None:
    """Check a batch against the contract; None, with an incident, if it must be rejected.

    Its rows are sorted into new ones, labels of earlier ones, repeats, and quarantined ones. All
    candidates that predict do so for the new ones.
    """
    if batch.frame is None:
        update.incident("broken file", batch.name, batch.fault)
        return None
    data, frame = update.settings.data, batch.frame
    if not len(frame) and (why := update.lifecycle.rejected_batches.get(batch.name)):
        for each in why:  # a header without rows fixes nothing: the missing data have not come
            update.incident(*each)
        return None
    work, alone = Work(batch, Changes(at=update.at)), rows.is_labels_alone(frame, data)
    contract = update.contract.of_labels(data) if alone else update.contract
    held = check(contract, frame, now=update.now)
    if not held.breaks and update.decide(frame, batch.name):
        contract = update.contract
        held = check(contract, frame, now=update.now)
    if held.breaks:  # what else is odd is reported when the batch is ingested
        validation.report_remarks(update, "contract", batch.name, held.breaks)
        return None
    validation.report_batch(update, batch, held)
    broken = [(each, rows.values_in(frame.iloc[[each.position]])[0]) for each in held.quarantined]
    frame = held.rows
    if not alone:
        features = [name for name in contract.columns if name not in (data.target, data.id)]
        frame = with_absent(contract, frame, features)
    if contract.columns[data.target].kind == "flag" and data.target in frame:
        frame = frame.assign(**{data.target: frame[data.target].map(_CLASSES)})
    try:
        ids = list(rows.identify(frame.assign(**held.moments), data))
    except DataError as error:
        update.incident("broken file", batch.name, f"{batch.name}: {error}")
        return None
    times, zone = held.moments.get(data.time or ""), update.contract.rows.zone
    erased, count = update.state.erased(), len(ids)
    if erased:
        is_left = [digest_of(each.encode()) not in erased for each in ids]
        frame, ids = frame[is_left], list(compress(ids, is_left))
        times = None if times is None else times[is_left]
    known = update.state.rows_of(list(dict.fromkeys(ids)))
    local = None if times is None else times.dt.tz_localize("UTC").dt.tz_convert(zone)
    found = work.rows = rows.sort_rows(
        frame, ids, known, data, update.at[:10], update.state.forgotten(), local
    )
    found.erased = count - len(ids)
    if not batch.posted:  # labels that were posted have waited already
        said_at = update.now.astimezone(UTC).isoformat(timespec="seconds")
        work.changes.early = [(each, said_at, label) for each, label in found.take_early()]
    validation.report_ids(update, batch, found, len(ids))
    validation.report_repeats(update, batch, found, len(ids))
    found.quarantined += [
        (identity, each.reason, rows.to_json(row))
        for each, row in broken
        if digest_of((identity := text_of(row.get(data.id or "", ""))).encode()) not in erased
    ]
    validation.report_new_categories(update, batch, frame)
    found.new = update.shadow.predict(found.new)
    if times is not None:
        there = times[times <= update.now.astimezone(UTC).replace(tzinfo=None) + AHEAD].max()
        if not pd.isna(there):
            newest = there.floor("us").to_pydatetime()
            update.lifecycle.newest_row = max(newest, update.lifecycle.newest_row or newest)
    work.changes.batch = BatchEntry(batch.name, batch.digest, found.counts(), batch.watermark)
    return work


def join_labels(update: ModelUpdate, work: Work) -> None:
    """Join labels with the predictions of their rows; make the first champion if it is missing."""
    work.labelled = work.rows.labelled + [row for row in work.rows.new if row.is_labelled]
    if update.shadow.in_role(CHAMPION) is None:
        training.make_first_champion(update, work)
    work.losses = losses_of(work.labelled)
    work.changes.days = by_day(work.labelled, work.losses)
    work.changes.rows = work.rows.new
    work.changes.labels = [(row.number, row.label or "") for row in work.rows.labelled]
    work.changes.quarantined = work.rows.quarantined


def monitor(update: ModelUpdate, work: Work, *, rest: bool = False) -> None:
    """Compare the days of new rows, and those of new labels, with the days before.

    A day is one point, in however many batches it comes: what came of it before is read from the
    state, and the whole day is judged again.

    - `rest`: judge all days that have grown at all since they were judged last.
    """
    champion = update.shadow.in_role(CHAMPION)
    if champion is None:
        return
    monitored, number = update.lifecycle.monitored, str(champion.number)
    for day in {row.day for row in work.labelled}:
        rows_of_day, was_alarming = monitored.outcomes.last(day)
        if rows_of_day:
            work.doubtful[day] = was_alarming
    inputs = list(days_of(update, work.rows.new, number, INPUTS, rest=rest))
    outcomes = list(days_of(update, work.labelled, number, OUTCOMES, rest=rest))
    for day, group, predicted in inputs:
        points = pd.Series([likeliest(each) for each in predicted])
        report = monitored.observe(day, monitored_features(update, group), points)
        _raise_alarm(update, work, INPUTS, day, report.alarms)
    for day, group, predicted in outcomes:
        labels = [label_of(row) for row in group]
        losses = [loss_of(each, label) for each, label in zip(predicted, labels, strict=True)]
        predictions: Any = pd.Series([likeliest(each) for each in predicted])
        if isinstance(predicted[0], Mapping):
            labels, predictions = (
                [str(each) for each in labels],
                pd.DataFrame(predicted).fillna(0.0),
            )
        report = monitored.compare(day, pd.Series(labels), predictions, pd.Series(losses))
        if work.made_champion:  # the past, which the first champion has just learned
            continue
        _raise_alarm(update, work, OUTCOMES, day, report.alarms or report.worse)
        work.doubtful[day] = bool(report.alarms)
        work.drift += tuple(each.what for each in report.drift)
        update.shadow.record_history(
            HistoryEntry(update.at, "drift", each.series, each.what) for each in report.drift
        )


def days_of(
    update: ModelUpdate, new_rows: Sequence[StoredRow], number: str, part: str, *, rest: bool
) -> Iterator[tuple[str, list[StoredRow], list[Prediction]]]:
    """Yield the days of rows that the champion has predicted, in order, with its predictions.

    Each is whole, as far as it has come; of `OUTCOMES` as far as its labels have.
    """
    new: dict[str, dict[str, StoredRow]] = {}
    for row in new_rows:
        if row.day <= update.last_day:
            new.setdefault(row.day, {})[row.id] = row
    unseen = update.lifecycle.unmonitored.setdefault(part, {})
    seen: MonitoredDays = getattr(update.lifecycle.monitored, part)
    for day in sorted({*unseen} if rest else new):
        unseen[day] = unseen.get(day, 0) + len(new.get(day, ()))
        if not rest and unseen[day] < (GROWN * seen.last(day)[0] or LEAST_ROWS):
            continue
        stored = update.state.rows_on(day, labelled=part == OUTCOMES)
        of_day = ({row.id: row for row in stored} | new.get(day, {})).values()
        predicted = [json.loads(row.predictions or "{}").get(number) for row in of_day]
        known = [
            (row, each) for row, each in zip(of_day, predicted, strict=True) if each is not None
        ]
        if rest or len(known) >= LEAST_ROWS:
            del unseen[day]
        if len(known) >= LEAST_ROWS:
            yield day, [row for row, _ in known], [each for _, each in known]


def monitored_features(update: ModelUpdate, group: Sequence[StoredRow]) -> pd.DataFrame:
    """Return the features of rows; flags as booleans, whose median would leap from 0 to 1."""
    features = frame_of([json.loads(row.features) for row in group], update.shadow.dates)
    columns = update.contract.columns
    flags = [name for name in features if name in columns and columns[name].kind == "flag"]
    booleans = {name: features[name].map(bool, na_action="ignore") for name in flags}
    return features.assign(**{name: each.astype(object) for name, each in booleans.items()})


def likeliest(predicted: Prediction) -> Any:
    """Return the number that was predicted, or the likeliest class."""
    if isinstance(predicted, Mapping):
        return max(predicted, key=predicted.__getitem__)
    return predicted[0] if isinstance(predicted, list) else predicted


def loss_of(predicted: Prediction, label: Any) -> float:
    """Return the loss that is monitored: the absolute error, or 1 minus the probability."""
    if isinstance(predicted, Mapping):
        return 1 - predicted.get(str(label), 0.0)
    return abs(float(likeliest(predicted)) - float(label))


def _raise_alarm(
    update: ModelUpdate, work: Work, subject: str, day: str, alarms: Sequence[DayFinding]
) -> None:
    """Report one incident for all that is unlike the days before; none for the past."""
    if alarms and not work.made_champion:
        more = f", and {len(alarms) - 1} more" if len(alarms) > 1 else ""
        update.incident("alarm", subject, f"{day}: {alarms[0].what}{more}")


def train(update: ModelUpdate, work: Work) -> None:
    """Train candidates on labelled rows; make a challenger when one is due."""
    champion = update.shadow.in_role(CHAMPION)
    if champion is None or work.made_champion:
        return
    update.shadow.learn(training.rows_to_learn(update, work))
    why = training.why_due(update, work)
    if why:
        training.make_challenger(update, work, champion, why)


def evaluate(update: ModelUpdate, work: Work) -> None:
    """Compare the champion with its rivals on the rows whose label has come."""
    champion = update.shadow.in_role(CHAMPION)
    if champion is None:
        return
    for role in (CHALLENGER, PREVIOUS):
        rival = update.shadow.in_role(role)
        if rival is None:
            continue
        both = [
            (each[champion.number]["loss"], each[rival.number]["loss"])
            for each in work.losses
            if champion.number in each and rival.number in each
        ]
        test = promotion.sequential_test(update, role)
        ours, theirs = [each for each, _ in both], [each for _, each in both]
        update.lifecycle.tests[role] = test.update_many(ours, theirs)


def promote(update: ModelUpdate, work: Work) -> None:
    """Give the roles that the evidence asks for."""
    del work
    shadow, alpha = update.shadow, update.settings.compare.alpha
    champion, previous, challenger = map(shadow.in_role, (CHAMPION, PREVIOUS, CHALLENGER))
    if champion is None:
        return
    back = promotion.sequential_test(update, PREVIOUS)
    if previous is not None and back.decision(alpha) == "challenger":
        what = f"{promotion.evidence_of(back, PREVIOUS)}: {previous.number} is champion again"
        shadow.change_role(champion, RETIRED, update.at, ROLLED_BACK, what)
        shadow.change_role(previous, CHAMPION, update.at, CHAMPION, what)
        update.incident(ROLLED_BACK, f"champion {champion.number}", what)
        update.lifecycle.tests, update.lifecycle.by_hand = {}, None
        return
    if challenger is None:
        return
    test = promotion.sequential_test(update, CHALLENGER)
    decision = test.decision(alpha)
    if decision == "challenger":
        what = f"{promotion.evidence_of(test, CHALLENGER)}: {challenger.number} is champion now"
        if previous is not None:
            shadow.change_role(previous, RETIRED, update.at, RETIRED, "two champions ago")
        shadow.change_role(champion, PREVIOUS, update.at, PREVIOUS, what)
        shadow.change_role(challenger, CHAMPION, update.at, CHAMPION, what)
        update.lifecycle.tests, update.lifecycle.by_hand = {}, None
    elif decision == "champion":
        what = promotion.evidence_of(test, CHALLENGER, side="champion")
        shadow.change_role(challenger, RETIRED, update.at, RETIRED, what)
        del update.lifecycle.tests[CHALLENGER]


def publish(update: ModelUpdate, uri: str, flow_run: str = "") -> None:
    """Publish each role as a version, and a run of the days, in the MLflow store at `uri`."""
    publication.publish(uri, update, update.now, flow_run=flow_run)


def notify(update: ModelUpdate) -> list[Receipt]:
    """Send what is in the outbox, and remove what was delivered."""
    return send(update.state, update.settings.alerts)


def commit(update: ModelUpdate, work: Work) -> None:
    """Write what the batch brought; `conclude` writes the rest, in the same transaction."""
    changes, today = work.changes, update.now.date()
    changes.posted = work.batch.posted
    changes.window = update.settings.retrain.window
    remembered = max(REMEMBERED, 3 * update.settings.data.label_delay)
    if update.settings.retention is None:  # else `close` deletes, and records it
        changes.served_horizon = (today - remembered).isoformat()
    days = [date.fromisoformat(row.day) for row in work.rows.new]
    days = [day for day in days if day <= today + AHEAD]  # one of the year 2099 forgets no other
    if days and changes.served_horizon and update.settings.data.time is not None:
        changes.horizon = (max(days) - remembered).isoformat()
    update.state.commit(changes)


def conclude(update: ModelUpdate) -> None:
    """Write what batches changed since the last time: models, lifecycle, and notifications."""
    changes = Changes(update.at)
    update.shadow.write_to(changes)
    update.record(changes)
    update.state.commit(changes)


def close(update: ModelUpdate) -> None:
    """Report what did not come; write what the end of the update found, and what is over."""
    validation.report_late_labels(update)
    validation.report_stale_rows(update)
    update.lifecycle.last_update, update.lifecycle.rejected_batches = update.moment, update.held
    changes = Changes(at=update.at)
    with update.state.transaction():
        expire(update)
        update.shadow.write_to(changes)
        update.record(changes, ends=True)
        update.state.commit(changes)
