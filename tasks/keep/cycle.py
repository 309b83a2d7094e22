"""The cycle of a live model: its nine steps, in their order.

=================  ====================================================================
`ingest`           read the batches that are pending
`validate`         hold a batch against the contract; forecast its new rows
`join_labels`      let labels meet the forecasts of their rows; make the first champion
`monitor`          compare its days with the days before: alarms, drift
`train`            have models learn what was settled; make a challenger when one is due
`evaluate`         compare the champion with its rivals on the rows that all have forecast
`promote`          give the roles that the evidence asks for
`publish`          have the registry hold each role as it is now
`notify`           send the messages about incidents
=================  ====================================================================

The steps from `validate` to `promote` take the `Work` on a batch and add to it; nothing is written
until `commit` and `conclude`. `leaseboard.flows.keep` calls them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, date, timedelta

import pandas as pd

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.keep import monitoring, promotion, publication, rows, training, validation
from leaseboard.tasks.keep.conform import AHEAD, check, with_absent
from leaseboard.tasks.keep.lifecycle import EvidencePoint
from leaseboard.tasks.keep.monitoring import INPUTS, OUTCOMES
from leaseboard.tasks.keep.notification import Receipt, addresses_of, send
from leaseboard.tasks.keep.rows import Batch
from leaseboard.tasks.keep.shadow import (
    CHALLENGER,
    CHAMPION,
    PREVIOUS,
    RETIRED,
    by_day,
    losses_of,
)
from leaseboard.tasks.keep.sources import pending
from leaseboard.tasks.keep.update import ModelUpdate, Work
from leaseboard.tasks.store.live_tables import Changes, Happened, TakenIn

TOGETHER, LEAST_WEIGHT = 500, 10
"""Rows that are taken in in one transaction, about, and as how many a file counts at least: so the
database of a server that is asked meanwhile is busy for a second at most."""
UNCLAIMED = timedelta(days=7)
"""How long a label that was posted waits for its row to come: it may be in tomorrow's file."""
REMEMBERED = timedelta(days=90)
"""How long the identity of a row is known after its day; without days, without an end."""
MOST_EVIDENCE = 400
"""Batches whose evidence is remembered: the last."""
_CLASSES = {1.0: "True", 0.0: "False"}
"""What flags are called where they are forecast; a missing one stays missing."""


def ingest(update: ModelUpdate) -> Iterator[list[Batch]]:
    """Read all pending batches, small ones in groups: a transaction a row would take an hour."""
    if (posted := _posted_labels(update)) is not None:
        yield [posted]
    group, weight = list[Batch](), 0
    for batch in pending(update.keep.data, update.state, texts=update.contract.texts):
        group.append(batch)
        weight += LEAST_WEIGHT if batch.frame is None else max(LEAST_WEIGHT, len(batch.frame))
        if weight >= TOGETHER or batch.watermark is not None:
            yield group
            group, weight = [], 0
    if group:
        yield group
    # Labels may have waited for rows that have come just now; those that were held back wait on.
    again = _posted_labels(update)
    if again is not None and (posted is None or not set(again.posted) & set(posted.posted)):
        yield [again]


def _posted_labels(update: ModelUpdate) -> Batch | None:
    """The labels that were posted to the server, as a batch of ids and labels."""
    data, before = update.keep.data, update.now.astimezone(UTC) - UNCLAIMED
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
    """Hold a batch against the contract; None, with an incident, if it must not be taken in.

    Its rows are sorted into new ones, labels of earlier ones, repeats, and those that are set
    aside. All that forecast do so for the new ones.
    """
    if batch.frame is None:
        update.incident("broken file", batch.name, batch.fault)
        return None
    data, frame = update.keep.data, batch.frame
    if not len(frame) and (why := update.lifecycle.held_back.get(batch.name)):
        for each in why:  # a header without rows is no fix: what was to come has not come
            update.incident(*each)
        return None
    work, alone = Work(batch, Changes(at=update.at)), rows.is_labels_alone(frame, data)
    contract = update.contract.of_labels(data) if alone else update.contract
    held = check(contract, frame, now=update.now)
    if held.breaks:  # what else is odd is reported when the batch is taken in
        validation.report_remarks(update, "contract", batch.name, held.breaks)
        return None
    validation.report_batch(update, batch, held)
    aside = [(each, rows.values_in(frame.iloc[[each.position]])[0]) for each in held.aside]
    frame = held.rows
    if not alone:
        features = [each.name for each in rows.features_of(update.contract, data)]
        frame = with_absent(update.contract, frame, features)
    if contract.columns[data.target].kind == "flag" and data.target in frame:
        frame = frame.assign(**{data.target: frame[data.target].map(_CLASSES)})
    try:
        ids = list(rows.identify(frame.assign(**held.moments), data))
    except DataError as error:
        update.incident("broken file", batch.name, f"{batch.name}: {error}")
        return None
    known = update.state.rows_of(list(dict.fromkeys(ids)))
    times, zone = held.moments.get(data.time or ""), update.contract.rows.zone
    local = None if times is None else times.dt.tz_localize("UTC").dt.tz_convert(zone)
    work.taken = rows.sort_rows(
        frame, ids, known, data, update.at[:10], update.state.forgotten(), local
    )
    if not batch.posted:  # labels that were posted have waited already
        said_at = update.now.astimezone(UTC).isoformat(timespec="seconds")
        early = work.taken.may_wait()
        work.changes.early = [(identity, said_at, label) for identity, label in early]
    validation.report_ids(update, batch, work.taken, len(ids))
    validation.report_repeats(update, batch, work.taken, len(ids))
    work.taken.aside += [
        (str(row.get(data.id or "", "")), each.reason, rows.packed(row)) for each, row in aside
    ]
    validation.report_new_categories(update, batch, frame)
    work.taken.new = update.shadow.forecast(work.taken.new)
    if times is not None:
        there = times[times <= update.now.astimezone(UTC).replace(tzinfo=None) + AHEAD].max()
        if not pd.isna(there):
            newest = there.floor("us").to_pydatetime()
            update.lifecycle.newest_row = max(newest, update.lifecycle.newest_row or newest)
    work.changes.batch = TakenIn(batch.name, batch.digest, work.taken.counts(), batch.watermark)
    return work


def join_labels(update: ModelUpdate, work: Work) -> None:
    """Let labels meet the forecasts of their rows; make the first champion if there is none."""
    work.settled = work.taken.labelled + [row for row in work.taken.new if row.is_settled]
    if update.shadow.of_role(CHAMPION) is None:
        training.make_first_champion(update, work)
    work.losses = losses_of(work.settled)
    work.changes.days = by_day(work.settled, work.losses)
    work.changes.rows = work.taken.new
    work.changes.labels = [(row.number, row.label or "") for row in work.taken.labelled]
    work.changes.aside = work.taken.aside


def monitor(update: ModelUpdate, work: Work, *, rest: bool = False) -> None:
    """Compare the days of new rows, and those of new labels, with the days before.

    A day is one point, in however many batches it comes: what came of it before is read from the
    state, and the day is judged again as it is now.

    - `rest`: judge all days that have grown at all since they were judged last.
    """
    champion = update.shadow.of_role(CHAMPION)
    if champion is None:
        return
    monitored, number = update.lifecycle.monitored, str(champion.number)
    for day in {row.day for row in work.settled}:
        rows_of_day, was_alarming = monitored.outcomes.last(day)
        if rows_of_day:
            work.doubtful[day] = was_alarming
    inputs = list(monitoring.days_of(update, work.taken.new, number, INPUTS, rest=rest))
    outcomes = list(monitoring.days_of(update, work.settled, number, OUTCOMES, rest=rest))
    for day, group, told in inputs:
        points = pd.Series([monitoring.likeliest(each) for each in told])
        seen = monitored.observe(day, monitoring.features_of(update, group), points)
        monitoring.raise_alarm(update, work, INPUTS, day, seen.alarms)
    for day, group, told in outcomes:
        labels = [rows.label_of(row) for row in group]
        losses = [
            monitoring.loss_of(each, label) for each, label in zip(told, labels, strict=True)
        ]
        forecasts: pd.Series | pd.DataFrame = pd.Series(
            [monitoring.likeliest(each) for each in told]
        )
        if isinstance(told[0], Mapping):
            labels, forecasts = [str(label) for label in labels], pd.DataFrame(told).fillna(0.0)
        seen = monitored.settle(day, pd.Series(labels), forecasts, pd.Series(losses))
        if work.has_begun:  # the past, which the first champion has learned just now
            continue
        monitoring.raise_alarm(update, work, OUTCOMES, day, seen.alarms or seen.worse)
        work.doubtful[day] = bool(seen.alarms)
        work.drift += tuple(each.what for each in seen.drift)
        update.shadow.tell(
            Happened(update.at, "drift", each.series, each.what) for each in seen.drift
        )


def train(update: ModelUpdate, work: Work) -> None:
    """Have models learn what was settled; make a challenger when one is due."""
    champion = update.shadow.of_role(CHAMPION)
    if champion is None or work.has_begun:
        return
    update.shadow.learn(training.rows_to_learn(update, work))
    why = training.why_due(update, work)
    if why and update.keep.compare.shadow:
        training.make_challenger(update, work, champion, why)


def evaluate(update: ModelUpdate, work: Work) -> None:
    """Compare the champion with its rivals on the rows that were settled."""
    champion, lifecycle = update.shadow.of_role(CHAMPION), update.lifecycle
    if champion is None:
        return
    for role in (CHALLENGER, PREVIOUS):
        rival = update.shadow.of_role(role)
        if rival is None:
            continue
        ours, theirs = promotion.paired_losses(work, champion, rival)
        after = lifecycle.duels[role] = promotion.duel_of(update, role).update_many(ours, theirs)
        if role == CHALLENGER and ours:
            point = EvidencePoint(update.at, after.log_e("challenger"), after.log_e("champion"))
            lifecycle.evidence = [*lifecycle.evidence, point][-MOST_EVIDENCE:]


def promote(update: ModelUpdate, work: Work) -> None:
    """Give the roles that the evidence asks for."""
    del work
    shadow, alpha = update.shadow, update.keep.compare.alpha
    champion, previous = shadow.of_role(CHAMPION), shadow.of_role(PREVIOUS)
    challenger = shadow.of_role(CHALLENGER)
    if champion is None:
        return
    if (
        previous is not None
        and promotion.duel_of(update, PREVIOUS).decision(alpha) == "challenger"
    ):
        what = f"{promotion.evidence_of(update, PREVIOUS)}: {previous.number} is champion again"
        shadow.move(champion, RETIRED, update.at, "rolled back", what)
        shadow.move(previous, CHAMPION, update.at, "champion", what)
        update.incident("rolled back", f"champion {champion.number}", what)
        update.lifecycle.duels = {}
        return
    if challenger is None:
        return
    decision = promotion.duel_of(update, CHALLENGER).decision(alpha)
    if decision == "challenger":
        what = f"{promotion.evidence_of(update, CHALLENGER)}: {challenger.number} takes the place"
        if previous is not None:
            shadow.move(previous, RETIRED, update.at, "retired", "two champions ago")
        shadow.move(champion, PREVIOUS, update.at, "previous", what)
        shadow.move(challenger, CHAMPION, update.at, "champion", what)
        update.lifecycle.duels = {}
    elif decision == "champion":
        what = promotion.evidence_of(update, CHALLENGER, side="champion")
        shadow.move(challenger, RETIRED, update.at, "retired", what)
        del update.lifecycle.duels[CHALLENGER]


def publish(update: ModelUpdate, uri: str, flow_run: str = "") -> None:
    """Have the MLflow store at `uri` hold each role as a model version, and a run of each day."""
    assert update.file is not None
    kept = publication.Publishable(
        update.keep, update.file, update.contract, update.shadow.recipe, update.state
    )
    versions = publication.publish(uri, kept, flow_run=flow_run)
    publication.log_days(uri, kept, versions, update.now, flow_run=flow_run)


def notify(update: ModelUpdate) -> list[Receipt]:
    """Send what is in the outbox, and strike out what was taken."""
    return send(update.state, addresses_of(update.keep))


def commit(update: ModelUpdate, work: Work) -> None:
    """Write what the batch brought; `conclude` writes the rest, in the same transaction."""
    work.changes.posted = work.batch.posted
    work.changes.window = update.keep.retrain.window
    remembered, today = max(REMEMBERED, 3 * update.keep.data.label_delay), update.now.date()
    work.changes.served_horizon = (today - remembered).isoformat()
    days = [date.fromisoformat(row.day) for row in work.taken.new]
    days = [day for day in days if day <= today + AHEAD]  # one of the year 2099 forgets no other
    if days and update.keep.data.time is not None:
        work.changes.horizon = (max(days) - remembered).isoformat()
    update.state.commit(work.changes)


def conclude(update: ModelUpdate) -> None:
    """Write what came of the batches since the last time: models, lifecycle, and messages."""
    changes = Changes(update.at)
    update.shadow.put_into(changes)
    update.record(changes)
    update.state.commit(changes)


def close(update: ModelUpdate) -> None:
    """Report what did not come; write what the end of the update found, and what is over."""
    validation.report_late_labels(update)
    validation.report_stale_rows(update)
    update.lifecycle.last_update, update.lifecycle.held_back = update.moment, update.held
    changes = Changes(at=update.at)
    update.record(changes, ends=True)
    update.state.commit(changes)
