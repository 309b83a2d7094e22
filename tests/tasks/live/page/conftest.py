"""Live models made up from seeds, written batch after batch as updates write them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from leaseboard.algorithms.sequential_test import SequentialTest
from leaseboard.tasks.live.incidents import Case, Incident
from leaseboard.tasks.live.lifecycle import LifecycleState
from leaseboard.tasks.live.record import added, loss_of_row
from leaseboard.tasks.live.settings import DataSettings, LiveSettings
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import (
    BatchEntry,
    Changes,
    HistoryEntry,
    ModelCandidate,
    StoredRow,
)

BEGAN = datetime(2026, 1, 1, 3, tzinfo=UTC)
DELAY = 7
ROWS = 40


def keep_of(target: str = "revenue") -> LiveSettings:
    data = DataSettings(
        source="folder:inbox/*.csv", time="day", id="order", target=target,
        label_delay=timedelta(days=DELAY),
    )  # fmt: skip
    return LiveSettings(name="sales", data=data, contract=Path("contract.yaml"))


def at(day: int) -> str:
    return (BEGAN + timedelta(days=day)).isoformat()


def date_of(day: int) -> str:
    return at(day)[:10]


class Life:
    """Live model that takes a batch a day; labels come `DELAY` days after their rows.

    - `every`: days from one challenger to the next; the challenger of an odd number is promoted
      half way, the others are retired.
    - `silent`: days whose labels never come.
    """

    def __init__(
        self, state: State, *, every: int = 20, silent: tuple[int, ...] = (), classes: bool = False
    ) -> None:
        self.state, self.every, self.silent, self.classes = state, every, silent, classes
        self.random = np.random.default_rng(1)
        self.candidates: dict[int, ModelCandidate] = {}
        self.errors = {2: 2.2, 3: 2.8}  # of the naive baselines
        self.test, self.lifecycle = SequentialTest(), LifecycleState()

    def live(self, days: int) -> datetime:
        for day in range(days):
            self._update(day)
        return BEGAN + timedelta(days=days - 1, hours=1)

    def _update(self, day: int) -> None:
        number = self.state.begin_update(at(day))
        changes = Changes(at(day), window=100)
        repeated, bad = (ROWS if day == 30 else 0), (5 if day in (12, 44) else 0)
        changes.rows = [
            StoredRow(f"{date_of(day)}-{i}", i, date_of(day), '{"a":1}', "{}", None)
            for i in range(ROWS)
        ]
        changes.quarantined = [
            (f"x{day}-{i}", "price 9000 is above 120", "{}") for i in range(bad)
        ]
        self._join_labels(day, changes)
        self._move(day, changes)
        counts = {
            "new": ROWS,
            "labels": len(changes.labels),
            "repeated": repeated,
            "quarantined": bad,
        }
        changes.batch = BatchEntry(f"sales-{date_of(day)}.csv", f"{day:064}", counts)
        self._monitor(day)
        self._incidents(day, changes)
        self.lifecycle.last_update = BEGAN + timedelta(days=day)
        changes.lifecycle = self.lifecycle.dump()
        self.state.commit(changes)
        self.state.end_update(number, at(day), {"batches": 1})

    def _join_labels(self, day: int, changes: Changes) -> None:
        labelled = day - DELAY
        if labelled < 0 or labelled in self.silent:
            return
        alive = [each for each in self.candidates.values() if each.role != "retired"]
        losses = {each.number: self._losses(each, labelled) for each in alive}
        for number, found in losses.items():
            total: dict[str, float] = {}
            for sums in found:
                total = added(total, sums)
            changes.days[date_of(labelled), number] = (ROWS, total)
        first = 1 + ROWS * labelled
        changes.labels = [(first + i, "1.0") for i in range(ROWS)]
        roles = {each.role: each.number for each in alive}
        if {"champion", "challenger"} <= roles.keys():
            pair = [[sums["loss"] for sums in losses[roles[role]]] for role in
                    ("champion", "challenger")]  # fmt: skip
            self.test = self.test.update_many(*pair)
            self.lifecycle.tests = {"challenger": self.test}

    def _losses(self, candidate: ModelCandidate, day: int) -> list[dict[str, float]]:
        size = self.errors.get(candidate.number, 2.0 / (1 + 0.1 * candidate.number))
        size *= 1.8 if day in range(33, 37) else 1.0
        if self.classes:
            sure = np.clip(1 - size / 6 + 0.2 * self.random.normal(size=ROWS), 0.02, 0.98)
            return [loss_of_row({"no": p, "yes": 1 - p}, "no") for p in sure.tolist()]
        errors = size * self.random.normal(size=ROWS)
        ends = [] if candidate.role == "reference" else [-3.2, 3.2]
        return [loss_of_row([e, *(e + end for end in ends)], 0.0) for e in errors.tolist()]

    def _move(self, day: int, changes: Changes) -> None:
        by_role = {each.role: each for each in self.candidates.values()}
        challenger = by_role.get("challenger")
        if day == 2:
            self._bear(changes, "champion", "chacha", "the first, of 80 rows")
            self._bear(changes, "reference", "running-mean", "what to beat")
            self._bear(changes, "reference", "last-label", "what to beat")
        elif day > 2 and day % self.every == 5 and challenger is None:
            self._bear(changes, "challenger", "chacha", f"drift: price <b> moved on day {day}")
            self.test = SequentialTest()
        elif challenger and day % self.every == self.every // 2 + 5:
            what = "evidence 23.1 after 400 labels"
            if challenger.number % 2:
                self._become(changes, challenger, "retired", what)
                self.lifecycle.tests = {}
                return
            if "previous" in by_role:
                self._become(changes, by_role["previous"], "retired", "two champions ago")
            self._become(changes, by_role["champion"], "previous", what)
            self._become(changes, challenger, "champion", what)
            self.lifecycle.tests = {}

    def _bear(self, changes: Changes, role: str, name: str, why: str) -> None:
        number = len(self.candidates) + 1
        candidate = ModelCandidate(number, role, name, None, 80, changes.at, why)
        self.candidates[number] = candidate
        changes.candidates.append(candidate)
        if role != "reference":
            changes.history.append(HistoryEntry(changes.at, "created", str(number), why))

    def _become(self, changes: Changes, candidate: ModelCandidate, role: str, what: str) -> None:
        self.candidates[candidate.number] = replace(candidate, role=role)
        changes.candidates.append(self.candidates[candidate.number])
        changes.history.append(HistoryEntry(changes.at, role, str(candidate.number), what))

    def _monitor(self, day: int) -> None:
        part = self.lifecycle.monitored.inputs
        part.days.append(date_of(day))
        part.rows.append(ROWS)
        part.alarmed.append(["price: middle"] if day in (33, 34) else [])
        for name, moved in (("price: middle", day in range(33, 37)), ("age: middle", False)):
            part.values.setdefault(name, []).append(5 + 0.2 * self.random.random() + 3.0 * moved)

    def _incidents(self, day: int, changes: Changes) -> None:
        for begins, kind, what, ends in (
            (12, "quarantined rows", "5 of 45 rows quarantined: price 9000 is above 120", 14),
            (33, "drift", "price has moved <b>", 40),
            (58, "labels late", "40 rows wait for their 'revenue', the oldest for 9 days", 99),
        ):
            since = BEGAN + timedelta(days=begins)
            incident = Incident(kind, "price", what, since, "leaseboard live status sales.yaml")
            status = "opened" if day == begins else "resolved" if day == ends else ""
            if status:
                changes.history.append(HistoryEntry(changes.at, status, incident.subject, what))
                cases = self.lifecycle.cases
                cases[:] = [case for case in cases if case.incident.kind != kind]
                gone = BEGAN + timedelta(days=day) if day == ends else None
                cases.append(Case(incident, since, 0, gone))


@pytest.fixture
def keep() -> LiveSettings:
    return keep_of()


@pytest.fixture
def state(tmp_path) -> State:
    return State(tmp_path / "state.sqlite", "sales")


@pytest.fixture(scope="session")
def life() -> Callable[..., Life]:
    return Life


@pytest.fixture(scope="session")
def lived(once) -> tuple[Path, datetime]:
    """Return the state of sixty days, to be read only, and the moment after them."""
    days = 60

    def fill(folder: Path) -> None:
        Life(State(folder / "state.sqlite", "sales"), silent=(20, 21, 22)).live(days)

    return once("keep-life", fill) / "state.sqlite", BEGAN + timedelta(days=days - 1, hours=1)
