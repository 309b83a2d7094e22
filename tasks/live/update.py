"""Update of a live model: its steps, in their order, and its transactions.

=================  ====================================================================
`ingest`           read the batches that are pending
`validate`         check a batch against the contract; predict its new rows
`join_labels`      join labels with the predictions of their rows; make the first champion
`monitor`          compare its days with the days before: alarms, drift
`train`            have candidates learn labelled rows; make a challenger when one is due
`evaluate`         compare the champion with its rivals on the rows that all have predicted
`promote`          give the roles that the evidence asks for
`publish`          register each new candidate, and log the days of those that have a role
`notify`           send the notifications of incidents
=================  ====================================================================

The steps from `validate` to `promote` take the `Work` on a batch and add to it. What a group of
batches changes is written when the last of its steps is over, in one transaction; what touches the
outside comes after it. So an update that was killed anywhere is completed by the next one.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any

import pandas as pd

from leaseboard.algorithms.errors import DataError, LeaseboardError
from leaseboard.algorithms.sequential_test import SequentialTest
from leaseboard.algorithms.tables.values import text_of
from leaseboard.tasks.live import candidates, incidents, monitoring, rows, validation
from leaseboard.tasks.live.candidates import CHALLENGER, CHAMPION, PREVIOUS, RETIRED, ROLLED_BACK
from leaseboard.tasks.live.contract import UNDECIDED, Contract
from leaseboard.tasks.live.contract_check import AHEAD, check, first_kinds, with_absent
from leaseboard.tasks.live.erasure import expire
from leaseboard.tasks.live.incidents import LAST_UPDATE, Incident
from leaseboard.tasks.live.lifecycle import LifecycleState
from leaseboard.tasks.live.model import LiveModel, status_command
from leaseboard.tasks.live.page import build
from leaseboard.tasks.live.publication import publish
from leaseboard.tasks.live.record import DECIDED, ModelRecord, by_day, losses_of
from leaseboard.tasks.live.rows import Batch
from leaseboard.tasks.live.settings import LiveSettings
from leaseboard.tasks.live.sources import pending
from leaseboard.tasks.live.work import Conduct, Step, UpdateResult, Work, in_words
from leaseboard.tasks.machine.failpoints import reach
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import (
    BatchEntry,
    Changes,
    HistoryEntry,
    digest_of,
)

BEHIND = timedelta(minutes=5)
"""How far a clock may be behind the last update's before it is reported."""
UNCHANGED = 86_400.0
"""Seconds before an update for which a file must be unchanged not to be read in the next one: the
clocks of machines differ by less."""
TOGETHER = 500
"""Rows that are ingested in one transaction, about: a server that predicts meanwhile waits for the
database for a second at most."""
LEAST_WEIGHT = 10
"""Rows that a file counts as in `TOGETHER`, at least."""
UNCLAIMED = timedelta(days=7)
"""How long a label that was posted waits for its row to come: it may be in tomorrow's file."""
REMEMBERED = timedelta(days=90)
"""How long the identity of a row is known after its day; without days, without an end."""
BRIER = 2.0
"""The largest difference of two Brier scores."""
_CLASSES = {1.0: "True", 0.0: "False"}
"""The classes of a flag that is predicted; a missing one stays missing."""


class Update:
    """Update of a live model while it is running, at a moment; the caller holds its lock.

    - `page`: the address of the page, for notifications.

    Raises UsageError if FILE.yaml or the contract is not that of the state any more.
    """

    def __init__(self, live: LiveModel, now: datetime, page: str = "") -> None:
        self.live, self.now, self.page = live, now, page
        self.settings, self.state, self.recipe = live.settings, live.state, live.recipe
        self.found: list[Incident] = []
        """What is wrong, so far in this update."""
        self.recorded = 0
        """How many of these are in the state, or in changes that are about to be written."""
        self.held: dict[str, list[Incident]] = {}
        """Why batches were rejected in this update, by their names."""
        incidents.check_addresses(self.settings.alerts)
        self.lifecycle = LifecycleState.read(self.state.lifecycle())
        live.serve_purpose(self.lifecycle)
        self._take_up(live.contract)
        self._set_clock()
        before = self.state.last_update()
        if before is not None and before["ended"] is None:
            what = f"the update of {before['began'][:16]} did not end: what it had not finished is"
            self.incident(*LAST_UPDATE, f"{what} done again")

    def _take_up(self, contract: Contract) -> None:
        """Take up the candidates as the state has them."""
        self.contract = contract
        self.shadow = replace(self.live, contract=contract).shadow()

    def _set_clock(self) -> None:
        """Report a clock that has gone back, and follow it."""
        last, now = self.lifecycle.last_update, self.now
        if last is None or now >= last - BEHIND:
            return
        what = f"its clock says {now:%Y-%m-%d %H:%M} UTC, and the last update was at"
        self.incident("clock", "this machine", f"{what} {last:%Y-%m-%d %H:%M}: set it")
        self.lifecycle.cases = [
            replace(
                each, seen=min(each.seen, now), resolved=each.resolved and min(each.resolved, now)
            )
            for each in self.lifecycle.cases
        ]
        if self.lifecycle.challenger_since is not None:
            self.lifecycle.challenger_since = min(self.lifecycle.challenger_since, now)

    @property
    def moment(self) -> datetime:
        """The present time in whole seconds, as in the state."""
        return self.now.replace(microsecond=0)

    @property
    def at(self) -> str:
        """The moment as text."""
        return self.moment.isoformat()

    @property
    def last_day(self) -> str:
        """Days after this one are far ahead: their rows wait, and are not monitored or shown."""
        return (self.now + AHEAD).date().isoformat()

    def incident(self, kind: str, subject: str, what: str) -> None:
        """Report that something is wrong, as of now."""
        command = status_command(self.settings, self.live.file)
        self.found.append(Incident(kind, subject, " ".join(what.split()), self.now, command))

    def run(self, conduct: Conduct, home: Path, tracking_uri: str | None = None) -> UpdateResult:
        """Ingest all batches that are pending, publish, and notify of what was found.

        - `home`: the folder of the page.
        - `tracking_uri`: the MLflow store; None: nothing is published.
        """
        make, result, groups = conduct.make, UpdateResult(), self.ingest()
        steps = {
            "validate": self.validate, "join labels": self.join_labels, "monitor": self.monitor,
            "train": self.train, "evaluate": self.evaluate, "promote": self.promote,
        }  # fmt: skip
        # A task for each step of many small files would take longer than the steps.
        plain, tasks = list(steps.values()), [make(name, step) for name, step in steps.items()]
        many = make("ingest batches", partial(self.ingest_group, plain, conduct.say))
        one = partial(self.ingest_group, tasks, conduct.say)
        read = make("ingest", lambda: next(groups, None))
        while (group := read()) is not None:
            for counts in (many if len(group) > 1 else one)(group):
                result.batches += counts is not None
                result.rejected += counts is None
                for name, count in (counts or {}).items():
                    result.counts[name] = result.counts.get(name, 0) + count
        if any(self.lifecycle.unmonitored.values()):
            rest = Work(Batch("", ""), Changes(self.at))
            make("monitor", lambda: monitoring.monitor(self, rest, rest=True))()
            if rest.drift:
                self.train(rest)
            self.conclude()
        if tracking_uri is not None:
            try:
                make("publish", self.publish)(tracking_uri, conduct.flow_run)
            except LeaseboardError as error:  # the state has it all: the next update publishes it
                self.incident("publish", "MLflow", str(error))
        self.close()
        reach("live.after-close")
        build(ModelRecord(self.settings, self.state, self.now), home)
        for line in incidents.undelivered(make("notify", self.notify)()):
            conduct.say(f"leaseboard: {line}", err=True)
        result.incidents = [each.incident for each in self.lifecycle.cases if each.is_open]
        return result

    def ingest(self) -> Iterator[list[Batch]]:
        """Read all pending batches, small ones in groups: a transaction a row takes an hour."""
        if (posted := self._posted_labels()) is not None:
            yield [posted]
        group, weight = list[Batch](), 0
        data, began = self.settings.data, time.time()
        source, read = self.lifecycle.files_read or ("", 0.0)
        since = read - UNCHANGED if source == data.source else 0.0
        again, texts = self.lifecycle.rejected_batches, lambda: self.contract.texts
        for batch in pending(data, self.state, texts=texts, since=since, again=again):
            group.append(batch)
            weight += LEAST_WEIGHT if batch.frame is None else max(LEAST_WEIGHT, len(batch.frame))
            is_undecided = UNDECIDED in {each.kind for each in self.contract.columns.values()}
            if weight >= TOGETHER or batch.watermark is not None or is_undecided:
                yield group
                group, weight = [], 0
        if group:
            yield group
        self.lifecycle.files_read = data.source, began
        # Labels may have waited for rows that have just come; those of rejected batches wait on.
        again = self._posted_labels()
        if again is not None and (posted is None or not set(again.posted) & set(posted.posted)):
            yield [again]

    def _posted_labels(self) -> Batch | None:
        """Return the labels that were posted to the server, as a batch of ids and labels."""
        data, before = self.settings.data, self.now.astimezone(UTC) - UNCLAIMED
        posted = self.state.posted(before.isoformat(timespec="seconds")) if data.id else []
        if not posted:
            return None
        numbers, ids, labels = zip(*posted, strict=True)
        frame = pd.DataFrame({data.id: ids, data.target: [json.loads(label) for label in labels]})
        digest = hashlib.sha256(f"posted {numbers}".encode()).hexdigest()
        return Batch(f"labels posted up to {max(numbers)}", digest, frame, posted=numbers)

    def ingest_group(
        self, steps: Sequence[Step], say: Callable[..., None], group: Sequence[Batch]
    ) -> list[dict[str, int] | None]:
        """Ingest batches one after the other, all in one transaction; after an error one by one.

        Returns what each brought; None if it was rejected. Raises the error of the first batch
        that cannot be ingested, when the others are.
        """
        validate, *others = steps
        brought, known, recorded = list[dict[str, int] | None](), len(self.found), self.recorded
        lifecycle, contract = deepcopy(self.lifecycle), self.contract
        try:
            with self.state.transaction():
                for batch in group:
                    before = len(self.found)
                    work = validate(batch)
                    if work is None:
                        self.held[batch.name] = self.found[before:]
                        brought.append(None)
                        continue
                    for step in others:
                        step(work)
                    self.commit(work)
                    brought.append(work.rows.counts())
                self.conclude()
        except Exception:
            self.found[known:], self.recorded, self.lifecycle = [], recorded, lifecycle
            self._take_up(contract)
            if len(group) == 1:
                raise
            brought, errors = [], list[Exception]()
            for one in group:
                try:
                    brought += self.ingest_group(steps, say, [one])
                except Exception as error:  # noqa: BLE001  (raised when the others are ingested)
                    errors.append(error)
            if errors:
                raise errors[0] from None
            return brought
        for batch, counts in zip(group, brought, strict=True):
            name, why = batch.name, self.held.get(batch.name, [])
            say(f"rejected: {why[-1].what}" if counts is None else f"{name}: {in_words(counts)}")
        reach("live.after-batch")
        return brought

    def validate(self, batch: Batch) -> Work | None:
        """Check a batch against the contract; None, with an incident, if it must be rejected.

        Its rows are sorted into new ones, labels of earlier ones, repeats, and quarantined ones.
        All candidates that predict do so for the new ones.
        """
        if batch.frame is None:
            self.incident("broken file", batch.name, batch.fault)
            return None
        data, frame, lifecycle = self.settings.data, batch.frame, self.lifecycle
        if not len(frame) and (why := lifecycle.rejected_batches.get(batch.name)):
            for each in why:  # a header without rows fixes nothing: the missing data have not come
                self.incident(*each)
            return None
        work, alone = Work(batch, Changes(at=self.at)), rows.is_labels_alone(frame, data)
        contract = self.contract.of_labels(data) if alone else self.contract
        held = check(contract, frame, now=self.now)
        if not held.breaks and self._decide(frame, batch.name):
            contract = self.contract
            held = check(contract, frame, now=self.now)
        if held.breaks:  # what else is odd is reported when the batch is ingested
            validation.report_remarks(self, "contract", batch.name, held.breaks)
            return None
        validation.report_batch(self, batch, held)
        broken = [(each, rows.values_in(frame.iloc[[each.position]])[0])
                  for each in held.quarantined]  # fmt: skip
        frame = held.rows
        if not alone:
            features = [name for name in contract.columns if name not in (data.target, data.id)]
            frame = with_absent(contract, frame, features)
        if contract.columns[data.target].kind == "flag" and data.target in frame:
            frame = frame.assign(**{data.target: frame[data.target].map(_CLASSES)})
        try:
            ids = list(rows.identify(frame.assign(**held.moments), data))
        except DataError as error:
            self.incident("broken file", batch.name, f"{batch.name}: {error}")
            return None
        times, zone = held.moments.get(data.time or ""), self.contract.rows.zone
        erased, count = self.state.erased(), len(ids)
        if erased:
            is_left = [digest_of(each.encode()) not in erased for each in ids]
            frame, ids = frame[is_left], list(compress(ids, is_left))
            times = None if times is None else times[is_left]
        known = self.state.rows_of(list(dict.fromkeys(ids)))
        local = None if times is None else times.dt.tz_localize("UTC").dt.tz_convert(zone)
        found = work.rows = rows.sort_rows(
            frame, ids, known, data, self.at[:10], self.state.forgotten(), local
        )
        found.erased = count - len(ids)
        if not batch.posted:  # labels that were posted have waited already
            said_at = self.now.astimezone(UTC).isoformat(timespec="seconds")
            work.changes.early = [(each, said_at, label) for each, label in found.take_early()]
        validation.report_ids(self, batch, found, len(ids))
        validation.report_repeats(self, batch, found, len(ids))
        found.quarantined += [
            (identity, each.reason, rows.to_json(row))
            for each, row in broken
            if digest_of((identity := text_of(row.get(data.id or "", ""))).encode()) not in erased
        ]
        validation.report_new_categories(self, batch, frame)
        found.new = self.shadow.predict(found.new)
        if times is not None:
            there = times[times <= self.now.astimezone(UTC).replace(tzinfo=None) + AHEAD].max()
            if not pd.isna(there):
                newest = there.floor("us").to_pydatetime()
                lifecycle.newest_row = max(newest, lifecycle.newest_row or newest)
        work.changes.batch = BatchEntry(batch.name, batch.digest, found.counts(), batch.watermark)
        return work

    def _decide(self, frame: pd.DataFrame, batch: str) -> bool:
        """Decide the kinds of undecided columns that have their first values; True for any."""
        kinds = first_kinds(self.contract, frame)
        if not kinds or self.lifecycle.made_for is None:
            return False
        self.contract = self.contract.with_kinds(kinds)
        self.lifecycle.made_for.columns.update(kinds)
        self.shadow.dates = self.contract.dates
        self.shadow.record_history(
            HistoryEntry(self.at, DECIDED, name, f"column {name!r} is a {kind} since {batch}")
            for name, kind in kinds.items()
        )
        return True

    def join_labels(self, work: Work) -> None:
        """Join labels with the predictions of their rows; make the first champion if none is."""
        work.labelled = work.rows.labelled + [row for row in work.rows.new if row.is_labelled]
        if self.shadow.in_role(CHAMPION) is None:
            candidates.make_first_champion(self, work)
        work.losses = losses_of(work.labelled)
        work.changes.days = by_day(work.labelled, work.losses)
        work.changes.rows = work.rows.new
        work.changes.labels = [(row.number, row.label or "") for row in work.rows.labelled]
        work.changes.quarantined = work.rows.quarantined

    def monitor(self, work: Work) -> None:
        """Compare the days of the batch with the days before."""
        monitoring.monitor(self, work)

    def train(self, work: Work) -> None:
        """Train candidates on labelled rows; make a challenger when one is due."""
        champion = self.shadow.in_role(CHAMPION)
        if champion is None or work.made_champion:
            return
        self.shadow.learn(candidates.rows_to_learn(self, work))
        why = candidates.why_due(self, work)
        if why:
            candidates.make_challenger(self, work, champion, why)

    def evaluate(self, work: Work) -> None:
        """Compare the champion with its rivals on the rows whose label has come."""
        champion = self.shadow.in_role(CHAMPION)
        for role in (CHALLENGER, PREVIOUS):
            rival = self.shadow.in_role(role)
            if champion is None or rival is None:
                continue
            both = [
                (each[champion.number]["loss"], each[rival.number]["loss"])
                for each in work.losses
                if champion.number in each and rival.number in each
            ]
            ours, theirs = [each for each, _ in both], [each for _, each in both]
            self.lifecycle.tests[role] = self.test_of(role).update_many(ours, theirs)

    def test_of(self, role: str) -> SequentialTest:
        """Return the champion's test against who has `role`; a new one if it has not begun.

        Against the one before, its evidence may begin at any row: a good reign may end badly.
        """
        bound = None if self.recipe.task == "regression" else BRIER
        known = self.lifecycle.tests.get(role)
        return known or SequentialTest(bound=bound, restarts=role == PREVIOUS)

    def promote(self, _: Work | None = None) -> None:
        """Give the roles that the evidence asks for."""
        shadow, alpha = self.shadow, self.settings.compare.alpha
        champion, previous, challenger = map(shadow.in_role, (CHAMPION, PREVIOUS, CHALLENGER))
        back, test = self.test_of(PREVIOUS), self.test_of(CHALLENGER)
        if champion is None:
            return
        if previous is not None and back.decision(alpha) == "challenger":
            what = f"{_evidence(back, PREVIOUS)}: {previous.number} is champion again"
            shadow.roll_back(self.at, what, RETIRED)
            self.incident(ROLLED_BACK, f"champion {champion.number}", what)
            self.lifecycle.tests, self.lifecycle.by_hand = {}, None
        elif challenger is not None and test.decision(alpha) == "challenger":
            what = f"{_evidence(test, CHALLENGER)}: {challenger.number} is champion now"
            shadow.promote(self.at, what)
            self.lifecycle.tests, self.lifecycle.by_hand = {}, None
        elif challenger is not None and test.decision(alpha) == "champion":
            what = _evidence(test, CHAMPION)
            shadow.change_role(challenger, RETIRED, self.at, RETIRED, what)
            del self.lifecycle.tests[CHALLENGER]

    def publish(self, uri: str, flow_run: str) -> None:
        """Publish the candidates that have a role, and their days."""
        publish(uri, replace(self.live, contract=self.contract), self.now, flow_run=flow_run)

    def notify(self) -> list[incidents.Receipt]:
        """Send what is in the outbox, and remove what was delivered."""
        return incidents.send(self.state, self.settings.alerts)

    def commit(self, work: Work) -> None:
        """Write what the batch brought; `conclude` writes the rest, in the same transaction."""
        changes, today = work.changes, self.now.date()
        changes.posted = work.batch.posted
        changes.window = self.settings.retrain.window
        remembered = max(REMEMBERED, 3 * self.settings.data.label_delay)
        if self.settings.retention is None:  # else `close` deletes, and records it
            changes.served_horizon = (today - remembered).isoformat()
        days = [date.fromisoformat(row.day) for row in work.rows.new]
        days = [day for day in days if day <= today + AHEAD]  # one of 2099 forgets no other
        if days and changes.served_horizon and self.settings.data.time is not None:
            changes.horizon = (max(days) - remembered).isoformat()
        self.state.commit(changes)

    def conclude(self, *, ends: bool = False) -> None:
        """Write what batches changed since the last time: models, lifecycle, and notifications.

        What a batch makes true is so written in one transaction with its incidents: an update that
        is killed after it has nothing to find again.

        - `ends`: the update does, so that incidents which it did not find may be over.
        """
        changes = Changes(self.at)
        self.shadow.write_to(changes)
        new, self.recorded = self.found[self.recorded :], len(self.found)
        still = {each.key for each in self.found} if ends else None
        settings, page = self.settings, self.page
        incidents.record(changes, self.lifecycle, new, still, settings, self.now, page)
        changes.lifecycle = self.lifecycle.dump()
        self.state.commit(changes)

    def close(self) -> None:
        """Report what did not come; write what the end of the update found, and what is over."""
        validation.report_late_labels(self)
        validation.report_stale_rows(self)
        self.lifecycle.last_update = self.moment
        self.lifecycle.rejected_batches = {
            name: [(each.kind, each.subject, each.what) for each in why]
            for name, why in self.held.items()
        }
        with self.state.transaction():
            expire(self)
            self.conclude(ends=True)


def _evidence(test: SequentialTest, better: str) -> str:
    """Return the evidence of a test for the champion, or for its rival in another role."""
    side = "champion" if better == CHAMPION else "challenger"
    return f"the {better} is better: evidence {test.e_value(side):.3g} after {test.rows} labels"


def open_update(
    settings: LiveSettings, state: State, now: datetime, page: str = "", **given: Any
) -> Update:
    """Return an update at `now`, once the live model is locked; see `LiveModel.read`."""
    return Update(LiveModel.read(settings, state, **given), now, page)
