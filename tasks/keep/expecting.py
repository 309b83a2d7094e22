"""What days whose labels have not come are expected to cost; and what they cost when they came.

Each day is estimated once its rows wait, by `leaseboard.tasks.keep.watch.estimate` on the settled
rows that the champion forecast. The estimate stays as it was told, and is set beside the loss that
came: so the error of the estimates is measured on the keep's own days, and not promised.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.tasks.keep.changes import KeptRow
from leaseboard.tasks.keep.content import frame_of
from leaseboard.tasks.keep.keeping import Keeping
from leaseboard.tasks.keep.losses import loss_of_row
from leaseboard.tasks.keep.shadow import CHAMPION
from leaseboard.tasks.keep.state import State
from leaseboard.tasks.keep.taking import label_of
from leaseboard.tasks.keep.watch.estimate import LEAST_DAYS, LossModel
from leaseboard.tasks.models.continued import Told

EXPECTED = "expected"
"""In the memory: the estimates of the last days, in their order."""

LEAST_ROWS = 10
"""Of a day: of fewer rows the mean loss is chance."""

MOST_DAYS = 60
"""Settled ones that the losses are learned from: the last."""
MOST_ROWS = 20_000
"""Of them."""

REMEMBERED = 120
"""Days whose estimates are kept."""

LATELY = 7
"""Settled days whose mean loss is what one would expect without an estimate."""

NEARLY_ALL = 0.9
"""So much of a day's rows must have their labels before it is said what the day came to."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The mean loss that a day was expected to come to, in the unit that people read.

    That is the absolute error of numbers, and the Brier score of classes.
    """

    day: str
    lineage: int
    rows: int
    loss: float
    low: float
    high: float
    lately: float
    """The mean loss of the last settled days at that time."""
    came: float | None = None
    """What it was; None while labels are missing."""

    @property
    def held(self) -> bool:
        """Whether the interval held what came."""
        return self.came is not None and self.low <= self.came <= self.high


def expected(memory: Mapping[str, Any]) -> list[Expected]:
    """The estimates that a keep remembers, in the order of days."""
    return [Expected(**each) for each in memory.get(EXPECTED, [])]


def expect(keeping: Keeping) -> None:
    """Estimate the days whose rows wait, and say of earlier ones what they came to."""
    champion = keeping.shadow.of_role(CHAMPION)
    if champion is None:
        return
    known = {each.day: each for each in expected(keeping.memory)}
    if any(each.came is None for each in known.values()):
        known |= _came(known, keeping.state)
    number = champion.number
    waiting = {
        day: rows
        for day, rows in _by_day(_forecast(keeping.state.unsettled(), number)).items()
        if day <= keeping.last_day
        and (day not in known or known[day].lineage != number or len(rows) > known[day].rows)
    }
    if waiting:
        known |= {each.day: each for each in _estimates(keeping, number, waiting)}
    kept = [known[day] for day in sorted(known)][-REMEMBERED:]
    keeping.memory[EXPECTED] = [asdict(each) for each in kept]


def unit_loss(told: Told, label: Any) -> float:
    """The absolute error, or the Brier score.

    Examples
    --------
    >>> unit_loss([3.0, 1.0, 4.0], 5.0), unit_loss({"no": 0.75, "yes": 0.25}, "no")
    (2.0, 0.125)
    """
    found = loss_of_row(told, label)
    return found.get("absolute", found["loss"])


def _estimates(
    keeping: Keeping, number: int, waiting: Mapping[str, Sequence[KeptRow]]
) -> list[Expected]:
    """Of each day that waits; none while few days are settled."""
    settled = keeping.state.settled(min(keeping.keep.retrain.window, MOST_ROWS))
    days = dict(sorted(_by_day(_forecast(settled, number)).items())[-MOST_DAYS:])
    if len(days) < LEAST_DAYS:
        return []
    losses = {
        day: [unit_loss(_told(row, number), label_of(row)) for row in rows]
        for day, rows in days.items()
    }
    lately = float(np.mean([np.mean(each) for each in list(losses.values())[-LATELY:]]))
    dates = keeping.shadow.dates
    model = LossModel(
        *_inputs([row for rows in days.values() for row in rows], number, dates),
        pd.Series([loss for each in losses.values() for loss in each]),
        [day for day, rows in days.items() for _ in rows],
    )
    found = []
    for day, rows in waiting.items():
        told = model.estimate(*_inputs(rows, number, dates))
        found.append(Expected(day, number, len(rows), told.loss, told.low, told.high, lately))
    return found


def _came(known: Mapping[str, Expected], state: State) -> dict[str, Expected]:
    """Those whose labels have come by now."""
    found = {}
    for each in state.days():
        before = known.get(each["day"])
        if before is None or before.came is not None or before.lineage != each["lineage"]:
            continue
        if each["rows"] >= NEARLY_ALL * before.rows:
            sums = each["sums"]
            came = sums.get("absolute", sums["loss"]) / each["rows"]
            found[before.day] = replace(before, came=came)
    return found


def _forecast(rows: Sequence[KeptRow], number: int) -> list[KeptRow]:
    """Those that a lineage has forecast, and whose features are kept."""
    return [row for row in rows if row.features and _told(row, number) is not None]


def _told(row: KeptRow, number: int) -> Any:
    return json.loads(row.forecasts or "{}").get(str(number))


def _by_day(rows: Sequence[KeptRow]) -> dict[str, list[KeptRow]]:
    days: dict[str, list[KeptRow]] = {}
    for row in rows:
        days.setdefault(row.day, []).append(row)
    return {day: rows for day, rows in days.items() if len(rows) >= LEAST_ROWS}


def _inputs(
    rows: Sequence[KeptRow], number: int, dates: Sequence[str]
) -> tuple[pd.DataFrame, pd.Series]:
    """What they hold, and what was forecast: of classes how sure it was."""
    told = [_told(row, number) for row in rows]
    points = [
        max(each.values()) if isinstance(each, Mapping)
        else each[0] if isinstance(each, list) else each
        for each in told
    ]  # fmt: skip
    features = frame_of([json.loads(row.features) for row in rows], dates)
    return features, pd.Series(points, dtype=np.float64)
