"""All models of a live model in memory: each predicts every new row, and learns every label."""

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from leaseboard.tasks.live.losses import label_of
from leaseboard.tasks.live.rows import to_json
from leaseboard.tasks.models.columns import Values, frame_of
from leaseboard.tasks.models.model import Prediction, TableModel, load
from leaseboard.tasks.models.naive import NAIVE_BASELINES
from leaseboard.tasks.models.recipe import Recipe
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import (
    REBUILD,
    Changes,
    HistoryEntry,
    ModelCandidate,
    StoredRow,
    digest_of,
    in_role,
)

CHAMPION, CHALLENGER, PREVIOUS = "champion", "challenger", "previous"
REFERENCE, RETIRED = "reference", "retired"
ROLLED_BACK = "rolled back"
"""What happens to a candidate in addition to its taking a role."""

AT_ONCE = 1000
"""Rows of a past day that are predicted before any of them is learned, at most."""


class Shadow:
    """Candidates of a live model in memory, in their state after the last batch.

    - `dates`: the columns that hold dates.
    """

    def __init__(self, state: State, recipe: Recipe, dates: Iterable[str]) -> None:
        self._state, self.recipe, self.dates = state, recipe, tuple(dates)
        self.candidates = {each.number: each for each in state.candidates()}
        self._models: dict[int, TableModel] = {}
        self._changed: set[int] = set()
        self._happened: list[HistoryEntry] = []

    @property
    def predicting(self) -> list[ModelCandidate]:
        """Candidates that are not retired, by number."""
        return [each for each in self.candidates.values() if each.role != RETIRED]

    def in_role(self, role: str) -> ModelCandidate | None:
        """Return the candidate in a role that one candidate has at most."""
        return in_role(self.predicting, role)

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
        return [
            replace(
                row, predictions=to_json({number: found[i] for number, found in predicted.items()})
            )
            for i, row in enumerate(rows)
        ]

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
        return [
            replace(row, predictions=to_json(
                {number: each[i] for number, each in enumerate(created, 1) if each[i] is not None}
            ))
            for i, row in enumerate(rows)
        ]  # fmt: skip

    def create_challenger(self, rows: Sequence[StoredRow], at: str, why: str) -> None:
        """Create a challenger of the recipe that has learned `rows`."""
        recipe = replace(self.recipe, seed=self.recipe.seed + len(self.candidates))
        self._create(CHALLENGER, recipe.algorithm, recipe, rows, at, why)

    def record_history(self, happened: Iterable[HistoryEntry]) -> None:
        """Add entries to the history, which `write_to` writes with the batch."""
        self._happened += happened

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
            self._happened.append(HistoryEntry(at, PREVIOUS, str(champion.number), what))
        self.change_role(previous, CHAMPION, at, CHAMPION, what)

    def change_role(
        self, candidate: ModelCandidate, role: str, at: str, kind: str, what: str
    ) -> None:
        """Give a candidate another role: the rest is its entry in the history."""
        self.candidates[candidate.number] = replace(candidate, role=role)
        self._changed.add(candidate.number)
        self._happened.append(HistoryEntry(at, kind, str(candidate.number), what))

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
        changes.history += self._happened
        self._changed, self._happened = set(), []

    def _create(
        self, role: str, name: str, recipe: Recipe, rows: Sequence[StoredRow], at: str, why: str
    ) -> list[Prediction | None]:
        """Create a candidate; return its prediction of each row from before it learned the row."""
        number, predicted = len(self.candidates) + 1, list[Prediction | None]()
        if recipe.goes_on or role == REFERENCE:
            model = recipe.new(name)
            model.dates = self.dates
            for part in self._by_day(rows):
                ids, features, labels = self._examples(part)
                predicted += model.predict_rows(features, ids=ids) or [None] * len(part)
                model.learn(features, labels, ids)
        else:
            _, features, labels = self._examples(rows)
            model = recipe.train(frame_of(features, self.dates), labels)
            model.dates, predicted = self.dates, [None] * len(rows)
        self._models[number] = model
        self.candidates[number] = ModelCandidate(number, role, name, None, len(rows), at, why)
        self._changed.add(number)
        if role != REFERENCE:
            self._happened.append(HistoryEntry(at, "created", str(number), why))
        return predicted

    def _by_day(self, rows: Sequence[StoredRow]) -> Iterator[Sequence[StoredRow]]:
        """Yield rows day by day: each day of the past is predicted before it is learned, too."""
        for _, group in itertools.groupby(rows, key=lambda row: row.day):
            day = list(group)
            yield from (day[i : i + AT_ONCE] for i in range(0, len(day), AT_ONCE))

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
