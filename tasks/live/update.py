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

The steps from `validate` to `promote` take the `Work` on a batch and add to it. What a batch
changes is written when the last of its steps is over, in one transaction; what touches the outside
comes after it. So an update that was killed anywhere is completed by the next one.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.algorithms.sequential_test import SequentialTest
from leaseboard.algorithms.tables.values import text_of
from leaseboard.tasks.live import candidates, incidents, monitoring, record, rows
from leaseboard.tasks.live.candidates import CHALLENGER, CHAMPION, PREVIOUS, RETIRED, ROLLED_BACK
from leaseboard.tasks.live.contract_check import AHEAD, check, first_kinds
from leaseboard.tasks.live.incidents import LAST_UPDATE, Incident, LifecycleState
from leaseboard.tasks.live.model import LiveModel, status_command
from leaseboard.tasks.live.page import build
from leaseboard.tasks.live.rows import Batch, pending
from leaseboard.tasks.live.settings import in_words as duration_in_words
from leaseboard.tasks.machine.disk import reach
from leaseboard.tasks.store.live_tables import Changes, StoredRow, digest_of

UNCLAIMED = timedelta(days=7)
"""How long a label waits for its row to come: it may be in tomorrow's file."""
REMEMBERED = timedelta(days=90)
"""How long the identity of a row is known after its day; without days, without an end."""
BRIER = 2.0
"""The largest difference of two Brier scores."""
_CLASSES = {1.0: "True", 0.0: "False"}
"""The classes of a flag that is predicted; a missing one stays missing."""


Step = Callable[..., Any]


@dataclass(frozen=True)
class Conduct:
    """How an update is carried out: each step plainly, or as the task of a flow run.

    - `say`: prints a line; on standard error if its argument `err` is true.
    - `make`: returns a function that carries out another one as the step of a given name.
    - `flow_run`: the identifier of the flow run, if there is one.
    """

    say: Callable[..., None]
    make: Callable[[str, Step], Step] = lambda _, step: step
    flow_run: str = ""


@dataclass
class UpdateResult:
    """Outcome of an update."""

    batches: int = 0
    rejected: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    incidents: list[Incident] = field(default_factory=list)
    """Those that are open."""

    def summary(self) -> str:
        """Return the outcome in a line, with what deserves attention."""
        batches = "1 batch: " if self.batches == 1 else f"{self.batches} batches: "
        parts = [(batches if self.batches else "") + record.in_words(self.counts)]
        parts += [f"{self.rejected} rejected"] if self.rejected else []
        return "; ".join(parts + ([self.still_open()] if self.incidents else []))

    def still_open(self) -> str:
        """Return the incident that opened last, how many are open, and what shows them."""
        last = max(self.incidents, key=lambda each: each.since)
        more = f" (and {len(self.incidents) - 1} more)" if len(self.incidents) > 1 else ""
        return f"open incident{more}: {last.kind}: {last.what}: {last.command}"


@dataclass
class Work:
    """Work of an update on one batch."""

    batch: Batch
    changes: Changes
    labelled: list[StoredRow] = field(default_factory=list)
    """Rows whose label has come with this batch, in the order they are learned."""
    losses: list[dict[int, record.Sums]] = field(default_factory=list)
    """The loss of each candidate's prediction of each of them."""
    made_champion: bool = False
    """Whether the first champion was made of this batch."""
    doubtful: dict[str, bool] = field(default_factory=dict)
    """By day that was monitored: whether its labels are unlike those of other days."""
    drift: tuple[str, ...] = ()
    """Why a challenger should be made."""


class Update:
    """Update of a live model while it is running, at a moment; the caller holds its lock.

    - `page`: the address of the page, for notifications.

    Raises UsageError if FILE.yaml or the contract is not that of the state any more.
    """

    def __init__(self, live: LiveModel, now: datetime, page: str = "") -> None:
        self.live, self.now, self.page = live, now, page
        self.moment = now.replace(microsecond=0)
        """The present time in whole seconds, as in the state; so is `at`, as text."""
        self.at = self.moment.isoformat()
        self.last_day = (now + AHEAD).date().isoformat()
        """Days after this one are far ahead: their rows wait, and are not monitored or shown."""
        self.settings, self.state, self.recipe = live.settings, live.state, live.recipe
        self.found: list[Incident] = []
        """What is wrong, so far in this update."""
        self.recorded = 0
        """How many of these are in the state, or in changes that are about to be written."""
        self.lifecycle = LifecycleState.read(self.state.lifecycle())
        live.serve_purpose(self.lifecycle)
        self.contract, self.shadow = live.contract, live.shadow()
        before = self.state.last_update()
        if before and before["ended"] is None:
            what = f"the update of {before['began'][:16]} did not end: what it had not finished is"
            self.incident(*LAST_UPDATE, f"{what} done again")

    def incident(self, kind: str, subject: str, what: str) -> None:
        """Report that something is wrong, as of now."""
        command = status_command(self.settings, self.live.file)
        self.found.append(Incident(kind, subject, " ".join(what.split()), self.now, command))

    def run(self, conduct: Conduct, home: Path, tracking_uri: str | None = None) -> UpdateResult:
        """Ingest all batches that are pending, publish, and notify of what was found.

        - `home`: the folder of the page.
        - `tracking_uri`: the MLflow store; None: nothing is published.
        """
        make, result = conduct.make, UpdateResult()
        steps = {
            "validate": self.validate, "join labels": self.join_labels,
            "monitor": partial(monitoring.monitor, self), "train": self.train,
            "evaluate": self.evaluate, "promote": self.promote,
        }  # fmt: skip
        tasks = [make(name, step) for name, step in steps.items()]
        batches = pending(self.settings.data, self.state.knows, lambda: self.contract.texts)
        read = make("ingest", lambda: next(batches, None))
        while (batch := read()) is not None:
            counts = self.ingest(tasks, conduct.say, batch)
            result.batches += counts is not None
            result.rejected += counts is None
            result.counts.update(counts or {})
        if tracking_uri is not None:
            try:
                live = replace(self.live, contract=self.contract)
                step = partial(
                    record.publish, tracking_uri, live, self.now, flow_run=conduct.flow_run
                )
                make("publish", step)()
            except LeaseboardError as error:  # the state has it all: the next update publishes it
                self.incident("publish", "MLflow", str(error))
        self.close()
        reach("live.after-close")
        build(record.ModelRecord(self.settings, self.state, self.now), home)
        for line in make("notify", partial(incidents.send, self.state, self.settings.alerts))():
            conduct.say(f"leaseboard: {line}", err=True)
        result.incidents = [each for each in self.lifecycle.incidents if each.is_open]
        return result

    def ingest(
        self, steps: Sequence[Step], say: Callable[..., None], batch: Batch
    ) -> dict[str, int] | None:
        """Ingest a batch in one transaction; return what it brought, None if it was rejected."""
        validate, *others = steps
        with self.state.transaction():
            work = validate(batch)
            if work is not None:
                for step in others:
                    step(work)
            self.commit(Changes(self.at) if work is None else work.changes)
        counts = None if work is None else work.changes.rows.counts()
        brought = f"{batch.name}: {record.in_words(counts or {})}"
        say(f"rejected: {self.found[-1].what}" if counts is None else brought)
        reach("live.after-batch")
        return counts

    def validate(self, batch: Batch) -> Work | None:
        """Check a batch against the contract; None, with an incident, if it must be rejected.

        Its rows are sorted into new ones, labels of earlier ones, repeats, and quarantined ones.
        All candidates that predict do so for the new ones.
        """
        if batch.frame is None:
            self.incident("broken file", batch.name, batch.fault)
            return None
        data, frame, lifecycle = self.settings.data, batch.frame, self.lifecycle
        work = Work(batch, Changes(self.at, (batch.name, batch.digest)))
        alone = data.id is not None and set(map(str, frame)) == {data.id, data.target}
        contract = self.contract.of_labels(data) if alone else self.contract
        held = check(contract, frame, now=self.now, time=data.time)
        kinds = {} if held.breaks else first_kinds(self.contract, frame)
        if kinds:  # the first values of undecided columns
            self.contract = contract = self.contract.with_kinds(kinds)
            lifecycle.kinds.update(kinds)
            self.shadow.dates = contract.dates
            held = check(contract, frame, now=self.now, time=data.time)
        if held.breaks:  # what else is odd is reported when the batch is ingested
            monitoring.report_remarks(self, "contract", batch.name, held.breaks)
            return None
        monitoring.report_batch(self, batch, held)
        if contract.columns[data.target].kind == "flag":
            for row in held.rows:
                row.values[data.target] = _CLASSES.get(row.values[data.target])
        erased, time = self.state.erased(), data.time or ""
        ids = rows.identify(held.rows, data)
        left = [(each, row) for each, row in zip(ids, held.rows, strict=True)
                if digest_of(each.encode()) not in erased]  # fmt: skip
        dated = [(each, self._day(row.moments.get(time)), row.values) for each, row in left]
        known = self.state.rows_of(list(dict.fromkeys(each for each, _ in left)))
        found = work.changes.rows = rows.sort_rows(
            dated, known, data, alone=alone,
            forgotten=self.state.forgotten(), early=self.state.early(),
        )  # fmt: skip
        found.erased = len(ids) - len(left)
        monitoring.report_rows(self, batch, found, len(left))
        for each in held.quarantined:
            row = frame.iloc[each.position]
            identity = text_of(row.get(data.id, ""))
            if digest_of(identity.encode()) not in erased:
                text = rows.to_json({name: str(value) for name, value in row.items()})
                found.quarantined.append((identity, each.reason, text))
        found.new = self.shadow.predict(found.new)
        last = self.now.astimezone(UTC).replace(tzinfo=None) + AHEAD
        times = [row.moments[time] for _, row in left if time in row.moments]
        newest = max((each for each in times if each <= last), default=None)
        if newest is not None:
            lifecycle.newest_row = max(newest, lifecycle.newest_row or newest)
        return work

    def _day(self, moment: datetime | None) -> str:
        """Return the day of a moment in UTC in the contract's zone; without one, that of now."""
        if moment is None:
            return self.at[:10]
        zone = ZoneInfo(self.contract.rows.zone)
        return moment.replace(tzinfo=UTC).astimezone(zone).date().isoformat()

    def join_labels(self, work: Work) -> None:
        """Join labels with the predictions of their rows; make the first champion if none is."""
        found = work.changes.rows
        work.labelled = found.labelled + [row for row in found.new if row.is_labelled]
        if self.shadow.in_role(CHAMPION) is None:
            candidates.make_first_champion(self, work)
        work.losses = record.losses_of(work.labelled)
        work.changes.days = record.by_day(work.labelled, work.losses)

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
            ours, theirs = ([each[i] for each in both] for i in (0, 1))
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
        evidence = partial(candidates.evidence_so_far, alpha=alpha)
        if champion is None:
            return
        if previous is not None and back.decision(alpha) == "challenger":
            what = f"{evidence(back)}: {previous.number} is champion again"
            shadow.roll_back(self.at, what, RETIRED)
            self.incident(ROLLED_BACK, f"champion {champion.number}", what)
            self.lifecycle.tests, self.lifecycle.by_hand = {}, None
        elif challenger is not None and test.decision(alpha) == "challenger":
            what = f"{evidence(test)}: {challenger.number} is champion now"
            shadow.promote(self.at, what)
            self.lifecycle.tests, self.lifecycle.by_hand = {}, None
        elif challenger is not None and test.decision(alpha) == "champion":
            what = evidence(test)
            shadow.change_role(challenger, RETIRED, self.at, RETIRED, what)
            del self.lifecycle.tests[CHALLENGER]

    def commit(self, changes: Changes, *, ends: bool = False) -> None:
        """Write what a batch, if it is of one, has changed, with its incidents.

        As that is one transaction, an update that is killed after it has nothing to find again.

        - `ends`: the update does, so that incidents which it did not find may be over.
        """
        settings, today = self.settings, self.now.date()
        changes.window = settings.retrain.window
        remembered = max(REMEMBERED, 3 * settings.data.label_delay)
        if settings.retention is None:  # else `close` deletes, and records it
            changes.served_horizon = (today - remembered).isoformat()
            days = [date.fromisoformat(row.day) for row in changes.rows.new]
            days = [day for day in days if day <= today + AHEAD]  # one of 2099 forgets no other
            if days and settings.data.time is not None:
                changes.horizon = (max(days) - remembered).isoformat()
        self.shadow.write_to(changes)
        new, self.recorded = self.found[self.recorded :], len(self.found)
        still = {each.key for each in self.found} if ends else None
        incidents.record(changes, self.lifecycle, new, still, settings, self.now, self.page)
        changes.lifecycle = self.lifecycle.dump()
        self.state.commit(changes)

    def close(self) -> None:
        """Report what did not come; write what the end of the update found, and what is over."""
        monitoring.report_late_labels(self)
        monitoring.report_stale_rows(self)
        with self.state.transaction():
            unclaimed = self.state.drop_early((self.moment - UNCLAIMED).isoformat())
            if unclaimed:
                what = f"{unclaimed} labels are dropped, whose rows never came: fix their ids"
                self.incident("labels", "without a row", what)
            self.expire()
            self.commit(Changes(self.at), ends=True)

    def expire(self) -> None:
        """Delete rows of days that are earlier than `retention` allows, if it is set."""
        retention = self.settings.retention
        if retention is None:
            return
        day = (self.now - retention).date().isoformat()
        counts, waiting = self.state.expire(day)
        if any(counts.values()):
            self.shadow.forget(waiting)
            why = f"before {day}: retention {duration_in_words(retention)}"
            self.shadow.happened.append(record.deletion(self.at, record.EXPIRED, counts, why))
