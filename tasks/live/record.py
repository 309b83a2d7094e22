"""Record of a live model in its state, read once for a page or MLflow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from leaseboard.algorithms.measures import skill_over
from leaseboard.tasks.live.contract_check import AHEAD
from leaseboard.tasks.live.incidents import Case
from leaseboard.tasks.live.lifecycle import LifecycleState
from leaseboard.tasks.live.losses import LossTotal
from leaseboard.tasks.live.settings import LiveSettings
from leaseboard.tasks.live.shadow import (
    CHALLENGER,
    CHAMPION,
    PREVIOUS,
    REFERENCE,
    RETIRED,
    ROLLED_BACK,
)
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import HistoryEntry, ModelCandidate, in_role

ROLES = (CHAMPION, CHALLENGER, PREVIOUS)
"""Those that a candidate has in turn, and under which it is published."""
ERASED, EXPIRED, DECIDED = "deleted by id", "deleted by age", "decided"
"""Kinds of entries of the history."""


@dataclass(frozen=True, slots=True)
class Tenure:
    """Candidate in a role for a time."""

    candidate: int
    role: str
    start: str
    stop: str


def tenures(
    history: Sequence[HistoryEntry], candidates: Mapping[int, ModelCandidate], end: str
) -> list[Tenure]:
    """Return all tenures in the order in which they began; those that go on stop at `end`."""
    found: list[Tenure] = []
    now: dict[int, int] = {}
    for each in moves(history, candidates):
        number = int(each.subject)
        if number in now:
            place = now.pop(number)
            found[place] = replace(found[place], stop=each.at)
        role = each.kind
        if role == "created":
            has_champion = any(found[place].role == CHAMPION for place in now.values())
            role = CHALLENGER if has_champion else CHAMPION
        if role in ROLES:
            now[number] = len(found)
            found.append(Tenure(number, role, each.at, max(end, each.at)))
    return found


def moves(
    history: Sequence[HistoryEntry], candidates: Mapping[int, ModelCandidate]
) -> list[HistoryEntry]:
    """Return what happened to candidates, the oldest first."""
    kinds, numbers = {"created", ROLLED_BACK, RETIRED, *ROLES}, set(map(str, candidates))
    return [each for each in history if each.kind in kinds and each.subject in numbers]


def name_of(candidate: ModelCandidate) -> str:
    """Return the name of a candidate for readers.

    Examples
    --------
    >>> name_of(ModelCandidate(3, "champion", "online-automl", None, 9, "2026-01-01", "the first"))
    'online-automl 3'
    """
    is_baseline = candidate.role == REFERENCE
    return candidate.name if is_baseline else f"{candidate.name} {candidate.number}"


class ModelRecord:
    """Record of a live model at a moment; each part is read when it is first asked for."""

    def __init__(self, settings: LiveSettings, state: State, now: datetime) -> None:
        self.settings, self.state, self.now = settings, state, now

    @cached_property
    def lifecycle(self) -> LifecycleState:
        """State of the live model between updates."""
        return LifecycleState.read(self.state.lifecycle())

    @cached_property
    def candidates(self) -> Mapping[int, ModelCandidate]:
        """All candidates by number."""
        return {each.number: each for each in self.state.candidates()}

    @cached_property
    def history(self) -> Sequence[HistoryEntry]:
        """The history, the oldest entry first."""
        return self.state.history()

    @cached_property
    def batches(self) -> Sequence[Mapping[str, Any]]:
        """All batches, the oldest first."""
        return self.state.batches()

    @property
    def deletions(self) -> list[HistoryEntry]:
        """Entries of the history about rows that were deleted, the oldest first."""
        return [each for each in self.history if each.kind in (ERASED, EXPIRED)]

    @cached_property
    def waiting(self) -> Mapping[str, int]:
        """Rows whose label has not come, by day."""
        return self.state.waiting()

    @cached_property
    def days(self) -> Mapping[str, Mapping[int, LossTotal]]:
        """Losses by day and candidate, of days with labels that are not far ahead."""
        found: dict[str, dict[int, LossTotal]] = {}
        last = (self.now + AHEAD).date().isoformat()
        for each in self.state.days():
            if each["rows"] and each["day"] <= last:
                total = LossTotal(each["rows"], each["sums"])
                found.setdefault(each["day"], {})[each["candidate"]] = total
        return found

    def days_of(self, number: int) -> dict[str, LossTotal]:
        """Return the losses of a candidate by day."""
        return {day: found[number] for day, found in self.days.items() if number in found}

    @cached_property
    def served(self) -> Mapping[str, int]:
        """Number of the candidate that was champion when a day began.

        Of days before the first champion, that of the first that predicted them.
        """
        reigns = [(each.start[:10], each.candidate) for each in self.tenures
                  if each.role == CHAMPION]  # fmt: skip
        found = {}
        for day, totals in self.days.items():
            there = [(since, number) for since, number in reigns if number in totals]
            before = [number for since, number in there if since < day]
            if there:
                found[day] = before[-1] if before else there[0][1]
        return found

    @property
    def champion(self) -> ModelCandidate | None:
        """The candidate that answers."""
        return self.in_role(CHAMPION)

    @property
    def baselines(self) -> list[ModelCandidate]:
        """The naive baselines."""
        return [each for each in self.candidates.values() if each.role == REFERENCE]

    def in_role(self, role: str) -> ModelCandidate | None:
        """Return the candidate in a role of which there is one."""
        return in_role(self.candidates.values(), role)

    @cached_property
    def tenures(self) -> list[Tenure]:
        """Tenures: each role, its model and its time."""
        return tenures(self.history, self.candidates, self.now.isoformat(timespec="seconds"))

    @cached_property
    def open(self) -> list[Case]:
        """Incidents that are not resolved, the oldest first."""
        cases = [case for case in self.lifecycle.cases if case.is_open]
        return sorted(cases, key=lambda case: case.incident.since)

    def scores(self, number: int, days: Sequence[str]) -> dict[str, float]:
        """Return the measures of a candidate over days, with the skill over naive baselines.

        The skill counts the days alone that the candidate and all baselines have predicted.
        """
        mine = LossTotal.of(self.days[day][number] for day in days if number in self.days[day])
        if not mine.rows:
            return {}
        found = {"rows": float(mine.rows)} | mine.measures
        tried = [each.number for each in self.baselines]
        both = [day for day in days if {number, *tried} <= self.days[day].keys()]
        if both and tried:
            loss, *losses = (
                LossTotal.of(self.days[day][each] for day in both).loss
                for each in [number, *tried]
            )
            found["skill"] = skill_over(losses, loss)
        return found
