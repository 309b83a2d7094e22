"""Losses of predictions once their labels have come, and their totals over days."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from leaseboard.tasks.models.model import Prediction
from leaseboard.tasks.store.live_tables import StoredRow

Sums = dict[str, float]
"""Of rows: ``loss`` and, of numbers, ``absolute``, ``square``, ``inside``, ``intervals``; of
classes ``error`` and ``sure``, the probability of the likeliest class."""


def label_of(row: StoredRow) -> Any:
    """Return the label of a labelled row."""
    assert row.label is not None
    return json.loads(row.label)


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
    {'loss': 4.0, 'absolute': 2.0, 'square': 4.0}
    >>> loss_of_row([3.0, 1.0, 4.0], 5.0)
    {'loss': 4.0, 'absolute': 2.0, 'square': 4.0, 'inside': 0.0, 'intervals': 1.0}
    >>> loss_of_row({"no": 0.75, "yes": 0.25}, "no")
    {'loss': 0.125, 'error': 0.0, 'sure': 0.75}
    """
    if isinstance(prediction, Mapping):
        label = str(label)
        likeliest = max(prediction, key=prediction.__getitem__)
        brier = sum((p - (name == label)) ** 2 for name, p in prediction.items())
        return {
            "loss": brier + (label not in prediction),
            "error": float(likeliest != label),
            "sure": prediction[likeliest],
        }
    middle, *ends = prediction if isinstance(prediction, list) else [prediction]
    error = middle - float(label)
    found = {"loss": error * error, "absolute": abs(error), "square": error * error}
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
) -> dict[tuple[str, int], tuple[int, Sums]]:
    """Return counts of rows and sums of their losses by day and candidate."""
    days: dict[tuple[str, int], tuple[int, Sums]] = {}
    for row, each in zip(rows, losses, strict=True):
        for number, sums in each.items():
            count, before = days.get((row.day, number), (0, {}))
            days[row.day, number] = count + 1, added(before, sums)
    return days


def added(sums: Mapping[str, float], more: Mapping[str, float]) -> Sums:
    """Return the sums of both.

    Examples
    --------
    >>> added({"loss": 1.0}, {"loss": 2.0, "error": 1.0})
    {'loss': 3.0, 'error': 1.0}
    """
    return {**sums, **{name: sums.get(name, 0.0) + value for name, value in more.items()}}


@dataclass(frozen=True, slots=True)
class LossTotal:
    """Losses of a candidate's predictions of several rows.

    Examples
    --------
    >>> sums = {"loss": 8.0, "absolute": 4.0, "square": 8.0, "inside": 1.0, "intervals": 2.0}
    >>> LossTotal(2, sums).measures
    {'loss': 4.0, 'mae': 2.0, 'rmse': 2.0, 'coverage': 0.5}
    """

    rows: int = 0
    sums: Sums = field(default_factory=dict)

    @classmethod
    def of(cls, totals: Iterable[LossTotal]) -> LossTotal:
        """Add totals up."""
        rows, sums = 0, Sums()
        for each in totals:
            rows, sums = rows + each.rows, added(sums, each.sums)
        return cls(rows, sums)

    @property
    def loss(self) -> float:
        """The mean loss of a row."""
        return self.sums["loss"] / self.rows

    @property
    def measures(self) -> dict[str, float]:
        """Measures in the target's own unit: mae and rmse, or error and brier."""
        sums, rows, found = self.sums, self.rows, {"loss": self.loss}
        if "absolute" in sums:
            found |= {"mae": sums["absolute"] / rows, "rmse": math.sqrt(sums["square"] / rows)}
        else:
            found |= {"error": sums["error"] / rows, "brier": self.loss}
        if sums.get("intervals"):
            found["coverage"] = sums["inside"] / sums["intervals"]
        return found
