"""What the monitor is shown of a day: its rows, the champion's forecasts of them, their losses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from leaseboard.tasks.keep.rows import frame_of
from leaseboard.tasks.keep.update import ModelUpdate, Work
from leaseboard.tasks.keep.watch.stream_watch import MonitoredDays, Noticed
from leaseboard.tasks.models.continued import Told
from leaseboard.tasks.store.live_tables import KeptRow

INPUTS, OUTCOMES = "inputs", "outcomes"
"""The parts of `leaseboard.tasks.keep.watch.stream_watch.StreamWatch`."""
LEAST_ROWS = 10
"""Of a day: fewer say too little."""
GROWN = 0.25
"""By so much a day must have grown to be judged again before the end of the update, so that what
comes row by row is judged a few times, and not each time with all that came before."""


def days_of(
    update: ModelUpdate, rows: Sequence[KeptRow], number: str, part: str, *, rest: bool
) -> Iterator[tuple[str, list[KeptRow], list[Told]]]:
    """The days of rows that the champion has forecast, in their order, with its forecasts.

    Each is whole, as far as it has come; of `OUTCOMES` as far as its labels have.
    """
    new: dict[str, dict[str, KeptRow]] = {}
    for row in rows:
        if row.day <= update.last_day:
            new.setdefault(row.day, {})[row.id] = row
    unseen = update.lifecycle.unmonitored.setdefault(part, {})
    seen: MonitoredDays = getattr(update.lifecycle.monitored, part)
    for day in sorted({*unseen} if rest else new):
        unseen[day] = unseen.get(day, 0) + len(new.get(day, ()))
        if not rest and unseen[day] < (GROWN * seen.last(day)[0] or LEAST_ROWS):
            continue
        stored = update.state.rows_on(day, settled=part == OUTCOMES)
        rows_of_day = {row.id: row for row in stored} | new.get(day, {})
        told = [
            (row, json.loads(row.forecasts or "{}").get(number)) for row in rows_of_day.values()
        ]
        known = [(row, each) for row, each in told if each is not None]
        if rest or len(known) >= LEAST_ROWS:
            del unseen[day]
        if len(known) >= LEAST_ROWS:
            yield day, [row for row, _ in known], [each for _, each in known]


def features_of(update: ModelUpdate, rows: Sequence[KeptRow]) -> pd.DataFrame:
    """What rows hold; flags are not numbers, whose median would leap from 0 to 1."""
    features = frame_of([json.loads(row.features) for row in rows], update.shadow.dates)
    columns = update.contract.columns
    flags = [name for name in features if name in columns and columns[name].kind == "flag"]
    told = {name: features[name].map(bool, na_action="ignore").astype(object) for name in flags}
    return features.assign(**told)


def raise_alarm(
    update: ModelUpdate, work: Work, subject: str, day: str, alarms: Sequence[Noticed]
) -> None:
    """One incident for all that is unlike the days before; none for the past."""
    if alarms and not work.has_begun:
        more = f", and {len(alarms) - 1} more" if len(alarms) > 1 else ""
        update.incident("alarm", subject, f"{day}: {alarms[0].what}{more}")


def likeliest(told: Told) -> Any:
    """The number that was forecast, or the likeliest class."""
    if isinstance(told, Mapping):
        return max(told, key=told.__getitem__)
    return told[0] if isinstance(told, list) else told


def loss_of(told: Told, label: Any) -> float:
    """The absolute error, or 1 minus the probability of the class."""
    if isinstance(told, Mapping):
        return 1 - told.get(str(label), 0.0)
    return abs(float(likeliest(told)) - float(label))
