"""All lineages of a keep in memory: each forecasts every new row, and learns every label."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.keep.living import FIRST_TRIES, Living, Recipe, living
from leaseboard.tasks.keep.losses import Sums, added, loss_of_row
from leaseboard.tasks.keep.rows import Values, label_of, packed
from leaseboard.tasks.models.continued import Told
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import (
    REBUILD,
    Changes,
    Happened,
    KeptRow,
    Lineage,
    digest_of,
    in_role,
)

CHAMPION, CHALLENGER, PREVIOUS = "champion", "challenger", "previous"
REFERENCE, RETIRED = "reference", "retired"

AT_ONCE = 1000
"""Rows of the past that are forecast before any of them is learned, at most."""

Days = dict[tuple[str, int], tuple[int, Sums]]


class Shadow:
    """The lineages of a keep, as they were at the end of the last batch.

    - `dates`: the columns that hold dates.
    """

    def __init__(self, state: State, recipe: Recipe, dates: Iterable[str]) -> None:
        self._state, self.recipe, self.dates = state, recipe, tuple(dates)
        self.lineages = {each.number: each for each in state.lineages()}
        self._living: dict[int, Living] = {}
        self._changed: set[int] = set()
        self._happened: list[Happened] = []

    @property
    def task(self) -> str:
        """``regression`` or ``classification``."""
        return self.recipe.task

    @property
    def goes_on(self) -> bool:
        """Whether lineages learn row after row."""
        return self.recipe.goes_on

    @property
    def alive(self) -> list[Lineage]:
        """Those that forecast, by number."""
        return [each for each in self.lineages.values() if each.role != RETIRED]

    def of_role(self, role: str) -> Lineage | None:
        """The lineage in a role of which there is one."""
        return in_role(self.alive, role)

    def forecast(self, rows: Sequence[KeptRow]) -> list[KeptRow]:
        """The rows with what each lineage forecasts of them."""
        if not rows or not self.lineages:
            return [replace(row, forecasts="{}") for row in rows]
        features = [json.loads(row.features) for row in rows]
        ids = [row.id for row in rows]
        told = {
            each.number: found
            for each in self.alive
            if (found := self._of(each.number).expect_rows(ids, features, self.dates))
        }
        self._changed |= {each.number for each in self.alive if each.role != REFERENCE}
        return [
            replace(row, forecasts=packed({number: found[i] for number, found in told.items()}))
            for i, row in enumerate(rows)
        ]

    def learn(self, rows: Sequence[KeptRow]) -> None:
        """Have all that go on learn settled rows, in their order."""
        if not rows:
            return
        ids, features, labels = self._examples(rows)
        for each in self.alive:
            if each.role == REFERENCE or self.recipe.goes_on:
                self._of(each.number).learn_rows(ids, features, self.dates, labels)
                self.lineages[each.number] = replace(each, learned=each.learned + len(rows))
                self._changed.add(each.number)

    def begin(self, rows: Sequence[KeptRow], at: str) -> list[KeptRow]:
        """The first champion, with what a person tries first beside it, of settled rows.

        Returns the rows with what each would have forecast of them, day by day.
        """
        why = f"the first, of {len(rows)} rows"
        champion = self._born(CHAMPION, self.recipe.algorithm, self.recipe, rows, at, why)
        born = [champion] + [
            self._born(REFERENCE, name, self.recipe, rows, at, "what to beat")
            for name in FIRST_TRIES
        ]
        return [
            replace(row, forecasts=packed(
                {number: told[i] for number, told in enumerate(born, 1) if told[i] is not None}
            ))
            for i, row in enumerate(rows)
        ]  # fmt: skip

    def bear(self, rows: Sequence[KeptRow], at: str, why: str) -> None:
        """A challenger of the recipe that has learned `rows`."""
        recipe = replace(self.recipe, seed=self.recipe.seed + len(self.lineages))
        self._born(CHALLENGER, recipe.algorithm, recipe, rows, at, why)

    def tell(self, happened: Iterable[Happened]) -> None:
        """Have it written down with the batch."""
        self._happened += happened

    def move(self, lineage: Lineage, role: str, at: str, kind: str, what: str) -> None:
        """Give a lineage another role, for a reason."""
        self.lineages[lineage.number] = replace(lineage, role=role)
        self._changed.add(lineage.number)
        self._happened.append(Happened(at, kind, str(lineage.number), what))

    def put_into(self, changes: Changes) -> None:
        """Put what has changed since the last batch among its changes."""
        for number in sorted(self._changed):
            lineage = self.lineages[number]
            digest = None
            if lineage.role != RETIRED:
                content = self._of(number).dump()
                digest = digest_of(content)
                changes.models[digest] = content
            self.lineages[number] = replace(lineage, model=digest)
            changes.lineages.append(self.lineages[number])
        changes.happened += self._happened
        self._changed, self._happened = set(), []

    def _born(
        self, role: str, name: str, recipe: Recipe, rows: Sequence[KeptRow], at: str, why: str
    ) -> list[Told | None]:
        """A new lineage; returns what it forecast of each row before it learned the row."""
        number = len(self.lineages) + 1
        made, told = living(name, recipe), list[Told | None]()
        goes_on = recipe.goes_on or role == REFERENCE
        for part in self._as_it_came(rows) if goes_on else [rows]:
            ids, features, labels = self._examples(part)
            told += made.expect_rows(ids, features, self.dates) or [None] * len(part)
            made.learn_rows(ids, features, self.dates, labels)
        self._living[number] = made
        self.lineages[number] = Lineage(number, role, name, None, len(rows), at, why)
        self._changed.add(number)
        if role != REFERENCE:
            self._happened.append(Happened(at, "born", str(number), why))
        return told

    def _as_it_came(self, rows: Sequence[KeptRow]) -> Iterator[Sequence[KeptRow]]:
        """Rows day by day: who learns the past is to forecast a day before learning it, too."""
        for _, group in itertools.groupby(rows, key=lambda row: row.day):
            day = list(group)
            yield from (day[i : i + AT_ONCE] for i in range(0, len(day), AT_ONCE))

    def _examples(self, rows: Sequence[KeptRow]) -> tuple[list[str], list[Values], list[Any]]:
        features = [json.loads(row.features) for row in rows]
        return [row.id for row in rows], features, [label_of(row) for row in rows]

    def _of(self, number: int) -> Living:
        if number not in self._living:
            lineage = self.lineages[number]
            assert lineage.model is not None
            content = self._state.model(lineage.model)
            try:
                self._living[number] = living(lineage.name, self.recipe, content)
            except UsageError as error:
                raise UsageError(
                    f"the state {self._state} has models of another version of Leaseboard: install"
                    f" that, or {REBUILD}"
                ) from error
        return self._living[number]


def losses_of(rows: Sequence[KeptRow]) -> list[dict[int, Sums]]:
    """What each lineage's forecast of each settled row cost."""
    found = []
    for row in rows:
        told: dict[str, Told] = json.loads(row.forecasts or "{}")
        label = label_of(row)
        found.append({int(number): loss_of_row(each, label) for number, each in told.items()})
    return found


def by_day(rows: Sequence[KeptRow], losses: Sequence[dict[int, Sums]]) -> Days:
    """Their sums by day and lineage."""
    days: Days = {}
    for row, each in zip(rows, losses, strict=True):
        for number, sums in each.items():
            count, before = days.get((row.day, number), (0, {}))
            days[row.day, number] = count + 1, added(before, sums)
    return days
