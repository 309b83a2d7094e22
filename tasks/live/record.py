"""Record of a live model in its state, for a page or MLflow: roles, and losses over days."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property, reduce
from typing import Any

from leaseboard.algorithms.measures import skill_over
from leaseboard.tasks.live.candidates import CHALLENGER, CHAMPION, PREVIOUS, REFERENCE
from leaseboard.tasks.live.contract_check import AHEAD
from leaseboard.tasks.live.incidents import Incident, LifecycleState
from leaseboard.tasks.live.rows import label_of
from leaseboard.tasks.live.settings import LiveSettings
from leaseboard.tasks.machine.disk import operator
from leaseboard.tasks.models.model import Prediction, likeliest
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import (
    HistoryEntry,
    ModelCandidate,
    StoredRow,
    added,
    in_role,
)

Sums = dict[str, float]
"""Of rows: how many, ``rows``, their ``loss`` and, of numbers, ``absolute``, ``inside``,
``intervals``; of classes ``error``."""


def loss_of_row(prediction: Prediction, label: Any) -> Sums:
    """Return the losses of one prediction.

    ``loss`` is what comparisons and promotions go by: of numbers the squared error, of classes the
    Brier score, which is 0 for the right class with certainty and 2 for a wrong one [1]_.

    References
    ----------
    .. [1] Brier. Verification of Forecasts Expressed in Terms of Probability. Monthly Weather
           Review 78, 1950.

    Examples
    --------
    >>> loss_of_row(3.0, 5.0)
    {'rows': 1.0, 'loss': 4.0, 'absolute': 2.0}
    >>> loss_of_row([3.0, 1.0, 4.0], 5.0)
    {'rows': 1.0, 'loss': 4.0, 'absolute': 2.0, 'inside': 0.0, 'intervals': 1.0}
    >>> loss_of_row({"no": 0.75, "yes": 0.25}, "no")
    {'rows': 1.0, 'loss': 0.125, 'error': 0.0}
    """
    if isinstance(prediction, Mapping):
        label = str(label)
        brier = sum((p - (name == label)) ** 2 for name, p in prediction.items())
        return {
            "rows": 1.0,
            "loss": brier + (label not in prediction),
            "error": float(likeliest(prediction) != label),
        }
    middle, *ends = prediction if isinstance(prediction, list) else [prediction]
    error = middle - float(label)
    found = {"rows": 1.0, "loss": error * error, "absolute": abs(error)}
    if ends:
        found |= {"inside": float(ends[0] <= label <= ends[1]), "intervals": 1.0}
    return found


def losses_of(rows: Sequence[StoredRow]) -> list[dict[int, Sums]]:
    """Return the losses of each candidate's prediction of each labelled row."""
    return [
        {
            int(number): loss_of_row(each, label_of(row))
            for number, each in json.loads(row.predictions or "{}").items()
        }
        for row in rows
    ]


def by_day(
    rows: Sequence[StoredRow], losses: Sequence[Mapping[int, Sums]]
) -> dict[tuple[str, int], Sums]:
    """Return the sums of the losses of rows by day and candidate."""
    days: dict[tuple[str, int], Sums] = {}
    for row, each in zip(rows, losses, strict=True):
        for number, sums in each.items():
            days[row.day, number] = added(days.get((row.day, number), {}), sums)
    return days


def measures_of(sums: Sums) -> dict[str, float]:
    """Return measures in the target's own unit: mae and rmse, or error and brier.

    Examples
    --------
    >>> sums = {"rows": 2.0, "loss": 8.0, "absolute": 4.0, "inside": 1.0, "intervals": 2.0}
    >>> measures_of(sums)
    {'loss': 4.0, 'mae': 2.0, 'rmse': 2.0, 'coverage': 0.5}
    """
    rows, loss = sums["rows"], sums["loss"] / sums["rows"]
    if "absolute" in sums:
        found = {"loss": loss, "mae": sums["absolute"] / rows, "rmse": math.sqrt(loss)}
    else:
        found = {"loss": loss, "error": sums["error"] / rows, "brier": loss}
    if sums.get("intervals"):
        found["coverage"] = sums["inside"] / sums["intervals"]
    return found


ROLES = (CHAMPION, CHALLENGER, PREVIOUS)
"""Those that a candidate has in turn, and under which it is published."""
ERASED, EXPIRED = "deleted by id", "deleted by age"
"""Kinds of entries of the history."""


_STORED = {
    "rows": "rows",
    "quarantine": "quarantined rows",
    "served": "logged predictions",
    "early": "labels without a row",
}


def deletion(at: str, kind: str, counts: Mapping[str, int], why: str) -> HistoryEntry:
    """Return the entry of rows that were deleted: how many, why, and who did it."""
    shown = ", ".join(f"{count:,} {_STORED[name]}" for name, count in counts.items() if count)
    return HistoryEntry(at, kind, "rows", f"{shown or 'nothing'} deleted {why}, by {operator()}")


def name_of(candidate: ModelCandidate) -> str:
    """Return the name of a candidate for readers.

    Examples
    --------
    >>> name_of(ModelCandidate(3, "champion", "online-automl", None, 9, "2026-01-01", "the first"))
    'online-automl 3'
    """
    is_baseline = candidate.role == REFERENCE
    return candidate.name if is_baseline else f"{candidate.name} {candidate.number}"


def in_words(counts: dict[str, int]) -> str:
    """Return what a batch brought, in a few words."""
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing new"


class ModelRecord:
    """Record of a live model at a moment.

    - `lifecycle`, `candidates`, `history`, `batches`: as the state has them, the oldest first.
    - `waiting`: how many rows wait for their label, by day.
    """

    def __init__(self, settings: LiveSettings, state: State, now: datetime) -> None:
        self.settings, self.state, self.now = settings, state, now
        self.lifecycle = LifecycleState.read(state.lifecycle())
        self.candidates = {each.number: each for each in state.candidates()}
        self.history, self.batches = state.history(), state.batches()
        self.waiting = state.waiting()

    @cached_property
    def days(self) -> Mapping[str, Mapping[int, Sums]]:
        """Losses by day and candidate, of days with labels that are not far ahead."""
        found: dict[str, dict[int, Sums]] = {}
        last = (self.now + AHEAD).date().isoformat()
        for each in self.state.days():
            if each["day"] <= last:
                found.setdefault(each["day"], {})[each["candidate"]] = each["sums"]
        return found

    def days_of(self, number: int) -> dict[str, Sums]:
        """Return the losses of a candidate by day."""
        return {day: found[number] for day, found in self.days.items() if number in found}

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
    def reigns(self) -> list[tuple[str, int]]:
        """The moment at which each champion began, and its number; the first comes first."""
        moves = [each for each in self.history if each.kind in ("created", CHAMPION)]
        champions = [*moves[:1], *(each for each in moves[1:] if each.kind == CHAMPION)]
        return [(each.at, int(each.subject)) for each in champions]

    @cached_property
    def open(self) -> list[Incident]:
        """Incidents that are not resolved, the oldest first."""
        found = [each for each in self.lifecycle.incidents if each.is_open]
        return sorted(found, key=lambda each: each.since)

    @property
    def measure(self) -> str:
        """The root of what comparisons go by, in the target's unit; of classes the Brier score."""
        totals = (each for found in self.days.values() for each in found.values())
        return "rmse" if any("absolute" in total for total in totals) else "brier"

    def total(self, number: int, days: Sequence[str]) -> Sums:
        """Return the losses of a candidate over those of the days that it has predicted."""
        each_day = (self.days[day][number] for day in days if number in self.days[day])
        return reduce(added, each_day, {})

    def scores(self, number: int, days: Sequence[str]) -> dict[str, float]:
        """Return the measures of a candidate over days, with the skill over naive baselines.

        The skill counts the days alone that the candidate and all baselines have predicted.
        """
        mine = self.total(number, days)
        if not mine:
            return {}
        found = {"rows": mine["rows"]} | measures_of(mine)
        tried = [each.number for each in self.baselines]
        both = [day for day in days if {number, *tried} <= self.days[day].keys()]
        if both and tried:
            totals = (self.total(each, both) for each in [number, *tried])
            loss, *losses = (each["loss"] / each["rows"] for each in totals)
            found["skill"] = skill_over(losses, loss)
        return found
