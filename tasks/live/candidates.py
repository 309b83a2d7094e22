"""Candidates of a live model: in memory, in their roles, and how they are made and succeed.

Each predicts every new row, and learns every label. The champion has a sequential test against
its challenger and one against the champion before, whose evidence holds at every moment one looks,
see `leaseboard.algorithms.sequential_test`. A test begins when the later of the two is created or
promoted, and sees the rows that both have predicted before their label was known, in the order
that labels came.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.sequential_test import SequentialTest
from leaseboard.tasks.live.incidents import DoubtfulDay, LifecycleState
from leaseboard.tasks.live.rows import label_of, to_json
from leaseboard.tasks.models.columns import Values, frame_of
from leaseboard.tasks.models.model import Prediction, TableModel, load
from leaseboard.tasks.models.recipe import NAIVE_BASELINES, Recipe
from leaseboard.tasks.score.frame import short
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import (
    REBUILD,
    Changes,
    HistoryEntry,
    ModelCandidate,
    StoredRow,
    digest_of,
)

if TYPE_CHECKING:
    from leaseboard.tasks.live.model import LiveModel
    from leaseboard.tasks.live.update import Update, Work

CHAMPION, CHALLENGER, PREVIOUS = "champion", "challenger", "previous"
REFERENCE, RETIRED = "reference", "retired"
ROLLED_BACK = "rolled back"
"""What happens to a candidate in addition to its taking a role."""

_day_of = attrgetter("day")


class Shadow:
    """Candidates of a live model in memory, in their state after the last batch.

    - `dates`: the columns that hold dates.
    """

    def __init__(self, state: State, recipe: Recipe, dates: Iterable[str]) -> None:
        self._state, self.recipe, self.dates = state, recipe, tuple(dates)
        self.candidates = {each.number: each for each in state.candidates()}
        self._models: dict[int, TableModel] = {}
        self._changed: set[int] = set()
        self.happened: list[HistoryEntry] = []
        """Entries of the history, which `write_to` writes."""

    @property
    def predicting(self) -> list[ModelCandidate]:
        """Candidates that are not retired, by number."""
        return [each for each in self.candidates.values() if each.role != RETIRED]

    def in_role(self, role: str) -> ModelCandidate | None:
        """Return the candidate in a role that one candidate has at most."""
        return next((each for each in self.predicting if each.role == role), None)

    def predict(self, rows: Sequence[StoredRow]) -> list[StoredRow]:
        """Return the rows with the predictions of each candidate."""
        if not rows or not self.candidates:
            return [replace(row, predictions="{}") for row in rows]
        features = [json.loads(row.features) for row in rows]
        ids = [row.id for row in rows]
        predicted = {
            each.number: found
            for each in self.predicting
            if (found := self._of(each.number).predict_rows(features, ids=ids))
        }
        self._changed |= {each.number for each in self.predicting if each.role != REFERENCE}
        return _predicted(rows, predicted)

    def learn(self, rows: Sequence[StoredRow]) -> None:
        """Train each candidate that learns row after row on labelled rows, in their order."""
        if not rows:
            return
        ids, features, labels = self._examples(rows)
        for each in self.predicting:
            if each.role == REFERENCE or self.recipe.goes_on:
                self._of(each.number).learn(features, labels, ids)
                self.candidates[each.number] = replace(each, learned=each.learned + len(rows))
                self._changed.add(each.number)

    def forget(self, ids: Sequence[str]) -> None:
        """Have all candidates forget what they know of rows that wait for their labels."""
        for each in self.predicting:
            if ids and each.role != REFERENCE:  # these remember no row
                self._of(each.number).forget_pending(ids)
                self._changed.add(each.number)

    def create_champion(self, rows: Sequence[StoredRow], at: str) -> list[StoredRow]:
        """Create the first champion and the naive baselines from rows with labels.

        Returns the rows with the predictions that each would have made of them, day by day.
        """
        why = f"the first, of {len(rows)} rows"
        champion = self._create(CHAMPION, self.recipe.algorithm, self.recipe, rows, at, why)
        created = [champion] + [
            self._create(REFERENCE, name, self.recipe, rows, at, "what to beat")
            for name in NAIVE_BASELINES
        ]
        return _predicted(rows, dict(enumerate(created, 1)))

    def create_challenger(self, rows: Sequence[StoredRow], at: str, why: str) -> None:
        """Create a challenger of the recipe that has learned `rows`."""
        recipe = replace(self.recipe, seed=self.recipe.seed + len(self.candidates))
        self._create(CHALLENGER, recipe.algorithm, recipe, rows, at, why)

    def promote(self, at: str, what: str) -> None:
        """Make the challenger champion and the champion previous; the previous one is retired."""
        champion, challenger, previous = map(self.in_role, (CHAMPION, CHALLENGER, PREVIOUS))
        assert champion is not None
        assert challenger is not None
        if previous is not None:
            self.change_role(previous, RETIRED, at, RETIRED, "two champions ago")
        self.change_role(champion, PREVIOUS, at, PREVIOUS, what)
        self.change_role(challenger, CHAMPION, at, CHAMPION, what)

    def roll_back(self, at: str, what: str, role: str) -> None:
        """Make the previous champion champion again; the champion gets `role`."""
        champion, previous = map(self.in_role, (CHAMPION, PREVIOUS))
        assert champion is not None
        assert previous is not None
        self.change_role(champion, role, at, ROLLED_BACK, what)
        if role == PREVIOUS:
            self.happened.append(HistoryEntry(at, PREVIOUS, str(champion.number), what))
        self.change_role(previous, CHAMPION, at, CHAMPION, what)

    def change_role(
        self, candidate: ModelCandidate, role: str, at: str, kind: str, what: str
    ) -> None:
        """Give a candidate another role: the rest is its entry in the history."""
        self.candidates[candidate.number] = replace(candidate, role=role)
        self._changed.add(candidate.number)
        self.happened.append(HistoryEntry(at, kind, str(candidate.number), what))

    def write_to(self, changes: Changes) -> None:
        """Add candidates, models and history that changed since the last call to `changes`."""
        for number in sorted(self._changed):
            candidate = self.candidates[number]
            digest = None if candidate.role == RETIRED else candidate.model
            if candidate.role != RETIRED and number in self._models:
                content = self._models[number].dump()
                digest = digest_of(content)
                changes.models[digest] = content
            self.candidates[number] = replace(candidate, model=digest)
            changes.candidates.append(self.candidates[number])
        changes.history += self.happened
        self._changed, self.happened = set(), []

    def _create(
        self, role: str, name: str, recipe: Recipe, rows: Sequence[StoredRow], at: str, why: str
    ) -> list[Prediction | None]:
        """Create a candidate; return its prediction of each row from before it learned the row."""
        number, predicted = len(self.candidates) + 1, list[Prediction | None]()
        if recipe.goes_on or role == REFERENCE:
            model = recipe.new(name)
            model.dates = self.dates
            for _, day in itertools.groupby(rows, _day_of):  # each is predicted, then learned
                ids, features, labels = self._examples(list(day))
                predicted += model.predict_rows(features, ids=ids) or [None] * len(ids)
                model.learn(features, labels, ids)
        else:
            _, features, labels = self._examples(rows)
            model = recipe.train(frame_of(features, self.dates), labels)
            model.dates, predicted = self.dates, [None] * len(rows)
        self._models[number] = model
        self.candidates[number] = ModelCandidate(number, role, name, None, len(rows), at, why)
        self._changed.add(number)
        if role != REFERENCE:
            self.happened.append(HistoryEntry(at, "created", str(number), why))
        return predicted

    def _examples(self, rows: Sequence[StoredRow]) -> tuple[list[str], list[Values], list[Any]]:
        features = [json.loads(row.features) for row in rows]
        return [row.id for row in rows], features, [label_of(row) for row in rows]

    def _of(self, number: int) -> TableModel:
        if number not in self._models:
            content = self.candidates[number].model
            assert content is not None
            name = f"a model of the state {self._state}"
            self._models[number] = load(self._state.model(content), name, REBUILD)
        self._models[number].dates = self.dates
        return self._models[number]


def _predicted(
    rows: Sequence[StoredRow], found: Mapping[int, Sequence[Prediction | None]]
) -> list[StoredRow]:
    """Return the rows with what each candidate has predicted of them."""
    return [
        replace(row, predictions=to_json(
            {number: each[i] for number, each in found.items() if each[i] is not None}
        ))
        for i, row in enumerate(rows)
    ]  # fmt: skip


def evidence_so_far(test: SequentialTest | None, alpha: float) -> str:
    """Return the evidence between the champion and a rival in one line for a person."""
    if test is None or not test.rows:
        return "no label of a row that both have predicted has come"
    labels = "1 label" if test.rows == 1 else f"{test.rows:,} labels"
    return (
        f"evidence {short(test.e_value('challenger'), 3)} for it and"
        f" {short(test.e_value('champion'), 3)} against it after {labels},"
        f" {1 / alpha:g} decides; it loses {short(test.mean, 3)} less a row"
    )


def change_by_hand(
    live: LiveModel, at: str, kind: str, *, anyway: bool = False
) -> tuple[bool, str]:
    """Make the challenger champion, or with the kind `ROLLED_BACK` the previous champion.

    A promotion needs evidence that suffices, or `anyway`. What a command that was stopped has
    changed is not changed again. Returns whether it was done, and why in one line. Only the state
    is changed. The caller holds its update lock until it has published, or what another update has
    learned in between would be taken for what is published.

    Raises UsageError if no candidate can take the place.
    """
    shadow, lifecycle = live.shadow(), LifecycleState.read(live.state.lifecycle())
    role = PREVIOUS if kind == ROLLED_BACK else CHALLENGER
    champion, other = shadow.in_role(CHAMPION), shadow.in_role(role)
    begun, number, what = lifecycle.by_hand or ("", 0, "")
    if champion and (begun, number) == (kind, champion.number):
        return True, what
    if champion is None or other is None:
        raise UsageError(
            f"the live model {live.settings.name!r} has no {role}: an update makes a challenger,"
            " when `retrain:` of its file says so, and who was champion before it is previous"
        )
    if kind == ROLLED_BACK:
        what = f"candidate {other.number} again, in place of {champion.number}: by hand"
        shadow.roll_back(at, what, PREVIOUS)
    else:
        test, alpha = lifecycle.tests.get(CHALLENGER), live.settings.compare.alpha
        what = evidence_so_far(test, alpha)
        suffices = test is not None and test.decision(alpha) == "challenger"
        if not suffices and not anyway:
            return False, what
        how = "by hand" if suffices else "by hand in spite of the evidence"
        shadow.promote(at, f"{other.number} is champion now, {how}: {what}")
    # All tests begin again.
    changes = Changes(at, lifecycle={"tests": {}, "by_hand": (kind, other.number, what)})
    shadow.write_to(changes)
    live.state.commit(changes)
    return True, what


def make_first_champion(update: Update, work: Work) -> None:
    """Make the first champion, once labels suffice; it predicts the past day by day."""
    earlier = update.state.labelled_rows(update.settings.retrain.window)
    rows = [*earlier, *work.labelled]
    if not update.shadow.recipe.suffices([label_of(row) for row in rows]):
        return
    work.made_champion = True
    work.labelled = update.shadow.create_champion(rows, update.at)[len(earlier) :]
    known = {row.id: row for row in work.labelled}
    found = work.changes.rows
    waiting = [row for row in found.new if row.id not in known]
    known |= {row.id: row for row in update.shadow.predict(waiting)}
    found.new = [known[row.id] for row in found.new]


def make_challenger(update: Update, work: Work, champion: ModelCandidate, why: str) -> None:
    """Make a challenger of the last rows, if these suffice; one that is there is retired."""
    shadow, lifecycle, window = update.shadow, update.lifecycle, update.settings.retrain.window
    if shadow.recipe.goes_on:  # of all that the champion knows it would be the same again
        window = min(window, (champion.learned + 1) // 2)
    rows = [*update.state.labelled_rows(window), *work.labelled][-window:]
    doubted = {*(lifecycle.doubtful.rows if lifecycle.doubtful else ()), *lifecycle.left_out}
    rows = [row for row in rows if row.id not in doubted]
    if not shadow.recipe.suffices([label_of(row) for row in rows]):
        return
    before = shadow.in_role(CHALLENGER)
    if before is not None:
        shadow.change_role(before, RETIRED, update.at, "retired", f"a new challenger: {why}")
    shadow.create_challenger(rows, update.at, why)
    lifecycle.challenger_since = update.moment
    lifecycle.rows_since_challenger = 0
    lifecycle.tests.pop(CHALLENGER, None)


def why_due(update: Update, work: Work) -> str:
    """Return why a challenger is due; empty if none is."""
    wanted, lifecycle = update.settings.retrain, update.lifecycle
    lifecycle.rows_since_challenger += len(work.labelled)
    since = lifecycle.challenger_since = lifecycle.challenger_since or update.moment
    if wanted.when == "drift" and work.drift:
        return f"drift: {work.drift[0]}"
    if wanted.rows is not None and lifecycle.rows_since_challenger >= wanted.rows:
        return f"{lifecycle.rows_since_challenger} rows since the last"
    if wanted.every is not None and update.now - since >= wanted.every:
        return f"{(update.now - since).days} days since the last"
    return ""


def rows_to_learn(update: Update, work: Work) -> list[StoredRow]:
    """Return the rows to learn: a day's doubtful labels wait for those of the next day.

    If these are as doubtful, the world has changed, and both are learned, with all that follow
    until one is not doubtful any more; if not, the labels of the first were wrong, and are never
    learned. A day that is not doubtful any more when the rest of it has come is learned.
    """
    believed, changed = list[StoredRow](), update.lifecycle.has_changed
    held = update.lifecycle.doubtful
    for day, group in itertools.groupby(sorted(work.labelled, key=_day_of), key=_day_of):
        rows, is_doubtful = list(group), work.doubtful.get(day)
        if held and day == held.day and is_doubtful:
            held.rows += [row.id for row in rows]
        elif is_doubtful and not held and not changed:
            held = DoubtfulDay(day, [row.id for row in rows])
        elif held and (day == held.day or is_doubtful):
            believed += [*_waited(update, work, held), *rows]
            changed = day != held.day
            held = None
        else:
            believed += rows
            changed &= is_doubtful is not False
            if held and is_doubtful is False and day > held.day:
                _leave_out(update, held.rows)
                held = None
    update.lifecycle.doubtful, update.lifecycle.has_changed = held, changed
    return believed


def _waited(update: Update, work: Work, held: DoubtfulDay) -> list[StoredRow]:
    """Return the rows that waited, in the order in which they came, if they are known."""
    new = {row.id: row for row in work.labelled}
    known = update.state.rows_of([each for each in held.rows if each not in new])
    there = sorted((row for row in known.values() if row.features), key=attrgetter("number"))
    return [*there, *(new[each] for each in held.rows if each in new)]


def _leave_out(update: Update, rows: list[str]) -> None:
    """Exclude rows from all learning."""
    what = f"{len(rows)} rows are not learned: their labels were unlike those before and after"
    update.shadow.happened.append(HistoryEntry(update.at, "left out", "labels", what))
    lifecycle = update.lifecycle
    lifecycle.left_out = [*lifecycle.left_out, *rows][-update.settings.retrain.window :]
